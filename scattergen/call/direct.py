"""Kernels that help along: the steps of composed calls, which no operator's loops lower to.

A step is called with the layout that its caller makes; arrays are C-contiguous.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..arguments.arrays import Array
from ..errors import CompilerNotFound
from ..load import caller, loader, supply
from ..load.loader import NULL, Call
from ..lower import work
from ..lower.forms import FORMS
from ..lower.kernel import KernelSpec
from ..operators.dtypes import DTYPES, DType
from . import plan, threads


@lru_cache(maxsize=256)
def kernel(form: str, element: DType, index: DType = DTYPES["i64"], operation: str = "", depth: int = 1) -> KernelSpec:
    """Return the kernel of a form that helps along; without `operation` the first that the form has."""
    operation = operation or FORMS[form].operations[0]
    return KernelSpec(form=FORMS[form], element=element, index=index, operation=operation, depth=depth)


def ready(spec: KernelSpec, *arrays: Array) -> supply.Ready | None:
    """Return the kernel for a step on arrays; None where NumPy has to answer, for want of a compiler."""
    try:
        return supply.ready(spec, supply.counted(*arrays))
    except CompilerNotFound as error:
        plan.fall_back(error)
        return None


def most_threads(traffic: int, most: int | None) -> int:
    """Return how many threads pay for so many bytes of traffic, of those that a call may take."""
    paying = traffic // work.THREAD_PAYS
    return min(threads.most(most), paying) if paying > 1 else 1


def run(
    have: supply.Ready,
    layout: tuple[int, ...],
    number: int,
    out: Array,
    data: Array | None,
    indices: Array | None,
    updates: Array | None,
) -> int:
    """Run a kernel on `number` threads; return -1, or the position of an index that is out of bounds."""
    call = _call(have, layout, number)
    caller.adopt()
    return loader.invoke(
        call.pointer,
        loader.address(out),
        NULL if data is None else loader.address(data),
        NULL if indices is None else loader.address(indices),
        NULL if updates is None else loader.address(updates),
        call.scratch(),
    )


@lru_cache(maxsize=256)
def _call(have: supply.Ready, layout: tuple[int, ...], number: int) -> Call:
    return Call(have.loaded, layout, number, 1, 1)


def widen(halves: Array, into: Array, most: int | None) -> None:
    """Write halves to an array of float32 of the same size; both are C-contiguous."""
    _convert(halves, into, None, True, most)


def narrow(floats: Array, into: Array, before: Array | None, most: int | None) -> None:
    """Write float32 to halves, to the nearest, ties to even; where `before` holds a NaN, that very NaN."""
    _convert(floats, into, before, False, most)


def _convert(values: Array, into: Array, before: Array | None, widens: bool, most: int | None) -> None:
    half = into.dtype if not widens else values.dtype
    spec = kernel("flat", next(row for row in DTYPES.values() if row.numpy_name == half.name))
    have = ready(spec, values)
    if have is not None:
        layout = (values.size, int(widens))
        run(have, layout, most_threads(6 * values.size, most), into, before, None, values)
        return
    with np.errstate(all="ignore"):
        found = values.astype(into.dtype)
    np.copyto(into, found if before is None else np.where(before != before, before, found))
