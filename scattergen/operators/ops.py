"""The table of operators and their since-versions, as ONNX's operator changelog has them.

Three deviations, all wider than the text: `ScatterND` and `TensorScatter` take int32 indices too, and reductions
are gated by the version that has the attribute (ScatterElements-13's text describes one that it lacks).
"""

from __future__ import annotations

from typing import Literal

from ..common.record import Record
from ..errors import SpecError
from .dtypes import INDEX_TYPES, OPAQUE, TENSORS, DType

REDUCTIONS: tuple[str, ...] = ("none", "add", "mul", "max", "min")

_BEFORE_13 = tuple(row for row in TENSORS if row.tag != "bf16")


class Version(Record):
    """An operator as it stands from opset `since` on, until its next version."""

    since: int
    dtypes: tuple[DType, ...] = TENSORS
    reductions: tuple[str, ...] = ("none",)
    deprecated: bool = False
    index_types: tuple[DType, ...] = INDEX_TYPES
    modes: tuple[str, ...] = ("",)
    """The values of the attribute of that name, ONNX's default first; one empty word where there is none."""


class Inputs(Record):
    """What an operator calls its three arrays, in errors and as arguments."""

    data: str = "data"
    indices: str = "indices"
    updates: str = "updates"


class PlaceField(Record):
    """What the number after the rank means in the text of a spec."""

    letter: str
    """What stands before it there."""
    field: str
    """What programs call it."""
    name: str
    """What people call it."""
    first: int
    last: int
    """The least that it may be, and the most, to which the rank is added."""

    def allowed(self, rank: int) -> range:
        """Return every value that it can have."""
        return range(self.first, rank + self.last + 1)


PLACES: dict[str, PlaceField] = {
    "axis": PlaceField("a", "axis", "axis", 0, -1),
    "tuples": PlaceField("k", "k", "index depth k", 0, 0),
    "window": PlaceField("a", "axis", "axis", 1, -1),
}
"""How indices name their targets → the number in the spec that belongs to it."""


class Op(Record):
    """An ONNX operator: its name there, its name here, and its versions, oldest first."""

    name: str
    prefix: str
    addressing: Literal["axis", "tuples", "window"]
    """``axis``: an index along one dim for every update. ``tuples``: the last dim of `indices` is a partial index.
    ``window``: an index for each entry of the first dim, where a run of positions along another dim begins.

    What hangs on it stands in tables that have a row for each: `PLACES`, those of `shapes.py` and
    `addressing.py`.
    """
    default_opset: int
    """The opset of a spec whose text names none; fixed for ever."""
    versions: tuple[Version, ...]
    inputs: Inputs = Inputs()
    order: tuple[str, str, str] = ("data", "indices", "updates")
    """The inputs, by the names of the fields of `Inputs`, in the order in which a node has them."""
    default_axis: int = 0
    """Where it has an axis."""
    optional_indices: bool = False
    """Whether indices may be left out, and then are zeros, one for each entry of the first dim."""

    @property
    def place(self) -> PlaceField:
        """What the number after the rank means in a spec of this operator."""
        return PLACES[self.addressing]

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:  # that of all fields takes long, and plans are looked up by specs
        return hash(self.name)

    def version(self, opset: int) -> Version:
        """Return the version in force at `opset`; raise `SpecError` below the first."""
        found = [version for version in self.versions if version.since <= opset]
        if not found:
            raise SpecError("opset", opset, f"{self.versions[0].since} or above for {self.name}")
        return found[-1]

    def since(self, reduction: str) -> int | None:
        """Return the first version that has `reduction`, None if no version does."""
        return next((v.since for v in self.versions if reduction in v.reductions), None)


OPS: dict[str, Op] = {
    op.prefix: op
    for op in (
        Op(
            "Scatter",
            "scatter",
            "axis",
            9,
            (Version(9, _BEFORE_13), Version(11, _BEFORE_13, deprecated=True)),
        ),
        Op(
            "ScatterElements",
            "scatter_elements",
            "axis",
            18,
            (
                Version(11, _BEFORE_13),
                Version(13),
                Version(16, reductions=("none", "add", "mul")),
                Version(18, reductions=REDUCTIONS),
            ),
        ),
        Op(
            "ScatterND",
            "scatter_nd",
            "tuples",
            18,
            (
                Version(11, _BEFORE_13),
                Version(13),
                Version(16, reductions=("none", "add", "mul")),
                Version(18, reductions=REDUCTIONS),
            ),
        ),
        Op(
            "TensorScatter",
            "tensor_scatter",
            "window",
            24,
            (Version(24, (*TENSORS, *OPAQUE), modes=("linear", "circular")),),
            Inputs("past_cache", "write_indices", "update"),
            ("data", "updates", "indices"),
            default_axis=-2,
            optional_indices=True,
        ),
    )
}
