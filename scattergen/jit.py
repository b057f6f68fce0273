"""Kernels by import: ``from scattergen.jit import scatter_elements_f32_i64_r3a1_add as kernel``.

The name is the text of an operator spec; its kernels are found or built when it is imported. ``dir()``
lists the standard set; any other valid name works as well.
"""

from __future__ import annotations

from .call.compiled import Kernel, compile
from .errors import SpecError
from .operators.ops import OPS
from .operators.spec import GRAMMAR, OpSpec

_NEAR = 4


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
    near = near_names(name)
    if near:
        lines.append(f"  near:    {', '.join(near)}")
    return "\n".join(lines)


def near_names(name: str) -> list[str]:
    """Return valid specs that a wrong text may have meant, the likeliest first: same text but for one field."""
    import difflib

    from .operators import dtypes, ops

    words = name.split("_")
    places = [f"r{rank}{letter}{number}" for rank in range(1, 7) for letter in "ak" for number in range(rank + 1)]
    words_of = [word for op in OPS.values() for word in (*op.prefix.split("_"), *op.versions[-1].modes)]
    tags = (row.tag for row in (*dtypes.TENSORS, *dtypes.OPAQUE))
    vocabulary = [*tags, *ops.REDUCTIONS, *places, *OPS, *words_of]
    candidates = {"_".join((*words[:at], word, *words[at + 1 :])) for at in range(len(words)) for word in vocabulary}
    valid = [candidate for candidate in sorted(candidates) if _is_valid(candidate)]
    from .lower.standard import SPECS

    return difflib.get_close_matches(name, valid or SPECS, n=_NEAR, cutoff=0.6)


def _is_valid(text: str) -> bool:
    try:
        OpSpec.parse(text)
    except SpecError:
        return False
    return True
