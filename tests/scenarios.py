"""Shapes that hurt, for both kinds of operators: what each looks like to the loops, and its index values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import values

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One set of shapes. Of ScatterND where ``axis`` is -1: then the last dim of ``shape`` is k."""

    name: str
    forms: tuple[str, ...]
    """The loop forms that may answer where all arrays lie in C order."""
    data: tuple[int, ...]
    shape: tuple[int, ...]
    """The shape of `indices`."""
    axis: int = -1
    style: str = "random"
    special: float = 0.02
    """The share of NaN, infinities, zeros, subnormals and the like."""
    expand: int = 0
    """How many trailing dims of `indices` have a zero stride."""

    @property
    def tuples(self) -> bool:
        """Whether this is one of ScatterND's."""
        return self.axis < 0

    @property
    def depth(self) -> int:
        """Index components per target, which are part of a kernel's name."""
        return self.shape[-1] if self.tuples else 1

    @property
    def form(self) -> str:
        """The loop form that this scenario stands for."""
        return self.forms[0]

    @property
    def entries(self) -> int:
        """The number of elements that are updated."""
        return math.prod(self.updates)

    @property
    def updates(self) -> tuple[int, ...]:
        """The shape of `updates`."""
        return self.shape[:-1] + self.data[self.shape[-1] :] if self.tuples else self.shape

    def make_indices(self, random: np.random.Generator, dtype: np.dtype[Any]) -> Array:
        """Return index values in bounds."""
        sizes = self.data[: self.shape[-1]] if self.tuples else (self.data[self.axis],)
        if not self.expand:
            return values.indices(random, self.shape, sizes, dtype, self.style)
        own = self.shape[: -self.expand] + (1,) * self.expand
        return np.broadcast_to(values.indices(random, own, sizes, dtype, self.style), self.shape)


ROWS, LANES, SLICES = ("rows",), ("lanes",), ("slices",)
ELEMENTS, STRIDED, ANY = ("elements",), ("strided",), ("strided", "rows", "lanes", "slices", "elements")
FLAT = ("elements", "rows")

SCENARIOS: tuple[Scenario, ...] = (
    # One dim: nothing but the loop over updates.
    Scenario("1d", FLAT, (7,), (5,), 0),
    Scenario("1d-specials", FLAT, (40,), (90,), 0, special=0.6),
    Scenario("1d-ends", FLAT, (9,), (33,), 0, "ends"),
    Scenario("1d-1023", FLAT, (700,), (1023,), 0),
    Scenario("1d-1024", FLAT, (1024,), (1024,), 0, "sorted"),
    Scenario("1d-1025", FLAT, (90,), (1025,), 0),
    Scenario("1d-2049-same", FLAT, (3,), (2049,), 0, "same", 0.0),
    Scenario("1d-one", ANY, (1,), (1,), 0),
    # The last axis: rows.
    Scenario("rows", ROWS, (5, 9), (5, 9), 1),
    Scenario("rows-specials", ROWS, (6, 11), (6, 40), 1, special=0.6),
    Scenario("rows-longer", ROWS, (4, 3), (4, 31), 1, "ends"),
    Scenario("rows-1023", ROWS, (3, 300), (3, 1023), 1),
    Scenario("rows-1024", ROWS, (3, 300), (3, 1024), 1),
    Scenario("rows-1025-same", ROWS, (3, 300), (3, 1025), 1, "same", 0.0),
    Scenario("rows-many", ROWS, (1100, 5), (1100, 2), 1),
    Scenario("rows-4d", ROWS, (2, 3, 4, 5), (2, 3, 4, 7), 3),
    Scenario("rows-fewer", (*ROWS, "strided"), (9, 4), (5, 6), 1),
    # An axis with something after it: lanes.
    Scenario("lanes", LANES, (9, 5), (9, 5), 0),
    Scenario("lanes-specials", LANES, (6, 11), (40, 11), 0, special=0.6),
    Scenario("lanes-wide", LANES, (6, 1025), (7, 1025), 0),
    Scenario("lanes-long", LANES, (300, 3), (1025, 3), 0, "ends"),
    Scenario("lanes-same", LANES, (5, 33), (300, 33), 0, "same", 0.0),
    Scenario("lanes-repeated", LANES, (30, 8), (50, 8), 0, "run"),
    Scenario("lanes-middle", LANES, (3, 4, 5), (3, 6, 5), 1),
    Scenario("lanes-middle-wide", LANES, (2, 5, 520), (2, 8, 520), 1),
    Scenario("lanes-ones", LANES, (1, 4, 1, 3, 1), (1, 5, 1, 3, 1), 1),
    Scenario("lanes-8d", LANES, (2, 1, 2, 3, 2, 2, 1, 2), (2, 1, 2, 5, 2, 2, 1, 2), 3),
    # One index for a run of elements: slices.
    Scenario("expanded", SLICES, (20, 9), (50, 9), 0, expand=1),
    Scenario("expanded-specials", SLICES, (20, 9), (50, 9), 0, special=0.6, expand=1),
    Scenario("expanded-3d", SLICES, (3, 7, 4, 5), (3, 9, 4, 5), 1, expand=2),
    Scenario("expanded-wide", SLICES, (8, 1025), (30, 1025), 0, "same", 0.0, expand=1),
    # Indices smaller than data off the axis.
    Scenario("fewer", ANY, (4, 5, 6), (2, 7, 3), 1),
    Scenario("fewer-columns", ANY, (6, 9), (9, 3), 0),
    Scenario("fewer-expanded", ANY, (6, 9), (9, 3), 0, expand=1),
    Scenario("fewer-6d", ANY, (2, 3, 2, 3, 2, 2), (1, 3, 2, 4, 1, 2), 3),
    Scenario("fewer-8d", STRIDED, (2, 3, 2, 3, 2, 3, 2, 3), (1, 2, 1, 2, 1, 2, 1, 2), 4, special=0.2),
    Scenario("fewer-one", ANY, (3, 4), (1, 1), 1),
    # Nothing to do.
    Scenario("empty-data", ANY, (0, 4), (0, 4), 1),
    Scenario("empty-indices", ANY, (3, 4), (0, 4), 0),
    Scenario("empty-inner", ANY, (3, 0), (2, 0), 0),
    Scenario("empty-lanes", ANY, (3, 4), (3, 0), 1),
    # ScatterND: whole tuples.
    Scenario("nd-k3", ELEMENTS, (4, 5, 6), (10, 3)),
    Scenario("nd-specials", ELEMENTS, (4, 5), (90, 2), special=0.6),
    Scenario("nd-1d-1025", FLAT, (90,), (1025, 1)),
    Scenario("nd-k2-1023", ELEMENTS, (30, 40), (1023, 2), style="ends"),
    Scenario("nd-k2-1024", ELEMENTS, (30, 40), (1024, 2)),
    Scenario("nd-k2-1025-same", ELEMENTS, (30, 40), (1025, 2), style="same", special=0.0),
    Scenario("nd-batches", ELEMENTS, (4, 5), (2, 3, 4, 2)),
    Scenario("nd-k8", ELEMENTS, (2, 1, 3, 2, 1, 2, 2, 2), (40, 8)),
    Scenario("nd-one", ANY, (3,), (1,)),
    # ScatterND: slices.
    Scenario("nd-rows", SLICES, (8, 6), (5, 1)),
    Scenario("nd-rows-specials", SLICES, (8, 6), (40, 1), special=0.6),
    Scenario("nd-rows-wide", SLICES, (10, 1025), (20, 1)),
    Scenario("nd-rows-many", SLICES, (1500, 3), (1025, 1)),
    Scenario("nd-rows-same", SLICES, (9, 4), (1100, 1), style="same", special=0.0),
    Scenario("nd-k2-of-3", SLICES, (4, 5, 6), (2, 7, 2)),
    Scenario("nd-k5-of-8", SLICES, (2, 3, 2, 1, 2, 2, 3, 2), (9, 5), style="ends"),
    Scenario("nd-slice-of-1", ANY, (9, 1), (6, 1)),
    Scenario("nd-k0", ANY, (3, 4), (2, 0)),
    Scenario("nd-k0-one", ANY, (3, 4), (0,)),
    # ScatterND: nothing to do.
    Scenario("nd-empty-data", ANY, (0, 3), (0, 1)),
    Scenario("nd-empty-batch", ANY, (4, 3), (2, 0, 2)),
    Scenario("nd-empty-slice", ANY, (3, 0), (4, 1)),
)
