"""Call → plan → result.

A plan holds all that calls of one signature share: kernel, layout, threads. Plans are made once and
kept; the fast table `plans` is asked by `api` before anything here runs.

A kernel comes from the first that has it: this process, the ahead-of-time library, the store, the
compiler; where there is no compiler the reference answers, or an error does (a setting).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays, bounds, build, config, loader, loops, lower, machine, reference, schedule
from .arrays import Arguments, Array
from .errors import CompilerNotFound, IndexOutOfBounds
from .kernel import KernelSpec
from .loader import NULL, Call, Loaded
from .ops import Op
from .spec import OpSpec

MOST_PLANS = 4096
"""Signatures kept; when there are more, all are forgotten and made again as they come."""

Fast = Callable[[Any, Any, Any], Array]

plans: dict[tuple[Any, ...], Fast] = {}
"""What `api` asks first: a signature of C-contiguous arrays → a function of them."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A kernel that can be called, and where it came from."""

    spec: KernelSpec
    loaded: Loaded
    source: str
    seconds: float
    library: Any
    source_path: Any


@dataclass(frozen=True, slots=True)
class Plan:
    """What a signature needs: kernel (None: the reference), layout, threads."""

    form: str
    ready: Ready | None
    layout: lower.Layout
    threads: int
    call: Call | None
    kernel: KernelSpec


_ready: dict[KernelSpec, Ready] = {}
_plans: dict[tuple[Any, ...], Plan] = {}
_lock = threading.Lock()
_warned = False


def forget() -> None:
    """Drop every plan: a setting that plans depend on has changed."""
    plans.clear()
    _plans.clear()


def kernel(spec: KernelSpec) -> Ready:
    """Return the kernel of `spec`, built if it has to be."""
    found = _ready.get(spec)
    if found is not None:
        return found
    built = build.library(spec)
    ready = Ready(spec, loader.open_kernel(built.library, str(spec)), built.origin, built.seconds, built.library, built.source)
    return _ready.setdefault(spec, ready)


def run(
    op: Op,
    opset: int,
    place: Any,
    reduction: str,
    data: Any,
    indices: Any,
    updates: Any,
    out: Any = None,
    threads: int | None = None,
    key: tuple[Any, ...] | None = None,
) -> Array:
    """Run one call; keep a fast plan under `key` where the arrays are of the kind that it serves."""
    arguments = arrays.prepare(op, opset, place, reduction, data, indices, updates, out)
    return execute(arguments, threads, key)


def execute(arguments: Arguments, threads: int | None, key: tuple[Any, ...] | None = None) -> Array:
    """Run checked arguments."""
    spec, data, out = arguments.spec, arguments.data, arguments.out
    if arguments.updates.size == 0:
        _check_without_updates(arguments)
        return _copied(data, out)
    target, in_place = _target(arguments)
    fused = not in_place and target is not out and _same_memory_order(data, target)
    plan = _plan(arguments, target, threads)
    if plan.call is None:
        return _by_reference(arguments)
    call = plan.call
    indices = loader.address(arguments.indices)
    if out is not None and call.check(indices) >= 0:
        raise bounds.find(arguments.indices, _sizes(spec, data), str(spec.op))
    if not fused and not in_place:
        np.copyto(target, data)
    status = loader.invoke(
        call.pointer,
        loader.address(target),
        loader.address(data) if fused else NULL,
        indices,
        loader.address(arguments.updates),
        call.scratch(),
    )
    if status >= 0:
        raise bounds.find(arguments.indices, _sizes(spec, data), str(spec.op))
    assert status == -1, "a plan was made for other addresses than it is called with"
    if key is not None and fused and _all_contiguous(arguments):
        _keep(key, _fast_plan(plan, call, spec, data))
    if out is not None and target is not out:
        np.copyto(out, target)
    return target if out is None else out


def _sizes(spec: OpSpec, data: Array) -> tuple[int, ...]:
    """Return the size of the dim of `data` that each index component addresses."""
    if spec.op.addressing == "axis":
        return (data.shape[spec.place],)
    return data.shape[: spec.place]


def _check_without_updates(arguments: Arguments) -> None:
    if arguments.indices.size:
        error = bounds.find(arguments.indices, _sizes(arguments.spec, arguments.data), str(arguments.spec.op))
        if error.positions:
            raise error


def _copied(data: Array, out: Array | None) -> Array:
    if out is None:
        out = _fresh(data)
    np.copyto(out, data)
    return out


def _fresh(data: Array) -> Array:
    """Return an empty array like `data`, in native byte order and in the order of its dims in memory."""
    return np.empty_like(data, dtype=data.dtype.newbyteorder("="), subok=False)


def _target(arguments: Arguments) -> tuple[Array, bool]:
    """Return the array that the kernel writes to, and whether it is `data` itself."""
    data, out = arguments.data, arguments.out
    if out is None or not out.dtype.isnative:
        return _fresh(data), False
    same = (
        out is data
        or out.strides == data.strides
        and out.dtype == data.dtype
        and out.__array_interface__["data"][0] == data.__array_interface__["data"][0]
    )
    return out, same


def _same_memory_order(data: Array, target: Array) -> bool:
    """Whether a copy of the bytes of `data` is a copy of its elements; `target` is fresh, and so dense."""
    return data.strides == target.strides and data.dtype == target.dtype and data.flags.aligned


def _all_contiguous(arguments: Arguments) -> bool:
    return not arguments.copies and all(
        array.flags.c_contiguous and array.flags.aligned
        for array in (arguments.data, arguments.indices, arguments.updates)
    )


def _plan(arguments: Arguments, target: Array, threads: int | None) -> Plan:
    spec, indices, updates = arguments.spec, arguments.indices, arguments.updates
    aligned = target.flags.aligned and arguments.data.flags.aligned and indices.flags.aligned and updates.flags.aligned
    signature = (spec, target.shape, target.strides, indices.shape, indices.strides, updates.strides, aligned, threads)
    plan = _plans.get(signature)
    if plan is None:
        plan = _make_plan(arguments, target, aligned, machine.threads(threads))
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        _plans[signature] = plan
    return plan


def _make_plan(arguments: Arguments, target: Array, aligned: bool, most_threads: int) -> Plan:
    spec, indices, updates = arguments.spec, arguments.indices, arguments.updates
    item, index_item = target.itemsize, indices.itemsize
    if spec.op.addressing == "axis":
        nest = loops.along_axis(
            indices.shape, spec.place, target.shape, target.strides, indices.strides, updates.strides
        )
    else:
        nest = loops.by_tuples(indices.shape, target.shape, target.strides, indices.strides, updates.strides)
    nest = loops.canonical(nest)
    form, found = lower.lower(nest, item, index_item, target.size) if aligned else ("strided", None)
    layout = lower.LAYOUTS[form](found) if found else lower.strided_layout(nest, target.nbytes)
    wanted = lower.kernel(form, spec.dtype, spec.index, spec.reduction, len(nest.components))
    count = schedule.threads(form, found, item, index_item, most_threads)
    try:
        ready = kernel(wanted)
    except CompilerNotFound as error:
        _fall_back(error)
        return Plan(form, None, layout, 1, None, wanted)
    sizes = (1, 1) if form == "strided" else (min(item, 8), index_item)
    return Plan(form, ready, layout, count, Call(ready.loaded, layout, count, *sizes), wanted)


def _fall_back(error: CompilerNotFound) -> None:
    global _warned
    if config.settings().fallback == "error":
        raise error
    if not _warned:
        _warned = True
        warnings.warn(f"scattergen answers slowly, by its reference: {error}", RuntimeWarning, stacklevel=6)


def _by_reference(arguments: Arguments) -> Array:
    spec = arguments.spec
    if spec.op.addressing == "axis":
        result = reference.scatter_elements(
            arguments.data, arguments.indices, arguments.updates, spec.place, spec.reduction
        )
    else:
        result = reference.scatter_nd(arguments.data, arguments.indices, arguments.updates, spec.reduction)
    if arguments.out is None:
        return result
    np.copyto(arguments.out, result)
    return arguments.out


def _keep(key: tuple[Any, ...], fast: Fast) -> None:
    if len(plans) >= MOST_PLANS:
        plans.clear()
    plans[key] = fast


def _fast_plan(plan: Plan, call: Call, spec: OpSpec, data: Array) -> Fast:
    """Return the function that serves C-contiguous arrays of the plan's shapes and types."""
    pointer, scratch, shape, dtype = call.pointer, call.scratch, data.shape, data.dtype
    empty, from_buffer, invoke = np.empty, loader.from_buffer, loader.invoke
    needs_scratch = call.scratch_bytes > 0
    op, opset, place, reduction = spec.op, spec.opset, spec.place, spec.reduction

    def fast(data: Any, indices: Any, updates: Any) -> Array:
        out = empty(shape, dtype)
        try:
            status = invoke(
                pointer,
                from_buffer(out),
                from_buffer(data),
                from_buffer(indices),
                from_buffer(updates),
                scratch() if needs_scratch else NULL,
            )
        except ValueError:  # not C-contiguous, or of a type that has no buffer
            status = loader.MISALIGNED
        if status == -1:
            return out
        return run(op, opset, place, reduction, data, indices, updates)

    return fast


__all__ = ["Fast", "IndexOutOfBounds", "Plan", "Ready", "execute", "forget", "kernel", "plans", "run"]
