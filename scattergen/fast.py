"""Small calls that repeat: the arrays and attributes of a call that was answered before → its result.

The caller module has a table of them in C (templates/python/caller.c). Where there is no such module, or where no
GIL guards its table, a dictionary here does the same, and takes some microseconds longer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import loader
from .arrays import Array
from .loader import Call
from .ops import Op
from .plan import MOST_PLANS

Fast = Callable[[Any, Any, Any, Any], Array | None]
"""Serves C-ordered arrays of one kind (data, indices, updates, out); None for all others, which it does not touch,
and for bad indices."""

_TYPES = (Op, int, str, bool, type(None))
"""Types of attributes that C compares: by identity, or by value where both are whole numbers or texts."""

_plans: dict[tuple[Any, ...], Fast] = {}
"""What the caller module's table holds, where that is not used."""


def _recall(data: Any, indices: Any, updates: Any, out: Any, *attributes: Any) -> Array | None:
    try:
        fast = _plans.get(_key(data, indices, updates, out, attributes))
    except (AttributeError, TypeError):  # no array, or an attribute that is wrong; the checks say so
        return None
    return fast(data, indices, updates, out) if fast else None


recall: Callable[..., Array | None] = _recall
"""Return the result of a call like one that was kept, None for all others and for bad indices.

Takes data, indices, updates and out, then the attributes in the order of `dispatch.run`.
"""


def forget() -> None:
    """Drop all that was kept."""
    global recall
    recall = _recall
    _plans.clear()
    if loader.functions is not None:
        loader.functions.forget()


def keep(
    call: Call, data: Array, indices: Array, updates: Array, out: Array | None, attributes: tuple[Any, ...]
) -> None:
    """Serve C-ordered arrays like these by `call` from now on."""
    global recall
    attributes = tuple(int(one) if isinstance(one, np.integer) else one for one in attributes)
    functions = loader.functions
    if any(type(one) not in _TYPES for one in attributes) or (functions is None and out is not None):
        return
    given = (data, indices, updates, out)
    described = loader.described(call, call.pointer if out is None else call.checked)
    if functions is not None and _one_at_a_time():
        functions.remember(*described, *given, *attributes)
        recall = functions.recall
        return
    if len(_plans) >= MOST_PLANS:
        _plans.clear()
    served = _without_caller(call, data) if functions is None else functions.serve(*described, *given)
    _plans[_key(*given, attributes)] = served


def _one_at_a_time() -> bool:
    """Whether a GIL is there, which guards the table."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def _key(data: Any, indices: Any, updates: Any, out: Any, attributes: tuple[Any, ...]) -> tuple[Any, ...]:
    return (
        data.dtype, indices.dtype, updates.dtype, data.shape, indices.shape, updates.shape, out is None, out is data,
        *attributes, *map(type, attributes),
    )  # fmt: skip


def _without_caller(call: Call, data: Array) -> Fast:
    """Return what writes to arrays of its own."""
    shape, dtype, scratch = data.shape, data.dtype, call.scratch
    empty, from_buffer, invoke = np.empty, loader.from_buffer, loader.invoke

    def fast(data: Any, indices: Any, updates: Any, _: Any) -> Array | None:
        out = empty(shape, dtype)
        try:
            pointers = from_buffer(out), from_buffer(data), from_buffer(indices), from_buffer(updates)
        except ValueError:  # not C-contiguous
            return None
        return out if invoke(call.pointer, *pointers, scratch()) == -1 else None

    return fast
