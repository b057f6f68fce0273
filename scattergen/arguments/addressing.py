"""What hangs on how an operator's indices name their targets, beyond shapes: a row for each way of addressing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..common.record import Record
from ..errors import IndexOutOfBounds
from ..lower import loops
from ..lower.loops import Nest
from ..operators.spec import OpSpec
from .arrays import Arguments, Array

Numbers = tuple[int, ...]
"""A shape, or the strides of an array in bytes."""


class Extents(Record):
    """The shapes and strides of a call."""

    indices: Numbers
    updates: Numbers
    data: Numbers
    out_strides: Numbers
    index_strides: Numbers
    update_strides: Numbers


class Way(Record):
    """A way of addressing."""

    nest: Callable[[OpSpec, Extents], Nest]
    """The loops of a call, as they are written."""
    out_of_bounds: Callable[[Arguments], IndexOutOfBounds | None]
    """The error of a call, None where every index is in bounds."""
    reference: Callable[[Arguments], Array]
    """The result of a call, slowly."""
    targets: Callable[[Arguments], Array]
    """The number of every update's target, slowly, where there are updates."""


def canonical_nest(spec: OpSpec, extents: Extents) -> Nest:
    """Return the canonical loops of a call."""
    return loops.canonical(WAYS[spec.op.addressing].nest(spec, extents))


def out_of_bounds(arguments: Arguments) -> IndexOutOfBounds | None:
    """Return the error of indices that are out of bounds, None where there are none."""
    return WAYS[arguments.spec.op.addressing].out_of_bounds(arguments)


def by_reference(arguments: Arguments) -> Array:
    """Return what the reference gives, in an array of its own."""
    return WAYS[arguments.spec.op.addressing].reference(arguments)


def targets(arguments: Arguments) -> Array:
    """Return for every update the number of its target, elements of `data` counted in row-major order.

    That is an int64 array of the shape of `updates`. Indices have to be in bounds.
    """
    if not arguments.updates.size:
        return np.zeros(arguments.updates.shape, np.int64)
    return WAYS[arguments.spec.op.addressing].targets(arguments)


def _axis_nest(spec: OpSpec, e: Extents) -> Nest:
    return loops.along_axis(e.indices, spec.place, e.data, e.out_strides, e.index_strides, e.update_strides)


def _tuples_nest(spec: OpSpec, e: Extents) -> Nest:
    return loops.by_tuples(e.indices, e.data, e.out_strides, e.index_strides, e.update_strides)


def _beyond_axis(arguments: Arguments) -> IndexOutOfBounds | None:
    from ..operators import bounds

    spec, data = arguments.spec, arguments.data
    return bounds.find_out_of_bounds(arguments.indices, (int(data.shape[spec.place]),), str(spec.op))


def _beyond_dims(arguments: Arguments) -> IndexOutOfBounds | None:
    from ..operators import bounds

    spec, data = arguments.spec, arguments.data
    return bounds.find_out_of_bounds(arguments.indices, data.shape[: spec.place], str(spec.op))


def _elements(arguments: Arguments) -> Array:
    from ..operators import reference

    spec = arguments.spec
    return reference.scatter_elements(arguments.data, arguments.indices, arguments.updates, spec.place, spec.reduction)


def _tuples(arguments: Arguments) -> Array:
    from ..operators import reference

    return reference.scatter_nd(arguments.data, arguments.indices, arguments.updates, arguments.spec.reduction)


def _axis_targets(arguments: Arguments) -> Array:
    from .targets import along_axis

    return along_axis(arguments.indices, arguments.data.shape, arguments.spec.place)


def _tuple_targets(arguments: Arguments) -> Array:
    from .targets import in_slices

    return in_slices(arguments.indices, arguments.data.shape)


def _window_nest(spec: OpSpec, e: Extents) -> Nest:
    wraps = spec.mode == "circular"
    return loops.windows(e.updates, spec.place, e.data, e.out_strides, e.index_strides, e.update_strides, wraps)


def _misplaced_windows(arguments: Arguments) -> IndexOutOfBounds | None:
    from ..operators import bounds

    spec, axis = arguments.spec, arguments.spec.place
    if spec.mode == "circular":
        return None
    length, size = arguments.updates.shape[axis], arguments.data.shape[axis]
    return bounds.find_misplaced_windows(arguments.indices, length, size, str(spec.op), spec.op.inputs.indices)


def _windows(arguments: Arguments) -> Array:
    from ..operators import reference

    spec = arguments.spec
    return reference.tensor_scatter(arguments.data, arguments.indices, arguments.updates, spec.place, spec.mode)


def _window_targets(arguments: Arguments) -> Array:
    from .targets import in_windows

    return in_windows(arguments.indices, arguments.updates.shape, arguments.data.shape, arguments.spec.place)


WAYS: dict[str, Way] = {
    "axis": Way(_axis_nest, _beyond_axis, _elements, _axis_targets),
    "tuples": Way(_tuples_nest, _beyond_dims, _tuples, _tuple_targets),
    "window": Way(_window_nest, _misplaced_windows, _windows, _window_targets),
}
