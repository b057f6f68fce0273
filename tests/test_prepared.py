"""Indices prepared once, and calls bound to their arrays: the bits of plain calls, each time."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import layouts
import numpy as np
import pytest
import values
from bits import difference

import scattergen
from scattergen.errors import DTypeError, IndexOutOfBounds, ShapeError, SpecError
from scattergen.operators import reference

CHANCE = np.random.default_rng(11)
SHAPE = (70, 30)


def inputs(dtype: str, index: Any = np.int64, axis: int = 0) -> tuple[Any, Any, Any]:
    kind = values.DTYPES[dtype]
    indices = values.indices(CHANCE, SHAPE, (SHAPE[axis],), np.dtype(index), "random")
    return values.elements(CHANCE, SHAPE, kind, 0.05), indices, values.elements(CHANCE, SHAPE, kind, 0.05)


@pytest.mark.parametrize("lay", (layouts.plain, *layouts.HURTFUL))
@pytest.mark.parametrize(("reduction", "axis"), [("none", 0), ("add", 1), ("max", -2)])
def test_a_plan_gives_what_a_call_gives(reduction: str, axis: int, lay: Any) -> None:
    data, indices, updates = inputs("f32", np.int32, axis)
    indices = lay(indices)
    plan = scattergen.prepare(indices, SHAPE, axis, reduction)
    for scale in (1, 3):
        given = (lay(data), np.roll(updates, scale))
        want = reference.scatter_elements(given[0].astype(np.float32), indices, given[1], axis % 2, reduction)
        for _ in range(2):
            assert not difference(np.array(plan(*given), order="C"), want)
        own = data.copy() if lay is layouts.broadcast else lay(data)
        want = reference.scatter_elements(own.astype(np.float32), indices, given[1], axis % 2, reduction)
        elsewhere = np.zeros_like(data)
        assert plan(own, given[1], elsewhere) is elsewhere
        assert not difference(elsewhere, want)
        if own.flags.writeable:
            assert plan(own, given[1], own) is own
            assert not difference(own.astype(np.float32, order="C"), want)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_plan_of_tuples_serves_every_type(depth: int) -> None:
    shape = (6, 5, 4)
    indices = values.indices(CHANCE, (7, 3, depth), shape[:depth], np.dtype(np.int64), "random")
    plan = scattergen.prepare(indices, shape, reduction="add")
    for dtype in ("f64", "i8", "bf16", "bool", "f64"):
        data = values.elements(CHANCE, shape, values.DTYPES[dtype], 0.05)
        updates = values.elements(CHANCE, (7, 3, *shape[depth:]), values.DTYPES[dtype], 0.05)
        for _ in range(2):
            assert not difference(plan(data, updates), reference.scatter_nd(data, indices, updates, "add"))


def test_a_plan_keeps_the_least_indices() -> None:
    repeated = np.repeat(CHANCE.integers(-70, 70, (70, 1)), 30, axis=1)
    plan = scattergen.prepare(repeated, SHAPE, 0)
    assert (plan.indices.dtype, plan.indices.strides) == (np.dtype(np.int32), (4, 0))
    assert (plan.indices == repeated % 70).all()
    assert (plan.shape, plan.reduction) == (SHAPE, "none")
    middle = np.repeat(CHANCE.integers(0, 9, (4, 1, 5)), 6, axis=1)
    assert scattergen.prepare(middle, (9, 6, 5), 0).indices.strides == (20, 0, 4)
    along = np.repeat(CHANCE.integers(0, 9, (1, 30)), 70, axis=0)
    assert scattergen.prepare(along, (70, 30), 0).indices.strides == (120, 4)  # these are duplicates, and all count
    huge = (2**31 + 1, 1)
    assert scattergen.prepare(np.array([[2**31]]), huge, 0).indices.dtype == np.int64
    assert scattergen.prepare(np.array([[-1]]), (2**31, 1), 0).indices.tolist() == [[2**31 - 1]]


def test_a_plan_is_read_only_and_its_own() -> None:
    data, indices, updates = inputs("f32")
    plan = scattergen.prepare(indices, SHAPE, 0)
    want = plan(data, updates)
    with pytest.raises(ValueError, match="read-only"):
        plan.indices[0] = 1
    indices[...] = 10**9
    assert not difference(plan(data, updates), want)
    with pytest.raises(AttributeError):
        plan.shape = (1, 1)  # type: ignore[misc]


def test_a_plan_is_shown_in_a_few_words() -> None:
    assert repr(scattergen.prepare([[0, 1]], (3, 4), 0, "add")) == "<Prepared add for data (3, 4)>"


def test_a_plan_refuses_what_a_call_refuses() -> None:
    with pytest.raises(IndexOutOfBounds, match=r"ScatterElements: indices\[1\] is 3, allowed is in \[-3, 2\]"):
        scattergen.prepare([0, 3], (3,), 0)
    with pytest.raises(IndexOutOfBounds, match=r"ScatterND: indices\[0, 1\] is 4"):
        scattergen.prepare([[0, 4]], (3, 4))
    wrong: list[tuple[type[Exception], str, Any]] = [
        (ShapeError, "axis", lambda: scattergen.prepare([0], (3,), 1)),
        (ShapeError, "axis", lambda: scattergen.prepare([0], (3,), 0.5)),  # type: ignore[arg-type]
        (ShapeError, "rank", lambda: scattergen.prepare([[0]], (3,), 0)),
        (ShapeError, "rank 0", lambda: scattergen.prepare(np.array(0), (3,))),
        (ShapeError, "components|rank", lambda: scattergen.prepare([[0, 0]], (3,))),
        (ShapeError, r"scatter_elements give axis=1$", lambda: scattergen.prepare(np.zeros((3, 9), int), (3, 5))),
        (ShapeError, r"rows: indices\[:, None\]$", lambda: scattergen.prepare([0, 1, 2], (3, 5))),
        (ShapeError, r"rank\(data\) = 2$", lambda: scattergen.prepare(np.zeros((4, 6), int), (3, 5))),
        (ShapeError, "data_shape", lambda: scattergen.prepare([0], (-3,), 0)),
        (ShapeError, "data_shape is 3, allowed", lambda: scattergen.prepare([0], 3, 0)),  # type: ignore[arg-type]
        (ShapeError, "data_shape is None", lambda: scattergen.prepare([0], None, 0)),  # type: ignore[arg-type]
        (ShapeError, "data_shape is", lambda: scattergen.prepare([0], (3.0, 4), 0)),  # type: ignore[arg-type]
        (SpecError, "mean", lambda: scattergen.prepare([0], (3,), 0, "mean")),
        (SpecError, "max", lambda: scattergen.prepare([0], (3,), 0, "max", opset=16)),
        (DTypeError, "indices", lambda: scattergen.prepare([0.5], (3,), 0)),
    ]
    for kind, text, call in wrong:
        with pytest.raises(kind, match=text):
            call()
    plan = scattergen.prepare([0, 1], (3,), 0)
    ones = np.ones(2)
    plan(np.zeros(3), ones)
    with pytest.raises(ShapeError, match=r"data has shape \(4,\), was prepared for \(3,\)"):
        plan(np.zeros(4), ones)
    with pytest.raises(ShapeError, match="updates"):
        plan(np.zeros(3), np.ones(3))
    with pytest.raises(DTypeError, match="updates"):
        plan(np.zeros(3), np.ones(2, np.float32))
    still = np.zeros(3)
    still.flags.writeable = False
    with pytest.raises(ShapeError, match="read-only"):
        plan(still, ones, still)
    with pytest.raises(DTypeError, match="complex"):
        scattergen.prepare([0, 1], (3,), 0, "max")(np.zeros(3, "c8"), np.zeros(2, "c8"))


def test_a_plan_without_an_axis_is_told_whose_it_is() -> None:
    plan = scattergen.prepare(np.zeros((3, 2), int), (3, 2))
    with pytest.raises(ShapeError, match=r"axis=0\) or axis=1; prepared without axis=: for scatter_nd$"):
        plan(np.zeros((3, 2)), np.ones((3, 2)))
    with pytest.raises(ShapeError, match=r"^ScatterND: data has shape \(4, 2\), was prepared for \(3, 2\)$"):
        plan([[0.0, 0.0]] * 4, np.ones((3, 2)))
    with pytest.raises(ShapeError, match=r"that of indices, \(1,\)$"):
        scattergen.prepare([0], (3,), 0)(np.zeros(3), np.ones(2))


def test_updates_that_are_a_part_of_out_are_read_before_it_is_written() -> None:
    plan = scattergen.prepare([1, 2, 3], (4,), 0)
    own = np.arange(4.0)
    plan(np.zeros(4), np.zeros(3))
    assert plan(own, own[:3], own).tolist() == [0, 0, 1, 2]


def test_a_plan_without_updates_returns_a_copy() -> None:
    plan = scattergen.prepare(np.zeros((0, 3), int), (2, 3), 0)
    data = np.ones((2, 3))
    got = plan(data, np.zeros((0, 3)))
    assert got is not data and not difference(got, data)


def test_a_plan_serves_many_threads_at_once() -> None:
    data, indices, updates = inputs("f64")
    plan = scattergen.prepare(indices, SHAPE, 0, "add")
    want = [reference.scatter_elements(data, indices, np.roll(updates, scale), 0, "add") for scale in range(4)]
    problems: list[str] = []

    def work(scale: int) -> None:
        own = data.copy()
        for _ in range(100):
            problems.append(difference(plan(data, np.roll(updates, scale)), want[scale]))
            own[...] = data
            problems.append(difference(plan(own, np.roll(updates, scale), own), want[scale]))

    workers = [threading.Thread(target=work, args=(scale,)) for scale in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(problems) == 800 and not any(problems)


def test_a_plan_follows_the_number_of_threads() -> None:
    shape = (64, 8192)
    data, indices = np.zeros(shape, np.float32), CHANCE.integers(0, 8192, shape)
    plan = scattergen.prepare(indices, shape, 1, "add")
    want = reference.scatter_elements(data, indices, data + 1, 1, "add")
    try:
        for number in (1, 2, 1):
            scattergen.set_num_threads(number)
            for _ in range(2):
                assert not difference(plan(data, data + 1), want)
    finally:
        scattergen.set_num_threads(0)


@pytest.mark.parametrize("lay", [layouts.plain, layouts.fortran, layouts.strided, layouts.negative, layouts.packed])
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_a_bound_call_reads_what_its_arrays_hold(reduction: str, lay: Any) -> None:
    data, indices, updates = (lay(array) for array in inputs("f32"))
    for out in (np.zeros(SHAPE, np.float32), lay(np.zeros(SHAPE, np.float32))):
        bound = scattergen.bind(scattergen.scatter_elements, data, indices, updates, 0, reduction, out=out)
        for _ in range(3):
            for array, fresh in zip((data, indices, updates), inputs("f32"), strict=True):
                array[...] = fresh
            want = reference.scatter_elements(data, indices, updates, 0, reduction)
            assert bound() is out is bound.out
            assert not difference(np.array(out, order="C"), want)


def test_a_bound_call_in_place_goes_on_from_its_result() -> None:
    table, indices, updates = np.zeros((4, 2), np.int64), np.array([[1], [1], [3]]), np.ones((3, 2), np.int64)
    step = scattergen.bind(scattergen.scatter_nd, table, indices, updates, "add", out=table)
    for count in range(1, 5):
        assert step() is table
        assert table[:, 0].tolist() == [0, 2 * count, 0, count]
    indices[2] = 0
    step()
    assert table[:, 1].tolist() == [1, 10, 0, 4]


@pytest.mark.parametrize("rows", [40, 4000])
def test_a_bound_call_that_fails_writes_nothing(rows: int) -> None:
    data, updates = np.zeros((rows, 5)), np.ones((rows, 5))
    indices = np.tile(np.arange(rows)[:, None], (1, 5))
    for out in (np.full((rows, 5), 7.0), np.full((5, rows), 7.0).T, data):
        bound = scattergen.bind(scattergen.scatter_elements, data, indices, updates, out=out)
        indices[-1, -1] = rows
        before = out.copy()
        with pytest.raises(IndexOutOfBounds, match=rf"indices\[{rows - 1}, 4\] is {rows}"):
            bound()
        assert not difference(out.copy(), before)
        indices[-1, -1] = rows - 1
        assert (bound() == 1).all()


def test_a_bound_call_makes_its_own_out_and_keeps_its_arrays_alive() -> None:
    bound = scattergen.bind(scattergen.scatter_elements, np.zeros(1000), np.arange(1000), np.arange(1000.0))
    for size in (1000, 100, 10):
        np.full(size, 10**12)  # what the arrays' memory would be given to
        assert not difference(bound(), np.arange(1000.0))
    empty = scattergen.bind(scattergen.scatter_elements, np.ones(3), np.zeros(0, int), np.zeros(0))
    assert not difference(empty(), np.ones(3))


def test_a_compiled_kernel_is_bound_alike() -> None:
    kernel = scattergen.compile("scatter_nd_f32_i64_r2k1_add")
    data, out = np.ones((3, 2), np.float32), np.zeros((3, 2), np.float32)
    bound = kernel.bind(data, np.array([[2], [2]]), np.ones((2, 2), np.float32), out)
    assert repr(bound) == "<Bound scatter_nd_f32_i64_r2k1_add>"
    assert bound() is out
    assert out.tolist() == [[1, 1], [1, 1], [3, 3]]
    with pytest.raises(ShapeError, match="rank 1"):
        kernel.bind(data[0], np.array([[2]]), data)


def test_arrays_that_would_be_copied_cannot_be_bound() -> None:
    data, indices, updates = inputs("f32")
    for given, text in (
        ((data, layouts.swapped(indices), updates), "indices: foreign byte order"),
        ((data, indices, layouts.swapped(updates)), "updates: foreign byte order"),
        ((data, indices.tolist(), updates), "indices: read from a list"),
    ):
        with pytest.raises(ShapeError, match=f"bind reads arrays where they are.*{text}"):
            scattergen.bind(scattergen.scatter_elements, *given)
    with pytest.raises(SpecError, match="duplicates"):
        scattergen.bind(scattergen.scatter_elements, data, indices, updates, duplicates="refuse")
    with pytest.raises(scattergen.ScattergenError, match=r"bind takes one of scattergen\.scatter, "):
        scattergen.bind(np.add, data, indices, updates)


@pytest.mark.parametrize("again", [lambda plan: pickle.loads(pickle.dumps(plan)), copy.copy, copy.deepcopy])
def test_a_plan_that_was_used_is_pickled_and_copied(again: Any) -> None:
    data, indices, updates = inputs("f32")
    plan = scattergen.prepare(np.broadcast_to(indices[:, :1], SHAPE), SHAPE, 0, "add", threads=1)
    want = plan(data, updates)
    for _ in range(3):
        plan(data, updates)
    other = again(plan)
    assert (other.shape, other.reduction, other.indices.strides) == (SHAPE, "add", plan.indices.strides)
    assert not difference(other(data, updates), want)
    assert other._kept is not plan._kept and len(pickle.dumps(plan)) < indices.nbytes / 4
    scattergen.set_num_threads(1)
    try:
        assert not other._kept, "a copy is told of what plans depend on, too"
    finally:
        scattergen.set_num_threads(0)


def test_the_indices_of_a_plan_cannot_be_made_writable() -> None:
    _, indices, _ = inputs("f32")
    for plan in (scattergen.prepare(indices, SHAPE, 0), scattergen.prepare(np.array([[3, -7]]), SHAPE)):
        view = plan.indices
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True


def test_indices_that_only_begin_alike_are_all_kept() -> None:
    indices = np.zeros((6, 4), np.int64)
    indices[:, 3], indices[4, 2] = -1, -3
    plan = scattergen.prepare(indices, (8, 4), 0)
    assert plan.indices.tolist() == (indices % 8).tolist() and plan.indices.strides[1]
    assert scattergen.prepare(indices[:, :2], (8, 4), 0).indices.strides[1] == 0


def test_components_that_repeat_have_sizes_of_their_own() -> None:
    indices = np.broadcast_to(np.array([[-1], [0]]), (2, 2))  # one value for both components of a tuple
    plan = scattergen.prepare(indices, (5, 7))
    assert plan.indices.tolist() == [[4, 6], [0, 0]]
    data = np.zeros((5, 7), np.float32)
    np.testing.assert_array_equal(
        plan(data, np.float32([1, 2])), scattergen.scatter_nd(data, indices, np.float32([1, 2]))
    )


@pytest.mark.parametrize("shape", [(2**63,), (2**100,), (2**40, 2**40), (1,) * 65])
def test_shapes_that_no_array_has_are_told_so(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="NumPy has no such arrays"):
        scattergen.prepare([[0]], shape)


def test_a_bound_call_stays_where_its_arrays_are() -> None:
    bound = scattergen.bind(scattergen.scatter_elements, *inputs("f32"), 0)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="bind it again there"):
            leave(bound)


def test_a_promise_is_true_or_false() -> None:
    with pytest.raises(SpecError, match="unique"):
        scattergen.scatter_elements(*inputs("f32"), 0, unique=np.array([True, False]))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="unique"):
        scattergen.prepare([[0]], (3,), unique=[True])  # type: ignore[arg-type]


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_a_plan_is_not_made_for_threads_that_there_are_not(threads: Any) -> None:
    with pytest.raises(SpecError, match="threads"):
        scattergen.prepare([[0]], (3,), threads=threads)
