"""The grid of the sweep: shapes and indices on which a type, a reduction or a form could fall off a cliff."""

from __future__ import annotations

import random
from typing import NamedTuple

from scattergen.bench.workload import Shape
from scattergen.errors import SpecError
from scattergen.operators import dtypes
from scattergen.operators.ops import REDUCTIONS
from scattergen.operators.spec import OpSpec

SIBLING = "f32"


class Case(NamedTuple):
    """One row: an operator with its place, shapes, and how the indices lie."""

    name: str
    operator: str
    place: str
    data: Shape
    indices: Shape
    style: str

    def beside(self, size: int) -> Case:
        """Return the case for float32 that stands beside this one on elements of `size` bytes.

        Single elements are as many. Slices, and what an expanded index moves like them, have as many bytes: the two
        then take the same steps through as much memory.
        """
        wide = self.operator == "scatter_nd" and self.indices[-1] < len(self.data)
        if not wide and self.style != "expanded":
            return self
        data, indices = (
            (*outer, last * size // dtypes.DTYPES[SIBLING].size) for *outer, last in (self.data, self.indices)
        )
        return self._replace(data=data, indices=self.indices if wide else indices)


def _elements(name: str, place: str, data: Shape, indices: Shape, *styles: str) -> list[Case]:
    return [Case(f"{name}-{style}", "scatter_elements", place, data, indices, style) for style in styles]


def _tuples(name: str, place: str, data: Shape, indices: Shape, *styles: str) -> list[Case]:
    return [Case(f"{name}-{style}", "scatter_nd", place, data, indices, style) for style in styles]


CASES: tuple[Case, ...] = (
    *_elements("rows", "r2a1", (1024, 1024), (1024, 256), "random", "unique", "negative"),
    *_elements("rows-long", "r2a1", (4, 300000), (4, 60000), "random"),
    *_elements("columns", "r2a0", (1024, 512), (1024, 512), "random", "expanded"),
    *_elements("columns-few", "r2a0", (32768, 16), (32768, 16), "random"),
    *_elements("middle", "r3a1", (16, 64, 512), (16, 64, 512), "random"),
    *_elements("middle-odd", "r3a1", (512, 64, 7), (512, 64, 7), "random"),
    *_elements("part", "r3a0", (64, 64, 96), (64, 33, 47), "random"),
    *_elements("part-large", "r3a0", (128, 256, 96), (128, 200, 47), "random"),
    *_elements("part-last", "r3a2", (128, 256, 96), (100, 200, 96), "random"),
    *_elements("1d-small", "r1a0", (4096,), (4096,), "random"),
    *_elements("1d", "r1a0", (1 << 19,), (1 << 19,), "random", "unique", "sorted", "skewed", "negative", "repeated"),
    *_elements("1d-past-caches", "r1a0", (1 << 23,), (1 << 21,), "random"),
    *_tuples("slice-1", "r2k2", (1024, 512), (1 << 18, 2), "random", "sorted", "skewed", "negative", "repeated"),
    *_tuples("slice-1-of-3", "r3k3", (64, 64, 64), (1 << 17, 3), "random"),
    *_tuples("slice-1-past-caches", "r1k1", (1 << 23,), (1 << 21, 1), "random"),
    *_tuples("slice-1-small", "r2k2", (64, 64), (256, 2), "random"),
    *_tuples("slice-16", "r2k1", (32768, 16), (32768, 1), "random"),
    *_tuples("slice-64", "r2k1", (8192, 64), (16384, 1), "random", "sorted", "skewed", "negative", "repeated"),
    *_tuples("slice-1000", "r3k2", (32, 32, 1000), (1024, 2), "random"),
)

BY_NAME = {case.name: case for case in CASES}


class Item(NamedTuple):
    """A case on one type under one reduction."""

    case: Case
    dtype: str
    reduction: str
    index_dtype: str

    @property
    def spec(self) -> OpSpec:
        """The operator spec; `SpecError` where there is none, as for the max of complex numbers."""
        case = self.case
        return OpSpec.parse(f"{case.operator}_{self.dtype}_{self.index_dtype}_{case.place}_{self.reduction}")

    @property
    def sibling(self) -> Item:
        """The same on float32."""
        return self._replace(dtype=SIBLING, case=self.case.beside(dtypes.DTYPES[self.dtype].size))

    def __str__(self) -> str:
        return f"{self.case.operator}/{self.case.name}/{self.reduction}/{self.dtype}"


def items(index: str = "i64") -> list[Item]:
    """Return the whole grid; every type but float32, which is measured beside each, case by case."""
    tags = [row.tag for row in dtypes.ELEMENTS if row.tag != SIBLING]
    every = (Item(case, tag, reduction, index) for case in CASES for tag in tags for reduction in REDUCTIONS)
    return [item for item in every if _exists(item)]


def sample(grid: list[Item], count: int, seed: int) -> list[Item]:
    """Return `count` of the grid, in its order; equal seeds give equal samples."""
    places = random.Random(seed).sample(range(len(grid)), min(count, len(grid)))
    return [grid[place] for place in sorted(places)]


def _exists(item: Item) -> bool:
    try:
        return bool(item.spec)
    except SpecError:
        return False
