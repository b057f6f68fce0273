"""Maxima and minima of halves, found by whole numbers: every old value against the updates that could go wrong."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import scattergen

EVERY = np.arange(1 << 16, dtype=np.uint16)
"""The bits of every half."""

EDGES = np.array([0x0000, 0x0001, 0x03FF, 0x0400, 0x3C00, 0x7C00, 0x7C01, 0x7F7F, 0x7F80, 0x7F81, 0x7FFF], np.uint16)
"""Zero, subnormals, both types' infinities, the finite and NaN beside them; each with either sign below."""

TYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]

Call = Callable[[np.ndarray, np.ndarray, str], np.ndarray]


def _slices(old: np.ndarray, update: np.ndarray, reduction: str) -> np.ndarray:
    rows = np.arange(1024)[:, None]
    return scattergen.scatter_nd(old.reshape(1024, 64), rows, update.reshape(1024, 64), reduction)


def _elements(old: np.ndarray, update: np.ndarray, reduction: str) -> np.ndarray:
    return scattergen.scatter_elements(old, np.arange(old.size), update, 0, reduction)


def _rows(old: np.ndarray, update: np.ndarray, reduction: str) -> np.ndarray:
    columns = np.tile(np.arange(1024), (64, 1))
    return scattergen.scatter_elements(old.reshape(64, 1024), columns, update.reshape(64, 1024), 1, reduction)


def _lanes(old: np.ndarray, update: np.ndarray, reduction: str) -> np.ndarray:
    rows = np.tile(np.arange(64)[:, None], (1, 1024))
    return scattergen.scatter_elements(old.reshape(64, 1024), rows, update.reshape(64, 1024), 0, reduction)


def _values(halves: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # signalling NaN
        return halves.astype(np.float64)


@pytest.mark.parametrize("call", [_slices, _elements, _rows, _lanes])
@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_half_meets_every_edge(dtype: np.dtype, reduction: str, call: Call) -> None:
    chance = np.random.default_rng(5).integers(0, 1 << 16, 24, dtype=np.uint16)
    old = EVERY.view(dtype)
    before = _values(old)
    for bits in np.concatenate([EDGES, EDGES | 0x8000, chance]):
        update = np.full(old.size, bits, np.uint16).view(dtype)
        value = _values(update)
        beats = value > before if reduction == "max" else value < before
        want = np.where((beats | np.isnan(value)) & ~np.isnan(before), update, old)
        got = call(old, update, reduction).ravel()
        nan = np.isnan(_values(want))
        np.testing.assert_array_equal(np.isnan(_values(got)), nan, f"NaN, update {bits:#x}")
        np.testing.assert_array_equal(got[~nan].view(np.uint16), want[~nan].view(np.uint16), f"update {bits:#x}")
