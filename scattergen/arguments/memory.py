"""How an array's elements lie in memory: whether they meet each other or those of another, and copies that do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..load import loader
from ..operators import dtypes
from ..operators.shapes import Array

_MOST_WORK = 1000
"""How long NumPy searches for a byte that two interleaved arrays share before it takes it that they do."""


def elements_meet(array: Array) -> bool:
    """Whether elements of an array may share memory, as those of an expanded one do."""
    reach = array.itemsize if array.size else 0
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (extent - 1)
    return False


def same_memory(one: Array, other: Array) -> bool:
    """Whether two arrays of one shape are the same elements."""
    return one is other or (
        one.strides == other.strides and one.dtype == other.dtype and loader.address(one) == loader.address(other)
    )


def share_memory(one: Array, other: Array) -> bool:
    """Whether two arrays may have a byte in common: two columns of one table have none."""
    return np.may_share_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]  # the stubs know two special values alone


def aligned(array: Array) -> bool:
    """Whether typed C pointers may walk an array: 8-byte words ask for more than NumPy's complex64 does."""
    return array.flags.aligned and (
        array.dtype.alignment >= min(array.itemsize, 8)
        or array.__array_interface__["data"][0] % min(array.itemsize, 8) == 0
    )


def unrepeated(array: Array, axis: int | None = None) -> Array:
    """Return what is repeated by a stride of 0 once: a view, of size 1 along all such dims but `axis`."""
    if 0 not in array.strides:
        return array
    dims = enumerate(array.strides)
    return array[(..., *(slice(0, 1) if stride == 0 and dim != axis else slice(None) for dim, stride in dims))]


def along(array: Array, shape: tuple[int, ...], dim: int) -> Array:
    """Return an array of rank 1 in `shape`, along `dim` and repeated along all other dims, without a copy."""
    strides = (0,) * dim + array.strides + (0,) * (len(shape) - dim - 1)
    if array.flags.c_contiguous:
        return np.ndarray(shape, array.dtype, array, strides=strides)  # `np.broadcast_to` is slow to make one
    return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False)


def compact(array: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """Return a C-ordered copy, no larger than what it stands for: dims of stride 0 keep that stride."""
    if 0 not in array.strides:
        return np.array(array, dtype or array.dtype, order="C")
    return np.broadcast_to(np.array(unrepeated(array), dtype or array.dtype, order="C"), array.shape)


def plain(array: Array) -> Array:
    """Return an array that kernels can walk as one run: native, aligned, C-contiguous; itself if it is so."""
    native = np.ascontiguousarray(array, dtypes.native(array.dtype)).reshape(array.shape)
    return native if aligned(native) else native.copy()


def apart(data: Array, out: Array, name: str, copies: list[str]) -> Array:
    """Return `data`, or a copy where it shares memory with `out` and is not the same elements.

    NumPy's own assignment reads elements of rank 1 that it has written, where strides differ.
    """
    if same_memory(out, data) or not share_memory(out, data):
        return data
    copies.append(f"{name}: shares memory with out")
    return compact(data)


def readable(array: Array, name: str, out: Array | None, copies: list[str]) -> Array:
    """Return the array, or one copy of it where a kernel cannot read it while it writes `out`."""
    reasons = []
    if out is not None and share_memory(array, out):
        reasons.append("shares memory with out")
    if not array.dtype.isnative:
        reasons.append("foreign byte order")
    if not reasons:
        return array
    copies.append(f"{name}: {' and '.join(reasons)}")
    return compact(array, dtypes.native(array.dtype))
