"""What `b` is in the type of `a`, by the rules of NumPy's idiom, where that gives NumPy's bits; else NumPy computes.

``ufunc.at`` computes each step in the type that the ufunc has for both and casts it back, whatever is lost on the
way. A kernel computes in the type of `a`. Both give the same bits

- where the two types are one,
- for sums and products of integers, since all of it wraps,
- for a wider type where `a` has every value of `b`: max and min of those are exact, and rounding a sum or product first
  to a type of at least 2p + 2 digits and then to one of p gives what rounding once does (Figueroa, 1995).

A complex product is no single step, so that the last does not hold for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from .selection import NotCovered

Convert = Callable[[np.dtype[Any], Any], Array]

_ROUNDS_ONCE = {"e": "fd", "f": "d", "F": "D"}
"""Types of floats → the wider ones (as ``dtype.char``) through which a step may be rounded."""

NUMPYS = np.ndarray.__array_ufunc__
"""What a class has that leaves ufuncs to NumPy."""

_PROBE = 64
"""Values looked at before all are: where some do not fit, most do not."""


def for_assignment(dtype: np.dtype[Any], b: Any) -> Array:
    """Return `b` as an assignment casts it: whatever is lost, with NumPy's warnings; raise what NumPy raises."""
    return np.asarray(b, dtype)


def casts_in_silence(b: Any, cast: Array) -> bool:
    """Whether NumPy says nothing when it casts a scalar: no overflow, underflow, invalid value or lost part."""
    value = cast.flat[0]
    if value == b or (value != value and b != b):
        return True
    real = np.asarray(b).dtype.kind in "iuf" and cast.dtype.kind == "f"
    return bool(real and np.isfinite(value) and abs(value) >= np.finfo(cast.dtype).tiny)


def for_ufunc(ufunc: np.ufunc) -> Convert:
    """Return the conversion for ``ufunc.at``; it raises `NotCovered` where a kernel would give other bits."""
    orders, sums = ufunc in (np.maximum, np.minimum), ufunc is np.add

    def convert(dtype: np.dtype[Any], b: Any) -> Array:
        if getattr(type(b), "__array_ufunc__", NUMPYS) is not NUMPYS:
            raise NotCovered(f"b is a {type(b).__name__}, which may have a say in what {ufunc.__name__} is")
        given = np.asarray(b)
        if dtype.kind == "c" and orders:
            raise NotCovered("complex numbers are compared by their real parts first")
        loop = _loop(ufunc, dtype, given.dtype)
        if loop is None:
            raise NotCovered(f"{ufunc.__name__} of {dtype} and {given.dtype} has no loop of one type")
        if loop == dtype:
            return given.astype(dtype, copy=False)
        if dtype.kind in "iu" and loop.kind in "iu":
            return _exact(given, dtype, loop) if orders else given.astype(dtype)
        if loop.char in _ROUNDS_ONCE.get(dtype.char, "") and (dtype.kind == "f" or sums):
            return _exact(given, dtype, loop)
        raise NotCovered(f"{ufunc.__name__} of {dtype} and {given.dtype} is computed in {loop}")

    return convert


@lru_cache(maxsize=256)
def _loop(ufunc: np.ufunc, dtype: np.dtype[Any], given: np.dtype[Any]) -> np.dtype[Any] | None:
    """Return the type in which a ufunc computes, None where its operands and result have different ones."""
    try:
        found = set(ufunc.resolve_dtypes((dtype, given, None)))
    except TypeError:
        return None
    return found.pop() if len(found) == 1 else None


def _exact(given: Array, dtype: np.dtype[Any], loop: np.dtype[Any]) -> Array:
    """Return values in the narrower `dtype` that has them all; raise `NotCovered` if it has not."""
    first = given[(slice(0, _PROBE),) * given.ndim]
    with np.errstate(all="ignore"):
        for values in (first, given) if given.size > first.size else (given,):
            wide = values.astype(loop, copy=False)
            narrow = wide.astype(dtype)
            if not ((narrow == wide) | (wide != wide)).all():
                raise NotCovered(f"b of {given.dtype} has values that {dtype} has not, and each step is made in {loop}")
    return narrow
