"""`add`, `max` and `min` of strings and of Python's objects: combined in order, one target after another.

No kernel can do this: what is joined and compared belongs to Python. Sums join, `max` and `min` keep the old
value unless a new one is strictly greater or less (or is unequal to itself, as NaN is). Nothing is written here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import checks, foreign
from .arrays import Arguments, Array
from .errors import DTypeError

Fold = Callable[[list[Any]], Any]
"""Combines the old value of a target with its updates, in order."""

_LONG = 8
"""Values from which it pays to ask whether all are strings: joined one by one, a long text is copied each time."""


def combine(arguments: Arguments) -> tuple[Array, Array, np.dtype[Any]]:
    """Return the flat places that change, their new elements and the type of the result.

    Raise `IndexOutOfBounds`, or `DTypeError` where values cannot be combined.
    """
    data, updates, spec = arguments.data, arguments.updates, arguments.spec
    fold = FOLDS[spec.reduction]
    targets = _targets(arguments).reshape(-1)
    order = np.argsort(targets, kind="stable")
    ordered = targets[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    places = ordered[starts]
    old = _flat_objects(data)[places].tolist()
    new = _flat_objects(updates)[order].tolist()
    limits = [*starts.tolist(), len(new)]
    missing = _missing(data.dtype)
    values = []
    for number, value in enumerate(old):
        group = [value, *new[limits[number] : limits[number + 1]]]
        try:
            values.append(missing[0] if missing and any(each is missing[0] for each in group) else fold(group))
        except TypeError as error:
            at = ", ".join(map(str, np.unravel_index(int(places[number]), data.shape)))
            raise DTypeError(f"{spec.op}: {spec.reduction} at data[{at}]: {error}") from error
    dtype = foreign.result_type(data, updates)
    if dtype.kind in "US":
        longest = max(map(len, values), default=0)
        dtype = np.dtype(f"{dtype.kind}{max(longest, foreign.width(dtype))}")
    return places, _array(values, dtype), dtype


def _targets(arguments: Arguments) -> Array:
    """Return the flat place in data of each update."""
    bad = None if arguments.checked else checks.out_of_bounds(arguments)
    if bad is not None:
        raise bad
    if not arguments.updates.size:
        return np.zeros(0, np.int64)
    spec, shape = arguments.spec, arguments.data.shape
    indices = np.array(arguments.indices, np.int64, order="C")
    if spec.op.addressing == "axis":
        return checks.along_axis(indices, shape, spec.place)
    size = math.prod(shape[spec.place :])
    slices: Array = checks.by_tuples(indices, shape[: spec.place])[..., None] * size + np.arange(size)
    return slices


def _flat_objects(array: Array) -> Array:
    return array.astype(object, order="C").reshape(-1)


def _array(values: list[Any], dtype: np.dtype[Any]) -> Array:
    """Return a 1-d array; values that are sequences stay elements."""
    if dtype.kind != "O":
        return np.array(values, dtype)
    found = np.empty(len(values), dtype)
    for place, value in enumerate(values):
        found[place] = value
    return found


def _missing(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Return the value that stands for missing strings where it spreads as NaN does; nothing for other types."""
    if dtype.kind != "T" or not hasattr(dtype, "na_object"):
        return ()
    try:
        return (dtype.na_object,) if dtype.na_object != dtype.na_object else ()
    except TypeError:  # that of pandas is neither equal nor unequal to itself
        return (dtype.na_object,)


def _joined(values: list[Any]) -> Any:
    if len(values) >= _LONG:
        kinds = set(map(type, values))
        if kinds == {str}:
            return "".join(values)
        if kinds == {bytes}:
            return b"".join(values)
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _greatest(values: list[Any]) -> Any:
    found = values[0]
    for value in values[1:]:
        if value > found or value != value:
            found = value
    return found


def _least(values: list[Any]) -> Any:
    found = values[0]
    for value in values[1:]:
        if value < found or value != value:
            found = value
    return found


FOLDS: dict[str, Fold] = {"add": _joined, "max": _greatest, "min": _least}
