"""`OpSpec`: one ONNX scatter operator, narrowed to a rank, an axis (or index depth) and two types.

Its text is an identifier, what people type, import and put in manifests::

    scatter_elements_f32_i64_r3a1_add      scatter_nd_f32_i64_r3k1_none_opset16
"""

from __future__ import annotations

import re

from ..common.record import Record
from ..errors import SpecError
from .dtypes import DType, Kind
from .ops import OPS, Op, Version

MAX_RANK = 64
"""The most dims that a NumPy array can have."""

NUMBER = "(?:0|[1-9][0-9]{0,3})"
"""A pattern of whole numbers that has one text for each: no leading zeros, no digits of other scripts."""

# Patterns are compiled when a text is first parsed: most processes never do.
_TEXT = (
    r"(?P<op>[a-z_]+?)_(?P<dtype>[a-z][a-z0-9]*)_(?P<index>[a-z]+[0-9]*)"
    rf"_r(?P<rank>{NUMBER})(?P<letter>[ak])(?P<place>{NUMBER})_(?P<word>[a-z]+)(_opset(?P<opset>{NUMBER}))?"
)
GRAMMAR = "<operator>_<dtype>_<index dtype>_r<rank><a: axis, k: index depth><number>_<reduction or mode>[_opset<opset>]"

_LACKED: dict[tuple[Kind, str], str] = {
    ("complex", "max"): "a real type for max: complex numbers have no order",
    ("complex", "min"): "a real type for min: complex numbers have no order",
    ("string", "mul"): "a type of numbers for mul: strings have no product",
}
"""Kinds of elements and the reductions that they lack → what is allowed instead."""


class OpSpec(Record):
    """One operator on one kind of arrays; valid by construction, equal to `OpSpec.parse(str(spec))`.

    Fields that do not go together raise `SpecError` (ValueError).
    """

    op: Op
    dtype: DType
    index: DType  # type: ignore[assignment]  # no spec is searched as a tuple
    rank: int
    place: int
    """The axis (0 to rank - 1) where the op has one, else the index depth k (0 to rank)."""
    opset: int
    """Any opset is taken; kept is the since-version that it means."""
    reduction: str = "none"
    mode: str = ""
    """Where the op has modes, one of them; the first, ONNX's default, where none is given."""

    def _validated(self) -> OpSpec:
        version = self.version
        if self.opset != version.since:
            return self._replace(opset=version.since)
        if self.dtype not in version.dtypes:
            raise SpecError("dtype", self.dtype.tag, _tags(version.dtypes, f"{self.op}-{self.opset}"))
        if self.index not in version.index_types:
            raise SpecError("index", self.index.tag, _tags(version.index_types, f"{self.op}-{self.opset}"))
        if self.reduction not in version.reductions:
            raise SpecError("reduction", self.reduction, self._allowed_reductions())
        if self.mode not in version.modes:
            if not self.mode:
                return self._replace(mode=version.modes[0])
            allowed = " or ".join(version.modes) if version.modes[0] else "none"
            raise SpecError("mode", self.mode, f"{allowed} for {self.op}-{self.opset}")
        if (lacked := _LACKED.get((self.dtype.kind, self.reduction))) is not None:
            raise SpecError("dtype", self.dtype.tag, lacked)
        if not 1 <= self.rank <= MAX_RANK:
            raise SpecError("rank", self.rank, f"1 to {MAX_RANK}")
        places = self.op.place.allowed(self.rank)
        if self.place not in places:
            allowed = f"{places[0]} to {places[-1]}" if places else "none"
            raise SpecError(self.op.place.name, self.place, f"{allowed} for rank {self.rank}")
        return self

    @property
    def version(self) -> Version:
        """The row of the operator's table that is in force."""
        return self.op.version(self.opset)

    def _allowed_reductions(self) -> str:
        allowed = f"{', '.join(self.version.reductions)} for {self.op}-{self.opset}"
        since = self.op.since(self.reduction)
        if since:
            return f"{allowed} ({self.reduction} comes with opset {since})"
        from .near import called_here

        return allowed + called_here(self.reduction, self.op, self.version)

    def __str__(self) -> str:
        place = f"{self.op.place.letter}{self.place}"
        text = f"{self.op.prefix}_{self.dtype}_{self.index}_r{self.rank}{place}_{self.mode or self.reduction}"
        default = self.op.version(self.op.default_opset).since
        return text if self.opset == default else f"{text}_opset{self.opset}"

    def __repr__(self) -> str:
        return f"OpSpec.parse({str(self)!r})"

    @classmethod
    def parse(cls, text: str) -> OpSpec:
        """Return the spec that `text` names; raise `SpecError` that says what is wrong with it, and what is near."""
        try:
            return cls._parse(text)
        except SpecError as error:
            from .near import near_names

            raise SpecError(error.field, error.value, error.allowed, near_names(text, cls._parse)) from None

    @classmethod
    def _parse(cls, text: str) -> OpSpec:
        match = re.fullmatch(_TEXT, text)
        # Where the index type is left out, the words of an operator's name are taken for types.
        if match is None or f"{match['op']}_{match['dtype']}" in OPS:
            raise SpecError("spec", text, GRAMMAR)
        if match["op"] not in OPS:
            raise SpecError("operator", match["op"], f"one of {', '.join(OPS)}")
        op = OPS[match["op"]]
        if match["letter"] != op.place.letter:
            raise SpecError("spec", text, f"r<rank>{op.place.letter}<number> for {op}")
        opset = int(match["opset"] or op.default_opset)
        version = op.version(opset)
        word = "mode" if version.modes[0] else "reduction"
        return cls(
            op=op,
            dtype=_row(match["dtype"], "dtype", version.dtypes, f"{op}-{version.since}"),
            index=_row(match["index"], "index", version.index_types, f"{op}-{version.since}"),
            rank=int(match["rank"]),
            place=int(match["place"]),
            opset=opset,
            **{word: match["word"]},
        )


def names_operator(text: str) -> bool:
    """Whether a text begins as a spec of an operator does: a kernel's has another first word."""
    return text.startswith(tuple(op.partition("_")[0] for op in OPS))


def _row(tag: str, field: str, allowed: tuple[DType, ...], whose: str) -> DType:
    """Return the row of a tag, or raise `SpecError` naming `field` and what `allowed`, that of `whose`, has."""
    for row in allowed:
        if row.tag == tag:
            return row
    from .near import type_called_here

    raise SpecError(field, tag, f"{_tags(allowed, whose)}{type_called_here(tag, allowed)}")


def _tags(rows: tuple[DType, ...], whose: str) -> str:
    return f"one of {', '.join(row.tag for row in rows)} for {whose}"
