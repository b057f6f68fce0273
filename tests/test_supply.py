"""Baseline kernels: they answer small first calls, with the same bits, until the optimised ones take their place."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scattergen import toolchain, trials
from scattergen.config import Settings
from scattergen.errors import CompilerNotFound

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the compilers here are shell scripts")

START = """
import os, threading
import numpy as np, scattergen
from scattergen import dispatch, reference, supply
from scattergen.kernel import KernelSpec

data, indices, updates = np.zeros((5, 5), np.float32), np.arange(25).reshape(5, 5) % 3, np.full((5, 5), 0.1, np.float32)
NAME = "lanes_f32_i64_add"

def call():
    got = scattergen.scatter_elements(data, indices, updates, 0, "add")
    assert got.tobytes() == reference.scatter_elements(data, indices, updates, 0, "add").tobytes()

def large():
    got = scattergen.scatter_elements(*(np.resize(one, (11000, 5, 5)) for one in (data, indices, updates)), 1, "add")
    assert len(np.unique(got, axis=0)) == 1  # by the same kernel, the same results

def origin(name=NAME):
    return supply._ready[KernelSpec.parse(name)].origin

def settle():
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join()
"""


def run(folder: Path, text: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run `text` in a process with a store of its own and no settings but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCATTERGEN_")}
    own = {"SCATTERGEN_FALLBACK": "error", "SCATTERGEN_CACHE_DIR": str(folder / "store"), "TMPDIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", START + text],
        env={**kept, **own, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def succeeds(folder: Path, text: str, **settings: str) -> str:
    ended = run(folder, text, **settings)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def entries(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what the store says of its entries, by the names of their kernels."""
    found = (json.loads(path.read_text()) for path in folder.glob("store/v*/*/meta.json"))
    return {str(one["spec"]): one for one in found}


def compiler(folder: Path, *cases: str) -> str:
    """Return a command that does as the compiler, but for the `cases` of a shell's look at its arguments."""
    real = shlex.join(toolchain.find(Settings()).command)
    script = folder / "cc"
    script.write_text("\n".join(["#!/bin/sh", 'case "$*" in', *cases, "esac", f'exec {real} "$@"', ""]))
    script.chmod(0o700)
    return str(script)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    try:
        if toolchain.find(Settings()).is_zig:
            pytest.skip("zig builds no baseline kernels")
    except CompilerNotFound:
        pytest.skip("no compiler")
    return tmp_path


def test_a_small_call_is_answered_by_the_baseline_kernel_and_later_ones_by_the_optimised(folder: Path) -> None:
    said = succeeds(
        folder,
        """
call(); before = dispatch.era
print(origin(), supply._ready[KernelSpec.parse(NAME)].library.startswith(os.environ["TMPDIR"]))
settle(); assert dispatch.era is not before
call(); print(origin(), supply._ready[KernelSpec.parse(NAME)].library.startswith(os.environ["SCATTERGEN_CACHE_DIR"]))
""",
    )
    assert said.split() == ["baseline", "True", "built", "True"]
    assert (
        list(entries(folder)) == ["lanes_f32_i64_add"] and "-O0" not in entries(folder)["lanes_f32_i64_add"]["command"]
    )


def test_a_process_that_ends_leaves_all_that_it_used_in_the_store_and_nothing_else_anywhere(folder: Path) -> None:
    for turn in (["baseline", "baseline"], ["cache", "cache"]):
        said = succeeds(
            folder,
            """
call(); scattergen.scatter_elements(data, indices, updates, 1, "max")
print(origin(), origin("rows_f32_i64_max"))
""",
        )
        assert said.split() == turn
        assert sorted(entries(folder)) == ["lanes_f32_i64_add", "rows_f32_i64_max"]
        assert [path.name for path in folder.iterdir()] == ["store"]


def test_a_large_call_and_those_that_ask_for_the_kernel_itself_wait_for_the_optimised(folder: Path) -> None:
    asks = {
        "large()": "built",
        "call(); large()": "built",
        "scattergen.bind(scattergen.scatter_elements, data, indices, updates, 0, 'add')": "built",
        "print(scattergen.explain(scattergen.scatter_elements, data, indices, updates, 0, 'add').source)": "built",
        "scattergen.compile('scatter_elements_f32_i64_r2a0_add')": "built",
        "call()": "baseline",
    }
    for number, (ask, wanted) in enumerate(asks.items()):
        place = folder / str(number)
        place.mkdir()
        assert succeeds(place, f"{ask}; print(origin())").split()[-1] == wanted, ask


@pytest.mark.parametrize(("setting", "wanted"), [("optimized", "built"), ("never", "KernelUnavailable")])
def test_the_setting_has_every_call_wait_or_fail(folder: Path, setting: str, wanted: str) -> None:
    text = "try:\n    call(); print(origin())\nexcept scattergen.ScattergenError as error: print(type(error).__name__)"
    assert succeeds(folder, text, SCATTERGEN_COMPILE=setting).split() == [wanted]


def test_where_nothing_lasts_a_process_does_not_wait_for_what_it_will_not_use(folder: Path) -> None:
    cc = compiler(folder, "*-O0*) ;;", "*) sleep 60; exit 1;;")
    for setting in ("memory", "off"):
        assert succeeds(folder, "call(); print(origin())", SCATTERGEN_CACHE=setting, CC=cc).split() == ["baseline"]


def test_a_compiler_that_fails_to_optimise_leaves_the_baseline_kernel(folder: Path) -> None:
    cc = compiler(folder, "*-O0*) ;;", "*) echo too hard >&2; exit 1;;")
    ended = run(
        folder,
        """
for _ in range(3):
    call(); settle(); print(origin())
try:
    large()
except scattergen.errors.CompileError as error:
    print("too hard" in str(error))
""",
        CC=cc,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["baseline"] * 3 + ["True"]
    assert ended.stderr.count("lanes_f32_i64_add stays as it is") == 1 and "too hard" in ended.stderr


def test_a_compiler_that_fails_unless_it_optimises_builds_the_optimised_kernel_at_once(folder: Path) -> None:
    cc = compiler(folder, "*-O0*) echo -D_FORTIFY_SOURCE needs optimization >&2; exit 1;;")
    assert succeeds(folder, "call(); print(origin())", CC=cc).split() == ["built"]


def test_a_flag_of_the_users_does_not_slow_the_baseline_kernel_down(folder: Path) -> None:
    chosen = Settings(cflags="-O2 -g")
    for flags in trials.kernel_flags(chosen, {}, optimize=False):
        assert flags[-1] == "-O0" and "-fopenmp" not in flags and "-march=native" not in flags
    assert all(flags[-2:] == ("-O2", "-g") for flags in trials.kernel_flags(chosen, {}))


def test_threads_that_come_first_together_all_get_right_results(folder: Path) -> None:
    text = """
start, failed = threading.Barrier(8), []
def work(number):
    start.wait()
    try:
        for turn in range(300):
            large() if number == turn == 0 else call()
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]; settle()
print(origin(), failed)
"""
    assert succeeds(folder, text).strip() in ("built []", "cache []")
    assert set(entries(folder)) <= {"lanes_f32_i64_add", "scattergen_caller"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_its_own_kernel_improved(folder: Path) -> None:
    text = """
import warnings; warnings.simplefilter("ignore")  # of forks with threads
call()
child = os.fork()
if not child:
    call(); settle(); call(); print(origin(), flush=True); os._exit(0)
assert os.waitpid(child, 0)[1] == 0
settle(); print(origin())
"""
    found = succeeds(folder, text).split()
    assert len(found) == 2 and set(found) <= {"built", "cache"}


def test_calls_that_were_kept_go_by_the_optimised_kernel_once_that_is_there(folder: Path) -> None:
    said = succeeds(
        folder,
        """
import gc
from scattergen import loader
scattergen.compile("scatter_elements_f32_i64_r1a0_none")  # makes the caller module on the way
plan, own = scattergen.prepare(indices, data.shape, axis=0, reduction="add"), data.copy()

def repeat():
    for turn in range(5):
        call(); plan(data, updates); scattergen.scatter_elements(own, indices, updates, 0, "add", out=own)

def made_of(kernel):
    gc.collect()
    return sum(call._alive is kernel for call in loader._calls)

repeat(); baseline = supply._ready[KernelSpec.parse(NAME)].loaded
print(made_of(baseline) > 1); settle(); print(made_of(baseline))
repeat(); print(made_of(baseline), made_of(supply._ready[KernelSpec.parse(NAME)].loaded) > 1)
""",
    )
    assert said.split() == ["True", "0", "0", "True"]
