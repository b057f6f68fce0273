"""Measure what a user waits for: imports, first uses, small calls. Every sample is a fresh process.

    python tools/latency.py                 medians and minima, goals beside them
    python tools/latency.py --check         exit code 1 where a median misses its goal
    python tools/latency.py --profile       where the time of an import and of a first use goes

Specs are drawn at random (--seed repeats a draw). Each round has a store of its own, in a folder that is removed
afterwards: empty at the machine's very first use, which leaves the compiled templates behind; a later process then
uses kernels that nobody has built, and the next one finds those.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Goal(NamedTuple):
    """One figure: what it is, its unit in seconds, and the most that its median may be, if there is a goal."""

    what: str
    unit: str
    most: float | None


_SCALE = {"ms": 1e-3, "µs": 1e-6}

GOALS: dict[str, Goal] = {
    "import": Goal("import scattergen, over import numpy", "ms", 20),
    "ever": Goal("the very first use of a kernel on a machine", "ms", None),
    "first": Goal("first use of a kernel never built, in a new process", "ms", 180),
    "further": Goal("each further kernel never built", "ms", 90),
    "compiler": Goal("of either, the compiler's own time", "ms", None),
    "optimized": Goal("each further one, where calls wait for the optimiser", "ms", None),
    "optimizer": Goal("of that, the compiler's own time", "ms", None),
    "warm": Goal("first use in a new process, from the warm store", "ms", 5),
    "call": Goal("a call on the specification's 3x3 example", "µs", 1.3),
    "bound": Goal("the same in the bound form", "µs", 0.4),
}

TASKS = ("import", "ever", "first", "warm", "optimized", "call")
"""What a process can be asked for; `first` gives `further` and `compiler` too, `optimized` the optimizer's time, `call`
the bound form."""

_COMPILERS = {"first": "compiler", "optimized": "optimizer"}
"""Tasks by whose processes a compiler runs → where its times go."""

FURTHER = 3
"""Further kernels in the process of a first use."""


def draw(seed: int, count: int) -> list[str]:
    """Return `count` operator specs, no two of which share a kernel."""
    from scattergen.errors import SpecError
    from scattergen.lower.lower import variants
    from scattergen.operators.dtypes import ELEMENTS, INDEX_TYPES
    from scattergen.operators.ops import OPS
    from scattergen.operators.spec import OpSpec

    chosen, specs, taken = random.Random(seed), list[str](), set[object]()
    while len(specs) < count:
        op = chosen.choice([OPS["scatter_elements"], OPS["scatter_nd"]])
        rank = chosen.randint(1, 4)
        try:
            spec = OpSpec(
                op=op,
                dtype=chosen.choice([row for row in ELEMENTS if row.tag != "bf16"]),
                index=chosen.choice(INDEX_TYPES),
                rank=rank,
                place=chosen.randint(0, rank - 1) if op.addressing == "axis" else chosen.randint(1, rank),
                reduction=chosen.choice(op.versions[-1].reductions),
                opset=op.versions[-1].since,
            )
        except SpecError:
            continue
        kernels = set(variants(spec))
        if not kernels & taken:
            taken |= kernels
            specs.append(str(spec))
    return specs


def child(task: str, specs: list[str]) -> dict[str, list[float]]:
    """Do one task in this process, which has imported nothing yet, and return the seconds taken."""
    clock = time.perf_counter
    import numpy as np

    start = clock()
    import scattergen

    imported = clock() - start
    if task == "import":
        return {"import": [imported]}
    if task == "call":
        return _small_calls(scattergen, np)
    calls = [_call(scattergen, np, spec) for spec in specs]
    times = []
    for call in calls:
        start = clock()
        call()
        times.append(clock() - start)
    if task == "first":
        return {"first": times[:1], "further": times[1:]}
    return {task: times[1:] if task == "optimized" else times[:1]}


def _call(scattergen: Any, np: Any, text: str) -> Callable[[], Any]:
    spec = scattergen.OpSpec.parse(text)
    dtype, index = np.dtype(spec.dtype.numpy_name), np.dtype(spec.index.numpy_name)
    data = np.ones((5,) * spec.rank, dtype)
    if spec.op.addressing == "axis":
        arrays = (data, np.zeros(data.shape, index), np.ones(data.shape, dtype))
        return lambda: scattergen.scatter_elements(*arrays, axis=spec.place, reduction=spec.reduction)
    tuples = np.zeros((3, spec.place), index)
    updates = np.ones((3, *data.shape[spec.place :]), dtype)
    return lambda: scattergen.scatter_nd(data, tuples, updates, reduction=spec.reduction)


def _small_calls(scattergen: Any, np: Any) -> dict[str, list[float]]:
    data, updates = np.zeros((3, 3), np.float32), np.ones((2, 3), np.float32)
    indices = np.array([[1, 0, 2], [0, 2, 1]])
    kernel = scattergen.compile("scatter_elements_f32_i64_r2a0_none")  # makes the fast caller on the way

    def call() -> Any:
        return scattergen.scatter_elements(data, indices, updates)

    found = {"call": _each(call)}
    bind = getattr(kernel, "bind", None)
    if bind is not None:
        found["bound"] = _each(bind(data, indices, updates, out=np.empty_like(data)))
    return found


def _each(function: Callable[[], Any], count: int = 5000, turns: int = 15) -> list[float]:
    for _ in range(2 * count):
        function()
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        for _ in range(count):
            function()
        times.append((time.perf_counter() - start) / count)
    return [statistics.median(times)]


def process(task: str, specs: list[str], folder: Path, store: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run a task in a fresh process, whose Python takes `flags`.

    All settings are left out, and Python's compiled files are kept in `folder`: a user has them beside the
    sources, but this environment may forbid to write them, and then every import would compile.
    """
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("SCATTERGEN_", "PYTHON"))}
    mine.update(
        SCATTERGEN_CACHE_DIR=str(folder / store),
        SCATTERGEN_FALLBACK="error",
        SCATTERGEN_COMPILE="optimized" if task == "optimized" else "auto",
        PYTHONPATH=str(ROOT),
        PYTHONPYCACHEPREFIX=str(folder / "pyc"),
    )
    command = [sys.executable, *flags, str(Path(__file__).resolve()), "--child", task, *specs]
    return subprocess.run(command, env=mine, capture_output=True, text=True, check=True)


def _compiled(store: Path) -> dict[Path, float]:
    """Return how long the compiler took, in seconds, by each entry of a store."""
    return {path: json.loads(path.read_text(encoding="utf-8"))["seconds"] for path in store.glob("v*/*/meta.json")}


def measure(rounds: int, seed: int, tasks: Sequence[str]) -> dict[str, list[float]]:
    """Return the samples of every figure, in seconds."""
    count = 2 + FURTHER
    specs = draw(seed, count * (rounds + 1))
    found: dict[str, list[float]] = {name: [] for name in GOALS}
    with tempfile.TemporaryDirectory(prefix="scattergen-latency-") as folder:
        for number in range(rounds + 1):
            ever, *some = specs[number * count :][:count]
            for task in tasks:
                store = Path(folder, f"{'optimized' if task == 'optimized' else 'store'}{number}")
                before = _compiled(store)
                done = process(task, [ever] if task == "ever" else some, Path(folder), store.name)
                # The first round warms the file system's cache and Python's compiled files.
                for name, times in json.loads(done.stdout).items() if number else ():
                    found[name] += times
                if number and task in _COMPILERS:
                    found[_COMPILERS[task]] += [took for path, took in _compiled(store).items() if path not in before]
    return found


def profile(seed: int) -> None:
    """Print which modules' imports take longest, for an import, a warm first use and one that builds."""
    (spec,) = draw(seed, 1)
    with tempfile.TemporaryDirectory(prefix="scattergen-latency-") as name:
        folder = Path(name)
        process("first", [spec], folder, "store")
        process("first", [spec], folder, "another")
        for task, store in (("import", "store"), ("warm", "store"), ("first", "third")):
            said = process(task, [spec], folder, store, "-X", "importtime").stderr.splitlines()
            numpy = next(place for place, line in enumerate(said) if line.endswith("| numpy"))
            lines = [line.removeprefix("import time:") for line in said[numpy + 1 :] if line.startswith("import time:")]
            lines.sort(key=lambda line: -int(line.partition("|")[0]))
            print(f"{task}, {spec}: µs of a module by itself, with what it imports")
            print("\n".join(lines[:25]), end="\n\n")


def main() -> int:
    """Do what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="processes for each figure (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of the specs; drawn, and printed, where not given")
    parser.add_argument("--tasks", default=",".join(TASKS), metavar="A,B", help="of %(default)s; warm goes with first")
    parser.add_argument("--check", action="store_true", help="exit code 1 where a median misses its goal")
    parser.add_argument("--json", type=Path, metavar="FILE.json", help="where the samples go")
    parser.add_argument("--profile", action="store_true", help="show where the time goes, instead")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        print(json.dumps(child(chosen.child[0], chosen.child[1:])))
        return 0
    sys.path.insert(0, str(ROOT))
    seed = random.SystemRandom().randrange(10**6) if chosen.seed is None else chosen.seed
    if chosen.profile:
        profile(seed)
        return 0
    tasks = [task for task in TASKS if task in chosen.tasks.split(",")]
    found = measure(max(1, chosen.rounds), seed, tasks)
    if chosen.json:
        chosen.json.write_text(json.dumps({"seed": seed, "seconds": found}, indent=1) + "\n", encoding="utf-8")
    missed = 0
    print(f"seed {seed}, {chosen.rounds} processes\n{'':52s}  median    least     goal")
    for name, goal in GOALS.items():
        if not found[name]:
            print(f"{goal.what:52s}  not measured")
            continue
        median, least = (of(found[name]) / _SCALE[goal.unit] for of in (statistics.median, min))
        late = goal.most is not None and median > goal.most
        missed += late
        most = "" if goal.most is None else f"{goal.most:g}"
        print(f"{goal.what:52s} {median:7.2f}  {least:7.2f}  {most:>7s} {goal.unit}{'  MISSED' if late else ''}")
    return 1 if chosen.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
