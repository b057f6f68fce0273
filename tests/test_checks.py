"""Bad indices are listed, duplicate targets refused or promised away."""

from __future__ import annotations

import pickle
from typing import Any

import layouts
import numpy as np
import pytest
from bits import difference

import scattergen
from scattergen.errors import DuplicateTargets, IndexOutOfBounds, ShapeError, SpecError


def test_bad_indices_are_listed_along_an_axis() -> None:
    indices = np.array([[0, 3], [-4, 1], [2, -3]])
    assert scattergen.find_bad(indices, (3, 9), axis=0).tolist() == [[0, 1], [1, 0]]
    assert scattergen.find_bad(indices, (9, 3), axis=-1).tolist() == [[0, 1], [1, 0]]
    assert scattergen.find_bad(indices, (3, 9), axis=0, limit=1).tolist() == [[0, 1]]
    assert scattergen.find_bad(indices, (3, 9), axis=1).shape == (0, 2)


def test_bad_components_are_listed_in_tuples() -> None:
    indices = [[2, 3], [3, 3], [0, -5]]
    found = scattergen.find_bad(indices, (3, 4, 7))
    assert (found.tolist(), found.dtype) == ([[1, 0], [2, 1]], np.int64)
    assert scattergen.find_bad(np.zeros((2, 0), int), (3,)).shape == (0, 2)
    assert scattergen.find_bad(np.zeros((0, 2), int), (3, 3)).shape == (0, 2)
    assert scattergen.find_bad(np.zeros((5, 1), int), (0,)).tolist() == [[place, 0] for place in range(5)]


@pytest.mark.parametrize("lay", layouts.HURTFUL[:6])
def test_every_bad_index_is_found_in_any_layout(lay: Any) -> None:
    chance = np.random.default_rng(0)
    indices = lay(chance.integers(-30, 30, (500, 300), np.int32))
    want = np.argwhere((indices < -20) | (indices >= 20))
    assert len(want) > 1000
    assert (scattergen.find_bad(indices, (20, 300), axis=0) == want).all()


def test_wrong_questions_are_refused() -> None:
    for shape, axis in (((3,), 1), ((3,), -2), ((), 0), ((3,), 0.5)):
        with pytest.raises(ShapeError, match="axis"):
            scattergen.find_bad([0], shape, axis=axis)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="components"):
        scattergen.find_bad([[0, 0]], (3,))
    with pytest.raises(ShapeError, match=r"without axis= .* for scatter_elements give axis=0 or axis=1$"):
        scattergen.find_bad(np.zeros((3, 5), int), (3, 5))
    with pytest.raises(ShapeError, match=r"components; for whole rows: indices\[:, None\]$"):
        scattergen.find_bad(np.zeros(5, int), (3, 4))
    with pytest.raises(ShapeError, match=r"0 to 2 components$"):  # no axis fits these
        scattergen.find_bad(np.zeros((4, 6), int), (3, 5))
    with pytest.raises(TypeError, match="indices is float64"):
        scattergen.find_bad([0.5], (3,), axis=0)


@pytest.mark.parametrize("shape", [3, None, "ab", (3.5, 4), (-3, 4), (2**63, 4)])
@pytest.mark.parametrize("axis", [None, 0])
def test_a_shape_that_is_none_is_refused(shape: Any, axis: int | None) -> None:
    with pytest.raises(ShapeError, match=r"shape is .*(allowed|no such arrays)"):
        scattergen.find_bad(np.zeros((5, 2), int), shape, axis=axis)


@pytest.mark.parametrize("limit", [-1, 1.5, "1", [1]])
def test_a_limit_is_a_whole_number(limit: Any) -> None:
    with pytest.raises(SpecError, match="limit"):
        scattergen.find_bad([9], (3,), axis=0, limit=limit)


def test_a_single_index_has_a_place_without_coordinates() -> None:
    assert [scattergen.find_bad(index, (3,), axis=0).shape for index in (2, 5)] == [(0, 0), (1, 0)]


def elements(data: Any, indices: Any, **options: Any) -> Any:
    indices = np.asarray(indices)
    return scattergen.scatter_elements(data, indices, np.ones(indices.shape, data.dtype), **options)


def test_duplicates_along_an_axis_are_refused() -> None:
    out = np.zeros((5, 3))
    with pytest.raises(DuplicateTargets) as caught:
        elements(out, [[0, 1, 2], [1, 0, 2], [2, 1, 0], [-5, 2, 2]], duplicates="refuse", out=out)
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.operator, error.positions, error.target) == ("ScatterElements", ((0, 0), (3, 0)), (0, 0))
    assert str(error) == "ScatterElements: indices[0, 0] and indices[3, 0] both name data[0, 0]"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert not out.any()


def test_the_same_index_in_two_lanes_is_no_duplicate() -> None:
    indices = np.tile(np.arange(4)[:, None], (1, 3))
    want = elements(np.zeros((4, 3)), indices)
    for reduction in ("none", "add"):
        for repeated in (indices, np.broadcast_to(indices[:, :1], (4, 3))):
            got = elements(np.zeros((4, 3)), repeated, reduction=reduction, duplicates="refuse", unique=True)
            assert not difference(got, want)
    with pytest.raises(DuplicateTargets, match=r"indices\[0, 0\] and indices\[1, 0\] both name data\[0, 0\]"):
        elements(np.zeros((4, 3)), np.broadcast_to(indices[0], (4, 3)), duplicates="refuse")


def test_duplicate_tuples_are_refused() -> None:
    tuples = np.array([[[1, 2], [0, 2]], [[-1, 0], [1, -1]]])
    with pytest.raises(DuplicateTargets) as caught:
        scattergen.scatter_nd(np.zeros((2, 3, 4)), tuples, np.ones((2, 2, 4)), duplicates="refuse")
    assert (caught.value.positions, caught.value.target) == (((0, 0), (1, 1)), (1, 2))
    with pytest.raises(DuplicateTargets, match=r"indices\[0\] and indices\[1\] both name data\[\]"):
        scattergen.scatter_nd(np.zeros(3), np.zeros((2, 0), int), np.ones((2, 3)), duplicates="refuse")
    with pytest.raises(DuplicateTargets, match="Scatter: "):
        scattergen.scatter(np.zeros(3), [1, 1], [1, 2], duplicates="refuse")


@pytest.mark.parametrize("size", [60, 100_000])
def test_the_pair_is_a_pair_whether_the_result_is_small_or_large(size: int) -> None:
    chance = np.random.default_rng(size)
    for _ in range(50):
        indices = chance.permutation(size)[:40] - size // 2
        elements(np.zeros(size), indices, duplicates="refuse")
        one, other = sorted(chance.choice(40, 2, replace=False).tolist())
        indices[other] = indices[one] + size * (1 if indices[one] < 0 else -1)
        with pytest.raises(DuplicateTargets) as caught:
            elements(np.zeros(size), indices, duplicates="refuse")
        assert caught.value.positions == ((one,), (other,))
        assert caught.value.target == (indices[one] % size,)


def test_bounds_come_before_duplicates() -> None:
    with pytest.raises(IndexOutOfBounds):
        elements(np.zeros(3), [0, 0, 3], duplicates="refuse")


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(SpecError, match=r"duplicates='first': allowed is one of allow, refuse"):
        elements(np.zeros(3), [0], duplicates="first")


@pytest.mark.parametrize("reduction", ["none", "max"])
def test_a_wrong_promise_moves_no_write_elsewhere(reduction: str) -> None:
    chance = np.random.default_rng(5)
    guarded = np.full(3000, 77.0)
    for shape, axis in (((1000,), 0), ((100, 10), 0), ((10, 100), 1)):
        view = guarded[1000:2000].reshape(shape)
        view[...] = 0
        indices = chance.integers(0, shape[axis] // 2, shape)
        updates = 1 + np.arange(1000.0).reshape(shape)
        scattergen.scatter_elements(view, indices, updates, axis, reduction, out=view, unique=True, threads=2)
        assert (guarded[:1000] == 77).all() and (guarded[2000:] == 77).all()
        touched = scattergen.scatter_elements(np.zeros(shape), indices, np.ones(shape), axis) == 1
        assert ((view != 0) == touched).all()
        assert np.isin(view[touched], updates).all()
