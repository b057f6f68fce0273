"""The indices that a plan keeps: a copy that nobody can write, wrapped to be positive, in the least memory."""

from __future__ import annotations

import numpy as np

from ..operators.shapes import Array
from . import memory

_MOST_NARROW = 2**31 - 1
"""The largest size that is an int32 itself: it is added to negative indices in their own type."""


def private(indices: Array, axis: int | None) -> Array:
    """Return a packed copy; dims off the axis along which indices repeat have stride 0."""
    copy = memory.compact(indices, indices.dtype.newbyteorder("="))
    if axis is None:
        return copy
    once = copy
    for dim in range(copy.ndim - 1, -1, -1):
        if dim != axis and once.shape[dim] > 1:
            first, second = (once[(slice(None),) * dim + (slice(at, at + 1),)] for at in (0, 1))
            # most indices differ at once: then the rest need not be compared
            if once.strides[dim] == 0 or ((second == first).all() and (once == first).all()):
                once = first
    return np.broadcast_to(np.ascontiguousarray(once), copy.shape)


def lean(indices: Array, sizes: tuple[int, ...]) -> Array:
    """Return checked indices, none of them negative, in the least type that holds them."""
    narrow = all(size <= _MOST_NARROW for size in sizes)
    once = memory.unrepeated(indices)
    if len(sizes) > 1:  # components that are alike have sizes of their own
        once = np.broadcast_to(once, (*once.shape[:-1], len(sizes)))
    wrapped: Array = once.astype(np.int32 if narrow else np.int64, order="C")
    negative = wrapped < 0
    if negative.any():
        np.add(wrapped, np.array(sizes, wrapped.dtype), out=wrapped, where=negative)
    return unwritable(wrapped, indices.shape)


def unwritable(lean: Array, shape: tuple[int, ...]) -> Array:
    """Return what is kept as indices of `shape` that cannot be written."""
    lean.flags.writeable = False
    return np.broadcast_to(lean, shape)
