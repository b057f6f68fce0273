"""What Python and the C of the kernels have to agree on: constants, and the numbers of `layout` by name.

Both are written here once; templates print what they need of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..common.record import Record

Numbers = tuple[int, ...]
"""A layout as a kernel reads it: int64, one after the other."""

Values = Mapping[str, "int | Sequence[int]"]
"""The numbers of a layout by name; several of them for what each component or loop has."""

BLOCK = 1024
"""Indices that kernels check at a time: the most columns of a tile."""

MOST_THREADS = 64
"""Threads among which tuples can be dealt out."""

MOST_LOOPS = 128
"""Loops that a kernel walks at most: the dims of indices and of a slice, 64 each."""

LOOP = ("EXTENT", "OUT", "INDEX", "UPDATE")
"""What there is of each loop: how often, and how far out, indices and updates move at a step."""

_OF_COMPONENTS = ("SIZES", "STRIDES")
"""Names of what there is of each component of a tuple."""

_OF_LOOPS = "FIRST_LOOP"
"""Name of what there is of each loop, outermost first; it stands last."""


class Place(Record):
    """Where a number stands: as many times the number of components behind another as `depths` says."""

    name: str
    meaning: str
    base: str
    depths: int

    @property
    def enumerator(self) -> str:
        """What names it in C where DEPTH is the number of components."""
        times = f"{self.depths} * " if self.depths > 1 else ""
        return f"{self.name} = {self.base} + {times}DEPTH" if self.depths else self.name


class Layout:
    """The numbers of a form's kernels in their order: a meaning for each name."""

    def __init__(self, unit: str, **meanings: str) -> None:
        """Take what strides are counted in, and the numbers."""
        self.unit, self.meanings = unit, meanings

    def pack(self, values: Values) -> Numbers:
        """Return values in the order in which a kernel reads them; raise KeyError where the names are others."""
        if values.keys() != self.meanings.keys():
            raise KeyError(f"a layout of {', '.join(self.meanings)} is given {', '.join(values)}")
        packed: list[int] = []
        for name in self.meanings:
            value = values[name]
            packed.extend((int(value),) if isinstance(value, int) else value)  # a bool is a number here
        return tuple(packed)

    def unpack(self, numbers: Numbers, depth: int) -> dict[str, int | Numbers]:
        """Return what `pack` was given, for a kernel of so many components; numbers of loops are in one row."""
        values: dict[str, int | Numbers] = {}
        at = 0
        for name in self.meanings:
            count = depth if name in _OF_COMPONENTS else len(numbers) - at if name == _OF_LOOPS else 1
            values[name] = numbers[at : at + count] if name in (*_OF_COMPONENTS, _OF_LOOPS) else numbers[at]
            at += count
        return values

    @property
    def places(self) -> list[Place]:
        """Where each number stands."""
        found: list[Place] = []
        base, depths = "", 0
        for name, meaning in self.meanings.items():
            base = base if depths else name
            found.append(Place(name, meaning, base, depths))
            depths += name in _OF_COMPONENTS
        return found

    @property
    def has_components(self) -> bool:
        """Whether there are numbers of each component."""
        return _OF_COMPONENTS[0] in self.meanings

    @property
    def has_loops(self) -> bool:
        """Whether there are numbers of any number of loops."""
        return _OF_LOOPS in self.meanings


_COMPONENTS = {
    "SIZES": "of each component of a tuple: the size of its dim",
    "STRIDES": "of each component: the stride of that dim in the output",
}
_LOOPS = {"FIRST_LOOP": "of each loop, outermost first: extent, steps in out, indices, updates"}

_ROWS = Layout(
    "elements",
    ROWS="rows that indices has",
    COUNT="indices in a row",
    SIZE="size of the axis",
    TOTAL="elements of the output",
    OUT_ROW="from one row to the next in the output",
    INDEX_ROW="from one row to the next in indices",
    UPDATE_ROW="from one row to the next in updates",
)

_COLUMNS = {
    "OUTER": "steps outside of the axis",
    "COUNT": "rows of indices in each",
    "INNER": "indices in a row, side by side",
    "SIZE": "size of the axis",
    "TOTAL": "elements of the output",
    "OUT_OUTER": "from one outer step to the next in the output",
    "OUT_AXIS": "from one position along the axis to the next in the output",
    "INDEX_OUTER": "from one outer step to the next in indices",
    "INDEX_STEP": "from one row to the next in indices",
}
_COLUMNS_OF_UPDATES = {
    "UPDATE_OUTER": "from one outer step to the next in updates",
    "UPDATE_STEP": "from one row to the next in updates",
}
_LANES = {**_COLUMNS, **_COLUMNS_OF_UPDATES, "WIDTH": "columns taken at a time, 1024 at most"}

_ELEMENTS = {
    "COUNT": "tuples",
    "TOTAL": "elements of the output",
    "UPDATE_STEP": "from one update to the next",
    **_COMPONENTS,
}

_SLICES = {
    "OUTER": "steps outside of the tuples",
    "COUNT": "tuples in each",
    "LENGTH": "elements of a slice",
    "TOTAL": "elements of the output",
    "OUT_OUTER": "from one outer step to the next in the output",
    "INDEX_OUTER": "from one outer step to the next in indices",
    "INDEX_STEP": "from one tuple to the next in indices",
    "UPDATE_OUTER": "from one outer step to the next in updates",
    "UPDATE_STEP": "from one slice to the next in updates",
    **_COMPONENTS,
}
_STREAMED = {"STREAMED": "1: the output is written past the caches"}
_SHARE = {"SHARE": "tuples that a thread lists in a round, 1 or more"}

_WINDOWS = Layout(
    "bytes",
    **_STREAMED,
    TOTAL="bytes of the output",
    LOOPS="number of loops, the last of them a row: what there is at one position",
    SIZE="positions along the axis",
    LENGTH="positions in a window",
    OUT_STEP="from one position to the next in the output",
    UPDATE_STEP="from one position to the next in updates",
    STARTS="start indices",
    START_STEP="from one start index to the next",
    **_LOOPS,
)

LAYOUTS: dict[str, Layout] = {
    "rows": _ROWS,
    "wide_rows": _ROWS,
    "lanes": Layout("elements", **_LANES),
    "tiles": Layout("elements", **_LANES, **_STREAMED),
    "elements": Layout("elements", **_ELEMENTS, WARM="1: the caches hold the output; 0: targets are fetched ahead"),
    "buckets": Layout("elements", **_ELEMENTS, **_SHARE),
    "slices": Layout("elements", **_SLICES),
    "owners": Layout("elements", **_SLICES, **_SHARE),
    "inverse": Layout("elements", **_SLICES, **_STREAMED),
    "strided": Layout(
        "bytes",
        SHARED="the loop that threads share, its steps never meet in a target; -1: none",
        TOTAL="bytes of the output",
        LOOPS="number of loops",
        COMPONENT_STEP="from one component of a tuple to the next",
        **_COMPONENTS,
        **_LOOPS,
    ),
    "windows": _WINDOWS,
    "rings": _WINDOWS,
    "flat": Layout("elements", TOTAL="elements", WIDENS="1: halves become floats; 0: floats become halves"),
    "extremes": Layout(
        "elements",
        AFRESH="1: values that are there exceed no update, and become 0 where none comes; 0: they stay",
        **_COLUMNS,
        INDEX_INNER="from one index in a row to the next",
        **_COLUMNS_OF_UPDATES,
    ),
    "grad": Layout(
        "elements",
        LOOPS="number of loops",
        SHARED="the loop that threads share; LOOPS: the slices; -1: none",
        TOTAL="elements of data",
        GRADIENT="from the start of out to the gradient of updates",
        LENGTH="elements of the slice for each tuple",
        OUT_STEP="from one element of it to the next in arrays like data",
        UPDATE_STEP="from one element of it to the next in updates and their gradient",
        **_COMPONENTS,
        **_LOOPS,
    ),
}
"""By name of the form."""
