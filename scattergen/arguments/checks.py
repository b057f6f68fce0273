"""What may be wrong with the values of indices: bad ones listed, duplicate targets refused."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DuplicateTargets, ShapeError, SpecError
from ..operators import bounds, shapes
from ..operators.ops import OPS, Op
from . import arrays, memory, targets
from .arrays import Arguments, Array

DUPLICATES = ("allow", "refuse")
"""What a call may say of updates that have one target."""

_MOST_CELLS_A_TARGET = 8
"""Up to so many cells of the result for each target, a table of the cells is quicker than sorting the targets."""


def find_bad(indices: Any, shape: Sequence[int], axis: int | None = None, *, limit: int | None = None) -> Array:
    """Return where values of `indices` are out of bounds: int64 of shape (found, rank of indices), in row-major order.

    Args:
        indices: int32 or int64, of rank 1 or more for `scatter_nd`, else any.
        shape: that of the operators' `data`.
        axis: for `scatter_elements` and `scatter` the dim that all values address; None for `scatter_nd`,
            whose tuples along the last dim of `indices` address the first dims.
        limit: the most places to list; None lists all.

    Raises:
        ShapeError and SpecError (ValueError), DTypeError (TypeError).

    """
    limit = _limit(limit)
    op = OPS["scatter_nd" if axis is None else "scatter_elements"]
    array = arrays.as_indices(indices, op.inputs.indices, op)
    sizes = addressed(array, sizes_of(shape, "shape", op), axis, op)
    flat = np.array(bounds.positions(array, sizes, limit), np.int64)
    return np.stack(np.unravel_index(flat, array.shape), axis=-1) if array.ndim else np.empty((len(flat), 0), np.int64)


def _limit(value: Any) -> int | None:
    try:
        limit = None if value is None else operator.index(value)
    except TypeError:
        limit = -1
    if limit is not None and limit < 0:
        raise SpecError("limit", value, "a whole number, 0 or more, or None for all")
    return limit


def sizes_of(shape: Any, name: str, op: Op) -> tuple[int, ...]:
    """Return the shape that the argument `name` is; raise `ShapeError` where no array has one like that."""
    try:
        sizes = tuple(map(operator.index, shape))
    except TypeError:
        raise ShapeError(f"{op}: {name} is {shape!r}, allowed is a tuple of whole numbers") from None
    if any(size < 0 for size in sizes):
        raise ShapeError(f"{op}: {name} is {sizes}, allowed are sizes of 0 or more")
    if any(size > sys.maxsize for size in sizes):
        raise ShapeError(f"{op}: {name} is {sizes}, and NumPy has no such arrays: sizes are {sys.maxsize} at most")
    return sizes


def addressed(indices: Array, shape: tuple[int, ...], axis: int | None, op: Op) -> tuple[int, ...]:
    """Return the sizes of the dims that `indices` address in data of `shape`; raise `ShapeError` where there are none.

    With an axis its size, without one the first sizes of `shape`, as many as the last dim of `indices` is long.
    """
    if axis is None:
        depth = indices.shape[-1] if indices.ndim else len(shape) + 1
        if depth > len(shape):
            from ..operators.meant import without_axis

            raise ShapeError(
                f"{op}: indices has shape {indices.shape}, allowed is a last dim of 0 to {len(shape)} components"
                f"{without_axis(tuple(shape), indices.shape)}"
            )
        return shape[:depth]
    return (shape[shapes.dim_of(axis, len(shape), "axis", op)],)


def refuse_duplicates(arguments: Arguments, duplicates: str) -> None:
    """Raise `DuplicateTargets` where two updates have one target and `duplicates` is refuse.

    An index out of bounds is an `IndexOutOfBounds`. The indices are read once: what another thread writes to
    them meanwhile changes the answer and nothing else.
    """
    if duplicates not in DUPLICATES:
        raise SpecError("duplicates", duplicates, f"one of {', '.join(DUPLICATES)}")
    if duplicates == "allow" or not arguments.updates.size:
        return
    spec, shape = arguments.spec, arguments.data.shape
    indices = memory.compact(arguments.indices, np.dtype(np.int64))
    axis = spec.place if spec.op.addressing == "axis" else None
    sizes = addressed(indices, shape, axis, spec.op)
    bad = bounds.find_out_of_bounds(indices, sizes, str(spec.op))
    if bad is not None:
        raise bad
    if axis is None:  # slices meet where their tuples are alike
        named, numbers = sizes, targets.by_tuples(indices, sizes)
    else:  # lanes do not meet: the first of those that are alike stands for all of them
        named, numbers = shape, targets.along_axis(memory.unrepeated(indices, axis), shape, axis)
    pair = _first_pair(numbers.reshape(-1), math.prod(named))
    if pair is None:
        return
    one, other = (tuple(map(int, np.unravel_index(flat, numbers.shape))) for flat in pair)
    target = np.unravel_index(int(numbers[one]), named)
    raise DuplicateTargets(str(spec.op), (one, other), tuple(map(int, target)))


def _first_pair(targets: Array, cells: int) -> tuple[int, int] | None:
    """Return the first position whose target comes again, and where it does so first; None where none does."""
    if cells <= _MOST_CELLS_A_TARGET * targets.size:
        named = np.zeros(cells, np.bool_)
        named[targets] = True
        if np.count_nonzero(named) == targets.size:
            return None
        order = np.arange(targets.size)
        winner = np.empty(cells, np.int64)
        winner[targets] = order
        again = targets[winner[targets] != order]
    else:
        ordered = np.sort(targets)
        again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not again.size:
        return None
    first = int(np.argmax(np.isin(targets, again)))
    one, other = np.flatnonzero(targets == targets[first])[:2].tolist()
    return one, other
