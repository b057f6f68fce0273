"""Elements that C has no type for → a call on numbers, which kernels answer, and its result → elements again.

| elements                    | reduction        | kernels get                                            |
|-----------------------------|------------------|--------------------------------------------------------|
| of fixed size, no reference | none             | words: the same bytes as numbers                       |
| references (O, T, records)  | none             | positions of updates; NumPy then moves the last ones   |
| times                       | add, max, min    | int64, and bools that say where there is NaT           |
| strings, objects            | add, max, min    | nothing: `strings` combines them                       |

A reference must be counted when it is copied, and what a StringDType array refers to is its own: so
NumPy moves these, and only those that stay.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..common.record import Record
from ..common.words import number_of
from ..errors import IndexOutOfBounds
from ..operators.dtypes import DTYPES, DType, native
from ..operators.spec import MAX_RANK, OpSpec
from . import addressing, foreign, memory
from .arrays import Arguments, Array

Run = Callable[[Arguments], Array]
"""Runs a call on numbers: `dispatch.execute`."""


_FEW = 8
"""With so many elements of the result for each update, looking through all of them takes longer than the rest."""

_NAT = np.iinfo(np.int64).min


class Lowered(Record):
    """A call on numbers that stands for one on other elements."""

    arguments: Arguments
    text: Callable[[], str]
    """Says how elements are moved, for people."""
    finish: Callable[[Array, Run], Array]
    """Returns the call's result, given that of the numbers."""


def run(arguments: Arguments, run_numbers: Run) -> Array:
    """Return the result of a call; raise what its kernels raise, or `DTypeError` for an `out` that is too narrow."""
    found = lowered(arguments)
    if found is None:
        from . import strings

        return _write(arguments, *strings.combine(arguments))
    try:
        result = run_numbers(found.arguments)
    except IndexOutOfBounds as error:  # of indices that may have been expanded over words
        raise addressing.out_of_bounds(arguments) or error from None
    return found.finish(result, run_numbers)


def lowered(arguments: Arguments) -> Lowered | None:
    """Return the call that kernels get; None where they get none."""
    dtype = arguments.data.dtype
    if arguments.spec.reduction != "none":
        return _as_times(arguments) if dtype.kind in "Mm" else None
    count = foreign.word(dtype.itemsize)[1]
    if dtype.hasobject or not dtype.itemsize or (count > 1 and arguments.data.ndim == MAX_RANK):
        return _as_positions(arguments)
    return _as_words(arguments)


def _numbers(
    arguments: Arguments,
    dtype: DType,
    data: Array,
    indices: Array,
    updates: Array,
    out: Array | None,
    copies: list[str],
) -> Arguments:
    spec = _spec(arguments.spec, dtype, data.ndim)
    checked, unique = arguments.checked, arguments.unique
    return Arguments(spec, data, indices, updates, out, tuple(copies), checked=checked, unique=unique)


@lru_cache(maxsize=256)
def _spec(spec: OpSpec, dtype: DType, rank: int) -> OpSpec:
    return spec._replace(dtype=dtype, rank=rank)


def _as_words(arguments: Arguments) -> Lowered:
    data, indices, target, copies = arguments.data, arguments.indices, arguments.out, list(arguments.copies)
    dtype = _moved_type(arguments)
    updates = arguments.updates
    if updates.dtype != dtype:
        updates = memory.compact(updates, dtype)
        copies.append(f"updates: as {dtype}")
    direct = data.dtype == dtype and (target is None or target.dtype == dtype)
    if not direct:
        target = data = data.astype(dtype)
        if arguments.out is not None:
            copies.append(f"out: written by way of a copy in {dtype}")
    word, count = foreign.word(dtype.itemsize)
    unit = word.numpy if count == 1 else np.dtype((word.numpy, (count,)))
    if count > 1 and arguments.spec.op.addressing == "axis":
        indices = np.broadcast_to(indices[..., None], (*indices.shape, count))
    words = None if target is None else target.view(unit)

    def finish(result: Array, _: Run) -> Array:
        if target is None:
            return result.view(dtype) if count == 1 else result.view(dtype)[..., 0]
        if direct or arguments.out is None:
            return target
        return _copied(arguments.out, target, str(arguments.spec.op))

    call = _numbers(arguments, word, data.view(unit), indices, updates.view(unit), words, copies)
    return Lowered(call, lambda: f"{dtype}, by {number_of(count, 'word')} of {8 * word.size} bits", finish)


def _moved_type(arguments: Arguments) -> np.dtype[Any]:
    """Return the type in which elements are moved: that of `out` where it can hold them all."""
    data, updates, out = arguments.data, arguments.updates, arguments.out
    dtype = foreign.result_type(data, updates)
    if out is None or dtype.kind not in "US":
        return dtype
    room = foreign.width(out.dtype)
    if room >= foreign.width(dtype):
        return native(out.dtype)
    short = foreign.width(data.dtype) <= room and np.strings.str_len(updates).max(initial=0) <= room
    return native(out.dtype) if short else dtype


def _copied(out: Array, result: Array, operator: str) -> Array:
    if result.dtype.kind in "US":
        foreign.refuse_cut(out, np.strings.str_len(result), operator)
    np.copyto(out, result, casting="unsafe")
    return out


def _as_positions(arguments: Arguments) -> Lowered:
    """Return the call that finds for each element of the result which update is the last to go there."""
    data, updates, copies = arguments.data, arguments.updates, list(arguments.copies)
    few = updates.size * _FEW < data.size
    table = np.empty(data.shape, np.int64) if few else np.full(data.shape, -1)
    numbers = np.arange(updates.size).reshape(updates.shape)

    def finish(result: Array, _: Run) -> Array:
        found = result.reshape(-1)
        if few:  # those that stay are asked for: nothing but their places in the table is touched
            targets = addressing.targets(arguments).reshape(-1)
            last = np.flatnonzero(found[targets] == numbers.reshape(-1))
            places = targets[last]
        else:
            places = np.flatnonzero(found >= 0)
            last = found[places]
        return _write(arguments, places, _taken(updates, last), foreign.result_type(data, updates))

    call = _numbers(arguments, DTYPES["i64"], table, arguments.indices, numbers, table, copies)
    return Lowered(call, lambda: f"{data.dtype}, by positions of updates; NumPy moves the last ones", finish)


def _taken(array: Array, positions: Array) -> Array:
    """Return a copy of the elements at flat positions; what is repeated by a stride of 0 is not written out."""
    once = memory.unrepeated(array)
    if once.shape != array.shape:
        numbers = np.arange(once.size).reshape(once.shape)
        positions = np.broadcast_to(numbers, array.shape).reshape(-1)[positions]
    taken: Array = once.reshape(-1)[positions]
    return taken


def _write(arguments: Arguments, places: Array, values: Array, dtype: np.dtype[Any]) -> Array:
    """Return `data` with `values`, copies, at flat `places`, each once: in `out`, or new and of `dtype`."""
    data, out = arguments.data, arguments.out
    if out is None:
        target = data.astype(dtype)
    else:
        target, in_place = out, memory.same_memory(out, data)
        if dtype.kind in "US":
            _refuse_cut(out, None if in_place else data, places, values, str(arguments.spec.op))
        if not in_place:
            np.copyto(out, data, casting="unsafe")
    if target.flags.c_contiguous:
        target.reshape(-1)[places] = values
    else:  # `flat` would stop at 32 dims, and `np.put` and `np.place` fail for StringDType
        here = np.zeros(target.shape, np.bool_)
        here.reshape(-1)[places] = True
        target[here] = values[np.argsort(places)]
    return target


def _refuse_cut(out: Array, data: Array | None, places: Array, values: Array, operator: str) -> None:
    lengths = np.zeros(out.shape, np.int64) if data is None else np.array(np.strings.str_len(data), order="C")
    lengths.reshape(-1)[places] = np.strings.str_len(values)
    foreign.refuse_cut(out, lengths, operator)


def _as_times(arguments: Arguments) -> Lowered:
    """Return the call on int64, whose least value is NaT.

    That makes `min` right as it is. A sum or a maximum is NaT where an update or the old value is, which
    bools find out by the same reduction.
    """
    data, indices, updates, out = arguments.data, arguments.indices, arguments.updates, arguments.out
    copies = list(arguments.copies)
    nowhere = None if arguments.spec.reduction == "min" else (np.isnat(data), np.isnat(updates))
    has_nat = nowhere is not None and any(mask.any() for mask in nowhere)
    target = None if out is None or has_nat else out

    def finish(result: Array, run_numbers: Run) -> Array:
        if target is not None:
            return target
        if nowhere is not None and has_nat:
            of_data, of_updates = nowhere
            lost = _numbers(arguments, DTYPES["bool"], of_data, indices, of_updates, None, copies)
            result[run_numbers(lost)] = _NAT
        times = result.view(native(data.dtype))
        if out is None:
            return times
        np.copyto(out, times)
        return out

    numbers = None if target is None else _as_int64(target)
    call = _numbers(arguments, DTYPES["i64"], _as_int64(data), indices, _as_int64(updates), numbers, copies)
    return Lowered(call, lambda: f"{data.dtype} as i64", finish)


def _as_int64(array: Array) -> Array:
    return array.view(np.dtype(np.int64).newbyteorder(array.dtype.byteorder))
