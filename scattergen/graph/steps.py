"""The compiled steps that the reductions are made of: apply rows, count them, mark targets, find places."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ..arguments import arrays
from ..arguments.arrays import Array
from ..call import accumulated, direct, dispatch
from ..lower import lower
from ..lower.layout import LAYOUTS
from ..operators import dtypes
from ..operators.dtypes import DTYPES
from ..operators.ops import OPS
from .targets import Rows

_OP = OPS["scatter_elements"]

_FEW = 1 << 14
"""NumPy counts so many rows at most in less time than it takes to call a kernel."""


def apply(out: Array, index: Array, src: Array, dim: int, reduction: str, threads: int | None) -> None:
    """Apply the rows of `src` to `out`, in place and in order; every index is known to be in bounds."""
    dispatch.execute(arrays.prepare(_OP, 18, dim, reduction, out, index, src, out, checked=True), threads)


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


def places(given: Rows, values: Array, threads: int | None) -> Array:
    """Return, for each target, the first place along `dim` of a row that equals its value, or is a NaN.

    int64, and ``src.shape[dim]`` where there is none. `values`, C-contiguous, are extreme ones: where a row is a NaN,
    so is its target.
    """
    src = np.require(given.src.astype(values.dtype, copy=False), requirements=("C", "A"))
    out = dispatch.empty(values.shape, np.dtype(np.int64))
    row = dtypes.of_numpy(values.dtype, f"{given.who}: src")
    element = lower.element(row, "add")[0] if row.kind == "signed" else row  # equal bits are equal integers
    index = _walkable(given)
    if not src.size:
        out.fill(src.shape[given.dim])
        return out
    kernel = direct.kernel("places", element, DTYPES["i32" if index.itemsize == 4 else "i64"])
    have = direct.ready(kernel, src, out)
    if have is None:
        return _places_by_numpy(given, values, src)
    dim, layout = given.dim, places_layout(index, given.dim, values.shape[given.dim])
    traffic = src.size * (2 * src.itemsize + 1)
    position = direct.run(have, layout, direct.most_threads(traffic, threads), out, values, index, src)
    if position >= 0:
        raise dispatch.out_of_bounds(arrays.prepare(_OP, 18, dim, "max", values, given.targets, src, None))
    return out


def places_layout(index: Array, dim: int, size: int) -> tuple[int, ...]:
    """Return the layout of the places form: for an index that three strides walk, and C-contiguous arrays."""
    before, count, inner = math.prod(index.shape[:dim]), index.shape[dim], math.prod(index.shape[dim + 1 :])
    strides = _strides(index, dim)
    assert strides is not None
    outer, step, along = strides
    return LAYOUTS["places"].pack(
        {
            "OUTER": before,
            "COUNT": count,
            "INNER": inner,
            "SIZE": size,
            "TOTAL": before * size * inner,
            "OUT_OUTER": size * inner,
            "OUT_AXIS": inner,
            "INDEX_OUTER": outer,
            "INDEX_STEP": step,
            "INDEX_INNER": along if inner > 1 else 0,
            "UPDATE_OUTER": count * inner,
            "UPDATE_STEP": inner,
        }
    )


def _walkable(given: Rows) -> Array:
    """Return an index, native and aligned, that three strides walk: one for the dims on each side of `dim`."""
    index, dim = given.targets, given.dim
    native = index.astype(index.dtype.newbyteorder("="), copy=False)
    if not native.flags.aligned or _strides(native, dim) is None:
        return np.array(native, order="C")
    return native


def _strides(index: Array, dim: int) -> tuple[int, int, int] | None:
    """Return the strides, in indices, of the dims before `dim` as one, of `dim`, and of those after it as one."""
    item = index.itemsize
    found = []
    for low, high in ((0, dim), (dim, dim + 1), (dim + 1, index.ndim)):
        many = [at for at in range(low, high) if index.shape[at] > 1]
        for at, following in pairwise(many):
            if index.strides[at] != index.shape[following] * index.strides[following]:
                return None
        stride = index.strides[many[-1]] if many else 0
        if stride % item:
            return None
        found.append(stride // item)
    return found[0], found[1], found[2]


def _places_by_numpy(given: Rows, values: Array, src: Array) -> Array:
    """Return what the kernel gives, where there is none: the last write, of those in reverse, is the first place."""
    dim, count = given.dim, src.shape[given.dim]
    best: Any = np.take_along_axis(values, given.targets, dim)
    equal = (src == best) | (src != src)
    out = np.full(values.shape, count, np.int64)
    for place in range(count - 1, -1, -1):
        at = (slice(None),) * dim + (slice(place, place + 1),)
        target = given.targets[at]
        np.put_along_axis(out, target, np.where(equal[at], place, np.take_along_axis(out, target, dim)), dim)
    return out
