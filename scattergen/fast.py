"""Small calls that repeat: a signature of C-ordered arrays → an allocation and one call of C.

Two tables. `recent` guesses from what is cheap to ask, and C looks whether the arrays are those of the guess;
`plans` is asked where the guess was wrong, or where there is no caller module that could look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import loader
from .arrays import Array
from .loader import Call

MOST_PLANS = 4096
"""Signatures kept in a table; when there are more, all are forgotten and made again as they come."""

Fast = Callable[[Any, Any, Any], Array | None]
"""Serves one signature of C-contiguous arrays; None for all others, which it does not touch, and for bad indices."""

Key = tuple[Any, ...]
"""The shape of `indices` and the attributes of a call without `out`: enough to guess its plan."""

recent: dict[Key, Fast] = {}
"""A key → what served it last; looks at all three arrays itself, in C. Empty where there is no caller module."""

plans: dict[tuple[Any, ...], Fast] = {}
"""A key, and the types and shapes of three arrays → what serves them."""


def forget() -> None:
    """Empty both tables."""
    recent.clear()
    plans.clear()


def find(key: Key, data: Array, indices: Array, updates: Array) -> Array | None:
    """Return the result of a call whose signature was seen before, None for all others and for bad indices."""
    fast = plans.get((key, *_signature(data, indices, updates)))
    result = fast(data, indices, updates) if fast else None
    if fast and result is not None:
        _guess(key, fast)
    return result


def keep(key: Key, call: Call, data: Array, indices: Array, updates: Array) -> None:
    """Serve C-ordered arrays of these types and shapes by `call` from now on."""
    if len(plans) >= MOST_PLANS:
        plans.clear()
    fast = _fast(call, data, indices, updates)
    plans[(key, *_signature(data, indices, updates))] = fast
    _guess(key, fast)


def _guess(key: Key, fast: Fast) -> None:
    if loader.invoke_arrays is None:
        return
    if len(recent) >= MOST_PLANS:
        recent.clear()
    recent[key] = fast


def _signature(data: Array, indices: Array, updates: Array) -> tuple[Any, ...]:
    return data.dtype, indices.dtype, updates.dtype, data.shape, indices.shape, updates.shape


def _fast(call: Call, data: Array, indices: Array, updates: Array) -> Fast:
    shape, dtype, scratch = data.shape, data.dtype, call.scratch
    empty, from_buffer, number = np.empty, loader.from_buffer, loader.number
    invoke, invoke_arrays, invoke_arrays_with = loader.invoke, loader.invoke_arrays, loader.invoke_arrays_with

    def without_caller(data: Any, indices: Any, updates: Any) -> Array | None:
        out = empty(shape, dtype)
        try:
            pointers = from_buffer(out), from_buffer(data), from_buffer(indices), from_buffer(updates)
        except ValueError:  # not C-contiguous
            return None
        return out if invoke(call.pointer, *pointers, scratch()) == -1 else None

    if invoke_arrays is None or invoke_arrays_with is None:
        return without_caller
    site = np.array(loader.site(call, (data, indices, updates)), np.int64)
    kept = (call, data.dtype, indices.dtype, updates.dtype)

    def fast(data: Any, indices: Any, updates: Any, _kept: object = kept) -> Array | None:
        out = empty(shape, dtype)
        together = (site, out, data, indices, updates)
        return out if invoke_arrays(id(together)) == -1 else None

    def with_scratch(data: Any, indices: Any, updates: Any, _kept: object = kept) -> Array | None:
        out = empty(shape, dtype)
        together = (site, out, data, indices, updates)
        return out if invoke_arrays_with(id(together), number(scratch())) == -1 else None

    return with_scratch if call.scratch_bytes else fast
