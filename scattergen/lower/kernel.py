"""`KernelSpec`: one compiled loop: its form, element, index type and operation.

The text of a kernel spec names the C file, the cache entry and the golden file::

    rows_f32_i64_add      lanes_u32_i32_mul      slices_w8_i64_k1_none
"""

from __future__ import annotations

import re

from ..common.record import Record
from ..errors import SpecError
from ..operators import dtypes
from ..operators.dtypes import DType
from ..operators.spec import MAX_RANK, NUMBER, OpSpec, names_operator
from .forms import FORMS, OPERATIONS, Form, Operation
from .layout import LAYOUTS, Layout

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
        _require_operation(self.form, self.operation)
        if self.element.kind not in self.step.kinds or self.element.kind not in self.form.kinds:
            raise _no_element(self.form, self.operation, self.element.tag)
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
        form, operation, element = FORMS[match["form"]], match["operation"], match["element"]
        _require_operation(form, operation)
        if element not in dtypes.DTYPES:
            raise _no_element(form, operation, element)
        index, depth = dtypes.lookup(match["index"], "index"), int(match["depth"] or 1)
        return cls(form=form, element=dtypes.DTYPES[element], index=index, depth=depth, operation=operation)


def _require_operation(form: Form, operation: str) -> None:
    if operation not in form.operations:
        raise SpecError("operation", operation, f"one of {', '.join(form.operations)} for {form.name}")


def _no_element(form: Form, operation: str, element: str) -> SpecError:
    kinds = set(form.kinds) & set(OPERATIONS[operation].kinds)
    tags = ", ".join(row.tag for row in dtypes.DTYPES.values() if row.kind in kinds)
    return SpecError("element", element, f"one of {tags} for {operation} of {form.name}")


def parse_either(text: str, *others: str) -> OpSpec | KernelSpec:
    """Return the operator's or the kernel's spec that `text` names; `others` are what else it might have been."""
    if names_operator(text):
        return OpSpec.parse(text)
    if text.startswith(tuple(f"{name}_" for name in FORMS)):
        return KernelSpec.parse(text)
    specs = ("an operator's spec (scatter_elements_f32_i64_r3a1_add)", "a kernel's (rows_f32_i64_add)")
    *several, last = *specs, *others
    raise SpecError("spec", text, f"{', '.join(several)} or {last}")
