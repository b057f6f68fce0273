"""Arrays as people hold them: which loop form each gets, what is copied, and how much memory that takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any, TypeAlias

import layouts
import numpy as np
import pytest
from bits import difference

import scattergen
from scattergen.arguments import packing
from scattergen.arguments.memory import compact
from scattergen.operators import reference

Array: TypeAlias = "np.ndarray[Any, Any]"

ROWS, COLUMNS = 1200, 50  # enough updates for packing.LEAST_UPDATES
RANDOM = np.random.default_rng(3)
DATA = RANDOM.random((ROWS, COLUMNS), np.float32)
UPDATES = RANDOM.random((ROWS, COLUMNS), np.float32)
ALONG_0 = RANDOM.integers(-ROWS, ROWS, (ROWS, COLUMNS))
ALONG_1 = RANDOM.integers(-COLUMNS, COLUMNS, (ROWS, COLUMNS))
EXPANDED = np.broadcast_to(ALONG_0[:, :1], ALONG_0.shape)

_table = np.zeros(ROWS, [("flag", np.uint8), ("index", np.int64), ("value", np.float32)])
_table["index"], _table["value"] = ALONG_0[:, 0], UPDATES[:, 0]
_wide = np.zeros((ROWS, 2 * COLUMNS), np.float32)
_wide[:, ::2] = UPDATES

ONE_VALUE = np.broadcast_to(np.float32(1.5), DATA.shape)
ONE_ROW = np.broadcast_to(UPDATES[0], DATA.shape)

CASES: dict[str, tuple[str, Array, Array, Array, int]] = {
    "index expanded": ("slices", DATA, EXPANDED, UPDATES, 0),
    "index expanded, one row": ("slices", DATA, EXPANDED, ONE_ROW, 0),
    "index expanded, rows with gaps": ("any", DATA, EXPANDED, _wide[:, ::2], 0),
    "one row": ("lanes", DATA, ALONG_0, ONE_ROW, 0),
    "one value": ("any", DATA, ALONG_0, ONE_VALUE, 0),
    "one value along rows": ("any", DATA, ALONG_1, ONE_VALUE, 1),
    "fortran along 0": ("rows", *(np.asfortranarray(array) for array in (DATA, ALONG_0, UPDATES)), 0),
    "fortran along 1": ("lanes", *(np.asfortranarray(array) for array in (DATA, ALONG_1, UPDATES)), 1),
    "columns of a table": ("any", DATA[:, 0], ALONG_0[:, 0], UPDATES[:, 0], 0),
    "fields of a record": ("any", DATA[:, 0], _table["index"], _table["value"], 0),
    "flipped": ("lanes", DATA[::-1], ALONG_0[::-1], UPDATES[::-1], 0),
    "flipped along the row": ("any", DATA, ALONG_0[:, ::-1], UPDATES[:, ::-1], 0),
    "data with gaps": ("lanes", _wide[:, ::2], ALONG_0, UPDATES, 0),
}
"""Form (any: whichever has these strides), data, indices, updates, axis."""


def explained(*arguments: Any, **options: Any) -> scattergen.Explanation:
    return scattergen.explain(scattergen.scatter_elements, *arguments, **options)


@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize("name", CASES)
def test_no_layout_is_copied_and_each_is_right(name: str, reduction: str) -> None:
    form, data, indices, updates, axis = CASES[name]
    arguments = (data, indices, updates, axis, reduction)
    found = explained(*arguments)
    assert found.form == form or form == "any"
    assert found.copies == ()
    want = reference.scatter_elements(data, indices, updates, axis, reduction)
    assert not difference(np.array(scattergen.scatter_elements(*arguments), order="C"), want)
    own = np.copy(data, order="K")
    assert explained(own, indices, updates, axis, reduction, out=own).copies == ()
    assert scattergen.scatter_elements(own, indices, updates, axis, reduction, out=own) is own
    assert not difference(np.array(own, order="C"), want)


@pytest.mark.parametrize("lay", layouts.HURTFUL[:5])
def test_an_out_of_any_strides_is_written_in_place(lay: Callable[[Array], Array]) -> None:
    want = reference.scatter_elements(DATA, ALONG_1, UPDATES, 1, "add")
    own, elsewhere = lay(DATA), lay(np.zeros_like(DATA))
    for out in (own, elsewhere):
        data = own if out is own else DATA
        assert explained(data, ALONG_1, UPDATES, 1, "add", out=out).copies == ()
        assert scattergen.scatter_elements(data, ALONG_1, UPDATES, 1, "add", out=out) is out
        assert not difference(np.ascontiguousarray(out), want)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("steps", [(1, 1), (-1, 1), (1, -1), (-2, 1), (2, 2)])
def test_threads_share_any_view_in_place(width: int, steps: tuple[int, int]) -> None:
    whole = np.full((9002, 2 * width + 8), 7, np.int32)
    view = whole[1:-1, 4 : 4 + 2 * width][:: steps[0], :: steps[1]][:4000, :width]
    before = view.copy()
    indices = RANDOM.integers(-4000, 4000, (60_000, 1))
    updates = np.arange(60_000 * width, dtype=np.int32).reshape(-1, width)
    for reduction in ("none", "add"):
        want = reference.scatter_nd(view.copy(), indices, updates, reduction)
        scattergen.scatter_nd(view, indices, updates, reduction, out=view, threads=2)
        assert not difference(view.copy(), want)
    view[...] = before
    assert (whole == 7).all()


def test_a_view_in_place_leaves_what_lies_between() -> None:
    whole = np.full((ROWS, 3, COLUMNS), 7, np.float32)
    view = whole[:, 1]
    view[...] = DATA
    scattergen.scatter_elements(view, ALONG_0, UPDATES, out=view)
    assert (whole[:, ::2] == 7).all()
    assert not difference(view.copy(), reference.scatter_elements(DATA, ALONG_0, UPDATES, 0, "none"))


def test_fields_of_one_record_share_no_memory_with_out() -> None:
    table = _table.copy()
    want = reference.scatter_elements(table["value"].copy(), table["index"], UPDATES[:, 0], 0, "add")
    found = explained(table["value"], table["index"], UPDATES[:, 0], 0, "add", out=table["value"])
    assert found.copies == ()
    scattergen.scatter_elements(table["value"], table["index"], UPDATES[:, 0], 0, "add", out=table["value"])
    assert not difference(table["value"].copy(), want)
    assert (table["index"] == _table["index"]).all()


def test_explain_names_a_schedule_of_another_form() -> None:
    data, updates = np.zeros((64, 128), np.float32), np.ones((32, 128), np.float32)
    replaced, added = (
        str(scattergen.explain(scattergen.scatter_nd, data, np.arange(32)[:, None], updates, reduction=reduction))
        for reduction in ("none", "add")
    )
    assert "\n  form     slices: " in replaced and "\n  schedule inverse: as slices, each row of " in replaced
    assert "\n  form     slices: " in added and "schedule" not in added


def test_explain_tells_of_every_copy() -> None:
    swapped = [layouts.swapped(array) for array in (DATA, ALONG_0, UPDATES)]
    assert explained(*swapped).copies == ("indices: foreign byte order", "updates: foreign byte order")
    out = DATA.copy()
    assert explained(out, ALONG_0, out, out=out).copies == ("updates: shares memory with out",)
    assert explained(out[::-1], ALONG_0, UPDATES, out=out).copies == ("data: shares memory with out",)
    assert explained(DATA, ALONG_0, UPDATES, out=layouts.swapped(DATA)).copies == ("out: foreign byte order",)
    assert explained([1.0, 2.0], [0], [3.0]).copies == tuple(
        f"{name}: read from a list" for name in ("data", "indices", "updates")
    )
    both = layouts.swapped(DATA)
    assert explained(both, ALONG_0, both, out=both).copies == (
        "out: foreign byte order",
        "updates: shares memory with out and foreign byte order",
    )


def test_updates_that_share_memory_with_out_are_right() -> None:
    out = DATA.copy()
    want = reference.scatter_elements(DATA, ALONG_0, np.broadcast_to(DATA[3], DATA.shape), 0, "none")
    scattergen.scatter_elements(out, ALONG_0, np.broadcast_to(out[3], DATA.shape), out=out)
    assert not difference(out, want)
    out = DATA.copy()
    want = reference.scatter_elements(DATA[::-1].copy(), ALONG_0, UPDATES, 0, "none")
    scattergen.scatter_elements(out[::-1], ALONG_0, UPDATES, out=out)
    assert not difference(out, want)


LINES = [(slice(1, 6), slice(0, 10, 2)), (slice(0, 10, 2), slice(1, 6)), (slice(0, 10, 2), slice(9, 4, -1))]
KINDS = [np.int64, np.float32, np.complex128, "m8[s]", "U3", object]
WAYS: dict[str, Callable[..., Array]] = {
    "elements": lambda data, at, new, how, out: scattergen.scatter_elements(data, at, new, 0, how, out=out),
    "tuples": lambda data, at, new, how, out: scattergen.scatter_nd(data, at[:, None], new, how, out=out),
    "prepared": lambda data, at, new, how, out: scattergen.prepare(at, data.shape, 0, how)(data, new, out),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(("of_out", "of_data"), LINES)
def test_lines_of_unequal_strides_may_share_memory(of_out: slice, of_data: slice, kind: Any, way: str) -> None:
    """NumPy's own assignment of one such line to the other reads what it has written."""
    before = np.arange(12).astype(kind)
    for count, reduction in ((0, "none"), (2, "none"), (2, "none" if kind == "U3" else "add")):
        rest = np.array([0, 4])[:count], np.ones(count, kind), reduction
        want, memory = WAYS[way](before[of_data], *rest, None), before.copy()
        WAYS[way](memory[of_data], *rest, memory[of_out])
        assert memory[of_out].tolist() == want.tolist()


def test_halves_kept_wide_may_share_memory() -> None:
    before, rest = np.arange(12).astype(np.float16), (np.array([0, 4]), np.ones(2, np.float16), 0, "add")
    want, memory = scattergen.scatter_elements(before[0:10:2], *rest, accumulate="float32"), before.copy()
    scattergen.scatter_elements(memory[0:10:2], *rest, accumulate="float32", out=memory[1:6])
    assert not difference(memory[1:6], want)


def test_rows_are_packed_where_that_is_quicker() -> None:
    indices, updates = np.asfortranarray(ALONG_1), UPDATES[:, ::-1]
    found = explained(DATA, indices, updates, 1)
    assert found.form == "rows"
    assert [copy.split(":")[0] for copy in found.copies] == ["indices", "updates"]
    want = reference.scatter_elements(DATA, indices, updates, 1, "none")
    assert not difference(scattergen.scatter_elements(DATA, indices, updates, 1), want)
    few = packing.LEAST_UPDATES // COLUMNS
    assert explained(DATA[:few], indices[:few], updates[:few], 1).form == "strided"
    assert explained(DATA[:few], indices[:few], updates[:few], 1).copies == ()


def peak(call: Callable[[], object]) -> int:
    """Return the bytes that NumPy and Python took at most during a call that has run before."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LONG = 400_000
LARGE = np.zeros((LONG, 4), np.float32)
LARGE_INDICES = np.broadcast_to(np.arange(LONG)[::-1, None], LARGE.shape)

IN_PLACE: dict[str, tuple[Array, Array, Array]] = {
    "index expanded": (LARGE, LARGE_INDICES, LARGE + 1),
    "one value": (LARGE, LARGE_INDICES, np.broadcast_to(np.float32(1), LARGE.shape)),
    "fortran": (np.asfortranarray(LARGE), np.asfortranarray(LARGE_INDICES), np.asfortranarray(LARGE)),
    "flipped": (LARGE[::-1], LARGE_INDICES[::-1], (LARGE + 1)[::-1]),
    "columns": (LARGE[:, 0], np.arange(2 * LONG)[::2] // 2, (LARGE + 1)[:, 1]),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_call_in_place_takes_no_memory(name: str) -> None:
    data, indices, updates = IN_PLACE[name]
    used = peak(lambda: scattergen.scatter_elements(data, indices, updates, out=data))
    assert used < data.nbytes / 20


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_call_takes_the_memory_of_its_result(name: str) -> None:
    data, indices, updates = IN_PLACE[name]
    used = peak(lambda: scattergen.scatter_elements(data, indices, updates))
    assert data.nbytes <= used < 1.1 * data.nbytes


def test_a_copy_is_not_larger_than_what_it_stands_for() -> None:
    expanded = np.broadcast_to(np.arange(LONG, dtype=">i8")[:, None], LARGE.shape)
    used = peak(lambda: scattergen.scatter_elements(LARGE, expanded, LARGE, out=LARGE.copy()))
    assert used < LARGE.nbytes * 2 + 8 * LONG * 1.1  # out, the updates' place of it, and each index once
    copy = compact(expanded, np.dtype(np.int64))
    assert (copy.strides, copy.shape) == ((8, 0), expanded.shape)
    assert not difference(np.array(copy), np.array(expanded, np.int64))
    deep = np.broadcast_to(np.arange(3.0), (1,) * 61 + (2, 5, 3))
    assert not difference(np.array(compact(deep)), np.array(deep))


@pytest.mark.parametrize("lay", (layouts.plain, *layouts.HURTFUL))
@pytest.mark.parametrize("shape", [(4, 3, 5), (1, 1), (0, 3), (7,)])
def test_packed_strides_are_those_of_the_packed_copy(lay: Callable[[Array], Array], shape: tuple[int, ...]) -> None:
    array = lay(np.zeros(shape, np.float32))
    copy = compact(array)
    predicted = packing.packed_strides(array.shape, array.strides, array.itemsize)
    extents = zip(array.shape, copy.strides, predicted, strict=True)
    assert all(have == said for extent, have, said in extents if extent > 1 and array.size)
    assert not difference(np.array(copy.astype(array.dtype)), np.array(array))


@pytest.mark.parametrize("elements", [1, 0])
@pytest.mark.parametrize("rank", [1, 2, 64])
def test_one_element_and_none(rank: int, elements: int) -> None:
    data = np.full((1,) * rank, 5.0)
    indices = np.full((1,) * (rank - 1) + (elements,), -1)
    updates = np.full(indices.shape, 2.0)
    want = np.full(data.shape, 7.0 if elements else 5.0)
    for axis in (0, rank - 1):
        assert not difference(scattergen.scatter_elements(data, indices, updates, axis, "add"), want)
    tuples = np.zeros((elements, rank), np.int64)
    assert not difference(scattergen.scatter_nd(data, tuples, np.full(elements, 2.0), "add"), want)


def test_no_elements_in_every_position() -> None:
    for empty in range(3):
        shape = tuple(0 if dim == empty else 3 for dim in range(3))
        data = np.ones(shape, np.int8)
        for axis in range(3):
            indices = np.zeros(tuple(0 if dim in (empty, axis) else 3 for dim in range(3)), np.int32)
            got = scattergen.scatter_elements(data, indices, np.ones(indices.shape, np.int8), axis, "add")
            assert not difference(got, data)
        for depth in range(4):
            tuples = np.zeros((0, depth), np.int64)
            updates = np.ones((0, *shape[depth:]), np.int8)
            assert not difference(scattergen.scatter_nd(data, tuples, updates, "add"), data)
