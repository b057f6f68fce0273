"""Reading a model: load it, bring it into one form, walk the scatter nodes of every graph in it.

One form means: a copy of our own, standard operators in the domain ``""`` (never its other name
``ai.onnx``), and a name for each scatter node that no other one has.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, TypeAlias

import onnx

from ..errors import ModelError
from ..operators.ops import OPS, Op

Model: TypeAlias = "onnx.ModelProto | str | PathLike[str] | bytes"

OPERATORS: dict[str, Op] = {op.name: op for op in OPS.values()}
"""The scatter operators by the name that a node has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInScope:
    """A scatter node and what can be seen from it."""

    node: onnx.NodeProto
    opset: int
    values: Mapping[str, onnx.TypeProto]
    """Types of the values in sight; empty inside of functions, whose types each call decides."""


def load(model: Model) -> onnx.ModelProto:
    """Return a copy of `model` (a proto, a path or serialised bytes) in the one form.

    Raises `ModelError` for what is no model or not a whole one, and for a file that cannot be opened.
    """
    name = "the model" if isinstance(model, bytes | onnx.ModelProto) else fspath(model)
    try:
        proto = _read(model)
    except OSError as error:
        raise ModelError(f"{name} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # the readers of the formats of models have classes of their own
        raise ModelError(f"{name} cannot be read as an ONNX model: {error}") from error
    if not proto.HasField("graph"):
        raise ModelError(f"{name} has no graph: it is no ONNX model")
    _use_short_domain(proto)
    _name_scatter_nodes(proto)
    for _ in nodes_in_scope(proto):  # which raises for one whose opset is not said
        pass
    return proto


def _read(model: Model) -> onnx.ModelProto:
    if isinstance(model, bytes):
        return onnx.load_model_from_string(model)
    if isinstance(model, onnx.ModelProto):
        proto = onnx.ModelProto()
        proto.CopyFrom(model)
        return proto
    return onnx.load(fspath(model))


def infer(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return `model` with the types that ONNX can infer; as it is where inference fails."""
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError):
        return model


def size_of(dim: onnx.TensorShapeProto.Dimension) -> int | None:
    """Return the size of a dim, None where it is open; some exporters write -1 for that."""
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None


def nodes_in_scope(model: onnx.ModelProto) -> Iterator[NodeInScope]:
    """Yield each scatter node: of the graph, of every subgraph in order, then of the local functions."""
    yield from _walk(model.graph.node, _opset(model.opset_import), _types(model.graph))
    for function in model.functions:
        yield from _walk(function.node, _opset(function.opset_import), {})


def subgraphs(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """Yield the graphs among a node's attributes with the attribute's name."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        for number, graph in enumerate(attribute.graphs):
            yield f"{attribute.name}[{number}]", graph


def _walk(nodes: Iterable[onnx.NodeProto], opset: int | None, values: dict[str, Any]) -> Iterator[NodeInScope]:
    for node in nodes:
        if is_scatter(node):
            if opset is None:
                raise ModelError(
                    f"node {node.name!r}: its graph imports no opset of the default domain, add it to opset_import"
                )
            yield NodeInScope(node=node, opset=opset, values=values)
        for _, graph in subgraphs(node):
            yield from _walk(graph.node, opset, values | _types(graph))


def is_scatter(node: onnx.NodeProto) -> bool:
    """Tell whether a node of a model in the one form is a scatter operator of the standard."""
    return node.domain == "" and node.op_type in OPERATORS


def _opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int | None:
    return next((row.version for row in imports if row.domain == ""), None)


def _types(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    found = {row.name: row.type for group in (graph.input, graph.value_info, graph.output) for row in group}
    for tensor in graph.initializer:
        found[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
    return found


def _use_short_domain(model: onnx.ModelProto) -> None:
    for holder in (model, *model.functions):
        for row in holder.opset_import:
            row.domain = "" if row.domain == "ai.onnx" else row.domain
    for _, node in _all_nodes(model):
        node.domain = "" if node.domain == "ai.onnx" else node.domain


def _name_scatter_nodes(model: onnx.ModelProto) -> None:
    taken: set[str] = set()
    for prefix, node in _all_nodes(model):
        if is_scatter(node):
            name = prefix + (node.name or node.op_type)
            numbered = (f"{name}#{number}" for number in itertools.count(2))
            node.name = next(one for one in itertools.chain([name], numbered) if one not in taken)
            taken.add(node.name)


def _all_nodes(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.NodeProto]]:
    yield from _inside("", model.graph.node)
    for function in model.functions:
        yield from _inside(f"{function.domain}.{function.name}/", function.node)


def _inside(prefix: str, nodes: Iterable[onnx.NodeProto]) -> Iterator[tuple[str, onnx.NodeProto]]:
    for node in nodes:
        yield prefix, node
        for attribute, graph in subgraphs(node):
            yield from _inside(f"{prefix}{node.name or node.op_type}.{attribute}/", graph.node)
