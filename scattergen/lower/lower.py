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
from .kernel import FORMS, KernelSpec
from .layout import Values
from .loops import Component, Loop, Nest

_MISSING = Loop(1, 0, 0, 0)

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
    interleaved = outer is not _MISSING and (min([0, *reaches]) < 0 or sum(reaches) + inner.extent > outer.out)
    return None if left or apart or interleaved else Loops(outer, tuples, inner, components, total)


def _taken(left: list[Loop], wanted: Callable[[Loop], bool]) -> Loop:
    """Take the innermost of the loops that are left if it is wanted."""
    return left.pop() if left and wanted(left[-1]) else _MISSING


def _reaches(components: tuple[Component, ...]) -> list[int]:
    """Return how far from the first target of a step, in elements, each component may lead."""
    return [(component.size - 1) * component.stride for component in components]


def _form(loops: Loops) -> str | None:
    """Return the form that takes these loops, None where only one for any strides does."""
    outer, tuples, inner, components, _ = loops
    depth, one_tuple = len(components), tuples.extent == 1
    if inner is not _MISSING:
        return "slices" if not inner.indices else "lanes" if depth == 1 else None
    if not (one_tuple or tuples.indices == depth):  # tuples do not lie side by side
        return None
    if outer is _MISSING:
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


def _block(loops: Loops) -> int:
    """Elements of the output from one outer step to the next: what a kernel copies before it applies."""
    return loops.outer.out or loops.total


def _targets(components: tuple[Component, ...]) -> Values:
    return {"SIZES": [c.size for c in components], "STRIDES": [c.stride for c in components]}


def _rows(m: Loops) -> Values:
    return {
        "ROWS": m.outer.extent,
        "COUNT": m.tuples.extent,
        "SIZE": m.components[0].size,
        "TOTAL": m.total,
        "OUT_ROW": _block(m),
        "INDEX_ROW": m.outer.indices,
        "UPDATE_ROW": m.outer.updates,
    }


def _lanes(m: Loops) -> Values:
    axis = m.components[0]
    return {
        "OUTER": m.outer.extent,
        "COUNT": m.tuples.extent,
        "INNER": m.inner.extent,
        "SIZE": axis.size,
        "TOTAL": m.total,
        "OUT_OUTER": _block(m),
        "OUT_AXIS": axis.stride if axis.size > 1 else _block(m),  # NumPy gives a dim of size 1 any stride
        "INDEX_OUTER": m.outer.indices,
        "INDEX_STEP": m.tuples.indices,
        "UPDATE_OUTER": m.outer.updates,
        "UPDATE_STEP": m.tuples.updates,
    }


def _elements(m: Loops) -> Values:
    return {
        "COUNT": m.tuples.extent,
        "TOTAL": m.total,
        "UPDATE_STEP": m.tuples.updates,
        **_targets(m.components),
    }


def _slices(m: Loops) -> Values:
    return {
        "OUTER": m.outer.extent,
        "COUNT": m.tuples.extent,
        "LENGTH": m.inner.extent,
        "TOTAL": m.total,
        "OUT_OUTER": _block(m),
        "INDEX_OUTER": m.outer.indices,
        "INDEX_STEP": m.tuples.indices,
        "UPDATE_OUTER": m.outer.updates,
        "UPDATE_STEP": m.tuples.updates,
        **_targets(m.components),
    }


VALUES: dict[str, Callable[[Loops], Values]] = {
    "rows": _rows,
    "lanes": _lanes,
    "elements": _elements,
    "slices": _slices,
}
"""The numbers that kernels of a form find in `layout`, but for those that the schedule adds."""


def _strided(nest: Nest, item: int, total_bytes: int) -> Values:
    loops = nest.loops or (_MISSING,)
    return {
        "TOTAL": total_bytes,
        "LOOPS": len(loops),
        "COMPONENT_STEP": nest.component_step,
        **_targets(nest.components),
        "FIRST_LOOP": [number for loop in loops for number in loop],
    }


def _windows(nest: Nest, item: int, total_bytes: int) -> Values:
    """Return the numbers of a window, whose innermost loop is a row: what there is at one position.

    It is a row of one element where the positions are what lies together in memory.
    """
    window, loops = nest.window, list(nest.loops)
    assert window is not None
    starts = next((loop for loop in loops if loop.indices), _MISSING)
    row = Loop(1, item, 0, item)
    positions_together = window.extent > 1 and window.out == window.updates == item
    if loops and not loops[-1].indices and (loops[-1].out == loops[-1].updates == item or not positions_together):
        row = loops.pop()
    loops.append(row)
    return {
        "TOTAL": total_bytes,
        "LOOPS": len(loops),
        "SIZE": nest.components[0].size,
        "LENGTH": window.extent,
        "OUT_STEP": window.out,
        "UPDATE_STEP": window.updates,
        "STARTS": starts.extent,
        "START_STEP": starts.indices,
        "FIRST_LOOP": [number for loop in loops for number in loop],
    }


NEST_VALUES: dict[str, Callable[[Nest, int, int], Values]] = {
    "strided": _strided,
    "windows": _windows,
    "rings": _windows,
}
"""The same for the forms that take any strides, from the nest and the bytes of an element and of the output."""


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
