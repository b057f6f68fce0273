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

REDUCING = ("none", "add", "mul", "max", "min", "or", "and")
"""The operations that updates are applied by."""

_KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind not in ("opaque", "string"))


class Form(Record):
    """A loop form: what its loops look like, and which template writes them."""

    name: str
    summary: str
    """Half a sentence for the banner."""
    has_depth: bool = False
    """Whether the number of index components per target is part of the kernel (else it is 1)."""
    least_depth: int = 0
    """The least such number."""
    wide: bool = False
    """Whether sums and products of halves are computed in a copy that holds floats."""
    keeps: bool = False
    """Whether a target is kept through a run of updates, sums and products of halves as floats."""
    template: str = ""
    """Name of the template where it is not the form's."""
    threaded: bool = True
    """Whether its work is shared out to threads."""
    kinds: tuple[Kind, ...] = _KINDS
    """The kinds of elements that the form is for; those of opaque types are moved as words."""
    operations: tuple[str, ...] = REDUCING
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
            wide=True,
            template="rows",
            kinds=("half",),
            operations=("add", "mul"),
        ),
        Form("lanes", "columns with an index for every element, applied in order in the output itself"),
        Form("tiles", "as lanes, a few columns at a time in a copy that fits the cache", wide=True, template="lanes"),
        Form(
            "elements",
            "one element for every index tuple, applied in order",
            has_depth=True,
            keeps=True,
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
        Form("flat", "halves become floats, or floats halves", wide=True, kinds=("half",), operations=("convert",)),
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

OPERATIONS: dict[str, tuple[str, ...]] = {
    "none": ("word",),
    "add": ("unsigned", "float", "half", "complex"),
    "mul": ("unsigned", "float", "half", "complex"),
    "max": ("unsigned", "signed", "float", "half"),
    "min": ("unsigned", "signed", "float", "half"),
    "or": ("bool",),
    "and": ("bool",),
    "convert": ("half",),
    "first": ("bool", "unsigned", "signed", "float", "half"),
    "gather": ("word",),
    "take": ("word",),
    "suffix": ("float", "complex"),
    "prefix": ("float", "complex"),
    "ties": ("float",),
    "share": ("float",),
}
"""What a kernel does with an old value and an update, and the kinds of elements that have it."""

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
        if self.element.kind not in OPERATIONS[self.operation]:
            raise SpecError("element", self.element.tag, f"a type of kind {' or '.join(OPERATIONS[self.operation])}")
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
    def step_function(self) -> str:
        """Name of the C function that computes one step; empty where `=`, `+=` or `*=` says it."""
        if self.operation in ("or", "and", "max", "min"):
            return {"or": "either", "and": "both", "max": "greater", "min": "less"}[self.operation]
        if self.operation in ("suffix", "prefix"):
            return "product" if self.element.kind == "complex" else ""
        narrow_product = self.operation == "mul" and self.element.kind == "unsigned" and self.element.size < 4
        if self.operation in ("add", "mul") and (self.element.kind in ("complex", "half") or narrow_product):
            return {"add": "sum", "mul": "product"}[self.operation]
        return ""

    @property
    def ranks(self) -> bool:
        """Whether halves are compared, as whole numbers in their order."""
        return self.element.kind == "half" and self.operation in ("max", "min")

    @property
    def converts(self) -> bool:
        """Whether targets are copied to `wide` ones and back: halves that are computed with, in a form that does so."""
        return self.element.kind == "half" and self.form.wide and self.operation in ("add", "mul", "convert")

    @property
    def rounds(self) -> bool:
        """Whether sums and products of halves are rounded while they stay floats."""
        half = self.element.kind == "half" and self.operation in ("add", "mul")
        return half and (self.converts or self.form.keeps)

    @property
    def narrows(self) -> bool:
        """Whether floats become halves again."""
        return self.element.kind == "half" and self.operation in ("add", "mul", "convert")

    @property
    def comparison(self) -> str:
        """C operator that holds where an update replaces the old value under max and min."""
        return {"max": ">", "min": "<"}[self.operation]

    @property
    def comparative(self) -> str:
        """That operator in words."""
        return {"max": "greater", "min": "less"}[self.operation]

    def __repr__(self) -> str:
        return f"KernelSpec({str(self)!r})"

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
