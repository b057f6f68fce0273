"""The target of every update, slowly: a number for it, a function for each way of naming targets.

A target's number is its place in `data` in row-major order. Indices may be negative, and have to be in bounds; one that
is not, as where another thread writes to them, is taken modulo its dim.
"""

from __future__ import annotations

import math

import numpy as np

from ..operators.shapes import Array

Shape = tuple[int, ...]


def along_axis(indices: Array, shape: Shape, axis: int) -> Array:
    """Return the target of each index along `axis` of `shape`: int64 of the shape of `indices`."""
    targets: Array = np.asarray(indices, np.int64) % shape[axis] * math.prod(shape[axis + 1 :])
    for dim, extent in enumerate(indices.shape):
        if dim != axis and extent > 1:
            targets += _along(dim, extent, indices.ndim) * math.prod(shape[dim + 1 :])
    return targets


def by_tuples(indices: Array, sizes: Shape) -> Array:
    """Return what each tuple names in an array of the `sizes` that its components address: int64, a number a tuple."""
    targets, indices = np.zeros(indices.shape[:-1], np.int64), np.asarray(indices, np.int64)
    for component, size in enumerate(sizes):
        targets *= size
        targets += indices[..., component] % size
    return targets


def in_slices(indices: Array, shape: Shape) -> Array:
    """Return the target of each element of the slices of `shape` that tuples name: int64 of the shape of updates."""
    depth = indices.shape[-1]
    rest = shape[depth:]
    size = math.prod(rest)
    return np.asarray(np.add.outer(by_tuples(indices, shape[:depth]) * size, np.arange(size).reshape(rest)))


def in_windows(starts: Array, written: Shape, shape: Shape, axis: int) -> Array:
    """Return the target of each element of windows that begin at `starts` along `axis`: int64 of shape `written`.

    There is a start for each entry of the first dim. A window goes on at 0 where the axis ends.
    """
    targets, starts = np.zeros(written, np.int64), np.asarray(starts, np.int64)
    for dim, extent in enumerate(written):
        along = _along(dim, extent, len(written))
        if dim == axis:
            along = (starts.reshape(-1, *(1,) * (len(written) - 1)) % shape[axis] + along) % shape[axis]
        targets += along * math.prod(shape[dim + 1 :])
    return targets


def _along(dim: int, extent: int, rank: int) -> Array:
    """Return 0 to `extent` - 1 as an array of `rank` that extends along `dim` alone."""
    return np.arange(extent).reshape(-1, *(1,) * (rank - dim - 1))
