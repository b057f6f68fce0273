"""Updates that go where the one before went: single elements in runs, which kernels keep until another target comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import values
from bits import difference

import scattergen
from scattergen.operators import reference

SIZE = 300

PATTERNS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "one target": lambda random, n: np.full(n, 7),
    "sorted": lambda random, n: np.sort(random.integers(0, n // 40, n)),
    "runs, negative": lambda random, n: np.repeat(random.integers(-SIZE, 0, n // 30 + 1), 30)[:n],
    "one for padding": lambda random, n: np.where(random.random(n) < 0.97, 0, random.integers(0, SIZE, n)),
    "runs in parts": lambda random, n: np.where(np.arange(n) // 200 % 2, 5, random.integers(0, SIZE, n)),
}
"""How indices lie, as a function of their number."""

REDUCTIONS = ("add", "mul", "max", "min")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("tag", values.DTYPES)
def test_runs_have_the_bits_of_the_loop(tag: str, pattern: str) -> None:
    random = np.random.default_rng(11)
    dtype = values.DTYPES[tag]
    for reduction in REDUCTIONS if dtype.kind != "c" else REDUCTIONS[:2]:
        for count in (127, 128, 1024, 1200, 3001):
            data = values.elements(random, (SIZE,), dtype, 0.02)
            updates = values.elements(random, (count,), dtype, 0.02 if count % 2 else 0)
            indices = PATTERNS[pattern](random, count)
            explained = scattergen.explain(scattergen.scatter_elements, data, indices, updates, 0, reduction)
            assert explained.form == "elements" and str(explained.kernel).startswith("elements_")
            want = reference.scatter_elements(data, indices, updates, 0, reduction)
            assert not difference(scattergen.scatter_elements(data, indices, updates, 0, reduction), want)


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("reduction", ["add", "max"])
def test_runs_of_tuples_and_of_updates_with_a_stride(reduction: str, step: int) -> None:
    random = np.random.default_rng(3)
    data = random.random((6, 50), np.float32)
    tuples = np.stack([np.repeat(random.integers(-6, 6, 50), 50), np.repeat(random.integers(-50, 50, 25), 100)], axis=1)
    updates = random.random(step * len(tuples), np.float32)[::step]
    want = reference.scatter_nd(data, tuples, updates, reduction)
    assert not difference(scattergen.scatter_nd(data, tuples, updates, reduction), want)


def test_a_bad_index_in_a_run_is_found() -> None:
    indices = np.full(2000, 3)
    for place in (0, 127, 128, 1023, 1024, 1999):
        bad = indices.copy()
        bad[place] = 4
        with pytest.raises(scattergen.errors.IndexOutOfBounds) as raised:
            scattergen.scatter_elements(np.zeros(4), bad, np.ones(2000), 0, "add")
        assert raised.value.positions[0] == (place,)
