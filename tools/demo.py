"""Run exported ONNX models with scattergen's operators and show what happened to each scatter node.

Without a model: three of tests/models, with the inputs and the outputs that PyTorch gave. With one, and
without --io: made-up inputs, and ONNX's reference evaluator says what is right.
Exit status: 0 if all is equal, 1 if not, 2 if the model could not be run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scattergen.cli.running import reported
from scattergen.errors import ScattergenError
from scattergen.onnx.report import LEGEND

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
    shared = {"rtol": chosen.rtol, "atol": chosen.atol, "json": False}
    try:
        reports = [reported(argparse.Namespace(model=model, io=io, **shared)) for model, io in pairs]
    except (ScattergenError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if any(report.nodes for report in reports):
        print(LEGEND)
    equal = all(report.equal for report in reports)
    print("all equal" if equal else "NOT all equal")
    return 0 if equal else 1


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description."""


if __name__ == "__main__":
    sys.exit(main())
