"""Halves: wide rows, and maxima and minima by whole numbers, of every old value and the updates that could go wrong."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from bits import difference

import scattergen
from scattergen.operators import reference

EVERY = np.arange(1 << 16, dtype=np.uint16)
"""The bits of every half."""

EDGES = np.array([0x0000, 0x0001, 0x03FF, 0x0400, 0x3C00, 0x7C00, 0x7C01, 0x7F7F, 0x7F80, 0x7F81, 0x7FFF], np.uint16)
"""Zero, subnormals, both types' infinities, the finite and NaN beside them; each with either sign below."""

TYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]

Arguments = tuple[np.ndarray, np.ndarray, np.ndarray]


def _slices(old: np.ndarray, update: np.ndarray) -> Arguments:
    return old.reshape(1024, 64), np.arange(1024)[:, None], update.reshape(1024, 64)


def _elements(old: np.ndarray, update: np.ndarray) -> Arguments:
    return old, np.arange(old.size)[:, None], update


def _rows(old: np.ndarray, update: np.ndarray) -> Arguments:
    return old.reshape(64, 1024), np.tile(np.arange(1024), (64, 1)), update.reshape(64, 1024)


def _lanes(old: np.ndarray, update: np.ndarray) -> Arguments:
    return old.reshape(64, 1024), np.tile(np.arange(64)[:, None], (1, 1024)), update.reshape(64, 1024)


FORMS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., Arguments], dict[str, int]]] = {
    "slices": (scattergen.scatter_nd, _slices, {}),
    "elements": (scattergen.scatter_nd, _elements, {}),
    "rows": (scattergen.scatter_elements, _rows, {"axis": 1}),
    "lanes": (scattergen.scatter_elements, _lanes, {"axis": 0}),
}
"""An operator, arguments that lower to the form, and what else the call says."""


def _values(halves: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # signalling NaN
        return halves.astype(np.float64)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_half_meets_every_edge(dtype: np.dtype, reduction: str, form: str) -> None:
    operator, arguments, said = FORMS[form]
    chance = np.random.default_rng(5).integers(0, 1 << 16, 24, dtype=np.uint16)
    old = EVERY.view(dtype)
    before = _values(old)
    found = scattergen.explain(operator, *arguments(old, old), reduction=reduction, threads=1, **said)
    assert found.form == form
    for bits in np.concatenate([EDGES, EDGES | 0x8000, chance]):
        update = np.full(old.size, bits, np.uint16).view(dtype)
        value = _values(update)
        beats = value > before if reduction == "max" else value < before
        want = np.where((beats | np.isnan(value)) & ~np.isnan(before), update, old)
        got = operator(*arguments(old, update), reduction=reduction, threads=1, **said).ravel()
        nan = np.isnan(_values(want))
        np.testing.assert_array_equal(np.isnan(_values(got)), nan, f"NaN, update {bits:#x}")
        np.testing.assert_array_equal(got[~nan].view(np.uint16), want[~nan].view(np.uint16), f"update {bits:#x}")


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_wide_rows_leave_what_lies_between_them(dtype: np.dtype) -> None:
    random = np.random.default_rng(2)
    data = random.standard_normal((9, 3, 101)).astype(dtype)
    indices = random.integers(-101, 101, (7, 1, 70))
    updates = random.standard_normal(indices.shape).astype(dtype)
    arguments = (data, indices, updates, 2, "add")
    explained = scattergen.explain(scattergen.scatter_elements, *arguments)
    assert str(explained.kernel).startswith("wide_rows_")
    want = reference.scatter_elements(*arguments)
    given, itself = np.full_like(data, 5), data.copy()
    scattergen.scatter_elements(*arguments, out=given)
    scattergen.scatter_elements(itself, *arguments[1:], out=itself)
    for got in (scattergen.scatter_elements(*arguments), given, itself):
        assert not difference(got, want)
