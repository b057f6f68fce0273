"""Form → schedule: which kernel of a form serves a call, on how many threads, in tiles of what size.

One pure function, `choose`, of the call's loops and of what the machine has; nothing here knows of
arrays or C. Every schedule of a form gives the same bits; they differ in what they cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..common.record import Record
from ..operators.dtypes import DType
from .layout import BLOCK, LAYOUTS, MOST_THREADS, Numbers, Values
from .loops import Nest
from .lower import NEST_VALUES, VALUES, Loops

LEAST_TILED_COLUMNS = 64
"""Columns that an array has at least for tiles to pay."""

NEAR_TILES_PAY = 2
"""Part of the axis, as a divisor, that a column's updates have to be as many as for tiles to pay: each tile copies all
rows of the axis twice."""

FAR_TILES_PAY = 8
"""That of an output that is far away, where tiles save more."""

TILES_IN_PLACE = 4
"""How many times as many updates it takes where the kernel copies no `data` to the output: then tiles alone copy it."""

PIECE = 256
"""Bytes of a tile's row at least: pieces of `indices` and `updates` begin and end within lines, which the next tile
fetches again, and rows of a tile that are no whole lines are slow to write."""

WIDEST_PIECE = 1024
"""Bytes of a tile's row at most: what is walked in longer ones leaves the first-level cache."""

FAR = 8
"""Second-level caches beyond which the elements of an output or a tile are far away."""

WIDE_ROWS_PAY = 4
"""Part of a row, as a divisor, that its updates have to be as many as to pay for converting all of it to floats."""

INVERSE_PAYS = 256
"""Bytes of a row from which writing every row once pays for looking at each."""

INVERSE_ROWS = 8
"""Rows of the output for each tuple up to which looking at every row pays."""

BUCKETS_PAY = 8
"""Second-level caches that the output has to fill for dealing single elements out to a few threads."""

BUCKETS_THREADS = 4
"""Threads from which dealing single elements out pays for an output of any size."""

OWNERS_PAY = 8 << 20
"""Bytes of updates from which dealing slices out pays for the waiting between rounds."""

STREAM_PAYS = 4
"""Part of the last cache that an output has to be larger than, as a divisor, to be written past the caches."""

LINE = 64
"""Bytes of a cache line."""

ARRAYS = 3
"""The arrays of which a step touches a line: output, indices and updates."""

SCRATCH = 8 << 20
"""Bytes of scratch that a call may take, unless it says so in its own form."""

THREAD_PAYS = 256 << 10
"""Bytes of traffic that pay for one more thread: moving these takes some 20 µs, waking it about 2, and on a busy
machine it may come late."""

COPY_PAYS = 1 << 20
"""Bytes of traffic that pay for one more thread where runs are copied and nothing is looked for: threads share what the
memory can do, and to wait for one that a busy machine starts late costs more than it saves."""


class Machine(Record):
    """What the machine has for one call."""

    threads: int
    """At most so many."""
    l2: int
    """Bytes of the second-level cache of one core."""
    l3: int
    """Bytes of the last cache, shared by the cores."""


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
        return max(1, min(machine.threads, shares, self.traffic // THREAD_PAYS))

    def streamed(self, machine: Machine) -> bool:
        """Return whether the output is so large that the caches do not keep it for whoever reads it next."""
        return self.loops.total * self.element.size > machine.l3 // STREAM_PAYS

    @property
    def widens(self) -> bool:
        """Whether a form that works on a copy holds floats there."""
        return self.element.kind == "half" and self.operation in ("add", "mul")

    @property
    def wide_size(self) -> int:
        """Bytes of an element in a form that works on a copy."""
        return 4 if self.widens else self.element.size


class Choice(Record):
    """The form of the kernel, what it finds in `layout`, and its threads."""

    form: str
    layout: Numbers
    threads: int


def choose(form: str, work: Work, machine: Machine) -> Choice:
    """Return the schedule of a call that lowers to `form` (any but strided, which has one)."""
    return _CHOICES[form](work, machine)


def of_nest(form: str, nest: Nest, item: int, total_bytes: int, fresh: bool, machine: Machine) -> Choice:
    """Return the schedule of a call whose form takes any strides: there is one, on as many threads as pay.

    `item` are the bytes of an element, `total_bytes` those of the output.
    """
    nest = _nearer(nest, total_bytes, machine)
    values = NEST_VALUES[form](nest, item, total_bytes)
    steps = math.prod(loop.extent for loop in nest.loops) * (nest.window.extent if nest.window else 1)
    written = steps * item + (total_bytes if fresh else 0)
    if nest.window:
        threads = min(machine.threads, steps, 2 * written // COPY_PAYS)
        return _choice(form, max(1, threads), values, STREAMED=written > machine.l3 // STREAM_PAYS)
    shared = _shared_loop(nest, machine.threads)
    shares = nest.loops[shared].extent if shared >= 0 else 1
    threads = min(machine.threads, shares, 2 * written // THREAD_PAYS)
    return _choice(form, max(1, threads), values, SHARED=shared)


def _choice(form: str, threads: int, values: Values, **more: int) -> Choice:
    """Return the choice of a form, given the numbers of its layout that the loops have, and those of the schedule."""
    return Choice(form, LAYOUTS[form].pack({**values, **more}), threads)


def _shared_loop(nest: Nest, threads: int) -> int:
    """Return the loop of a nest that threads share: the outermost that has a step for each, else the longest.

    Its steps must not meet in a target, so that it moves the output; -1 where none does.
    """
    apart = [place for place, loop in enumerate(nest.loops) if loop.out]
    return max(apart, key=lambda place: (min(nest.loops[place].extent, threads), -place), default=-1)


def _nearer(nest: Nest, total_bytes: int, machine: Machine) -> Nest:
    """Return a nest, or an equal one that meets its targets again sooner.

    Where the loop along which targets collide stands outside of others, each of its steps may go through the whole
    output. Within them it goes through a piece of every row. What one walk reads has to stay in the cache, since the
    next one reads on in the same lines.
    """
    collide = next((place for place, loop in enumerate(nest.loops) if not loop.out), len(nest.loops))
    axis, inside = nest.loops[collide : collide + 1], nest.loops[collide + 1 : -1]
    if not inside or not all(loop.out and loop.indices for loop in inside):
        return nest  # tuples would be read anew for every step of a slice
    if total_bytes <= machine.l2 or axis[0].extent * ARRAYS * LINE > machine.l2:
        return nest
    return nest._replace(loops=(*nest.loops[:collide], *inside, *axis, nest.loops[-1]))


def _rows(work: Work, machine: Machine) -> Choice:
    loops = work.loops
    size, count = loops.components[0].size, loops.tuples.extent
    fits = size * work.wide_size <= machine.l2 // 2
    wide = work.widens and fits and WIDE_ROWS_PAY * count >= size
    return _choice("wide_rows" if wide else "rows", work.threads(machine, loops.outer.extent), VALUES["rows"](loops))


def _lanes(work: Work, machine: Machine) -> Choice:
    """Choose tiles where they save a second trip to memory.

    Without tiles `data` is copied first and its elements are met again, at random, when the updates are
    applied; a tile of a few columns stays near in between. It copies all rows of the axis twice, so that
    enough of them must be needed: more where the output is near as it is. Narrow rows of such an output
    are better walked whole.
    """
    loops, size, axis = work.loops, work.element.size, work.loops.components[0].size
    inner, outer, stride = loops.inner.extent, loops.outer.extent, loops.components[0].stride
    line = max(1, LINE // size)
    threads = work.threads(machine, max(outer, inner // line))
    widest = min(BLOCK, inner if outer >= threads else _round_up(-(-inner // threads), line))
    column = max(1, axis) * work.wide_size  # the axis of empty data has size 0
    near = min(machine.l2 // 4 // column, WIDEST_PIECE // size)
    width = min(widest, max(PIECE // size, near))
    width = min(widest, _round_up(-(-inner // -(-inner // width)), line))  # all tiles alike
    apart = 1 if stride % line == 0 else 2  # rows that are no whole lines cost more to copy
    room = min(FAR * machine.l2 // apart, min(SCRATCH, machine.l3 // 2) // threads)
    spills, is_far = axis * stride * size > machine.l2, axis * stride * size > FAR * machine.l2
    wide = inner >= LEAST_TILED_COLUMNS and (is_far or inner * size > WIDEST_PIECE)
    enough = axis * (1 if work.fresh else TILES_IN_PLACE)
    pays = loops.tuples.extent * (FAR_TILES_PAY if is_far else NEAR_TILES_PAY) >= enough
    if spills and wide and pays and width * column <= room:
        return _choice("tiles", threads, VALUES["lanes"](loops), WIDTH=width, STREAMED=work.streamed(machine))
    return _choice("lanes", threads, VALUES["lanes"](loops), WIDTH=widest)


def _elements(work: Work, machine: Machine) -> Choice:
    """Choose to deal tuples out where a target costs more than that: past the caches, or for many threads."""
    values = VALUES["elements"](work.loops)
    threads = _dealt(work, machine)
    if (
        threads > 1
        and work.loops.components
        and (threads >= BUCKETS_THREADS or work.loops.total * work.element.size > BUCKETS_PAY * machine.l2)
    ):
        return _choice("buckets", threads, values)
    return _choice("elements", 1, values, WARM=work.loops.total * work.element.size <= machine.l2 // 2)


def _slices(work: Work, machine: Machine) -> Choice:
    """Choose by how many tuples there are: few are read by every thread, many dealt out, replaced rows written once."""
    loops, values, length = work.loops, VALUES["slices"](work.loops), work.loops.inner.extent
    size, count = work.element.size, loops.tuples.extent
    threads = work.threads(machine, max(1, loops.total * size // LINE))
    if loops.outer.extent > 1:
        return _choice("slices", min(threads, loops.outer.extent), values)
    rows = loops.total // length
    in_rows = loops.total % length == 0 and all(component.stride % length == 0 for component in loops.components)
    set_once = work.operation == "none" and work.fresh and in_rows
    pays = length * size >= INVERSE_PAYS and rows <= INVERSE_ROWS * count
    if set_once and pays and 4 * (rows + threads) <= SCRATCH and count < (1 << 32) - 1:
        return _choice("inverse", min(threads, rows), values)
    dealt = _dealt(work, machine)
    if dealt > 1 and count > BLOCK * threads and count * length * size >= OWNERS_PAY:
        return _choice("owners", dealt, values)
    few = count * LINE <= loops.total * size * work.fresh or count <= BLOCK * threads
    return _choice("slices", threads if few else 1, values)


def _dealt(work: Work, machine: Machine) -> int:
    """Return how many threads pay where tuples are dealt out: each lists a block of them, or more, in a round."""
    loops = work.loops
    furthest = sum((component.size - 1) * component.stride for component in loops.components) + loops.inner.extent
    if furthest >= 1 << 32 or any(component.stride < 0 for component in loops.components):
        return 1  # a list holds offsets in 32 bits
    return work.threads(machine, min(MOST_THREADS, loops.tuples.extent // BLOCK))


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


_CHOICES: dict[str, Callable[[Work, Machine], Choice]] = {
    "rows": _rows,
    "lanes": _lanes,
    "elements": _elements,
    "slices": _slices,
}
