"""ONNX models and scattergen: which scatter nodes a model has, and running it with scattergen's operators.

    nodes(model)        the scatter nodes of a model as descriptors
    evaluator(model)    ONNX's reference evaluator with scattergen's operators in place of its own
    run(model, ...)     run a model, node by node against ONNX's own operators, and report

The ``onnx`` package is an optional dependency: ``pip install onnx ml_dtypes``.
"""

from __future__ import annotations

try:
    import onnx as _onnx  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"scattergen.onnx needs the onnx package ({error}): pip install onnx ml_dtypes", name="onnx"
    ) from error

from .nodes import ScatterNode, nodes
from .operators import Call, evaluator, operators
from .report import NodeReport, OutputReport, Report
from .runner import load_arrays, run

__all__ = [
    "Call",
    "NodeReport",
    "OutputReport",
    "Report",
    "ScatterNode",
    "evaluator",
    "load_arrays",
    "nodes",
    "operators",
    "run",
]
