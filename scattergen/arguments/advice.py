"""What to do with an array whose type will not do, in words; imported only for an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DTypeError
from ..operators.ops import Op
from ..operators.shapes import Array
from . import holders


def words_for(value: Any, name: str) -> str:
    """Return how a caller writes the argument `name`, which is `value`, as an array."""
    return name if holders.has_type(value) else f"np.asarray({name})"


def to_indices(array: Array, name: str, plain: bool) -> str:
    """Return the end of a message: how an array that is none of indices becomes one; empty where it does not.

    `plain` says that it was read from a list, which has no type of its own.
    """
    if array.dtype.kind == "b":
        return f": a mask names its True elements, which np.flatnonzero({name}) or np.argwhere({name}) lists"
    if plain:
        # The whole number past int64 that makes NumPy read floats, or uint64, fits no index type.
        whole = array.dtype.kind == "f" and bool((np.abs(array) < 1 << 63).all())
        return f": use np.asarray({name}).astype('int64'), where every value is whole" if whole else ""
    if array.dtype.kind not in "uif":
        return ""
    limit = {"f": ", where every value is whole", "u": ", where every value is below 2**63"}
    narrow = array.dtype.kind == "u" and array.dtype.itemsize < 8
    return f": use {name}.astype('int64'){'' if narrow else limit.get(array.dtype.kind, '')}"


def to_type_of_data(array: Array, words: str, native: np.dtype[Any], op: Op) -> str:
    """Return what to do with updates of another type than that of the data."""
    data, cast = op.inputs.data, f"use {words}.astype({str(native)!r})"
    if np.can_cast(array.dtype, native, "same_kind"):
        return cast
    return f"use {data}.astype({str(array.dtype)!r}), or {cast[4:]} where what that loses does not matter"


def to_type_of_kernel(value: Any, name: str, given: np.dtype[Any], takes: str) -> str:
    """Return what is wrong with an argument in whose type a kernel does not exist, and what to do."""
    return (
        f"{name} is {given}, this kernel takes {takes}: use {words_for(value, name)}.astype({takes!r}), or a kernel"
        f" for {given} {name}"
    )


def not_writable(who: Op | str, value: Any, name: str) -> DTypeError:
    """Return the error for an argument that is to be written to, and is no NumPy array."""
    package, advice = type(value).__module__.partition(".")[0], ""
    if package == "torch":
        advice = f": use {name}.numpy(), which has the memory of {name} (bfloat16: docs/guide.md)"
    elif package in ("jax", "jaxlib"):
        advice = f": nothing can be written to arrays of jax; use np.array({name})"
    return DTypeError(f"{who}: {name} is a {type(value).__name__}, allowed is a NumPy array, to write to{advice}")
