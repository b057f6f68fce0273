"""Indices that repeat in memory: the same bits as single elements give, by slices."""

from __future__ import annotations

import numpy as np
import pytest
from bits import difference

import scattergen
from scattergen.arguments import repeats
from scattergen.errors import IndexOutOfBounds
from scattergen.operators import reference


@pytest.fixture(autouse=True)
def small_arrays_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "LEAST_UPDATES", 1)


def arrays(shape: tuple[int, ...], extent: int, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices that repeat along all dims after the axis, and updates."""
    chance = np.random.default_rng(5)
    wide = (*shape[:axis], extent, *shape[axis + 1 :])
    narrow = (*wide[: axis + 1], *(1 for _ in shape[axis + 1 :]))
    indices = np.broadcast_to(chance.integers(-shape[axis], shape[axis], narrow), wide).copy()
    return chance.random(shape, np.float32), indices, chance.random(wide, np.float32)


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
@pytest.mark.parametrize(("shape", "axis"), [((9, 8), 0), ((3, 7, 5), 1), ((6, 2, 4), 0), ((2, 3, 1, 4), 1)])
def test_slices_answer_and_give_the_same_bits(shape: tuple[int, ...], axis: int, reduction: str) -> None:
    data, indices, updates = arrays(shape, 50, axis)
    explanation = scattergen.explain(scattergen.scatter_elements, data, indices, updates, axis, reduction)
    assert explanation.form == "slices"
    for _ in range(2):
        got = scattergen.scatter_elements(data, indices, updates, axis, reduction)
        assert not difference(got, reference.scatter_elements(data, indices, updates, axis, reduction))


@pytest.mark.parametrize("row", [0, 1, 24, 49])
def test_one_index_that_differs_is_seen(row: int) -> None:
    data, indices, updates = arrays((9, 8), 50, 0)
    indices[row, 7] = (indices[row, 7] + 10) % 9
    assert scattergen.explain(scattergen.scatter_elements, data, indices, updates).form == "lanes"
    got = scattergen.scatter_elements(data, indices, updates, reduction="add")
    assert not difference(got, reference.scatter_elements(data, indices, updates, 0, "add"))


def test_each_call_is_looked_at_anew() -> None:
    data, indices, updates = arrays((9, 8), 50, 0)
    scattergen.scatter_elements(data, indices, updates)
    indices[3, 5] = (indices[3, 5] + 10) % 9
    got = scattergen.scatter_elements(data, indices, updates)
    assert not difference(got, reference.scatter_elements(data, indices, updates, 0, "none"))


def test_a_bad_index_is_told_by_its_place() -> None:
    data, indices, updates = arrays((9, 8), 50, 0)
    indices[30] = 9
    with pytest.raises(IndexOutOfBounds) as caught:
        scattergen.scatter_elements(data, indices, updates, out=data)
    assert caught.value.positions[:2] == ((30, 0), (30, 1))


def test_small_calls_and_narrow_rows_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    data, indices, updates = arrays((9, 3), 50, 0)
    assert scattergen.explain(scattergen.scatter_elements, data, indices, updates).form == "lanes"
    monkeypatch.setattr(repeats, "LEAST_UPDATES", 1 << 18)
    data, indices, updates = arrays((9, 8), 50, 0)
    assert scattergen.explain(scattergen.scatter_elements, data, indices, updates).form == "lanes"
