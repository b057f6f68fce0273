"""Scattergen's operators for ``onnx.reference.ReferenceEvaluator``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import scattergen

from ..call.calls import arguments_of
from ..errors import DTypeError, IndexOutOfBounds, ModelError, ScattergenError, ShapeError
from ..operators.spec import OpSpec
from .graph import OPERATORS, Model, load
from .repairs import REPAIRS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Call:
    """One evaluation of a scatter node, not yet made: calling it makes it and returns the result."""

    node: onnx.NodeProto
    arrays: tuple[NDArray[Any] | None, ...]
    """In the order of the node's inputs; None for one that is left out."""
    attributes: dict[str, Any]
    """Those that the operator has, such as axis and reduction."""
    opset: int

    def __call__(self) -> NDArray[Any]:
        """Return what scattergen computes; raise what its functions raise."""
        return self.function(*self.arrays, **self.attributes, opset=self.opset)

    def explain(self) -> scattergen.Explanation:
        """Return which kernel would answer, and where it would come from."""
        return scattergen.explain(self.function, *self.arrays, **self.attributes, opset=self.opset)

    @property
    def spec(self) -> OpSpec:
        """The operator on arrays of these types and ranks."""
        return arguments_of("spec", self.function, *self.arrays, **self.attributes, opset=self.opset)[0].spec

    @property
    def function(self) -> Callable[..., NDArray[Any]]:
        """Scattergen's function for the node's operator."""
        found: Callable[..., NDArray[Any]] = getattr(scattergen, OPERATORS[self.node.op_type].prefix)
        return found


Around: TypeAlias = Callable[[Call], NDArray[Any]]
"""A hook that stands in for the evaluation of a node: it is given the call and returns the result."""


def operators(around: Around | None = None) -> list[type[OpRun]]:
    """Return the operators as classes for ``ReferenceEvaluator(model, new_ops=operators())``.

    `around`, where given, is called with each `Call` and its result is the node's. The evaluator hands
    its `new_ops` to subgraphs but not to the model's local functions; `evaluator` does both. Nodes raise what
    scattergen's functions raise.
    """
    return [_operator(name, around) for name in OPERATORS]


def evaluator(model: Model, around: Around | None = None) -> ReferenceEvaluator:
    """Return ONNX's reference evaluator for `model` with scattergen's operators wherever it meets one.

    `around` is as in `operators`; the node of a `Call` bears the name that `nodes` gives it. Raises `ModelError` for
    a model that cannot be read, or for one of whose nodes there is no operator.
    """
    return evaluator_of(load(model), operators(around))


def evaluator_of(proto: onnx.ModelProto, new_ops: Sequence[type[OpRun]]) -> ReferenceEvaluator:
    """Return the reference evaluator for a model in the one form, with `new_ops` before its own operators.

    Raises `ModelError` where it has no operator for a node.
    """

    class Evaluator(ReferenceEvaluator):  # type: ignore[misc]
        # The base class makes evaluators of this class for subgraphs and functions, for the latter
        # without `new_ops`; and it may append to the list that it is given.
        def __init__(self, *args: Any, **options: Any) -> None:
            options["new_ops"] = [*new_ops, *REPAIRS]
            super().__init__(*args, **options)

    try:
        return Evaluator(proto)
    except Exception as error:  # it names no classes of its own
        raise ModelError(f"ONNX's evaluator does not take the model: {error}") from error


def _of_node(name: str, error: ScattergenError) -> ScattergenError:
    """Return an error that names the node whose call raised it, if that has a name."""
    if not name:
        return error
    if isinstance(error, IndexOutOfBounds):
        operator, *rest = error.args
        return IndexOutOfBounds(f"{operator} (node {name!r})", *rest)
    return type(error)(f"{error} (node {name!r})")


def _operator(name: str, around: Around | None) -> type[OpRun]:
    def run(self: OpRun, *inputs: Any, **attributes: Any) -> tuple[NDArray[Any]]:
        call = Call(
            node=self.onnx_node,
            arrays=tuple(None if array is None else np.asarray(array) for array in inputs),
            attributes=attributes,
            opset=self.run_params["opsets"][""],
        )
        try:
            return (call() if around is None else around(call),)
        except (IndexOutOfBounds, ShapeError, DTypeError) as error:
            raise _of_node(call.node.name, error) from None

    return type(name, (OpRun,), {"op_domain": "", "_run": run, "__doc__": f"ONNX {name}, by scattergen."})
