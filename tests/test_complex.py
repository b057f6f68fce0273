"""Products of complex numbers in slices, which kernels make four at a time: each part rounded, none fused."""

from __future__ import annotations

import numpy as np
import pytest
from bits import Array, difference

import scattergen

EXTREMES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, 2.0], np.float32)


def product(one: Array, other: Array) -> Array:
    """Return the products, from real and imaginary parts that float32 rounds one by one."""
    found = np.empty_like(one)
    with np.errstate(all="ignore"):
        found.real = one.real * other.real - one.imag * other.imag
        found.imag = one.real * other.imag + one.imag * other.real
    return found


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9, 64, 1001])
@pytest.mark.parametrize("special", [0, 0.2])
def test_products_in_slices_are_rounded_part_by_part(special: float, length: int) -> None:
    random = np.random.default_rng(length)

    def numbers() -> Array:
        parts = random.standard_normal((40, length, 2), np.float32)
        parts = np.where(random.random(parts.shape) < special, random.choice(EXTREMES, parts.shape), parts)
        return parts.view(np.complex64)[..., 0]

    data, *updates = (numbers() for _ in range(4))
    order = [random.permutation(40) for _ in updates]
    want = data
    for rows, update in zip(order, updates, strict=True):
        want = want.copy()
        want[rows] = product(want[rows], update)
    indices, all_updates = np.concatenate(order)[:, None], np.concatenate(updates)
    explained = scattergen.explain(scattergen.scatter_nd, data, indices, all_updates, "mul", threads=1)
    assert str(explained.kernel) == f"{'slices' if length > 1 else 'elements'}_c64_i64_k1_mul"
    assert not difference(scattergen.scatter_nd(data, indices, all_updates, "mul", threads=1), want)
