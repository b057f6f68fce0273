"""A call in NumPy's idiom whose signature was answered before → its kernel, in a few microseconds.

For arrays in C order, indexed by arrays of whole numbers and full slices. Whatever else a call turns out to be (arrays
that share memory, that lie elsewise, a value that has to be refused), it is left to the long way, untouched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import loader
from .arrays import Array
from .casting import Convert
from .loader import NULL
from .selection import NotCovered

Fast = Callable[[Any, Any, Any], bool]
"""A function of ``a``, ``indices`` and ``b`` that does the call and says so, or has done nothing."""

MOST_PACKED = 4096
"""Index tuples up to which they are packed here; above it pays to see whether they lie so already."""

_ndarray = np.ndarray
_ALL = slice(None)


def signature(indices: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return what a plan depends on in an index expression, None where there is no plan for it."""
    parts: list[Any] = []
    for one in indices:
        if type(one) is _ndarray:
            parts.append((one.dtype, one.shape))
        elif type(one) is slice and one == _ALL:
            parts.append(None)
        else:
            return None
    return tuple(parts)


def fast(call: loader.Call, convert: Convert, read: Array, a: Array, indices: Any, b: Any) -> Fast | None:
    """Return the function that serves arrays of the types and shapes of these; None where these are not for it.

    `read` are the indices that the kernel of `call` was given.
    """
    scalar = type(b) is not _ndarray
    if not (a.flags.c_contiguous and (scalar or b.flags.c_contiguous)):
        return None
    plain = _invoking(call, a.dtype, convert if scalar or b.dtype != a.dtype else None, scalar)
    given = indices if type(indices) is tuple else (indices,)
    places = [place for place, one in enumerate(given) if type(one) is _ndarray]
    only = given[places[0]]
    if len(places) == 1:
        if not only.flags.c_contiguous or loader.address(read) != loader.address(only):
            return None  # they were cast
        return plain if type(indices) is not tuple else _taking(plain, places[0])
    if read.size > MOST_PACKED * len(places) or not all(given[place].dtype.kind in "iu" for place in places):
        return None
    return _packing(plain, places, read.shape, read.dtype) if read.flags.c_contiguous else None


def _taking(plain: Fast, place: int) -> Fast:
    return lambda a, indices, b: plain(a, indices[place], b)


def _packing(plain: Fast, places: list[int], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Fast:
    empty, columns = np.empty, list(enumerate(places))

    def packed(a: Any, indices: Any, b: Any) -> bool:
        tuples = empty(shape, dtype)
        for column, place in columns:
            tuples[..., column] = indices[place]
        return plain(a, tuples, b)

    return packed


def _invoking(call: loader.Call, dtype: np.dtype[Any], convert: Convert | None, scalar: bool) -> Fast:
    """Return the call of a kernel on C-contiguous arrays; a scalar that is the last one again is cast already."""
    pointer, scratch, needs_scratch = call.checked, call.scratch, call.scratch_bytes > 0
    from_buffer, share = loader.from_buffer, np.may_share_memory
    last: tuple[Any, Any] = (None, None)

    def invoking(a: Any, indices: Any, b: Any) -> bool:
        nonlocal last
        flags = a.flags
        if not flags.writeable:
            return False
        try:
            if convert is not None:
                given, cast = last
                if given is not b or not scalar:
                    cast = convert(dtype, b)
                    last = (b, cast)
                b = cast
            if flags.owndata and indices.base is b.base is None:
                if a is b or a is indices:
                    return False
            elif share(a, indices) or share(a, b):
                return False
            return (
                loader.invoke(
                    pointer,
                    from_buffer(a),
                    NULL,
                    from_buffer(indices),
                    from_buffer(b),
                    scratch() if needs_scratch else NULL,
                )
                == -1
            )
        except (NotCovered, ValueError, OverflowError):  # not C-contiguous, or what the long way says better
            return False

    return invoking
