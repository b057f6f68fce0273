"""`KernelSpec`: one compiled loop: its form, element, index type and operation.

The text of a kernel spec names the C file, the cache entry and the golden file::

    rows_f32_i64_add      lanes_u32_i32_mul      slices_w8_i64_k1_none
"""

from __future__ import annotations

import re
from typing import get_args

from ..common.record import Record
from ..errors import SpecError
from ..operators import dtypes
from ..operators.dtypes import DType, Kind
from ..operators.spec import MAX_RANK, NUMBER
from .layout import LAYOUTS, Layout

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
    "first": Operation(("bool", *_ORDERED)),
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
            "places",
            "for every target the first place along the axis whose update equals it",
            kinds=("bool", "unsigned", "signed", "float", "half"),
            operations=("first",),
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

_NAMES = "|".join(sorted(FORMS, key=len, reverse=True))
_TEXT = (
    rf"(?P<form>{_NAMES})_(?P<element>[a-z]+[0-9]*)_(?P<index>i[0-9]+)(_k(?P<depth>{NUMBER}))?_(?P<operation>[a-z]+)"
)


class KernelSpec(Record):
    """One kernel; valid by construction, equal to `KernelSpec.parse(str(spec))`."""

    form: Form
    element: DType
    index: DType  # type: ignore[assignment]  # no spec is searched as a tuple
    operation: str
    depth: int = 1
    """Index components per target."""

    def _validated(self) -> KernelSpec:
        if self.operation not in OPERATIONS:
            raise SpecError("operation", self.operation, f"one of {', '.join(OPERATIONS)}")
        if self.operation not in self.form.operations:
            raise SpecError(
                "operation", self.operation, f"one of {', '.join(self.form.operations)} for {self.form.name}"
            )
        if self.element.kind not in self.step.kinds:
            raise SpecError("element", self.element.tag, f"a type of kind {' or '.join(self.step.kinds)}")
        if self.element.kind not in self.form.kinds:
            raise SpecError("element", self.element.tag, f"a {' or '.join(self.form.kinds)} for {self.form.name}")
        if self.index not in dtypes.INDEX_TYPES:
            raise SpecError("index", self.index.tag, f"one of {', '.join(row.tag for row in dtypes.INDEX_TYPES)}")
        low, high = (self.form.least_depth, MAX_RANK) if self.form.has_depth else (1, 1)
        if not low <= self.depth <= high:
            raise SpecError("depth", self.depth, f"{low} to {high} for {self.form.name}")
        return self

    def __str__(self) -> str:
        depth = f"_k{self.depth}" if self.form.has_depth else ""
        return f"{self.form.name}_{self.element}_{self.index}{depth}_{self.operation}"

    @property
    def layout(self) -> Layout:
        """What the kernel finds in its `layout`."""
        return LAYOUTS[self.form.name]

    @property
    def step(self) -> Operation:
        """The operation's row of the table."""
        return OPERATIONS[self.operation]

    @property
    def step_function(self) -> str:
        """Name of the C function that computes one step; empty where an operator does."""
        narrow = self.element.kind == "unsigned" and self.element.storage != self.element.arithmetic
        needed = self.element.kind in self.step.function_for or (self.step.overflows_int and narrow)
        return self.step.function if needed else ""

    @property
    def assignment(self) -> str:
        """The C operator that is one step; raise KeyError where there is none."""
        if not self.step.assignment:
            raise KeyError(f"{self.operation} has no step for elements of kind {self.element.kind}")
        return self.step.assignment

    @property
    def compares_ranks(self) -> bool:
        """Whether halves are compared, as whole numbers in their order."""
        return self.element.kind == "half" and self.step.comparison != ""

    @property
    def works_in_floats(self) -> bool:
        """Whether targets are copied to `wide` ones and back: halves that are computed with, in a form that does so."""
        return self.narrows_floats and self.form.copies_to_floats

    @property
    def rounds_each_step(self) -> bool:
        """Whether sums and products of halves are rounded while they stay floats."""
        stay = self.form.copies_to_floats or self.form.keeps_targets
        return stay and self.narrows_floats and self.step.operator != ""

    @property
    def narrows_floats(self) -> bool:
        """Whether floats become halves again."""
        return self.element.kind == "half" and self.step.assignment != ""

    def __repr__(self) -> str:
        return f"KernelSpec.parse({str(self)!r})"

    @classmethod
    def parse(cls, text: str) -> KernelSpec:
        """Return the kernel spec that `text` names; raise `SpecError` that says what is wrong with it."""
        match = re.fullmatch(_TEXT, text)
        if match is None or (match["depth"] is not None) != FORMS[match["form"]].has_depth:
            raise SpecError("kernel", text, f"<{'|'.join(FORMS)}>_<element>_<index type>[_k<depth>]_<operation>")
        return cls(
            form=FORMS[match["form"]],
            element=dtypes.lookup(match["element"], "element"),
            index=dtypes.lookup(match["index"], "index"),
            depth=int(match["depth"] or 1),
            operation=match["operation"],
        )
