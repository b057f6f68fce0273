"""Times, records and raw bytes: bytes move by words or positions, times reduce as int64 with NaT."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import layouts
import numpy as np
import pytest
from bits import difference
from hypothesis import given, settings
from hypothesis import strategies as st

import scattergen
from scattergen.arguments import foreign
from scattergen.errors import DTypeError, IndexOutOfBounds, ShapeError, SpecError
from scattergen.operators.dtypes import DTYPES

Array: TypeAlias = "np.ndarray[Any, Any]"

CHANCE = np.random.default_rng(3)
PADDED = np.dtype([("a", "u1"), ("b", "f8"), ("c", "u2")], align=True)
NESTED = np.dtype([("when", "M8[s]"), ("at", "f4", (3,)), ("name", "U3"), ("inner", [("x", "i1"), ("y", "i1")])])
MIXED = np.dtype([("big", ">i4"), ("little", "<i4")])


def raw(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return elements of random bytes."""
    dtype = np.dtype(dtype)
    if not dtype.itemsize:
        return np.zeros(shape, dtype)
    return CHANCE.integers(1, 100, (*shape, dtype.itemsize)).astype(np.uint8).view(dtype).reshape(shape)


def by_loop(data: Array, indices: Array, updates: Array, axis: int | None, function: Any = None) -> Array:
    """Return the operator's loop over elements, or over slices where there is no axis."""
    out = data.astype(data.dtype.newbyteorder("="))
    for place in np.ndindex(indices.shape if axis is not None else indices.shape[:-1]):
        target = (*place[:axis], indices[place], *place[axis + 1 :]) if axis is not None else tuple(indices[place])
        out[target] = updates[place] if function is None else function(out[target], updates[place])
    return out


def same(got: Array, want: Array) -> bool:
    """Whether arrays have one dtype, one shape and the same values."""
    return got.dtype == want.dtype and got.shape == want.shape and repr(got.tolist()) == repr(want.tolist())


SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 33, 40, 48, 100]
TYPES: list[Any] = [*(f"V{size}" for size in SIZES), "V0", np.dtype([]), PADDED, NESTED, MIXED]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: str(np.dtype(dtype))[:30])
@pytest.mark.parametrize("lay", (layouts.plain, *layouts.HURTFUL))
def test_bytes_move(dtype: Any, lay: Any) -> None:
    if lay in (layouts.packed, layouts.unaligned) and not np.dtype(dtype).itemsize:
        lay = layouts.strided
    swap = lay is layouts.swapped
    data, updates = raw((4, 3), dtype), raw((5, 3), dtype)
    indices = CHANCE.integers(-4, 4, (5, 3)).astype(np.int32)
    tuples = CHANCE.integers(-4, 4, (5, 1))
    if swap:
        data, updates = (array.astype(array.dtype.newbyteorder()) for array in (data, updates))
    else:
        data, indices, updates, tuples = (lay(array) for array in (data, indices, updates, tuples))
    for axis, where in ((0, indices), (None, tuples)):
        call = scattergen.scatter_nd if axis is None else scattergen.scatter_elements
        want = by_loop(data, where, updates, axis)
        assert same(call(data, where, updates), want)
        if data.flags.writeable:
            out = layouts.strided(np.zeros(data.shape, data.dtype))
            assert call(data, where, updates, out=out) is out
            assert same(out.astype(want.dtype), want)
            own = data.copy(order="K")
            assert call(own, where, updates, out=own) is own
            assert same(own.astype(want.dtype), want)
        kernel = scattergen.explain(call, data, where, updates).kernel
        assert kernel is not None and kernel.endswith("_none")


def test_words_are_the_longest_that_fit() -> None:
    assert foreign.word(16) == (DTYPES["c128"], 1)
    assert foreign.word(24) == (DTYPES["u64"], 3)
    assert foreign.word(12) == (DTYPES["u32"], 3)
    assert foreign.word(3) == (DTYPES["u8"], 3)
    assert foreign.word(48) == (DTYPES["c128"], 3)
    for size in range(1, 70):
        word, count = foreign.word(size)
        assert word.size * count == size


@given(st.integers(1, 50), st.lists(st.integers(1, 4), min_size=1, max_size=5), st.data())
@settings(max_examples=60)
def test_every_size_and_shape(size: int, shape: list[int], data: Any) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    entries = list(shape)
    entries[axis] = data.draw(st.integers(0, 6))
    start, updates = raw(tuple(shape), f"V{size}"), raw(tuple(entries), f"V{size}")
    indices = CHANCE.integers(-shape[axis], shape[axis], entries)
    assert same(scattergen.scatter_elements(start, indices, updates, axis), by_loop(start, indices, updates, axis))


def test_bytes_of_padding_move_too() -> None:
    data, updates = raw((3,), PADDED), raw((2,), PADDED)
    got = scattergen.scatter_elements(data, [2, 0], updates)
    assert got.tobytes() == updates[1].tobytes() + data[1].tobytes() + updates[0].tobytes()


@pytest.mark.parametrize("dtype", ["V3", "V0", object, "U3"])
def test_the_highest_rank(dtype: Any) -> None:
    data, updates = np.zeros((3, *(1,) * 63), dtype), np.ones((2, *(1,) * 63), dtype)
    indices = np.array([2, 0]).reshape(updates.shape)
    want = [updates.ravel()[1], data.ravel()[1], updates.ravel()[0]]
    assert scattergen.scatter_elements(data, indices, updates).ravel().tolist() == np.array(want).tolist()
    gaps = np.zeros((6, *(1,) * 63), dtype)[::2]
    assert scattergen.scatter_elements(data, indices, updates, out=gaps).ravel().tolist() == np.array(want).tolist()


def test_records_with_references_are_counted() -> None:
    dtype = np.dtype([("n", "i4"), ("o", object)])
    one, other = "one " * 9, "other " * 9
    before = sys.getrefcount(one), sys.getrefcount(other)
    data = np.array([(1, one), (2, one), (3, other)], dtype)
    got = scattergen.scatter_elements(data, [0, -1, 0], np.array([(7, one), (8, one), (9, other)], dtype))
    assert got.tolist() == [(9, other), (2, one), (8, one)]
    del data
    assert (sys.getrefcount(one), sys.getrefcount(other)) == (before[0] + 2, before[1] + 1)
    scattergen.scatter_nd(got, [[1], [2]], [(0, other), (1, other)], out=got)
    assert (sys.getrefcount(one), sys.getrefcount(other)) == (before[0], before[1] + 3)
    del got
    assert (sys.getrefcount(one), sys.getrefcount(other)) == before


def test_records_and_bytes_do_not_reduce() -> None:
    for reduction in ("add", "mul", "max", "min"):
        with pytest.raises(
            DTypeError, match=rf"data is .*for which {reduction} means nothing; allowed is none: .*'when'"
        ):
            scattergen.scatter_elements(raw((2,), NESTED), [0], raw((1,), NESTED), reduction=reduction)
        with pytest.raises(DTypeError, match=rf"data is \|V3, for which {reduction} means nothing"):
            scattergen.scatter_nd(raw((2,), "V3"), [[0]], raw((1,), "V3"), reduction)
    with pytest.raises(SpecError, match="mean"):
        scattergen.scatter_nd(raw((2,), "V3"), [[0]], raw((1,), "V3"), "mean")
    with pytest.raises(DTypeError, match=r"updates is \|V4, data is \|V3: use updates.astype\(data.dtype\)"):
        scattergen.scatter_nd(raw((2,), "V3"), [[0]], raw((1,), "V4"))
    with pytest.raises(DTypeError, match="updates is"):
        scattergen.scatter_nd(raw((2,), PADDED), [[0]], raw((1,), np.dtype(PADDED.descr)))


def test_lists_become_records() -> None:
    got = scattergen.scatter_elements(np.zeros(3, MIXED), [1], [(5, 6)])
    assert got.tolist() == [(0, 0), (5, 6), (0, 0)] and got.dtype == MIXED.newbyteorder("=")
    with pytest.raises(DTypeError, match="updates does not fit"):
        scattergen.scatter_elements(np.zeros(3, MIXED), [1], [(5, "x")])


# Times


NAT = np.iinfo(np.int64).min


def times(shape: tuple[int, ...], dtype: str, missing: float) -> Array:
    """Return random times, a share of them NaT."""
    numbers = CHANCE.integers(-50, 50, shape)
    return np.where(CHANCE.random(shape) < missing, NAT, numbers).view(dtype)


@pytest.mark.parametrize("lay", (layouts.plain, *layouts.HURTFUL))
@pytest.mark.parametrize("missing", [0, 0.2])
@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [(kind, reduction) for kind in ("M8[s]", "m8[ms]", "m8") for reduction in ("none", "max", "min")]
    + [("m8[D]", "add")],
)
def test_times_reduce_as_numpy_has_it(dtype: str, reduction: str, missing: float, lay: Any) -> None:
    function = {"none": None, "max": np.maximum, "min": np.minimum, "add": np.add}[reduction]
    data, updates = lay(times((6, 5), dtype, missing)), lay(times((9, 5), dtype, missing))
    indices = lay(CHANCE.integers(-6, 6, (9, 5)))
    want = by_loop(data, indices, updates, 0, function)
    got = scattergen.scatter_elements(data, indices, updates, reduction=reduction)
    assert same(got, want)
    kernel = scattergen.explain(scattergen.scatter_elements, data, indices, updates, reduction=reduction).kernel
    assert kernel is not None and {"none": "_w64_", "add": "_u64_"}.get(reduction, "_i64_") in kernel
    tuples = CHANCE.integers(-6, 6, (9, 1))
    want = by_loop(data, tuples, updates, None, function)
    assert same(scattergen.scatter_nd(data, tuples, updates, reduction), want)
    for out in (np.zeros_like(want), layouts.strided(want), layouts.swapped(want)):
        assert scattergen.scatter_nd(data, tuples, updates, reduction, out=out) is out
        assert same(out.astype(want.dtype), want)
    if data.flags.writeable:
        assert scattergen.scatter_nd(data, tuples, updates, reduction, out=data) is data
        assert same(data.astype(want.dtype), want)


def test_sums_of_spans_wrap_and_stay_nat() -> None:
    most = np.iinfo(np.int64).max
    got = scattergen.scatter_elements(
        np.array([most, 0, NAT]).view("m8[s]"), [0, 1, 1, 2], np.array([2, NAT, 5, 1]).view("m8[s]"), reduction="add"
    )
    assert got.view(np.int64).tolist() == [NAT + 1, NAT, NAT]


def test_a_bad_index_leaves_times_as_they_were() -> None:
    for missing in (0, 1):
        data = times((4,), "M8[s]", missing)
        kept = data.copy()
        for reduction in ("none", "max", "min"):
            with pytest.raises(IndexOutOfBounds, match=r"indices\[1\] is 4, allowed is in \[-4, 3\]"):
                scattergen.scatter_elements(data, [0, 4], times((2,), "M8[s]", 0.5), reduction=reduction, out=data)
            assert same(data, kept)


def test_updates_may_be_in_a_coarser_unit() -> None:
    data = np.array(["2020-01-01T00:00:01", "2021-01-01"], "M8[s]")
    day = np.array(["2022-02-02"], "M8[D]")
    got = scattergen.scatter_elements(data, [0], day)
    assert same(got, np.array(["2022-02-02", "2021-01-01"], "M8[s]"))
    assert same(scattergen.scatter_elements(data, [0], ["2022-02-02"]), got)
    copies = scattergen.explain(scattergen.scatter_elements, data, np.array([0]), day).copies
    assert copies == ("updates: as datetime64[s]",)
    for updates in (data.astype("M8[ms]"), data.view("m8[s]"), data.view("i8")):
        with pytest.raises(DTypeError, match=r"use updates.astype\(data.dtype\)"):
            scattergen.scatter_elements(data, [0, 1], updates)
    with pytest.raises(ShapeError, match=r"updates\[1\] is 9999-01-01, which datetime64\[ns\] does not reach"):
        scattergen.scatter_elements(data.astype("M8[ns]"), [0, 1], np.array(["NaT", "9999-01-01"], "M8[D]"))
    with pytest.raises(DTypeError, match="updates does not fit timedelta64"):
        scattergen.scatter_elements(np.zeros(1, "m8[s]"), [0], [1.5])
    with pytest.raises(DTypeError, match="out is"):
        scattergen.scatter_elements(data, [0], day, out=data.astype("M8[ms]"))


def test_times_have_no_product_and_dates_no_sum() -> None:
    with pytest.raises(
        DTypeError, match=r"mul means nothing; allowed is none, add, max, min: use data.view\('int64'\)"
    ):
        scattergen.scatter_elements(np.zeros(1, "m8[s]"), [0], np.zeros(1, "m8[s]"), reduction="mul")
    advice = r"add timedelta64\[D\] to data.view\('timedelta64\[D\]'\), and view the result as datetime64\[D\]"
    dates = np.array(["2020-01-01"], "M8[D]")
    with pytest.raises(DTypeError, match=advice):
        scattergen.scatter_elements(dates, [0], dates, reduction="add")
    got = scattergen.scatter_elements(dates.view("m8[D]"), [0], np.array([3], "m8[D]"), reduction="add").view("M8[D]")
    assert same(got, np.array(["2020-01-04"], "M8[D]"))


def test_plans_and_bound_calls_take_times_and_records() -> None:
    for dtype, reduction in (("M8[s]", "max"), ("M8[s]", "none"), (NESTED, "none"), (PADDED, "none")):
        data, updates, indices = raw((5,), dtype), raw((7,), dtype), CHANCE.integers(0, 5, 7)
        want = scattergen.scatter_elements(data, indices, updates, reduction=reduction)
        assert same(scattergen.prepare(indices, (5,), 0, reduction)(data, updates), want)
        step = scattergen.bind(scattergen.scatter_elements, data, indices, updates, reduction=reduction)
        for _ in range(2):
            assert same(step(), want) and step.out is step()
    with pytest.raises(ShapeError, match=r"bind reads arrays where they are.*updates: as datetime64"):
        scattergen.bind(scattergen.scatter_elements, np.zeros(1, "M8[s]"), np.zeros(1, int), np.zeros(1, "M8[D]"))


def test_arrays_of_bytes_may_overlap() -> None:
    table = raw((9,), "V12")
    data, updates, out = table[:6], table[5:2:-1], table[3:]
    want = by_loop(data.copy(), np.array([0, 5, 2]), updates.copy(), 0)
    scattergen.scatter_elements(data, [0, 5, 2], updates, out=out)
    assert same(out, want)
    words = np.arange(12).view("V8")
    indices = words.view(np.int64)[3:6]
    want = by_loop(words.copy(), indices.copy(), words[:3].copy(), 0)
    scattergen.scatter_elements(words, indices, words[:3], out=words)
    assert not difference(words.view(np.int64), want.view(np.int64))


def test_calls_on_numbers_of_the_same_shape_do_not_answer() -> None:
    indices = np.array([2, 0])
    for in_place in (False, True):
        for _ in range(3):

            def call(data: Array, updates: Array, within: bool = in_place) -> Array:
                return scattergen.scatter_elements(data, indices, updates, out=data if within else None)

            numbers = call(np.arange(3), np.array([7, 8]))
            assert numbers.tolist() == [8, 1, 7]
            for dtype in ("M8[s]", "m8[s]", "V8"):
                assert same(call(np.arange(3).view(dtype), np.array([7, 8]).view(dtype)), numbers.view(dtype))
            assert same(call(np.arange(3).astype(object), np.array([7, 8], object)), numbers.astype(object))
