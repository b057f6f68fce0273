"""The scatter nodes of a model, each with what is known of it before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import onnx

from ..dtypes import TENSORS, DType
from ..errors import SpecError
from ..ops import Op
from ..spec import OpSpec
from .graph import OPERATORS, Model, Place, infer, load, places

_BY_ONNX_TYPE: dict[int, DType] = {onnx.TensorProto.DataType.Value(row.onnx.upper()): row for row in TENSORS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterNode:
    """A scatter node; None stands for what the model leaves open until it runs."""

    name: str
    """The node's own name behind the names of the nodes, subgraphs or function that it stands in."""
    op: Op
    opset: int
    """The opset in force where the node stands."""
    axis: int | None
    """As written; None where the operator has none or a function's caller gives it."""
    reduction: str | None
    dtype: DType | None
    index: DType | None
    rank: int | None
    k: int | None
    """Index depth, of ScatterND."""
    spec: OpSpec | None
    reason: str
    """Why there is no spec; empty where there is one."""

    def __str__(self) -> str:
        return f"{self.name}: {self.spec or self.reason}"


def nodes(model: Model) -> tuple[ScatterNode, ...]:
    """Return every Scatter, ScatterElements and ScatterND node of a model (a proto, a path or bytes).

    Those inside of If, Loop and Scan and of the model's local functions are among them; operators of
    other domains are not, whatever their name. Raises what ``onnx.load`` raises for an unreadable model.
    """
    return nodes_of(load(model))


def nodes_of(proto: onnx.ModelProto) -> tuple[ScatterNode, ...]:
    """Return the scatter nodes of a model in the one form."""
    return tuple(_node(place) for place in places(infer(proto)))


def _node(place: Place) -> ScatterNode:
    node, op = place.node, OPERATORS[place.node.op_type]
    linked = {row.name for row in node.attribute if row.ref_attr_name}
    written = [row for row in node.attribute if not row.ref_attr_name]
    given = {row.name: onnx.helper.get_attribute_value(row) for row in written}
    data, indices, updates = ([*node.input, "", "", ""])[:3]
    shapes = {name: _shape(place.values.get(name)) for name in (data, indices, updates)}
    known: dict[str, Any] = {
        "axis": given.get("axis", 0) if op.addressing == "axis" and "axis" not in linked else None,
        "reduction": None if "reduction" in linked else given.get("reduction", b"none").decode(),
        "dtype": _dtype(place, data) or _dtype(place, updates),
        "index": _dtype(place, indices),
        "rank": _rank(op, [shapes[name] for name in (data, indices, updates)]),
        "k": (shapes[indices] or [None])[-1] if op.addressing == "tuples" else None,
    }
    spec, reason = _spec(op, place.opset, known)
    return ScatterNode(name=node.name, op=op, opset=place.opset, spec=spec, reason=reason, **known)


def _spec(op: Op, opset: int, known: dict[str, Any]) -> tuple[OpSpec | None, str]:
    place = "axis" if op.addressing == "axis" else "k"
    needed = ("dtype", "index", "rank", place, "reduction")
    missing = [name for name in needed if known[name] is None]
    if missing:
        return None, f"{', '.join(missing)} known when it runs"
    number = known[place]
    if place == "axis" and number < 0:
        number += known["rank"]
    rest = {name: known[name] for name in ("dtype", "index", "rank", "reduction")}
    try:
        return OpSpec(op=op, opset=opset, place=number, **rest), ""
    except SpecError as error:
        return None, str(error)


def _dtype(place: Place, name: str) -> DType | None:
    kind = place.values.get(name)
    return _BY_ONNX_TYPE.get(kind.tensor_type.elem_type) if kind else None


def _shape(kind: onnx.TypeProto | None) -> list[int | None] | None:
    """Return the dims, None for each that is not a number; None where not even the rank is known."""
    if kind is None or not kind.tensor_type.HasField("shape"):
        return None
    return [dim.dim_value if dim.HasField("dim_value") else None for dim in kind.tensor_type.shape.dim]


def _rank(op: Op, shapes: list[list[int | None] | None]) -> int | None:
    if op.addressing == "tuples":
        shapes = shapes[:1]
    return next((len(shape) for shape in shapes if shape is not None), None)
