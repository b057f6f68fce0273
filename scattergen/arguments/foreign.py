"""Types that NumPy has and C has not (strings, Python's objects, times, records): what is allowed with them.

| kind of `data`         | reductions          | updates of another type                             |
|------------------------|---------------------|-----------------------------------------------------|
| O, T (StringDType)     | none, add, max, min | refused                                             |
| U, S                   | none, add, max, min | taken in any width                                  |
| m, M (times)           | none, max, min; m add | taken in a unit that NumPy casts safely to data's |
| V (records, raw bytes) | none                | refused                                             |

Lists have no type of their own and are read in that of `data`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError
from ..operators.dtypes import DTYPES, DType, native
from ..operators.ops import REDUCTIONS
from ..operators.shapes import Array

_REDUCTIONS = {"M": ("none", "max", "min"), "m": ("none", "add", "max", "min"), "V": ("none",)}
"""What a kind has; strings are in the operators' tables."""

_LISTS = {"U": "U", "S": "S", "T": "UO"}
"""Kinds that NumPy finds in a list whose elements are of a kind; elsewhere reading it tells."""

WORDS = {16: "c128", 8: "u64", 4: "u32", 2: "u16", 1: "u8"}
"""Bytes → the tag of numbers that are moved as these bytes are."""


@lru_cache(maxsize=256)
def word(size: int) -> tuple[DType, int]:
    """Return the longest word of which elements of `size` bytes are made, and how many of them one element has."""
    longest = next((length for length in WORDS if size % length == 0 and size), 1)
    return DTYPES[WORDS[longest]], size // longest


def row(dtype: np.dtype[Any], reduction: str, operator: str) -> DType:
    """Return the type that a spec of the operator names for elements of `dtype`; raise `DTypeError`.

    That is `str` for strings and for objects, i64 for times, and for records the words that are moved, which
    are positions (i64) where records hold references.
    """
    kind = dtype.kind
    if kind not in _REDUCTIONS:
        return DTYPES["str"]
    allowed = _REDUCTIONS[kind]
    if reduction in REDUCTIONS and reduction not in allowed:
        raise DTypeError(
            f"{operator}: data is {dtype}, for which {reduction} means nothing; allowed is {', '.join(allowed)}"
            f"{_advice(dtype, reduction)}"
        )
    return word(dtype.itemsize)[0] if kind == "V" and not dtype.hasobject else DTYPES["i64"]


def _advice(dtype: np.dtype[Any], reduction: str) -> str:
    if dtype.kind == "V":
        name = dtype.names[0] if dtype.names else None
        return f": use the fields one by one, as data[{name!r}]" if name else ""
    if reduction == "add":
        span = str(native(dtype)).replace("datetime", "timedelta")
        return f": add {span} to data.view({span!r}), and view the result as {native(dtype)}"
    return ": use data.view('int64')"


def updates(value: Any, array: Array, dtype: np.dtype[Any], operator: str, copies: list[str]) -> Array:
    """Return updates in the type of data; raise `DTypeError` or, where a value does not fit, `ShapeError`.

    `value` is `array` itself, or what it was read from where that has no type of its own.
    """
    if value is not array:
        return _of_list(value, array, native(dtype), operator)
    if array.dtype.kind in "Mm" and np.can_cast(array.dtype, dtype, "safe"):
        found: Array = array.astype(native(dtype))
        back = found.astype(native(array.dtype))
        wrong = np.flatnonzero((back != array) & ~(np.isnat(back) & np.isnat(array)))
        if wrong.size:
            place = np.unravel_index(wrong[0], array.shape)
            at = ", ".join(map(str, place))
            raise ShapeError(f"{operator}: updates[{at}] is {array[place]}, which {native(dtype)} does not reach")
        copies.append(f"updates: as {native(dtype)}")
        return found
    raise _refused(array, dtype, operator)


def _of_list(value: Any, array: Array, dtype: np.dtype[Any], operator: str) -> Array:
    if array.size and array.dtype.kind not in _LISTS.get(dtype.kind, array.dtype.kind):
        raise _refused(array, dtype, operator)
    try:
        # Of a width that they need: NumPy would cut them to that of `dtype`.
        found: Array = np.asarray(value, dtype=dtype.kind if dtype.kind in "US" else dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise DTypeError(f"{operator}: updates does not fit {dtype}: {error}") from None
    return found


def _refused(array: Array, dtype: np.dtype[Any], operator: str) -> DTypeError:
    wanted = f"'{dtype.kind}'" if dtype.kind in "US" else "object" if dtype.kind == "O" else "data.dtype"
    return DTypeError(f"{operator}: updates is {array.dtype}, data is {dtype}: use updates.astype({wanted})")


def result_type(data: Array, updates: Array) -> np.dtype[Any]:
    """Return the type of a result: that of `data`, for fixed-width strings as wide as the wider of both.

    Joined strings may need more.
    """
    if data.dtype == updates.dtype or data.dtype.kind not in "US":
        return native(data.dtype)
    return native(np.result_type(data.dtype, updates.dtype))


def width(dtype: np.dtype[Any]) -> int:
    """Return how many characters (U) or bytes (S) a fixed-width string has at most."""
    return dtype.itemsize // (4 if dtype.kind == "U" else 1)


def refuse_cut(out: Array, lengths: Array, operator: str) -> None:
    """Raise `DTypeError` where an element of the result, as long as `lengths` says, does not fit `out`."""
    longest = int(lengths.max(initial=0))
    if longest > width(out.dtype):
        place = ", ".join(map(str, np.unravel_index(int(lengths.argmax()), lengths.shape)))
        raise DTypeError(
            f"{operator}: out is {out.dtype}, which would cut the result's element [{place}] of length {longest}:"
            f" use one of {out.dtype.kind}{longest}"
        )
