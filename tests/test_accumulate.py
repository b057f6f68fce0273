"""``accumulate="float32"``: halves are summed and multiplied wide, in order, and rounded once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from unittest import mock

import layouts
import numpy as np
import pytest
import values
from bits import difference
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from processes import python

import scattergen
from scattergen.call import accumulated, direct
from scattergen.errors import DTypeError, IndexOutOfBounds, SpecError
from scattergen.operators import reference

Array: TypeAlias = "np.ndarray[Any, Any]"

HALVES = ("f16", "bf16")
LAYS = (layouts.plain, layouts.strided, layouts.negative, layouts.fortran, layouts.swapped)


def expected(data: Array, indices: Array, updates: Array, axis: int | None, reduction: str) -> Array:
    """Return the loop in float32, rounded once; what was a NaN has the very bits that it had."""
    with np.errstate(all="ignore"):
        wide = [array.astype(np.float32) for array in (data, updates)]
        if axis is None:
            found = reference.scatter_nd(wide[0], indices, wide[1], reduction)
        else:
            found = reference.scatter_elements(wide[0], indices, wide[1], axis, reduction)
        return np.where(np.isnan(wide[0]), data, found.astype(data.dtype))


def run(data: Array, indices: Array, updates: Array, axis: int | None, reduction: str, **options: Any) -> Array:
    """Call the public function; `axis` None is ScatterND."""
    options = {"accumulate": "float32", **options}
    if axis is None:
        return scattergen.scatter_nd(data, indices, updates, reduction, **options)
    return scattergen.scatter_elements(data, indices, updates, axis, reduction, **options)


@contextmanager
def small_rooms(room: int) -> Iterator[None]:
    """Take so few elements at a time, whatever the number of threads."""
    with mock.patch.object(accumulated, "ROOM", room), mock.patch.object(accumulated, "SHARED_ROOM", room):
        yield


def native(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("="))


@st.composite
def calls(draw: st.DrawFn) -> tuple[Array, Array, Array, int | None, str]:
    """Draw the arrays of a call that is right, of either operator, in some layout."""
    dtype = values.DTYPES[draw(st.sampled_from(HALVES))]
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    axis: int | None = None
    if draw(st.booleans()):
        axis = draw(st.integers(0, len(shape) - 1))
        where = tuple(draw(st.integers(0, 9)) if at == axis else draw(st.integers(0, n)) for at, n in enumerate(shape))
        sizes, updated = (shape[axis],), where
    else:
        batch = tuple(draw(st.lists(st.integers(0, 5), min_size=0, max_size=2)))
        depth = draw(st.integers(0, len(shape)))
        where, sizes, updated = (*batch, depth), shape[:depth], (*batch, *shape[depth:])
    indices = values.indices(chance, where, sizes, np.dtype(np.int64), draw(st.sampled_from(["random", "same"]))) if (
        sizes
    ) else np.zeros(where, np.int64)  # fmt: skip
    special = draw(st.sampled_from([0.0, 0.1]))
    data, updates = (values.elements(chance, dims, dtype, special) for dims in (shape, updated))
    lay = draw(st.sampled_from(LAYS))
    return lay(data), lay(indices), lay(updates), axis, draw(st.sampled_from(["add", "mul"]))


@settings(max_examples=150)
@given(calls(), st.sampled_from([1, 3, 20, 1 << 19]), st.sampled_from([1, 2, 5]))
def test_any_call_is_the_loop_in_float32(call: Any, room: int, threads: int) -> None:
    data, indices, updates, axis, reduction = call
    want = expected(native(data), native(indices), native(updates), axis, reduction)
    inputs = [array.tobytes() for array in (data, indices, updates)]
    with small_rooms(room):
        assert not difference(run(*call, threads=threads), want)
        for lay in (layouts.plain, layouts.strided, layouts.swapped):
            out = lay(np.full(data.shape, 7, want.dtype))
            assert run(*call, out=out, threads=threads) is out
            assert not difference(np.array(native(out), order="C"), want)
    assert [array.tobytes() for array in (data, indices, updates)] == inputs


@settings(max_examples=150)
@given(calls(), st.sampled_from([1, 7, 1 << 19]), st.integers(0, 9))
def test_out_may_be_data_or_overlap_it(call: Any, room: int, shift: int) -> None:
    data, indices, updates, axis, reduction = call
    want = expected(native(data), native(indices), native(updates), axis, reduction)
    buffer = np.zeros(data.size + 9, want.dtype)
    within = buffer[: data.size].reshape(data.shape)
    within[...] = data
    out = buffer[shift : shift + data.size].reshape(data.shape)
    with small_rooms(room):
        run(within, indices, updates, axis, reduction, out=out)
    assert not difference(out, want)


@settings(max_examples=100)
@given(calls(), st.sampled_from([1, 7, 1 << 19]), st.booleans())
def test_a_bad_index_changes_nothing(call: Any, room: int, with_out: bool) -> None:
    data, indices, updates, axis, reduction = call
    indices = native(indices)
    assume(updates.size and indices.size)
    place = tuple(size // 2 for size in indices.shape)
    size = data.shape[axis] if axis is not None else data.shape[place[-1]]
    indices[place] = size
    out = data if with_out and data.dtype.isnative else None
    before = data.tobytes()
    with small_rooms(room), pytest.raises(IndexOutOfBounds) as caught:
        run(data, indices, updates, axis, reduction, out=out)
    assert caught.value.positions == (place,)
    assert data.tobytes() == before


SHAPES = (
    ("elements", (3000,), (90000,), 0),
    ("rows", (37, 901), (37, 2000), 1),
    ("lanes", (800, 70), (900, 70), 0),
    ("slices", (500, 64), (9000, 1), 0),
    ("tuples", (60, 50), (40000, 2), None),
    ("slices of tuples", (60, 5, 33), (4000, 2), None),
)


@pytest.mark.parametrize(("shape", "where", "axis"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES])
@pytest.mark.parametrize("tag", HALVES)
@pytest.mark.parametrize("reduction", ["add", "mul"])
def test_large_calls_on_any_number_of_threads(
    tag: str, reduction: str, shape: tuple[int, ...], where: tuple[int, ...], axis: int | None
) -> None:
    chance = np.random.default_rng(5)
    data = values.elements(chance, shape, values.DTYPES[tag], 0.01)
    sizes = (shape[axis],) if axis is not None else shape[: where[-1]]
    indices = values.indices(chance, where, sizes, np.dtype(np.int64), "random")
    if axis is None:
        updated = (*where[:-1], *shape[where[-1] :])
    else:
        updated = (where[0], *shape[1:]) if where[-1] == 1 and len(where) > 1 else where
        indices = np.broadcast_to(indices, updated)
    updates = values.elements(chance, updated, values.DTYPES[tag], 0.0)
    want = expected(data, indices, updates, axis, reduction)
    for threads in (1, 2, 5):
        assert not difference(run(data, indices, updates, axis, reduction, threads=threads), want)
        with small_rooms(1 << 13):
            assert not difference(run(data, indices, updates, axis, reduction, threads=threads), want)


@pytest.mark.parametrize("tag", HALVES)
def test_targets_without_an_update_keep_their_bits(tag: str) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(values.DTYPES[tag])
    one = np.ones(1, every.dtype)
    for options in ({}, {"out": np.zeros_like(every)}, {"threads": 1}):
        got = run(every, np.array([77]), one, 0, "add", **options)
        changed = np.flatnonzero(got.view(np.uint16) != every.view(np.uint16))
        assert changed.tolist() == [77]


@pytest.mark.parametrize("tag", HALVES)
@pytest.mark.parametrize("without_kernel", [False, True])
def test_every_half_is_widened_and_every_float_rounded_as_numpy_does(tag: str, without_kernel: bool) -> None:
    dtype, chance = values.DTYPES[tag], np.random.default_rng(6)
    halves = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    near = halves.astype(np.float32).view(np.int32)
    floats = np.concatenate(
        [near + step for step in (-1, 0, 1, 0x800, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001)]
        + [chance.integers(-(1 << 31), 1 << 31, 1 << 18, np.int32)]
    ).astype(np.int32).view(np.float32)  # fmt: skip
    wide, rounded = np.empty(halves.shape, np.float32), np.empty(floats.shape, dtype)
    with mock.patch.object(direct, "ready", return_value=None) if without_kernel else small_rooms(1):
        direct.widen(halves, wide, 2)
        direct.narrow(floats, rounded, None, 2)
    assert not difference(wide, halves.astype(np.float32))
    with np.errstate(all="ignore"):
        assert not difference(rounded, floats.astype(dtype))


def test_sums_that_would_stand_still() -> None:
    for tag, limit in (("f16", 2048), ("bf16", 256)):
        ones = np.ones(3 * limit, values.DTYPES[tag])
        zero, same = np.zeros(1, ones.dtype), np.zeros(ones.shape, np.int64)
        assert scattergen.scatter_elements(zero, same, ones, reduction="add").tolist() == [limit]
        assert run(zero, same, ones, 0, "add").tolist() == [3 * limit]


@pytest.mark.parametrize(
    ("tag", "reduction", "accumulate", "error", "text"),
    [
        ("f32", "add", "float32", DTypeError, "data is float32, allowed with accumulate='float32' is float16 or"),
        ("i16", "mul", "float32", DTypeError, "data is int16"),
        ("f16", "max", "float32", SpecError, "reduction='max': allowed is add or mul with accumulate='float32'"),
        ("f16", "none", "float32", SpecError, "reduction='none'"),
        ("bf16", "add", "float64", SpecError, "accumulate='float64': allowed is None or float32"),
        ("f16", "add", np.float32, SpecError, "allowed is None or float32"),
    ],
)
def test_what_cannot_be_accumulated(tag: str, reduction: str, accumulate: Any, error: Any, text: str) -> None:
    data = np.zeros(3, values.DTYPES[tag])
    for function in (scattergen.scatter_elements, scattergen.scatter_nd):
        where = np.zeros((1, 1) if function is scattergen.scatter_nd else 1, np.int64)
        with pytest.raises(error, match=re.escape(text)):
            function(data, where, data[:1], reduction=reduction, accumulate=accumulate)
        for asker in (scattergen.explain, scattergen.bind):
            with pytest.raises(error, match=re.escape(text)):
                asker(function, data, where, data[:1], reduction=reduction, accumulate=accumulate)


def test_explain_tells_what_runs_and_what_it_takes() -> None:
    data, indices = np.zeros((4, 3000), np.float16), np.zeros((4, 1000), np.int64)
    with small_rooms(3000):
        found = scattergen.explain(
            scattergen.scatter_elements, data, indices, data[:, :1000], 1, "add", accumulate="float32", threads=1
        )
    assert found.spec == "scatter_elements_f16_i64_r2a1_add"
    assert found.kernel == "elements_f32_i64_k1_add"  # a row at a time
    assert found.copies == (
        "data: widened to float32, 3000 of 12000 elements at a time",
        "updates: widened to float32, 1000 of 4000 at a time",
    )


def test_a_bound_call_accumulates() -> None:
    data, updates = np.array([2048], np.float16), np.ones(2, np.float16)
    call = scattergen.bind(
        scattergen.scatter_elements, data, np.zeros(2, np.int64), updates, reduction="add", out=data,
        accumulate="float32",
    )  # fmt: skip
    assert call().tolist() == [2050]
    updates[:] = 3
    assert call().tolist() == [2056]


def test_duplicates_are_refused_and_a_fast_plan_does_not_answer() -> None:
    data, where, ones = np.array([2048], np.float16), np.zeros(2, np.int64), np.ones(2, np.float16)
    for _ in range(2):
        assert scattergen.scatter_elements(data, where, ones, reduction="add").tolist() == [2048]
        assert run(data, where, ones, 0, "add").tolist() == [2050]
    with pytest.raises(ValueError, match="both name"):
        run(data, where, ones, 0, "add", duplicates="refuse")


def test_python_that_drops_asserts_computes_the_same() -> None:
    code = """
import numpy as np, scattergen
assert False, "python -O runs no assert"
data, indices, updates = np.full(6, 2, np.float16), np.array([1, 1, 4]), np.array([3, 5, 7], np.float16)
print(scattergen.scatter_elements(data, indices, updates, reduction="mul", accumulate="float32").tolist())
print([found.tolist() for found in scattergen.gradients(
    scattergen.scatter_elements, np.ones(6, np.float16), data, indices, updates, reduction="mul")])
print(scattergen.graph.scatter(updates, np.array([0, 0, 1]), reduce="mean").tolist())
"""
    summed, gradients, means = python(code, PYTHONOPTIMIZE="1").splitlines()
    assert summed == "[2.0, 30.0, 2.0, 2.0, 14.0, 2.0]"
    assert gradients == "[[1.0, 15.0, 1.0, 1.0, 7.0, 1.0], [10.0, 6.0, 2.0]]"
    assert means == "[4.0, 7.0]"
