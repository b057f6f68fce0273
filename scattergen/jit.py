"""Kernels by import: ``from scattergen.jit import scatter_elements_f32_i64_r3a1_add as kernel``.

The name is the text of an operator spec; its kernels are found or built when it is imported. ``dir()``
lists the standard set; any other valid name works as well.
"""

from __future__ import annotations

from .call.compiled import Kernel, compile
from .errors import SpecError
from .operators.ops import OPS
from .operators.spec import GRAMMAR, OpSpec


def __getattr__(name: str) -> Kernel:
    """Return the kernel of the spec that `name` is the text of.

    Raises ImportError for a name that starts with an operator's and is no spec, AttributeError for any other.
    """
    # The underscore tells specs from words such as `scattered`.
    if not name.startswith(tuple(f"{prefix}_" for prefix in OPS)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: its names are specs, {GRAMMAR}")
    try:
        spec = OpSpec.parse(name)
    except SpecError as error:
        raise ImportError(_explanation(name, error), name=__name__) from None
    kernel = compile(spec)
    globals()[name] = kernel
    return kernel


def __dir__() -> list[str]:
    from .lower.standard import SPECS

    return sorted({*SPECS, *(name for name in globals() if isinstance(globals()[name], Kernel))})


def _explanation(name: str, error: SpecError) -> str:
    lines = [f"{name} is no kernel: {error}"]
    if GRAMMAR not in lines[0]:
        lines.append(f"  grammar: {GRAMMAR}")
    if not error.near:
        from .lower.standard import SPECS
        from .operators.near import most_like

        near = most_like(name, [*SPECS])
        lines += [f"  near:    {', '.join(near)}"] if near else []
    return "\n".join(lines)
