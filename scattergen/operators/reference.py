"""The slow meaning of operators and gradients: the oracle of the tests, and the answer where no compiler exists.

The loop over `indices` runs in row-major order and every update is rounded to the element type before the
next one, so that a result is exact to the bit. Kernels have to give these very bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .bounds import find_misplaced_windows, find_out_of_bounds
from .shapes import Array

Combine: TypeAlias = Callable[[Any, Any], Any]


def scatter_elements(data: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    """Return a C-ordered copy of `data` with ``out[..., indices[i], ...] = f(itself, updates[i])`` applied.

    Shapes, types and attributes have been checked and ``axis`` is not negative. The entries at one place
    along ``axis`` have different targets, as their other coordinates differ, and are taken together; the
    places are taken in order. Raise `IndexOutOfBounds` where an index is not in ``[-size, size - 1]``.
    """
    _check(indices, data.shape[axis : axis + 1], "ScatterElements")
    out, source, combine = _prepare(data, updates, reduction)
    cells, before, targets = out.reshape(-1), indices.shape[:axis], element_targets(data.shape, indices, axis)
    for place in range(indices.shape[axis]):
        here: Any = (*map(slice, before), place)
        with np.errstate(all="ignore"):
            cells[targets[here]] = combine(cells[targets[here]], source[here])
    return out.view(data.dtype)


def element_targets(shape: tuple[int, ...], indices: Array, axis: int) -> Array:
    """Return the number of every entry's target, elements of an array of `shape` counted in row-major order.

    Flat numbers, because NumPy indexes by at most 63 arrays and the rank may be 64.
    """
    steps = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    targets = indices.astype(np.int64) % max(1, shape[axis]) * steps[axis]
    for dim, (extent, step) in enumerate(zip(indices.shape, steps, strict=True)):
        if dim != axis:
            targets += (np.arange(extent) * step).reshape(-1, *(1,) * (indices.ndim - 1 - dim))
    return targets


def tuple_targets(shape: tuple[int, ...], indices: Array) -> Array:
    """Return the number of the target of every element of `updates`, as `element_targets` counts them."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    found = np.empty((*indices.shape[:-1], *shape[indices.shape[-1] :]), np.int64)
    for place in np.ndindex(indices.shape[:-1]):
        found[place] = numbers[tuple(indices[place])]
    return found


def scatter_nd(data: Array, indices: Array, updates: Array, reduction: str) -> Array:
    """Return a C-ordered copy of `data` with ``out[indices[i]] = f(out[indices[i]], updates[i])`` applied.

    Shapes, types and attributes have been checked. Each tuple along the last axis of `indices` names one
    element of `data`, or a slice of it where the tuple is shorter than the rank. Raise `IndexOutOfBounds`
    where a component is not in ``[-size, size - 1]`` of its dim.
    """
    _check(indices, data.shape[: indices.shape[-1]], "ScatterND")
    out, source, combine = _prepare(data, updates, reduction)
    for place in np.ndindex(indices.shape[:-1]):
        target = tuple(indices[place])
        with np.errstate(all="ignore"):
            out[target] = combine(out[target], source[place])
    return out.view(data.dtype)


def tensor_scatter(data: Array, indices: Array, updates: Array, axis: int, mode: str) -> Array:
    """Return a C-ordered copy of `data` with `updates` at the positions from ``indices[b]`` on along `axis`.

    Shapes, types and attributes have been checked. Raise `IndexOutOfBounds` for a linear window that does
    not lie within the axis.
    """
    size, length = data.shape[axis], updates.shape[axis]
    if mode == "linear":
        error = find_misplaced_windows(indices, length, size, "TensorScatter", "write_indices")
        if error is not None:
            raise error
    out, source, _ = _prepare(data, updates, "none")
    cache, update = np.moveaxis(out, axis, 1), np.moveaxis(source, axis, 1)
    for entry, start in enumerate(indices.tolist()):
        for step in range(length):
            cache[entry, (start + step) % size] = update[entry, step]
    return out.view(data.dtype)


def gradients(grad: Array, data: Array, updates: Array, targets: Array, reduction: str) -> tuple[Array, Array]:
    """Return the gradients of `data` and `updates`, whose targets are the elements of `data` with these numbers.

    Values have the type of `grad`, and no halves among them; complex ones are conjugates.
    """
    of_data, of_updates = grad.reshape(-1).copy(), np.zeros(targets.shape, grad.dtype)
    flat, own, cells = updates.reshape(-1), data.reshape(-1), of_updates.reshape(-1)
    places: dict[int, list[int]] = {}
    for place, target in enumerate(targets.reshape(-1).tolist()):
        places.setdefault(target, []).append(place)
    with np.errstate(all="ignore"):
        for target, some in places.items():
            of_data[target], cells[some] = _BACKWARD[reduction](of_data[target], own[target], flat[some], reduction)
    return of_data.reshape(grad.shape), of_updates


def _of_replaced(grad: Any, own: Any, updates: Array, reduction: str) -> tuple[Any, Any]:
    return 0, [0] * (len(updates) - 1) + [grad]


def _of_sums(grad: Any, own: Any, updates: Array, reduction: str) -> tuple[Any, Any]:
    return grad, [grad] * len(updates)


def _of_products(grad: Any, own: Any, updates: Array, reduction: str) -> tuple[Any, Any]:
    multiply = _COMBINE_KIND.get(("mul", updates.dtype.kind)) or _COMBINE["mul"]
    found = np.empty_like(updates)
    after, before = grad, own
    for place in reversed(range(len(updates))):
        found[place], after = after, multiply(after, updates[place])
    for place, update in enumerate(updates):
        found[place], before = multiply(found[place], before), multiply(before, update)
    return after, found


def _of_extremes(grad: Any, own: Any, updates: Array, reduction: str) -> tuple[Any, Any]:
    result = own
    for update in updates:
        result = _COMBINE[reduction](result, update)
    wins, *theirs = (one == result or one != one for one in (own, *updates))
    share = grad / np.float64(wins + sum(theirs))  # of the type of `grad`, rounded once, when it is kept
    return share if wins else 0, [share if one else 0 for one in theirs]


_BACKWARD: dict[str, Callable[[Any, Any, Array, str], tuple[Any, Any]]] = {
    "none": _of_replaced,
    "add": _of_sums,
    "mul": _of_products,
    "max": _of_extremes,
    "min": _of_extremes,
}
"""The gradient at one target: of the result, its old value, its updates in order → of the old value, of those."""


def _check(indices: Array, sizes: tuple[int, ...], operator: str) -> None:
    error = find_out_of_bounds(indices, sizes, operator)
    if error is not None:
        raise error


def _prepare(data: Array, updates: Array, reduction: str) -> tuple[Array, Array, Combine]:
    """Return the result before any update, the updates, and ``f``; bools as bytes (any but 0 is true)."""
    kind = data.dtype.kind
    if kind == "b":
        data, updates = data.view(np.uint8), updates.view(np.uint8)
    return data.copy(order="C"), updates, _COMBINE_KIND.get((reduction, kind)) or _COMBINE[reduction]


def _greater(old: Any, new: Any) -> Any:
    """Return `new` where it is greater or NaN: an equal one, as -0.0 is to 0.0, leaves `old`."""
    return np.where((new > old) | (new != new), new, old)


def _less(old: Any, new: Any) -> Any:
    return np.where((new < old) | (new != new), new, old)


def _either(old: Any, new: Any) -> Any:
    return (old != 0) | (new != 0)


def _both(old: Any, new: Any) -> Any:
    return (old != 0) & (new != 0)


def _complex_product(old: Any, new: Any) -> Any:
    """Return the product by its four real ones; NumPy's own may fuse steps and depends on the machine."""
    product = np.empty(np.shape(new), new.dtype)
    product.real = old.real * new.real - old.imag * new.imag
    product.imag = old.real * new.imag + old.imag * new.real
    return product


_COMBINE: dict[str, Combine] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": _greater,
    "min": _less,
}

_COMBINE_KIND: dict[tuple[str, str], Combine] = {
    ("add", "b"): _either,
    ("mul", "b"): _both,
    ("max", "b"): _either,
    ("min", "b"): _both,
    ("mul", "c"): _complex_product,
}
"""The pairs of reduction and NumPy kind that are not plain arithmetic."""
