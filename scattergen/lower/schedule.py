"""Form → schedule: which kernel of a form serves a call, on how many threads, in tiles of what size.

Two pure functions of a call's loops and of what the machine has: `choose` for forms that know their loops,
`of_nest` for those that take any strides. Nothing here knows of arrays or C. Every schedule of a form gives the
same bits; they differ in what they cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..common.record import Record
from .layout import BLOCK, LAYOUTS, MOST_THREADS, Numbers, Values
from .loops import Nest
from .values import NEST_VALUES, VALUES
from .work import COPY_PAYS, LINE, Machine, Work

# All forms

SCRATCH = 8 << 20
"""The most bytes of scratch of tiles and of `inverse`, for all threads of a call together."""

# lanes: whether in tiles, and of what width

PIECE = 256
"""The least bytes of a tile's row, where the array has as many. Pieces of `indices` and `updates` begin and end within
lines, which the next tile fetches again, and rows of a tile that are no whole lines are slow to write."""

WIDEST_PIECE = 1024
"""The most bytes of a tile's row: a walk through longer ones leaves the first-level cache."""

LEAST_TILED_COLUMNS = 64
"""Tiles pay where the array has at least so many columns."""

NEAR_TILES_PAY = 4
"""Tiles pay where a column has at least axis / NEAR_TILES_PAY updates: each tile copies all rows of the axis twice."""

FAR_TILES_PAY = 8
"""The same for an output that is far away as a whole (`FAR`), to which `data` is copied: tiles save more there."""

FAR = 8
"""What is larger than so many second-level caches is far away: such an output is worth tiles, such a tile is not."""

# rows: whether by way of floats

WIDE_ROWS_PAY = 4
"""To convert a row of halves to floats pays where it has at least axis / WIDE_ROWS_PAY updates."""

# elements: whether dealt out to threads (`buckets`)

BUCKETS_PAY = 8
"""To deal single elements out pays where the output fills more than so many second-level caches ..."""

BUCKETS_THREADS = 4
"""... or on at least so many threads, whatever the size of the output."""

SHARE = 64 * BLOCK
"""Tuples that a thread of `buckets` or `owners` lists in a round at most: after each, threads wait for each other."""

LEAST_SHARE = 64
"""The least that it lists. Otherwise the short updates of its share in `owners` fill half of the second-level cache at
most, since all threads fetch those of the next round while they apply the present one. Long ones fill two of them."""

LONG_UPDATE = 256
"""Bytes from which on an update is long: the thread that applies it fetches it, too (FETCHED in tuples.c.j2)."""

# slices: whether each row of the output is written once (`inverse`), or tuples are dealt out to threads (`owners`)

INVERSE_PAYS = 256
"""To write each row once pays where a row has at least so many bytes ..."""

INVERSE_ROWS = 8
"""... and where there are at most so many rows for each tuple: all of them are looked at."""

OWNERS_PAY = 8 << 20
"""To deal slices out pays for at least so many bytes of updates: threads wait for each other between rounds."""

# Forms that take any strides

ARRAYS = 3
"""The arrays of which each step touches a line: output, indices and updates."""


class Choice(Record):
    """The form of the kernel, what it finds in `layout`, and its threads."""

    form: str
    layout: Numbers
    threads: int


def choose(form: str, work: Work, machine: Machine) -> Choice:
    """Return the schedule of a call that lowers to `form`: rows, lanes, elements or slices."""
    return _CHOICES[form](work, machine)


def of_nest(form: str, nest: Nest, item: int, total_bytes: int, fresh: bool, machine: Machine) -> Choice:
    """Return the schedule of a call whose form takes any strides: strided, windows or rings.

    `item` are the bytes of an element, `total_bytes` those of the output.
    """
    nest = _nearer(nest, total_bytes, machine)
    values = NEST_VALUES[form](nest, item, total_bytes)
    steps = math.prod(loop.extent for loop in nest.loops) * (nest.window.extent if nest.window else 1)
    written = steps * item + (total_bytes if fresh else 0)
    if nest.window:
        threads = machine.threads_for(2 * written, steps, COPY_PAYS)
        return _choice(form, threads, values, STREAMED=machine.streams(written))
    shared = _shared_loop(nest, machine.threads)
    threads = machine.threads_for(2 * written, nest.loops[shared].extent if shared >= 0 else 1)
    return _choice(form, threads, values, SHARED=shared)


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
    """Choose tiles where they pay; without them a thread walks as many columns at a time as a block holds."""
    loops, values = work.loops, VALUES["lanes"](work.loops)
    inner, outer = loops.inner.extent, loops.outer.extent
    threads = work.threads(machine, max(outer, inner // work.line))
    widest = min(BLOCK, inner if outer >= threads else _round_up(-(-inner // threads), work.line))
    width = _tile_width(work, machine, widest)
    if _tiles_pay(work, machine, threads, width):
        streamed = machine.streams(loops.total * work.element.size) and not work.widens
        return _choice("tiles", threads, values, WIDTH=width, STREAMED=streamed)
    return _choice("lanes", threads, values, WIDTH=widest)


def _tile_width(work: Work, machine: Machine, widest: int) -> int:
    """Return the columns of a tile, at most `widest`, that fills a quarter of the second-level cache if it may."""
    size, inner = work.element.size, work.loops.inner.extent
    width = min(widest, max(PIECE // size, min(WIDEST_PIECE // size, machine.l2 // 4 // work.column)))
    return min(widest, _round_up(-(-inner // -(-inner // width)), work.line))  # all tiles alike


def _tiles_pay(work: Work, machine: Machine, threads: int, width: int) -> bool:
    """Return whether tiles of `width` columns, one for each thread at a time, save a second trip to memory.

    Without tiles `data` is copied first and its elements are met again, at random, when the updates are
    applied; a tile of a few columns stays near in between. It copies all rows of the axis twice, so that
    enough of them must be needed: fewer where all of a large output is copied from `data` anyway. Narrow rows of
    an output that is near are better walked whole.
    """
    columns, size, axis = work.loops.inner.extent, work.element.size, work.loops.components[0]
    output = axis.size * axis.stride * size
    spills, step_is_far = output > machine.l2, output > FAR * machine.l2
    wide = columns >= LEAST_TILED_COLUMNS and (step_is_far or columns * size > WIDEST_PIECE)
    copies_far = work.fresh and work.loops.total * size > FAR * machine.l2
    needed = work.loops.tuples.extent * (FAR_TILES_PAY if copies_far else NEAR_TILES_PAY) >= axis.size
    apart = 1 if axis.stride % work.line == 0 else 2  # rows that are no whole lines cost more to copy
    room = min(FAR * machine.l2 // apart, min(SCRATCH, machine.l3 // 2) // threads)
    return spills and wide and needed and width * work.column <= room


def _elements(work: Work, machine: Machine) -> Choice:
    """Choose to deal tuples out where a target costs more than that: past the caches, or for many threads."""
    values = VALUES["elements"](work.loops)
    threads = _dealt(work, machine)
    if (
        threads > 1
        and work.loops.components
        and (threads >= BUCKETS_THREADS or work.loops.total * work.element.size > BUCKETS_PAY * machine.l2)
    ):
        return _choice("buckets", threads, values, SHARE=SHARE)
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
        return _choice("inverse", min(threads, rows), values, STREAMED=machine.streams(loops.total * size))
    dealt = _dealt(work, machine)
    if dealt > 1 and count > BLOCK * threads and count * length * size >= OWNERS_PAY:
        updates = machine.l2 // 2 if length * size < LONG_UPDATE else 2 * machine.l2
        share = max(LEAST_SHARE, min(SHARE, updates // (length * size)))
        return _choice("owners", dealt, values, SHARE=share)
    few = count * LINE <= loops.total * size * work.fresh or count <= BLOCK * threads
    return _choice("slices", threads if few else 1, values)


def _dealt(work: Work, machine: Machine) -> int:
    """Return how many threads pay where tuples are dealt out: there is a block of them, or more, for each."""
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
