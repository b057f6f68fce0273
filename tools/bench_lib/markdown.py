"""A record of a run → the tables of docs/benchmarks.md: each workload, and the means under each of our terms."""

from __future__ import annotations

from typing import Any

from . import report
from .record import Record

TERMS = {
    "scattergen": "as it is: two threads, a fresh output, memory kept",
    "scattergen-fresh": "`SCATTERGEN_KEEP_MEMORY=0` (column *fresh memory*)",
    "scattergen-out": "`out=` given",
    "scattergen:1": "one thread, the peers as they are",
}
"""Our contestants, and the terms on which each plays."""

_COLUMNS = {
    "scattergen:1": "one thread, µs",
    "scattergen-out": "`out=` given, µs",
    "scattergen-fresh": "fresh memory, µs",
}
"""Of these, the ones that have a column beside the first."""


def tables(record: Record) -> str:
    """Return both tables, by the medians; a contestant that did not play, or was wrong, is a dash."""
    return "\n".join([*_workloads(record), "", *_means(record)])


def ahead(record: Record, contestant: str) -> list[float]:
    """Return how many times as fast as the best correct peer a contestant of ours is, for all but tiny workloads."""
    return [
        found.best_time / ours
        for found in report.figures(record)
        if not found.call_bound and found.best_time and (ours := _median(record, found.name, contestant))
    ]


def _workloads(record: Record) -> list[str]:
    head = ["workload", "µs", "best correct peer", "times as fast", "times a plain copy", *_COLUMNS.values()]
    rows = [
        [
            found.name,
            _micros(found.ours),
            found.best or "-",
            _number(found.ahead),
            _number(found.over_limit),
            *(_micros(_median(record, found.name, contestant)) for contestant in _COLUMNS),
        ]
        for found in report.figures(record)
    ]
    return _table(head, rows)


def _means(record: Record) -> list[str]:
    rows = [
        [terms, _number(report.mean(ratios)), f"{sum(ratio >= 1 for ratio in ratios)} of {len(ratios)}"]
        for contestant, terms in TERMS.items()
        if (ratios := ahead(record, contestant))
    ]
    return _table(["scattergen's call", "times as fast as the best correct peer", "ahead on"], rows)


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    first, *others = (f"| {' | '.join(row)} |" for row in (head, *rows))
    return [first, "|---" * len(head) + "|", *others]


def _median(record: Record, workload: str, contestant: str) -> float | None:
    found: dict[str, Any] = record["workloads"][workload]["results"].get(contestant, {})
    return float(found["median"]) if found.get("seconds") and not found["verdict"] else None


def _micros(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e6:,.{2 if seconds < 1e-5 else 1}f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
