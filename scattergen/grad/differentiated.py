"""`gradients`: what a scatter hands back to its inputs of the gradient of its result.

Composed of walks over the updates (`backward.py`). With g the gradient of the result y, and t the target of update i:

    none      the last update of t has g[t], others 0: in reverse, each takes what is there and leaves 0
    add       each update has g[t]
    mul       (g[t] * updates after i, the last first) * (data[t] * updates before i): two walks that multiply
    max, min  g[t] / n if it equals y[t], else 0, where n counts all that do, `data` included: a walk before
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..arguments import addressing, arrays, memory
from ..arguments.arrays import Arguments, Array
from ..call import direct, dispatch
from ..call.calls import arguments_of
from ..common.record import Record
from ..errors import DTypeError, ShapeError, SpecError
from ..operators import dtypes, reference
from ..operators.ops import OPS
from .backward import NoKernel, Walk

_KINDS = ("half", "float", "complex")
_COMPARES = ("max", "min")

MOST_TIES = (1 << 31) - 2
"""Updates whose ties, with that of `data`, can be counted in 32 bits."""

MOST_IN_FLOAT32 = (1 << 24) - 1
"""The same for the whole numbers that a float32 is exact for."""

_PART = 1 << 16
"""Elements that steps of NumPy's go through together, while the caches hold them."""


class Gradients(Record):
    """The gradients of a call's inputs, each a C-ordered array of the input's shape and type."""

    data: Array
    updates: Array


class _Inputs(Record):
    """What a gradient is computed from, C-contiguous and native; halves as float32 where there is arithmetic."""

    walk: Walk
    grad: Array
    data: Array
    updates: Array
    """Of both only the shapes where updates replace or are added."""
    result: Array | None
    """None but for max and min."""


def gradients(function: Callable[..., Any], grad: Any, /, *args: Any, result: Any = None, **kwargs: Any) -> Gradients:
    """Return the gradients of the data and of the updates in ``function(*args, **kwargs)``.

    Args:
        function: one of scattergen's operators.
        grad: the gradient of the result, of the shape and type of the data.
        *args: the arguments of the call, on floats, halves or complex numbers. Where updates replace or are added, the
            values of data and updates do not count.
        result: what the call returned; without it, max and min compute it again.
        **kwargs: the other arguments of the call.

    Where updates replace, only those that were not overwritten have a gradient. A factor's is the product of the
    others, never a quotient. That of a maximum or minimum is shared evenly by all that equal it. Those of products and
    extremes of halves are computed in float32 and rounded once. Complex factors count by their conjugates, as torch
    has it. The number of threads changes no bit. Only first derivatives are given.

    Raises:
        IndexOutOfBounds (IndexError), ShapeError and SpecError (ValueError), DTypeError (TypeError).

    """
    arguments, threads = arguments_of("gradients", function, *args, **kwargs)
    spec, names = arguments.spec, arguments.spec.op.inputs
    if arguments.out is not None:
        raise SpecError("out", "an array", "None in gradients, which returns new arrays")
    if arguments.foreign or spec.dtype.kind not in _KINDS:
        raise DTypeError(
            f"{spec.op}: {names.data} is {arguments.data.dtype}, gradients are of floats and complex numbers"
        )
    grad = _like_data(grad, "grad", arguments)
    if result is None and spec.reduction in _COMPARES:
        result = function(*args, **kwargs)  # which needs no plan where it is a small call that was made before
    if result is not None:
        result = _like_data(result, "result", arguments)
    if spec.op.addressing == "window":
        _refuse_bad_indices(arguments)
        arguments = _by_positions(arguments)
    return _gradients(arguments, grad, result, threads)


def _refuse_bad_indices(arguments: Arguments) -> None:
    error = addressing.out_of_bounds(arguments)
    if error is not None:
        raise error


def _like_data(value: Any, name: str, arguments: Arguments) -> Array:
    data, op = arguments.data, arguments.spec.op
    array = arrays.like_data(value, name, data, op, [])
    if array.shape != data.shape:
        raise ShapeError(f"{op}: {name} has shape {array.shape}, must have that of {op.inputs.data}, {data.shape}")
    return array


def _by_positions(arguments: Arguments) -> Arguments:
    """Return a TensorScatter as the ScatterElements that it is, by an index that is expanded."""
    data, updates, axis = arguments.data, arguments.updates, arguments.spec.place
    size = max(1, data.shape[axis])
    along = np.arange(updates.shape[axis]).reshape([-1 if dim == axis else 1 for dim in range(updates.ndim)])
    starts = arguments.indices.astype(np.int64).reshape(-1, *(1,) * (updates.ndim - 1))
    indices = np.broadcast_to((starts % size + along) % size, updates.shape)
    op = OPS["scatter_elements"]
    spec = arrays.spec_of(op, data.dtype, indices.dtype, data.ndim, axis, "none", op.versions[-1].since)
    return Arguments(spec, data, indices, updates, None)


def _gradients(arguments: Arguments, grad: Array, result: Array | None, threads: int | None) -> Gradients:
    reduction, dtype = arguments.spec.reduction, dtypes.native(arguments.data.dtype)
    counts = reduction not in ("none", "add")
    if reduction not in _COMPARES:
        result = None

    def read(array: Array) -> Array:
        """Return an array as the walks read it; where its values do not count, zeros."""
        if counts:
            return _conjugate(_wide(array, threads))
        return dispatch.zeros(array.shape, dtype)

    inputs = _Inputs(
        walk=Walk(arguments, threads),
        grad=_wide(grad, threads) if counts else memory.plain(grad),
        data=read(arguments.data),
        updates=read(arguments.updates),
        result=None if result is None else read(result),
    )
    if not inputs.walk.count:  # no walk meets the indices
        _refuse_bad_indices(arguments)
    try:
        found = _GRADIENTS[reduction](inputs)
    except NoKernel:
        _refuse_bad_indices(arguments)
        targets = addressing.targets(arguments)
        found = Gradients(*reference.gradients(inputs.grad, inputs.data, inputs.updates, targets, reduction))
    return Gradients(*(_rounded(array, dtype, threads) for array in found))


def _wide(array: Array, threads: int | None) -> Array:
    array = memory.plain(array)
    if dtypes.of_numpy(array.dtype, "grad").kind != "half":
        return array
    wide = dispatch.empty(array.shape, np.dtype(np.float32))
    direct.widen(array, wide, threads)
    return wide


def _rounded(array: Array, dtype: np.dtype[Any], threads: int | None) -> Array:
    if array.dtype == dtype:
        return array
    halves = dispatch.empty(array.shape, dtype)
    direct.narrow(array, halves, None, threads)
    return halves


def _conjugate(array: Array) -> Array:
    return np.conjugate(array) if array.dtype.kind == "c" else array


def _copied(array: Array) -> Array:
    copy = dispatch.empty(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy


def _side_by_side(inputs: _Inputs, first: Array) -> tuple[Array, Array, Array]:
    """Return a block, and the parts of it that are like data, which begins as `first`, and like updates."""
    walk = inputs.walk
    block = dispatch.empty((walk.size + walk.count,), first.dtype)
    like_data, like_updates = block[: walk.size].reshape(first.shape), block[walk.size :].reshape(walk.shape)
    np.copyto(like_data, first)
    return block, like_data, like_updates


def _of_replaced(inputs: _Inputs) -> Gradients:
    block, left, taken = _side_by_side(inputs, inputs.grad)
    inputs.walk.step("take", block, gradient=inputs.walk.size, reverse=True)
    return Gradients(left, taken)


def _of_sums(inputs: _Inputs) -> Gradients:
    gathered = dispatch.empty(inputs.walk.shape, inputs.grad.dtype)
    inputs.walk.step("gather", gathered, inputs.grad)
    return Gradients(_copied(inputs.grad), gathered)


def _of_products(inputs: _Inputs) -> Gradients:
    walk, updates = inputs.walk, inputs.updates
    block, running, products = _side_by_side(inputs, inputs.grad)
    walk.step("suffix", block, updates=updates, gradient=walk.size, reverse=True)
    of_data = _copied(running)
    np.copyto(running, inputs.data)
    walk.step("prefix", block, updates=updates, gradient=walk.size)
    return Gradients(of_data, products)


def _of_extremes(inputs: _Inputs) -> Gradients:
    walk, grad, data, updates, result = inputs
    assert result is not None
    if data.itemsize == 4 and walk.count > MOST_TIES:
        with np.errstate(all="ignore"):
            wide = (array.astype(np.float64) for array in (grad, data, updates, result))
            return Gradients(*(array.astype(np.float32) for array in _of_extremes(_Inputs(walk, *wide))))
    of_data, shares = dispatch.empty(data.shape, data.dtype), dispatch.empty(walk.shape, data.dtype)
    grad, data, result, given = (array.reshape(-1) for array in (grad, data, result, of_data))
    bits, exact = np.dtype(f"u{data.itemsize}"), data.dtype if walk.count < MOST_IN_FLOAT32 else np.dtype(np.float64)
    wins, ties = np.empty(walk.size, np.bool_), dispatch.empty((walk.size,), np.dtype(f"i{data.itemsize}"))
    found = dispatch.empty((2, walk.size), data.dtype)  # values, and what each that equals them is given
    for part in _parts(walk.size):
        np.equal(data[part], result[part], out=wins[part])
        wins[part] |= data[part] != data[part]
        ties[part] = wins[part]
        found[0, part] = result[part]
    walk.step("ties", ties, result, updates)
    with np.errstate(all="ignore"):
        for part in _parts(walk.size):
            np.divide(grad[part], np.maximum(ties[part].astype(exact), 1), out=found[1, part], casting="same_kind")
            # Or 0, by a mask: np.where takes longer.
            np.bitwise_and(found[1, part].view(bits), -wins[part].astype(bits), out=given[part].view(bits))
    walk.step("share", shares, found, updates)
    return Gradients(of_data, shares)


def _parts(size: int) -> Iterator[slice]:
    return (slice(first, first + _PART) for first in range(0, size, _PART))


_GRADIENTS: dict[str, Callable[[_Inputs], Gradients]] = {
    "none": _of_replaced,
    "add": _of_sums,
    "mul": _of_products,
    "max": _of_extremes,
    "min": _of_extremes,
}
