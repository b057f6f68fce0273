"""Do the shapes of a call's arrays fit, and where does it address `data`: a rule for each way of addressing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ShapeError
from .ops import Op

Array = np.ndarray[Any, np.dtype[Any]]
"""Any array of NumPy's."""


def fit(op: Op, axis: Any, data: Array, indices: Array, updates: Array, reduction: str) -> int:
    """Return the axis, not negative, or the index depth k; raise `ShapeError` where shapes do not fit.

    `axis` is as the caller gave it, and counts only for an operator that has one; errors advise calls with `reduction`.
    """
    for name, array in ((op.inputs.data, data), (op.inputs.indices, indices)):
        if array.ndim == 0:
            raise ShapeError(f"{op}: {name} has rank 0, allowed is 1 or more")
    return _RULES[op.addressing](op, axis, data, indices, updates, reduction)


def dim_of(value: Any, rank: int, name: str, who: Op | str) -> int:
    """Return the dim that the argument `name` of `who` names, not negative; raise `ShapeError` where it names none."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ShapeError(f"{who}: {name} is {value!r}, must be a whole number") from None
    if not -rank <= number < rank:
        raise ShapeError(f"{who}: {name} is {number}, allowed is {-rank} to {rank - 1} for rank {rank}")
    return number % rank


def _along_axis(op: Op, axis: Any, data: Array, indices: Array, updates: Array, reduction: str) -> int:
    rank, along = data.ndim, dim_of(axis, data.ndim, "axis", op)
    if indices.ndim != rank or updates.ndim != rank:
        wanted = indices.shape if indices.ndim == rank else None
        raise ShapeError(
            f"{op}: data has rank {rank}, indices {indices.ndim}, updates {updates.ndim}: allowed is one common rank"
            f"{_reading(op, along, data, indices, updates, reduction, wanted)}"
        )
    if indices.shape != updates.shape:
        raise ShapeError(
            f"{op}: updates has shape {updates.shape}, must have that of indices, {indices.shape}"
            f"{_reading(op, along, data, indices, updates, reduction, indices.shape)}"
        )
    for dim, (size, extent) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if dim != along and extent > size:
            from .meant import another_axis

            raise ShapeError(
                f"{op}: indices.shape[{dim}] is {extent}, allowed off axis {along}"
                f" is data.shape[{dim}] = {size} or less{another_axis(data.shape, indices.shape)}"
            )
    return along


def _by_tuples(op: Op, axis: Any, data: Array, indices: Array, updates: Array, reduction: str) -> int:
    depth = indices.shape[-1]
    if depth > data.ndim:
        raise ShapeError(
            f"{op}: indices.shape[-1] is {depth}, allowed is 0 to rank(data) = {data.ndim}"
            f"{_reading(op, 0, data, indices, updates, reduction, None)}"
        )
    wanted = indices.shape[:-1] + data.shape[depth:]
    if updates.shape != wanted:
        raise ShapeError(
            f"{op}: updates has shape {updates.shape}, must have {wanted} (indices.shape[:-1] + data.shape[{depth}:])"
            f"{_reading(op, 0, data, indices, updates, reduction, wanted)}"
        )
    return int(depth)


def _reading(
    op: Op,
    axis: int,
    data: Array,
    indices: Array,
    updates: Array,
    reduction: str,
    wanted: tuple[int, ...] | None,
) -> str:
    """Return the end of a message, what the call may have meant."""
    from .meant import reading

    return reading(op, axis, data.shape, indices.shape, updates.shape, reduction, wanted)


def _windows(op: Op, axis: Any, data: Array, indices: Array, updates: Array, _: str) -> int:
    rank, (cache, start, update) = data.ndim, op.inputs
    if rank < 2:
        raise ShapeError(f"{op}: {cache} has rank {rank}, allowed is 2 or more: a batch and an axis to write along")
    if updates.ndim != rank:
        raise ShapeError(f"{op}: {update} has rank {updates.ndim}, must have that of {cache}, {rank}")
    along = dim_of(axis, rank, "axis", op)
    if along == 0:
        raise ShapeError(f"{op}: axis is {axis}, which is the batch; allowed is 1 to {rank - 1}, or {1 - rank} to -1")
    for dim, (size, extent) in enumerate(zip(data.shape, updates.shape, strict=True)):
        if extent != size and (dim != along or extent > size):
            allowed = f"{size} or less along axis {along}" if dim == along else f"{size} as in {cache}"
            raise ShapeError(f"{op}: {update}.shape[{dim}] is {extent}, allowed is {allowed}")
    if indices.shape != data.shape[:1]:
        raise ShapeError(
            f"{op}: {start} has shape {indices.shape}, must have {data.shape[:1]}: an index for each entry of the batch"
        )
    return along


_RULES: dict[str, Callable[[Op, Any, Array, Array, Array, str], int]] = {
    "axis": _along_axis,
    "tuples": _by_tuples,
    "window": _windows,
}
