"""Cliffs: every type, reduction and operator on the grid, in time per byte against its float32 sibling.

The two take turns, so that a slow moment of the machine meets both, and the least time of a call counts, of each: a
cliff is there at every call, and other people's work is not. A turn is so long that arrays which fit a cache are in it
at its end, whatever the other has put there.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import scattergen
from scattergen.bench import workload
from scattergen.bench.bench import timed
from scattergen.bench.table import align
from scattergen.bench.workload import Workload
from scattergen.call.explained import explain
from scattergen.cli.terminal import Progress

from . import oracle, record
from .record import Record
from .sweep_cases import CASES, SIBLING, Item, items, sample

_TURN, _LEAST_CALLS, _LONG_TURN = 0.004, 16, 0.02
"""Seconds of a turn; calls that it has, on what was measured some ten bring arrays into a cache again; seconds after
which it has no more of these."""

_TOGETHER = 50e-6
"""Seconds of calls that are timed together, where one alone is too short for the clock."""

FLAG, ALARM = 1.5, 3.0
"""Times the sibling's time per byte from which a case needs a reason, and from which none will do."""

_SECOND_LOOK = 4
"""Times the rounds that a case above the first of them is measured again."""

_PER_ELEMENT = 1.1
"""A case that takes at most this times as long as its sibling moves fewer bytes in the same number of steps."""


def measure(item: Item, work: Workload, sibling: Workload, rounds: int, in_place: bool) -> dict[str, Any]:
    """Return the seconds and bytes of a case and of its sibling; bytes are those of a fresh output either way."""
    pair = tuple(_in_place(one) if in_place else one.ours() for one in (work, sibling))
    outputs = {"out": work.data} if in_place else {}
    found = explain(work.function, work.data, work.indices, work.updates, **work.attributes, **outputs)
    for function in pair:
        function()
    turns: tuple[list[float], list[float]] = ([], [])

    def take(rounds: int) -> float:
        for _ in range(rounds):
            for function, kept in zip(pair, turns, strict=True):
                kept.append(_turn(function))
        return min(turns[0]) / work.traffic / (min(turns[1]) / sibling.traffic)

    per_byte = take(rounds)
    if per_byte > FLAG:
        per_byte = take(_SECOND_LOOK * rounds)
    seconds, beside = map(min, turns)
    return {
        "seconds": seconds,
        "bytes": work.traffic,
        "sibling": beside,
        "sibling_bytes": sibling.traffic,
        "as_many": sibling.data.size == work.data.size,
        "per_byte": per_byte,
        "kernel": found.kernel,
        "threads": found.threads,
    }


def _in_place(work: Workload) -> Callable[[], Any]:
    """Return the call on a copy of the data that changes it in place, anew at every call."""
    data = work.data.copy()
    return functools.partial(work.function, data, work.indices, work.updates, **work.attributes, out=data)


def _turn(function: Callable[[], Any]) -> float:
    """Return the least seconds of a call in one turn."""
    once = timed(function, 1)
    together = max(1, int(_TOGETHER / max(once, 1e-7)))
    seconds = max(_TURN, min(_LEAST_CALLS * once, _LONG_TURN))
    times = int(seconds / max(once, 1e-7)) // together
    return min(timed(function, together) for _ in range(max(1, times)))


def run(made: Record, chosen: list[Item], rounds: int, check: bool, in_place: bool) -> list[str]:
    """Measure the items into the record; return those whose result has not the bits of the loop, if asked."""
    cases: dict[str, dict[str, Any]] = {}
    wrong, done, progress = [], 0, Progress()
    for (case, dtype), group in groupby(chosen, key=lambda item: (item.case, item.dtype)):
        several = list(group)
        plain, sibling_plain = _make(several[0]), _make(several[0].sibling)
        for item in several:
            work = dataclasses.replace(plain, spec=item.spec)
            sibling = dataclasses.replace(sibling_plain, spec=item.sibling.spec)
            cases[str(item)] = measure(item, work, sibling, rounds, in_place)
            if check and not (dtype in ("c64", "c128") and item.reduction == "mul"):
                verdict = oracle.verdict(work, work.ours()(), by_bits=True)
                wrong += [f"{item}: {verdict}"] if verdict else []
            done += 1
        progress(done, len(chosen), f"{case.name} {dtype}")
    progress.end()
    made["cases"] = cases | _siblings(cases)
    return wrong


def _make(item: Item) -> Workload:
    case = item.case
    return workload.make(item.spec, case.data, case.indices, case.style, seed=1)


def _siblings(cases: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the float32 rows: the least of what stood beside other types with as many elements."""
    beside: dict[str, list[dict[str, Any]]] = {}
    for name, found in cases.items():
        if found["as_many"]:
            beside.setdefault(f"{name.rpartition('/')[0]}/{SIBLING}", []).append(found)
    return {
        name: {
            "seconds": min(row["sibling"] for row in rows),
            "bytes": rows[0]["sibling_bytes"],
            "sibling": None,
            "sibling_bytes": None,
            "per_byte": 1.0,
        }
        for name, rows in beside.items()
    }


def table(made: Record, most: int = 30) -> str:
    """Return the worst cases, the counts, and the sibling's own time per byte from case to case."""
    others = {name: row for name, row in made["cases"].items() if row["sibling"]}
    worst = sorted(others, key=lambda name: -others[name]["per_byte"])
    shown = [name for name in worst[:most] if others[name]["per_byte"] > 1.2]
    rows = [["worst against float32", "per byte", "time", "µs", "kernel", "threads", ""]]
    for name in shown:
        row = others[name]
        rows.append(
            [name, f"{row['per_byte']:.2f}", f"{row['seconds'] / row['sibling']:.2f}", f"{row['seconds'] * 1e6:,.1f}",
             str(row["kernel"]), str(row["threads"]), _mark(row)]
        )  # fmt: skip
    flagged = [row for row in others.values() if row["per_byte"] > FLAG]
    reasonless = [row for row in flagged if not _as_fast_per_element(row)]
    alarms = [row for row in flagged if row["per_byte"] > ALARM]
    summary = (
        f"{len(others)} cases: {len(flagged)} above {FLAG} times the sibling's time per byte, of which "
        f"{len(reasonless)} are slower per element too; {len(alarms)} above {ALARM}"
    )
    return "\n".join([*align(rows, left=1), summary, "", *_sibling_table(made["cases"])])


def _as_fast_per_element(row: dict[str, Any]) -> bool:
    return bool(row["seconds"] <= _PER_ELEMENT * row["sibling"])


def _mark(row: dict[str, Any]) -> str:
    if row["per_byte"] <= FLAG:
        return ""
    if _as_fast_per_element(row):
        return "as fast per element"
    return "ALARM" if row["per_byte"] > ALARM else "flag"


def _sibling_table(cases: dict[str, dict[str, Any]]) -> Iterable[str]:
    """Return float32's nanoseconds per byte: a cliff of a shape shows here, where all types fall together."""
    own = {tuple(name.split("/")[:3]): row for name, row in cases.items() if not row["sibling"]}
    reductions = sorted({key[2] for key in own})
    rows = [["float32, ns per byte", *reductions]]
    for case in CASES:
        found = [own.get((case.operator, case.name, reduction)) for reduction in reductions]
        if any(found):
            numbers = ["-" if row is None else f"{row['seconds'] / row['bytes'] * 1e9:.3f}" for row in found]
            rows.append([f"{case.operator} {case.name}", *numbers])
    return align(rows, left=1)


def command(chosen: argparse.Namespace) -> int:
    """Run the sweep that the command line asks for; return 1 for a wrong result or an alarm without reason."""
    grid = [item for item in items(chosen.index) if chosen.only in str(item)]
    picked = sample(grid, chosen.sample, chosen.seed) if chosen.sample else grid
    if not picked:
        print(f"nothing on the grid holds {chosen.only!r}", file=sys.stderr)
        return 2
    scattergen.set_num_threads(chosen.threads)
    made = record.start("sweep", chosen.rounds, chosen.threads)
    made["index"] = chosen.index
    made["in_place"] = chosen.in_place
    wrong = run(made, picked, max(1, chosen.rounds), chosen.check, chosen.in_place)
    if chosen.json:
        record.write(made, chosen.json)
    print(table(made, chosen.worst))
    print("\n".join([*wrong, record.summary(made)]))
    rows = [row for row in made["cases"].values() if row["sibling"] and row["per_byte"] > ALARM]
    return 1 if wrong or not all(map(_as_fast_per_element, rows)) else 0


def configure(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the arguments of the action."""
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose name holds it, such as /add/f16")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many at random, for a quick look")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--index", default="i64", choices=("i32", "i64"))
    parser.add_argument("--worst", type=int, default=30, metavar="N", help="how many to print (%(default)s)")
    parser.add_argument("--check", action="store_true", help="compare the bits of each result as well")
    parser.add_argument("--in-place", action="store_true", help="with out=data, whose values change from call to call")
