"""Every reduction has its rows in every table, and what has none is an error: never another's loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jinja2
import numpy as np
import pytest

import scattergen
from scattergen.errors import DTypeError, SpecError
from scattergen.lower import lower
from scattergen.lower.forms import FORMS, IN_FLOATS, OPERATIONS, REDUCING, Form, Operation
from scattergen.lower.kernel import KernelSpec
from scattergen.operators import reference
from scattergen.operators.dtypes import DTYPES, TENSORS, DType
from scattergen.operators.ops import OPS, REDUCTIONS
from scattergen.operators.spec import OpSpec
from scattergen.render import render

I64 = DTYPES["i64"]
REAL, COMPLEX = ("f16", "bf16", "f32", "f64"), ("c64", "c128")

WithOperation = Callable[[str, Operation], Form]

each_reduction = pytest.mark.parametrize("reduction", REDUCTIONS)


def types_of(reduction: str) -> Iterator[DType]:
    """Yield the types that an operator takes with a reduction."""
    for dtype in TENSORS:
        try:
            OpSpec(op=OPS["scatter_nd"], dtype=dtype, index=I64, rank=1, place=1, reduction=reduction, opset=18)
        except SpecError:
            continue
        yield dtype


def one(dtype: DType, value: int) -> np.ndarray[Any, Any]:
    """Return an array of one element."""
    return np.array([str(value) if dtype.kind == "string" else value]).astype(dtype.numpy)


def of_operation(form: Form, name: str, tag: str) -> KernelSpec:
    return KernelSpec(form=form, element=DTYPES[tag], index=I64, operation=name)


def test_the_operators_have_the_reductions_and_no_others() -> None:
    assert {name for op in OPS.values() for version in op.versions for name in version.reductions} == set(REDUCTIONS)


def test_reductions_lower_to_the_operations_and_to_all_of_them() -> None:
    found = set()
    for reduction in REDUCTIONS:
        for dtype in types_of(reduction):
            if dtype.kind != "string" or reduction == "none":  # Python reduces strings
                element, operation = lower.element(dtype, reduction)
                assert of_operation(FORMS["slices"], operation, element.tag).operation == operation
                found.add(operation)
    assert found == set(REDUCING)


@each_reduction
def test_the_reference_and_the_kernels_have_it_for_every_type(reduction: str) -> None:
    for dtype in types_of(reduction):
        data, index, update = one(dtype, 3), np.array([0]), one(dtype, 2)
        got = scattergen.scatter_elements(data, index, update, reduction=reduction)
        assert got.dtype == data.dtype
        if dtype.kind != "string":
            assert got.tobytes() == reference.scatter_elements(data, index, update, 0, reduction).tobytes(), dtype


@each_reduction
def test_gradients_have_it_where_the_type_does(reduction: str) -> None:
    types = {dtype.tag for dtype in types_of(reduction)}
    for tag in (*REAL, *COMPLEX):
        data, index, update = one(DTYPES[tag], 3), np.array([0]), one(DTYPES[tag], 2)
        if tag not in types:
            with pytest.raises((SpecError, DTypeError)):
                scattergen.gradients(scattergen.scatter_elements, data, data, index, update, 0, reduction)
            continue
        got = scattergen.gradients(scattergen.scatter_elements, data, data, index, update, 0, reduction)
        if tag not in ("f16", "bf16"):
            want = reference.gradients(data, data, update, index, reduction)
            assert [array.tolist() for array in got] == [array.tolist() for array in want]


# Operations


@pytest.mark.parametrize("name", REDUCING)
def test_a_row_says_a_step_for_each_of_its_kinds(name: str) -> None:
    row = REDUCING[name]
    assert set(row.function_for) <= set(row.kinds)
    assert bool(row.function) == bool(row.function_for)
    assert (row.comparison, row.comparative) in {("", ""), ("<", "less"), (">", "greater")}
    for element in DTYPES.values():
        if element.kind in row.kinds:
            spec = of_operation(FORMS["slices"], name, element.tag)
            assert spec.step_function or spec.assignment


def test_halves_are_computed_in_floats_or_compared() -> None:
    halves = {name for name, row in REDUCING.items() if "half" in row.kinds}
    assert halves == {*IN_FLOATS, *(name for name, row in REDUCING.items() if row.comparison)}


@pytest.fixture
def with_operation(monkeypatch: pytest.MonkeyPatch) -> WithOperation:
    """Return what makes a form that has an operation of a new row."""

    def add(name: str, row: Operation) -> Form:
        monkeypatch.setitem(OPERATIONS, name, row)
        return FORMS["slices"]._replace(operations=(name,))

    return add


def test_an_operation_that_an_operator_says_is_a_row(with_operation: WithOperation) -> None:
    form = with_operation("sub", Operation(("float", "half"), "-=", "difference", ("half",)))
    assert "out[i] -= update[i];" in render(of_operation(form, "sub", "f32"))


def test_a_function_that_is_not_there_is_an_error(with_operation: WithOperation) -> None:
    form = with_operation("sub", Operation(("float", "half"), "-=", "difference", ("half",)))
    with pytest.raises(jinja2.UndefinedError, match="difference"):
        render(of_operation(form, "sub", "f16"))
    form = with_operation("cube", Operation(("float",), "", "product", ("float",)))
    with pytest.raises(jinja2.UndefinedError, match="float"):
        render(of_operation(form, "cube", "f32"))


def test_a_step_that_no_row_says_is_an_error(with_operation: WithOperation) -> None:
    form = with_operation("sub", Operation(("float",)))
    with pytest.raises(KeyError, match="sub has no step for elements of kind float"):
        render(of_operation(form, "sub", "f32"))


def test_a_step_of_a_gradient_that_the_template_lacks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPERATIONS, "twice", Operation(("float",), "+="))
    form = FORMS["grad"]._replace(operations=("twice",))
    with pytest.raises(jinja2.UndefinedError, match="twice"):
        render(of_operation(form, "twice", "f32"))


def test_what_is_a_key_can_be_hashed() -> None:
    assert len({*OPERATIONS.values(), *FORMS.values()}) > len(FORMS)
    hash(of_operation(FORMS["rows"], "add", "f32"))
