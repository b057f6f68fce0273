"""Random inputs for a model that came without: from its declared types, indices within bounds where known."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from ..errors import ShapeError
from .graph import infer, size_of

DIM = 8
"""The size of every dim that the model leaves open."""

_INDEXES = {
    "Scatter": 1,
    "ScatterElements": 1,
    "ScatterND": 1,
    "TensorScatter": 2,
    "Gather": 1,
    "GatherElements": 1,
    "GatherND": 1,
}
"""Which input of an operator indexes its first one."""

_WORDS = ("", "a", "b", "ab", "scatter")
"""What random strings are taken from."""

_PASSES_ON = (
    *("Cast", "Concat", "Expand", "Gather", "Identity", "Reshape"),
    *("Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"),
)
"""Operators whose output holds only values of their inputs."""


def random_inputs(model: onnx.ModelProto, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Return an array for each input of `model`.

    Floats are normally distributed, strings are short words; integers lie below the least dim that they
    are seen to index, and are 0 or 1 where they are seen to index none.
    Raises `ShapeError` for an input that is no tensor of a known type and rank.
    """
    model = infer(model)
    random = np.random.default_rng(seed)
    sizes: dict[str, int] = {}
    limits = _limits(model.graph)
    constants = {tensor.name for tensor in model.graph.initializer}
    arrays = {}
    for row in model.graph.input:
        if row.name not in constants:
            arrays[row.name] = _random(random, row, sizes, limits.get(row.name, 2))
    return arrays


def _random(random: np.random.Generator, row: Any, sizes: dict[str, int], limit: int) -> NDArray[Any]:
    kind = row.type.tensor_type
    if not row.type.HasField("tensor_type") or not kind.HasField("shape") or not kind.elem_type:
        raise ShapeError(f"input {row.name!r} is no tensor of a declared type and rank: give the inputs as arrays")
    known = [(size_of(dim), dim.dim_param or row.name) for dim in kind.shape.dim]
    shape = [sizes.setdefault(name, DIM) if size is None else size for size, name in known]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
    if dtype.kind == "O":
        return random.choice(_WORDS, shape).astype(object)
    if dtype.kind in "iub":
        return random.integers(0, 2 if dtype.kind == "b" else limit, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def _limits(graph: onnx.GraphProto) -> dict[str, int]:
    """Return for each value that ends up as indices the least dim that it indexes, as far as known."""
    shapes = {row.name: row.type.tensor_type.shape.dim for row in (*graph.input, *graph.value_info)}
    shapes |= {tensor.name: [_dim(size) for size in tensor.dims] for tensor in graph.initializer}
    limits: dict[str, int] = {}
    for node in reversed(graph.node):
        if node.op_type in _INDEXES and len(node.input) > _INDEXES[node.op_type]:
            known = [[size_of(dim) or DIM for dim in shapes.get(name, ())] for name in node.input[:2]]
            limit = _room(*known) if node.op_type == "TensorScatter" else min(known[0], default=2)
            _lower(limits, node.input[_INDEXES[node.op_type]], limit)
        if node.op_type in _PASSES_ON:
            for output in set(node.output) & set(limits):
                _lower(limits, node.input[0], limits[output])
    return limits


def _room(cache: list[int], update: list[int]) -> int:
    """Return how many start indices there are for an update that lies within the cache along the axis."""
    return max((size - length + 1 for size, length in zip(cache, update, strict=False)), default=1)


def _lower(limits: dict[str, int], name: str, limit: int) -> None:
    limits[name] = max(1, min(limits.get(name, limit), limit))


def _dim(size: int) -> onnx.TensorShapeProto.Dimension:
    return onnx.TensorShapeProto.Dimension(dim_value=size)
