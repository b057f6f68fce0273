"""Form → schedule: which kernel of a form serves a call, on how many threads, in tiles of what size.

One pure function, `choose`, of the call's loops and of what the machine has; nothing here knows of
arrays or C. Every schedule of a form gives the same bits; they differ in what they cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .dtypes import DType
from .lower import LAYOUTS, Layout, Loops

BLOCK = 1024
"""Indices that kernels check at a time: the most columns of a tile."""

LINE = 64
"""Bytes of a cache line."""

THREAD_PAYS = 64 << 10
"""Bytes of traffic that pay for one more thread: waking it costs about 2 µs, moving these some 5."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the machine has for one call."""

    threads: int
    """At most so many."""
    l2: int
    """Bytes of the second-level cache of one core."""


@dataclass(frozen=True, slots=True)
class Work:
    """A call as the choice sees it."""

    loops: Loops
    element: DType
    """The element type of its kernels."""
    moves: bool
    """Whether updates replace elements, rather than being reduced into them."""
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
        return max(1, min(machine.threads, shares, self.traffic // THREAD_PAYS))

    @property
    def wide_size(self) -> int:
        """Bytes of an element in a form that works on a copy."""
        return 4 if self.element.kind == "half" else self.element.size


@dataclass(frozen=True, slots=True)
class Choice:
    """The form of the kernel, what it finds in `layout`, and its threads."""

    form: str
    layout: Layout
    threads: int


def choose(form: str, work: Work, machine: Machine) -> Choice:
    """Return the schedule of a call that lowers to `form` (any but strided, which has one)."""
    return _CHOICES[form](work, machine)


def _rows(work: Work, machine: Machine) -> Choice:
    loops = work.loops
    size, count = loops.components[0].size, loops.tuples.extent
    fits = size * work.wide_size <= machine.l2 // 2
    wide = work.element.kind == "half" and fits and 4 * count >= size
    return Choice("wide_rows" if wide else "rows", LAYOUTS["rows"](loops), work.threads(machine, loops.outer.extent))


def _lanes(work: Work, machine: Machine) -> Choice:
    """Choose tiles where the columns of the axis spill out of the cache and most of their rows are needed."""
    loops = work.loops
    size, inner, outer = loops.components[0].size, loops.inner.extent, loops.outer.extent
    line = max(1, LINE // work.element.size)
    threads = work.threads(machine, max(outer, inner // line))
    widest = inner if outer >= threads else _round_up(-(-inner // threads), line)
    tall = size * loops.components[0].stride * work.element.size > machine.l2 // 2
    dense = work.fresh or 2 * loops.tuples.extent >= size
    width = (machine.l2 // 2) // (size * work.wide_size) // line * line
    if tall and dense and width >= line:
        return Choice("tiles", (*LAYOUTS["lanes"](loops), min(width, widest, BLOCK)), threads)
    return Choice("lanes", (*LAYOUTS["lanes"](loops), min(widest, BLOCK)), threads)


def _elements(work: Work, machine: Machine) -> Choice:
    return Choice("elements", LAYOUTS["elements"](work.loops), 1)


def _slices(work: Work, machine: Machine) -> Choice:
    return Choice("slices", LAYOUTS["slices"](work.loops), work.threads(machine, work.loops.outer.extent))


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


_CHOICES: dict[str, Callable[[Work, Machine], Choice]] = {
    "rows": _rows,
    "lanes": _lanes,
    "elements": _elements,
    "slices": _slices,
}
