"""Both kinds of specs: every text parses back to itself, and what names nothing is refused in words."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scattergen
from scattergen.errors import SpecError
from scattergen.lower.forms import FORMS, OPERATIONS, REDUCING
from scattergen.lower.kernel import KernelSpec, parse_either
from scattergen.operators import dtypes
from scattergen.operators.dtypes import DTYPES, ELEMENTS, INDEX_TYPES, OPAQUE, TENSORS, DType
from scattergen.operators.near import ELSEWHERE, SYNONYMS
from scattergen.operators.ops import OPS, REDUCTIONS, Op
from scattergen.operators.spec import MAX_RANK, OpSpec

F32, I64 = DTYPES["f32"], DTYPES["i64"]
PLACES = ((1, 0), (2, 0), (2, 1), (3, 1), (9, 8), (10, 9), (64, 0), (64, 63))
"""Ranks and axes; the depth of an operator with tuples is taken one larger too."""
DEPTHS = (0, 1, 2, 3, 9, 10, 63, 64)


def op_specs() -> Iterator[OpSpec]:
    """Yield every row of the tables at a few ranks and places."""
    for op in OPS.values():
        for version in op.versions:
            for dtype in version.dtypes:
                for index in version.index_types:
                    for reduction in version.reductions:
                        if (dtype.kind == "complex" and reduction in ("max", "min")) or (str(dtype), reduction) == (
                            "str",
                            "mul",
                        ):
                            continue
                        for (rank, place), mode in product(PLACES, version.modes):
                            for more in (0, 1) if op.addressing == "tuples" else (0,):
                                if place + more in op.place.allowed(rank):
                                    yield OpSpec(
                                        op=op,
                                        dtype=dtype,
                                        index=index,
                                        rank=rank,
                                        place=place + more,
                                        reduction=reduction,
                                        opset=version.since,
                                        mode=mode,
                                    )


def kernel_specs() -> Iterator[KernelSpec]:
    """Yield every form with every element, index type and operation at a few depths."""
    for form in FORMS.values():
        for operation in form.operations:
            kinds = OPERATIONS[operation].kinds
            for element in DTYPES.values():
                if element.kind in kinds and element.kind in form.kinds:
                    for index in INDEX_TYPES:
                        for depth in filter(form.least_depth.__le__, DEPTHS) if form.has_depth else (1,):
                            yield KernelSpec(form=form, element=element, index=index, operation=operation, depth=depth)


def op_spec(**other: Any) -> OpSpec:
    fields: dict[str, Any] = {"op": OPS["scatter_elements"], "dtype": F32, "index": I64, "rank": 3, "place": 1}
    return OpSpec(**{**fields, "opset": 18, **other})


def kernel_spec(**other: Any) -> KernelSpec:
    fields: dict[str, Any] = {"form": FORMS["rows"], "element": F32, "index": I64, "operation": "add"}
    return KernelSpec(**{**fields, **other})


# Texts


def test_every_operator_spec_is_what_its_text_says() -> None:
    seen = {}
    for spec in op_specs():
        text = str(spec)
        assert text.isidentifier() and text == text.lower()
        assert OpSpec.parse(text) == spec
        assert hash(OpSpec.parse(text)) == hash(spec)
        assert seen.setdefault(text, spec) == spec
        assert repr(spec) == f"OpSpec.parse({text!r})"
    rows = {(op, version.since, dtype) for op in OPS.values() for version in op.versions for dtype in version.dtypes}
    assert {(spec.op, spec.opset, spec.dtype) for spec in seen.values()} == rows


def test_every_kernel_spec_is_what_its_text_says() -> None:
    seen = {}
    for spec in kernel_specs():
        text = str(spec)
        assert text.isidentifier() and text == text.lower()
        assert KernelSpec.parse(text) == spec
        assert seen.setdefault(text, spec) == spec
        assert repr(spec) == f"KernelSpec.parse({text!r})"
    kinds = {(form, kind) for form in FORMS.values() for kind in form.kinds}
    assert {(spec.form, spec.element.kind) for spec in seen.values()} == kinds


def test_a_spec_is_made_of_the_text_that_its_repr_shows() -> None:
    for spec in (OpSpec.parse("scatter_nd_f32_i64_r3k1_add_opset16"), KernelSpec.parse("rows_f32_i64_add")):
        assert eval(repr(spec)) == spec
    with pytest.raises(SpecError, match="spec='rows': allowed is <operator>"):
        eval("OpSpec.parse('rows')")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("scatter_elements_f32_i64_r3a1_add", ("ScatterElements", "f32", "i64", 3, 1, "add", 18)),
        ("scatter_nd_bf16_i32_r64k64_max", ("ScatterND", "bf16", "i32", 64, 64, "max", 18)),
        ("scatter_nd_c128_i64_r2k0_none_opset13", ("ScatterND", "c128", "i64", 2, 0, "none", 13)),
        ("scatter_bool_i64_r1a0_none", ("Scatter", "bool", "i64", 1, 0, "none", 9)),
        ("scatter_u8_i64_r1a0_none_opset11", ("Scatter", "u8", "i64", 1, 0, "none", 11)),
        ("tensor_scatter_f8e4m3fn_i64_r4a2_linear", ("TensorScatter", "f8e4m3fn", "i64", 4, 2, "linear", 24)),
        ("tensor_scatter_u4_i32_r2a1_circular", ("TensorScatter", "u4", "i32", 2, 1, "circular", 24)),
    ],
)
def test_the_words_of_an_operator_spec(text: str, fields: tuple[object, ...]) -> None:
    spec = OpSpec.parse(text)
    found = (
        spec.op.name,
        spec.dtype.tag,
        spec.index.tag,
        spec.rank,
        spec.place,
        spec.mode or spec.reduction,
        spec.opset,
    )
    assert found == fields
    assert str(spec) == text


def test_every_operation_has_a_kind_and_every_kind_an_operation() -> None:
    kinds = {row.kind for row in DTYPES.values()} - {"string", "opaque"}  # kernels see positions of strings, and words
    assert {kind for row in OPERATIONS.values() for kind in row.kinds} == kinds
    assert all(row.kinds for row in OPERATIONS.values())


# Opsets


@pytest.mark.parametrize("op", OPS.values(), ids=str)
def test_an_opset_means_the_newest_version_that_is_not_newer(op: Op) -> None:
    since = [version.since for version in op.versions]
    assert since == sorted(set(since))
    for here, following in pairwise([*since, 99]):
        for opset in (here, (here + following) // 2, following - 1):
            spec = op_spec(op=op, opset=opset)
            assert spec.opset == here
            assert spec == op_spec(op=op, opset=here)
    assert op_spec(op=op, opset=10**6).opset == since[-1]
    for opset in (since[0] - 1, 1, 0, -3):
        with pytest.raises(SpecError, match=rf"opset={opset}: allowed is {since[0]} or above for {op}$"):
            op_spec(op=op, opset=opset)


@pytest.mark.parametrize("op", OPS.values(), ids=str)
def test_the_default_opset_is_not_written(op: Op) -> None:
    for version in op.versions:
        text = str(op_spec(op=op, opset=version.since))
        assert text.endswith(f"_opset{version.since}") == (op.version(op.default_opset) != version)
    written = str(op_spec(op=op, opset=op.default_opset))
    assert OpSpec.parse(f"{written}_opset{op.default_opset}") == OpSpec.parse(written)
    between = f"{written}_opset{op.versions[-1].since + 1}"
    assert OpSpec.parse(between).opset == op.versions[-1].since


@pytest.mark.parametrize("op", OPS.values(), ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_reduction_comes_with_its_version(op: Op, reduction: str) -> None:
    since = op.since(reduction)
    for version in op.versions:
        if since is not None and version.since >= since:
            assert op_spec(op=op, reduction=reduction, opset=version.since).reduction == reduction
        else:
            with pytest.raises(SpecError) as caught:
                op_spec(op=op, reduction=reduction, opset=version.since)
            assert (caught.value.field, caught.value.value) == ("reduction", reduction)
            assert f"for {op}-{version.since}" in caught.value.allowed
            assert since is None or f"({reduction} comes with opset {since})" in caught.value.allowed


# Errors


BF16 = DTYPES["bf16"]
C64 = DTYPES["c64"]
W8 = DTYPES["w8"]


@pytest.mark.parametrize(
    ("make", "field", "value", "allowed"),
    [
        (lambda: op_spec(dtype=BF16, opset=11), "dtype", "bf16", r"one of bool, u8, .* for ScatterElements-11"),
        (lambda: op_spec(dtype=W8), "dtype", "w8", r"one of bool, .*c128, str for ScatterElements-18"),
        (lambda: op_spec(index=F32), "index", "f32", r"one of i32, i64 for ScatterElements-18"),
        (lambda: op_spec(reduction="sum"), "reduction", "sum", r"none, add, mul, max, min for ScatterElements-18"),
        (lambda: op_spec(dtype=C64, reduction="max"), "dtype", "c64", r"a real type for max: complex .* no order"),
        (lambda: op_spec(rank=0, place=0), "rank", 0, "1 to 64"),
        (lambda: op_spec(rank=MAX_RANK + 1), "rank", 65, "1 to 64"),
        (lambda: op_spec(place=3), "axis", 3, "0 to 2 for rank 3"),
        (lambda: op_spec(place=-1), "axis", -1, "0 to 2 for rank 3"),
        (lambda: op_spec(op=OPS["scatter_nd"], place=4), "index depth k", 4, "0 to 3 for rank 3"),
        (
            lambda: kernel_spec(operation="sub"),
            "operation",
            "sub",
            "one of none, add, mul, max, min, or, and for rows$",
        ),
        (lambda: kernel_spec(element=W8), "element", "w8", "one of u8, .*, c128 for add of rows$"),
        (lambda: kernel_spec(form=FORMS["flat"]), "operation", "add", "one of convert for flat"),
        (
            lambda: kernel_spec(operation="argmax"),
            "operation",
            "argmax",
            "one of none, add, mul, max, min, or, and for rows",
        ),
        (lambda: kernel_spec(form=FORMS["wide_rows"]), "element", "f32", "one of f16, bf16 for add of wide_rows$"),
        (lambda: kernel_spec(index=F32), "index", "f32", "one of i32, i64"),
        (lambda: kernel_spec(depth=2), "depth", 2, "1 to 1 for rows"),
        (lambda: kernel_spec(form=FORMS["strided"], depth=65), "depth", 65, "0 to 64 for strided"),
        (lambda: kernel_spec(form=FORMS["strided"], depth=-1), "depth", -1, "0 to 64 for strided"),
        (lambda: OpSpec.parse("scatter_rows_f32_i64_r3a1_add"), "operator", "scatter_rows", "scatter, scatter_elem"),
        (lambda: OpSpec.parse("scatter_nd_f33_i64_r3k1_add"), "dtype", "f33", "one of bool, u8"),
        (lambda: OpSpec.parse("scatter_nd_f32_x_r3k1_add"), "index", "x", "^one of i32, i64 for ScatterND-18$"),
        (lambda: OpSpec.parse("scatter_nd_f32_i64_r3a1_add"), "spec", "scatter_nd_f32_i64_r3a1_add", "r<rank>k<num"),
        (lambda: OpSpec.parse("rubbish"), "spec", "rubbish", "<operator>_<dtype>_<index dtype>_r<rank>"),
        (lambda: KernelSpec.parse("rubbish"), "kernel", "rubbish", r"<rows\|wide_rows\|"),
        (lambda: KernelSpec.parse("rows_f32_i64_k1_add"), "kernel", "rows_f32_i64_k1_add", r"\[_k<depth>\]"),
        (lambda: KernelSpec.parse("strided_f32_i64_add"), "kernel", "strided_f32_i64_add", r"\[_k<depth>\]"),
        (lambda: KernelSpec.parse("rows_f33_i64_add"), "element", "f33", "one of u8, .*c128 for add of rows$"),
        (lambda: KernelSpec.parse("rows_f32_i16_add"), "index", "i16", "one of i32, i64"),
    ],
)
def test_an_error_names_the_field_the_value_and_what_is_allowed(
    make: Any, field: str, value: object, allowed: str
) -> None:
    with pytest.raises(SpecError) as caught:
        make()
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.field, error.value) == (field, value)
    assert re.search(allowed, error.allowed)
    near = f"; near: {', '.join(error.near)}" if error.near else ""
    assert str(error) == f"{field}={value!r}: allowed is {error.allowed}{near}"


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("scatter_nd_f32_i64_r3a1_add", "scatter_nd_f32_i64_r3k1_add"),
        ("scater_nd_f32_i64_r3k1_add", "scatter_nd_f32_i64_r3k1_add"),
        ("scatter_elements_float32_i64_r3a1_add", "scatter_elements_f32_i64_r3a1_add"),
        ("tensor_scatter_f32_i64_r4a2_line", "tensor_scatter_f32_i64_r4a2_linear"),
        ("tensor_scatter_float8_e4m3fn_i64_r4a2_linear", "tensor_scatter_f8e4m3fn_i64_r4a2_linear"),
        ("scatter_elements_double_int64_r4a3_sum_opset16", "scatter_elements_f64_i64_r4a3_add_opset16"),
        ("scatter_elements_f8e5m2_i64_r3a1_add", None),
        ("rubbish", None),
        ("scatter_nd_" * 10_000, None),
    ],
    ids=lambda text: str(text)[:40],
)
def test_a_text_that_is_nearly_a_spec_is_told_which(text: str, near: str | None) -> None:
    with pytest.raises(SpecError) as caught:
        OpSpec.parse(text)
    found = caught.value.near
    assert near in found if near else not found
    assert all(str(OpSpec.parse(one)) == one for one in found)
    assert pickle.loads(pickle.dumps(caught.value)).near == found


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("scatter_elements_f33_i64_r3a1_add", ["f32_i64_r3a1_add"]),
        ("scatter_elements_f32_i64_r3a5_add", ["f32_i64_r3a2_add", "f32_i64_r3a1_add", "f32_i64_r3a0_add"]),
        ("scatter_elements_f32_i64_r3k1_add", ["f32_i64_r3a1_add"]),
        ("scatter_elements_f32_u32_r12a7_add", ["f32_i32_r12a7_add"]),
        ("scatter_elements_f32_i64_r5a1_ad", ["f32_i64_r5a1_add"]),
        ("scatter_elements_float_i64_r9a1_add", ["f32_i64_r9a1_add"]),
    ],
)
def test_what_is_near_keeps_all_fields_but_the_wrong_one(text: str, near: list[str]) -> None:
    with pytest.raises(SpecError) as caught:
        OpSpec.parse(text)
    assert [one.removeprefix("scatter_elements_") for one in caught.value.near] == near


@pytest.mark.parametrize("row", [*TENSORS, *dtypes.OPAQUE], ids=str)
def test_a_type_by_its_name_elsewhere_is_told_the_one_here(row: DType) -> None:
    for name in {row.onnx, row.numpy_name} - {row.tag}:
        with pytest.raises(SpecError) as caught:
            OpSpec.parse(f"tensor_scatter_{name}_i64_r3a1_linear")
        assert caught.value.near == (f"tensor_scatter_{row.tag}_i64_r3a1_linear",)
        if "_" not in name:
            assert caught.value.allowed.endswith(f'for TensorScatter-24; "{name}" is called "{row.tag}" here')
        with pytest.raises(SpecError) as caught:
            OpSpec.parse(f"scatter_nd_{name}_i64_r3k1_none")
        if row in dtypes.OPAQUE:
            assert "called" not in caught.value.allowed and not {"f8e5m2", "w8"} & {*caught.value.allowed.split(", ")}


@pytest.mark.parametrize("word", [*SYNONYMS, *ELSEWHERE, "SUM", "Max"])
def test_a_reduction_by_another_name_is_told_the_one_here(word: str) -> None:
    name = SYNONYMS.get(word.lower(), word.lower())
    other = f'; did you mean "{name}"?' if word == "Max" else f'; "{word}" is called "{name}" here'
    said = f'; "{word}": see scattergen.graph' if word in ELSEWHERE else other
    for op in ("scatter_elements", "scatter_nd"):
        with pytest.raises(SpecError) as caught:
            op_spec(op=OPS[op], reduction=word)
        assert caught.value.allowed.endswith(said)
    assert name in REDUCTIONS or word in ELSEWHERE
    assert not {*SYNONYMS, *ELSEWHERE} & {*REDUCTIONS}


@pytest.mark.parametrize("end", ["", "_opset16"])
def test_a_text_with_a_reductions_other_name_is_told_the_one_here(end: str) -> None:
    for word, name in {"sum": "add", "prod": "mul", "set": "none"}.items():
        with pytest.raises(SpecError, match=f'; "{word}" is called "{name}" here; near: ') as caught:
            OpSpec.parse(f"scatter_elements_f32_i64_r2a0_{word}{end}")
        assert caught.value.near == (f"scatter_elements_f32_i64_r2a0_{name}{end}",)
    with pytest.raises(SpecError, match=r'; "mean": see scattergen\.graph$'):
        OpSpec.parse(f"scatter_elements_f32_i64_r2a0_mean{end}")


def test_a_reduction_by_another_name_may_come_later_or_never() -> None:
    with pytest.raises(SpecError, match=r'; "amax" is called "max" here, which comes with opset 18$'):
        op_spec(reduction="amax", opset=16)
    with pytest.raises(SpecError, match=r"allowed is none for Scatter-9$"):
        op_spec(op=OPS["scatter"], opset=9, reduction="sum")


def test_a_kernels_name_is_no_spec_to_compile_and_is_told_what_takes_it() -> None:
    for text in ("rows_f32_i64_add", "grad_w32_i64_k1_take"):
        with pytest.raises(SpecError, match=r"allowed is <operator>.* a kernel's name: use scattergen\.show or"):
            scattergen.compile(text)
        assert scattergen.show(text)
    with pytest.raises(SpecError) as caught:
        scattergen.compile("rows_f32_i64_k1_add")
    assert "kernel's name" not in str(caught.value)


@pytest.mark.parametrize("kind", sorted({row.kind for row in DTYPES.values()}))
def test_a_kernel_takes_just_the_kinds_of_its_operation(kind: str) -> None:
    for element in DTYPES.values():
        for operation in REDUCING:
            kinds = OPERATIONS[operation].kinds
            if element.kind == kind and kind in kinds:
                kernel_spec(element=element, operation=operation)
            elif element.kind == kind:
                tags = ", ".join(row.tag for row in DTYPES.values() if row.kind in kinds)
                with pytest.raises(SpecError, match=f"^element='{element}': allowed is one of {tags} for {operation}"):
                    kernel_spec(element=element, operation=operation)


# Garbage


WORDS = st.sampled_from(
    ["scatter", "elements", "nd", *DTYPES, *REDUCTIONS, *OPERATIONS, *FORMS, "r2a1", "r2k1", "r0a0", "r65k1", "k0",
     "k1", "k65", "k064", "opset18", "opset0", "opset9999", "opset", "", " ", "-1", "²", "٣", "\n", "r٣a1", "k²", "i٨"]
)  # fmt: skip
GARBAGE = st.one_of(st.text(), st.lists(WORDS, max_size=9).map("_".join))


@settings(max_examples=1000)
@given(GARBAGE)
@example("scatter_nd_f32_i64_r3k1_add\n")
@example("rows_f32_i64_add\n")
@example("scatter_nd_f32_i64_r٣k1_add")
@example("scatter_nd_f32_i64_r03k1_add")
@example("scatter_nd_f32_i64_r3k1_add_opset018")
@example("strided_f32_i64_k01_add")
@example("strided_f32_i64_k٣_add")
def test_a_text_names_a_spec_that_is_written_alike_or_nothing(text: str) -> None:
    for parse in (OpSpec.parse, KernelSpec.parse):
        try:
            spec = parse(text)
        except SpecError as error:
            assert error.allowed and str(error)
        else:
            # an opset may be written that means an older version, or is the default
            assert re.sub(r"_opset[0-9]+$", "", text) == re.sub(r"_opset[0-9]+$", "", str(spec))
            assert parse(str(spec)) == spec


@given(st.sampled_from([*sorted(DTYPES), "", "f33", "F32", "float32", " f32"]))
def test_a_tag_is_looked_up_or_refused(tag: str) -> None:
    if tag in DTYPES:
        found: DType = dtypes.lookup(tag)
        assert found.tag == str(found) == tag
    else:
        with pytest.raises(SpecError, match=r"^index="):
            dtypes.lookup(tag, "index")


def test_elements_are_the_types_that_tensors_have() -> None:
    others = ("word", "string", "opaque")
    assert [row.tag for row in ELEMENTS] == [tag for tag, row in DTYPES.items() if row.kind not in others]
    assert [row.tag for row in OPAQUE] == [tag for tag, row in DTYPES.items() if row.kind == "opaque"]
    assert (*ELEMENTS, DTYPES["str"]) == TENSORS
    for row in DTYPES.values():
        assert not row.onnx or row.numpy.itemsize == row.size


def test_the_guide_has_the_short_name_of_every_type_and_its_specs_are_some() -> None:
    guide = (Path(__file__).parents[1] / "docs" / "guide.md").read_text(encoding="utf-8")
    names = guide.partition("\n## Names\n")[2].partition("\n## ")[0]
    table = names.partition("| NumPy | short |")[2].partition("\n\n")[0]
    found = dict(re.findall(r"`(\w+)` \| `(\w+)`", table))
    assert found == {row.numpy_name: row.tag for row in DTYPES.values() if row.numpy_name and row.kind != "string"}
    specs = names.split("```")[1].split()
    assert len(specs) == 4 and [str(OpSpec.parse(text)) for text in specs] == specs
    kernels = re.findall(r"`(\w+_\w+_i64_\w+)`", names)
    assert len(kernels) == 2 and [str(KernelSpec.parse(text)) for text in kernels] == kernels


@pytest.mark.parametrize("text", ["scatter_nd_f32_i64_r1k1_add", "wide_rows_f16_i64_add"])
def test_a_text_is_the_spec_of_an_operator_or_of_a_kernel(text: str) -> None:
    assert str(parse_either(text)) == text


def test_a_text_that_is_neither_says_what_it_may_be() -> None:
    with pytest.raises(SpecError, match=r"spec='foo': allowed is an operator's spec \(.*\) or a kernel's \("):
        parse_either("foo")
    with pytest.raises(SpecError, match=r"a kernel's \(rows_f32_i64_add\), one thing or another"):
        parse_either("foo", "one thing", "another")
    with pytest.raises(SpecError, match="kernel='rows_f32': allowed is <rows"):
        parse_either("rows_f32")
