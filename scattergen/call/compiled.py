"""`compile`: operator specs → their kernels, built, and callables that take such arrays alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import arrays
from ..arguments.arrays import Arguments
from ..common import machine
from ..common.progress import Done
from ..common.record import Record
from ..common.words import number_of
from ..errors import DTypeError, ShapeError, SpecError
from ..load import caller, supply
from ..lower import lower
from ..lower.kernel import KernelSpec
from ..operators.dtypes import DType
from ..operators.spec import GRAMMAR, OpSpec
from . import dispatch, fast
from .bound import Bound


class Variant(Record):
    """One of the kernels that calls of a spec may need."""

    spec: KernelSpec
    library: Path
    address: int
    """Address of the C function `run`, for code that calls it by pointer; see templates/scattergen.h."""

    def __repr__(self) -> str:
        return f"<Variant {self.spec}>"

    @property
    def source(self) -> str:
        """The C text that was compiled, rendered again: the library's key or manifest stands for the same text."""
        from ..render import render

        return render(self.spec)


@dataclass(frozen=True, slots=True)
class Kernel:
    """The compiled form of an operator spec: call it with arrays of that rank and those types.

    A call takes the three arrays, `out` and `threads`. Axis or index depth, reduction, mode and opset are parts of the
    spec, which no argument can change; `duplicates`, `unique` and `accumulate` are for the operators' own functions.
    Kernels can be pickled and serve any number of threads at once.
    """

    spec: OpSpec
    variants: tuple[Variant, ...]
    """The kernels that calls of the spec may need; shapes and strides of a call pick one."""

    def __call__(
        self, data: Any, indices: Any, updates: Any, *, out: Any = None, threads: int | None = None
    ) -> np.ndarray[Any, Any]:
        """Return what the operator gives; arguments and exceptions are those of `scatter_elements` and `scatter_nd`.

        There is no argument for what the spec says: its axis, reduction and opset.
        """
        result = fast.recall(data, indices, updates, out, self.spec, threads)
        if result is not None:
            return result
        plain = type(data) is type(indices) is type(updates) is np.ndarray
        keep = fast.keeper(self.spec, threads) if plain else None
        return dispatch.execute(self._prepare(data, indices, updates, out), threads, keep)

    def bind(self, data: Any, indices: Any, updates: Any, out: Any = None, *, threads: int | None = None) -> Bound:
        """Return the call bound to its arrays, to be run in a loop; without `out` one is made."""
        return Bound(self._prepare(data, indices, updates, out), threads)

    def _prepare(self, data: Any, indices: Any, updates: Any, out: Any) -> Arguments:
        spec = self.spec
        place = spec.place if spec.op.place.field == "axis" else None
        names = spec.op.inputs
        array = arrays.as_data(data, spec.op)
        if array.ndim != spec.rank:
            raise ShapeError(f"{spec}: {names.data} has rank {array.ndim}, must have {spec.rank}")
        if arrays.element_of(spec.op, array.dtype, spec.reduction) != spec.dtype:
            raise self._of_another_type(names.data, data, array.dtype, spec.dtype)
        arguments = arrays.prepare(spec.op, spec.opset, place, spec.reduction, array, indices, updates, out, spec.mode)
        found = arguments.spec
        if found.index != spec.index:
            raise self._of_another_type(names.indices, indices, arguments.indices.dtype, spec.index)
        if found.place != spec.place:
            raise ShapeError(f"{spec}: indices.shape[-1] is {found.place}, must be {spec.place}")
        return arguments

    def _of_another_type(self, name: str, value: Any, given: np.dtype[Any], wanted: DType) -> DTypeError:
        """Return the error for an argument in whose type there is no kernel here."""
        from ..arguments.advice import to_type_of_kernel

        return DTypeError(f"{self.spec}: {to_type_of_kernel(value, name, given, wanted.numpy_name)}")

    def variant(self, form: str) -> Variant:
        """Return the kernel of a loop form (``rows``); raise `SpecError` (ValueError) if this spec never needs it."""
        found = [variant for variant in self.variants if variant.spec.form.name == form]
        if not found:
            forms = ", ".join(variant.spec.form.name for variant in self.variants)
            raise SpecError("form", form, f"one of {forms} for {self}")
        return found[0]

    def __str__(self) -> str:
        return str(self.spec)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.spec}: {number_of(len(self.variants), 'variant')}>"

    def __reduce__(self) -> tuple[Callable[[str], Kernel], tuple[str]]:
        # Addresses are of this process; another one finds the kernels by their spec.
        return compile, (str(self.spec),)


class CacheKernel(Kernel):
    """The compiled form of a TensorScatter, whose arguments have another order."""

    __slots__ = ()

    def __call__(
        self, past_cache: Any, update: Any, write_indices: Any = None, *, out: Any = None, threads: int | None = None
    ) -> np.ndarray[Any, Any]:
        """Return what `tensor_scatter` gives; arguments and exceptions are those of it."""
        return super().__call__(past_cache, write_indices, update, out=out, threads=threads)

    def bind(
        self, past_cache: Any, update: Any, write_indices: Any = None, out: Any = None, *, threads: int | None = None
    ) -> Bound:
        """Return the call bound to its arrays, to be run in a loop; without `out` one is made."""
        return super().bind(past_cache, write_indices, update, out, threads=threads)


_KERNELS: dict[str, type[Kernel]] = {"window": CacheKernel}
"""The class of kernels, by the operator's addressing, where it is another one."""


def operator_spec(text: OpSpec | str) -> OpSpec:
    """Return the operator's spec that `text` is or names; raise `SpecError`, which says so where it is a kernel's."""
    if isinstance(text, OpSpec):
        return text
    if not isinstance(text, str):
        raise SpecError("spec", text, f"an OpSpec or its text, {GRAMMAR}")
    try:
        return OpSpec.parse(text)
    except SpecError:
        if not _names_kernel(text):
            raise
    raise SpecError("spec", text, f"{GRAMMAR}; this is a kernel's name: use scattergen.show or scattergen build")


def _names_kernel(text: str) -> bool:
    try:
        KernelSpec.parse(text)
    except SpecError:
        return False
    return True


def compile(spec: OpSpec | str) -> Kernel:
    """Return the kernels of `spec` (an `OpSpec` or its text), building those that nobody has yet.

    The `Kernel` is called as ``kernel(data, indices, updates, *, out=None, threads=None)``, that of a TensorScatter as
    ``kernel(past_cache, update, write_indices=None, *, out=None, threads=None)``: all else is part of the spec. Its
    ``variants`` are the C kernels, each with ``source``, ``library`` and ``address``. ``variant("rows")`` is one of
    them by the form of its loops, and ``bind(...)`` is the call bound to its arrays.

    Raises:
        SpecError: the text names no operator spec; a kernel's name is for `show` and ``scattergen build``.
        CompilerNotFound, CompileError, KernelUnavailable: a kernel cannot be had.

    """
    return compile_all([spec])[0]


def compile_all(
    specs: Iterable[OpSpec | str], *, jobs: int | None = None, on_done: Callable[[Done], object] | None = None
) -> list[Kernel]:
    """Return the kernels of `specs` in their order, those that nobody has yet built side by side.

    A server calls this when it starts, so that no later call waits for a compiler.

    Args:
        specs: each an `OpSpec` or its text.
        jobs: how many compilers run at a time, 1 or more; None: as many as there are cores to use.
        on_done: called in this thread for every kernel that is there, with its ``name``, ``origin``, ``seconds``,
            ``number`` and the ``total``.

    Raises:
        SpecError (ValueError): any of these will not do; nothing is built.
        CompilerNotFound, CompileError, KernelUnavailable: a kernel cannot be had; the compilers that run have ended.

    """
    from concurrent.futures import ThreadPoolExecutor, as_completed  # imports logging: not for `import scattergen`

    if isinstance(specs, (str, OpSpec)) or not isinstance(specs, Iterable):
        raise SpecError("specs", specs, "a list of specs; scattergen.compile takes one")
    if on_done is not None and not callable(on_done):
        raise SpecError("on_done", on_done, "a function of what was done, or None")
    at_a_time = machine.compilers(jobs)
    asked = [operator_spec(spec) for spec in specs]
    needed = {spec: lower.variants(spec) for spec in asked}
    kernels = dict.fromkeys(kernel for variants in needed.values() for kernel in variants)
    caller.make()
    with ThreadPoolExecutor(at_a_time) as pool:
        work = [pool.submit(supply.ready, kernel) for kernel in kernels]
        try:
            for number, future in enumerate(as_completed(work), 1):
                ready = future.result()
                if on_done:
                    on_done(Done(str(ready.spec), ready.origin, ready.seconds, number, len(work)))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    variants = {kernel: _variant(supply.ready(kernel)) for kernel in kernels}
    return [
        _KERNELS.get(spec.op.addressing, Kernel)(spec, tuple(variants[kernel] for kernel in needed[spec]))
        for spec in asked
    ]


def _variant(ready: supply.Ready) -> Variant:
    return Variant(ready.spec, Path(ready.library), ready.loaded.address)
