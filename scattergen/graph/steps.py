"""The compiled steps that the reductions are made of: apply rows, count them, mark targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api import scatter_elements
from ..arguments import arrays
from ..arguments.arrays import Array
from ..call import accumulated, dispatch
from ..operators.ops import OPS
from .targets import Rows

_OP = OPS["scatter_elements"]

_FEW = 1 << 14
"""NumPy counts so many rows at most in less time than it takes to call a kernel."""


_SMALL = 1 << 14
"""To check so many indices once more, in a call that was seen before, takes less time than to prepare a call."""


def neutral(name: str, dtype: np.dtype[Any]) -> Array:
    """Return what a reduction starts from: it changes no row."""
    if name not in ("max", "min"):
        return np.array(name == "mul", dtype)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return np.array(bounds.min if name == "max" else bounds.max, dtype)
    if dtype.kind == "b":
        return np.array(name == "min", dtype)
    return np.array(-np.inf if name == "max" else np.inf, dtype)


def apply(
    data: Array, index: Array, src: Array, dim: int, reduction: str, threads: int | None, out: Array | None = None
) -> None:
    """Apply the rows of `src` to `data` in order, in place or in `out`; every index is known to be in bounds.

    Where no kernel can be had, nothing is written.
    """
    out = data if out is None else out
    if index.size <= _SMALL:
        scatter_elements(data, index, src, dim, reduction, out=out, threads=threads)
        return
    dispatch.execute(arrays.prepare(_OP, 18, dim, reduction, data, index, src, out, checked=True), threads)


def apply_wide(
    wide: Array, out: Array, index: Array, src: Array, dim: int, reduction: str, threads: int | None
) -> None:
    """Apply the rows of `src`, halves as `out` is, to `wide`: what `out` holds, in float32."""
    accumulated.apply_to(wide, arrays.prepare(_OP, 18, dim, reduction, out, index, src, None), threads)


def counts(given: Rows, size: int, start: int, threads: int | None) -> Array:
    """Return how many rows each target has, and `start` more: whole numbers, of size 1 along dims where it repeats."""
    once = given.once
    shape = _targets(once, size, given.dim)
    if 0 < once.size == once.shape[given.dim] <= _FEW:
        return (np.bincount(once.reshape(-1), minlength=size) + start).reshape(shape)
    # 32 bits where they suffice: more targets stay in the first-level cache
    found = np.full(shape, start, np.int32 if once.size < np.iinfo(np.int32).max else np.int64)
    apply(found, once, np.broadcast_to(found.dtype.type(1), once.shape), given.dim, "add", threads)
    return found


def touched(given: Rows, size: int, threads: int | None) -> Array:
    """Return which targets have a row: bool, of size 1 along dims where the index repeats."""
    once = given.once
    found = np.zeros(_targets(once, size, given.dim), np.bool_)
    apply(found, once, np.ones(once.shape, np.bool_), given.dim, "none", threads)
    return found


def _targets(once: Array, size: int, dim: int) -> tuple[int, ...]:
    return (*once.shape[:dim], size, *once.shape[dim + 1 :])
