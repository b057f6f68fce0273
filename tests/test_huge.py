"""Sizes and offsets beyond 2^31 and 2^32, in memory of which the system gives only the pages that are touched."""

from __future__ import annotations

import math
import sys
from typing import Any, TypeAlias

import numpy as np
import pytest

import scattergen

Array: TypeAlias = "np.ndarray[Any, Any]"

BEYOND_31, BEYOND_32 = 2**31 + 5, 2**32 + 5

pytestmark = pytest.mark.skipif(
    sys.maxsize < 2**32 or sys.platform == "darwin",
    reason="needs a 64-bit process and a system that gives zero pages only when they are touched",
)


def zeros(shape: tuple[int, ...], dtype: Any = np.uint8) -> Array:
    try:
        return np.zeros(shape, dtype)
    except MemoryError:
        pytest.skip(
            f"this system does not lend {math.prod(shape) * np.dtype(dtype).itemsize >> 30} GiB of address space"
        )


def form(function: Any, *arguments: Any, **options: Any) -> str:
    return scattergen.explain(function, *arguments, **options).form


@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize(
    ("size", "answers"), [(2**31, "elements"), (2**31 + 1, "strided"), (BEYOND_31, "strided"), (BEYOND_32, "strided")]
)
def test_elements_of_a_long_vector(size: int, answers: str, reduction: str) -> None:
    """Kernels of single elements hold offsets in 32 bits, with their sign."""
    middle = size // 2 + 1
    data, indices = zeros((size,)), np.array([0, -1, middle, size - 2, -size])
    updates = np.array([1, 2, 3, 4, 5], np.uint8)
    arguments = (data, indices, updates, 0, reduction)
    assert form(scattergen.scatter_elements, *arguments, out=data) == answers
    scattergen.scatter_elements(*arguments, out=data)
    assert data[[0, -1, middle, size - 2]].tolist() == [5 if reduction == "none" else 6, 2, 3, 4]
    assert not data[1:1000].any() and not data[middle + 1 : middle + 1000].any()
    assert not data[size - 1000 : size - 2].any()
    for wrong in (size, -size - 1):
        with pytest.raises(IndexError, match=f"indices\\[0\\] is {wrong}, allowed is in \\[{-size}, {size - 1}\\]"):
            scattergen.scatter_elements(data, np.array([wrong]), updates[:1], out=data)


def test_int32_indices_of_a_long_vector_count_from_its_ends() -> None:
    data = zeros((BEYOND_32,))
    scattergen.scatter_elements(data, np.array([2**31 - 1, -(2**31)], np.int32), np.array([1, 2], np.uint8), out=data)
    assert data[2**31 - 1] == 1 and data[BEYOND_32 - 2**31] == 2


def test_elements_of_a_long_vector_from_its_end() -> None:
    """Negative strides: offsets down to -2^31."""
    for size, answers in ((2**31, "elements"), (2**31 + 1, "strided")):
        memory = zeros((size,))
        data, indices, updates = memory[::-1], np.array([0, size - 1, -2]), np.array([1, 2, 3], np.uint8)
        assert form(scattergen.scatter_elements, data, indices, updates, out=data) == answers
        scattergen.scatter_elements(data, indices, updates, out=data)
        assert memory[[-1, 0, 1]].tolist() == [1, 2, 3] and not memory[2:1000].any()


@pytest.mark.parametrize("item", [np.uint8, np.uint16])
def test_tuples_reach_every_element(item: Any) -> None:
    data = zeros((3, 2**15, 2**15 + 1), item)
    tuples = np.array([[2, -1, -1], [0, 0, 0], [-1, 5, 6]])
    scattergen.scatter_nd(data, tuples, np.array([1, 2, 3], item), "add", out=data)
    assert [data[tuple(place)] for place in tuples] == [1, 2, 3]
    offset = int(np.ravel_multi_index((2, 2**15 - 1, 2**15), data.shape))
    assert offset > 2**31 and data.reshape(-1)[offset] == 1


@pytest.mark.parametrize("item", [np.uint8, np.uint16])
def test_rows_far_apart(item: Any) -> None:
    data = zeros((3, BEYOND_31), item)
    indices = np.array([[0, -1], [BEYOND_31 - 1, -2], [2**31, -BEYOND_31]])
    arguments = (data, indices, np.array([[1, 2], [3, 4], [5, 6]], item), 1)
    assert form(scattergen.scatter_elements, *arguments, "add", out=data) == "rows"
    scattergen.scatter_elements(*arguments, "add", out=data)
    assert [data[0, 0], data[0, -1], data[1, -1], data[1, -2], data[2, 2**31], data[2, 0]] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("item", [np.uint8, np.uint16])
def test_lanes_and_slices_far_apart(item: Any) -> None:
    data = zeros((2**30, 7), item)
    indices = np.array([[-1, 0, 2**29, 3, -(2**30), 1, 2**30 - 1], [1, 2, 3, 4, 5, 6, 7]])
    updates = np.arange(1, 15, dtype=item).reshape(2, 7)
    assert form(scattergen.scatter_elements, data, indices, updates, out=data) == "lanes"
    scattergen.scatter_elements(data, indices, updates, out=data)
    assert [data[place, lane] for lane, place in enumerate(indices[0])] == updates[0].tolist()
    whole = np.broadcast_to(indices[:, :1], (2, 7))
    assert form(scattergen.scatter_elements, data, whole, updates, out=data) == "slices"
    scattergen.scatter_elements(data, whole, updates, out=data)
    scattergen.scatter_nd(data, np.array([[2**30 - 2]]), updates[:1], out=data)
    assert (data[-1] == updates[0]).all() and (data[-2] == updates[0]).all() and (data[1] == updates[1]).all()


def test_strides_far_apart_in_every_array() -> None:
    step = 2**30
    data, updates = zeros((5 * step,))[::step], zeros((5 * step,), np.uint8)[::-step]
    indices = zeros((5 * step // 4,), np.int64)[:: step // 4]
    indices[:] = [4, -5, 2, 1, 3]
    updates[:] = [1, 2, 3, 4, 5]
    arguments = (data, indices, updates)
    assert form(scattergen.scatter_elements, *arguments, out=data) == "strided"
    scattergen.scatter_elements(*arguments, out=data)
    assert data.tolist() == [2, 4, 3, 5, 1]
    fresh = scattergen.scatter_elements(*arguments, 0, "add")
    assert fresh.tolist() == [4, 8, 6, 10, 2]
    bound = scattergen.bind(scattergen.scatter_elements, *arguments, 0, "add", out=data)
    assert bound().tolist() == [4, 8, 6, 10, 2]


def test_a_plan_for_a_long_vector() -> None:
    data = zeros((BEYOND_32,))
    plan = scattergen.prepare([-1, 2**31 + 7], data.shape, 0, "add")
    assert plan.indices.dtype == np.int64
    for _ in range(2):
        plan(data, np.array([1, 2], np.uint8), data)
    assert (data[-1], data[2**31 + 7]) == (2, 4)


def test_bad_indices_of_a_long_vector() -> None:
    found = scattergen.find_bad([2**32 + 4, 2**32 + 5, -(2**32) - 5, -(2**32) - 6], (BEYOND_32,), axis=0)
    assert found.tolist() == [[1], [3]]


@pytest.mark.parametrize("flip", [1, -1])
@pytest.mark.parametrize("width", [1, 3])
def test_threads_share_targets_far_apart(width: int, flip: int) -> None:
    whole = zeros((5, 2**30))
    data = whole[::flip, 7 : 7 + width]
    indices = np.random.default_rng(0).integers(-5, 5, (50_000, 1))
    updates = np.ones((50_000, width), np.uint8)
    scattergen.scatter_nd(data, indices, updates, "add", out=data, threads=2)
    want = np.bincount(indices[:, 0] % 5, minlength=5).astype(np.uint8)
    assert (data == want[:, None]).all()
    assert not whole[:, :7].any() and not whole[:, 7 + width : 1000].any()
