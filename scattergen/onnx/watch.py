"""A watch around the scatter nodes of a running model: measures and compares the first call of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import nan
from time import perf_counter
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.reference.ops import load_op

from .compare import Tolerance, Verdict, compare
from .nodes import ScatterNode
from .operators import Call
from .report import NodeReport

Progress = Callable[[int, int, str], None]
"""Called before the kernel of a node is made ready: the node's number from 1, of how many, the node."""

_REPEATS, _BUDGET = 20, 0.05
"""A call is timed this often, or until that many seconds are spent; the least time counts."""


class Watch:
    """The `around` of an evaluator; `seen` holds what it found, by the name of the node, in running order."""

    def __init__(self, known: Mapping[str, ScatterNode], tolerance: Tolerance, progress: Progress | None) -> None:
        self.known, self.tolerance, self.progress = known, tolerance, progress
        self.seen: dict[str, NodeReport] = {}

    def __call__(self, call: Call) -> NDArray[Any]:
        """Return the result of `call`, made for the model's sake whatever is measured."""
        name = call.node.name
        if name in self.seen:
            self.seen[name] = replace(self.seen[name], calls=self.seen[name].calls + 1)
            return call()
        node = _observed(self.known[name], call)
        if self.progress is not None:
            self.progress(len(self.seen) + 1, len(self.known), str(node))
        start = perf_counter()
        explanation = call.explain()
        result = call()
        ready = perf_counter() - start
        met = {row.kernel for row in self.seen.values() if row.kernel}
        seconds, _ = _time(call)
        try:
            reference_seconds, reference = _time(_own_operator(call))
        except (NotImplementedError, TypeError, ValueError):
            # Older versions of onnx know some ranks, reductions or types only.
            reference_seconds, verdict = nan, Verdict(equal=None, difference=nan)
        else:
            verdict = compare(result, reference, self.tolerance)
        self.seen[name] = NodeReport(
            node=node,
            kernel=explanation.kernel,
            form=explanation.form,
            source="loaded" if explanation.kernel in met else explanation.source,
            ready=ready,
            seconds=seconds,
            reference_seconds=reference_seconds,
            calls=1,
            **verdict,
        )
        return result


def _own_operator(call: Call) -> Callable[[], NDArray[Any]]:
    """Return the reference evaluator's own operator on the same arrays.

    It has none for Scatter, which ScatterElements took over from: same arguments, same meaning.
    """
    name = "ScatterElements" if call.node.op_type == "Scatter" else call.node.op_type
    operator = load_op("", name, onnx.defs.onnx_opset_version()).create(3, 1)
    defaults = onnx.defs.get_schema(name).attributes.items()
    attributes = {key: onnx.helper.get_attribute_value(row.default_value) for key, row in defaults}
    attributes = {key: value.decode() if isinstance(value, bytes) else value for key, value in attributes.items()}
    attributes |= call.attributes

    def own() -> NDArray[Any]:
        result: NDArray[Any] = np.asarray(operator._run(*call.arrays, **attributes)[0])
        return result

    return own


def _observed(node: ScatterNode, call: Call) -> ScatterNode:
    spec = call.spec
    known: dict[str, Any] = {name: getattr(spec, name) for name in ("dtype", "index", "rank", "reduction", "mode")}
    k = spec.place if spec.op.place.field == "k" else None
    return replace(node, spec=spec, reason="", axis=call.attributes.get("axis"), k=k, **known)


def _time(function: Callable[[], NDArray[Any]]) -> tuple[float, NDArray[Any]]:
    least, spent = float("inf"), 0.0
    for _ in range(_REPEATS):
        start = perf_counter()
        result = function()
        took = perf_counter() - start
        least, spent = min(least, took), spent + took
        if spent > _BUDGET:
            break
    return least, result
