"""Halves in long runs of updates to one target: the loop's bits, though kernels do not take its steps one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bits import Array, difference

import scattergen
from scattergen.lower.kernel import KernelSpec
from scattergen.render import render

TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}

LENGTHS = (1, 2300, 40, 257, 256, 255, 1, 7, 1024, 271, 300, 16, 15, 512, 129, 3000)
"""Updates of one target after another: around the pieces that kernels try, the runs that are long, and blocks."""

COUNT = sum(LENGTHS)
TARGETS = np.repeat((np.arange(len(LENGTHS)) * 5) % len(LENGTHS), LENGTHS)

Make = Callable[[np.random.Generator, Any], tuple[float, Array]]


def _units(random: np.random.Generator, limits: Any, parts: list[float]) -> Array:
    return random.choice(np.array(parts), COUNT) * float(limits.eps)


def _rarely(random: np.random.Generator, usual: Array, *others: float) -> Array:
    return np.where(random.random(COUNT) < 1 / 400, random.choice(np.array(others), COUNT), usual)


SUMS: dict[str, Make] = {
    "both signs": lambda random, limits: (0.0, random.uniform(-1, 1, COUNT)),
    "one sign, until it stands still": lambda random, limits: (0.0, random.random(COUNT)),
    "one sign, below zero": lambda random, limits: (-0.5, -random.random(COUNT)),
    "within one exponent": lambda random, limits: (1.5, _units(random, limits, [-3.7, -1.1, -0.3, 0.4, 0.9, 3.8])),
    "ties": lambda random, limits: (1.5, _units(random, limits, [-1.5, -0.5, 0.5, 1.5])),
    "ties, below zero": lambda random, limits: (-1.25, _units(random, limits, [-1.5, -0.5, 0.5, 1.5])),
    "ties over a power of two": lambda random, limits: (1.0, _units(random, limits, [-0.75, -0.5, -0.25, 0.5, 1.0])),
    "ties under a power of two": lambda random, limits: (2.0, _units(random, limits, [-1.5, -0.5, 0.5, 1.0, 1.5])),
    "nothing but a change at times": lambda random, limits: (1.0, _rarely(random, np.zeros(COUNT), -0.25, 0.5, 7.0)),
    "too small for the sum": lambda random, limits: (3.0, random.uniform(-1, 1, COUNT) * float(limits.eps) / 2),
    "subnormals": lambda random, limits: (
        0.0,
        random.integers(-9, 10, COUNT) * float(limits.smallest_subnormal),
    ),
    "out of subnormals": lambda random, limits: (
        -float(limits.smallest_subnormal),
        random.integers(-5, 40, COUNT) * float(limits.smallest_subnormal),
    ),
    "to the largest and beyond": lambda random, limits: (
        float(limits.max) / 2,
        random.uniform(-0.5, 1, COUNT) * float(limits.max) / 64,
    ),
    "on the largest": lambda random, limits: (
        float(limits.max),
        random.choice(np.array([-2.0, -0.25, 0.25, 0.49]), COUNT) * float(limits.max) * float(limits.eps) / 2,
    ),
    "infinities": lambda random, limits: (1.5, _rarely(random, random.uniform(-1, 1, COUNT), np.inf, -np.inf)),
    "NaN of either sign": lambda random, limits: (1.5, _rarely(random, random.uniform(0, 1, COUNT), np.nan, -np.nan)),
    "zeros": lambda random, limits: (-0.0, _rarely(random, np.full(COUNT, -0.0), 0.0)),
    "every half": lambda random, limits: (0.0, random.integers(0, 1 << 16, COUNT, np.uint16)),
}
"""What a run starts from and its updates, as a function of a type's limits: numbers, or bits of halves."""

PRODUCTS: dict[str, Make] = {
    "to zero": lambda random, limits: (1.0, random.uniform(-1, 1, COUNT)),
    "to infinity": lambda random, limits: (1.0, random.uniform(-2, 3, COUNT)),
    "around one": lambda random, limits: (1.0, random.uniform(0.99, 1.01, COUNT) * random.choice([-1.0, 1.0], COUNT)),
    "ones": lambda random, limits: (-0.7, _rarely(random, random.choice([-1.0, 1.0], COUNT), 1.5, -0.5)),
    "subnormals": lambda random, limits: (float(limits.tiny), random.choice([-0.5, 0.75, 1.25, 1.5, -1.5], COUNT)),
    "zero and infinity": lambda random, limits: (-0.0, _rarely(random, random.uniform(-1, 1, COUNT), np.inf)),
    "infinity and zero": lambda random, limits: (-np.inf, _rarely(random, random.uniform(-1, 1, COUNT), 0.0)),
    "NaN of either sign": lambda random, limits: (1.5, _rarely(random, random.uniform(0, 1, COUNT), np.nan, -np.nan)),
    "every half": lambda random, limits: (1.0, random.integers(0, 1 << 16, COUNT, np.uint16)),
}

EXTREMES: dict[str, Make] = {
    "both signs": lambda random, limits: (0.25, random.uniform(-1, 1, COUNT)),
    "above zero": lambda random, limits: (-1.0, random.random(COUNT)),
    "below zero": lambda random, limits: (1.0, -random.random(COUNT)),
    "zeros above": lambda random, limits: (-1.0, random.choice([-0.0, 0.0, -0.5], COUNT)),
    "zeros below": lambda random, limits: (1.0, random.choice([-0.0, 0.0, 0.5], COUNT)),
    "zeros alone": lambda random, limits: (-0.0, random.choice([-0.0, 0.0], COUNT)),
    "zeros for a zero": lambda random, limits: (0.0, random.choice([-0.0, 0.0], COUNT)),
    "infinities": lambda random, limits: (0.0, _rarely(random, random.uniform(-1, 1, COUNT), np.inf, -np.inf)),
    "NaN of either sign": lambda random, limits: (1.5, _rarely(random, random.uniform(0, 1, COUNT), np.nan, -np.nan)),
    "from NaN": lambda random, limits: (np.nan, random.uniform(-1, 1, COUNT)),
    "every half": lambda random, limits: (0.0, random.integers(0, 1 << 16, COUNT, np.uint16)),
}

CASES = {
    **{("add", name): make for name, make in SUMS.items()},
    **{("mul", name): make for name, make in PRODUCTS.items()},
    **{(reduction, name): make for reduction in ("max", "min") for name, make in EXTREMES.items()},
}


def loop(data: Array, updates: Array, reduction: str) -> Array:
    """Return the data after the operator's loop over TARGETS, each step in float and rounded to the type of data."""
    found = data.copy()
    step = {
        "add": lambda old, update: old + update,
        "mul": lambda old, update: old * update,
        "max": lambda old, update: update if update > old or update != update else old,
        "min": lambda old, update: update if update < old or update != update else old,
    }[reduction]
    with np.errstate(all="ignore"):
        wide = updates.astype(np.float32)
        for target, update in zip(TARGETS.tolist(), wide, strict=True):
            old = found[target].astype(np.float32)
            found[target] = step(old, update).astype(data.dtype)
    return found


def _differ(got: Array, want: Array) -> str:
    with np.errstate(invalid="ignore"):  # signalling NaN
        return difference(got, want)


def _arguments(tag: str, make: Make, seed: int) -> tuple[Array, Array]:
    dtype = TYPES[tag]
    with np.errstate(all="ignore"):
        start, updates = make(np.random.default_rng(seed), ml_dtypes.finfo(dtype))
        data = np.full(len(LENGTHS), start).astype(dtype)
        return data, updates.view(dtype) if updates.dtype == np.uint16 else updates.astype(dtype)


@pytest.mark.parametrize("tag", TYPES)
@pytest.mark.parametrize(("reduction", "name"), CASES, ids=lambda word: word)
def test_long_runs_have_the_bits_of_the_loop(reduction: str, name: str, tag: str) -> None:
    for seed in (1, 2):
        data, updates = _arguments(tag, CASES[reduction, name], seed)
        want = loop(data, updates, reduction)
        assert not _differ(scattergen.scatter_elements(data, TARGETS, updates, 0, reduction), want)
        tuples = np.stack([TARGETS // 4, TARGETS % 4 - 4], axis=1)
        apart = np.repeat(updates, 3)[::3]
        assert not _differ(scattergen.scatter_nd(data.reshape(-1, 4), tuples, apart, reduction), want.reshape(-1, 4))


@pytest.mark.parametrize("tag", TYPES)
def test_a_sum_is_rounded_once_from_every_exponent(tag: str) -> None:
    """The first update of each run may round; the others change nothing."""
    dtype = TYPES[tag]
    random = np.random.default_rng(9)
    starts = random.permutation(np.arange(1 << 16, dtype=np.uint16))[:6000].view(dtype)
    with np.errstate(all="ignore"):
        starts = starts[np.isfinite(starts.astype(np.float32))]
        share = random.uniform(-1, 1, starts.size) * 2.0 ** random.integers(-12, 1, starts.size)
        first = (starts.astype(np.float32) * share.astype(np.float32)).astype(dtype)
        want = (starts.astype(np.float32) + first.astype(np.float32)).astype(dtype)
    length = 272
    updates = np.zeros((starts.size, length), dtype)
    updates[:, 0] = first
    got = scattergen.scatter_elements(starts, np.repeat(np.arange(starts.size), length), updates.ravel(), 0, "add")
    same = (want.astype(np.float32) == 0) & (got.astype(np.float32) == 0)
    assert not difference(np.where(same, want, got), want)


def test_the_lengths_fill_blocks_with_runs_and_with_parts_of_them() -> None:
    assert all(one != other for one, other in pairwise(TARGETS[np.cumsum(LENGTHS)[:-1] - 1].tolist()))
    assert COUNT > 4 * 1024 and max(LENGTHS) > 2 * 1024


@pytest.mark.parametrize("tag", TYPES)
def test_kernels_of_halves_take_long_runs_together(tag: str) -> None:
    taken = {"add": "i += add_evenly(&kept, update + i, n - i);", "mul": "product(size, update[i] & 0x7fff) == size",
             "max": "half_of(best)", "min": "half_of(best)"}  # fmt: skip
    for reduction, text in taken.items():
        assert text in render(KernelSpec.parse(f"elements_{tag}_i64_k1_{reduction}"))
    explained = scattergen.explain(
        scattergen.scatter_elements, np.zeros(9, TYPES[tag]), np.zeros(999, int), np.ones(999, TYPES[tag]), 0, "add"
    )
    assert str(explained.kernel) == f"elements_{tag}_i64_k1_add"
