"""A call in NumPy's idiom → a kernel that writes into the caller's array, or NumPy's own function.

A signature that was answered before goes from the arrays straight to its kernel (`quick.py`), where they lie in C
order, as most do. The others are selected, cast and planned each time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arguments import addressing, arrays, memory, repeats
from ..arguments.arrays import Arguments, Array
from ..call import dispatch
from ..call.plan import MOST_PLANS
from ..common import log
from ..errors import DTypeError, IndexOutOfBounds, ShapeError
from ..load import caller, loader
from ..operators import bounds, dtypes
from ..operators.ops import OPS, Op
from . import pieces, quick
from .casting import Convert
from .quick import UpdateAgain
from .selection import NotCovered, Selection, as_read, select

NO_KERNEL = "no kernel can be had: nobody has built it, and there is no C compiler"
_SCALARS = (float, int, np.generic)
_NUMERIC = ("bool", "unsigned", "signed", "float", "half", "complex")
_SCATTER_ND, _SCATTER_ELEMENTS = OPS["scatter_nd"], OPS["scatter_elements"]
_ndarray = np.ndarray


class Idiom:
    """One of NumPy's ways to update an array in place, and how it is done here."""

    __slots__ = ("__weakref__", "convert", "name", "numpy", "plans", "recent", "reduction")

    def __init__(self, name: str, reduction: str, convert: Convert, numpy: Callable[..., None]) -> None:
        self.name, self.reduction = name, reduction
        self.convert = convert
        """``b`` → its values in the type of ``a``, or `NotCovered`."""
        self.numpy = numpy
        """NumPy's own function, of the same arguments."""
        self.forget()
        dispatch.depend(self)

    def forget(self) -> None:
        """Drop every plan: something that plans depend on has changed."""
        self.plans: dict[tuple[Any, ...], UpdateAgain] = {}
        """Types and shapes of all arguments → what serves them."""
        self.recent: dict[tuple[Any, ...], UpdateAgain] = {}
        """The shape of an index array → what served it last; C looks at the arrays. Empty without a caller module."""

    def __call__(self, a: Any, indices: Any, b: Any, *axis: Any) -> None:
        """Do it; `axis` is that of ``put_along_axis``, and there is none for the others."""
        guess = None
        if type(indices) is _ndarray and (not axis or type(axis[0]) is int):  # 1.0 would be found where 1 was kept
            guess = (indices.shape, *axis)
            update = self.recent.get(guess)
            if update is not None and update(a, indices, b):
                return
        key = _signature(a, indices, b, axis)
        if key is not None:
            update = self.plans.get(key)
            if update is not None and update(a, indices, b):
                self._guess(guess, update)
                if self.plans.get(key) is not update:  # dropped while it ran
                    self.recent.clear()
                return
        elif (read := quick.lists_read(indices)) is not None:
            self(a, read, b, *axis)
            return
        self.run(a, indices, b, axis, key)

    def run(self, a: Any, indices: Any, b: Any, axis: tuple[Any, ...], key: tuple[Any, ...] | None) -> None:
        """Do it without a plan, and keep one under `key`."""
        selection: Selection | None = None
        try:
            if axis:
                arguments = _along_axis(self, a, indices, b, *axis)
            else:
                selection, updates = _selected(self, a, indices, b)
                if pieces.pay(selection, updates):
                    for piece, part in pieces.cut(selection, updates, self.name):
                        dispatch.execute(_at_tuples(self, piece, part), None, stand_in=self.by_numpy)
                    return
                arguments = _at_tuples(self, selection, updates)
            dispatch.execute(arguments, None, stand_in=self.by_numpy)
        except NotCovered as reason:
            log.debug("at.%s is NumPy's to answer: %s", self.name, reason)
            self.numpy(a, indices, b, *axis)
            return
        except IndexOutOfBounds as error:
            raise self._in_words_of_the_call(error, selection) from None
        if not caller.adopt():
            return
        # A kernel walks each of its loops once at least: where nothing is written, none may be called.
        if key is not None and arguments.updates.size and not arguments.copies and not repeats.possible(arguments):
            self._keep(key, arguments, a, indices, b)

    def _keep(self, key: tuple[Any, ...], arguments: Arguments, a: Any, indices: Any, b: Any) -> None:
        began = dispatch.era
        plan, planned = dispatch.planned(arguments, None, 0)  # the call has been counted
        if plan.call is None or plan.is_baseline or planned is not arguments:
            return
        update = quick.updating(arguments, plan.call, self.convert, a, indices, b)
        if update is not None:
            if len(self.plans) >= MOST_PLANS:
                self.forget()
            self.plans[key] = update
            if dispatch.era is not began:  # it may have the old number of threads
                self.forget()

    def by_numpy(self, arguments: Arguments) -> Array:
        """Answer for a kernel that cannot be had, after its checks: NumPy takes C-ordered arrays in row-major order."""
        a, indices, updates = arguments.data, arguments.indices, np.ascontiguousarray(arguments.updates)
        place, along = arguments.spec.place, arguments.spec.op is _SCATTER_ELEMENTS
        components = np.ascontiguousarray(indices[None] if along else np.moveaxis(indices, -1, 0))
        error = addressing.out_of_bounds(arguments)
        if error is not None:
            raise error
        log.debug("at.%s is NumPy's to answer: %s", self.name, NO_KERNEL)
        if along:
            self.numpy(a, components[0], updates, place)
        else:
            self.numpy(a, tuple(components), updates)
        return a

    def _guess(self, guess: tuple[Any, ...] | None, update: UpdateAgain) -> None:
        if guess is not None and loader.functions is not None:
            self.recent[guess] = update

    def arguments(self, a: Any, indices: Any, b: Any, axis: tuple[Any, ...]) -> Arguments:
        """Return the call as one of ScatterND or ScatterElements, or raise `NotCovered`."""
        return _along_axis(self, a, indices, b, *axis) if axis else _at_tuples(self, *_selected(self, a, indices, b))

    def _in_words_of_the_call(self, error: IndexOutOfBounds, selection: Selection | None) -> IndexOutOfBounds:
        """Return the error with the places of the arrays that the caller gave."""
        if selection is None:
            return IndexOutOfBounds(f"at.{self.name}", error.positions, error.values, error.limits)
        for component, axis, size in zip(selection.components, selection.axes, selection.view.shape, strict=False):
            found = bounds.find_out_of_bounds(component, (size,), f"at.{self.name}, axis {axis} of a")
            if found is not None:
                return found
        return error


def _signature(a: Any, indices: Any, b: Any, axis: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return what a plan depends on, None for a call that has none."""
    kind = type(indices)
    index = (indices.dtype, indices.shape) if kind is _ndarray else quick.signature(indices) if kind is tuple else None
    if index is None or type(a) is not _ndarray or not all(type(one) is int for one in axis):
        return None
    if type(b) is _ndarray:
        return (a.dtype, a.shape, index, b.dtype, b.shape, *axis)
    return (a.dtype, a.shape, index, type(b), *axis) if isinstance(b, _SCALARS) else None


def _selected(idiom: Idiom, a: Any, indices: Any, b: Any) -> tuple[Selection, Array]:
    """Return what ``a[indices]`` names, and `b` as the updates of that."""
    array = _target(idiom, a)
    selection = select(array, indices, masks=idiom.reduction != "none")
    values = _values(idiom, array, b, len(selection.shape))
    try:
        return selection, selection.updates(values)
    except ValueError:
        raise misfit(idiom.name, values.shape, selection.shape) from None


def _at_tuples(idiom: Idiom, selection: Selection, updates: Array) -> Arguments:
    """Return the ScatterND that does it."""
    return _arguments(idiom, _SCATTER_ND, len(selection.components), selection.view, selection.tuples(), updates)


def _along_axis(idiom: Idiom, a: Any, indices: Any, b: Any, axis: Any) -> Arguments:
    """Return the ScatterElements that is ``np.put_along_axis(a, indices, b, axis)``."""
    array, indices = _target(idiom, a), np.asarray(indices)
    rank = array.ndim
    try:
        place = operator.index(axis)
    except TypeError:
        raise NotCovered(f"axis is {axis!r}") from None
    if not (-rank <= place < rank and indices.ndim == rank and indices.dtype.kind in "iu"):
        raise NotCovered(f"axis is {place}, indices are {indices.dtype} of {indices.ndim} dims, a has {rank}")
    shape = list(array.shape)
    shape[place] = indices.shape[place]
    try:
        indices = np.broadcast_to(as_read(indices), shape)
    except ValueError:
        raise NotCovered(f"indices of shape {indices.shape} do not broadcast to {tuple(shape)}") from None
    values = _values(idiom, array, b, rank)
    try:
        updates = np.broadcast_to(values, shape)
    except ValueError:
        raise misfit(idiom.name, values.shape, shape) from None
    return _arguments(idiom, _SCATTER_ELEMENTS, place % rank, array, indices, updates)


def _target(idiom: Idiom, a: Any) -> Array:
    """Return `a` as a plain array; raise `DTypeError` and `ShapeError` where nothing can be written."""
    if not isinstance(a, _ndarray):
        from ..arguments.advice import not_writable

        raise not_writable(f"at.{idiom.name}", a, "a")
    if not a.flags.writeable:
        raise ShapeError(f"at.{idiom.name}: a is read-only")
    if type(a) is not _ndarray and type(a) is not np.memmap:
        raise NotCovered(f"a is a {type(a).__name__}")
    if memory.elements_meet(a):
        raise NotCovered("a has elements that share memory")
    return np.asarray(a)


def _values(idiom: Idiom, a: Array, b: Any, rank: int) -> Array:
    """Return `b` in the type of `a`, in native byte order, of at most `rank` dims where that can be."""
    try:
        known = dtypes.of_numpy(a.dtype, "a")
    except DTypeError as error:
        raise NotCovered(str(error)) from None
    if known.kind not in _NUMERIC:
        raise NotCovered(f"a is {a.dtype}")
    return without_extra_dims(idiom.convert(known.numpy, b), rank)


def without_extra_dims(b: Array, rank: int) -> Array:
    """Return `b` without those dims of size 1 before its first that a result of `rank` dims has no place for."""
    while b.ndim > rank and b.shape[0] == 1:
        b = b[0, ...]  # an element may be an object of any kind
    return b


def misfit(name: str, given: Sequence[int], wanted: Sequence[int]) -> ShapeError:
    """Return the error for a `b` that does not broadcast to what it updates."""
    return ShapeError(f"at.{name}: b has shape {tuple(given)}, must broadcast to {tuple(wanted)}, that of a[indices]")


def _arguments(idiom: Idiom, op: Op, place: int, a: Array, indices: Array, updates: Array) -> Arguments:
    spec = arrays.spec_of(op, a.dtype, indices.dtype, a.ndim, place, idiom.reduction, op.default_opset)
    copies = [] if a.dtype.isnative else ["out: foreign byte order"]
    indices = memory.readable(indices, "indices", a, copies)
    updates = memory.readable(updates, "updates", a, copies)
    return Arguments(spec, a, indices, updates, a, tuple(copies))
