"""Memory layouts that hurt: each function returns the same values in another place, order or spacing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"


def plain(array: Array) -> Array:
    """Return the array as it is."""
    return array


def fortran(array: Array) -> Array:
    """Return the values in Fortran order."""
    return np.array(array, order="F")


def strided(array: Array) -> Array:
    """Return the values with a gap in each of the last eight axes: each second element of a buffer."""
    steps = [2 if array.ndim - axis <= 8 else 1 for axis in range(array.ndim)]
    big = np.zeros([step * size for step, size in zip(steps, array.shape, strict=True)], array.dtype)
    view = big[(..., *(slice(None, None, step) for step in steps))]
    view[...] = array
    return view


def negative(array: Array) -> Array:
    """Return the values with every stride negative."""
    flip = (..., *(slice(None, None, -1),) * array.ndim)
    return array[flip].copy()[flip]


def unaligned(array: Array) -> Array:
    """Return the values at an odd address."""
    raw = np.zeros(array.nbytes + 2, np.uint8)
    start = 1 - raw.ctypes.data % 2
    view = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def packed(array: Array) -> Array:
    """Return the values as a field of a packed record: no stride is a multiple of the item size."""
    record = np.zeros(array.shape, [("tag", np.uint8), ("value", array.dtype)])
    record["value"] = array
    return record["value"]


def swapped(array: Array) -> Array:
    """Return the values in the other byte order; those of bfloat16 as they are, as it has only one."""
    if array.dtype.kind == "V":
        return array.copy()
    return array.astype(array.dtype.newbyteorder())


def read_only(array: Array) -> Array:
    """Return a view that cannot be written."""
    view = array.view()
    view.setflags(write=False)
    return view


def broadcast(array: Array) -> Array:
    """Return the first of the values along axis 0 for all of it, by a zero stride."""
    return np.broadcast_to(array[:1], array.shape) if array.ndim and array.shape[0] else array.copy()


HURTFUL: tuple[Callable[[Array], Array], ...] = (
    fortran,
    strided,
    negative,
    unaligned,
    packed,
    swapped,
    read_only,
    broadcast,
)
"""All but the plain one. `broadcast` is the only one that changes values."""
