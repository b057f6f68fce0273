"""What a schedule is chosen by: the work of a call, and the machine that does it."""

from __future__ import annotations

from ..common.record import Record
from ..operators.dtypes import DType
from .forms import IN_FLOATS
from .lower import Loops

THREAD_PAYS = 128 << 10
"""One more thread pays for each so many bytes of traffic: to move these takes 5 to 10 µs, to wake it about 2, and on a
busy machine it may come late."""

STREAM_PAYS = 4
"""A call that writes more than the last cache / STREAM_PAYS, and all of it once, writes past the caches."""

LINE = 64
"""Bytes of a cache line."""

COPY_PAYS = 1 << 20
"""THREAD_PAYS of windows, where runs are copied and nothing is looked for: threads share what the memory can do, and to
wait for one that a busy machine starts late costs more than it saves."""


class Machine(Record):
    """What the machine has for one call."""

    threads: int
    """At most so many."""
    l2: int
    """Bytes of the second-level cache of one core."""
    l3: int
    """Bytes of the last cache, shared by the cores."""

    def threads_for(self, traffic: int, shares: int, pays: int = 0) -> int:
        """Return how many threads pay: one for each `pays` (THREAD_PAYS) bytes of traffic, and for each of `shares`."""
        return max(1, min(self.threads, shares, traffic // (pays or THREAD_PAYS)))

    def streams(self, size: int) -> bool:
        """Return whether `size` bytes that a call writes are too many for the caches to keep until they are read."""
        return size > self.l3 // STREAM_PAYS


class Work(Record):
    """A call as the choice sees it."""

    loops: Loops
    element: DType
    """The element type of its kernels."""
    operation: str
    """What they do with an old value and an update."""
    index_size: int
    fresh: bool
    """Whether the kernel copies `data` to the output as well."""

    @property
    def steps(self) -> int:
        """Updates, counted in elements."""
        return self.loops.outer.extent * self.loops.tuples.extent * self.loops.inner.extent

    @property
    def traffic(self) -> int:
        """Bytes that have to be moved at least."""
        size = self.element.size
        return self.steps * (2 * size + self.index_size) + (2 * self.loops.total * size if self.fresh else 0)

    def threads(self, machine: Machine, shares: int) -> int:
        """Return how many threads pay, where the work falls into `shares` that can go to different ones."""
        return machine.threads_for(self.traffic, shares)

    @property
    def widens(self) -> bool:
        """Whether a form that works on a copy holds floats there."""
        return self.element.kind == "half" and self.operation in IN_FLOATS

    @property
    def wide_size(self) -> int:
        """Bytes of an element in a form that works on a copy."""
        return 4 if self.widens else self.element.size

    @property
    def line(self) -> int:
        """Elements of a cache line, 1 at least."""
        return max(1, LINE // self.element.size)

    @property
    def column(self) -> int:
        """Bytes of a column of a tile, which has all rows of the axis; the axis of empty data has size 0."""
        return max(1, self.loops.components[0].size) * self.wide_size
