"""A call in NumPy's idiom whose signature was answered before → its kernel, in a few microseconds.

For arrays in C order, indexed by arrays of whole numbers and full slices. Whatever else a call turns out to be (arrays
that share memory, that lie elsewise, a value that has to be refused), it is left to the long way, untouched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments.arrays import Arguments, Array
from ..arguments.memory import unrepeated
from ..load import loader
from ..load.loader import NULL
from .casting import Convert, casts_in_silence
from .selection import NotCovered

UpdateAgain = Callable[[Any, Any, Any], bool]
"""A function of ``a``, ``indices`` and ``b`` that updates ``a`` and says so, or has done nothing."""

MOST_PACKED = 1 << 14
"""Index tuples up to which they are packed here; above it pays to see whether they lie so already."""

_ndarray = np.ndarray
_ALL = slice(None)


def signature(indices: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return what a plan depends on in an index expression, None where there is no plan for it."""
    parts: list[Any] = []
    for one in indices:
        if type(one) is _ndarray and one.ndim:  # one of no dims is a whole number
            parts.append((one.dtype, one.shape))
        elif type(one) is slice and one == _ALL:
            parts.append(None)
        else:
            return None
    return tuple(parts)


def lists_read(indices: Any) -> Any:
    """Return an index expression, its lists read as NumPy reads them; None unless they are of whole numbers."""
    if type(indices) is list:
        return _array_of(indices)
    if type(indices) is not tuple or not any(type(one) is list for one in indices):
        return None
    read = tuple(_array_of(one) if type(one) is list else one for one in indices)
    return None if any(one is None and given is not None for one, given in zip(read, indices, strict=True)) else read


def _array_of(listed: list[Any]) -> Array | None:
    try:
        array = np.array(listed)
    except (ValueError, TypeError, OverflowError):
        return None
    return array if array.dtype == np.intp else None


def updating(
    arguments: Arguments, call: loader.Call, convert: Convert, a: Array, indices: Any, b: Any
) -> UpdateAgain | None:
    """Return the function that serves arrays of the types and shapes of these; None where these are not for it.

    `arguments` are those with which `call` served them.
    """
    kind = None if type(b) is _ndarray else type(b)
    if not a.flags.c_contiguous or (kind is None and not b.flags.c_contiguous):
        return None
    read, dtype = _read(arguments.indices, indices), a.dtype
    if read is None:
        return None
    updates = unrepeated(arguments.updates)
    if kind is None and (b.size == 1) != (updates.size == 1):
        return None  # it was written out
    spread = _spreading(convert, updates.shape) if updates.size > 1 and kind is not None else convert
    cast = kind is not None or b.dtype != dtype
    with np.errstate(all="ignore"):  # said already, by the call that this one is like
        like = spread(dtype, b) if cast else b
    plain = _invoking(call, (a, read, like), spread if cast else None, kind)
    if type(indices) is not tuple:
        return plain
    places = [place for place, one in enumerate(indices) if type(one) is _ndarray]
    return _taking(plain, places[0]) if len(places) == 1 else _packing(plain, places, read.shape, read.dtype)


def _read(read: Array, indices: Any) -> Array | None:
    """Return an array like the one that a kernel is to be given, where that is an index array or packed of some."""
    arrays = [one for one in indices if type(one) is _ndarray] if type(indices) is tuple else [indices]
    if len(arrays) > 1:
        packs = read.size <= MOST_PACKED * len(arrays) and all(one.dtype.kind in "iu" for one in arrays)
        return np.empty(read.shape, read.dtype) if packs else None
    only: Array = arrays[0]
    as_it_is = only.flags.c_contiguous and loader.address(read) == loader.address(only)  # else it was cast
    return only if as_it_is else None


def _spreading(convert: Convert, shape: tuple[int, ...]) -> Convert:
    return lambda dtype, b: np.full(shape, convert(dtype, b))


def _taking(plain: UpdateAgain, place: int) -> UpdateAgain:
    return lambda a, indices, b: plain(a, indices[place], b)


def _packing(plain: UpdateAgain, places: list[int], shape: tuple[int, ...], dtype: np.dtype[Any]) -> UpdateAgain:
    empty, columns = np.empty, list(enumerate(places))

    def packed(a: Any, indices: Any, b: Any) -> bool:
        tuples = empty(shape, dtype)
        for column, place in columns:
            tuples[..., column] = indices[place]
        return plain(a, tuples, b)

    return packed


def _invoking(
    call: loader.Call, arrays: tuple[Array, Array, Array], convert: Convert | None, kind: type[Any] | None
) -> UpdateAgain:
    """Return the call of a kernel on C-contiguous arrays like these; of a scalar of `kind` if that is given.

    A scalar that is the last one again is cast already, unless NumPy has something to say about that. C looks at the
    arrays where there is a caller module, Python where there is none.
    """
    dtype, functions = arrays[0].dtype, loader.functions
    served = functions and functions.serve(*loader.described(call, call.checked), *arrays, arrays[0])
    like = tuple((array.dtype, array.shape) for array in arrays)  # keeps the dtypes, and no array
    last: tuple[Any, Any] = (None, None)

    def plain(a: Any, indices: Any, b: Any) -> bool:
        if served is None:
            return _invoke(call, like, a, indices, b)
        return served(a, indices, b, a) is not None

    def cast_first(a: Any, indices: Any, b: Any) -> bool:
        nonlocal last
        given, cast = last
        if kind is None or given is not b:
            if kind is not None and type(b) is not kind:
                return False
            try:
                cast = convert(dtype, b)  # type: ignore[misc]  # there is one where this is used
            except (NotCovered, ValueError, TypeError, OverflowError):  # the long way says it better
                return False
            if kind is not None:
                last = (b, cast) if casts_in_silence(b, cast) else (None, None)
        return plain(a, indices, cast)

    return plain if convert is None else cast_first


def _invoke(call: loader.Call, like: tuple[tuple[Any, Any], ...], a: Any, indices: Any, b: Any) -> bool:
    """Do what a site of the caller module does."""
    for one, (dtype, shape) in zip((a, indices, b), like, strict=True):
        if type(one) is not _ndarray or one.dtype != dtype or one.shape != shape:
            return False
    if not a.flags.writeable or np.may_share_memory(a, indices) or np.may_share_memory(a, b):
        return False
    try:
        pointers = loader.from_buffer(a), NULL, loader.from_buffer(indices), loader.from_buffer(b)
    except ValueError:  # not C-contiguous
        return False
    return loader.invoke(call.checked, *pointers, call.scratch()) == -1
