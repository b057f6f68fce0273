"""What `run` found, as values for programs and as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .nodes import ScatterNode

HEADERS = ("node", "kernel", "ready", "time", "reference", "ratio", "equal")
"""The columns of `Report.rows`: ready is where the kernel came from and how long that took, time and
reference are one call of scattergen's operator and of the own one of ONNX's reference evaluator, which is Python."""


LEGEND = "reference: ONNX's own evaluator, which is written in Python and made to be right, not fast"
"""What the rows have to be read with."""

_WORDS = {True: "yes", False: "NO", None: "-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """One scatter node that ran. Times are in seconds and of its first call's arrays."""

    node: ScatterNode
    """With the types and the rank of its first call, whatever the model had declared."""
    kernel: str | None
    """None where scattergen's slow reference answered, for want of a compiler, and where strings were combined."""
    form: str
    source: str
    """Where the kernel came from: loaded (an earlier node's), ahead-of-time, cache, built, reference or python."""
    ready: float
    """From asking for the first result to having it: the build, where there was one, included."""
    seconds: float
    reference_seconds: float
    """NaN where the reference evaluator's own operator refuses the arrays."""
    calls: int
    """How often the node was evaluated."""
    equal: bool | None
    """Whether the first result equals the reference evaluator's own for the same arrays; None where it
    has none."""
    difference: float
    """The greatest absolute difference between the two; NaN where it means nothing."""

    @property
    def ratio(self) -> float:
        """How many times faster than the reference evaluator's own operator."""
        return self.reference_seconds / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReport:
    """One output of the model beside what was expected."""

    name: str
    equal: bool | None
    difference: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A model's run: its scatter nodes, its outputs, and whether all is as expected."""

    nodes: tuple[NodeReport, ...]
    not_run: tuple[ScatterNode, ...]
    """Scatter nodes that the run did not come by, such as those of a branch not taken."""
    outputs: tuple[OutputReport, ...]
    inputs_are: str
    """``given`` or ``random``."""
    expected_are: str
    """``given``, or ``the reference evaluator's``."""

    @property
    def equal(self) -> bool:
        """Whether every output is as expected, and every node's first result where it could be compared."""
        return all(row.equal for row in self.outputs) and not any(row.equal is False for row in self.nodes)

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row of text per scatter node that ran, in the columns of `HEADERS`."""
        return [
            (
                row.node.name,
                row.kernel or "-",
                f"{row.source} {duration(row.ready)}",
                duration(row.seconds),
                "refuses" if row.equal is None else duration(row.reference_seconds),
                "-" if row.equal is None else f"{row.ratio:.1f}x",
                _WORDS[row.equal],
            )
            for row in self.nodes
        ]

    def summary(self) -> list[str]:
        """Return the lines below the table."""
        lines = [f"{node.name}: did not run" for node in self.not_run]
        for row in self.outputs:
            verdict = "equal" if row.equal else f"NOT EQUAL, off by {row.difference:.2g}"
            lines.append(f"output {row.name}: {verdict}")
        lines.append(f"inputs: {self.inputs_are}; expected outputs: {self.expected_are}")
        return lines

    def __str__(self) -> str:
        return "\n".join([*align([HEADERS, *self.rows()]), *self.summary(), *([LEGEND] if self.nodes else [])])


def align(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return `rows` as lines of text with their columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for factor, unit in ((1e6, "us"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"
