"""The target of every update, by each way of addressing, against the reference's loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scattergen.arguments import addressing, arrays
from scattergen.operators import reference
from scattergen.operators.ops import OPS

Array = np.ndarray[Any, Any]
INDEX = (np.int32, np.int64)


def targets(op: str, axis: int, data: Array, indices: Array, updates: Array, mode: str = "") -> Array:
    operator = OPS[op]
    opset = operator.versions[-1].since
    return addressing.targets(arrays.prepare(operator, opset, axis, "none", data, indices, updates, None, mode))


@pytest.mark.parametrize("dtype", INDEX)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_along_an_axis(axis: int, dtype: Any) -> None:
    data = np.zeros((4, 3, 5), np.float32)
    indices = np.random.default_rng(0).integers(-data.shape[axis], data.shape[axis], (2, 3, 4)).astype(dtype)
    for array in (indices, indices[::-1, :, ::2], np.broadcast_to(indices[..., :1], indices.shape)):
        found = targets("scatter_elements", axis, data, array, np.zeros(array.shape, np.float32))
        assert found.dtype == np.int64
        assert np.array_equal(found, reference.element_targets(data.shape, array, axis))


@pytest.mark.parametrize("dtype", INDEX)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_by_tuples(depth: int, dtype: Any) -> None:
    data = np.zeros((4, 3, 5), np.float32)
    sizes = np.array(data.shape[:depth])
    indices = np.random.default_rng(0).integers(-sizes, sizes, (2, 6, depth)).astype(dtype)
    for array in (indices, indices[::-1, ::2], indices[0, 0]):
        updates = np.zeros((*array.shape[:-1], *data.shape[depth:]), np.float32)
        found = targets("scatter_nd", 0, data, array, updates)
        assert found.dtype == np.int64
        assert np.array_equal(found, reference.tuple_targets(data.shape, array))


@pytest.mark.parametrize("dtype", INDEX)
@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [1, 2, 3])
def test_in_windows(axis: int, mode: str, dtype: Any) -> None:
    data = np.full((3, 4, 5, 6), -1, np.int64)
    length = 3
    written = tuple(length if dim == axis else extent for dim, extent in enumerate(data.shape))
    updates = np.arange(np.prod(written)).reshape(written)
    starts = np.array([1, 0, -1 if mode == "circular" else data.shape[axis] - length], dtype)
    found = targets("tensor_scatter", axis, data, starts, updates, mode)
    want = reference.tensor_scatter(data, starts, updates, axis, mode).reshape(-1)
    assert (found.dtype, found.shape) == (np.int64, written)
    assert np.array_equal(want[found], updates)


@pytest.mark.parametrize(
    ("op", "data", "indices", "updates"),
    [
        ("scatter_elements", (3, 0), (2, 0), (2, 0)),
        ("scatter_elements", (0,), (0,), (0,)),
        ("scatter_nd", (0, 3), (0, 1), (0, 3)),
        ("scatter_nd", (2, 0), (5, 1), (5, 0)),
        ("tensor_scatter", (2, 0, 3), (2,), (2, 0, 3)),
    ],
)
def test_no_updates_have_no_targets(op: str, data: Any, indices: Any, updates: Any) -> None:
    axis, mode = (1, "linear") if op == "tensor_scatter" else (0, "")
    found = targets(op, axis, np.zeros(data), np.zeros(indices, np.int64), np.zeros(updates), mode)
    assert (found.dtype, found.shape) == (np.int64, updates)
