"""Loops → the numbers that their kernel finds in `layout`, by name: a function for each form."""

from __future__ import annotations

from collections.abc import Callable

from .layout import Values
from .loops import Component, Loop, Nest
from .lower import MISSING, Loops


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
    loops = nest.loops or (MISSING,)
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
    starts = next((loop for loop in loops if loop.indices), MISSING)
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
