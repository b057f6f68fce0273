"""Loop nest → loop form and layout; OpSpec → the closed set of kernels that its calls can need.

| loops of the canonical nest (innermost contiguous) | components | form     |
|----------------------------------------------------|------------|----------|
| tuples                                             | any        | elements |
| outer, tuples                                      | 1          | rows     |
| [outer], [tuples], lanes                           | 1          | lanes    |
| [outer], [tuples], slice                           | any        | slices   |
| a window                                           | 1          | windows  |
| a window that wraps                                | 1          | rings    |
| anything else                                      | any        | strided  |

A *tuples* loop does not move the output, a *slice* loop moves it and not the indices, a *lanes* loop
moves both; what stands in brackets may be missing. A nest with a *window* may have any other loops.
*elements* is for targets that are less than 2^31 elements apart; others are *strided*.
"""

from __future__ import annotations

from collections.abc import Callable

from ..common.record import Record
from ..operators.dtypes import DTYPES, DType
from ..operators.spec import OpSpec
from .forms import FORMS
from .kernel import KernelSpec
from .loops import Component, Loop, Nest

MISSING = Loop(1, 0, 0, 0)
"""The loop that a nest does not have: one step that moves nothing."""

_OF_BOOLS = {"add": "or", "mul": "and", "max": "or", "min": "and"}
"""Reductions as operations on bools."""

_WRAPPING = ("add", "mul")
"""Those of integers that do not depend on the sign."""

_ELEMENTS_REACH = 1 << 31
"""How far apart in the output, in elements, the targets of single elements may lie: kernels hold offsets in 32 bits."""


class Loops(Record):
    """A nest of at most three loops, strides in elements; a missing loop is one step."""

    outer: Loop
    tuples: Loop
    inner: Loop
    components: tuple[Component, ...]
    total: int
    """Elements of the output."""


def element(dtype: DType, reduction: str) -> tuple[DType, str]:
    """Return the element type and operation of the kernels that compute `reduction` on `dtype`.

    Moves need a width alone; sums and products of integers wrap, so that their sign does not matter.
    """
    if reduction == "none":
        return DTYPES[f"w{8 * dtype.size}"], "none"
    if dtype.kind == "bool":
        return dtype, _OF_BOOLS[reduction]
    if dtype.kind == "signed" and reduction in _WRAPPING:
        return DTYPES[f"u{8 * dtype.size}"], reduction
    return dtype, reduction


def lower(nest: Nest, item: int, index_item: int, total: int) -> tuple[str, Loops | None]:
    """Return the form of a canonical nest and its loops; None for a form that takes any strides, and the nest itself.

    `item` and `index_item` are the bytes of an element and of an index, `total` the elements of the output.
    """
    found = _three_loops(nest, item, index_item, total)
    form = None if found is None else _form(found)
    return (any_strides(nest), None) if form is None else (form, found)


def _three_loops(nest: Nest, item: int, index_item: int, total: int) -> Loops | None:
    """Return the outer, the tuples and the inner loop of a nest, None where these are not all that it has."""
    in_items = None if nest.window else _in_items(nest, item, index_item)
    if in_items is None:
        return None
    left, components = list(in_items.loops), in_items.components
    inner = _taken(left, lambda loop: loop.out == loop.updates == 1 and loop.indices in (0, 1))
    tuples = _taken(left, lambda loop: loop.out == 0)
    outer = _taken(left, lambda loop: loop.out > 0)
    apart = len(components) > 1 and in_items.component_step != 1
    reaches = _reaches(components)
    # Where targets of two outer steps may interleave, the steps are no blocks of the output.
    interleaved = outer is not MISSING and (min([0, *reaches]) < 0 or sum(reaches) + inner.extent > outer.out)
    return None if left or apart or interleaved else Loops(outer, tuples, inner, components, total)


def _taken(left: list[Loop], wanted: Callable[[Loop], bool]) -> Loop:
    """Take the innermost of the loops that are left if it is wanted."""
    return left.pop() if left and wanted(left[-1]) else MISSING


def _reaches(components: tuple[Component, ...]) -> list[int]:
    """Return how far from the first target of a step, in elements, each component may lead."""
    return [(component.size - 1) * component.stride for component in components]


def _form(loops: Loops) -> str | None:
    """Return the form that takes these loops, None where only one for any strides does."""
    outer, tuples, inner, components, _ = loops
    depth, one_tuple = len(components), tuples.extent == 1
    if inner is not MISSING:
        return "slices" if not inner.indices else "lanes" if depth == 1 else None
    if not (one_tuple or tuples.indices == depth):  # tuples do not lie side by side
        return None
    if outer is MISSING:
        return "elements" if sum(map(abs, _reaches(components))) < _ELEMENTS_REACH else None
    side_by_side = depth == 1 and components[0].stride == 1 and (one_tuple or tuples.updates == 1)
    return "rows" if side_by_side else None


def any_strides(nest: Nest) -> str:
    """Return the form that takes a nest whatever its strides and addresses are."""
    if nest.window:
        return "rings" if nest.window.wraps else "windows"
    return "strided"


def _in_items(nest: Nest, item: int, index_item: int) -> Nest | None:
    """Return the nest with strides in elements, None where a stride is no whole number of them."""
    outs = [loop.out for loop in nest.loops] + [component.stride for component in nest.components]
    updates = [loop.updates for loop in nest.loops]
    indices = [loop.indices for loop in nest.loops] + [nest.component_step]
    if any(stride % item for stride in outs + updates) or any(stride % index_item for stride in indices):
        return None
    return Nest(
        tuple(Loop(n, out // item, index // index_item, update // item) for n, out, index, update in nest.loops),
        tuple(Component(size, stride // item) for size, stride in nest.components),
        nest.component_step // index_item,
    )


def kernel(form: str, dtype: DType, index: DType, reduction: str, depth: int) -> KernelSpec:
    """Return the kernel of a form for a tensor type and reduction."""
    item, operation = element(dtype, reduction)
    return KernelSpec(
        form=FORMS[form],
        element=item,
        index=index,
        operation=operation,
        depth=depth if FORMS[form].has_depth else 1,
    )


SCHEDULES: dict[str, tuple[str, ...]] = {
    "rows": ("rows", "wide_rows"),
    "lanes": ("lanes", "tiles"),
    "elements": ("elements", "buckets"),
    "slices": ("slices", "owners", "inverse"),
    "strided": ("strided",),
    "windows": ("windows",),
    "rings": ("rings",),
}
"""The kernels' forms among which the sizes of a call choose, for each form that its loops can lower to."""


_LOWERED: dict[str, tuple[str, ...]] = {
    "": ("rows", "lanes", "elements", "slices", "strided"),
    "linear": ("windows",),
    "circular": ("rings",),
}
"""The forms to which the loops of a spec can lower, by its mode."""


def variants(spec: OpSpec) -> tuple[KernelSpec, ...]:
    """Return every kernel that calls of `spec` may need, whatever their shapes and strides."""
    depth = spec.place if spec.op.addressing == "tuples" else 1
    item, operation = element(spec.dtype, spec.reduction)
    lowered = _LOWERED[spec.mode]
    if spec.rank == depth == 1:
        lowered = ("elements", "strided")
    forms = [FORMS[name] for form in lowered for name in SCHEDULES[form]]
    return tuple(
        kernel(form.name, spec.dtype, spec.index, spec.reduction, depth)
        for form in forms
        if (depth >= form.least_depth if form.has_depth else depth == 1)
        and item.kind in form.kinds
        and operation in form.operations
    )
