"""Two records of one kind → what has become slower or faster.

A run measures a plain copy of the arrays beside everything else, so that its times can be taken in units of that:
a machine that is slower today has slowed both.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from scattergen.bench.table import align

from . import record, report
from .record import Record


class Time(NamedTuple):
    """Seconds of a call of scattergen's, and the seconds that it is measured in (None: nothing was beside it)."""

    seconds: float | None
    unit: float | None


class Change(NamedTuple):
    """One workload in two records."""

    name: str
    old: Time
    new: Time | None

    @property
    def ratio(self) -> float | None:
        """How many times as long it takes now; None where the new record has no right result."""
        if self.new is None or not self.new.seconds or not self.old.seconds:
            return None
        plain = self.new.seconds / self.old.seconds
        return plain * self.old.unit / self.new.unit if self.old.unit and self.new.unit else plain


def times(of: Record) -> dict[str, Time]:
    """Return the times of scattergen in a record, by a name that another record has too."""
    if of["kind"] == "run":
        return {found.name: Time(found.ours, found.limit) for found in report.figures(of)}
    return {name: Time(found["seconds"], found["sibling"]) for name, found in of["cases"].items()}


def changes(old: Record, new: Record) -> list[Change]:
    """Return a row for each workload of the old record that was right there."""
    after = times(new)
    return [Change(name, before, after.get(name)) for name, before in times(old).items() if before.seconds]


def command(chosen: argparse.Namespace) -> int:
    """Print the changes; return 1 where something became slower than the tolerance, or is not there or wrong."""
    old, new = record.read(chosen.old), record.read(chosen.new)
    if old["kind"] != new["kind"]:
        raise record.UnreadableRecord(f"{chosen.old} is a {old['kind']}, {chosen.new} a {new['kind']}")
    for key in ("machine", "compiler", "threads"):
        if old[key] != new[key]:
            print(f"note: {key} differs: {old[key]} then, {new[key]} now")
    rows, slower, missing = [["workload", "then µs", "now µs", "ratio", ""]], 0, 0
    for change in changes(old, new):
        ratio = change.ratio
        if ratio is None:
            if change.new is None and chosen.subset:
                continue
            missing += 1
            rows.append([change.name, _micros(change.old), "-", "-", "no right result" if change.new else "missing"])
            continue
        slower += ratio > chosen.tolerance
        mark = "SLOWER" if ratio > chosen.tolerance else "faster" if ratio < 1 / chosen.tolerance else ""
        if mark or old["kind"] == "run":
            rows.append([change.name, _micros(change.old), _micros(change.new), f"{ratio:.2f}", mark])
    print("\n".join(align(rows, left=1)))
    print(f"{slower} slower than {chosen.tolerance} times, {missing} missing or wrong")
    return 1 if slower or missing else 0


def _micros(time: Time | None) -> str:
    return f"{time.seconds * 1e6:,.2f}" if time and time.seconds else "-"


def configure(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the arguments of the action."""
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--tolerance", type=float, default=1.15, help="times as long that is no news (%(default)s)")
    parser.add_argument("--subset", action="store_true", help="the new record may lack workloads of the old")
