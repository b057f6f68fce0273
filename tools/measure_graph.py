"""Measure `scattergen.graph` beside torch, numpy-groupies and a numba loop: each in a process of its own, in turns.

python tools/measure_graph.py                      every workload, every library that is installed
python tools/measure_graph.py --only rows,1-D --threads 1 --rounds 15

Results are compared with float64 sums or NumPy's own maxima before a time counts. Exit code 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import statistics
import sys
import time
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from bench_lib import graphs

from scattergen.bench import repeats, timed

PAUSE = 0.01
"""Seconds between turns: threads of the last one may still spin."""


def main(arguments: list[str] | None = None) -> int:
    """Print a table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="A,B", help="workloads whose name holds one of these")
    parser.add_argument("--threads", type=int, default=0, help="of everyone; 0: what each takes by itself")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each; the median counts (%(default)s)")
    chosen = parser.parse_args(arguments)
    names = [n for n in graphs.TABLE if any(part in n for part in chosen.only.split(","))]
    present = [n for n, (package, _) in graphs.CONTESTANTS.items() if importlib.util.find_spec(package)]
    for missing in graphs.CONTESTANTS.keys() - set(present):
        print(f"{missing}: left out, its package is not installed", file=sys.stderr)
    print(f"{'':28s}{'ours, ms':>10s}" + "".join(f"{name:>16s}" for name in present[1:]))
    wrong = [name for name in names if not _row(name, present, chosen.threads, max(1, chosen.rounds))]
    return 1 if wrong else 0


def _row(name: str, present: list[str], threads: int, rounds: int) -> bool:
    """Measure one workload and print its row; return whether every result is right."""
    os.environ.setdefault("SCATTERGEN_COMPILE", "optimized")  # for the processes to come
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    playing: list[SpawnProcess] = []
    for contestant in present:
        our_end, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, contestant, name, threads), daemon=True)
        process.start()
        theirs.close()
        pipes[contestant], playing = our_end, [*playing, process]
    verdicts = {contestant: pipe.recv() for contestant, pipe in pipes.items()}
    able = [contestant for contestant, verdict in verdicts.items() if verdict == ""]
    seconds: dict[str, list[float]] = {contestant: [] for contestant in able}
    for turn in range(rounds):
        for contestant in able[turn % len(able) :] + able[: turn % len(able)]:
            time.sleep(PAUSE)
            pipes[contestant].send("time")
            seconds[contestant].append(pipes[contestant].recv())
    for pipe in pipes.values():
        pipe.send("end")
    for process in playing:
        process.join(5)
    middle = {contestant: statistics.median(taken) for contestant, taken in seconds.items()}
    cells = [f"{middle[c] / middle[present[0]]:.2f} x" if c in middle else verdicts[c] for c in present[1:]]
    ours = f"{middle[present[0]] * 1e3:10.2f}" if present[0] in middle else f"{verdicts[present[0]]:>10s}"
    print(f"{name:28s}{ours}" + "".join(f"{cell:>16s}" for cell in cells), flush=True)
    return "wrong" not in verdicts.values()


def _serve(pipe: Connection, contestant: str, name: str, threads: int) -> None:
    if threads:
        os.environ.update(OMP_NUM_THREADS=str(threads), SCATTERGEN_NUM_THREADS=str(threads))
    work = graphs.make(name)
    call = graphs.CONTESTANTS[contestant][1](work, threads)
    if call is None:
        pipe.send("no such call")
    else:
        pipe.send("" if _right(work, call()) else "wrong")
        number = repeats(min(timed(call, 1) for _ in range(3)))
    while pipe.recv() == "time" and call is not None:
        pipe.send(timed(call, number))


def _right(work: graphs.Work, found: Any) -> bool:
    """Whether a result is that of the workload, to the accuracy of its type."""
    width = work.src.size // len(work.src)
    src = work.src.reshape(-1, width).astype(np.float64)
    if isinstance(found, tuple) or (work.places and np.asarray(found).dtype.kind == "i"):
        place = np.asarray(found[1] if isinstance(found, tuple) else found).reshape(work.size, width)
        want = np.zeros((work.size, width))
        np.maximum.at(want, work.target, src)
        own = (work.target[place] == np.arange(work.size)[:, None]).all()
        return bool(own and (np.take_along_axis(src, place, 0) == want).all())
    want = np.full((work.size, width), float(work.reduce == "prod"))
    {"max": np.maximum, "prod": np.multiply}.get(work.reduce, np.add).at(want, work.target, src)
    if work.reduce == "mean":
        want /= np.maximum(np.bincount(work.target, minlength=work.size), 1)[:, None]
    tolerance = 0.1 if work.src.dtype == np.float16 and work.accumulate is None else 2e-3
    return bool(np.allclose(np.asarray(found, np.float64).reshape(want.shape), want, rtol=tolerance, atol=1e-6))


if __name__ == "__main__":
    sys.exit(main())
