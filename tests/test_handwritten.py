"""The generated kernels against loops that were written by hand, bit for bit."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import product
import pytest
import values
from bits import difference

import scattergen

Array: TypeAlias = "np.ndarray[Any, Any]"

SOURCE = Path(__file__).parent / "c" / "naive.c"
CC = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)

pytestmark = pytest.mark.skipif(CC is None or os.name != "posix", reason="needs cc, gcc or clang on PATH")


@pytest.fixture(scope="module")
def naive(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Return the library of the loops, compiled without optimisation."""
    library = tmp_path_factory.mktemp("naive") / "naive.so"
    words = [str(CC), "-std=c11", "-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run([*words, str(SOURCE), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def call(naive: ctypes.CDLL, name: str, data: Array, indices: Array, updates: Array) -> Array:
    """Return what a loop makes of a copy of `data`."""
    out = data.copy()
    sizes = [ctypes.c_int64(size) for size in data.shape]
    count = indices.shape[1] if name.endswith("axis1") else indices.shape[0]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (out, indices, updates)]
    getattr(naive, name)(pointers[0], *sizes, pointers[1], ctypes.c_int64(count), pointers[2])
    return out


def arrays(
    seed: int,
    dtype: str,
    data: tuple[int, ...],
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    updated: tuple[int, ...],
) -> tuple[Array, Array, Array]:
    """Return data, indices and updates, with a special value among each twenty."""
    chance = np.random.default_rng(seed)
    kind = values.DTYPES[dtype]
    indices = values.indices(chance, shape, sizes, np.dtype(np.int64), ("random", "ends", "same")[seed % 3])
    return values.elements(chance, data, kind, 0.05), indices, values.elements(chance, updated, kind, 0.05)


def agree(want: Array, function: Any, *inputs: Array, **options: Any) -> None:
    """Check what a kernel gives, by each of its schedules."""
    for machine in (nullcontext, product.small_machine):
        with machine():
            assert scattergen.explain(function, *inputs, **options).source != "reference"
            assert not difference(function(*inputs, **options), want)


each_size = pytest.mark.parametrize(
    ("seed", "height", "width", "count"),
    [(0, 1, 1, 1), (1, 7, 5, 3), (2, 3, 1030, 40), (3, 700, 60, 1100), (4, 40, 33, 2500), (5, 2000, 3, 900)],
)


@each_size
def test_scatter_elements_add(naive: ctypes.CDLL, seed: int, height: int, width: int, count: int) -> None:
    shape = (count, width)
    inputs = arrays(seed, "f32", (height, width), shape, (height,), shape)
    agree(call(naive, "elements_f32_add_axis0", *inputs), scattergen.scatter_elements, *inputs, axis=0, reduction="add")
    shape = (height, count)
    inputs = arrays(seed, "f32", (height, width), shape, (width,), shape)
    agree(call(naive, "elements_f32_add_axis1", *inputs), scattergen.scatter_elements, *inputs, axis=1, reduction="add")


@each_size
def test_scatter_nd_rows_max(naive: ctypes.CDLL, seed: int, height: int, width: int, count: int) -> None:
    inputs = arrays(seed, "f64", (height, width), (count, 1), (height,), (count, width))
    agree(call(naive, "nd_rows_f64_max", *inputs), scattergen.scatter_nd, *inputs, reduction="max")


@each_size
def test_scatter_nd_elements_mul(naive: ctypes.CDLL, seed: int, height: int, width: int, count: int) -> None:
    inputs = arrays(seed, "i32", (height, width), (count, 2), (height, width), (count,))
    agree(call(naive, "nd_elements_i32_mul", *inputs), scattergen.scatter_nd, *inputs, reduction="mul")


# Halves: every one of them


SIGNS = np.array([0, 0x8000], np.uint16)


def halves(seed: int) -> tuple[Array, Array, Array]:
    """Return every half as data, and for each a random one and one of nearly its size as updates."""
    every = np.arange(1 << 16, dtype=np.uint16)
    chance = np.random.default_rng(seed)
    any_half = chance.permutation(every)
    near = every ^ chance.integers(0, 1 << 11, every.shape, np.uint16) ^ chance.choice(SIGNS, every.shape)
    places = chance.permutation(every.size).astype(np.int64)
    return (
        every.view(np.float16),
        np.concatenate([places, places]),
        np.concatenate([any_half[places], near[places]]).view(np.float16),
    )


@pytest.mark.parametrize("reduction", ["add", "mul"])
def test_halves(naive: ctypes.CDLL, reduction: str) -> None:
    inputs = halves(7)
    want = call(naive, f"elements_f16_{reduction}", *inputs)
    agree(want, scattergen.scatter_elements, *inputs, reduction=reduction)
    with np.errstate(all="ignore"):
        once = call(naive, f"elements_f16_{reduction}", inputs[0], *(array[: 1 << 16] for array in inputs[1:]))
        update = np.empty_like(once)
        update[inputs[1][: 1 << 16]] = inputs[2][: 1 << 16]
        assert not difference(once, inputs[0] + update if reduction == "add" else inputs[0] * update), "NumPy's own"


OTHER_CPU = """
import sys
import numpy as np
import scattergen
with np.load(sys.argv[1]) as file:
    inputs = [file[name] for name in ("data", "indices", "updates")]
found = {}
for name in ("add", "mul"):
    found[name] = scattergen.scatter_elements(*inputs, reduction=name)
    rows = [np.tile(array, (2, 1)) for array in inputs]
    found[name + "_rows"] = scattergen.scatter_elements(*rows, axis=1, reduction=name)[1]
np.savez(sys.argv[2], **found)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names a level of x86-64 that cannot convert halves itself")
def test_halves_where_the_cpu_does_not_convert_them(naive: ctypes.CDLL, tmp_path: Path) -> None:
    inputs = halves(8)
    np.savez(tmp_path / "in.npz", **dict(zip(("data", "indices", "updates"), inputs, strict=True)))
    words = [sys.executable, "-c", OTHER_CPU, str(tmp_path / "in.npz"), str(tmp_path / "out.npz")]
    subprocess.run(words, check=True, env={**os.environ, "SCATTERGEN_CPU": "x86-64"})
    with np.load(tmp_path / "out.npz") as found:
        for reduction in ("add", "mul"):
            want = call(naive, f"elements_f16_{reduction}", *inputs)
            assert not difference(found[reduction], want)
            assert not difference(found[f"{reduction}_rows"], want)
