"""The operators' loops in plain Python, one element at a time: an oracle that shares no code with scattergen.

NumPy serves only as a container here: all arithmetic is done on Python's ints and floats and rounded to the
element type after every step. `validate` says which class of exception a call has to raise.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"
Place: TypeAlias = "tuple[int, ...]"

STRINGS = "OUST"
"""The kinds of NumPy types that hold strings."""

REDUCTIONS = {
    ("Scatter", 9): {"none"},
    ("Scatter", 11): {"none"},
    ("ScatterElements", 11): {"none"},
    ("ScatterElements", 13): {"none"},
    ("ScatterElements", 16): {"none", "add", "mul"},
    ("ScatterElements", 18): {"none", "add", "mul", "max", "min"},
    ("ScatterND", 11): {"none"},
    ("ScatterND", 13): {"none"},
    ("ScatterND", 16): {"none", "add", "mul"},
    ("ScatterND", 18): {"none", "add", "mul", "max", "min"},
}
"""What each version of an operator, by the opset that brought it, allows."""


def scatter(
    op: str, opset: int, data: Array, indices: Array, updates: Array, axis: int = 0, reduction: str = "none"
) -> Array:
    """Return the result of a call, or raise TypeError, ValueError or IndexError."""
    axis = validate(op, opset, data, indices, updates, axis, reduction)
    if data.dtype.kind in STRINGS:
        return _strings(op, data, indices, updates, axis, reduction)
    kind = "bf" if data.dtype.kind == "V" else data.dtype.kind + str(data.dtype.itemsize)
    out, source = _plain(data), _plain(updates)
    for target, place in list(_walk(op, data, indices, axis)):
        out[target] = _combine(reduction, kind, out[target], source[place])
    result = np.empty(data.shape, data.dtype.newbyteorder("=") if data.dtype.kind != "V" else data.dtype)
    view = result.view(np.uint8) if kind == "b1" else result
    for place, value in out.items():
        view[place] = value
    return result


def validate(op: str, opset: int, data: Array, indices: Array, updates: Array, axis: int, reduction: str) -> int:
    """Return the axis, not negative; raise TypeError or ValueError where a call does not fit together."""
    version = max((v for name, v in REDUCTIONS if name == op and v <= opset), default=0)
    if not version:
        raise ValueError(f"{op} does not exist at opset {opset}")
    if reduction not in REDUCTIONS[op, version]:
        raise ValueError(f"{op}-{version} has no reduction {reduction!r}")
    if indices.dtype.newbyteorder("=") not in (np.int32, np.int64):
        raise TypeError(f"indices must be int32 or int64, not {indices.dtype}")
    if data.dtype.kind in STRINGS or updates.dtype.kind in STRINGS:
        if data.dtype.kind != updates.dtype.kind or reduction == "mul":
            raise TypeError(f"data is {data.dtype}, updates is {updates.dtype}, reduction is {reduction}")
    elif data.dtype != updates.dtype and data.dtype.newbyteorder("=") != updates.dtype.newbyteorder("="):
        raise TypeError(f"data is {data.dtype} but updates is {updates.dtype}")
    if data.dtype.kind == "V" and (version < 13 or op == "Scatter"):
        raise TypeError(f"{op}-{version} does not take bfloat16")
    if data.dtype.kind == "c" and reduction in ("max", "min"):
        raise TypeError("complex numbers have no order")
    rank = data.ndim
    if rank < 1 or indices.ndim < 1:
        raise ValueError("data and indices must have rank >= 1")
    if op == "ScatterND":
        k = indices.shape[-1]
        if k > rank or updates.shape != indices.shape[:-1] + data.shape[k:]:
            raise ValueError(f"indices {indices.shape} and updates {updates.shape} do not fit {data.shape}")
        return 0
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is outside [{-rank}, {rank - 1}]")
    axis %= rank
    off_axis = [dim for dim in range(rank) if dim != axis]
    if indices.ndim != rank or indices.shape != updates.shape:
        raise ValueError(f"indices {indices.shape}, updates {updates.shape} and data {data.shape} do not fit")
    if any(indices.shape[dim] > data.shape[dim] for dim in off_axis):
        raise ValueError(f"indices {indices.shape} is larger than data {data.shape} off the axis")
    return axis


def _strings(op: str, data: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    """Return the result for strings or objects; fixed-width ones in the width that the result and both inputs need."""
    out, source = (dict(np.ndenumerate(array.astype(object))) for array in (data, updates))
    for target, place in list(_walk(op, data, indices, axis)):
        old, new = out[target], source[place]
        if reduction == "add":
            out[target] = old + new
        elif reduction == "none" or (new > old if reduction == "max" else new < old):
            out[target] = new
    dtype = data.dtype
    if dtype.kind in "US":
        size = 4 if dtype.kind == "U" else 1
        widths = [array.dtype.itemsize // size for array in (data, updates)]
        dtype = np.dtype(f"{dtype.kind}{max(*widths, *map(len, out.values()))}")
    result = np.empty(data.shape, dtype)
    for place, value in out.items():
        result[place] = value
    return result


def _places(shape: Place) -> Iterator[Place]:
    return itertools.product(*map(range, shape))


def _walk(op: str, data: Array, indices: Array, axis: int) -> Iterator[tuple[Place, Place]]:
    """Yield each target in data with its place in updates, in row-major order."""
    if op == "ScatterND":
        k = indices.shape[-1]
        for outer in _places(indices.shape[:-1]):
            head = tuple(_index(indices[(*outer, j)].item(), data.shape[j]) for j in range(k))
            for tail in _places(data.shape[k:]):
                yield head + tail, outer + tail
    else:
        for place in _places(indices.shape):
            index = _index(indices[place].item(), data.shape[axis])
            yield (*place[:axis], index, *place[axis + 1 :]), place


def _index(value: int, size: int) -> int:
    if not -size <= value < size:
        raise IndexError(f"index {value} is outside [{-size}, {size - 1}]")
    return value + size if value < 0 else value


def _plain(array: Array) -> dict[Place, Any]:
    """Return the elements as Python's numbers: bools as bytes, bfloat16 as floats."""
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    convert = float if array.dtype.kind == "V" else lambda element: element.item()
    return {place: convert(array[place]) for place in _places(array.shape)}


def _combine(reduction: str, kind: str, old: Any, new: Any) -> Any:
    """Return f(old, update), rounded to the type."""
    if reduction == "none":
        return new
    if kind == "b1":
        either = reduction in ("add", "max")
        return int(bool(old) or bool(new)) if either else int(bool(old) and bool(new))
    if reduction == "add":
        if kind[0] == "c":
            return complex(_round(kind, old.real + new.real), _round(kind, old.imag + new.imag))
        return _round(kind, old + new)
    if reduction == "mul":
        return _product(kind, old, new)
    if old != old or new != new:
        return math.nan
    return new if (new > old if reduction == "max" else new < old) else old


def _product(kind: str, old: Any, new: Any) -> Any:
    if kind[0] != "c":
        return _round(kind, old * new)
    real = _round(kind, old.real * new.real), _round(kind, old.imag * new.imag)
    imag = _round(kind, old.real * new.imag), _round(kind, old.imag * new.real)
    return complex(_round(kind, real[0] - real[1]), _round(kind, imag[0] + imag[1]))


def _round(kind: str, x: Any) -> Any:
    """Return x rounded to the type: integers wrap, floats go to the nearest, ties to even."""
    if kind[0] in "iu":
        bits = 8 * int(kind[1:])
        x &= (1 << bits) - 1
        return x - (1 << bits) if kind[0] == "i" and x >> (bits - 1) else x
    if kind == "bf":
        return _round_bfloat16(_via("<f", x))
    return _via({"f2": "<e", "f4": "<f", "f8": "<d", "c8": "<f", "c16": "<d"}[kind], x)


def _via(form: str, x: float) -> float:
    try:
        return float(struct.unpack(form, struct.pack(form, x))[0])
    except OverflowError:  # rounds beyond the largest finite value
        return math.copysign(math.inf, x)


def _round_bfloat16(x: float) -> float:
    if x != x:
        return math.nan
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])
