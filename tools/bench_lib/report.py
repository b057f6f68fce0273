"""A record of a run → figures and the table for people."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from scattergen.bench.table import align

from .record import Record

OURS, LIMIT = "scattergen", "limit"


class Figures(NamedTuple):
    """One workload in numbers; None where a contestant is missing or wrong. Times are seconds."""

    name: str
    call_bound: bool
    ours: float | None
    limit: float | None
    best: str | None
    """The fastest peer whose values are right."""
    best_time: float | None

    @property
    def ahead(self) -> float | None:
        """How many times as fast as the best correct peer."""
        return self.best_time / self.ours if self.best_time and self.ours else None

    @property
    def over_limit(self) -> float | None:
        """How many times the time of a plain copy of the same arrays."""
        return self.ours / self.limit if self.ours and self.limit else None

    @property
    def room(self) -> float | None:
        """How many times as fast as the best correct peer a plain copy of the same arrays is."""
        return self.best_time / self.limit if self.best_time and self.limit else None


def is_peer(contestant: str) -> bool:
    """Whether a contestant is somebody else's."""
    return not contestant.startswith((OURS, LIMIT))


def figures(record: Record, by: str = "median") -> list[Figures]:
    """Return the figures of every workload of a run, by the median or the least of its rounds."""
    return [_figures(name, work, by) for name, work in record["workloads"].items()]


def _figures(name: str, work: dict[str, Any], by: str) -> Figures:
    right = {
        contestant: float(found[by])
        for contestant, found in work["results"].items()
        if found["seconds"] and not found["verdict"]
    }
    theirs = {contestant: seconds for contestant, seconds in right.items() if is_peer(contestant)}
    best = min(theirs, key=lambda peer: theirs[peer], default=None)
    return Figures(
        name=name,
        call_bound=work["call_bound"],
        ours=right.get(OURS),
        limit=right.get(LIMIT),
        best=best,
        best_time=theirs[best] if best else None,
    )


def mean(values: Iterable[float | None]) -> float | None:
    """Return the geometric mean of those that are there."""
    logs = [math.log(value) for value in values if value]
    return math.exp(sum(logs) / len(logs)) if logs else None


def table(record: Record, by: str = "median") -> str:
    """Return the table of a run and its summary, by the median or the least of its rounds."""
    contestants = list(record["contestants"])
    others = [name for name in contestants if name not in (OURS, LIMIT)]
    head = [f"{by} µs", OURS, "best peer", "ahead", LIMIT, "of limit", *others]
    rows = [head]
    for found in figures(record, by):
        results = record["workloads"][found.name]["results"]
        rows.append(
            [found.name, _cell(results, OURS, by), found.best or "-", _ratio(found.ahead), _cell(results, LIMIT, by),
             _ratio(found.over_limit), *(_cell(results, name, by) for name in others)]
        )  # fmt: skip
    return "\n".join([*align(rows, left=1), "", *_summary(record, by), *_notes(record)])


def _cell(results: dict[str, Any], contestant: str, by: str) -> str:
    found = results.get(contestant)
    if not found or not found["seconds"]:
        return "-"
    mark = "!" if found["verdict"] else ""
    micros = found[by] * 1e6
    return f"{micros:,.{2 if micros < 10 else 1 if micros < 100 else 0}f}{mark}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _summary(record: Record, by: str) -> list[str]:
    every = figures(record, by)
    big = [found for found in every if not found.call_bound and found.ahead]
    tiny = [found for found in every if found.call_bound and found.ahead]
    lines = []
    if big:
        ahead = [found.ahead or 0.0 for found in big]
        lines.append(
            f"geometric mean {_ratio(mean(ahead))} the best correct peer, least {_ratio(min(ahead))}, "
            f"ahead on {sum(value >= 1 for value in ahead)} of {len(ahead)}"
        )
    over = mean(found.over_limit for found in every if not found.call_bound)
    if over:
        lines.append(f"geometric mean {_ratio(over)} the time of a plain copy")
    if tiny:
        calls = "; ".join(f"{found.name} {_ratio(found.ahead)} ({found.best})" for found in tiny)
        lines.append(f"calls, not in the means: {calls}")
    return lines


def _notes(record: Record) -> list[str]:
    """Name every contestant that gave a wrong result or none."""
    return [
        f"{name}: {contestant}: {found['verdict']}"
        for name, work in record["workloads"].items()
        for contestant, found in work["results"].items()
        if found["verdict"]
    ]


def wrong(record: Record) -> list[str]:
    """Return the workloads on which scattergen gave no result, or a wrong one."""
    return [
        name
        for name, work in record["workloads"].items()
        for contestant, found in work["results"].items()
        if not is_peer(contestant) and found["verdict"]
    ]
