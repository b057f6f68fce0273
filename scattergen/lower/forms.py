"""The tables of what kernels there are: loop forms, and operations on a target and an update."""

from __future__ import annotations

from typing import get_args

from ..common.record import Record
from ..operators.dtypes import Kind

_KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind not in ("opaque", "string"))

_NUMBERS: tuple[Kind, ...] = ("unsigned", "float", "half", "complex")
"""Sums and products of signed integers are those of unsigned ones."""

_ORDERED: tuple[Kind, ...] = ("unsigned", "signed", "float", "half")


class Operation(Record):
    """What a kernel does with an old value and an update."""

    kinds: tuple[Kind, ...]
    """The kinds of elements that have it."""
    assignment: str = ""
    """The C operator that is a step of it, such as `+=`; empty where none is."""
    function: str = ""
    """Name of the C function that is a step of it where that operator is not."""
    function_for: tuple[Kind, ...] = ()
    """The kinds that need the function; element.c.j2 has it for each of them."""
    overflows_int: bool = False
    """Whether unsigned numbers need it too that are narrower than an int, which C computes with instead."""
    comparison: str = ""
    """The C operator, `<` or `>`, that holds where an update replaces the old value, if it is compared."""
    comparative: str = ""
    """That operator in words."""

    @property
    def operator(self) -> str:
        """What the assignment computes with, such as `+`; empty where it only assigns."""
        return self.assignment[:-1]


REDUCING: dict[str, Operation] = {
    "none": Operation(("word",), "="),
    "add": Operation(_NUMBERS, "+=", "sum", ("half", "complex")),
    "mul": Operation(_NUMBERS, "*=", "product", ("half", "complex"), overflows_int=True),
    "max": Operation(_ORDERED, "", "greater", _ORDERED, comparison=">", comparative="greater"),
    "min": Operation(_ORDERED, "", "less", _ORDERED, comparison="<", comparative="less"),
    "or": Operation(("bool",), "|=", "either", ("bool",)),
    "and": Operation(("bool",), "&=", "both", ("bool",)),
}
"""The operations that updates are applied by."""

OPERATIONS: dict[str, Operation] = {
    **REDUCING,
    "convert": Operation(("half",), "="),
    "argmax": Operation(_ORDERED, "", "greater", _ORDERED, comparison=">", comparative="greater"),
    "argmin": Operation(_ORDERED, "", "less", _ORDERED, comparison="<", comparative="less"),
    "gather": Operation(("word",)),
    "take": Operation(("word",)),
    "suffix": Operation(("float", "complex"), "*=", "product", ("complex",)),
    "prefix": Operation(("float", "complex"), "*=", "product", ("complex",)),
    "ties": Operation(("float",)),
    "share": Operation(("float",)),
}
"""All of them; those of composed calls are applied by templates of their own."""

IN_FLOATS = tuple(name for name, step in REDUCING.items() if "half" in step.kinds and step.operator)
"""The reductions of halves that are computed in floats."""


class Form(Record):
    """A loop form: what its loops look like, and which template writes them."""

    name: str
    summary: str
    """Half a sentence for the banner."""
    has_depth: bool = False
    """Whether the number of index components per target is part of the kernel (else it is 1)."""
    least_depth: int = 0
    """The least such number."""
    copies_to_floats: bool = False
    """Whether sums and products of halves are computed in a copy that holds floats."""
    keeps_targets: bool = False
    """Whether a target is kept through a run of updates, sums and products of halves as floats."""
    template: str = ""
    """Name of the template where it is not the form's."""
    threaded: bool = True
    """Whether its work is shared out to threads."""
    kinds: tuple[Kind, ...] = _KINDS
    """The kinds of elements that the form is for; those of opaque types are moved as words."""
    operations: tuple[str, ...] = tuple(REDUCING)
    """What its kernels do; in a form that no operator's loops lower to, something of its own."""

    @property
    def helps(self) -> bool:
        """Whether its kernels are steps of a composed call, rather than answers to an operator's."""
        return not set(self.operations) <= set(REDUCING)


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("rows", "each row of data copied, then its updates applied in order"),
        Form(
            "wide_rows",
            "as rows, each row held as floats",
            copies_to_floats=True,
            template="rows",
            kinds=("half",),
            operations=IN_FLOATS,
        ),
        Form("lanes", "columns with an index for every element, applied in order in the output itself"),
        Form(
            "tiles",
            "as lanes, a few columns at a time in a copy that fits the cache",
            copies_to_floats=True,
            template="lanes",
        ),
        Form(
            "elements",
            "one element for every index tuple, applied in order",
            has_depth=True,
            keeps_targets=True,
            threaded=False,
        ),
        Form("slices", "one contiguous slice for every index tuple, applied in order", has_depth=True),
        Form(
            "buckets",
            "as elements, dealt out to the threads that own them",
            has_depth=True,
            least_depth=1,
            template="owners",
        ),
        Form("owners", "as slices, dealt out to the threads that own their targets", has_depth=True),
        Form("inverse", "as slices, each row of the output written once", has_depth=True, kinds=("word",)),
        Form(
            "strided",
            "any strides in bytes, one element at a time along the innermost loop",
            has_depth=True,
        ),
        Form("windows", "a run of positions for every start index, copied with any strides in bytes", kinds=("word",)),
        Form(
            "rings",
            "as windows, going on at the first position past the last one",
            template="windows",
            kinds=("word",),
        ),
        Form(
            "flat",
            "halves become floats, or floats halves",
            copies_to_floats=True,
            kinds=("half",),
            operations=("convert",),
        ),
        Form(
            "extremes",
            "the extreme update of each target, and the first place along the axis that has it",
            kinds=_ORDERED,
            operations=("argmax", "argmin"),
        ),
        Form(
            "grad",
            "one step of a gradient, at the target of every update in order",
            has_depth=True,
            kinds=("word", "float", "complex"),
            operations=("gather", "take", "suffix", "prefix", "ties", "share"),
        ),
    )
}
