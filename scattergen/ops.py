"""The table of operators and their since-versions, as ONNX's operator changelog has them.

Two deviations, both wider than the text: `ScatterND` takes int32 indices too, and reductions are
gated by the version that has the attribute (ScatterElements-13's text describes one that it lacks).
"""

from __future__ import annotations

from typing import Literal

from .dtypes import INDEX_TYPES, TENSORS, DType
from .errors import SpecError
from .record import Record

REDUCTIONS: tuple[str, ...] = ("none", "add", "mul", "max", "min")

_BEFORE_13 = tuple(row for row in TENSORS if row.tag != "bf16")


class Version(Record):
    """An operator as it stands from opset `since` on, until its next version."""

    since: int
    dtypes: tuple[DType, ...] = TENSORS
    reductions: tuple[str, ...] = ("none",)
    deprecated: bool = False
    index_types: tuple[DType, ...] = INDEX_TYPES


class Op(Record):
    """An ONNX operator: its name there, its name here, and its versions, oldest first."""

    name: str
    prefix: str
    addressing: Literal["axis", "tuples"]
    """``axis``: an index along one dim for every update. ``tuples``: the last dim of `indices` is a partial index."""
    default_opset: int
    """The opset of a spec whose text names none; fixed for ever."""
    versions: tuple[Version, ...]

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
    )
}
