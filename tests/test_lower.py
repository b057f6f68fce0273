"""Nest → form, layout and kernel: which loops answer which shapes, and that what may answer is a closed set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import kernel_calls
import layouts
import numpy as np
import product
import pytest
import values
from hypothesis import given, settings
from hypothesis import strategies as st

from scattergen.arguments import arrays
from scattergen.call import plan
from scattergen.lower import loops, lower, standard
from scattergen.lower.forms import FORMS
from scattergen.lower.kernel import KernelSpec
from scattergen.lower.lower import SCHEDULES
from scattergen.lower.lower import lower as lowered
from scattergen.operators.dtypes import DTYPES, ELEMENTS, INDEX_TYPES
from scattergen.operators.ops import OPS, REDUCTIONS
from scattergen.operators.spec import OpSpec

Array: TypeAlias = "np.ndarray[Any, Any]"
Lay: TypeAlias = "Callable[[Array], Array]"

P, F, S, N, B, K = (
    layouts.plain, layouts.fortran, layouts.strided, layouts.negative, layouts.broadcast, layouts.packed,
)  # fmt: skip


def form_of(data: Array, indices: Array, updates: Array, axis: int | None) -> tuple[str, lower.Loops | None]:
    """Return what a call that writes to an array laid out as `data` lowers to."""
    if axis is None:
        nest = loops.by_tuples(indices.shape, data.shape, data.strides, indices.strides, updates.strides)
    else:
        nest = loops.along_axis(indices.shape, axis, data.shape, data.strides, indices.strides, updates.strides)
    return lowered(loops.canonical(nest), data.itemsize, indices.itemsize, data.size)


EXPECTED: tuple[tuple[str, tuple[int, ...], tuple[int, ...], int | None, tuple[Lay, Lay, Lay]], ...] = (
    # form, shape of data and of indices, axis (None: ScatterND), how data, indices and updates lie
    ("elements", (9,), (5,), 0, (P, P, P)),
    ("elements", (9,), (1,), 0, (P, P, P)),
    ("elements", (9, 1), (5, 1), 0, (P, P, P)),
    ("elements", (9,), (5,), 0, (S, P, P)),
    ("elements", (9,), (5,), 0, (N, P, P)),
    ("strided", (9,), (5,), 0, (P, S, P)),
    ("elements", (9,), (5,), 0, (P, P, S)),
    ("strided", (9,), (5,), 0, (P, N, N)),
    ("rows", (4, 9), (4, 5), 1, (P, P, P)),
    ("rows", (2, 3, 9), (2, 3, 20), 2, (P, P, P)),
    ("rows", (9, 4), (5, 4), 0, (F, F, F)),
    ("rows", (4, 9), (3, 5), 1, (P, P, P)),
    ("strided", (4, 9), (4, 5), 1, (P, P, S)),
    ("strided", (4, 9), (4, 5), 1, (N, P, P)),
    ("lanes", (9, 4), (5, 4), 0, (P, P, P)),
    ("lanes", (3, 9, 4), (3, 5, 4), 1, (P, P, P)),
    ("lanes", (4, 9), (4, 5), 1, (F, F, F)),
    ("lanes", (9, 4), (5, 3), 0, (P, P, P)),
    ("lanes", (9, 4), (1, 4), 0, (P, P, P)),
    ("strided", (9, 4), (5, 4), 0, (P, F, P)),
    ("strided", (2, 3, 9, 4), (2, 2, 5, 3), 2, (P, P, P)),
    ("elements", (4, 5), (7, 2), None, (P, P, P)),
    ("elements", (4, 5), (2, 3, 2), None, (P, P, P)),
    ("elements", (4, 5), (7, 2), None, (F, P, P)),
    ("elements", (4, 5), (7, 2), None, (N, P, P)),
    ("strided", (4, 5), (7, 2), None, (P, F, P)),
    ("elements", (4, 5), (7, 2), None, (P, P, S)),
    ("elements", (4, 5), (7, 2), None, (P, P, B)),
    ("elements", (1, 1), (7, 0), None, (P, P, P)),
    ("slices", (4, 5), (7, 1), None, (P, P, P)),
    ("slices", (4, 5), (7, 1), None, (P, S, P)),
    ("slices", (4, 5), (7, 1), None, (P, P, B)),
    ("slices", (4, 5, 6), (7, 2), None, (P, P, P)),
    ("slices", (4, 5, 6), (2, 7, 1), None, (P, P, P)),
    ("slices", (4, 5), (7, 0), None, (P, P, P)),
    ("slices", (4,), (7, 0), None, (P, P, P)),
    ("slices", (4,), (0,), None, (P, P, P)),
    ("strided", (4, 5), (7, 1), None, (F, P, P)),
    ("strided", (4, 5), (7, 1), None, (P, P, F)),
    ("strided", (4, 5, 6), (7, 2), None, (P, F, P)),
    ("strided", (4, 5), (7, 1), None, (K, P, P)),
    ("strided", (4, 5), (7, 1), None, (P, K, P)),
    ("strided", (4, 5), (7, 1), None, (P, P, K)),
)


@pytest.mark.parametrize(
    ("form", "data", "shape", "axis", "lays"),
    EXPECTED,
    ids=lambda value: "".join(lay.__name__[0] for lay in value) if isinstance(value, tuple) and callable(value[0])
    else None,
)  # fmt: skip
@pytest.mark.parametrize(("dtype", "index"), [("f32", "i64"), ("c128", "i32"), ("u8", "i64")])
def test_which_loops_answer(
    form: str, data: tuple[int, ...], shape: tuple[int, ...], axis: int | None, lays: tuple[Lay, Lay, Lay],
    dtype: str, index: str,
) -> None:  # fmt: skip
    updated = shape if axis is not None else shape[:-1] + data[shape[-1] :]
    shapes_and_types = ((data, dtype), (shape, index), (updated, dtype))
    target, indices, updates = (
        lay(np.zeros(dims, DTYPES[tag].numpy)) for lay, (dims, tag) in zip(lays, shapes_and_types, strict=True)
    )
    found, loops_found = form_of(target, indices, updates, axis)
    assert found == form
    assert (loops_found is None) == (form == "strided")


def test_the_table_holds_every_form() -> None:
    assert {row[0] for row in EXPECTED} == set(SCHEDULES) - {"windows", "rings"}, "those are TensorScatter's own"
    assert {form for forms in SCHEDULES.values() for form in forms} == {f.name for f in FORMS.values() if not f.helps}


def test_indices_expanded_to_a_slice_are_slices() -> None:
    data, updates = np.zeros((9, 4)), np.zeros((5, 4))
    indices = np.broadcast_to(np.zeros((5, 1), np.int64), (5, 4))
    found, made = form_of(data, indices, updates, 0)
    assert found == "slices" and made is not None
    assert (made.tuples.extent, made.inner.extent, made.components[0].stride) == (5, 4, 4)


@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [
        (dtype, reduction)
        for dtype in ELEMENTS
        for reduction in REDUCTIONS
        if dtype.kind != "complex" or reduction not in ("max", "min")
    ],
    ids=str,
)
def test_an_element_has_the_width_of_its_type(dtype: Any, reduction: str) -> None:
    element, operation = lower.element(dtype, reduction)
    assert element.size == dtype.size
    assert (element.tag, operation) == product.kernel_words(dtype.tag, reduction)
    KernelSpec(form=FORMS["rows"], element=element, index=INDEX_TYPES[0], operation=operation)


# Random calls


KINDS = st.sampled_from(["bool", "u8", "i32", "f16", "f64", "c64", "c128"])
LAYS = st.sampled_from([*layouts.HURTFUL, P, P, P])


@st.composite
def random_calls(draw: st.DrawFn) -> tuple[arrays.Arguments, Array, bool]:
    """Draw the arguments of a call with values of zero, the array it writes to, and whether the kernel copies data."""
    sizes = st.sampled_from([1, 1, 2, 3, 4, 9, 40])
    data = tuple(draw(st.lists(sizes, min_size=1, max_size=4)))
    tuples = draw(st.booleans())
    tag, index = draw(KINDS), draw(st.sampled_from(INDEX_TYPES)).numpy
    reduction = draw(st.sampled_from([r for r in REDUCTIONS if tag[0] != "c" or r not in ("max", "min")]))
    place = None
    if tuples:
        batch = draw(st.lists(st.sampled_from([1, 2, 7, 60]), max_size=2))
        shape = (*batch, draw(st.integers(0, len(data))))
        updated = (*batch, *data[shape[-1] :])
    else:
        place = draw(st.integers(0, len(data) - 1))
        whole = draw(st.booleans())
        shape = updated = tuple(
            draw(st.sampled_from([1, 2, 50])) if dim == place else size if whole else draw(st.integers(1, size))
            for dim, size in enumerate(data)
        )
    dtype = values.DTYPES[tag]
    made = [draw(LAYS)(np.zeros(dims, kind)) for dims, kind in ((data, dtype), (shape, index), (updated, dtype))]
    op = OPS["scatter_nd" if tuples else "scatter_elements"]
    arguments = arrays.prepare(op, 18, place, reduction, *made, None)
    lay = draw(LAYS)
    target = np.zeros(data, dtype) if lay in (layouts.broadcast, layouts.swapped) else lay(np.zeros(data, dtype))
    return arguments, target, bool(target.flags.c_contiguous and draw(st.booleans()))


def check_plan(arguments: arrays.Arguments, target: Array, fresh: bool) -> None:
    found = plan.plan(arguments, target, fresh, None)
    assert found.kernel in lower.variants(arguments.spec), f"{found.kernel} is none of the variants of {arguments.spec}"
    assert found.kernel.form.name in SCHEDULES[found.form]
    assert all(type(number) is int and -(1 << 63) <= number < 1 << 63 for number in found.layout)
    assert found.threads >= 1


@settings(max_examples=600)
@given(random_calls())
def test_every_kernel_of_a_plan_is_a_variant_of_its_spec(call: tuple[arrays.Arguments, Array, bool]) -> None:
    with kernel_calls.nothing_built():
        check_plan(*call)


@settings(max_examples=600)
@given(random_calls())
def test_so_it_is_on_a_machine_of_small_caches(call: tuple[arrays.Arguments, Array, bool]) -> None:
    with product.small_machine(), kernel_calls.nothing_built():
        check_plan(*call)


# The closed sets


def specs() -> list[OpSpec]:
    """Return every type, reduction and index type, at ranks and places that matter."""
    return [
        OpSpec(op=op, dtype=dtype, index=index, rank=rank, place=place, reduction=reduction, opset=99, mode=mode)
        for op in OPS.values()
        for version in op.versions[-1:]
        for dtype in version.dtypes
        for index in version.index_types
        for reduction in version.reductions
        if dtype.kind != "complex" or reduction not in ("max", "min")
        if dtype.kind != "string" or reduction == "none"  # no kernel combines strings
        for rank in (1, 2, 5)
        for place in op.place.allowed(rank)
        for mode in version.modes
    ]


def test_variants_are_few_and_different() -> None:
    for spec in specs():
        found = lower.variants(spec)
        assert len(set(found)) == len(found) >= (1 if spec.mode else 2)
        fallback = {"": "strided", "linear": "windows", "circular": "rings"}[spec.mode]
        assert any(kernel.form.name == fallback for kernel in found), "what takes any layout"
        element, operation = lower.element(spec.dtype, spec.reduction)
        depth = spec.place if spec.op.addressing == "tuples" else 1
        for kernel in found:
            assert (kernel.element, kernel.index, kernel.operation) == (element, spec.index, operation)
            assert kernel.depth == depth


def test_variants_do_not_depend_on_the_version() -> None:
    for spec in specs():
        for version in spec.op.versions:
            if spec.reduction in version.reductions and spec.dtype in version.dtypes:
                older = spec._replace(opset=version.since)
                assert lower.variants(older) == lower.variants(spec)


def test_the_standard_set_is_unique_sorted_and_made_of_specs() -> None:
    kernels = standard.kernels()
    names = [str(kernel) for kernel in kernels]
    assert names == sorted(set(names))
    helping = set(map(KernelSpec.parse, standard.HELPING))
    assert set(kernels) - helping == {k for text in standard.SPECS for k in lower.variants(OpSpec.parse(text))}
    assert {kernel.form for kernel in helping} == {form for form in FORMS.values() if form.helps}
    assert [str(OpSpec.parse(text)) for text in standard.SPECS] == list(standard.SPECS)
    assert len(set(standard.SPECS)) == len(standard.SPECS)
    assert {kernel.form for kernel in kernels} == set(FORMS.values())
