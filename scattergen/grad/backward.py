"""Walks over the updates of a call, of whose steps gradients are composed; templates/grad.c.j2 has the steps."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..arguments import addressing, memory, repeats
from ..arguments.addressing import Extents, Numbers
from ..arguments.arrays import Arguments, Array
from ..call import direct, dispatch
from ..common.record import Record
from ..lower.forms import OPERATIONS
from ..lower.kernel import KernelSpec
from ..lower.layout import LAYOUTS
from ..lower.loops import Component, Loop
from ..operators import dtypes
from ..operators.dtypes import DTYPES
from ..operators.spec import OpSpec

_ONE = Loop(1, 0, 0, 0)

_READING = ("gather", "share")
"""Steps that change no target, so that any two of them may be taken at once."""


LEAST_PART = 256
"""Elements side by side that each thread has at least."""

SHORT = 16
"""Steps of an innermost loop below which another, longer one takes its place."""


class NoKernel(Exception):
    """There is no compiler, and the reference has to answer."""


class Walk:
    """The walks of one call.

    Arrays like `data` and arrays like `updates` are C-contiguous and native here.
    """

    def __init__(self, arguments: Arguments, threads: int | None) -> None:
        self.arguments, self.threads = repeats.collapse(arguments), threads
        self.size, self.shape = arguments.data.size, arguments.updates.shape
        self.count = math.prod(self.shape)
        self._in_tuples = arguments.spec.op.addressing == "tuples"
        self._indices = _readable(self.arguments.indices, self._in_tuples)

    def step(
        self,
        operation: str,
        out: Array,
        value: Array | None = None,
        updates: Array | None = None,
        *,
        gradient: int = 0,
        reverse: bool = False,
    ) -> None:
        """Take a step at every update, those of one target in order, or in reverse.

        `value` is like `data`; gradients lie from element number `gradient` of `out` on. Raises `NoKernel`, and
        `IndexOutOfBounds`, after which `out` is of no use.
        """
        if not self.count:
            return
        indices, spec, read = self._indices, self.arguments.spec, updates
        dims: tuple[int, ...] = ()
        if reverse:
            dims = tuple(range(indices.ndim - 1)) if self._in_tuples else (spec.place,)
            indices, read = np.flip(indices, dims), None if updates is None else np.flip(updates, dims)
        sizes, dtype = self.arguments.data.shape, (out if value is None else value).dtype
        plan = planned(spec, sizes, indices.shape, indices.strides, self.shape, dims, operation, dtype, gradient)
        found = direct.ready(plan.kernel, self.arguments.data, self.arguments.updates)
        if found is None:
            raise NoKernel
        threads = min(direct.most_threads(2 * self.count * out.itemsize, self.threads), plan.threads)
        if direct.run(found, plan.layout, threads, out, value, indices, read) >= 0:
            raise dispatch.out_of_bounds(self.arguments)


class Planned(Record):
    """A step whose arrays are still to come."""

    kernel: KernelSpec
    layout: tuple[int, ...]
    threads: int
    """As many as can share the walk."""


@lru_cache(maxsize=1024)
def planned(
    spec: OpSpec, sizes: Numbers, index_shape: Numbers, index_strides: Numbers, shape: Numbers, dims: Numbers,
    operation: str, dtype: np.dtype[Any], gradient: int,
) -> Planned:  # fmt: skip
    """Return the plan of a step in reverse along `dims`; the strides of indices are in bytes, and turned already."""
    element = dtypes.of_numpy(dtype, "grad")
    if element.kind not in OPERATIONS[operation].kinds:  # it is moved
        element = DTYPES[f"w{8 * element.size}"]
    (start, strides), (_, out_strides) = turned(shape, dims), turned(sizes, ())
    in_indices = tuple(stride // spec.index.size for stride in index_strides)
    loops = WalkNest.of(spec, Extents(index_shape, shape, sizes, out_strides, in_indices, strides))
    kernel = direct.kernel("grad", element, spec.index, operation, len(loops.components))
    shared, most = loops.shared(reads=operation in _READING)
    return Planned(kernel, loops.layout(shared, math.prod(sizes), gradient + start), most)


class WalkNest(Record):
    """A nest as the grad form walks it: loops, and a slice for each step of them. Strides are in elements."""

    loops: tuple[Loop, ...]
    slice: Loop
    components: tuple[Component, ...]

    @classmethod
    def of(cls, spec: OpSpec, extents: Extents) -> WalkNest:
        """Return the loops of a call on C-contiguous data; strides are in elements."""
        nest = addressing.canonical_nest(spec, extents)
        loops, row = nest.loops, _ONE
        if loops and loops[-1].out and not loops[-1].indices:
            loops, row = loops[:-1], loops[-1]
        # A loop that moves the output may stand anywhere: a short one is walked from outside.
        while len(loops) > 1 and loops[-1].out and loops[-1].extent < min(SHORT, loops[-2].extent):
            loops = (loops[-1], *loops[:-1])
        return cls(loops or (_ONE,), row, nest.components)

    def shared(self, *, reads: bool) -> tuple[int, int]:
        """Return the loop to share among threads, and its extent: the number of loops for the slices, -1 for none.

        Steps of a loop that moves the output have different targets; where targets are but read, any loop will do.
        """
        able = [(self.slice.extent // LEAST_PART, len(self.loops))]
        for number, loop in enumerate(self.loops):
            if reads:
                able.append((loop.extent, number))
            elif loop.out:  # threads that write side by side would wait for each other's cache lines
                able.append((min(loop.extent, loop.extent * loop.out // LEAST_PART), number))
        most, number = max(able)
        return (number, most) if most > 1 else (-1, 1)

    def layout(self, shared: int, size: int, gradient: int) -> tuple[int, ...]:
        """Return the layout of a kernel: `size` is that of data, `gradient` as in `Walk.step`."""
        return LAYOUTS["grad"].pack(
            {
                "LOOPS": len(self.loops),
                "SHARED": shared,
                "TOTAL": size,
                "GRADIENT": gradient,
                "LENGTH": self.slice.extent,
                "OUT_STEP": self.slice.out,
                "UPDATE_STEP": self.slice.updates,
                "SIZES": [component.size for component in self.components],
                "STRIDES": [component.stride for component in self.components],
                "FIRST_LOOP": [number for loop in self.loops for number in loop],
            }
        )


def turned(shape: Numbers, dims: Numbers) -> tuple[int, Numbers]:
    """Return where a C-contiguous array begins that is walked in reverse along some dims, and its strides."""
    strides = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    start = sum((shape[dim] - 1) * strides[dim] for dim in dims)
    return start, tuple(-stride if dim in dims else stride for dim, stride in enumerate(strides))


def _readable(indices: Array, in_tuples: bool) -> Array:
    """Return indices that lie at whole numbers of them, tuples in one piece; dims of stride 0 are kept."""
    item = indices.itemsize
    apart = in_tuples and indices.shape[-1] > 1 and indices.strides[-1] != item
    if indices.flags.aligned and not apart and not any(stride % item for stride in indices.strides):
        return indices
    return np.array(indices, order="C") if apart else memory.compact(indices)
