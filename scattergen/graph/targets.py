"""`src` and `index` → checked arrays, the index expanded without a copy, and what the targets are."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..arguments import holders
from ..arguments.arrays import Array, as_indices
from ..arguments.memory import along, share_memory, unrepeated
from ..common.record import Record
from ..errors import DTypeError, IndexOutOfBounds, ShapeError
from ..operators import dtypes
from ..operators.shapes import dim_of

_UNSIGNED: dict[int, np.dtype[Any]] = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
"""The bytes of an index → whole numbers of as many."""


class Rows(Record):
    """What is reduced, and to where."""

    who: str
    """The function's name, for errors."""
    src: Array
    targets: Array
    """The index in the shape of `src`; stride 0 along dims where it was expanded."""
    dim: int
    own: Array
    """The index as it was given, for errors."""

    @property
    def once(self) -> Array:
        """The index with size 1 along dims off `dim` where it repeats: as many targets, named once."""
        return unrepeated(self.targets, self.dim)

    def shape(self, size: int) -> tuple[int, ...]:
        """Return the shape of `src` with `size` targets along `dim`."""
        return (*self.src.shape[: self.dim], size, *self.src.shape[self.dim + 1 :])

    def apart(self, out: Array) -> Rows:
        """Return the same rows, copied where they share memory with `out`."""
        src, index = (np.array(array) if share_memory(array, out) else array for array in (self.src, self.targets))
        return self._replace(src=src, targets=index)


def rows(who: str, src: Any, index: Any, dim: Any) -> Rows:
    """Return checked arguments; raise `DTypeError` or `ShapeError`."""
    src, index = as_numbers(who, src, "src"), as_indices(index, "index", who)
    if src.ndim == 0:
        raise ShapeError(f"{who}: src has rank 0, allowed is 1 or more")
    place = dim_of(dim, src.ndim, "dim", who)
    return Rows(who, src, expanded(who, index, src, place), place, index)


def as_numbers(who: str, value: Any, name: str) -> Array:
    """Return an array of numbers or bools, or raise `DTypeError`."""
    array = holders.as_array(value, name, who)
    if dtypes.is_foreign(array.dtype):
        raise DTypeError(f"{who}: {name} is {array.dtype}, allowed are numbers and bool")
    return array


def expanded(who: str, index: Array, src: Array, dim: int) -> Array:
    """Return `index` in the shape of `src`, without a copy.

    An index of rank 1 lies along `dim`. Else its dims are the first ones of `src`, and those that it lacks
    follow; a dim of size 1 is repeated.
    """
    if index.shape == src.shape:
        return index
    if index.ndim == 0:
        raise ShapeError(f"{who}: index has rank 0, allowed is 1 to {src.ndim}")
    if index.ndim == 1 and len(index) == src.shape[dim]:
        return along(index, src.shape, dim)
    before = (1,) * dim if index.ndim == 1 else ()
    shape = (*before, *index.shape)
    shape = (*shape, *(1,) * (src.ndim - len(shape)))
    fits = len(shape) == src.ndim and all(size in (1, extent) for size, extent in zip(shape, src.shape, strict=True))
    if not fits and index.ndim == 1:
        near = [f": did you mean dim={at}?" for at, extent in enumerate(src.shape) if extent == len(index)]
        rows = f"src has {src.shape[dim]} rows along dim {dim}"
        raise ShapeError(f"{who}: index has length {len(index)}, but {rows}{near[0] if near else ''}")
    if not fits:
        raise ShapeError(f"{who}: index has shape {index.shape}, which cannot be expanded to {src.shape}")
    return np.broadcast_to(index.reshape(shape), src.shape)


def number_of_targets(given: Rows, dim_size: Any) -> int:
    """Return `dim_size`, or one more than the greatest index where that is None.

    Raise `IndexOutOfBounds` unless every index is in ``[0, dim_size)``: none counts from the end, here.
    """
    index = unrepeated(given.own) if given.targets.size else given.targets
    native = index.astype(dtypes.native(index.dtype), copy=False)
    # As unsigned numbers, negative ones are the greatest: one pass finds both ends.
    highest = int(np.maximum.reduce(native.view(_UNSIGNED[native.itemsize]), None)) if index.size else -1
    negative = highest >= 1 << (8 * index.itemsize - 1)
    if dim_size is None:
        size = highest + 1
    else:
        try:
            size = operator.index(dim_size)
        except TypeError:
            raise ShapeError(f"{given.who}: dim_size is {dim_size!r}, must be a whole number or None") from None
        if size < 0:
            raise ShapeError(f"{given.who}: dim_size is {size}, allowed is 0 or more")
    if negative or highest >= size:
        raise _out_of_bounds(given, None if dim_size is None else size)
    return size


def _out_of_bounds(given: Rows, size: int | None) -> IndexOutOfBounds:
    own = given.own
    places = np.argwhere((own < 0) if size is None else (own < 0) | (own >= size))[: IndexOutOfBounds.MOST]
    found = [tuple(map(int, place)) for place in places]
    limit = size if size is not None else int(max(own.max() + 1, 1))
    values = tuple(int(own[place]) for place in found)
    reason = _of_negative(given, size) if values[0] < 0 else ""
    return IndexOutOfBounds(given.who, tuple(found), values, tuple((0, limit) for _ in found), "index", reason)


def _of_negative(given: Rows, size: int | None) -> str:
    """Return what to do with negative ones: some libraries count from the end, others mark rows of no target by -1."""
    wrapped = f"np.where(index < 0, index + {'dim_size' if size is None else size}, index)"
    text = f"and none counts from the end here: use {wrapped} for that"
    if given.own.ndim > 1:
        return text
    return f"{text}, or np.compress(index >= 0, src, {given.dim}) and index[index >= 0] to leave such rows out"
