"""`prepare`: indices that are checked and put in order once, then applied to many data and updates.

A plan keeps indices of its own: kernels may then skip the check that comes before the first write, and
what a caller does to the array later changes nothing. On the way they take the least memory that holds
them: int32 where the sizes allow, wrapped to be positive, packed, and once where they repeat along a dim
(as do those that were expanded), so that a slice is moved in place of single elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import arrays, kept, memory
from ..arguments.arrays import Array
from ..arguments.checks import addressed, sizes_of
from ..errors import ShapeError
from ..load.loader import Call
from ..operators import bounds
from ..operators.ops import OPS, Op
from . import dispatch, fast
from .threads import require as require_threads

_MOST_KEPT = 64
"""Kinds of arrays that a `Prepared` knows; when there are more, all are forgotten and made again as they come."""


class Prepared:
    """Checked indices; call it with data and updates. Read-only, and good for any number of threads at once."""

    __slots__ = (
        "__weakref__",
        "_axis",
        "_indices",
        "_kept",
        "_op",
        "_opset",
        "_recent",
        "_reduction",
        "_shape",
        "_threads",
        "_unique",
    )

    def __init__(
        self,
        op: Op,
        opset: int,
        axis: int | None,
        reduction: str,
        indices: Array,
        shape: tuple[int, ...],
        threads: int | None,
        unique: bool,
    ) -> None:
        self._op, self._opset, self._axis, self._indices = op, opset, axis, indices
        self._threads, self._unique = threads, unique
        self.forget()
        self._reduction, self._shape = reduction, shape
        dispatch.depend(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # Kernels are found again in the process, and by the object, that comes to have the plan.
        before = (self._op, self._opset, self._axis, self._reduction)
        after = (self._shape, self._threads, self._unique)
        return _again, (before, memory.unrepeated(self._indices), self._indices.shape, after)

    def __repr__(self) -> str:
        return f"<Prepared {self._reduction} for data {self._shape}>"

    def forget(self) -> None:
        """Drop what depends on the number of threads; it is made again by the next call."""
        self._kept: dict[tuple[Any, ...], fast.Replay] = {}
        """All that makes calls alike → what serves them."""
        self._recent: list[fast.Replay] = [_nobody] * 3

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of every `data`."""
        return self._shape

    @property
    def reduction(self) -> str:
        """How updates are combined with what is there."""
        return self._reduction

    @property
    def indices(self) -> Array:
        """The indices as they are kept: none is negative, and they cannot be written."""
        return self._indices.view()

    def __call__(self, data: Any, updates: Any, out: Any = None) -> Array:
        """Return what the operator gives for these indices.

        Args:
            data: of the shape that was prepared for, any type that the reduction takes.
            updates: the type of `data`, in the shape that the operator takes beside these indices.
            out: array of the shape and type of `data` for the result; may be `data` itself. A failed call leaves it
                untouched. Nothing else may write to it meanwhile, not even to elements that no index names.

        Raises:
            ShapeError (ValueError), DTypeError (TypeError).

        """
        result = self._recent[_kind(data, out)](data, self._indices, updates, out)
        return self._run(data, updates, out) if result is None else result

    def _run(self, data: Any, updates: Any, out: Any) -> Array:
        plain = type(data) is type(updates) is np.ndarray
        if plain:
            key = fast.key(data, self._indices, updates, out)
            served = self._kept.get(key)
            result = served(data, self._indices, updates, out) if served else None
            if served and result is not None:
                self._guess(served, data, out)
                if self._kept.get(key) is not served:  # dropped while it ran
                    self.forget()
                return result
        try:
            arguments = arrays.prepare(
                self._op, self._opset, self._axis, self._reduction, data, self._indices, updates, out,
                checked=True, unique=self._unique,
            )  # fmt: skip
        except ShapeError as error:
            raise self._misfit(error, arrays.as_data(data, self._op).shape) from None
        if arguments.data.shape != self._shape:
            raise self._misfit(None, arguments.data.shape)
        result = dispatch.execute(arguments, self._threads, self._keep if plain else None, same_indices=True)
        return result if out is None else out

    def _misfit(self, error: ShapeError | None, given: tuple[int, ...]) -> ShapeError:
        """Return what is wrong with a call on data of shape `given`; `error` is what the operator says."""
        if error is None or given != self._shape:
            return ShapeError(f"{self._op}: data has shape {given}, was prepared for {self._shape}")
        return error if self._axis is not None else ShapeError(f"{error}; prepared without axis=: for scatter_nd")

    def _keep(self, call: Call, data: Array, indices: Array, updates: Array, out: Array | None) -> None:
        served = fast.serving(call, call.pointer, data, indices, updates, out)
        if served is None:
            return
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[fast.key(data, indices, updates, out)] = served
        self._guess(served, data, out)

    def _guess(self, served: fast.Replay, data: Any, out: Any) -> None:
        if fast.looks(served):
            self._recent[_kind(data, out)] = served


_Before = tuple[Op, int, "int | None", str]
_After = tuple[tuple[int, ...], "int | None", bool]


def _again(before: _Before, lean: Array, shape: tuple[int, ...], after: _After) -> Prepared:
    """Return a plan that was pickled or copied; the arguments of `Prepared` stand before and after its indices."""
    return Prepared(*before, kept.unwritable(lean, shape), *after)


def _kind(data: Any, out: Any) -> int:
    return 0 if out is None else 1 if out is data else 2


def _nobody(*_: Any) -> None:
    """Serve no call."""


def prepare(
    indices: Any,
    data_shape: Sequence[int],
    axis: int | None = None,
    reduction: str = "none",
    *,
    opset: int = 18,
    threads: int | None = None,
    unique: bool = False,
) -> Prepared:
    """Return indices that are checked for data of a shape, once: call it with `data` and `updates`, many times.

    Args:
        indices: int32 or int64, in the shape that the operator takes; copied, so that later writes to it change
            nothing.
        data_shape: the shape of every `data` to come.
        axis: that of `scatter_elements` (ONNX ScatterElements); None for `scatter_nd` (ONNX ScatterND), whose tuples
            lie along the last dim.
        reduction: one of none, add, mul (from opset 16), max, min (from 18).
        opset: the ONNX opset whose rules hold: those of the newest version of the operator up to it. There is no
            upper limit: 99 means the last version.
        threads: most threads of a call; results do not depend on it.
        unique: a promise that no two updates have one target. Where it is wrong, any of them may win.

    Raises:
        IndexOutOfBounds (IndexError), ShapeError and SpecError (ValueError), DTypeError (TypeError).

    """
    op = OPS["scatter_nd" if axis is None else "scatter_elements"]
    given = arrays.as_indices(indices, op.inputs.indices, op)
    shape = sizes_of(data_shape, "data_shape", op)
    require_threads(threads)
    _refuse_misfits(op, opset, axis, reduction, given, shape, unique)
    sizes = addressed(given, shape, axis, op)
    own = kept.private(given, None if axis is None else axis % len(shape))
    bad = bounds.find_out_of_bounds(own, sizes, str(op))
    if bad is not None:
        raise bad
    return Prepared(op, opset, axis, reduction, kept.lean(own, sizes), shape, threads, unique)


def _refuse_misfits(
    op: Op, opset: int, axis: int | None, reduction: str, indices: Array, shape: tuple[int, ...], unique: bool
) -> None:
    """Raise what a call on arrays of these shapes raises; they are of one byte, whatever their shape."""
    byte = np.zeros((), np.uint8)
    updates = (
        indices.shape if axis is not None or not indices.ndim else (*indices.shape[:-1], *shape[indices.shape[-1] :])
    )
    try:
        data, written = np.broadcast_to(byte, shape), np.broadcast_to(byte, updates)
    except ValueError as error:
        raise ShapeError(f"{op}: data_shape is {shape}, and NumPy has no such arrays: {error}") from None
    try:
        arrays.prepare(op, opset, axis, reduction, data, indices, written, None, unique=unique)
    except ShapeError as error:
        if axis is not None:
            raise
        from ..operators.meant import without_axis

        raise ShapeError(f"{error}{without_axis(shape, indices.shape)}") from None
