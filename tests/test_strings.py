"""Strings and Python's objects: the operators' loop in plain Python, references counted, kernels for positions."""

from __future__ import annotations

import functools
import gc
import operator
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import layouts
import numpy as np
import onnx
import pytest
from bits import difference
from cases import oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import scattergen
import scattergen.onnx
from scattergen.call import dispatch
from scattergen.errors import DTypeError, DuplicateTargets, IndexOutOfBounds, ShapeError
from scattergen.lower import lower
from scattergen.operators.spec import OpSpec

Array: TypeAlias = "np.ndarray[Any, Any]"

STRING = np.dtypes.StringDType()
TYPES: dict[str, Any] = {"object": np.dtype(object), "U": np.dtype("U9"), "S": np.dtype("S5"), "T": STRING}
CHANCE = np.random.default_rng(7)
WORDS = np.array(["", "a", "b", "ab", "scatter", "0", "Z", "ba"], object)


class Text(str):
    """A string that is joined in its own way."""

    __slots__ = ()

    def __radd__(self, other: str) -> str:
        return f"{other}+{self!s}"


def strings(shape: tuple[int, ...], kind: str, random: np.random.Generator = CHANCE) -> Array:
    """Return random strings; those of StringDType are partly too long to lie in the array itself."""
    words = WORDS[random.integers(0, len(WORDS), shape)]
    if kind == "T":
        words = np.where(random.random(shape) < 0.3, np.array(words * 9, object), words)
    return np.array(words, TYPES[kind])


@contextmanager
def kernels() -> Iterator[list[str]]:
    """Give the list of the kernels that run inside."""
    seen: list[str] = []
    find = dispatch.plan.plan

    def watched(*args: Any, **more: Any) -> Any:
        found = find(*args, **more)
        assert found.call is not None
        seen.append(str(found.kernel))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch.plan, "plan", watched)
        yield seen


def hurt(lay: Any, array: Array) -> Array:
    """Return the array in a layout, where NumPy lets elements of its type lie like that."""
    if lay is layouts.unaligned and array.dtype.hasobject:
        return layouts.strided(array)
    if lay in (layouts.packed, layouts.swapped) and array.dtype.kind in "OT":
        return layouts.negative(array)
    found: Array = lay(array)
    return found


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Array, Array, Array, int, str]:
    """Draw the arguments of a call of either kind."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from([*TYPES]))
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    reduction = draw(st.sampled_from(["none", "none", "add", "max", "min"]))
    lays = [draw(st.sampled_from((layouts.plain, *layouts.HURTFUL))) for _ in range(3)]
    axis = 0
    if draw(st.booleans()):
        axis = draw(st.integers(-len(shape), len(shape) - 1))
        sizes = [draw(st.integers(0, size)) for size in shape]
        sizes[axis] = draw(st.integers(0, 7)) if shape[axis] else 0
        entries, limits = tuple(sizes), (shape[axis],)
        update_shape, name = entries, "scatter_elements"
    else:
        depth = draw(st.integers(0, len(shape)))
        limits = shape[:depth]
        batch = draw(st.lists(st.integers(0, 4), max_size=2)) if 0 not in limits else [0]
        entries = (*batch, depth)
        update_shape, name = (*batch, *shape[depth:]), "scatter_nd"
    dtype = np.dtype(draw(st.sampled_from(["i4", "i8"])))
    indices = np.zeros(entries, dtype)
    if indices.size:
        size = np.array(limits, np.int64)
        indices = random.integers(-size, size, entries).astype(dtype)
    arrays = [strings(shape, kind, random), indices, strings(update_shape, kind, random)]
    data, indices, updates = (hurt(lay, array) for lay, array in zip(lays, arrays, strict=True))
    return name, data, indices, updates, axis, reduction


def expected(name: str, data: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    op = {"scatter_elements": "ScatterElements", "scatter_nd": "ScatterND"}[name]
    native = [a.astype(a.dtype.newbyteorder("=")) if a.dtype.kind in "US" else a for a in (data, updates)]
    return oracle.scatter(op, 18, native[0], indices, native[1], axis, reduction)


@given(calls())
@settings(max_examples=200)
def test_every_call_is_the_loop_in_plain_python(call: tuple[str, Array, Array, Array, int, str]) -> None:
    name, data, indices, updates, axis, reduction = call
    options: dict[str, Any] = {"reduction": reduction} | ({"axis": axis} if name == "scatter_elements" else {})
    function = getattr(scattergen, name)
    want = expected(*call)
    before = [array.tolist() for array in (data, indices, updates)]
    with kernels() as seen:
        got = function(data, indices, updates, **options)
    assert not difference(got, want)
    assert got.dtype.isnative and got.flags.writeable and not np.shares_memory(got, data)
    assert [array.tolist() for array in (data, indices, updates)] == before
    if reduction != "none":
        assert not seen
    elif updates.size:
        (kernel,) = seen
        assert ("_w64_" in kernel) if data.dtype.kind in "OT" else "_none" in kernel
    # In place, into a place apart and into a view with gaps.
    for out in (np.array(data, want.dtype), layouts.strided(np.zeros_like(want)), layouts.negative(want)):
        start = out if out.dtype == want.dtype and (out == data.astype(want.dtype)).all() else data
        assert function(start, indices, updates, **options, out=out) is out
        assert not difference(np.array(out), want)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_changes_nothing(kind: str, threads: int) -> None:
    data, updates = strings((500, 40), kind), strings((700, 40), kind)
    indices = CHANCE.integers(-500, 500, (700, 40))
    want = expected("scatter_elements", data, indices, updates, 0, "none")
    assert not difference(scattergen.scatter_elements(data, indices, updates, threads=threads), want)
    tuples = indices[:, :1]
    want = expected("scatter_nd", data, tuples, updates, 0, "none")
    assert not difference(scattergen.scatter_nd(data, tuples, updates, threads=threads), want)


# References


class Thing:
    """Something that can be watched."""


@pytest.mark.parametrize("reduction", ["none", "max"])
def test_references_are_counted(reduction: str) -> None:
    one, other, third = (f"{word} {reduction}" for word in ("one", "other", "third"))
    watched = (one, other, third)
    before = [sys.getrefcount(value) for value in watched]
    data = np.array([one, one, one, other], object)
    updates = np.array([other, third, third], object)
    result = scattergen.scatter_elements(data, [0, 0, 1], updates, reduction=reduction)
    assert result.tolist() == [third, third, one, other]
    del data, updates
    gc.collect()
    assert [sys.getrefcount(value) for value in watched] == [before[0] + 1, before[1] + 1, before[2] + 2]
    scattergen.scatter_elements(result, [3, 2], np.array([one, one], object), reduction="none", out=result)
    assert [sys.getrefcount(value) for value in watched] == [before[0] + 2, before[1], before[2] + 2]
    with pytest.raises(IndexError):
        scattergen.scatter_elements(result, [3, 4], np.array([one, one], object), out=result)
    del result
    gc.collect()
    assert [sys.getrefcount(value) for value in watched] == before


def test_what_is_overwritten_dies_and_what_is_kept_lives() -> None:
    data = np.array([Thing() for _ in range(50)], object)
    updates = np.array([Thing() for _ in range(50)], object)
    old, new = ([weakref.ref(thing) for thing in array] for array in (data, updates))
    indices = CHANCE.integers(0, 20, 50)
    last = {int(index): number for number, index in enumerate(indices)}
    assert scattergen.scatter_nd(data, indices[:, None], updates, out=data) is data
    del updates
    gc.collect()
    assert [number for number, ref in enumerate(old) if ref() is None] == sorted(last)
    assert {number for number, ref in enumerate(new) if ref() is not None} == set(last.values())
    assert all(data[index] is new[number]() for index, number in last.items())


def test_an_expanded_update_is_one_object() -> None:
    thing = Thing()
    before = sys.getrefcount(thing)
    updates = np.broadcast_to(np.array([[thing]], object), (200, 30))
    result = scattergen.scatter_elements(np.full((9, 30), None), CHANCE.integers(0, 3, (200, 30)), updates)
    assert sys.getrefcount(thing) == before + 1 + sum(value is thing for value in result.flat)


@pytest.mark.parametrize("reduction", ["none", "add", "min"])
def test_strings_of_numpy_outlive_their_sources(reduction: str) -> None:
    texts = [f"a long string that lies in an arena of its array, number {number}" for number in range(300)]
    data, updates = np.array(texts, STRING), np.array(texts[::-1], STRING)
    indices = CHANCE.integers(0, 300, 300)
    want = expected("scatter_elements", data, indices, updates, 0, reduction).tolist()
    result = scattergen.scatter_elements(data, indices, updates, reduction=reduction)
    for _ in range(20):
        data = scattergen.scatter_elements(data, indices, updates, reduction=reduction, out=data)
        data[:] = texts
    data[:] = "x" * 500
    updates[:] = ""
    del data, updates
    gc.collect()
    trash = [np.array(["y" * 60] * 300, STRING) for _ in range(20)]
    assert result.tolist() == want and trash


def test_many_threads_of_python_share_the_arrays() -> None:
    data, updates = strings((300,), "object"), strings((400,), "object")
    indices = CHANCE.integers(0, 300, 400)
    want, found = expected("scatter_elements", data, indices, updates, 0, "none"), list[Array]()

    def work() -> None:
        found.extend(scattergen.scatter_elements(data, indices, updates) for _ in range(30))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 120 and not any(difference(got, want) for got in found)


# Widths


def test_the_result_is_as_wide_as_the_wider_type() -> None:
    data, updates = np.array(["a", "b", "c"]), np.array(["long", "er"])
    for reduction in ("none", "max", "min"):
        got = scattergen.scatter_elements(data, [1, 1], updates, reduction=reduction)
        assert got.dtype == "U4"
        assert not difference(got, expected("scatter_elements", data, np.array([1, 1]), updates, 0, reduction))
    assert not difference(scattergen.scatter_elements(updates, [0], np.array(["x"])), np.array(["x", "er"], "U4"))
    assert not difference(scattergen.scatter_elements(["a", "b"], [0], ["list"]), np.array(["list", "b"]))
    assert not difference(scattergen.scatter_elements([b"a"], [0], [b"list"]), np.array([b"list"]))


def test_a_sum_takes_the_width_that_it_needs() -> None:
    got = scattergen.scatter_nd(np.array(["ab", "c"], "U3"), [[0], [0], [-2]], np.array(["d", "ef", ""], "U2"), "add")
    assert not difference(got, np.array(["abdef", "c"], "U5"))
    got = scattergen.scatter_nd(np.array([b"a\0b", b""]), [[0], [1]], np.array([b"\0c", b"d"]), "add")
    assert not difference(got, np.array([b"a\0b\0c", b"d"]))
    many = scattergen.scatter_elements([""], np.zeros(20_000, int), np.array(["xy"] * 20_000), reduction="add")
    assert many.tolist() == ["xy" * 20_000]


@pytest.mark.parametrize("values", [["x", "yz"], [b"x", b"yz"], [1, 2.5], ["x", Text("y")]])
def test_many_updates_of_one_target_are_joined_in_order(values: list[Any]) -> None:
    data, updates = np.array(values, object), np.array(values * 300, object)
    want = functools.reduce(operator.add, [values[1], *updates])
    got = scattergen.scatter_elements(data, np.ones(600, int), updates, reduction="add")
    assert got.tolist() == [values[0], want] and type(got[1]) is type(want)
    with pytest.raises(DTypeError, match=r"add at data\[1\]"):
        scattergen.scatter_elements(data, np.ones(601, int), np.append(updates, [None]), reduction="add")


def test_an_out_that_would_cut_is_refused_before_anything_is_written() -> None:
    data, updates = np.array(["ab", "cd", "ef"]), np.array(["x", "long"])
    for reduction, longest in (("none", "long"), ("add", "cdlong"), ("max", "long")):
        for out in (data.copy(), np.array(["..", "..", ".."])):
            kept = out.copy()
            for start in (data, out):
                with pytest.raises(
                    DTypeError, match=rf"out is <U2, .* \[1\] of length {len(longest)}: .* U{len(longest)}"
                ):
                    scattergen.scatter_elements(start, [0, 1], updates, reduction=reduction, out=out)
                assert not difference(out, kept)
    with pytest.raises(DTypeError, match=r"out is <U1, .* \[1\] of length 2"):
        scattergen.scatter_elements(data, [0], ["x"], out=np.array(["", "", ""]))
    with pytest.raises(IndexError):
        scattergen.scatter_elements(data, [9], ["long"], out=data)


def test_an_out_of_another_width_takes_what_fits() -> None:
    updates = np.array(["x", "yy"], "U9")
    want = ["ab", "yy", "x"]
    for width in (2, 3, 9, 20):
        out = np.full(3, "?", f"U{width}")
        assert scattergen.scatter_elements(["ab", "cd", "ef"], [2, 1], updates, out=out) is out
        assert (out.tolist(), out.dtype) == (want, np.dtype(f"U{width}"))
        data = np.array(["ab", "cd", "ef"], f"U{width}")
        with kernels() as seen:
            assert scattergen.scatter_elements(data, [2, 1], updates, out=data) is data
        assert data.tolist() == want and len(seen) == 1
    swapped = layouts.swapped(np.array(["..", "..", ".."]))
    scattergen.scatter_elements(["ab", "cd", "ef"], [2, 1], updates, out=swapped)
    assert swapped.tolist() == want and not swapped.dtype.isnative
    only_winners = np.array(["ab", "cd"])
    scattergen.scatter_elements(only_winners, [0, 0], ["too long", "ok"], out=only_winners)
    assert only_winners.tolist() == ["ok", "cd"]


# Objects of all kinds


def test_objects_combine_by_their_own_rules() -> None:
    data = np.array([[1, 2.5], ["s", (1,)]], object)
    updates = np.array([[2**80, 1], ["t", (2,)]], object)
    got = scattergen.scatter_elements(data, [[0, 0], [1, 1]], updates, reduction="add")
    assert got.tolist() == [[1 + 2**80, 3.5], ["st", (1, 2)]]
    got = scattergen.scatter_elements(data, [[0, 0], [1, 1]], updates, reduction="min")
    assert got.tolist() == [[1, 1], ["s", (1,)]]


def test_objects_that_are_sequences_stay_elements() -> None:
    data, updates = np.empty(2, object), np.empty(1, object)
    data[0], data[1], updates[0] = [1], [2], [3, 4]
    for reduction, want in (("none", [3, 4]), ("add", [2, 3, 4]), ("max", [3, 4])):
        got = scattergen.scatter_elements(data, [1], updates, reduction=reduction)
        assert got.tolist() == [[1], want]
    assert data.tolist() == [[1], [2]]  # a list is added to, not extended


def test_an_equal_object_does_not_replace_the_old_one_and_nan_does() -> None:
    old, new = 1, 1.0
    for reduction in ("max", "min"):
        got = scattergen.scatter_elements(np.array([old], object), [0], np.array([new], object), reduction=reduction)
        assert got[0] is old
        got = scattergen.scatter_elements(
            np.array([old, float("nan")], object),
            [0, 0, 1],
            np.array([float("nan"), 5, 7], object),
            reduction=reduction,
        )
        assert got[0] != got[0] and got[1] != got[1]


@pytest.mark.parametrize(("reduction", "words"), [("add", "concatenate"), ("max", "'>' not supported")])
def test_what_cannot_be_combined_is_told_with_its_place(reduction: str, words: str) -> None:
    data = np.array([["a", "b"], ["c", "d"]], object)
    updates = np.array([["x", "y"], ["z", 1]], object)
    kept = data.tolist()
    with pytest.raises(DTypeError, match=rf"ScatterElements: {reduction} at data\[0, 1\]: .*{words}"):
        scattergen.scatter_elements(data, [[1, 0], [0, 0]], updates, reduction=reduction, out=data)
    assert data.tolist() == kept


def test_an_error_of_an_object_leaves_out_as_it_was() -> None:
    class Angry:
        def __radd__(self, other: Any) -> Any:
            raise OverflowError("no")

    data = np.array(["a", "b", "c"], object)
    with pytest.raises(OverflowError, match="no"):
        scattergen.scatter_elements(data, [0, 1], np.array(["x", Angry()], object), reduction="add", out=data)
    assert data.tolist() == ["a", "b", "c"]


# Missing strings


def test_missing_strings_move_and_spread() -> None:
    dtype = np.dtypes.StringDType(na_object=np.nan)
    data, updates = np.array(["a", np.nan, "c", "d"], dtype), np.array(["x", "y", np.nan, "z"], dtype)
    for reduction, want in {
        "none": ["x", "y", np.nan, "z"],
        "add": ["ax", np.nan, np.nan, "dz"],
        "max": ["x", np.nan, np.nan, "z"],
        "min": ["a", np.nan, np.nan, "d"],
    }.items():
        got = scattergen.scatter_elements(data, [0, 1, 2, 3], updates, reduction=reduction)
        assert got.dtype == dtype
        assert repr(got.tolist()) == repr(want)
    dtype = np.dtypes.StringDType(na_object=None)
    data, updates = np.array(["a", None], dtype), np.array([None, "b"], dtype)
    assert scattergen.scatter_elements(data, [1, 0], updates).tolist() == ["b", None]
    with pytest.raises(DTypeError, match=r"add at data\[0\]"):
        scattergen.scatter_elements(data, [0], updates[:1], reduction="add")
    with pytest.raises(DTypeError, match=r"updates is .*use updates.astype\(data.dtype\)"):
        scattergen.scatter_elements(data, [0], np.array(["b"], STRING))
    assert scattergen.scatter_elements(data, [1, 0], [None, "list"]).tolist() == ["list", None]


# What does not fit


WRONG_UPDATES: list[tuple[Any, Any, str]] = [
    (np.array(["a"], object), np.array(["b"]), r"updates is <U1, data is object: use updates.astype\(object\)"),
    (np.array(["a"]), np.array(["b"], object), r"updates is object, data is <U1: use updates.astype\('U'\)"),
    (np.array(["a"]), np.array([b"b"]), r"updates is \|S1, data is <U1"),
    (np.array(["a"], STRING), np.array(["b"]), r"updates is <U1, data is StringDType"),
    (np.array(["a"], STRING), [1], r"updates is int64, data is StringDType"),
    (np.array(["a"]), [1.5], r"updates is float64, data is <U1"),
    (np.array([1]), np.array(["b"], STRING), r"updates is StringDType.*data is int64"),
]


@pytest.mark.parametrize(("data", "updates", "words"), WRONG_UPDATES)
def test_updates_of_another_type_are_refused(data: Array, updates: Any, words: str) -> None:
    with pytest.raises(DTypeError, match=words):
        scattergen.scatter_elements(data, [0], updates)


def test_an_out_of_another_type_is_refused() -> None:
    for out in (np.zeros(2, object), np.zeros(2, "S3"), np.zeros(2, STRING), np.zeros(2)):
        with pytest.raises(DTypeError, match="out is"):
            scattergen.scatter_elements(np.array(["a", "b"]), [0], ["c"], out=out)
    with pytest.raises(ShapeError, match="out has shape"):
        scattergen.scatter_elements(np.array(["a", "b"]), [0], ["c"], out=np.array(["a"]))
    with pytest.raises(ShapeError, match="share memory"):
        scattergen.scatter_elements(
            ["a", "b"], [0], ["c"], out=np.lib.stride_tricks.as_strided(np.array(["a"]), (2,), (0,))
        )


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize("size", [3, 0])
def test_index_errors_are_those_of_numbers(kind: str, reduction: str, size: int) -> None:
    indices = np.array([[0, 2], [3, -1], [1, -4]], np.int32)
    errors = []
    for data, updates in (
        (np.zeros((size, 2)), np.zeros((3, 2))),
        (strings((size, 2), kind), strings((3, 2), kind)),
    ):
        out = data.copy()
        with pytest.raises(IndexOutOfBounds) as caught:
            scattergen.scatter_elements(data, indices, updates, reduction=reduction, out=out)
        assert (out == data).all()
        errors.append(caught.value)
    assert str(errors[0]) == str(errors[1])
    assert errors[0].args == errors[1].args
    tuples = np.array([[1, 0], [0, 5]])
    with pytest.raises(IndexOutOfBounds, match=r"ScatterND: indices\[1, 1\] is 5, allowed is in \[-2, 1\]"):
        scattergen.scatter_nd(strings((2, 2), kind), tuples, strings((2,), kind), reduction)


@pytest.mark.parametrize("kind", TYPES)
def test_duplicates_are_refused_and_a_promise_is_taken(kind: str) -> None:
    data, updates = strings((4,), kind), strings((3,), kind)
    with pytest.raises(DuplicateTargets, match=r"indices\[0\] and indices\[2\] both name data\[1\]"):
        scattergen.scatter_elements(data, [1, 2, -3], updates, duplicates="refuse")
    for options in ({"duplicates": "refuse"}, {"unique": True}, {"unique": True, "threads": 2}):
        got = scattergen.scatter_elements(data, [1, 2, 3], updates, **options)  # type: ignore[arg-type]
        assert got.tolist() == [data[0], *updates.tolist()]


def test_arrays_may_overlap() -> None:
    for kind in TYPES:
        table = strings((9,), kind)
        data, updates, out = table[:6], table[5:2:-1], table[3:]
        want = expected("scatter_elements", data.copy(), np.array([0, 5, 2]), updates.copy(), 0, "none").tolist()
        with kernels() as seen:
            scattergen.scatter_elements(data, [0, 5, 2], updates, out=out)
        assert out.tolist() == want and seen


# The other ways to a result


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_plans_bound_calls_and_kernels_take_strings(kind: str, reduction: str) -> None:
    data, updates = strings((6, 4), kind), strings((9, 4), kind)
    indices = CHANCE.integers(-6, 6, (9, 4))
    want = expected("scatter_elements", data, indices, updates, 0, reduction)
    plan = scattergen.prepare(indices, data.shape, 0, reduction)
    for _ in range(2):
        assert not difference(plan(data, updates), want)
    kernel = scattergen.compile(f"scatter_elements_str_i64_r2a0_{reduction}")
    assert not difference(kernel(data, indices, updates), want)
    out = np.zeros_like(want)
    step = scattergen.bind(scattergen.scatter_elements, data, indices, updates, reduction=reduction, out=out)
    for _ in range(2):
        assert step() is out and not difference(out, want)
    indices[0, 0] = 6
    with pytest.raises(IndexOutOfBounds):
        step()
    assert not difference(out, want)


def test_a_kernel_for_strings_moves_positions() -> None:
    kernel = scattergen.compile("scatter_nd_str_i64_r2k1_none")
    assert {str(variant.spec.element) for variant in kernel.variants} == {"w64"}
    for reduction in ("add", "max", "min"):
        assert lower.variants(OpSpec.parse(f"scatter_nd_str_i64_r2k1_{reduction}")) == ()
    with pytest.raises(DTypeError, match="data is <U1, this kernel takes int64"):
        scattergen.compile("scatter_elements_i64_i64_r1a0_none")(np.array(["a"]), [0], ["b"])


def test_explain_says_how_strings_are_moved() -> None:
    indices = np.array([[0], [2]])
    found = scattergen.explain(scattergen.scatter_nd, strings((3,), "object"), indices, strings((2,), "object"))
    assert (found.spec, found.kernel) == ("scatter_nd_str_i64_r1k1_none", "elements_w64_i64_k1_none")
    assert "moved    object, by positions of updates" in str(found)
    found = scattergen.explain(scattergen.scatter_nd, np.array(["abc"] * 3), indices, np.array(["abc"] * 2))
    assert found.kernel == "slices_w32_i64_k1_none"
    assert "by 3 words of 32 bits" in found.moved and found.copies == ()
    found = scattergen.explain(scattergen.scatter_nd, np.array(["abc"] * 3), indices, np.array(["x"] * 2))
    assert found.copies == ("updates: as <U3",)
    found = scattergen.explain(scattergen.scatter_nd, strings((3,), "T"), indices, strings((2,), "T"), "add")
    assert (found.kernel, found.source, found.form) == (None, "python", "python")
    assert "strings are Python's to combine" in str(found)


# ONNX


def model(reduction: str) -> Any:
    node = helper.make_node("ScatterElements", ["data", "indices", "updates"], ["out"], axis=0, reduction=reduction)
    text, number = TensorProto.STRING, TensorProto.INT64
    inputs = [
        helper.make_tensor_value_info(name, kind, [3, 2])
        for name, kind in (("data", text), ("indices", number), ("updates", text))
    ]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("out", text, [3, 2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
def test_models_with_strings_run(reduction: str) -> None:
    proto = model(reduction)
    onnx.checker.check_model(proto, full_check=True)
    (node,) = scattergen.onnx.nodes(proto)
    assert str(node.spec) == f"scatter_elements_str_i64_r2a0_{reduction}"
    inputs = {
        "data": np.array([["a", "b"], ["c", "d"], ["e", "f"]]),
        "indices": np.array([[0, 2], [0, -1], [1, 1]]),
        "updates": np.array([["long", "er"], ["than", "the"], ["others", ""]]),
    }
    want = expected("scatter_elements", *inputs.values(), 0, reduction)
    for dtype in (want.dtype, object):
        report = scattergen.onnx.run(proto, inputs, {"out": want.astype(dtype)})
        assert report.outputs[0].equal and report.nodes[0].node.spec == node.spec
        assert (report.nodes[0].kernel is None) == (reduction != "none")
    assert not scattergen.onnx.run(proto, inputs, {"out": want.astype("U1")}).equal
    (outputs,) = scattergen.onnx.evaluator(proto).run(
        None, {name: a.astype(object) if name != "indices" else a for name, a in inputs.items()}
    )
    assert outputs.tolist() == want.tolist()
    if reduction == "none":
        assert scattergen.onnx.run(proto).equal
