"""`compile`: one operator spec → its kernels, built, and a callable that takes such arrays alone."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import arrays, caller, dispatch, lower, machine, plan
from .arrays import Arguments
from .bound import Bound
from .errors import DTypeError, ShapeError
from .kernel import KernelSpec
from .spec import OpSpec


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the kernels that calls of a spec may need."""

    spec: KernelSpec
    source: str
    """The C text that was compiled."""
    library: Path
    address: int
    """Address of the C function `run`, for code that calls it by pointer; see templates/scattergen.h."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The compiled form of an operator spec: call it with arrays of that rank and those types."""

    spec: OpSpec
    variants: tuple[Variant, ...]

    def __call__(
        self, data: Any, indices: Any, updates: Any, *, out: Any = None, threads: int | None = None
    ) -> np.ndarray[Any, Any]:
        """Return what the operator gives; arguments and exceptions are those of `scatter_elements` and `scatter_nd`."""
        return dispatch.execute(self._prepare(data, indices, updates, out), threads)

    def bind(self, data: Any, indices: Any, updates: Any, out: Any = None, *, threads: int | None = None) -> Bound:
        """Return the call bound to its arrays, to be run in a loop; without `out` one is made."""
        return Bound(self._prepare(data, indices, updates, out), threads)

    def _prepare(self, data: Any, indices: Any, updates: Any, out: Any) -> Arguments:
        spec = self.spec
        place = spec.place if spec.op.addressing == "axis" else None
        data = arrays.as_array(data, "data", spec.op)
        if data.ndim != spec.rank:
            raise ShapeError(f"{spec}: data has rank {data.ndim}, must have {spec.rank}")
        arguments = arrays.prepare(spec.op, spec.opset, place, spec.reduction, data, indices, updates, out)
        found = arguments.spec
        if (found.dtype, found.index) != (spec.dtype, spec.index):
            raise DTypeError(f"{spec}: data is {found.dtype} and indices {found.index}")
        if found.place != spec.place:
            raise ShapeError(f"{spec}: indices.shape[-1] is {found.place}, must be {spec.place}")
        return arguments

    def __str__(self) -> str:
        return str(self.spec)


def compile(spec: OpSpec | str) -> Kernel:
    """Return the kernels of `spec` (an `OpSpec` or its text), building those that nobody has yet.

    Raises:
        SpecError: the text names no operator spec.
        CompilerNotFound, CompileError, KernelUnavailable: a kernel cannot be had.

    """
    spec = OpSpec.parse(spec) if isinstance(spec, str) else spec
    caller.make()
    return Kernel(spec, tuple(_variant(ready) for ready in _all_ready(lower.variants(spec))))


def _all_ready(specs: Iterable[KernelSpec]) -> list[plan.Ready]:
    with ThreadPoolExecutor(machine.usable_cores()) as pool:
        return list(pool.map(plan.ready, specs))


def _variant(ready: plan.Ready) -> Variant:
    return Variant(ready.spec, ready.source.read_text(), ready.library, ready.loaded.address)
