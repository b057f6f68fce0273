"""What a wrong call says: the class, the operator, the argument, the value, the place, what is allowed."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bits import difference

import scattergen
from scattergen import errors
from scattergen.common import config
from scattergen.operators.bounds import find_out_of_bounds

DATA, INDICES, UPDATES = np.zeros((3, 4), np.float32), np.array([[0, 1]]), np.ones((1, 2), np.float32)
BF16 = np.zeros((3, 4), ml_dtypes.bfloat16)


def elements(data: Any = DATA, indices: Any = INDICES, updates: Any = UPDATES, *more: Any, **options: Any) -> Any:
    return scattergen.scatter_elements(data, indices, updates, *more, **options)


def nd(data: Any, indices: Any, updates: Any, *more: Any, **options: Any) -> Any:
    return scattergen.scatter_nd(data, indices, updates, *more, **options)


WRONG_CALLS: dict[str, tuple[type[Exception], tuple[str, ...], Callable[[], Any]]] = {
    "axis too high": (ValueError, ("ScatterElements", "axis", "2", "-2", "1"), lambda: elements(axis=2)),
    "axis too low": (ValueError, ("ScatterElements", "axis", "-3", "-2", "1"), lambda: elements(axis=-3)),
    "axis of floats": (ValueError, ("axis", "1.5"), lambda: elements(axis=1.5)),
    "scatter names itself": (
        ValueError,
        ("Scatter:", "axis", "7"),
        lambda: scattergen.scatter(DATA, INDICES, UPDATES, 7),
    ),
    "ranks differ": (
        ValueError,
        ("ScatterElements", "rank", "indices", "1", "2"),
        lambda: elements(indices=np.array([0])),
    ),
    "updates of another shape": (
        ValueError,
        ("ScatterElements", "updates", "(1, 3)", "(1, 2)"),
        lambda: elements(updates=np.ones((1, 3), np.float32)),
    ),
    "indices larger off the axis": (
        ValueError,
        ("ScatterElements", "indices", "5", "4"),
        lambda: elements(indices=np.zeros((1, 5), int), updates=np.ones((1, 5), np.float32)),
    ),
    "data of rank 0": (
        ValueError,
        ("ScatterND", "data", "rank"),
        lambda: nd(np.float32(1), np.zeros((1, 0), int), np.ones(1, np.float32)),
    ),
    "indices of rank 0": (
        ValueError,
        ("ScatterND", "indices", "rank"),
        lambda: nd(np.zeros(3), np.array(1), np.zeros(3)),
    ),
    "tuples too long": (
        ValueError,
        ("ScatterND", "indices.shape[-1]", "3", "2"),
        lambda: nd(DATA, np.zeros((1, 3), int), np.ones(1, np.float32)),
    ),
    "updates that do not fit the tuples": (
        ValueError,
        ("ScatterND", "updates", "(4,)", "(1, 4)"),
        lambda: nd(DATA, np.zeros((1, 1), int), np.ones(4, np.float32)),
    ),
    "unknown reduction": (
        ValueError,
        ("reduction", "'mean'", "none", "add", "mul", "max", "min"),
        lambda: elements(reduction="mean"),
    ),
    "max before 18": (ValueError, ("reduction", "'max'", "18"), lambda: elements(reduction="max", opset=16)),
    "min before 18": (
        ValueError,
        ("reduction", "'min'", "18"),
        lambda: nd(DATA, np.array([[0, 0]]), np.ones(1, np.float32), "min", opset=17),
    ),
    "add before 16": (ValueError, ("reduction", "'add'", "16"), lambda: elements(reduction="add", opset=13)),
    "mul before 16": (ValueError, ("reduction", "'mul'", "16"), lambda: elements(reduction="mul", opset=15)),
    "opset too old": (ValueError, ("opset", "10", "11", "ScatterElements"), lambda: elements(opset=10)),
    "Scatter's opset too old": (
        ValueError,
        ("opset", "8", "9", "Scatter"),
        lambda: scattergen.scatter(DATA, INDICES, UPDATES, opset=8),
    ),
    "bfloat16 before 13": (
        TypeError,
        ("ScatterElements", "bf16|bfloat16", "11"),
        lambda: elements(BF16, INDICES, BF16[:1, :2], opset=11),
    ),
    "bfloat16 in Scatter": (
        TypeError,
        ("Scatter", "bf16|bfloat16"),
        lambda: scattergen.scatter(BF16, INDICES, BF16[:1, :2]),
    ),
    "updates of another type": (
        TypeError,
        ("ScatterElements", "updates", "float64", "float32", "astype"),
        lambda: elements(updates=np.ones((1, 2))),
    ),
    "updates of another sign": (
        TypeError,
        ("updates", "uint32", "int32"),
        lambda: elements(np.zeros((3, 4), np.int32), INDICES, np.ones((1, 2), np.uint32)),
    ),
    "uint32 indices": (
        TypeError,
        ("ScatterElements", "indices", "uint32", "int32", "int64", "astype"),
        lambda: elements(indices=INDICES.astype(np.uint32)),
    ),
    "float indices": (
        TypeError,
        ("ScatterND", "indices", "float64", "int64"),
        lambda: nd(DATA, np.array([[0.0, 1.0]]), np.ones(1, np.float32)),
    ),
    "bool indices": (
        TypeError,
        ("indices is bool, allowed is int32 or int64: a mask", "np.flatnonzero(indices)"),
        lambda: elements(indices=INDICES > 0),
    ),
    "float list as indices": (
        TypeError,
        ("indices", "float64", "int64"),
        lambda: elements(indices=[[0.0, 1.5]]),
    ),
    "no data": (TypeError, ("ScatterElements: data is None, allowed is an array",), lambda: elements(data=None)),
    "no indices": (
        TypeError,
        ("ScatterElements: indices is None, allowed is an array of int32 or int64",),
        lambda: elements(indices=None),
    ),
    "no updates": (
        TypeError,
        ("ScatterElements: updates is None, allowed is an array of float32",),
        lambda: elements(updates=None),
    ),
    "uint64 indices": (
        TypeError,
        ("use indices.astype('int64'), where every value is below 2**63",),
        lambda: elements(indices=INDICES.astype(np.uint64)),
    ),
    "floats for ints": (
        TypeError,
        ("updates is float64, data is int64: use data.astype('float64')", "where what that loses does not matter"),
        lambda: elements([[1, 2]], [[0, 0]], [[1.5, 2.5]]),
    ),
    "sums of dates": (
        TypeError,
        ("ScatterElements", "data", "datetime64[s]", "add", "none, max, min", "data.view('timedelta64[s]')"),
        lambda: elements(np.zeros((1, 1), "M8[s]"), [[0]], np.zeros((1, 1), "M8[s]"), reduction="add"),
    ),
    "products of strings": (
        TypeError,
        ("ScatterND", "str", "mul", "strings have no product"),
        lambda: nd(["a"], [[0]], ["b"], "mul"),
    ),
    "small floats": (
        TypeError,
        ("ScatterElements", "data", "float8_e4m3fn", "allowed"),
        lambda: elements(DATA.astype(ml_dtypes.float8_e4m3fn), INDICES, UPDATES.astype(ml_dtypes.float8_e4m3fn)),
    ),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_says_what_is_wrong(name: str) -> None:
    kind, words, call = WRONG_CALLS[name]
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, errors.ScattergenError)
    text = str(caught.value)
    for word in words:
        assert any(part in text for part in word.split("|")), f"{word!r} is not in {text!r}"


TABLE, ROWS, COLUMNS = np.zeros((5, 4), np.float32), np.ones((2, 4), np.float32), np.ones((5, 2), np.float32)
CUBE, SLICES = np.zeros((2, 5, 4), np.float32), np.ones((2, 3, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: elements(TABLE, [0, 2], ROWS), "for whole rows: scatter_nd(data, indices[:, None], updates)"),
        (lambda: nd(TABLE, [0, 2], ROWS), "for whole rows: scatter_nd(data, indices[:, None], updates)"),
        (
            lambda: elements(TABLE, [0, 2], ROWS, reduction="add"),
            "for whole rows: scatter_nd(data, indices[:, None], updates, reduction='add')",
        ),
        (
            lambda: elements(TABLE, [0, 2], COLUMNS, axis=1, reduction="max"),
            "np.broadcast_to(indices, updates.shape), updates, axis=1, reduction='max')",
        ),
        (
            lambda: nd(TABLE, [0, 2, 1], np.ones((3, 4), np.float32)),
            "for whole rows: scatter_nd(data, indices[:, None], updates)",
        ),
        (
            lambda: nd(CUBE, [[0, 1], [1, 0]], np.ones((2, 2, 5, 4), np.float32)),
            "for whole rows: scatter_nd(data, indices[..., None], updates)",
        ),
        (lambda: nd([0, 1, 2], [0, 2], [7, 8]), "for single elements: scatter_nd(data, indices[:, None], updates)"),
        (
            lambda: elements(TABLE, [0, 2], COLUMNS, axis=-1),
            "for whole slices: scatter_elements(data, np.broadcast_to(indices, updates.shape), updates, axis=1)",
        ),
        (
            lambda: elements(CUBE, [0, 2, 1], SLICES, axis=1),
            "for whole slices: scatter_elements(data, np.broadcast_to(np.reshape(indices, (-1, 1)), updates.shape),"
            " updates, axis=1)",
        ),
        (
            lambda: elements(TABLE, [[0], [2]], ROWS),
            "for index tuples along the last dim: scatter_nd(data, indices, updates)",
        ),
        (
            lambda: elements(TABLE, [[0, 1], [2, 3]], ROWS[:, 0]),
            "for index tuples along the last dim: scatter_nd(data, indices, updates)",
        ),
        (
            lambda: nd(TABLE, np.zeros((5, 2), int), COLUMNS, "add"),
            "for an index for each update: scatter_elements(data, indices, updates, axis=0, reduction='add') or axis=1",
        ),
        (
            lambda: nd(TABLE, np.zeros((2, 9), int), np.ones((2, 9), np.float32)),
            "for an index for each update: scatter_elements(data, indices, updates, axis=1)",
        ),
        (lambda: nd(TABLE, [[0], [2]], 1.0), "to repeat them: np.broadcast_to(updates, (2, 4))"),
        (lambda: nd(TABLE, [[0], [2]], ROWS[0]), "to repeat them: np.broadcast_to(updates, (2, 4))"),
        (lambda: elements(TABLE, [[0, 2]], 1.0), "to repeat them: np.broadcast_to(updates, (1, 2))"),
        (lambda: elements(TABLE, [[0, 2]], [[1.0]]), "to repeat them: np.broadcast_to(updates, (1, 2))"),
        (
            lambda: elements(TABLE, np.zeros((5, 6), int), np.ones((5, 6), np.float32)),
            "allowed off axis 0 is data.shape[1] = 4 or less; did you mean axis=1?",
        ),
    ],
)
def test_shapes_that_fit_another_call_are_told_which(call: Callable[[], Any], advice: str) -> None:
    with pytest.raises(errors.ShapeError) as caught:
        call()
    assert str(caught.value).endswith(advice)


def test_the_calls_that_are_advised_work() -> None:
    index = np.array([0, 2])
    want = TABLE.copy()
    want[index] = 1
    assert not difference(nd(TABLE, index[:, None], ROWS), want)
    assert not difference(nd(TABLE, [[0], [2]], np.broadcast_to(np.float32(1), (2, 4))), want)
    want = CUBE.copy()
    want[:, [0, 2, 1]] = 1
    repeated = np.broadcast_to(np.reshape([0, 2, 1], (-1, 1)), SLICES.shape)
    assert not difference(elements(CUBE, repeated, SLICES, axis=1), want)


def test_shapes_that_fit_no_call_are_given_no_advice() -> None:
    for call in (
        lambda: elements(TABLE, [0, 2], ROWS[:, :3]),
        lambda: elements(TABLE, [[0], [2]], ROWS[:, :3]),
        lambda: nd(TABLE, [0, 2], ROWS[:, :3]),
        lambda: nd(TABLE, [[0], [2]], ROWS[:, :3]),
        lambda: elements(TABLE, np.zeros((6, 6), int), np.ones((6, 6), np.float32), axis=1),
    ):
        with pytest.raises(errors.ShapeError) as caught:
            call()
        assert ";" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "indices", "said"),
    [
        (
            DATA.astype("f8"),
            INDICES,
            "data is float64, this kernel takes float32: use data.astype('float32'), or a kernel",
        ),
        ([[1.0]], INDICES, "data is float64, this kernel takes float32: use np.asarray(data).astype('float32'), or a"),
        (DATA, INDICES.astype("i4"), "indices is int32, this kernel takes int64: use indices.astype('int64'), or a"),
        (np.array([["a"]]), INDICES, "data is <U1, this kernel takes float32"),
        (None, INDICES, "data is None, allowed is an array"),
    ],
)
def test_a_kernel_says_first_which_type_it_takes(data: Any, indices: Any, said: str) -> None:
    kernel = scattergen.compile("scatter_elements_f32_i64_r2a0_add")
    for call in (kernel, kernel.bind):
        with pytest.raises(errors.DTypeError) as caught:
            call(data, indices, UPDATES)
        assert said in str(caught.value)


@pytest.mark.parametrize(
    "thing", [object(), {1: 2}, {1}, (one for one in "ab")], ids=lambda thing: type(thing).__name__
)
def test_an_object_that_is_no_array_is_told_so(thing: Any) -> None:
    for name in ("data", "indices", "updates"):
        with pytest.raises(errors.DTypeError) as caught:
            elements(**{name: thing})
        assert f"ScatterElements: {name} is of type {type(thing).__name__}, which is no array; allowed" in str(
            caught.value
        )


def test_an_object_is_an_update_of_objects() -> None:
    thing = object()
    assert nd(np.array([None, 1, 2], object), [2], thing).tolist() == [None, 1, thing]


@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_have_no_order(reduction: str, dtype: Any) -> None:
    for updates in (np.ones((1, 2), dtype), np.ones((1, 0), dtype)):
        with pytest.raises(TypeError, match=r"complex.*order") as caught:
            elements(np.ones((3, 4), dtype), INDICES[:, : updates.size], updates, reduction=reduction)
        assert reduction in str(caught.value)


def test_an_index_out_of_bounds_has_attributes() -> None:
    indices = np.zeros((2, 4), np.int32)
    indices[0, 3], indices[1, 1] = 3, -4
    with pytest.raises(errors.IndexOutOfBounds) as caught:
        elements(DATA, indices, np.ones((2, 4), np.float32))
    error = caught.value
    assert isinstance(error, IndexError)
    assert error.operator == "ScatterElements"
    assert error.positions == ((0, 3), (1, 1))
    assert error.values == (3, -4)
    assert error.limits == ((-3, 3), (-3, 3))
    assert str(error) == "ScatterElements: indices[0, 3] is 3, allowed is in [-3, 2] (1 more found)"
    assert all(type(value) is int for value in (*error.positions[0], *error.values, *error.limits[0]))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_where_the_listing_stops_the_error_says_at_least() -> None:
    def said(bad: int) -> str:
        with pytest.raises(errors.IndexOutOfBounds) as caught:
            elements(np.zeros(9), np.full(bad, 9), np.zeros(bad))
        return str(caught.value)

    assert said(1).endswith("is 9, allowed is in [-9, 8]")
    assert said(7).endswith("(6 more found)")
    assert said(8).endswith(said(100)[said(100).index("(") :])
    assert said(100).endswith("(at least 7 more; scattergen.find_bad lists them)")
    with pytest.raises(IndexError, match=r"scatter: index\[0\] is 9, allowed is in \[0, 2\] \(at least 7 more\)$"):
        scattergen.graph.scatter(np.zeros(20), np.full(20, 9), 0, 3)


ASKERS: dict[str, Callable[..., Any]] = {
    "explain": scattergen.explain,
    "bind": scattergen.bind,
    "gradients": lambda *given: scattergen.gradients(given[0], DATA, *given[1:]),
}


@pytest.mark.parametrize("asker", ASKERS)
def test_functions_that_bear_an_operators_name_are_not_taken_for_it(asker: str) -> None:
    for function, said in {
        scattergen.graph.scatter: "given is scattergen.graph.scatter. Functions of scattergen.graph "
        + {"explain": "cannot be explained", "bind": "cannot be bound", "gradients": "have no gradients here"}[asker],
        scattergen.at.add: "given is scattergen.at.add. "
        + {
            "explain": "For functions of scattergen.at there is scattergen.at.explain",
            "bind": "Functions of scattergen.at cannot be bound",
            "gradients": "Functions of scattergen.at have no gradients here",
        }[asker],
        np.add: "given is numpy.add",
        np.add.at: "given is numpy.add.at",
        print: "given is print",
        scattergen.compile: "given is scattergen.compile",
        scattergen.Kernel.bind: "given is scattergen's Kernel.bind",
        3: "given is 3",
        (0,) * 99: "given is an object of type tuple",
    }.items():
        with pytest.raises(errors.ScattergenError, match=rf"^{asker} takes one of scattergen\.scatter, ") as caught:
            ASKERS[asker](function, UPDATES, INDICES, 0)
        assert str(caught.value).endswith(said)


def test_a_component_out_of_bounds_is_told_with_the_size_of_its_own_dim() -> None:
    with pytest.raises(errors.IndexOutOfBounds) as caught:
        nd(DATA, np.array([[2, 3], [3, 3], [0, -5]]), np.ones(3, np.float32))
    assert caught.value.operator == "ScatterND"
    assert caught.value.positions == ((1, 0), (2, 1))
    assert caught.value.values == (3, -5)
    assert caught.value.limits == ((-3, 3), (-4, 4))


def test_scatter_names_itself_for_a_bad_index() -> None:
    with pytest.raises(IndexError, match=re.escape("Scatter: indices[0, 1] is -4, allowed is in [-3, 2]")):
        scattergen.scatter(DATA, np.array([[0, -4]]), UPDATES)


def test_no_index_fits_a_dim_of_size_0() -> None:
    for updates in (np.ones((1, 4), np.float32), np.ones((1, 0), np.float32)):
        data = np.zeros((0, updates.shape[1]), np.float32)
        with pytest.raises(IndexError, match=r"ScatterND: indices\[0, 0\] is 0.*size 0"):
            nd(data, np.array([[0]]), updates)


def test_indices_of_an_empty_axis_are_told_that_none_is_allowed() -> None:
    with pytest.raises(IndexError, match=r"indices\[0, 0\] is 0, allowed is none, that dim of data has size 0"):
        elements(np.zeros((0, 3)), np.zeros((1, 3), int), np.zeros((1, 3)))


def test_float_indices_in_a_list_are_advised_as_those_of_an_array() -> None:
    said = "is float64, allowed is int32 or int64: use {}.astype('int64'), where every value is whole"
    for indices, words in (([[1.0, 0]], "np.asarray({})"), (np.array([[1.0, 0]]), "{}")):
        for call, name in (
            (lambda given: elements(indices=given), "indices"),
            (lambda given: scattergen.find_bad(given, (3, 4), 0), "indices"),
            (lambda given: scattergen.prepare(given, (3, 4), 0), "indices"),
            (lambda given: scattergen.graph.scatter(DATA, given), "index"),
        ):
            with pytest.raises(TypeError) as caught:
                call(indices)
            assert str(caught.value).endswith(f"{name} {said.format(words.format(name))}")
    assert (elements(indices=np.asarray([[1.0, 0]]).astype("int64"))[[1, 0], [0, 1]] == 1).all()


def test_a_list_of_what_no_index_is_is_not_told_to_be_cast() -> None:
    for number in (2**63, -1e30, float("nan"), 1j, "a"):
        with pytest.raises(TypeError, match=r"allowed is int32 or int64$"):
            elements(indices=[[number, 0]])


def test_only_the_first_bad_indices_are_listed() -> None:
    error = find_out_of_bounds(np.full((50, 60), 9), (9,), "ScatterElements", limit=3)
    assert error is not None
    assert error.positions == ((0, 0), (0, 1), (0, 2))
    assert find_out_of_bounds(np.full((50, 60), -9), (9,), "ScatterElements") is None
    assert find_out_of_bounds(np.zeros((0, 2), np.int64), (0, 0), "ScatterND") is None
    assert find_out_of_bounds(np.zeros((5, 0), np.int64), (), "ScatterND") is None


def test_a_bad_index_far_behind_is_found() -> None:
    indices = np.zeros((3, 100_000), np.int32)[:, ::-1]
    indices[2, 99_998] = -7
    error = find_out_of_bounds(indices, (6,), "ScatterElements")
    assert error is not None
    assert (error.positions, error.values) == (((2, 99_998),), (-7,))


def test_a_variable_that_is_no_setting_is_told_once(use_environment: Callable[..., None]) -> None:
    said = r"SCATTERGEN_CPMPILE is no setting: did you mean SCATTERGEN_COMPILE\? `scattergen env`"
    use_environment(SCATTERGEN_CPMPILE="never")
    with pytest.warns(RuntimeWarning, match=said) as caught:
        config.settings()
    assert len(caught) == 1
    use_environment(SCATTERGEN_TEST_ANYTHING="1", SCATTERGEN_NUM_THREADS="1")
    config.settings()  # a warning would be an error


def test_spec_errors_have_attributes() -> None:
    with pytest.raises(errors.SpecError) as caught:
        elements(reduction="max", opset=16)
    assert (caught.value.field, caught.value.value) == ("reduction", "max")
    assert "18" in caught.value.allowed


def test_scatter_at_11_is_deprecated_but_works() -> None:
    want = elements()
    with pytest.warns(DeprecationWarning, match=r"Scatter.*11.*scatter_elements|ScatterElements") as caught:
        got = scattergen.scatter(DATA, INDICES, UPDATES, opset=11)
    assert [warning.filename for warning in caught] == [__file__]
    assert not difference(got, want)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for opset in (9, 10):
            assert not difference(scattergen.scatter(DATA, INDICES, UPDATES, opset=opset), want)


def test_lists_are_taken() -> None:
    got = scattergen.scatter_elements([1.5, 2.5, 3.5], [2, 0], [7, 8])
    assert not difference(got, np.array([8.0, 2.5, 7.0]))
    got = scattergen.scatter_elements(np.zeros(3, np.float16), [-1, 0], [0.1, 2], reduction="add")
    assert not difference(got, np.array([2, 0, 0.1], np.float16))
    got = scattergen.scatter_nd(np.zeros((2, 2), np.int8), [[1, 0]], [5])
    assert not difference(got, np.array([[0, 0], [5, 0]], np.int8))
    assert not difference(scattergen.scatter_nd(np.zeros(2, np.uint8), [[1]], [255]), np.array([0, 255], np.uint8))
    assert not difference(scattergen.scatter_elements(np.ones(2, np.complex64), [0], [3j]), np.array([3j, 1], "c8"))


def test_empty_lists_are_taken() -> None:
    got = scattergen.scatter_elements(np.arange(3), [], [], reduction="add")
    assert not difference(got, np.arange(3))


def test_a_failed_call_does_not_spoil_the_next() -> None:
    bad = np.array([[0, 9]])
    want = elements()
    for _ in range(3):
        with pytest.raises(IndexError):
            elements(indices=bad)
        assert not difference(elements(), want)


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((DATA, INDICES), {}),
        ((DATA, INDICES, UPDATES, 0, "none", 18), {}),
        ((DATA, INDICES, UPDATES), {"mode": "linear"}),
        ((DATA, INDICES), {"update": UPDATES}),  # one missing, one too many
        ((DATA, INDICES, UPDATES, 0), {"axis": 0}),
        ((DATA, INDICES, UPDATES), {"data": DATA}),
    ],
)
def test_a_call_that_is_not_made_yet_binds_as_a_call_does(args: Any, options: dict[str, Any]) -> None:
    for ask in (scattergen.explain, scattergen.bind, lambda *a, **o: scattergen.gradients(a[0], DATA, *a[1:], **o)):
        with pytest.raises(TypeError, match="argument"):
            ask(scattergen.scatter_elements, *args, **options)
    with pytest.raises(TypeError, match="argument"):
        scattergen.scatter_elements(*args, **options)


def test_a_call_that_is_not_made_yet_takes_every_argument_by_name() -> None:
    named = {"updates": UPDATES, "axis": 1, "data": DATA, "reduction": "add", "indices": INDICES, "threads": 1}
    found = scattergen.explain(scattergen.scatter_elements, **named)
    assert found.spec == scattergen.explain(scattergen.scatter_elements, DATA, INDICES, UPDATES, 1, "add").spec
    assert (found.spec, found.threads) == ("scatter_elements_f32_i64_r2a1_add", 1)
