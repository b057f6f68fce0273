"""`OpSpec`: one ONNX scatter operator, narrowed to a rank, an axis (or index depth) and two types.

Its text is an identifier, what people type, import and put in manifests::

    scatter_elements_f32_i64_r3a1_add      scatter_nd_f32_i64_r3k1_none_opset16
"""

from __future__ import annotations

import re

from . import dtypes
from .dtypes import DType
from .errors import SpecError
from .ops import OPS, Op, Version
from .record import Record

MAX_RANK = 64
"""The most dims that a NumPy array can have."""

NUMBER = "(?:0|[1-9][0-9]{0,3})"
"""A pattern of whole numbers that has one text for each: no leading zeros, no digits of other scripts."""

# Patterns are compiled when a text is first parsed: most processes never do.
_TEXT = (
    r"(?P<op>[a-z_]+?)_(?P<dtype>[a-z]+[0-9]*)_(?P<index>[a-z]+[0-9]*)"
    rf"_r(?P<rank>{NUMBER})(?P<letter>[ak])(?P<place>{NUMBER})_(?P<reduction>[a-z]+)(_opset(?P<opset>{NUMBER}))?"
)
GRAMMAR = "<operator>_<dtype>_<index dtype>_r<rank><a: axis, k: index depth><number>_<reduction>[_opset<opset>]"


class OpSpec(Record):
    """One operator on one kind of arrays; valid by construction, equal to `OpSpec.parse(str(spec))`."""

    op: Op
    dtype: DType
    index: DType  # type: ignore[assignment]  # no spec is searched as a tuple
    rank: int
    place: int
    """The axis (0 to rank - 1) where the op has one, else the index depth k (0 to rank)."""
    opset: int
    """Any opset is taken; kept is the since-version that it means."""
    reduction: str = "none"

    def _validated(self) -> OpSpec:
        version = self.version
        if self.opset != version.since:
            return self._replace(opset=version.since)
        if self.dtype not in version.dtypes:
            raise SpecError("dtype", self.dtype.tag, _tags(version.dtypes, self))
        if self.index not in version.index_types:
            raise SpecError("index", self.index.tag, _tags(version.index_types, self))
        if self.reduction not in version.reductions:
            raise SpecError("reduction", self.reduction, self._allowed_reductions())
        if self.dtype.kind == "complex" and self.reduction in ("max", "min"):
            raise SpecError("dtype", self.dtype.tag, f"a real type for {self.reduction}: complex numbers have no order")
        if self.dtype.kind == "string" and self.reduction == "mul":
            raise SpecError("dtype", self.dtype.tag, "a type of numbers for mul: strings have no product")
        if not 1 <= self.rank <= MAX_RANK:
            raise SpecError("rank", self.rank, f"1 to {MAX_RANK}")
        highest = self.rank - 1 if self.op.addressing == "axis" else self.rank
        if not 0 <= self.place <= highest:
            name = "axis" if self.op.addressing == "axis" else "index depth k"
            raise SpecError(name, self.place, f"0 to {highest} for rank {self.rank}")
        return self

    @property
    def version(self) -> Version:
        """The row of the operator's table that is in force."""
        return self.op.version(self.opset)

    def _allowed_reductions(self) -> str:
        allowed = f"{', '.join(self.version.reductions)} for {self.op}-{self.opset}"
        since = self.op.since(self.reduction)
        return f"{allowed} ({self.reduction} comes with opset {since})" if since else allowed

    def __str__(self) -> str:
        letter = "a" if self.op.addressing == "axis" else "k"
        text = f"{self.op.prefix}_{self.dtype}_{self.index}_r{self.rank}{letter}{self.place}_{self.reduction}"
        default = self.op.version(self.op.default_opset).since
        return text if self.opset == default else f"{text}_opset{self.opset}"

    @classmethod
    def parse(cls, text: str) -> OpSpec:
        """Return the spec that `text` names; raise `SpecError` that says what is wrong with it."""
        match = re.fullmatch(_TEXT, text)
        if match is None:
            raise SpecError("spec", text, GRAMMAR)
        if match["op"] not in OPS:
            raise SpecError("operator", match["op"], f"one of {', '.join(OPS)}")
        op = OPS[match["op"]]
        letter = "a" if op.addressing == "axis" else "k"
        if match["letter"] != letter:
            raise SpecError("spec", text, f"r<rank>{letter}<number> for {op}")
        return cls(
            op=op,
            dtype=dtypes.lookup(match["dtype"]),
            index=dtypes.lookup(match["index"], "index"),
            rank=int(match["rank"]),
            place=int(match["place"]),
            reduction=match["reduction"],
            opset=int(match["opset"] or op.default_opset),
        )


def _tags(rows: tuple[DType, ...], spec: OpSpec) -> str:
    return f"one of {', '.join(row.tag for row in rows)} for {spec.op}-{spec.opset}"
