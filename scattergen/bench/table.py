"""What was measured, and the table of it for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one workload took; seconds of a call."""

    name: str
    shapes: str
    """Of data and indices; of TensorScatter those of data and update."""
    kernel: str
    in_place: bool
    """Whether the result went to `data`, and not to a fresh array."""
    threads: int
    seconds: float
    least: float
    numpy_seconds: float
    gigabytes_a_second: float
    """Traffic that no implementation can do without, by the time taken."""
    equal: bool
    """Whether the result is NumPy's: bit for bit but for signs of zero and NaNs; products of complex numbers nearly."""


_COLUMNS = ("workload", "shapes", "kernel", "output", "threads", "µs", "NumPy µs", "NumPy / ours", "GB/s", "equal")

_LEGEND = (
    "shapes: of data and of indices, or update; output: a fresh array in each call, or in place (out=data);"
    " GB/s: bytes that every implementation has to read and write, by the time taken; equal: to NumPy's result"
)


def table(rows: Iterable[Measured]) -> str:
    """Return the measurements as text for people, columns aligned, and what the columns are."""
    cells: list[tuple[str, ...]] = [_COLUMNS]
    for row in rows:
        output = "in place" if row.in_place else "fresh"
        micros = (f"{seconds * 1e6:,.1f}" for seconds in (row.seconds, row.numpy_seconds))
        rates = short(row.numpy_seconds / row.seconds, 1), short(row.gigabytes_a_second, 2)
        words = row.name, row.shapes, row.kernel, output, str(row.threads)
        cells.append((*words, *micros, *rates, "yes" if row.equal else "NO"))
    return "\n".join((*align(cells, left=4), _LEGEND))


def short(number: float, decimals: int) -> str:
    """Return a number, not negative, with so many decimals, or with more where these would show less than two of it."""
    places = max(decimals, 1 - math.floor(math.log10(number))) if number > 0 else decimals
    return f"{number:.{places}f}"


def align(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return rows of cells as lines: the first `left` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = (
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(padded).rstrip())
    return lines
