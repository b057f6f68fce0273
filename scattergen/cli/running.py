"""What `run` prints of a model, for people and (``--json``) for programs."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from . import terminal

if TYPE_CHECKING:
    from ..onnx import Report


def run(chosen: argparse.Namespace) -> int:
    """Run a model, print a table of its scatter nodes, and say what is in that."""
    from ..onnx.report import LEGEND

    report = reported(chosen)
    if report.nodes and not chosen.json:
        print(f"  {LEGEND}")
    return 0 if report.equal else 1


def reported(chosen: argparse.Namespace) -> Report:
    """Run a model, and print a table of its scatter nodes."""
    from ..onnx import load_arrays, nodes
    from ..onnx import run as run_model
    from ..onnx.report import HEADERS

    found = nodes(chosen.model)
    inputs, expected = load_arrays(chosen.io) if chosen.io else (None, None)
    if not chosen.json:
        rows = [(node.name, str(node.spec or f"({node.reason})")) for node in found]
        lines = terminal.aligned(rows) if rows else ["(no scatter nodes)"]
        print("\n".join((chosen.model.name, *(f"  {line}" for line in lines))))
    progress = terminal.Progress()
    try:
        report = run_model(chosen.model, inputs, expected, rtol=chosen.rtol, atol=chosen.atol, progress=progress)
    finally:
        progress.end()
    if chosen.json:
        terminal.print_json(_report(report))
    else:
        terminal.table(HEADERS, report.rows(), whole=2)
        print("\n".join(f"  {line}" for line in report.summary()), end="\n\n")
    return report


def _report(report: Report) -> dict[str, Any]:
    """Return a report as values that JSON has; NaN is none of them."""

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "equal": report.equal,
        "inputs": report.inputs_are,
        "expected": report.expected_are,
        "nodes": [
            {
                "name": row.node.name,
                "spec": str(row.node.spec or ""),
                "kernel": row.kernel,
                "source": row.source,
                "ready_seconds": row.ready,
                "seconds": row.seconds,
                "reference_seconds": number(row.reference_seconds),
                "calls": row.calls,
                "equal": row.equal,
                "difference": number(row.difference),
            }
            for row in report.nodes
        ],
        "not_run": [node.name for node in report.not_run],
        "outputs": [
            {"name": row.name, "equal": row.equal, "difference": number(row.difference)} for row in report.outputs
        ],
    }
