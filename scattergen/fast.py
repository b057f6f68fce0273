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
from .plan import MOST_PLANS

Fast = Callable[[Any, Any, Any, Any], Array | None]
"""Serves one signature of C-ordered arrays (data, indices, updates, out); None for all others, which it does not
touch, and for bad indices."""

Key = tuple[Any, ...]
"""The operator, the shape of `indices`, the attributes, whether `out` is given and is `data`: enough for a guess."""

recent: dict[Key, Fast] = {}
"""A key → what served it last; looks at all three arrays itself, in C. Empty where there is no caller module."""

plans: dict[tuple[Any, ...], Fast] = {}
"""A key, and the types and shapes of three arrays → what serves them."""


def forget() -> None:
    """Empty both tables."""
    recent.clear()
    plans.clear()


def find(key: Key, data: Array, indices: Array, updates: Array, out: Array | None) -> Array | None:
    """Return the result of a call whose signature was seen before, None for all others and for bad indices."""
    fast = plans.get((key, *_signature(data, indices, updates)))
    result = fast(data, indices, updates, out) if fast else None
    if fast and result is not None:
        _guess(key, fast)
    return result


def keep(key: Key, call: Call, data: Array, indices: Array, updates: Array, out: Array | None) -> None:
    """Serve C-ordered arrays of these types and shapes by `call` from now on."""
    if out is not None and loader.invoke_into is None:
        return
    if len(plans) >= MOST_PLANS:
        plans.clear()
    fast = _fresh(call, data, indices, updates) if out is None else _into(call, data, indices, updates)
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


def _fresh(call: Call, data: Array, indices: Array, updates: Array) -> Fast:
    """Return what writes to arrays of its own."""
    shape, dtype, scratch = data.shape, data.dtype, call.scratch
    empty, from_buffer, number = np.empty, loader.from_buffer, loader.number
    invoke, invoke_arrays, invoke_arrays_with = loader.invoke, loader.invoke_arrays, loader.invoke_arrays_with

    def without_caller(data: Any, indices: Any, updates: Any, _: Any) -> Array | None:
        out = empty(shape, dtype)
        try:
            pointers = from_buffer(out), from_buffer(data), from_buffer(indices), from_buffer(updates)
        except ValueError:  # not C-contiguous
            return None
        return out if invoke(call.pointer, *pointers, scratch()) == -1 else None

    if invoke_arrays is None or invoke_arrays_with is None:
        return without_caller
    site = np.array(loader.site(call.pointer, (data, indices, updates)), np.int64)
    kept = (call, data.dtype, indices.dtype, updates.dtype)

    def fast(data: Any, indices: Any, updates: Any, _: Any, _kept: object = kept) -> Array | None:
        out = empty(shape, dtype)
        together = (site, out, data, indices, updates)
        return out if invoke_arrays(id(together)) == -1 else None

    def with_scratch(data: Any, indices: Any, updates: Any, _: Any, _kept: object = kept) -> Array | None:
        out = empty(shape, dtype)
        together = (site, out, data, indices, updates)
        return out if invoke_arrays_with(id(together), number(scratch())) == -1 else None

    return with_scratch if call.scratch_bytes else fast


def _into(call: Call, data: Array, indices: Array, updates: Array) -> Fast:
    """Return what writes to the caller's array, once every index is checked."""
    invoke_into, number, scratch, needs_scratch = loader.invoke_into, loader.number, call.scratch, call.scratch_bytes
    assert invoke_into is not None
    site = np.array(loader.site(call.checked, (data, indices, updates)), np.int64)
    kept = (call, data.dtype, indices.dtype, updates.dtype)

    def into(data: Any, indices: Any, updates: Any, out: Any, _kept: object = kept) -> Array | None:
        together = (site, out, data, indices, updates)
        found: Array | None = (
            out if invoke_into(id(together), number(scratch()) if needs_scratch else 0) == -1 else None
        )
        return found

    return into
