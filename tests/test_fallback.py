"""Without a compiler: the reference answers with one warning, or an error does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CALLS = """
import warnings, numpy as np, scattergen
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for axis in (0, 1):
        data = np.arange(6.0).reshape(2, 3)
        got = scattergen.scatter_elements(data, np.zeros((1, 3), int), np.ones((1, 3)), axis, "add", out=data)
        explained = scattergen.explain(scattergen.scatter_elements, data, got.astype(int) * 0, got)
        assert got is data and explained.kernel is None and explained.source == "reference"
    for function, name in ((scattergen.scatter, "Scatter:"), (scattergen.scatter_elements, "ScatterElements:")):
        try:
            function(data, np.full((1, 3), 2), np.ones((1, 3)))
        except IndexError as error:
            assert str(error).startswith(name), error
        else:
            raise AssertionError("nothing was raised")
print([(str(w.message)[:26], w.filename) for w in caught], data.tolist())
"""

LAYOUTS = """
import numpy as np
from scattergen import scatter_elements as se, scatter_nd as nd, tensor_scatter as ts
def bools(*values): return np.array(values, np.uint8).view(bool)
swapped = np.zeros((2, 3)).astype(">f4")
table = np.arange(24).reshape(2, 3, 4)
times = np.zeros(3, ">m8[s]")
results = [
    se(swapped, [[0, 1, 1]], np.ones((1, 3), np.float32), 0, "add"),
    se(swapped, [[0, 1, 1]], np.ones((1, 3), ">f4"), 1),
    nd(swapped, [[1]], np.ones((1, 3), ">f4"), "max"),
    ts(swapped, np.ones((2, 1), ">f4"), [1, 2], axis=1),
    ts(swapped, np.ones((2, 1), ">f4"), [1, 2], axis=1, out=swapped.copy()),
    se(times, [0, 0], np.ones(2, ">m8[s]"), 0, "add"),
    nd(table.transpose(2, 0, 1), [[0]], np.ones((1, 2, 3), int), "add"),
    se(table[:, :, ::2], [[[0]]], [[[9]]]),
    ts(bools(2, 0, 3)[None], bools(5)[None], [1], axis=1),
    ts(bools(2, 0, 3)[None], bools(5, 4)[None], [2], axis=1, mode="circular"),
    se(bools(2, 0, 3), [1], bools(5)),
    nd(bools(2, 0, 3), [[1]], bools(5)),
    se(bools(2, 0, 3), [1], bools(5), 0, "add"),
]
print([(r.dtype.str, r.strides, r.tobytes().hex()) for r in results])
"""
"""Results whose bytes, byte order and layout tell who made them."""


def without_compiler(folder: Path, fallback: str, calls: str = CALLS) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCATTERGEN_") and name != "CC"}
    own = {"SCATTERGEN_FALLBACK": fallback, "SCATTERGEN_CACHE_DIR": str(folder / "store")}
    # A compiler that is named and is not there, so that the ziglang package is not taken either.
    environment = {**kept, **own, "SCATTERGEN_CC": str(folder / "no-compiler")}
    command = [sys.executable, "-c", calls]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_reference_answers_and_one_warning_says_so_where_the_call_stands(tmp_path: Path) -> None:
    ended = without_compiler(tmp_path, "reference")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "[('scattergen answers slowly,', '<string>')] [[3.0, 1.0, 2.0], [3.0, 4.0, 5.0]]"


def test_a_setting_makes_it_an_error(tmp_path: Path) -> None:
    ended = without_compiler(tmp_path, "error")
    assert ended.returncode == 1
    assert "CompilerNotFound" in ended.stderr and "no-compiler" in ended.stderr


def test_the_error_is_one_traceback(tmp_path: Path) -> None:
    for call in (
        "scattergen.scatter_elements(np.zeros(300_000), [0], [1.0])",  # which would wait for the optimiser
        "scattergen.compile('scatter_nd_f32_i64_r1k1_add')",
    ):
        ended = without_compiler(tmp_path, "error", f"import numpy as np, scattergen; {call}")
        assert (ended.stderr.count("Traceback"), ended.stderr.count("CompilerNotFound:")) == (1, 1)


def test_the_reference_gives_what_kernels_give_in_bytes_byte_order_and_layout(tmp_path: Path) -> None:
    kernels = subprocess.run([sys.executable, "-c", LAYOUTS], capture_output=True, text=True, check=True)
    ended = without_compiler(tmp_path, "reference", LAYOUTS)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == kernels.stdout
