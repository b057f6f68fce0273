"""When two results are the same: any NaN equals any NaN, everything else bit by bit."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"


def native(array: Array) -> Array:
    """Return the values in this machine's byte order."""
    return array.astype(array.dtype.newbyteorder("="), copy=False) if array.dtype.kind != "V" else array


def difference(got: Array, want: Array) -> str:
    """Return how two arrays differ in type, shape or the first bits that are not the same; else ``""``."""
    if type(got) is not np.ndarray:
        return f"a {type(got).__name__} instead of an array"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype} instead of {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    wrong = np.argwhere(~_same(np.ascontiguousarray(got), np.ascontiguousarray(want)).reshape(got.shape))
    if not wrong.size:
        return ""
    place = tuple(wrong[0].tolist())
    return f"{got[place]!r} instead of {want[place]!r} at {list(place)} ({len(wrong)} of {got.size} differ)"


def _same(got: Array, want: Array) -> Array:
    """Return for each element whether it is the same."""
    if got.dtype.kind in "OUST":
        return np.equal(got.astype(object), want.astype(object)).astype(bool)
    if got.dtype.kind == "c":
        parts = np.dtype(f"f{got.dtype.itemsize // 2}")
        pairs = (*got.shape, 2)
        same = _same(got.reshape(-1).view(parts).reshape(pairs), want.reshape(-1).view(parts).reshape(pairs))
        return np.logical_and.reduce(same, axis=-1)
    unsigned = np.dtype(f"u{got.dtype.itemsize}")
    same = np.equal(got.reshape(-1).view(unsigned), want.reshape(-1).view(unsigned)).reshape(got.shape)
    return same | ((got != got) & (want != want)) if got.dtype.kind in "fV" else same
