"""Workloads of a module, each contestant in a process of its own, in turns: the table of the measure tools.

Such a module has TABLE, whose keys name workloads; `make`, which makes one; CONTESTANTS, ours first, each the name of a
package and a function from a workload and a number of threads to the call; and `right`, which looks at a result.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import multiprocessing
import os
import statistics
import sys
import time
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from scattergen.bench.bench import repeats, timed

PAUSE = 0.01
"""Seconds between turns: threads of the last one may still spin."""


def main(module: str, about: str | None, arguments: list[str] | None = None) -> int:
    """Print a table of the workloads of a module of this package; return the exit code."""
    works: Any = importlib.import_module(f"bench_lib.{module}")
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="A,B", help="workloads whose name holds one of these")
    parser.add_argument("--threads", type=int, default=0, help="of everyone; 0: what each takes by itself")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each; the median counts (%(default)s)")
    chosen = parser.parse_args(arguments)
    names = [n for n in works.TABLE if any(part in n for part in chosen.only.split(","))]
    present = [n for n, (package, _) in works.CONTESTANTS.items() if importlib.util.find_spec(package)]
    for missing in works.CONTESTANTS.keys() - set(present):
        print(f"{missing}: left out, its package is not installed", file=sys.stderr)
    print(f"{'':28s}{'ours, ms':>10s}" + "".join(f"{name:>16s}" for name in present[1:]))
    wrong = [name for name in names if not _row(module, name, present, chosen.threads, max(1, chosen.rounds))]
    return 1 if wrong else 0


def _row(module: str, name: str, present: list[str], threads: int, rounds: int) -> bool:
    """Measure one workload and print its row; return whether every result is right."""
    os.environ.setdefault("SCATTERGEN_COMPILE", "optimized")  # for the processes to come
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    playing: list[SpawnProcess] = []
    for contestant in present:
        our_end, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, module, contestant, name, threads), daemon=True)
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


def _serve(pipe: Connection, module: str, contestant: str, name: str, threads: int) -> None:
    if threads:
        os.environ.update(OMP_NUM_THREADS=str(threads), SCATTERGEN_NUM_THREADS=str(threads))
    works: Any = importlib.import_module(f"bench_lib.{module}")
    work = works.make(name)
    call = works.CONTESTANTS[contestant][1](work, threads)
    if call is None:
        pipe.send("no such call")
    else:
        pipe.send("" if works.right(work, call()) else "wrong")
        number = repeats(min(timed(call, 1) for _ in range(3)))
    while pipe.recv() == "time" and call is not None:
        pipe.send(timed(call, number))
