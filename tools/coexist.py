"""Measure what scattergen and another library with threads of its own do to each other in one process.

    python tools/coexist.py                     torch and onnxruntime, those that are installed
    python tools/coexist.py --only torch --rounds 9

Each line is a fresh process in which both do a job of about a millisecond: each alone, and then in turns, as a
program does that uses both. Threads that spin while they wait for their next job steal the cores of the other
library's; the environment variables of a line are what a user can set against that.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SETTINGS: dict[str, dict[str, str]] = {
    "as they are": {},
    "OMP_WAIT_POLICY=passive": {"OMP_WAIT_POLICY": "passive"},
    "GOMP_SPINCOUNT=1000": {"GOMP_SPINCOUNT": "1000"},
    "SCATTERGEN_NUM_THREADS=1": {"SCATTERGEN_NUM_THREADS": "1"},
}
"""What a user can set, before the process starts."""

Job = Callable[[], object]


def ours() -> Job:
    """Return a scatter that two threads share: 4 MB of rows."""
    import numpy as np

    import scattergen

    random = np.random.default_rng(1)
    data = np.zeros((2048, 512), np.float32)
    indices, updates = random.integers(0, 512, data.shape), random.random(data.shape, np.float32)
    out = np.empty_like(data)
    return lambda: scattergen.scatter_elements(data, indices, updates, 1, "add", out=out)


def torch_job() -> Job:
    """Return an elementwise job of torch."""
    import torch

    one = torch.rand(2048, 512)
    return lambda: torch.exp(one)


def onnxruntime_job() -> Job:
    """Return the same job as a model of one node."""
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    kinds = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2048, 512]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "exp", kinds[:1], kinds[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    one = {"x": np.random.default_rng(1).random((2048, 512), np.float32)}
    return lambda: session.run(None, one)


OTHERS: dict[str, Callable[[], Job]] = {"torch": torch_job, "onnxruntime": onnxruntime_job}


def child(other: str, turns: int = 60) -> dict[str, float]:
    """Return the median seconds of each job, alone and in turns."""
    jobs = {"ours": ours(), "theirs": OTHERS[other]()}
    found = {f"{name} alone": statistics.median(_times([job], turns)[0]) for name, job in jobs.items()}
    both = _times(list(jobs.values()), turns)
    return {**found, **{f"{name} in turns": statistics.median(times) for name, times in zip(jobs, both, strict=True)}}


def _times(jobs: list[Job], turns: int) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in jobs]
    for turn in range(turns + 10):
        for job, times in zip(jobs, found, strict=True):
            start = time.perf_counter()
            job()
            if turn >= 10:
                times.append(time.perf_counter() - start)
    return found


def measure(other: str, settings: dict[str, str], rounds: int) -> dict[str, float]:
    """Return the medians over fresh processes."""
    mine = {
        name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "SCATTERGEN_NUM"))
    }
    mine.setdefault("SCATTERGEN_COMPILE", "optimized")
    command = [sys.executable, str(Path(__file__).resolve()), "--child", other]
    found = []
    for _ in range(rounds):
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH", "")])])
        done = subprocess.run(command, env={**mine, "PYTHONPATH": path, **settings}, capture_output=True, check=True)
        found.append(json.loads(done.stdout))
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def main() -> int:
    """Do what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(OTHERS), metavar="A,B", help="of %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="processes for each line (%(default)s)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        print(json.dumps(child(chosen.child)))
        return 0
    for other in chosen.only.split(","):
        if other not in OTHERS:
            parser.error(f"{other}: allowed is {', '.join(OTHERS)}")
        if importlib.util.find_spec(other) is None:
            print(f"{other} is not installed")
            continue
        print(f"{'with ' + other:28s}   ours, alone  in turns     theirs, alone  in turns   (µs)")
        for name, settings in SETTINGS.items():
            found = measure(other, settings, chosen.rounds)
            cells = [
                f"{1e6 * found[f'{who} {how}']:9.0f}" for who in ("ours", "theirs") for how in ("alone", "in turns")
            ]
            print(f"{name:28s} {cells[0]:>12s} {cells[1]:>9s} {cells[2]:>17s} {cells[3]:>9s}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
