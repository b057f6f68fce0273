"""The compiled steps that the reductions are made of: apply rows, count them, mark targets, find places."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..api import scatter_elements
from ..arguments import arrays
from ..arguments.addressing import Numbers
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


_SMALL = 1 << 14
"""To check so many indices once more, in a call that was seen before, takes less time than to prepare a call."""


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


def places(given: Rows, values: Array, threads: int | None) -> Array:
    """Return, for each target, the first place along `dim` of a row that equals its value, or is a NaN.

    int64, and ``src.shape[dim]`` where there is none. `values`, C-contiguous, are extreme ones: where a row is a NaN,
    so is its target.
    """
    src = np.require(given.src.astype(values.dtype, copy=False), requirements=("C", "A"))
    out = dispatch.empty(values.shape, np.dtype(np.int64))
    row = dtypes.of_numpy(values.dtype, f"{given.who}: src")
    element = lower.element(row, "add")[0] if row.kind == "signed" else row  # equal bits are equal integers
    dim, size = given.dim, values.shape[given.dim]
    if not src.size:
        out.fill(src.shape[dim])
        return out
    index, layout = _walked(given, size)
    kernel = direct.kernel("places", element, DTYPES["i32" if index.itemsize == 4 else "i64"])
    have = direct.ready(kernel, src, out)
    if have is None:
        return _places_by_numpy(given, values, src)
    traffic = src.size * (2 * src.itemsize + 1)
    position = direct.run(have, layout, direct.most_threads(traffic, threads), out, values, index, src)
    if position >= 0:
        raise dispatch.out_of_bounds(arrays.prepare(_OP, 18, dim, "max", values, given.targets, src, None))
    return out


def _walked(given: Rows, size: int) -> tuple[Array, tuple[int, ...]]:
    """Return the index, or a copy that can be walked, native and aligned, and the layout for it."""
    index, dim = given.targets.astype(dtypes.native(given.targets.dtype), copy=False), given.dim
    if index.flags.aligned:
        layout = places_layout(index.shape, index.strides, index.itemsize, dim, size)
        if layout is not None:
            return index, layout
    index = np.array(index, order="C")
    layout = places_layout(index.shape, index.strides, index.itemsize, dim, size)
    assert layout is not None
    return index, layout


@lru_cache(maxsize=256)
def places_layout(shape: Numbers, strides: Numbers, item: int, dim: int, size: int) -> tuple[int, ...] | None:
    """Return the layout of the places form for `size` targets along `dim`; the other arrays are C-contiguous.

    `shape`, and `strides` in bytes, are those of the index, whose elements have `item` bytes. None where three strides
    do not walk it: one for the dims before `dim`, one for `dim`, and one for those after it.
    """
    before, count, inner = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])
    parts = slice(0, dim), slice(dim, dim + 1), slice(dim + 1, None)
    walk = [stride for part in parts if (stride := _stride(shape[part], strides[part], item)) is not None]
    if len(walk) < len(parts):
        return None
    outer, step, along = walk
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


def _stride(shape: Numbers, strides: Numbers, item: int) -> int | None:
    """Return the one stride, in elements, that walks all these dims in their order; None where there is none."""
    many = [(extent, stride) for extent, stride in zip(shape, strides, strict=True) if extent > 1]
    for (_, stride), (extent, following) in pairwise(many):
        if stride != extent * following:
            return None
    stride, rest = divmod(many[-1][1] if many else 0, item)
    return None if rest else stride


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
