"""Small calls that repeat: the arrays and attributes of a call that was answered before → its result.

The caller module has a table of them in C (templates/python/table.c). Where there is no such module, or where no
GIL guards its table, a dictionary here does the same, and takes a microsecond or two longer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..load import loader
from ..load.loader import NULL, Call
from ..operators.ops import Op
from ..operators.spec import OpSpec
from .plan import MOST_PLANS

Replay = Callable[[Any, Any, Any, Any], Array | None]
"""Returns the result of a call on arrays (data, indices, updates, out) like those that were served before; None for all
others, which it does not touch, and for bad indices."""

Keep = Callable[[Call, Array, Array, Array, Array | None], None]
"""Takes a call and the arrays (data, indices, updates, out) that it served, and serves others like them by it."""

_TYPES = (Op, OpSpec, int, str, bool, type(None))
"""Types of attributes that C compares: by identity, or by value where both are whole numbers or texts."""

_NUMPY_INTEGERS = frozenset(np.dtype(code).type for code in np.typecodes["AllInteger"])

_plans: dict[tuple[Any, ...], Replay] = {}
"""What the caller module's table holds, where that is not used."""


def _recall(data: Any, indices: Any, updates: Any, out: Any, *attributes: Any) -> Array | None:
    if not type(data) is type(indices) is type(updates) is np.ndarray:  # a masked array has all else in common
        return None
    try:
        replay = _plans.get(key(data, indices, updates, out, *attributes))
    except Exception:  # an attribute that cannot be hashed or compared; the checks say what is wrong with it
        return None
    return replay(data, indices, updates, out) if replay else None


recall: Callable[..., Array | None] = _recall
"""Return the result of a call like one that was kept, None for all others and for bad indices.

Takes data, indices, updates and out, then the attributes as `keeper` got them.
"""


def forget() -> None:
    """Drop all that was kept; ask the caller module from now on, if one has come."""
    global recall, _plans
    recall = loader.functions.recall if loader.functions is not None and _one_at_a_time() else _recall
    _plans = {}  # not cleared: see `plan.forget`
    if loader.functions is not None:
        loader.functions.forget()


def keeper(*attributes: Any) -> Keep:
    """Return what keeps a call for `recall` with these attributes."""
    return lambda call, data, indices, updates, out: _keep(call, data, indices, updates, out, attributes)


def _keep(
    call: Call, data: Array, indices: Array, updates: Array, out: Array | None, attributes: tuple[Any, ...]
) -> None:
    attributes = tuple(int(one) if type(one) in _NUMPY_INTEGERS else one for one in attributes)
    if any(type(one) not in _TYPES for one in attributes):
        return
    pointer, given = call.pointer if out is None else call.checked, (data, indices, updates, out)
    if loader.functions is not None and _one_at_a_time():
        loader.functions.remember(*loader.described(call, pointer), *given, *attributes)
        return
    served = serving(call, pointer, data, indices, updates, out)
    if served is not None:
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        _plans[key(*given, *attributes)] = served


def serving(call: Call, pointer: Any, data: Array, indices: Array, updates: Array, out: Array | None) -> Replay | None:
    """Return what serves arrays like these by a call, one of whose pointers is `pointer`; None where nothing does.

    With a caller module it looks at the arrays; without one whoever asks it has to know that they are like these.
    """
    if loader.functions is not None:
        return loader.functions.serve(*loader.described(call, pointer), data, indices, updates, out)
    if out is None and not data.flags.c_contiguous:
        return None
    return _without_caller(call, pointer, data, out)


def looks(served: Replay) -> bool:
    """Whether this looks at the arrays by itself, as the caller module's functions do."""
    return isinstance(served, BuiltinFunctionType)


def _one_at_a_time() -> bool:
    """Whether a GIL guards the table. A build that does without turns one on while it imports modules, for moments."""
    return "t" not in getattr(sys, "abiflags", "")


def key(data: Any, indices: Any, updates: Any, out: Any, *attributes: Any) -> tuple[Any, ...]:
    """Return all that makes calls on arrays alike."""
    return (
        data.dtype, indices.dtype, updates.dtype, data.shape, indices.shape, updates.shape,
        data.strides, indices.strides, updates.strides, out is None, out is data, *attributes, *map(type, attributes),
    )  # fmt: skip


def _without_caller(call: Call, pointer: Any, data: Array, out: Array | None) -> Replay:
    shape, scratch = data.shape, call.scratch
    address, invoke, empty, may_share = loader.address, loader.invoke, np.empty, np.may_share_memory

    def fresh(data: Any, indices: Any, updates: Any, _: Any) -> Array | None:
        out = empty(shape, data.dtype)  # its own one, which may have metadata
        status = invoke(pointer, address(out), address(data), address(indices), address(updates), scratch())
        return out if status == -1 else None

    def inside(data: Any, indices: Any, updates: Any, _: Any) -> Array | None:
        if not data.flags.writeable or may_share(data, indices) or may_share(data, updates):
            return None
        status = invoke(pointer, address(data), NULL, address(indices), address(updates), scratch())
        return data if status == -1 else None

    def apart(data: Any, indices: Any, updates: Any, out: Any) -> Array | None:
        if type(out) is not np.ndarray or (out.dtype, out.shape, out.strides) != like or not out.flags.writeable:
            return None
        if may_share(out, data) or may_share(out, indices) or may_share(out, updates):
            return None
        status = invoke(pointer, address(out), address(data), address(indices), address(updates), scratch())
        return out if status == -1 else None

    like = (data.dtype, shape, data.strides)  # of an output to which the kernel copies data
    return fresh if out is None else inside if out is data else apart
