"""Workloads: arrays for an operator spec, made by a seed, and what NumPy's users write for the same result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import api
from ..arguments import arrays
from ..arguments.arrays import Array as Array
from ..errors import ShapeError
from ..load import caller
from ..operators.ops import Op
from ..operators.spec import OpSpec

Shape = tuple[int, ...]

STYLES: dict[str, str] = {
    "random": "anywhere, with duplicates",
    "unique": "no duplicates",
    "sorted": "random, in rising order",
    "skewed": "random, half of them in a sixteenth of the range",
    "negative": "random, every other one counts from the end",
    "repeated": "one target for all",
    "expanded": "random, one index for each run behind the axis (zero strides)",
}
"""How the indices of a made workload lie."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """One call of an operator: its arrays and attributes."""

    name: str
    spec: OpSpec
    data: Array
    indices: Array
    updates: Array
    what: str = ""
    call_bound: bool = False
    """Whether it is so small that the call itself is what is measured."""

    @property
    def traffic(self) -> int:
        """Bytes of the arrays: data read, result written, indices and updates read once."""
        return 2 * touched(self.data) + touched(self.indices) + touched(self.updates)

    @property
    def inputs(self) -> tuple[Array, ...]:
        """The arrays in the order of the function."""
        return self.data, self.indices, self.updates

    @property
    def reduction(self) -> str:
        """The reduction, as ONNX names it."""
        return self.spec.reduction

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the call, as arguments of scattergen's functions."""
        found: dict[str, Any] = {"axis": self.spec.place} if self.spec.op.addressing == "axis" else {}
        if self.spec.op.prefix != "scatter":
            found["reduction"] = self.spec.reduction
        return found

    @property
    def function(self) -> Callable[..., Array]:
        """Scattergen's function for the operator."""
        found: Callable[..., Array] = getattr(api, self.spec.op.prefix)
        return found

    def ours(self, **more: Any) -> Callable[[], Array]:
        """Return the call through scattergen's function, as a user writes it; `more` are further arguments.

        The caller module is made first: no measurement should meet the one process that has to do without it.
        """
        caller.make()
        function, data, indices, updates = self.function, self.data, self.indices, self.updates
        place, reduction = self.spec.place, self.spec.reduction
        usual = self.spec.op.version(self.spec.op.default_opset).since
        if more or self.spec.opset != usual or self.spec.op.prefix == "scatter":
            given = {**self.attributes, "opset": self.spec.opset, **more}
            return lambda: function(data, indices, updates, **given)
        if self.spec.op.addressing == "axis":
            return lambda: function(data, indices, updates, place, reduction)
        return lambda: function(data, indices, updates, reduction)

    def key(self) -> tuple[Any, ...]:
        """Return the NumPy index that names the targets of all updates."""
        if self.spec.op.addressing == "tuples":
            # A tuple of no components is all of the data, with the leading dims of its own.
            return tuple(np.moveaxis(self.indices, -1, 0)) or (np.newaxis,) * (self.indices.ndim - 1)
        grid: list[Any] = list(np.ogrid[tuple(slice(0, extent) for extent in self.indices.shape)])
        grid[self.spec.place] = self.indices
        return tuple(grid)

    def numpy(self, in_place: bool = False) -> Callable[[], Array]:
        """Return the call as NumPy's users write it: a copy unless in place, then an assignment or ``ufunc.at``."""
        data, indices, updates, place = self.data, self.indices, self.updates, self.spec.place
        start = data.view if in_place else data.copy
        if self.reduction != "none":
            at, key = UFUNCS[self.reduction].at, self.key()
            return lambda: _changed(start(), lambda out: at(out, key, updates))
        sizes = [size for dim, size in enumerate(data.shape) if dim != place]
        extents = [extent for dim, extent in enumerate(indices.shape) if dim != place]
        if self.spec.op.addressing == "axis" and sizes == extents:
            return lambda: _changed(start(), lambda out: np.put_along_axis(out, indices, updates, axis=place))
        key = self.key()
        return lambda: _changed(start(), lambda out: out.__setitem__(key, updates))


UFUNCS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
"""What a reduction is to NumPy, whose ``at`` runs in row-major order of the indices."""


def _changed(out: Array, change: Callable[[Array], object]) -> Array:
    change(out)
    return out


def touched(array: Array) -> int:
    """Return the bytes of an array, those that repeat by a stride of 0 once."""
    extents = (extent for extent, stride in zip(array.shape, array.strides, strict=True) if stride)
    found: int = array.itemsize * math.prod(extents)
    return found


def of_call(name: str, op: Op, opset: int, attributes: Mapping[str, Any], given: Sequence[Array | None]) -> Workload:
    """Return the workload of a call that somebody makes, on copies of its arrays, in the order of a node's inputs.

    Raises what the call itself raises, but for indices out of bounds.
    """
    data, indices, updates = (np.array(array, order="K") for array in given)
    place, reduction = attributes.get("axis"), attributes.get("reduction", "none")
    found = arrays.prepare(op, opset, place, reduction, data, indices, updates, None)
    return Workload(name=name, spec=found.spec, data=data, indices=indices, updates=updates)


def make(
    spec: OpSpec | str,
    data: Shape,
    indices: Shape,
    style: str = "random",
    *,
    seed: int = 0,
    name: str = "",
    what: str = "",
    call_bound: bool = False,
) -> Workload:
    """Return the workload of `spec` on arrays of these shapes; equal arguments give equal arrays.

    The shape of the updates follows. Raises `ShapeError` where shapes and style do not fit together.
    """
    spec = OpSpec.parse(spec) if isinstance(spec, str) else spec
    if len(data) != spec.rank:
        raise ShapeError(f"{spec}: the shape of data is {data}, must have {spec.rank} dims")
    if style not in STYLES:
        raise ShapeError(f"style is {style!r}, allowed is one of {', '.join(STYLES)}")
    random = np.random.default_rng(seed)
    if spec.op.addressing == "axis":
        index = _along_axis(random, data, indices, spec.place, style)
        shape = indices
    else:
        index = _tuples(random, data, indices, spec.place, style)
        shape = (*indices[:-1], *data[spec.place :])
    return Workload(
        name=name or str(spec),
        spec=spec,
        data=values(random, data, spec.dtype.numpy),
        indices=index if 0 in index.strides else index.astype(spec.index.numpy, copy=False),
        updates=values(random, shape, spec.dtype.numpy),
        what=what,
        call_bound=call_bound,
    )


def values(random: np.random.Generator, shape: Shape, dtype: np.dtype[Any]) -> Array:
    """Return random elements: floats in [-1, 1), integers in [0, 100)."""
    if dtype.kind == "b":
        return random.random(shape, np.float32) < 0.5
    if dtype.kind in "iu":
        return random.integers(0, 100, shape, dtype)
    if dtype.kind == "c":
        parts = random.random((*shape, 2), np.float32) * 2 - 1
        return (parts[..., 0] + 1j * parts[..., 1]).astype(dtype)
    found: Array = (random.random(shape, np.float32) * 2 - 1).astype(dtype)
    return found


def _along_axis(random: np.random.Generator, data: Shape, shape: Shape, axis: int, style: str) -> Array:
    if len(shape) != len(data):
        raise ShapeError(f"the shape of indices is {shape}, must have {len(data)} dims as data")
    size = data[axis]
    if size == 0 and 0 not in shape:
        raise ShapeError(f"no index fits axis {axis}, whose size is 0; the shape of indices is {shape}")
    if style == "unique":
        if shape[axis] > size:
            raise ShapeError(f"unique: {shape[axis]} indices have no room in an axis of {size}")
        if len(shape) == 1:
            return random.permutation(size)[: shape[0]]
        whole = (*shape[:axis], size, *shape[axis + 1 :])
        lanes = np.arange(size).reshape(-1, *(1 for _ in shape[axis + 1 :]))
        cut = (*(slice(None) for _ in shape[:axis]), slice(shape[axis]))
        return np.ascontiguousarray(random.permuted(np.broadcast_to(lanes, whole), axis=axis)[cut])
    if style == "expanded":
        short = (*shape[: axis + 1], *(1 for _ in shape[axis + 1 :]))
        return np.broadcast_to(random.integers(0, size, short), shape)
    found = _spread(random, size, shape, style)
    if style == "sorted":
        found.sort(axis=axis)
    return found - size * (np.arange(found.size).reshape(shape) % 2) if style == "negative" else found


def _tuples(random: np.random.Generator, data: Shape, shape: Shape, depth: int, style: str) -> Array:
    if not shape or shape[-1] != depth:
        raise ShapeError(f"the shape of indices is {shape}, must end in {depth}, the depth of the spec")
    sizes, count = data[:depth], math.prod(shape[:-1])
    if depth == 0:
        if count != 1:
            raise ShapeError(f"the shape of indices is {shape}: of depth 0 NumPy has no index for {count} tuples but 1")
        return np.zeros(shape, np.int64)
    total = math.prod(sizes)
    if total == 0 and count:
        raise ShapeError(f"no index fits data of shape {data}; the shape of indices is {shape}")
    if style == "unique":
        if count > total:
            raise ShapeError(f"unique: {count} tuples have no room in {total}")
        flat = random.permutation(total)[:count]
    else:
        flat = _spread(random, total, (count,), style)
    if style == "sorted":
        flat.sort()
    found = np.stack(np.unravel_index(flat, sizes), axis=-1)
    if style == "negative":
        found[::2] -= np.array(sizes)
    return found.reshape(shape)


def _spread(random: np.random.Generator, size: int, shape: Shape, style: str) -> Array:
    if style == "repeated":
        return np.full(shape, size // 2)
    if style == "skewed":
        return (random.random(shape) ** 4 * size).astype(np.int64)
    return random.integers(0, size, shape)
