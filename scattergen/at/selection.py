"""An index expression, as in ``a[indices]`` → what ScatterND needs: a view of `a`, index tuples, places of updates.

NumPy's rules for advanced indexing stand here. Arrays (lists, masks) broadcast against each other; where they
stand side by side, with whole numbers among them, their dims take the place of those that they address, else they
come first. All of that is a matter of views: the addressed dims of `a` are moved to its front, and nothing is copied
but the index tuples, where they do not lie side by side in memory already.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..common.record import Record

MOST_DIMS = 63
"""Dims of a result, so that one for the tuples may be added."""


class NotCovered(Exception):
    """A call that no kernel serves; NumPy's own function answers it, or says what is wrong. The text says why."""


class Selection(Record):
    """The part of an array that an index expression names."""

    view: Array
    """The array with the dims that the components address first, in their order."""
    components: tuple[Array, ...]
    """Arrays of int32 or int64 that broadcast to `batch`, one for each addressed dim."""
    axes: tuple[int, ...]
    """The dims of the array that the components address."""
    batch: tuple[int, ...]
    before: int
    """How many dims of the result stand before those of `batch`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of ``a[indices]``."""
        rest = self.view.shape[len(self.components) :]
        return (*rest[: self.before], *self.batch, *rest[self.before :])

    @property
    def packs(self) -> bool:
        """Whether the index tuples have to be packed."""
        return len(self.components) > 1 and not self._are_columns()

    def tuples(self) -> Array:
        """Return the index tuples along a last dim: a view where they lie so in memory, else packed."""
        if len(self.components) == 1:
            return self.components[0][..., None]
        return self._packed() if self.packs else _side_by_side(self.components)

    def _are_columns(self) -> bool:
        first = self.components[0]
        start, step = _address(first), first.itemsize
        return first.base is not None and all(
            one.base is first.base
            and (one.shape, one.strides, one.dtype) == (first.shape, first.strides, first.dtype)
            and _address(one) == start + place * step
            for place, one in enumerate(self.components)
        )

    def _packed(self) -> Array:
        wide = any(one.dtype.itemsize > 4 for one in self.components)
        packed = np.empty((*self.batch, len(self.components)), np.int64 if wide else np.int32)
        for place, one in enumerate(self.components):
            packed[..., place] = one
        return packed

    def updates(self, b: Array) -> Array:
        """Return `b`, broadcast to the result, with the dims of `batch` first; `ValueError` if it does not fit.

        One value for slices is written out for one of them, since kernels move slices quicker than single elements.
        """
        shape = self.shape
        if b.shape != shape:
            b = np.broadcast_to(b, shape)
        rest = self.view.shape[len(self.components) :]
        if rest and b.size > 1 and not any(b.strides):
            return np.broadcast_to(np.full(rest, b[(0,) * b.ndim]), self.batch + rest)
        if not self.before:
            return b
        order = [*range(self.before, self.before + len(self.batch)), *range(self.before)]
        return b.transpose(*order, *range(len(order), b.ndim))


def select(a: Array, indices: Any, *, masks: bool = True) -> Selection:
    """Return what ``a[indices]`` names, or raise `NotCovered`; a whole number out of bounds is an `IndexError`.

    Without `masks`, one with no other array beside it is not covered.
    """
    if type(indices) is np.ndarray and indices.ndim and indices.dtype.kind in "iu" and a.ndim:
        return Selection(a, (as_read(indices),), (0,), indices.shape, 0)
    items = [_item(one) for one in (indices if isinstance(indices, tuple) else (indices,))]
    arrays = [one for one in items if isinstance(one, np.ndarray)]
    if not arrays:
        raise NotCovered("no index is an array: each element is named once")
    if not masks and len(arrays) == 1 and arrays[0].dtype.kind == "b":
        raise NotCovered("a mask alone names each element once")
    items = _expanded(items, a.ndim)
    basic: list[Any] = []
    axes: list[int] = []
    order: list[tuple[int, int]] = []
    components: list[Array] = []
    axis = dims = rest = before = 0
    joined = ended = False  # whether arrays and whole numbers were met, and something else after them
    apart = False
    for one in items:
        if isinstance(one, (np.ndarray, int)):
            apart, joined = apart or ended, True
        else:
            ended = joined
            before += not joined and one is not ...
        if isinstance(one, np.ndarray):
            for component in _components(one, a.shape[axis:]):
                components.append(component)
                axes.append(axis)
                order.append((0, dims))
                basic.append(slice(None))
                axis, dims = axis + 1, dims + 1
        elif one is not ...:
            basic.append(one)
            axis += one is not None
            if not isinstance(one, int):
                order.append((1, dims))
                dims, rest = dims + 1, rest + 1
    batch = _broadcast(components)
    if rest + len(batch) > MOST_DIMS or a.ndim > MOST_DIMS:
        raise NotCovered(f"more than {MOST_DIMS} dims")
    view = a if all(one == slice(None) for one in basic) else a[tuple(basic)]
    if order != sorted(order):
        view = view.transpose([dim for _, dim in sorted(order)])
    return Selection(view, tuple(components), tuple(axes), batch, 0 if apart else before)


def _item(one: Any) -> Any:
    """Return an array of rank 1 or more, a whole number, a slice, None or an Ellipsis."""
    if one is None or one is ... or isinstance(one, slice):
        return one
    if isinstance(one, (bool, np.bool_)):
        raise NotCovered("an index is a single bool")
    try:
        return operator.index(one)
    except TypeError:
        pass
    try:
        array = np.asarray(one)
    except Exception as error:  # whatever the object raises: NumPy meets the same
        raise NotCovered(f"an index is a {type(one).__name__} that is no array") from error
    if not array.size:
        raise NotCovered("an index is empty")
    if not array.ndim or array.dtype.kind not in "iub":
        raise NotCovered(f"an index is a {type(one).__name__} of {array.dtype}")
    return array


def _expanded(items: list[Any], rank: int) -> list[Any]:
    """Return the items with a slice for each dim that an Ellipsis, or nothing at all, stands for.

    An Ellipsis that stands for no dim stays: it parts the arrays on its sides.
    """
    used = sum(one.ndim if isinstance(one, np.ndarray) and one.dtype.kind == "b" else 1
               for one in items if one is not None and one is not ...)  # fmt: skip
    dots = sum(one is ... for one in items)
    if used > rank or dots > 1:
        raise NotCovered(f"{used} indices and {dots} Ellipses for {rank} dims")
    places: list[Any] = [slice(None)] * (rank - used)
    if not dots:
        return [*items, *places]
    at = next(place for place, one in enumerate(items) if one is ...)
    return [*items[:at], *(places or [...]), *items[at + 1 :]]


def _components(array: Array, sizes: tuple[int, ...]) -> tuple[Array, ...]:
    if array.dtype.kind != "b":
        return (as_read(array),)
    if array.shape != sizes[: array.ndim]:
        raise NotCovered(f"a mask has shape {array.shape}, the dims that it stands for {sizes[: array.ndim]}")
    return tuple(map(np.asarray, array.nonzero()))


def as_read(array: Array) -> Array:
    """Return indices in a type that kernels read; those of uint64 wrap, as NumPy has it."""
    if not array.size:
        raise NotCovered("an index is empty")
    dtype = array.dtype
    if dtype.isnative and dtype.kind == "i" and dtype.itemsize in (4, 8):
        return array
    return array.astype(np.int32 if dtype.itemsize < 4 else np.int64)


def _broadcast(components: list[Array]) -> tuple[int, ...]:
    shapes = {one.shape for one in components}
    batch: tuple[int, ...] = components[0].shape
    if len(shapes) > 1:
        try:
            batch = np.broadcast_shapes(*shapes)
        except ValueError:
            raise NotCovered("index arrays do not broadcast against each other") from None
    if 0 in batch:
        raise NotCovered("an index is empty")
    return batch


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _side_by_side(components: tuple[Array, ...]) -> Array:
    """Return the columns of a table, as ``np.nonzero`` and ``tuple(table.T)`` give them, as that table."""
    first = components[0]
    return np.lib.stride_tricks.as_strided(
        first, (*first.shape, len(components)), (*first.strides, first.itemsize), writeable=False
    )
