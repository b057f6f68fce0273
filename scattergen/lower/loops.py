"""The canonical loop nest of a call: every scatter operator, in any memory layout, is this one thing.

A nest walks `indices` and `updates`; at each step it reads `depth` index components and updates one
element of the output::

    for (i0, i1, ...) in loops:
        target = sum(i * loop.out) + sum(component.stride * index[j] for j, component)
        out[target] = f(out[target], updates[sum(i * loop.updates)])

A nest with a window takes one step more: at each place the updates go to a run of positions from the index on::

    for t in range(window.extent):
        out[target + t * window.out] = updates[place + t * window.updates]     # (index + t) % size where it wraps

A loop that does not move the output (``out == 0``) is one along which targets may collide, so such
loops keep their order; all others may be reordered freely. Strides are in bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..common.record import Record

_WHOLE = 1 << 63
"""More than any stride: a tuple without components names the whole output."""


class Loop(Record):
    """One loop: how often, and how far each array moves at a step."""

    extent: int
    out: int
    indices: int
    updates: int


class Component(Record):
    """One component of an index tuple: the size of its dim of the output, and that dim's stride."""

    size: int
    stride: int


class Window(Record):
    """A run of positions along the dim of the one component, beginning where the index says."""

    extent: int
    out: int
    updates: int
    wraps: bool
    """Whether it goes on at the first position past the last one."""


class Nest(Record):
    """Loops, outermost first, and the index components read at each step."""

    loops: tuple[Loop, ...]
    components: tuple[Component, ...]
    component_step: int
    """Bytes from one component of a tuple to the next."""
    window: Window | None = None


def along_axis(
    shape: Sequence[int],
    axis: int,
    sizes: Sequence[int],
    out: Sequence[int],
    index: Sequence[int],
    update: Sequence[int],
) -> Nest:
    """Return the nest of Scatter and ScatterElements: `shape` is that of `indices`, `sizes` that of `data`."""
    loops = tuple(
        Loop(extent, 0 if dim == axis else out[dim], index[dim], update[dim]) for dim, extent in enumerate(shape)
    )
    return Nest(loops, (Component(sizes[axis], out[axis]),), 0)


def by_tuples(
    shape: Sequence[int],
    sizes: Sequence[int],
    out: Sequence[int],
    index: Sequence[int],
    update: Sequence[int],
) -> Nest:
    """Return the nest of ScatterND: `shape` is that of `indices`, its last dim the tuples."""
    depth, batch = shape[-1], len(shape) - 1
    tuples = tuple(Loop(shape[dim], 0, index[dim], update[dim]) for dim in range(batch))
    slices = tuple(Loop(extent, out[depth + dim], 0, update[batch + dim]) for dim, extent in enumerate(sizes[depth:]))
    components = tuple(map(Component, sizes[:depth], out[:depth]))
    return Nest(tuples + slices, components, index[-1])


def windows(
    shape: Sequence[int],
    axis: int,
    sizes: Sequence[int],
    out: Sequence[int],
    index: Sequence[int],
    update: Sequence[int],
    wraps: bool,
) -> Nest:
    """Return the nest of TensorScatter: `shape` is that of `updates`, and an index serves an entry of the first dim."""
    loops = tuple(
        Loop(extent, out[dim], 0 if dim else index[0], update[dim]) for dim, extent in enumerate(shape) if dim != axis
    )
    return Nest(loops, (Component(sizes[axis], out[axis]),), 0, Window(shape[axis], out[axis], update[axis], wraps))


def canonical(nest: Nest) -> Nest:
    """Return an equal nest with as few loops as can be, in the order of the output's memory.

    Loops of one step are dropped; a loop along which targets may collide stands where the stride of
    the outermost component has its place, first where there is none; neighbours that are one loop in
    all three arrays become one.
    """
    outermost = max((abs(component.stride) for component in nest.components), default=_WHOLE)
    many = [loop for loop in nest.loops if loop.extent != 1]
    many.sort(key=lambda loop: -(abs(loop.out) if loop.out else outermost))
    merged: list[Loop] = []
    for loop in many:
        if merged and merged[-1][1:] == tuple(loop.extent * stride for stride in loop[1:]):
            loop = loop._replace(extent=loop.extent * merged.pop().extent)
        merged.append(loop)
    return Nest(tuple(merged), nest.components, nest.component_step, nest.window)
