"""Call → result: arrays are prepared, a plan is found, a kernel writes to a fresh array or to `out`.

Small calls that repeat do not come here: `fast.py` has a table that `api` asks first.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import addressing, arrays, memory, packing, repeats
from ..arguments.arrays import Arguments, Array
from ..errors import IndexOutOfBounds
from ..load import caller, loader, supply
from ..load.loader import NULL
from ..operators import dtypes
from ..operators.ops import Op
from . import fast, plan
from .fast import Keep
from .plan import Plan
from .threads import require as require_threads

_dependents: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
era = object()
"""Another one after every `forget`. Who keeps a plan drops it if it began to make it in another era."""


def depend(keeper: Any) -> None:
    """Have `keeper`, which has plans of its own, told by its method `forget` when ours are dropped."""
    _dependents[id(keeper)] = keeper


def forget() -> None:
    """Drop every plan: something that plans depend on has changed."""
    global era
    era = object()
    _drop()


def _drop() -> None:
    plan.forget()  # first: what is kept next is kept by a new plan
    fast.forget()
    for reference in _dependents.valuerefs():  # a list; the weak set's own loop breaks when another thread adds to it
        keeper = reference()
        if keeper is not None:
            keeper.forget()


loader.on_caller = forget  # what was kept without a caller module does not go through it

os.register_at_fork(after_in_child=forget)  # plans of a child are made for one thread


def run(
    data: Any, indices: Any, updates: Any, out: Any,
    op: Op, opset: int, axis: Any, reduction: str, threads: int | None, duplicates: str, unique: bool, mode: str,
) -> Array:  # fmt: skip
    """Run one call; keep it for the next one where the arrays are such that `fast` serves them.

    Arguments are those of `fast.recall`, in its order.
    """
    keep: Keep | None = None
    if duplicates == "allow" and type(data) is type(indices) is type(updates) is np.ndarray:
        keep = fast.keeper(op, opset, axis, reduction, threads, duplicates, unique, mode)
    arguments = arrays.prepare(op, opset, axis, reduction, data, indices, updates, out, mode, unique=unique)
    if duplicates != "allow":
        from ..arguments import checks

        checks.refuse_duplicates(arguments, duplicates)
    result = execute(arguments, threads, keep)
    return result if out is None else out


def execute(
    arguments: Arguments,
    threads: int | None,
    keep: Keep | None = None,
    *,
    same_indices: bool = False,
    stand_in: Callable[[Arguments], Array] | None = None,
) -> Array:
    """Run checked arguments; hand the call to `keep` where it serves all calls on arrays like these.

    `same_indices` says that in all of them the indices have the values of these. `stand_in` answers where no kernel can
    be had; else the reference does.
    """
    require_threads(threads)  # not every call comes to a kernel
    if arguments.foreign:
        from ..arguments import moving

        return moving.run(arguments, lambda lowered: execute(lowered, threads))
    if arguments.updates.size == 0:
        return _without_updates(arguments)
    began = era
    target, in_place = target_of(arguments)
    read = packing.pack(arguments, target)
    arguments = repeats.collapse(read)
    data, out = arguments.data, arguments.out
    kernel_copies = not in_place and same_memory_order(data, target, out)
    found = plan.plan(arguments, target, kernel_copies, threads, supply.counted(target, arguments.updates))
    if found.call is None:
        return (stand_in or _by_reference)(arguments)
    call, indices = found.call, loader.address(arguments.indices)
    if not in_place and not kernel_copies:
        if target is out and not arguments.checked and call.check(indices) >= 0:
            raise out_of_bounds(arguments)
        np.copyto(target, data)
    status = loader.invoke(
        call.checked if target is out and not arguments.checked else call.pointer,
        loader.address(target),
        loader.address(data) if kernel_copies else NULL,
        indices,
        loader.address(arguments.updates),
        call.scratch(),
    )
    if status >= 0:
        raise out_of_bounds(arguments)
    if status != -1:
        raise RuntimeError(f"{found.kernel} was called with addresses that its plan was not made for")
    as_guessed = in_place if out is data else kernel_copies  # not in place by way of another array
    like_others = as_guessed and _as_given(read) and (same_indices or not repeats.possible(read))
    if keep is not None and like_others and not found.is_baseline and caller.adopt():
        keep(call, data, read.indices, read.updates, out)
        if era is not began:  # it may have the old number of threads
            _drop()
    if out is None:
        return target
    if target is not out:
        np.copyto(out, target)
    return out


def out_of_bounds(arguments: Arguments) -> IndexOutOfBounds:
    """Return the error of a kernel that met a bad index; one without positions if the caller has since mended it."""
    op = arguments.spec.op
    return addressing.out_of_bounds(arguments) or IndexOutOfBounds(str(op), (), (), (), op.inputs.indices)


def _without_updates(arguments: Arguments) -> Array:
    """Return the result of a call that changes nothing; its indices are checked all the same."""
    error = addressing.out_of_bounds(arguments)
    if error is not None:
        raise error
    out = unwritten(arguments.data) if arguments.out is None else arguments.out
    if not memory.same_memory(out, arguments.data):
        np.copyto(out, arguments.data)
    return out


def unwritten(data: Array) -> Array:
    """Return an empty native array like `data`: in the order of its memory if that has no gaps, else C-ordered."""
    low, high = np.lib.array_utils.byte_bounds(data)
    return _unwritten(data, dense=high - low == data.nbytes and 0 not in data.strides)


def _unwritten(data: Array, dense: bool) -> Array:
    dtype = dtypes.native(data.dtype)
    if loader.functions is not None:
        out: Array = loader.functions.unwritten(data, dtype, dense)
        return out
    return np.empty_like(data, dtype=dtype, order="K" if dense else "C", subok=False)


_ZERO = bytes(16)
"""What a zero of any number type reads."""


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array of zeros that are all the same element: it takes no memory, and is not to be written to."""
    return np.ndarray(shape, dtype, _ZERO, strides=(0,) * len(shape))  # `np.broadcast_to` is slow to make one


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an empty C-ordered array as results are made: a large one in memory that earlier ones held."""
    return _unwritten(zeros(shape, dtype), dense=False)


def target_of(arguments: Arguments) -> tuple[Array, bool]:
    """Return the array that the kernel writes to, and whether it is `data` itself."""
    data, out = arguments.data, arguments.out
    if out is None or not out.dtype.isnative:
        return unwritten(data), False
    return out, memory.same_memory(out, data)


def same_memory_order(data: Array, target: Array, out: Array | None) -> bool:
    """Whether a plain copy of the memory of `data` to that of `target` is a copy of its elements.

    A fresh target has no gaps; one that the caller gave may have.
    """
    return (
        data.strides == target.strides
        and data.dtype == target.dtype
        and data.flags.aligned
        and (target is not out or (target.flags.forc and not memory.share_memory(data, target)))
    )


def _as_given(arguments: Arguments) -> bool:
    """Whether a kernel gets the very arrays of the call, with nothing about them that only their addresses tell."""
    arrays = (arguments.data, arguments.indices, arguments.updates)
    return not arguments.copies and all(array.flags.aligned for array in arrays)


def planned(arguments: Arguments, threads: int | None, elements: int | None = None) -> tuple[Plan, Arguments]:
    """Return the plan that `execute` would follow, and the arguments as its kernel gets them.

    `elements` is as in `plan.plan`; without it the kernel is the optimised one, where a call may have a baseline one.
    """
    target, in_place = target_of(arguments)
    arguments = repeats.collapse(packing.pack(arguments, target))
    fresh = not in_place and same_memory_order(arguments.data, target, arguments.out)
    return plan.plan(arguments, target, fresh, threads, elements), arguments


def _by_reference(arguments: Arguments) -> Array:
    try:
        result = addressing.by_reference(arguments)
    except IndexOutOfBounds:  # which names the operator of today that the loop is written for
        raise out_of_bounds(arguments) from None
    target = unwritten(arguments.data) if arguments.out is None else arguments.out
    np.copyto(target, result)
    return target
