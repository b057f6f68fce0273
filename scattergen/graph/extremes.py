"""The greatest or the least row of each target, element by element, and which row it comes from, by one kernel."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..arguments import arrays
from ..arguments.addressing import Numbers
from ..arguments.arrays import Array
from ..call import direct, dispatch
from ..lower.layout import LAYOUTS
from ..operators import dtypes
from ..operators.dtypes import DTYPES
from ..operators.ops import OPS
from . import steps
from .targets import Rows

_PLACE = np.dtype(np.int64)


def extremes(given: Rows, size: int, name: str, out: Array | None, threads: int | None) -> tuple[Array, Array]:
    """Return the extreme values, max or min, and the first place along `dim` that each comes from: native, C-ordered.

    Values start from `out`, which is not written to. Those that no row exceeds, and without `out` those of targets
    without a row, have the place ``src.shape[dim]``; the latter are 0.
    """
    dtype, afresh = dtypes.native(given.src.dtype), out is None
    src = np.require(given.src.astype(dtype, copy=False), requirements=("C", "A"))
    block, places, values = _block(given, size, dtype)
    np.copyto(values, steps.neutral(name, dtype) if out is None else out)
    if dtype.kind == "b":  # any nonzero byte is true
        src = (src.view(np.uint8) != 0).view(np.uint8)
        np.not_equal(values.view(np.uint8), 0, out=values)
    index, layout = _walked(given, size, afresh)
    element = DTYPES["u8"] if dtype.kind == "b" else dtypes.of_numpy(dtype, f"{given.who}: src")
    kernel = direct.kernel("extremes", element, DTYPES["i32" if index.itemsize == 4 else "i64"], f"arg{name}")
    have = direct.ready(kernel, src, values) if src.size else None
    if have is None:
        _by_numpy(given, src.view(dtype), name, values, places, afresh)
        return values, places
    number = direct.most_threads(src.nbytes + 2 * block.nbytes, threads)
    if direct.run(have, layout, number, block, None, index, src) >= 0:
        op = OPS["scatter_elements"]
        raise dispatch.out_of_bounds(arrays.prepare(op, 18, given.dim, name, values, given.targets, given.src, None))
    return values, places


def _block(given: Rows, size: int, dtype: np.dtype[Any]) -> tuple[Array, Array, Array]:
    """Return memory for a kernel's one output, and the parts of it that take places and values."""
    shape = given.shape(size)
    split = math.prod(shape) * _PLACE.itemsize
    block = dispatch.empty((split + math.prod(shape) * dtype.itemsize,), np.dtype(np.uint8))
    return block, block[:split].view(_PLACE).reshape(shape), block[split:].view(dtype).reshape(shape)


def _walked(given: Rows, size: int, afresh: bool) -> tuple[Array, Numbers]:
    """Return the index, or a copy that can be walked, native and aligned, and the layout for it."""
    index, dim = given.targets.astype(dtypes.native(given.targets.dtype), copy=False), given.dim
    if index.flags.aligned:
        layout = layout_of(index.shape, index.strides, index.itemsize, dim, size, afresh)
        if layout is not None:
            return index, layout
    index = np.array(index, order="C")
    layout = layout_of(index.shape, index.strides, index.itemsize, dim, size, afresh)
    assert layout is not None
    return index, layout


@lru_cache(maxsize=256)
def layout_of(shape: Numbers, strides: Numbers, item: int, dim: int, size: int, afresh: bool) -> Numbers | None:
    """Return the layout of the form for `size` targets along `dim`; the other arrays are C-contiguous.

    `shape`, and `strides` in bytes, are those of the index, whose elements have `item` bytes. None where three strides
    do not walk it: one for the dims before `dim`, one for `dim`, and one for those after it.
    """
    before, count, inner = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])
    parts = slice(0, dim), slice(dim, dim + 1), slice(dim + 1, None)
    walk = [stride for part in parts if (stride := _stride(shape[part], strides[part], item)) is not None]
    if len(walk) < len(parts):
        return None
    outer, step, along = walk
    return LAYOUTS["extremes"].pack(
        {
            "AFRESH": afresh,
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


def _by_numpy(given: Rows, src: Array, name: str, values: Array, places: Array, afresh: bool) -> None:
    """Write what the kernel gives, where there is none: the rows of one place have different targets."""
    dim, count = given.dim, given.src.shape[given.dim]
    places.fill(count)
    for place in range(count if src.size else 0):
        at = (slice(None),) * dim + (slice(place, place + 1),)
        target, update = given.targets[at], src[at]
        value: Any = np.take_along_axis(values, target, dim)
        known: Any = np.take_along_axis(places, target, dim)
        exceeds, is_nan = update > value if name == "max" else update < value, update != update
        first = afresh & (update == value) & (known == count)
        taken = exceeds | first | (is_nan & (value == value))
        np.put_along_axis(values, target, np.where(exceeds | is_nan, update, value), dim)
        np.put_along_axis(places, target, np.where(taken, place, known), dim)
    if afresh:
        values[places == count] = 0
