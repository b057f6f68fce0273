"""The standard set: the specs whose kernels are checked in as C and built ahead of time by default."""

from __future__ import annotations

from ..operators.spec import OpSpec
from .kernel import KernelSpec
from .lower import variants

SPECS: tuple[str, ...] = tuple(
    f"{operator}_{dtype}_i64_{place}_{reduction}"
    for operator, places in (("scatter_elements", ("r2a0",)), ("scatter_nd", ("r2k1", "r2k2")))
    for place in places
    for dtype, reductions in (
        ("f32", ("none", "add", "mul", "max", "min")),
        ("f64", ("none", "add", "mul", "max", "min")),
        ("i32", ("add", "max", "min")),
        ("i64", ("add", "max", "min")),
        ("f16", ("none", "add", "max")),
        ("bool", ("none", "add", "mul")),
    )
    for reduction in reductions
) + tuple(f"tensor_scatter_{dtype}_i64_r4a2_{mode}" for dtype in ("f32", "f16") for mode in ("linear", "circular"))

HELPING: tuple[str, ...] = (
    "flat_f16_i64_convert",
    *(f"extremes_{element}_i64_arg{end}" for element in ("f32", "f64", "i32", "i64") for end in ("max", "min")),
    *(f"grad_w32_i64_k{depth}_{step}" for depth in (1, 2) for step in ("gather", "take")),
    *(f"grad_f32_i64_k{depth}_{step}" for depth in (1, 2) for step in ("suffix", "prefix", "ties", "share")),
)
"""Kernels that are steps of composed calls, which no operator's spec names."""


def kernels() -> tuple[KernelSpec, ...]:
    """Return every kernel of the standard set, once, sorted by name."""
    found = {str(kernel): kernel for text in SPECS for kernel in variants(OpSpec.parse(text))}
    found |= {text: KernelSpec.parse(text) for text in HELPING}
    return tuple(found[name] for name in sorted(found))
