"""`scattergen bench`: a user's own shapes, or the scatter nodes of a model, against NumPy.

The two take turns in one process, and the median of the rounds counts. ``tools/bench.py`` of a checkout
compares with more libraries, each in a process of its own.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..call.compiled import operator_spec
from ..call.explained import REFERENCE, explain
from ..errors import ScattergenError, ShapeError
from . import cache_workload, workload
from .table import Measured, table
from .workload import Array, Workload

if TYPE_CHECKING:
    import argparse

_MODULES: dict[str, Any] = {"window": cache_workload}
"""What makes workloads, by the operator's addressing, where it is not `workload`."""

_TURN = 0.02
"""Seconds of calls in one turn."""


def repeats(seconds: float) -> int:
    """Return how many calls of so many seconds make one turn."""
    return max(1, min(5000, int(_TURN / max(seconds, 1e-7))))


def timed(function: Callable[[], Any], count: int) -> float:
    """Return the mean seconds of `count` calls."""
    start = perf_counter()
    for _ in range(count):
        function()
    return (perf_counter() - start) / count


def measure(work: Workload, rounds: int = 9, *, in_place: bool = False, threads: int | None = None) -> Measured:
    """Return what `work` took, by the median of `rounds` turns; its kernel is built before.

    In place each of the two changes an array of its own, from call to call. `threads` are the most of ours.
    """
    theirs = (replace(work, data=work.data.copy()) if in_place else work).numpy(in_place)
    work = replace(work, data=work.data.copy()) if in_place else work
    more: dict[str, Any] = {"out": work.data} if in_place else {}
    if threads is not None:
        more["threads"] = threads
    given = {"opset": work.spec.opset, **work.attributes, **more}
    found, ours = explain(work.function, *work.inputs, **given), work.ours(**more)
    equal = _equal(ours(), theirs())
    counts = {function: repeats(min(timed(function, 1) for _ in range(3))) for function in (ours, theirs)}
    times: dict[Callable[[], Array], list[float]] = {function: [] for function in counts}
    with np.errstate(all="ignore"):  # in place, values grow from call to call
        for _ in range(rounds):
            for function, count in counts.items():
                times[function].append(timed(function, count))
    seconds = statistics.median(times[ours])
    return Measured(
        name=work.name,
        shapes=_shapes(work),
        kernel=found.kernel or ("the reference" if found.source == REFERENCE else "none"),
        in_place="out" in given,
        threads=found.threads,
        seconds=seconds,
        least=min(times[ours]),
        numpy_seconds=statistics.median(times[theirs]),
        gigabytes_a_second=_traffic(work, in_place) / seconds / 1e9,
        equal=equal,
    )


def _traffic(work: Workload, in_place: bool) -> int:
    """Return the bytes that every implementation has to read and write."""
    if not in_place or work.spec.op.addressing in _MODULES:
        return work.traffic
    named = np.zeros(work.data.shape, np.bool_)
    named[work.key()] = True
    visits = 1 if work.reduction == "none" else 2
    targets = visits * work.data.itemsize * int(np.count_nonzero(named))
    return targets + workload.touched(work.indices) + workload.touched(work.updates)


def _shapes(work: Workload) -> str:
    second, what = (work.updates, " (update)") if work.spec.op.addressing == "window" else (work.indices, "")
    return " ".join("x".join(map(str, array.shape)) for array in (work.data, second)) + what


def _equal(result: Array, wanted: Array) -> bool:
    kind = wanted.dtype.kind
    if kind in "biu":
        return np.array_equal(result, wanted)
    if kind != "c":  # bfloat16 is of kind V to NumPy, and compares as well
        return bool(np.all((result == wanted) | ((result != result) & (wanted != wanted))))
    return np.allclose(result, wanted, rtol=1e-4, atol=1e-6, equal_nan=True)


def of_model(model: str, arrays: str | None = None) -> list[Workload]:
    """Return a workload for each scatter node of an ONNX file that runs, with the arrays of its first call.

    `arrays` is an ``.npz`` of inputs named ``in/<name>``; without it they are made up, from the declared types.
    """
    from .. import onnx  # an optional dependency
    from ..onnx.graph import OPERATORS, load
    from ..onnx.inputs import random_inputs
    from ..onnx.runner import evaluate

    seen: dict[str, Workload] = {}

    def around(call: onnx.Call) -> Array:
        name = call.node.name
        if name not in seen:
            op = OPERATORS[call.node.op_type]
            seen[name] = _MODULES.get(op.addressing, workload).of_call(
                name, op, call.opset, call.attributes, call.arrays
            )
        return call()

    proto = load(model)
    inputs = onnx.load_arrays(arrays)[0] if arrays else random_inputs(proto)
    evaluate(onnx.evaluator(proto, around), inputs, "given" if arrays else "random")
    return list(seen.values())


def configure(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the arguments of the command."""
    styles = "; ".join(f"{name}: {text}" for name, text in workload.STYLES.items())
    parser.add_argument(
        "subject", metavar="WHAT", help="an operator spec such as scatter_elements_f32_i64_r2a0_add, or an ONNX file"
    )
    parser.add_argument("--data", type=_shape, metavar="4096x256", help="shape of data, with a spec")
    shape_of = "shape of indices (of TensorScatter: of update), with a spec"
    parser.add_argument("--indices", type=_shape, metavar="16384x256", help=shape_of)
    parser.add_argument("--style", default="random", choices=tuple(workload.STYLES), help=f"of the indices. {styles}")
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="of the values and indices (default: %(default)s)"
    )
    parser.add_argument("--io", metavar="FILE.npz", help="inputs of the model, named in/<input>; else they are made up")
    turns = "turns of each, of which the median counts (default: %(default)s)"
    parser.add_argument("--rounds", type=_count, default=9, metavar="N", help=turns)
    in_place = "update data itself (out=data), whose values then change from call to call; without it a call makes a"
    parser.add_argument("--in-place", action="store_true", help=f"{in_place} fresh array (TensorScatter: in place)")
    parser.add_argument("--threads", type=_count, metavar="N", help="most threads of a call (default: as in a program)")


def run(chosen: argparse.Namespace) -> int:
    """Measure what the command line asks for and print the table; return 0, or 1 if a result is not NumPy's."""
    if chosen.subject.endswith(".onnx"):
        works = of_model(chosen.subject, chosen.io)
        if not works:
            print(f"{chosen.subject}: no scatter node was run", file=sys.stderr)
    else:
        spec = operator_spec(chosen.subject)
        if chosen.data is None or chosen.indices is None:
            raise ShapeError(f"{spec}: give the shapes, --data 4096x256 --indices 16384x256")
        module = _MODULES.get(spec.op.addressing, workload)
        try:
            works = [module.make(spec, chosen.data, chosen.indices, chosen.style, seed=chosen.seed)]
        except ScattergenError:
            raise
        except ValueError as error:  # of NumPy: more bytes, or dims, than an array may have
            raise ShapeError(f"{spec}: there are no arrays of these shapes: {error}") from error
    rows = [measure(work, chosen.rounds, in_place=chosen.in_place, threads=chosen.threads) for work in works]
    print(table(rows))
    return 0 if all(row.equal for row in rows) else 1


def _shape(text: str) -> tuple[int, ...]:
    import argparse

    parts = text.split("x")
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; write 4096x256")
    return tuple(map(int, parts))


def _seed(text: str) -> int:
    return _at_least(0, text)


def _count(text: str) -> int:
    return _at_least(1, text)


def _at_least(least: int, text: str) -> int:
    import argparse

    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r}: allowed is a whole number, {least} or more")
    return int(text)
