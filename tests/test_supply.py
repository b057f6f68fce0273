"""Baseline kernels: they answer small calls, with the same bits, until optimised ones would have paid."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scattergen.common.config import Settings
from scattergen.compiler import flag_sets, toolchain
from scattergen.errors import CompilerNotFound

START = """
import os, threading
import numpy as np, scattergen
from scattergen.common import config
from scattergen.operators import reference
from scattergen.load import supply
from scattergen.lower.kernel import KernelSpec

data, indices, updates = np.zeros((5, 5), np.float32), np.arange(25).reshape(5, 5) % 3, np.full((5, 5), 0.1, np.float32)
want = reference.scatter_elements(data, indices, updates, 0, "add").tobytes()

def call():
    assert scattergen.scatter_elements(data, indices, updates, 0, "add").tobytes() == want

def calls():
    for _ in range(supply.OPTIMIZE_AFTER_ELEMENTS // supply.CALL_MIN_ELEMENTS):
        call()

def large():
    got = scattergen.scatter_elements(*(np.resize(one, (11000, 5, 5)) for one in (data, indices, updates)), 1, "add")
    assert got[0].tobytes() == got[-1].tobytes() == want  # by the same kernel

def kind(name="lanes_f32_i64_add"):
    found = supply._ready[KernelSpec.parse(name)]
    return ("baseline" if found.is_baseline else "optimised") + " " + found.origin
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


def levels(folder: Path) -> dict[str, set[bool]]:
    """Return whether the store's entries were optimised, by the names of their kernels."""
    found: dict[str, set[bool]] = {}
    for path in folder.glob("store/v*/*/meta.json"):
        entry = json.loads(path.read_text())
        if entry["spec"] != "scattergen_caller":
            found.setdefault(entry["spec"], set()).add("-O0" not in entry["command"])
    return found


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


def test_small_calls_take_the_baseline_kernel_until_the_optimised_one_would_have_paid(folder: Path) -> None:
    said = succeeds(folder, "call(); print(kind()); calls(); print(kind()); call(); print(kind())")
    assert said.splitlines() == ["baseline built", "optimised built", "optimised built"]
    assert levels(folder) == {"lanes_f32_i64_add": {True, False}}


def test_another_process_finds_the_best_that_is_in_the_store(folder: Path) -> None:
    for text, wanted in (
        ("call(); print(kind())", "baseline built"),
        ("call(); print(kind())", "baseline cache"),
        ("calls(); call(); print(kind())", "optimised built"),
        ("call(); print(kind())", "optimised cache"),
    ):
        assert succeeds(folder, text).strip() == wanted
    assert sorted(path.name for path in folder.iterdir()) == ["store"]


def test_large_calls_and_those_that_ask_for_the_kernel_itself_take_the_optimised_one(folder: Path) -> None:
    asks = {
        "large()": "optimised built",
        "call(); large()": "optimised built",
        "scattergen.bind(scattergen.scatter_elements, data, indices, updates, 0, 'add')": "optimised built",
        "scattergen.explain(scattergen.scatter_elements, data, indices, updates, 0, 'add')": "optimised built",
        "scattergen.compile('scatter_elements_f32_i64_r2a0_add')": "optimised built",
        "call()": "baseline built",
        "config.use(config.settings()._replace(compile='optimized')); call()": "optimised built",
        "call(); config.use(config.settings()._replace(compile='optimized')); call()": "optimised built",
    }
    for number, (ask, wanted) in enumerate(asks.items()):
        place = folder / str(number)
        place.mkdir()
        assert succeeds(place, f"{ask}\nprint(kind())").splitlines()[-1] == wanted, ask


def test_where_nothing_is_to_be_built_a_baseline_kernel_will_do(folder: Path) -> None:
    never = {"SCATTERGEN_COMPILE": "never"}
    ended = run(folder, "call()", **never)
    assert ended.returncode == 1 and "KernelUnavailable" in ended.stderr
    succeeds(folder, "call()")
    bound = "scattergen.bind(scattergen.scatter_elements, data, indices, updates, 0, 'add')()"
    nobody = {"CC": str(folder / "nobody")}
    for ask in ("call()", "large()", "calls(); large()", bound, f"{bound}; call()", f"call(); {bound}"):
        for setting in (never, nobody):
            assert succeeds(folder, f"{ask}; print(kind())", **setting).strip() == "baseline cache", ask


@pytest.mark.parametrize("setting", ["memory", "off", "read-only"])
def test_whatever_the_store_keeps(folder: Path, setting: str) -> None:
    said = succeeds(folder, "call(); print(kind()); calls(); call(); print(kind())", SCATTERGEN_CACHE=setting)
    assert said.splitlines() == ["baseline built", "optimised built"]
    assert levels(folder) == {} and [path.name for path in folder.iterdir() if path.name != "store"] == []


def test_a_compiler_that_fails_to_optimise_leaves_the_baseline_kernel(folder: Path) -> None:
    cc = compiler(folder, "*-O0*) ;;", "*) echo too hard >&2; exit 1;;")
    said = run(
        folder,
        """
for _ in range(3):
    calls(); large(); print(kind())
a = np.zeros(9, np.float32)
for _ in range(3):
    scattergen.at.add(a, np.array([1, 1]), 1.0)
print(a.tolist())
try:
    scattergen.compile("scatter_elements_f32_i64_r2a0_add")
except scattergen.errors.CompileError as error:
    print("too hard" in str(error))
""",
        CC=cc,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == ["baseline built"] * 3 + [str([0.0, 6.0] + [0.0] * 7), "True"]
    assert said.stderr.count("lanes_f32_i64_add stays as it is") == 1 and "too hard" in said.stderr


def test_a_compiler_that_fails_unless_it_optimises_builds_the_optimised_kernel_at_once(folder: Path) -> None:
    cc = compiler(folder, "*-O0*) echo -D_FORTIFY_SOURCE needs optimization >&2; exit 1;;")
    assert succeeds(folder, "call(); print(kind())", CC=cc).strip() == "optimised built"


def test_where_nothing_can_be_built_the_store_is_asked_now_and_then(folder: Path) -> None:
    succeeds(folder, "call()")
    text = """
from scattergen.compiler import build
looks, find = [], build._look_up
build._look_up = lambda *given, **named: (looks.append(given[0]), find(*given, **named))[1]
for _ in range(5):
    calls()
print(kind(), len(looks) < 20)
"""
    for setting in ({"SCATTERGEN_COMPILE": "never"}, {"CC": str(folder / "nobody")}):
        assert succeeds(folder, text, **setting).strip() == "baseline cache True"


def test_a_compiler_that_hangs_is_waited_for_once(folder: Path) -> None:
    cc = compiler(folder, f"*) echo >>{shlex.quote(str(folder / 'started'))}; exec sleep 60;;")
    text = """
try:
    call()
except scattergen.errors.CompileError as error:
    print("did not end in 2 s" in str(error))
"""
    assert succeeds(folder, text, CC=cc, SCATTERGEN_COMPILE_TIMEOUT="2") == "True\n"
    assert (folder / "started").read_text() == "\n"


def test_the_store_tells_one_from_the_other(folder: Path) -> None:
    succeeds(folder, "call(); large()")
    ended = subprocess.run(
        [sys.executable, "-m", "scattergen", "cache", "list"],
        env={**os.environ, "SCATTERGEN_CACHE_DIR": str(folder / "store")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [line for line in ended.stdout.splitlines() if line.startswith("lanes_f32_i64_add")]
    assert len(rows) == 2 and sum("(baseline)" in row for row in rows) == 1


def test_a_flag_of_the_users_does_not_slow_the_baseline_kernel_down(folder: Path) -> None:
    chosen = Settings(cflags="-O2 -g")
    for flags in flag_sets.kernel_flags(chosen, {}, optimize=False):
        assert flags[-1] == "-O0" and "-fopenmp" not in flags and "-march=native" not in flags
    assert all(flags[-2:] == ("-O2", "-g") for flags in flag_sets.kernel_flags(chosen, {}))


def test_threads_that_come_first_together_all_get_right_results(folder: Path) -> None:
    text = """
start, failed = threading.Barrier(8), []
def work(number):
    start.wait()
    try:
        for turn in range(100):
            large() if number == 0 and turn == 50 else call()
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(kind(), failed)
"""
    assert succeeds(folder, text).strip() == "optimised built []"


def test_every_way_to_call_takes_the_optimised_kernel_in_the_end(folder: Path) -> None:
    """Plans, tables and steps that were made for the baseline kernel do not stay."""
    said = succeeds(
        folder,
        """
import gc
from scattergen.call import direct
from scattergen.load import loader
scattergen.compile("scatter_elements_f32_i64_r1a0_none")  # makes the caller module on the way
plan, own = scattergen.prepare(indices, data.shape, axis=0, reduction="add"), data.copy()
halves = data.astype(np.float16)

def all_ways():
    call(); plan(data, updates); scattergen.scatter_elements(own, indices, updates, 0, "add", out=own)
    scattergen.at.add(own, np.array([1, 1]), 1.0)
    scattergen.scatter_elements(halves, indices, updates.astype(np.float16), 0, "add", accumulate="float32")
    scattergen.gradients(scattergen.scatter_elements, data, data, indices, updates, 0, "mul")
    scattergen.graph.scatter_max(updates, indices[:, 0], 0)

all_ways()
first = dict(supply._ready)
print(sum(one.is_baseline for one in first.values()) > 6)
for _ in range(supply.OPTIMIZE_AFTER_ELEMENTS // supply.CALL_MIN_ELEMENTS + 1):
    all_ways()
gc.collect()
print([str(spec) for spec, one in supply._ready.items() if one.is_baseline])
baseline = [one.loaded for one in first.values() if one.is_baseline]
direct._call.cache_clear()
gc.collect()
print({call._alive.name for call in loader._calls if any(call._alive is one for one in baseline)})
""",
    )
    assert said.splitlines() == ["True", "[]", "set()"]


@pytest.mark.parametrize("by", ["signal", "finalizer"])
def test_who_comes_upon_a_build_of_its_own_thread_does_not_wait_for_it(by: str, tmp_path: Path) -> None:
    text = """
import faulthandler, gc, signal
faulthandler.dump_traceback_later(50, exit=True)
seen = []
scattergen.scatter_elements(data.astype(np.int8), indices, updates.astype(np.int8))  # imports what a build needs

class Cycle:
    def __init__(self):
        self.own = self
    def __del__(self):
        call()
        seen.append("finalizer")

if BY == "signal":
    signal.signal(signal.SIGALRM, lambda *_: (call(), seen.append("signal")))
    signal.setitimer(signal.ITIMER_REAL, 0.03)
else:
    gc.collect()
    Cycle()
    gc.set_threshold(200)
call()
while not seen:
    gc.collect()
print(*seen)
"""
    assert succeeds(tmp_path, text.replace("BY", repr(by))).split() == [by]
