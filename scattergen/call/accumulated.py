"""Sums and products of halves that are kept in float32 until the end: ``accumulate="float32"``.

Composed of float32's own kernels: `data` is widened, updates are widened and applied in order, a chunk that
fits the caches at a time, and the result is rounded once. Dims before the axis are taken a piece at a
time; where there are none (ScatterND, axis 0), the piece is all of `data`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arguments import arrays, checks, memory
from ..arguments.arrays import Arguments, Array
from ..errors import DTypeError, IndexOutOfBounds, SpecError
from ..operators.dtypes import DTYPES
from ..operators.ops import Op
from ..operators.spec import OpSpec
from . import direct, dispatch
from .threads import most as most_threads

FLOAT32 = "float32"
REDUCTIONS = ("add", "mul")

ROOM = 1 << 19
"""Updates held as float32 at a time, and elements of `data` where the dims before the axis allow so few: 2 MB."""

SHARED_ROOM = 4 * ROOM
"""That on several threads, which wait for each other after every chunk."""

Block = tuple[slice, ...]


def run(
    data: Any, indices: Any, updates: Any, out: Any,
    op: Op, opset: int, axis: Any, reduction: str, threads: int | None, duplicates: str, unique: bool, accumulate: Any,
) -> Array:  # fmt: skip
    """Run one call as `dispatch.run` does, accumulating in the type that `accumulate` names."""
    arguments = arrays.prepare(op, opset, axis, reduction, data, indices, updates, out, unique=unique)
    require(arguments.spec, accumulate)
    if duplicates != "allow":
        checks.refuse_duplicates(arguments, duplicates)
    result = execute(arguments, threads)
    return result if out is None else out


def require(spec: OpSpec, accumulate: Any) -> None:
    """Raise `SpecError` or `DTypeError` unless `accumulate` can be had for a spec."""
    if accumulate != FLOAT32:
        raise SpecError("accumulate", accumulate, f"None or {FLOAT32}")
    if spec.dtype.kind != "half":
        raise DTypeError(
            f"{spec.op}: data is {spec.dtype.numpy_name}, allowed with accumulate={FLOAT32!r} is float16 or bfloat16;"
            " other types have no wider sum to round: leave accumulate out"
        )
    if spec.reduction not in REDUCTIONS:
        raise SpecError("reduction", spec.reduction, f"{' or '.join(REDUCTIONS)} with accumulate={FLOAT32!r}")


def execute(arguments: Arguments, threads: int | None) -> Array:
    """Run checked arguments: each target is widened, its updates are applied in order, and it is rounded once.

    A target without an update keeps its bits. Where the call fails, `out` is as it was.
    """
    if arguments.updates.size == 0:
        return dispatch.execute(arguments, threads)
    data, out = arguments.data, arguments.out
    direct_out = out is not None and out.dtype.isnative and _apart(data, out)
    target = out if out is not None and direct_out else dispatch.unwritten(data)
    room: Array | None = None
    for block in _blocks(data.shape, _outer_dims(arguments), _room(threads)):
        if direct_out and block and room is None and not arguments.checked and _is_out_of_bounds(arguments):
            raise dispatch.out_of_bounds(arguments)  # of one piece, `out` is written when all has gone well
        before = memory.plain(data[block])
        if room is None:  # the first piece is the largest
            room = dispatch.empty((before.size,), np.dtype(np.float32))
        wide = room[: before.size].reshape(before.shape)
        direct.widen(before, wide, threads)
        try:
            apply_to(wide, _at(arguments, block), threads)
        except IndexOutOfBounds:
            raise dispatch.out_of_bounds(arguments) from None  # by its position in all of `indices`
        _settle(wide, before, target[block], threads)
    if out is None or direct_out:
        return target
    np.copyto(out, target)
    return out


def apply_to(wide: Array, arguments: Arguments, threads: int | None) -> None:
    """Apply the updates of `arguments` (halves) to float32 `wide`, in order; its `data` and `out` are not used.

    Raise `IndexOutOfBounds`, with `wide` in any state.
    """
    indices, updates, spec = arguments.indices, arguments.updates, wide_spec(arguments.spec)
    if not updates.size:
        return
    tuples = spec.op.addressing == "tuples"
    dims, most = indices.ndim - 1 if tuples else spec.place + 1, _room(threads)
    room = dispatch.empty((min(updates.size, max(most, math.prod(updates.shape[dims:]))),), np.dtype(np.float32))
    for block in _blocks(updates.shape, dims, most):
        chunk = memory.plain(updates[block])
        floats = room[: chunk.size].reshape(chunk.shape)
        direct.widen(chunk, floats, 1)
        target = wide if tuples else wide[block[: spec.place]]  # a chunk of outer steps has those of the output
        part = Arguments(spec, target, indices[block], floats, target, checked=True, unique=arguments.unique)
        dispatch.execute(part, threads)


def wide_spec(spec: OpSpec) -> OpSpec:
    """Return the spec of the calls in float32."""
    return spec._replace(dtype=DTYPES["f32"])


def first_part(arguments: Arguments, threads: int | None) -> Arguments:
    """Return the first call in float32 that `execute` makes, with arrays that hold nothing: for `explain`."""
    block = next(_blocks(arguments.data.shape, _outer_dims(arguments), _room(threads)))
    part = _at(arguments, block)
    wide = np.empty(arguments.data[block].shape, np.float32)
    spec, tuples = wide_spec(arguments.spec), arguments.spec.op.addressing == "tuples"
    dims = part.indices.ndim - 1 if tuples else spec.place + 1
    chunk = next(_blocks(part.updates.shape, dims, _room(threads)))
    floats = np.empty(part.updates[chunk].shape, np.float32)
    if not tuples:
        wide = wide[chunk[: spec.place]]
    copies = (
        *arguments.copies,
        f"data: widened to float32, {wide.size} of {arguments.data.size} elements at a time",
        f"updates: widened to float32, {floats.size} of {arguments.updates.size} at a time",
    )
    return Arguments(spec, wide, part.indices[chunk], floats, wide, copies, checked=True, unique=arguments.unique)


def _at(arguments: Arguments, block: Block) -> Arguments:
    """Return the part of a call that concerns a piece of `data`; it may have no update."""
    if not block:
        return arguments
    return arguments.reading(arguments.indices[block], arguments.updates[block], arguments.copies)


def _outer_dims(arguments: Arguments) -> int:
    return arguments.spec.place if arguments.spec.op.addressing == "axis" else 0


def _is_out_of_bounds(arguments: Arguments) -> bool:
    """Whether a call along an axis, which alone has pieces, has an index out of bounds."""
    indices, size = arguments.indices, arguments.data.shape[arguments.spec.place]
    once = memory.unrepeated(indices)
    return bool(once.min() < -size or once.max() >= size)


def _apart(data: Array, out: Array) -> bool:
    """Whether a piece of `out` may be written while other pieces of `data` are still to be read."""
    return memory.same_memory(out, data) or not memory.share_memory(out, data)


def _room(threads: int | None) -> int:
    return ROOM if most_threads(threads) == 1 else SHARED_ROOM


def _blocks(shape: tuple[int, ...], dims: int, most: int) -> Iterator[Block]:
    """Yield the parts of an array, in row-major order, cut along the first `dims` dims into at most `most` elements.

    A part is larger than that where one step of the last of these dims is.
    """
    if dims == 0 or math.prod(shape) <= most:
        yield ()
        return
    each = most // max(1, math.prod(shape[1:]))
    if each > 0:
        for start in range(0, shape[0], each):
            yield (slice(start, start + each),)
        return
    for step in range(shape[0]):
        for rest in _blocks(shape[1:], dims - 1, most):
            yield (slice(step, step + 1), *rest)


def _settle(wide: Array, before: Array, target: Array, threads: int | None) -> None:
    """Round to `target`; where there was a NaN, that very NaN stays."""
    if target.flags.c_contiguous and target.flags.aligned:
        direct.narrow(wide, target, before, threads)
        return
    rounded = dispatch.empty(before.shape, before.dtype)
    direct.narrow(wide, rounded, before, threads)
    np.copyto(target, rounded)
