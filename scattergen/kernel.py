"""`KernelSpec`: one compiled loop: its form, element, index type and operation.

The text of a kernel spec names the C file, the cache entry and the golden file::

    rows_f32_i64_add      lanes_u32_i32_mul      slices_w8_i64_k1_none
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import dtypes
from .dtypes import DType
from .errors import SpecError
from .spec import MAX_RANK, NUMBER


@dataclass(frozen=True, slots=True)
class Form:
    """A loop form: one template, and what the loops look like."""

    name: str
    has_depth: bool
    """Whether the number of index components per target is part of the kernel (else it is 1)."""
    summary: str
    """Half a sentence for the banner."""


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("rows", False, "each row of data copied, then its updates applied in order"),
        Form("lanes", False, "an index for every element of a contiguous run; runs applied in order"),
        Form("elements", True, "one element for every index tuple, applied in order"),
        Form("slices", True, "one contiguous slice for every index tuple, applied in order"),
        Form("strided", True, "any strides in bytes; one element at a time along the innermost loop"),
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
}
"""What a kernel does with an old value and an update, and the kinds of elements that have it."""

_TEXT = re.compile(
    rf"(?P<form>{'|'.join(FORMS)})_(?P<element>[a-z]+[0-9]*)_(?P<index>i[0-9]+)(_k(?P<depth>{NUMBER}))?"
    r"_(?P<operation>[a-z]+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSpec:
    """One kernel; valid by construction, equal to `KernelSpec.parse(str(spec))`."""

    form: Form
    element: DType
    index: DType
    operation: str
    depth: int = 1
    """Index components per target."""

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise SpecError("operation", self.operation, f"one of {', '.join(OPERATIONS)}")
        if self.element.kind not in OPERATIONS[self.operation]:
            raise SpecError("element", self.element.tag, f"a type of kind {' or '.join(OPERATIONS[self.operation])}")
        if self.index not in dtypes.INDEX_TYPES:
            raise SpecError("index", self.index.tag, f"one of {', '.join(row.tag for row in dtypes.INDEX_TYPES)}")
        low, high = (0, MAX_RANK) if self.form.has_depth else (1, 1)
        if not low <= self.depth <= high:
            raise SpecError("depth", self.depth, f"{low} to {high} for {self.form.name}")

    def __str__(self) -> str:
        depth = f"_k{self.depth}" if self.form.has_depth else ""
        return f"{self.form.name}_{self.element}_{self.index}{depth}_{self.operation}"

    @property
    def step_function(self) -> str:
        """Name of the C function that computes one step; empty where `=`, `+=` or `*=` says it."""
        if self.operation in ("or", "and", "max", "min"):
            return {"or": "either", "and": "both", "max": "greater", "min": "less"}[self.operation]
        narrow_product = self.operation == "mul" and self.element.kind == "unsigned" and self.element.size < 4
        if self.operation != "none" and (self.element.kind in ("half", "complex") or narrow_product):
            return {"add": "sum", "mul": "product"}[self.operation]
        return ""

    @property
    def rounds(self) -> bool:
        """Whether a step of halves is computed wide and rounded back."""
        return self.element.kind == "half" and self.operation in ("add", "mul")

    @property
    def comparison(self) -> str:
        """C operator that holds where an update replaces the old value under max and min."""
        return {"max": ">", "min": "<"}[self.operation]

    @property
    def comparative(self) -> str:
        """That operator in words."""
        return {"max": "greater", "min": "less"}[self.operation]

    @classmethod
    def parse(cls, text: str) -> KernelSpec:
        """Return the kernel spec that `text` names; raise `SpecError` that says what is wrong with it."""
        match = _TEXT.fullmatch(text)
        if match is None or (match["depth"] is not None) != FORMS[match["form"]].has_depth:
            raise SpecError("kernel", text, f"<{'|'.join(FORMS)}>_<element>_<index type>[_k<depth>]_<operation>")
        return cls(
            form=FORMS[match["form"]],
            element=dtypes.lookup(match["element"], "element"),
            index=dtypes.lookup(match["index"], "index"),
            depth=int(match["depth"] or 1),
            operation=match["operation"],
        )
