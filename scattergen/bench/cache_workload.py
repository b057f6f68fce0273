"""Workloads of TensorScatter: a cache that is updated in place, as decoders do it, and NumPy's slices for the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import arrays
from ..errors import ShapeError
from ..operators.ops import Op
from ..operators.spec import OpSpec
from ..tensor import tensor_scatter
from . import workload
from .workload import Array, Shape, Workload


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CacheWorkload(Workload):
    """One call of TensorScatter in place: `data` is the cache, `indices` where writing begins."""

    @property
    def traffic(self) -> int:
        """Bytes that any implementation moves: updates read and written, indices read."""
        return 2 * self.updates.nbytes + self.indices.nbytes

    @property
    def inputs(self) -> tuple[Array, ...]:
        """The arrays in the order of the function."""
        return self.data, self.updates, self.indices

    @property
    def attributes(self) -> dict[str, Any]:
        """The other arguments of the call."""
        return {"axis": self.spec.place, "mode": self.spec.mode, "out": self.data}

    @property
    def function(self) -> Callable[..., Array]:
        """Scattergen's function."""
        return tensor_scatter

    def ours(self, **more: Any) -> Callable[[], Array]:
        """Return the call through scattergen's function, as a user writes it; `more` are further arguments."""
        inputs, given = self.inputs, {**self.attributes, **more}
        return lambda: tensor_scatter(*inputs, **given)

    def numpy(self, in_place: bool = True) -> Callable[[], Array]:
        """Return the call as NumPy's users write it, always in place: slices, for each of the batch one or two."""
        out = self.data.copy()
        cache, update = np.moveaxis(out, self.spec.place, 1), np.moveaxis(self.updates, self.spec.place, 1)
        size, length, starts = cache.shape[1], update.shape[1], self.indices

        def linear() -> Array:
            for entry in range(len(starts)):
                start = starts[entry]
                cache[entry, start : start + length] = update[entry]
            return out

        def circular() -> Array:
            for entry in range(len(starts)):
                start = starts[entry] % size
                before = min(length, size - start)
                cache[entry, start : start + before] = update[entry, :before]
                cache[entry, : length - before] = update[entry, before:]
            return out

        return linear if self.spec.mode == "linear" else circular


def of_call(
    name: str, op: Op, opset: int, attributes: Mapping[str, Any], given: Sequence[Array | None]
) -> CacheWorkload:
    """Return the workload of a call that somebody makes, on copies of its arrays, in the order of a node's inputs.

    Raises what the call itself raises, but for indices out of bounds.
    """
    cache, update, starts = (None if array is None else np.array(array) for array in (*given, None)[:3])
    found = arrays.prepare(op, opset, attributes["axis"], "none", cache, starts, update, None, attributes["mode"])
    return CacheWorkload(name=name, spec=found.spec, data=found.data, indices=found.indices, updates=found.updates)


def make(spec: OpSpec, data: Shape, update: Shape, style: str = "random", *, seed: int = 0) -> CacheWorkload:
    """Return the workload of `spec` for a cache and an update of these shapes; equal arguments give equal arrays.

    Raises `ShapeError` where shapes and style do not fit together.
    """
    if len(data) != spec.rank or len(update) != spec.rank:
        raise ShapeError(f"{spec}: the shapes are {data} and {update}, both must have {spec.rank} dims")
    room = data[spec.place] - update[spec.place] + 1
    if style not in ("random", "repeated"):
        raise ShapeError(f"{spec}: style is {style!r}, allowed is random or repeated")
    random, kind = np.random.default_rng(seed), spec.dtype.numpy
    starts = random.integers(0, max(room, 1), data[0]) if style == "random" else np.zeros(data[0], np.int64)
    made = workload.values(random, data, kind), workload.values(random, update, kind), starts
    attributes = {"axis": spec.place, "mode": spec.mode}
    found = of_call(str(spec), spec.op, spec.opset, attributes, made)
    indices = found.indices.astype(spec.index.numpy, copy=False)
    return CacheWorkload(name=found.name, spec=spec, data=found.data, indices=indices, updates=found.updates)
