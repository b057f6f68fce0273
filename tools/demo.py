"""Run exported ONNX models with scattergen's operators and show what happened to each scatter node.

Without a model: three of tests/models, with the inputs and the outputs that PyTorch gave. With one, and
without --io: made-up inputs, and ONNX's reference evaluator says what is right.
Exit status: 0 if all is equal, 1 if not, 2 if the model could not be run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scattergen.errors import ScattergenError
from scattergen.onnx import Report, load_arrays, nodes, run
from scattergen.onnx.report import HEADERS, align

MODELS = Path(__file__).parents[1] / "tests" / "models"
DEFAULT = ("gat_segment_softmax.dy", "graph_pooling.ts", "topk_topp_filter.dy")


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(prog="tools/demo", description=__doc__, formatter_class=_Formatter)
    parser.add_argument("model", nargs="?", type=Path, help="an ONNX file")
    parser.add_argument("--io", type=Path, help="an .npz of arrays named in/<input> and out/<output>")
    parser.add_argument("--rtol", type=float, help="relative tolerance of floats; default 2e-5, more for halves")
    parser.add_argument("--atol", type=float, help="absolute tolerance of floats; the same defaults")
    chosen = parser.parse_args(arguments)
    if chosen.io and not chosen.model:
        parser.error("--io goes with a model")
    pairs = (
        [(chosen.model, chosen.io)]
        if chosen.model
        else [(MODELS / f"{name}.onnx", MODELS / f"{name}.npz") for name in DEFAULT]
    )
    try:
        reports = [_show(model, io, chosen.rtol, chosen.atol) for model, io in pairs]
    except (ScattergenError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    equal = all(report.equal for report in reports)
    print("all equal" if equal else "NOT all equal")
    return 0 if equal else 1


def _show(model: Path, io: Path | None, rtol: float | None, atol: float | None) -> Report:
    print(f"{model.name}")
    print("\n".join(f"  {line}" for line in _specs(model)))
    inputs, expected = load_arrays(io) if io else (None, None)
    terminal = sys.stderr.isatty()

    def progress(number: int, count: int, text: str) -> None:
        if terminal:
            print(f"\r\033[K  [{number}/{count}] {text}", end="", file=sys.stderr, flush=True)

    try:
        report = run(model, inputs, expected, rtol=rtol, atol=atol, progress=progress)
    finally:
        if terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
    _print_table(report.rows())
    print("\n".join(f"  {line}" for line in report.summary()), end="\n\n")
    return report


def _specs(model: Path) -> list[str]:
    rows = [(node.name, str(node.spec or f"({node.reason})")) for node in nodes(model)]
    return align(rows) if rows else ["(no scatter nodes)"]


def _print_table(rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    try:
        if not sys.stdout.isatty():
            raise ImportError
        from rich import box
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table
    except ImportError:
        print("\n".join(f"  {line}" for line in align([HEADERS, *rows])))
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, header in enumerate(HEADERS):
        # On a narrow terminal the two names are folded, never the numbers.
        table.add_column(header, overflow="fold", no_wrap=number > 1, min_width=12 if number < 2 else None)
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description."""


if __name__ == "__main__":
    sys.exit(main())
