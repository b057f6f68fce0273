"""The scatter nodes of a model, each with what is known of it before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import onnx

from ..errors import SpecError
from ..operators.dtypes import DTYPES, OPAQUE, TENSORS, DType
from ..operators.ops import Inputs, Op
from ..operators.spec import OpSpec
from .graph import OPERATORS, Model, NodeInScope, infer, load, nodes_in_scope, size_of

_KNOWN_TYPES = set(onnx.TensorProto.DataType.keys())
_BY_ONNX_TYPE: dict[int, DType] = {
    onnx.TensorProto.DataType.Value(row.onnx.upper()): row
    for row in (*TENSORS, *OPAQUE)
    if row.onnx.upper() in _KNOWN_TYPES  # older versions of onnx lack the smallest
}


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
    mode: str | None
    """Of TensorScatter; empty where the operator has none."""
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

    def __repr__(self) -> str:
        return f"<ScatterNode {self.name!r}: {self.spec or self.reason}>"


def nodes(model: Model) -> tuple[ScatterNode, ...]:
    """Return every node of a model (a proto, a path or bytes) that is one of scattergen's operators.

    Those inside of If, Loop and Scan and of the model's local functions are among them; operators of
    other domains are not, whatever their name. Raises `ModelError` for an unreadable model.
    """
    return nodes_of(load(model))


def nodes_of(proto: onnx.ModelProto) -> tuple[ScatterNode, ...]:
    """Return the scatter nodes of a model in the one form."""
    return tuple(_node(found) for found in nodes_in_scope(infer(proto)))


def _node(found: NodeInScope) -> ScatterNode:
    node, op = found.node, OPERATORS[found.node.op_type]
    field = op.place.field
    linked = {row.name for row in node.attribute if row.ref_attr_name}
    written = [row for row in node.attribute if not row.ref_attr_name]
    given = {row.name: onnx.helper.get_attribute_value(row) for row in written}
    inputs = Inputs(**dict(zip(op.order, [*node.input, "", "", ""], strict=False)))
    data, indices, updates = inputs
    shapes = {name: _shape(found.values.get(name)) for name in (data, indices, updates)}
    known: dict[str, Any] = {
        "axis": given.get("axis", op.default_axis) if field == "axis" and "axis" not in linked else None,
        "reduction": None if "reduction" in linked else _text(given.get("reduction", "none")),
        "mode": None if "mode" in linked else _text(given.get("mode", op.versions[-1].modes[0])),
        "dtype": _dtype(found, data) or _dtype(found, updates),
        "index": DTYPES["i64"] if op.optional_indices and not indices else _dtype(found, indices),
        "rank": _rank(op, [shapes[name] for name in (data, indices, updates)]),
        "k": (shapes[indices] or [None])[-1] if field == "k" else None,
    }
    spec, reason = _spec(op, found.opset, known)
    return ScatterNode(name=node.name, op=op, opset=found.opset, spec=spec, reason=reason, **known)


def _text(attribute: Any) -> str:
    """Return an attribute that has to be a text, whatever a model has there."""
    return attribute.decode(errors="replace") if isinstance(attribute, bytes) else str(attribute)


def _spec(op: Op, opset: int, known: dict[str, Any]) -> tuple[OpSpec | None, str]:
    needed = ("dtype", "index", "rank", op.place.field, "reduction", "mode")
    missing = [name for name in needed if known[name] is None]
    if missing:
        return None, f"{', '.join(missing)} known when it runs"
    number = known[op.place.field]
    if not isinstance(number, int):
        return None, f"{op.place.field} is {number!r}, allowed is a whole number"
    if op.place.field == "axis" and number < 0:
        number += known["rank"]
    rest = {name: known[name] for name in ("dtype", "index", "rank", "reduction", "mode")}
    try:
        return OpSpec(op=op, opset=opset, place=number, **rest), ""
    except SpecError as error:
        return None, str(error)


def _dtype(found: NodeInScope, name: str) -> DType | None:
    kind = found.values.get(name)
    return _BY_ONNX_TYPE.get(kind.tensor_type.elem_type) if kind else None


def _shape(kind: onnx.TypeProto | None) -> list[int | None] | None:
    """Return the dims, None for each that is not a number; None where not even the rank is known."""
    if kind is None or not kind.tensor_type.HasField("shape"):
        return None
    return [size_of(dim) for dim in kind.tensor_type.shape.dim]


def _rank(op: Op, shapes: list[list[int | None] | None]) -> int | None:
    known = {"axis": (0, 1, 2), "tuples": (0,), "window": (0, 2)}[op.addressing]
    shapes = [shapes[number] for number in known]
    return next((len(shape) for shape in shapes if shape is not None), None)
