"""Run a model with scattergen's operators and hold every scatter node against ONNX's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

from ..errors import IndexOutOfBounds, ModelError, ScattergenError, ShapeError
from .compare import Tolerance, as_tensor, compare
from .graph import Model, load
from .inputs import random_inputs
from .nodes import nodes_of
from .operators import evaluator_of, operators
from .report import OutputReport, Report
from .watch import Progress, Watch

Arrays = Mapping[str, NDArray[Any]]


def run(
    model: Model,
    inputs: Arrays | None = None,
    expected: Arrays | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run `model` (a proto, a path or bytes) in ONNX's reference evaluator with scattergen's operators.

    Without `inputs` they are random, from the declared types; without `expected` the model's outputs
    are compared with those of the plain reference evaluator. Integers, bools and strings must be equal, floats
    within ``atol + rtol * |expected|``; the defaults are 2e-5, and 2e-3 and 2e-2 for the half types.
    Raises `ModelError` for a model that cannot be read or run, `ShapeError` for names that the model does not have,
    and what scattergen's operators raise.
    """
    proto = load(model)
    feeds = random_inputs(proto) if inputs is None else {name: as_tensor(array) for name, array in inputs.items()}
    feeds_are = "random" if inputs is None else "given"
    tolerance = Tolerance(rtol=rtol, atol=atol)
    known = {node.name: node for node in nodes_of(proto)}
    watch = Watch(known, tolerance, progress)
    names = [row.name for row in proto.graph.output]
    _check_names(proto, feeds, expected or {})
    results = dict(zip(names, evaluate(evaluator_of(proto, operators(watch)), feeds, feeds_are), strict=True))
    if expected is None:
        wanted: Arrays = dict(zip(names, evaluate(evaluator_of(proto, []), feeds, feeds_are), strict=True))
    else:
        wanted = expected
    outputs = (OutputReport(name=name, **compare(results[name], wanted[name], tolerance)) for name in wanted)
    return Report(
        nodes=tuple(watch.seen.values()),
        not_run=tuple(node for name, node in known.items() if name not in watch.seen),
        outputs=tuple(outputs),
        inputs_are=feeds_are,
        expected_are="given" if expected is not None else "the reference evaluator's",
    )


def load_arrays(path: str | PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]] | None]:
    """Return inputs and expected outputs from an ``.npz`` of arrays named ``in/<name>`` and ``out/<name>``.

    The second is None where the file holds no outputs. Raises `ModelError` for a file that cannot be opened, one of
    another kind, and arrays of other names.
    """
    try:
        arrays = _arrays(path)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # of NumPy, of its reader of ZIP files, or of what they read with
        raise ModelError(f"{path} cannot be read as an .npz of plain arrays, which numpy.savez writes") from error
    others = [name for name in arrays if not name.startswith(("in/", "out/"))]
    if others:
        right = ", ".join(f"in/{name}" for name in others)
        them = "it" if len(others) == 1 else "them"
        raise ModelError(f"{path} has {', '.join(others)}: name {them} {right} (expected outputs: out/<output>)")
    inputs, outputs = (
        {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        for prefix in ("in/", "out/")
    )
    return inputs, outputs or None


def _arrays(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    found = np.load(path, allow_pickle=False)
    if isinstance(found, np.ndarray):
        raise ValueError("a single array")
    with found as archive:
        return {name: archive[name] for name in archive.files}


def evaluate(reference: ReferenceEvaluator, feeds: Arrays, feeds_are: str) -> Sequence[NDArray[Any]]:
    """Return what an evaluator gives for inputs that are ``given`` or ``random``.

    Raises what scattergen's operators raise, `ShapeError` where real inputs may be what it takes, and `ModelError` for
    all else that evaluators raise.
    """
    try:
        outputs: list[NDArray[Any]] = reference.run(None, dict(feeds))
    except Exception as error:
        # The evaluator wraps a TypeError of an operator, once per function around it.
        ours = next((cause for cause in _causes(error) if isinstance(cause, ScattergenError)), None)
        if ours and (feeds_are == "given" or not isinstance(ours, ShapeError | IndexOutOfBounds)):
            raise ours from None
        if feeds_are == "random":
            shapes = ", ".join(f"{name} {array.dtype}{list(array.shape)}" for name, array in feeds.items())
            cause = ours or error
            raise ShapeError(
                f"the model does not run on made-up inputs ({shapes}): give real ones, unless it is this that"
                f" no input mends: {type(cause).__name__}: {cause}"
            ) from error
        raise ModelError(f"ONNX's evaluator does not run the model: {type(error).__name__}: {error}") from error
    return outputs


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _check_names(model: onnx.ModelProto, inputs: Arrays, expected: Arrays) -> None:
    constants = {tensor.name for tensor in model.graph.initializer}
    declared = {row.name for row in model.graph.input}
    missing = sorted(declared - constants - set(inputs))
    unknown = sorted(set(expected) - {row.name for row in model.graph.output})
    if missing:
        raise ShapeError(f"no array for input {', '.join(missing)}; given: {', '.join(inputs) or 'none'}")
    if unknown:
        raise ShapeError(f"the model has no output {', '.join(unknown)}")
