"""`add`, `max` and `min` of strings and of Python's objects: combined in order, target by target.

No kernel can do this: what is joined and compared belongs to Python. Sums join, `max` and `min` keep the old
value unless a new one is strictly greater or less (or is unequal to itself, as NaN is). Nothing is written here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ..errors import DTypeError
from . import addressing, foreign
from .arrays import Arguments, Array

Step = Callable[[Any, Any], Any]
"""Combines an old value and an update."""

_LONG = 64
"""Updates of one target from which on strings are joined at once: one by one, a long text is copied each time."""


def combine(arguments: Arguments) -> tuple[Array, Array, np.dtype[Any]]:
    """Return the flat places that change, their new elements and the type of the result.

    Raise `IndexOutOfBounds`, or `DTypeError` where values cannot be combined.
    """
    data, updates, spec = arguments.data, arguments.updates, arguments.spec
    bad = None if arguments.checked else addressing.out_of_bounds(arguments)
    if bad is not None:
        raise bad
    places, slots = np.unique(addressing.targets(arguments).reshape(-1), return_inverse=True)
    cells = data.reshape(-1)[places].astype(object).tolist()
    new = updates.reshape(-1).astype(object).tolist()
    step = _with_missing(_STEPS[spec.reduction], data.dtype)

    def refused(slot: int, error: TypeError) -> DTypeError:
        at = ", ".join(map(str, np.unravel_index(int(places[slot]), data.shape)))
        return DTypeError(f"{spec.op}: {spec.reduction} at data[{at}]: {error}")

    many = spec.reduction == "add" and slots.size > 0 and int(np.bincount(slots).max()) >= _LONG
    (_join if many else _apply)(step, cells, slots.tolist(), new, refused)
    dtype = foreign.result_type(data, updates)
    if dtype.kind in "US":
        longest = max(map(len, cells), default=0)
        dtype = np.dtype(f"{dtype.kind}{max(longest, foreign.width(dtype))}")
    # Objects that are sequences stay elements, which `np.array` would take apart.
    found = np.fromiter(cells, dtype, len(cells)) if dtype.kind == "O" else np.array(cells, dtype)
    return places, found, dtype


Refused = Callable[[int, TypeError], DTypeError]


def _apply(step: Step, cells: list[Any], slots: list[int], new: list[Any], refused: Refused) -> None:
    """Combine each of `new` with the one of `cells` that stands in its slot, in order."""
    for slot, value in zip(slots, new, strict=True):
        try:
            cells[slot] = step(cells[slot], value)
        except TypeError as error:
            raise refused(slot, error) from error


def _join(step: Step, cells: list[Any], slots: list[int], new: list[Any], refused: Refused) -> None:
    """Do as `_apply` does for a step that joins, in time that grows with the length of what comes out."""
    groups: list[list[Any]] = [[cell] for cell in cells]
    for slot, value in zip(slots, new, strict=True):
        groups[slot].append(value)
    for slot, group in enumerate(groups):
        kinds = set(map(type, group)) if len(group) >= _LONG else set()
        try:
            if kinds == {str}:
                cells[slot] = "".join(group)
            elif kinds == {bytes}:
                cells[slot] = b"".join(group)
            else:
                cells[slot] = reduce(step, group)
        except TypeError as error:
            raise refused(slot, error) from error


def _with_missing(step: Step, dtype: np.dtype[Any]) -> Step:
    """Return the step for a type that may have a value for missing strings, which spreads where it is like NaN."""
    if dtype.kind != "T" or not hasattr(dtype, "na_object"):
        return step
    missing = dtype.na_object
    try:
        spreads = bool(missing != missing)
    except TypeError:  # that of pandas is neither equal nor unequal to itself
        spreads = True
    return (lambda old, new: missing if old is missing or new is missing else step(old, new)) if spreads else step


_STEPS: dict[str, Step] = {
    "add": operator.add,
    "max": lambda old, new: new if new > old or new != new else old,
    "min": lambda old, new: new if new < old or new != new else old,
}
