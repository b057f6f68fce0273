"""The functions of NumPy's in-place idiom: each an `Idiom` of inplace.py, and NumPy's own function behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..call.explained import REFERENCE, Explanation, explain_arguments
from ..errors import ScattergenError, ShapeError
from ..operators.bounds import find_out_of_bounds
from .casting import NUMPYS, for_assignment, for_ufunc
from .inplace import NO_KERNEL, Idiom, misfit, without_extra_dims
from .selection import NotCovered, as_read

_CAST_FREELY = "biufc"
"""Kinds of types whose values can all be cast to each other."""


_MOST_DIMS_OF_AT = 32
"""Dims with which ``ufunc.at`` works: NumPy 2.4 dies of more."""


def _ufunc_at(ufunc: np.ufunc) -> Callable[..., None]:
    """Return ``ufunc.at`` for arguments of any kind, with a `b` that fits: NumPy 2.4 dies of some that do not."""

    def at(a: Any, indices: Any, b: Any) -> None:
        if all(getattr(type(one), "__array_ufunc__", NUMPYS) is NUMPYS for one in (a, indices, b)):
            named, values = np.broadcast_to(np.False_, a.shape)[indices], np.asarray(b)
            if max(a.ndim, named.ndim) > _MOST_DIMS_OF_AT:
                raise ShapeError(
                    f"at.{ufunc.__name__}: {max(a.ndim, named.ndim)} dims, allowed are {_MOST_DIMS_OF_AT} where NumPy"
                    " answers: with more, its ufunc.at ends the process"
                )
            if values.shape != named.shape:
                try:
                    b = np.broadcast_to(without_extra_dims(values, named.ndim), named.shape)
                except ValueError:
                    raise misfit(ufunc.__name__, values.shape, named.shape) from None
            if named.ndim and (a.dtype.hasobject or values.dtype.hasobject):
                _all_or_nothing(ufunc, a, indices, b)
                return
        ufunc.at(a, indices, b)

    return at


def _all_or_nothing(ufunc: np.ufunc, a: Array, indices: Any, b: Any) -> None:
    """Call ``ufunc.at``; where one of Python's objects fails on the way, put back what had been written."""
    plain = np.asarray(a)
    # Indices may lie in the memory that is written.
    places = tuple(map(_own, indices)) if type(indices) is tuple else _own(indices)
    before = plain[places].copy()
    try:
        ufunc.at(a, indices, b)
    except BaseException:
        plain[places] = before
        raise


def _own(index: Any) -> Any:
    return index.copy() if isinstance(index, np.ndarray) else index


def _set(a: Any, indices: Any, b: Any) -> None:
    _refuse_before_writing(a, b)
    a[indices] = b


def _put_along_axis(a: Any, indices: Any, b: Any, axis: Any) -> None:
    _refuse_before_writing(a, b)
    np.put_along_axis(a, np.asarray(indices), b, axis)


def _refuse_before_writing(a: Any, b: Any) -> None:
    """Raise now what NumPy would raise on the way, at the first value that has no place in `a`."""
    given = getattr(b, "dtype", None)
    free = a.dtype.kind in _CAST_FREELY and getattr(given, "kind", "O") in _CAST_FREELY
    if not (free or a.dtype.kind == "O" or (isinstance(given, np.dtype) and given == a.dtype)):
        np.asarray(b, a.dtype)


_ADD = Idiom("add", "add", for_ufunc(np.add), _ufunc_at(np.add))
_MULTIPLY = Idiom("multiply", "mul", for_ufunc(np.multiply), _ufunc_at(np.multiply))
_MAXIMUM = Idiom("maximum", "max", for_ufunc(np.maximum), _ufunc_at(np.maximum))
_MINIMUM = Idiom("minimum", "min", for_ufunc(np.minimum), _ufunc_at(np.minimum))
_ASSIGN = Idiom("assign", "none", for_assignment, _set)
_PUT_ALONG_AXIS = Idiom("put_along_axis", "none", for_assignment, _put_along_axis)


def add(a: Any, indices: Any, b: Any) -> None:
    """Add `b` to ``a[indices]``, as often as an element is named: ``np.add.at(a, indices, b)``.

    Args:
        a: NumPy array of numbers or bools, any layout; written in place. Nothing else may write to it meanwhile, not
            even to elements that no index names.
        indices: what may stand in ``a[indices]``.
        b: broadcasts to the shape of ``a[indices]``; cast as ``np.add.at`` casts.

    Sums of floats are made one by one, in row-major order of the broadcast indices; bools are OR.

    Raises:
        IndexOutOfBounds (IndexError), ShapeError (ValueError), DTypeError (TypeError), or what NumPy raises.

    """
    _ADD(a, indices, b)


def multiply(a: Any, indices: Any, b: Any) -> None:
    """Multiply ``a[indices]`` by `b`, as often as an element is named: ``np.multiply.at(a, indices, b)``.

    Arguments and exceptions are those of `add`; bools are AND.
    """
    _MULTIPLY(a, indices, b)


def maximum(a: Any, indices: Any, b: Any) -> None:
    """Raise ``a[indices]`` to `b` where that is greater, or NaN: ``np.maximum.at(a, indices, b)``.

    Arguments and exceptions are those of `add`; bools are OR.
    """
    _MAXIMUM(a, indices, b)


def minimum(a: Any, indices: Any, b: Any) -> None:
    """Lower ``a[indices]`` to `b` where that is less, or NaN: ``np.minimum.at(a, indices, b)``.

    Arguments and exceptions are those of `add`; bools are AND.
    """
    _MINIMUM(a, indices, b)


def assign(a: Any, indices: Any, b: Any) -> None:
    """Replace ``a[indices]`` by `b`, in row-major order, so that the last of duplicates stays: ``a[indices] = b``.

    Arguments and exceptions are those of `add`; `b` is cast as an assignment casts, whatever is lost.
    """
    _ASSIGN(a, indices, b)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Replace elements along one axis where `indices` says: ``np.put_along_axis(arr, indices, values, axis)``.

    Args:
        arr: NumPy array of numbers or bools, any layout; written in place. Nothing else may write to it meanwhile,
            not even to elements that no index names.
        indices: whole numbers, the rank of `arr`; off the axis its shape broadcasts against that of `arr`.
        values: broadcasts to the shape that `indices` take; cast as an assignment casts.
        axis: of `arr`, or None for its elements in row-major order, whatever its layout (NumPy refuses views there).

    Raises:
        IndexOutOfBounds (IndexError), ShapeError (ValueError), DTypeError (TypeError), or what NumPy raises.

    """
    if axis is None and isinstance(arr, np.ndarray):
        idiom, a, indices, axes = _flattened(arr, indices)
        idiom(a, indices, values, *axes)
    else:
        _PUT_ALONG_AXIS(arr, indices, values, axis)


def _flattened(arr: Array, indices: Any) -> tuple[Idiom, Array, Any, tuple[int, ...]]:
    """Return what replaces elements by their places in row-major order: an idiom, its array, indices and axis."""
    if arr.flags.c_contiguous:
        return _PUT_ALONG_AXIS, arr.reshape(-1), indices, (0,)
    places = np.asarray(indices)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ShapeError(
            f"at.put_along_axis: indices are {places.dtype} of rank {places.ndim}, allowed without an axis are whole"
            " numbers of rank 1"
        )
    places = as_read(places)
    bad = find_out_of_bounds(places, (arr.size,), "at.put_along_axis")
    if bad is not None:
        raise bad
    return _ASSIGN, arr, np.unravel_index(places % max(1, arr.size), arr.shape), ()


_IDIOMS: dict[Callable[..., None], Idiom] = {
    add: _ADD,
    multiply: _MULTIPLY,
    maximum: _MAXIMUM,
    minimum: _MINIMUM,
    assign: _ASSIGN,
    put_along_axis: _PUT_ALONG_AXIS,
}


def explain(function: Callable[..., None], /, a: Any, indices: Any, b: Any, *axis: int | None) -> Explanation | str:
    """Return what ``function(a, indices, b)`` would run, without running it; as a text, why NumPy answers it.

    `function` is one of this module's, `axis` that of `put_along_axis`. The kernel is made ready; values of `indices`
    are not looked at. Raises what the call would raise, and `ScattergenError` for another function.
    """
    idiom = _IDIOMS.get(function)
    if idiom is None:
        raise ScattergenError(_not_taken(function))
    if axis == (None,) and isinstance(a, np.ndarray):
        idiom, a, indices, axis = _flattened(a, indices)
    try:
        found = explain_arguments(idiom.arguments(a, indices, b, axis), None)
    except NotCovered as reason:
        return f"NumPy: {reason}"
    return f"NumPy: {NO_KERNEL}" if found.source == REFERENCE else found


def _not_taken(function: object) -> str:
    from ..call.naming import given

    name, front = given(function)
    names = [one.name for one in _IDIOMS.values()]
    text = f"at.explain takes one of {', '.join(f'at.{one}' for one in names)}; given is {name}"
    package, _, rest = name.partition(".")
    if package == "numpy" and rest.removesuffix(".at") in names:
        return f"{text}: use at.{rest.removesuffix('.at')}"
    if front and not front.endswith((".at", ".graph")):
        return f"{text}. For operators of {front} there is {front}.explain"
    return text
