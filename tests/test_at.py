"""NumPy's in-place idiom: NumPy's own bits, by a compiled kernel where the module says so."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import ml_dtypes
import numpy as np
import pytest
import values
from bits import difference, native
from test_fallback import without_compiler

import scattergen
from scattergen import at
from scattergen.at import at as functions
from scattergen.at import inplace, pieces
from scattergen.errors import DTypeError, IndexOutOfBounds, ScattergenError, ShapeError

CHANCE = np.random.default_rng(5)

WITHOUT_COMPILER = """
import warnings, numpy as np
from scattergen import at
from scattergen.operators import reference

def refuse(*_): raise AssertionError("the reference was asked")
reference.scatter_elements = reference.scatter_nd = refuse
chance = np.random.default_rng(3)

def same(name, a, indices, b):
    want = a.copy()
    if name == "assign":
        want[indices] = b
    else:
        getattr(np, name).at(want, indices, b)
    getattr(at, name)(a, indices, b)
    assert a.tobytes() == want.tobytes(), name
    text = at.explain(getattr(at, name), a, indices, b)
    assert text == "NumPy: no kernel can be had: nobody has built it, and there is no C compiler", text

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    pairs = tuple(chance.integers(-9, 9, (2, 500)))
    many = tuple(chance.integers(-9, 9, (2, 70_000)))  # in pieces
    for name in ("add", "multiply", "maximum", "minimum", "assign"):
        for dtype in ("f4", "f8", "f2", "i2", "u8", ">f4", "?"):
            a, b = chance.random((9, 9)).astype(dtype), chance.random(500).astype(dtype)
            same(name, a, pairs, b)
            same(name, a, (slice(None), pairs[0]), b)
            same(name, a.T[::2], pairs[1][::-1] // 2, np.asfortranarray(chance.random((500, 9)).astype(dtype)))
        same(name, chance.random((9, 9)), many, chance.random(70_000))
    a, along = chance.random((4, 5)), chance.integers(-5, 5, (4, 3))
    for axis in (1, None):
        where = along if axis == 1 else along.ravel()
        want = a.copy()
        np.put_along_axis(want, where, 2.0, axis)
        at.put_along_axis(a, where, 2.0, axis)
        assert a.tobytes() == want.tobytes()
        assert at.explain(at.put_along_axis, a, where, 2.0, axis).startswith("NumPy: no kernel"), axis
    last = np.zeros(1)
    at.assign(last, np.zeros((2, 3), int)[:, ::-1], np.arange(6.0).reshape(2, 3)[::-1, ::-1])
    assert last[0] == 0
    before = a.copy()
    for index, said in (([0, 4], "at.add, axis 0 of a: indices[1] is 4, allowed is in [-4, 3]"), ((0, [1, -6]), "-6")):
        try:
            at.add(a, index, 1)
        except IndexError as error:
            assert said in str(error), error
        else:
            raise AssertionError("nothing was raised")
    assert a.tobytes() == before.tobytes()
(told,) = caught
assert "(scattergen.at by NumPy's own functions): no C compiler" in str(told.message) and told.filename == "<string>"
"""
"""Calls that no kernel can answer, for want of a compiler."""

ALL = slice(None)


def numpys_assign(a: Any, indices: Any, b: Any) -> None:
    a[indices] = b


NUMPYS: dict[Callable[..., None], Callable[..., None]] = {
    at.add: np.add.at,
    at.multiply: np.multiply.at,
    at.maximum: np.maximum.at,
    at.minimum: np.minimum.at,
    at.assign: numpys_assign,
}
IDIOMS = {
    getattr(functions, name) for name in ("_ADD", "_MULTIPLY", "_MAXIMUM", "_MINIMUM", "_ASSIGN", "_PUT_ALONG_AXIS")
}


def expected(ours: Callable[..., None], a: Any, indices: Any, b: Any) -> Any:
    """Return what NumPy makes of a copy, given arrays in C order and a `b` that is spread out.

    NumPy 2.4 takes duplicates of an assignment backwards where arrays lie so, and reads past a `b` of rank 1 beside
    indices of rank 2.
    """
    copy = np.array(native(a), order="C")
    plain = tuple(map(in_c_order, indices)) if isinstance(indices, tuple) else in_c_order(indices)
    spread = np.array(np.broadcast_to(in_c_order(b), copy[plain].shape))
    with np.errstate(all="ignore"):
        NUMPYS[ours](copy, plain, spread)
    return copy


def in_c_order(one: Any) -> Any:
    return np.array(one, order="C") if isinstance(one, np.ndarray) else one


def same(got: Any, want: Any) -> None:
    __tracebackhide__ = True
    assert not difference(np.array(native(got), order="C"), native(want))


@pytest.fixture
def no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's own functions may not answer."""

    def refuse(*_: Any) -> None:
        raise AssertionError("NumPy was asked")

    for idiom in IDIOMS:
        monkeypatch.setattr(idiom, "numpy", refuse)


TEN, NINE, CUBE = np.arange(10), np.arange(9).reshape(3, 3), np.arange(27).reshape(3, 3, 3)
THREE = np.array([100, 200, 300])
ROWS = np.repeat(THREE[:, None], 3, axis=1)
WHAT_AN_INDEX_MAY_BE: list[tuple[Any, Any, Any, Any]] = [
    (TEN, [2, 5, 2], 1, [0, 1, 4, 3, 4, 6, 6, 7, 8, 9]),
    (TEN, [2, 5, 2], THREE, [0, 1, 402, 3, 4, 205, 6, 7, 8, 9]),
    (TEN, np.array([2, 5, 2], np.uint8), 1, [0, 1, 4, 3, 4, 6, 6, 7, 8, 9]),
    (TEN, np.array([2, 2**64 - 1], np.uint64), 1, [0, 1, 3, 3, 4, 5, 6, 7, 8, 10]),
    (TEN, np.array([-1, 1, -1], np.int16), 1, [0, 2, 2, 3, 4, 5, 6, 7, 8, 11]),
    (TEN, np.array([2, 5, 2], ">i4"), 1, [0, 1, 4, 3, 4, 6, 6, 7, 8, 9]),
    (TEN, range(2), 1, [1, 2, 2, 3, 4, 5, 6, 7, 8, 9]),
    (TEN, TEN % 2 == 0, 1, [1, 1, 3, 3, 5, 5, 7, 7, 9, 9]),
    (TEN, [[2, 5], [2, 9]], [[1], [2]], [0, 1, 5, 3, 4, 6, 6, 7, 8, 11]),
    (TEN, [[2, 5], [2, 9]], [1, 2], [0, 1, 4, 3, 4, 7, 6, 7, 8, 11]),
    (NINE, (ALL, [1, 2, 1]), ROWS, [[0, 201, 102], [3, 404, 205], [6, 607, 308]]),
    (NINE, ([1, 2, 1], ALL), ROWS, [[0, 1, 2], [403, 404, 405], [206, 207, 208]]),
    (NINE, [1, 2, 1], ROWS, [[0, 1, 2], [403, 404, 405], [206, 207, 208]]),
    (NINE, (0, [1, 2, 1]), THREE, [[0, 401, 202], [3, 4, 5], [6, 7, 8]]),
    (NINE, ([1, 2, 1], [0, 0, 0]), THREE, [[0, 1, 2], [403, 4, 5], [206, 7, 8]]),
    (NINE, ([[1], [0]], [[2, 2, 0]]), THREE, [[300, 1, 302], [303, 4, 305], [6, 7, 8]]),
    (NINE, (..., [0, 0]), 1, [[2, 1, 2], [5, 4, 5], [8, 7, 8]]),
    (NINE, (slice(None, None, 2), [0, 0]), 1, [[2, 1, 2], [3, 4, 5], [8, 7, 8]]),
    (NINE, (np.array(1), [0, 0]), 1, [[0, 1, 2], [5, 4, 5], [6, 7, 8]]),
    (NINE, (NINE > 6, None), 1, [[0, 1, 2], [3, 4, 5], [6, 8, 9]]),
]


@pytest.mark.usefixtures("no_numpy")
@pytest.mark.parametrize(("a", "indices", "b", "want"), WHAT_AN_INDEX_MAY_BE)
def test_what_an_index_may_be(a: Any, indices: Any, b: Any, want: Any) -> None:
    for _ in range(3):  # the long way, the plan, the guess
        copy = a.copy()
        assert at.add(copy, indices, b) is None  # type: ignore[func-returns-value]
        assert copy.tolist() == want
        same(copy, expected(at.add, a, indices, b))


SHAPES: list[tuple[tuple[int, ...], Any]] = [
    ((3, 4, 5), (ALL, [0, 1], [0, 1])),
    ((3, 4, 5), ([0, 1], ALL, [0, 1])),
    ((3, 4, 5), ([0, 1], None, [0, 1])),
    ((3, 4, 5), (0, ALL, [0, 1])),
    ((3, 4, 5), (ALL, 0, [0, 1])),
    ((3, 4, 5), (ALL, [0, 1], ..., [0, 1])),
    ((3, 4, 5), (..., 0, [0, 1])),
    ((3, 4, 5), (None, [0, 1], 0)),
    ((3, 4, 5), (np.array(1), [[0, 1], [2, 2]], ALL)),
    ((3, 4, 5), (ALL, CHANCE.random((4, 5)) < 0.5)),
    ((3, 4, 5), (CHANCE.random((3, 4)) < 0.5, [2])),
    ((3, 4, 5), (slice(2, 0, -1), [[3, 3, 0]], slice(1, None, 2))),
]


@pytest.mark.usefixtures("no_numpy")
@pytest.mark.parametrize("lay", (layouts.plain, *layouts.HURTFUL[:-2]))
@pytest.mark.parametrize(("shape", "indices"), SHAPES)
def test_where_the_dims_of_arrays_go(shape: tuple[int, ...], indices: Any, lay: Any) -> None:
    a = CHANCE.integers(0, 99, shape)
    b = CHANCE.integers(0, 99, a[indices].shape)
    copy = lay(a.copy())
    at.add(copy, indices, lay(b))
    same(copy, expected(at.add, a, indices, b))
    want = expected(at.maximum, copy, indices, b)
    at.maximum(copy, indices, b)
    same(copy, want)


TYPES = ("bool", "u8", "u16", "u64", "i8", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128")


ORDERING = (at.maximum, at.minimum)


@pytest.mark.usefixtures("no_numpy")
@pytest.mark.parametrize(
    ("ours", "dtype"),
    [(ours, dtype) for ours in NUMPYS for dtype in TYPES if dtype[0] != "c" or ours not in ORDERING],
)
def test_every_type_gives_numpys_bits(ours: Callable[..., None], dtype: str) -> None:
    kind, orders = values.DTYPES[dtype], ours in ORDERING
    a = values.elements(CHANCE, (6, 5), kind, 0 if kind.kind == "c" else 0.1)
    indices, b = CHANCE.integers(-6, 6, 40), values.elements(CHANCE, (40, 5), kind, 0 if kind.kind == "c" else 0.1)
    if kind.kind == "b":  # NumPy's loops take no byte but 0 and 1
        a, b = a.view(np.uint8) != 0, b.view(np.uint8) != 0
    want = expected(ours, a, indices, b)
    ours(a, indices, b)
    if orders and kind.kind in "fV":  # the zero that stays depends on NumPy's type and processor
        a, want = (np.where(one == 0, np.zeros((), kind), one) for one in (a, want))
    same(a, want)


def test_of_equal_zeros_the_old_one_stays() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        a = np.array([0.0, -0.0], dtype)
        at.maximum(a, [0, 1], [-0.0, 0.0])
        at.minimum(a, [0, 1], [-0.0, 0.0])
        assert np.signbit(a).tolist() == [False, True]


CASTS: list[tuple[str, Any, bool]] = [
    ("float32", 1, True),
    ("float32", 0.5, True),
    ("float32", np.array([0.5, np.nan, -0.0]), True),
    ("float32", [np.inf, -np.inf, 2.0**-149], True),
    ("float32", 0.1, False),
    ("float32", 2.0**-150, False),
    ("float32", 1e300, False),
    ("float32", np.array([1.5, 2.5, -3.5], np.float16), True),
    ("float32", np.array([1, 2, 2**24 + 1]), False),
    ("float16", 0.25, True),
    ("float16", np.array([0.25, 3.0, -1.0], np.float32), True),
    ("float16", 2049, False),
    ("float64", 3, True),
    ("float64", np.array([2**62 + 1, 1, 2]), True),
    ("int32", 7, True),
    ("int32", 1.5, False),
    ("int32", True, True),
    ("uint8", np.array([1, 2, 3]), True),
    ("uint8", np.array([True, False, True]), True),
    ("int64", np.array([1, 2, 3], np.uint64), False),
    ("int64", np.array([-1, 2, 3], np.int8), True),
    ("bool", True, True),
    ("bool", 2, False),
    ("complex64", 2.0, True),
    ("complex64", 1 + 2j, True),
    ("complex128", np.array([1j, 2, 3], np.complex64), True),
]


@pytest.mark.parametrize(("dtype", "b", "covered"), CASTS)
@pytest.mark.parametrize("ours", [at.add, at.multiply, at.maximum, at.minimum])
def test_updates_are_cast_as_numpy_casts(ours: Any, dtype: str, b: Any, covered: bool) -> None:
    a = np.array([3, 1, -7]).astype(dtype)
    indices = np.array([0, 0, 1])
    by_numpy = isinstance(at.explain(ours, a, indices, b), str)
    if ours is at.add:
        assert by_numpy is not covered
    for _ in range(3):
        copy = a.copy()
        with np.errstate(all="ignore"):
            ours(copy, indices, b)
        same(copy, expected(ours, a, indices, b))


def test_integers_wrap_where_a_wider_one_is_added_and_are_compared_as_they_are() -> None:
    for value, most in ((300, False), (255, True), (-1, False)):
        a = np.array([200, 3], np.uint8)
        assert isinstance(at.explain(at.maximum, a, [0], value), str) is not most
        for ours in (at.add, at.multiply, at.maximum, at.minimum):
            copy = a.copy()
            ours(copy, [0, 1], value)
            same(copy, expected(ours, a, [0, 1], value))


@pytest.mark.parametrize("wide", ["float64", "float32"])
def test_a_step_in_a_wider_type_rounds_as_one_in_the_narrow_type(wide: str) -> None:
    pairs = {"float64": ("float32", "float16"), "float32": ("float16",)}
    for narrow in pairs[wide]:
        a = values.elements(CHANCE, (50, 40), np.dtype(narrow), 0.3)
        b = values.elements(CHANCE, (200, 40), np.dtype(narrow), 0.3).astype(wide)
        indices = CHANCE.integers(0, 50, 200)
        for ours in (at.add, at.multiply):
            copy = a.copy()
            assert not isinstance(at.explain(ours, copy, indices, b), str)
            ours(copy, indices, b)
            same(copy, expected(ours, a, indices, b))


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize(
    ("dtype", "b"),
    [("int32", 1.9), ("int32", [1.9, -1.9]), ("uint8", np.array([300, -1])), ("float32", "1.5"), ("bool", [2, 0]),
     ("int8", np.array([1e9, np.nan])), ("float16", 1e9), ("float32", np.array([[[1.0, 2.0]]])), ("int16", None)],
)  # fmt: skip
def test_an_assignment_casts_as_numpy_does(dtype: str, b: Any) -> None:
    a = np.zeros(3, dtype)
    try:
        want = a.copy()
        with np.errstate(all="ignore"):
            want[[0, 2]] = b
    except TypeError as error:
        with pytest.raises(type(error)):
            at.assign(a, [0, 2], b)
        assert not a.any()
        return
    for _ in range(3):
        with np.errstate(all="ignore"):
            at.assign(a, np.array([0, 2]), b)
        same(a, want)


def test_an_assignment_warns_as_numpy_does() -> None:
    with pytest.warns(np.exceptions.ComplexWarning):
        at.assign(np.zeros(3), np.array([0, 1]), np.array([1j, 2]))


@pytest.mark.parametrize("indices", [np.array([0, 2]), (np.array([0, 2]),), ()])
@pytest.mark.parametrize("b", [[1, 300], 300, float("nan"), "x", [[1], [2, 3]], [1, 2, 300]])
def test_what_cannot_be_cast_writes_nothing(indices: Any, b: Any) -> None:
    a = np.zeros(3, np.uint8)
    with pytest.raises((ValueError, OverflowError)):
        at.assign(a, indices, b)
    assert not a.any()


def strided_to_itself() -> Any:
    return np.lib.stride_tricks.as_strided(np.arange(4.0), (3, 2), (8, 8))


NUMPYS_TO_DO: list[tuple[str, Callable[[], Any], Any, Any]] = [
    ("no index is an array", lambda: np.arange(6.0).reshape(2, 3), 1, 2),
    ("no index is an array", lambda: np.arange(6.0).reshape(2, 3), (slice(1), ...), 2),
    ("no index is an array", lambda: np.array(1.0), (), 2),
    ("no index is an array", lambda: np.arange(6.0).reshape(2, 3), (None, slice(1)), [[[1, 2, 3]]]),
    ("an index is empty", lambda: np.arange(3.0), [], 2),
    ("an index is empty", lambda: np.arange(3.0), np.zeros((0, 2), int), 2),
    ("an index is empty", lambda: np.ones((3, 3)), (np.zeros((0, 1), int), np.array([99])), 2),
    ("an index is empty", lambda: np.arange(3.0), np.zeros(3, bool), 2),
    ("single bool", lambda: np.arange(3.0), (True, [1, 1]), 2),
    ("a is object", lambda: np.array([1, 2], object), [0, 0], 2),
    (f"a is {np.dtype('g')}" if np.dtype("g") != np.dtype("d") else "", lambda: np.arange(3, dtype="g"), [0, 0], 2),
    ("a is timedelta64", lambda: np.arange(3).astype("m8[s]"), [0, 0], np.timedelta64(5, "s")),
    ("share memory", strided_to_itself, [0, 0], 2),
]


@pytest.mark.parametrize(("why", "make", "indices", "b"), NUMPYS_TO_DO)
def test_what_is_numpys_to_do(why: str, make: Callable[[], Any], indices: Any, b: Any) -> None:
    a, want = make(), make()
    said = at.explain(at.add, a, indices, b)
    assert isinstance(said, str) and said.startswith("NumPy: ") and why in said
    at.add(a, indices, b)
    np.add.at(want, indices, b)
    assert a.dtype == want.dtype and (a == want).all()
    a, want = make(), make()
    at.assign(a, indices, b)
    want[indices] = b
    assert (a == want).all()


def test_complex_numbers_are_compared_by_numpy() -> None:
    a = np.array([1 + 5j, 2], np.complex64)
    assert "real parts" in str(at.explain(at.maximum, a, [0], 1j))
    at.maximum(a, [0, 0], [1 + 7j, 9j])
    assert a.tolist() == [1 + 7j, 2]


def test_strings_records_and_subclasses_are_assigned_by_numpy() -> None:
    words = np.array(["ab", "cd"])
    at.assign(words, [0, 0], ["x", "longer"])
    assert words.tolist() == ["lo", "cd"]
    record = np.zeros(3, [("x", "i4"), ("y", "f8")])
    at.assign(record, [1, 1], np.array([(1, 2.0), (3, 4.0)], record.dtype))
    assert record[1].tolist() == (3, 4.0)
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [True, False, False])
    at.assign(masked, [0, 1], [5.0, 6.0])
    assert masked.tolist() == [5.0, 6.0, 3.0]


def test_an_update_that_has_a_say_in_ufuncs_is_asked() -> None:
    class Loud:
        def __array_ufunc__(self, ufunc: Any, method: str, *_: Any, **__: Any) -> Any:
            return heard.append((ufunc, method))

    heard: list[Any] = []
    at.add(np.zeros(3), [0, 1], Loud())
    assert heard == [(np.add, "at")]


def test_a_file_is_written_through_its_map(tmp_path: Any) -> None:
    array = np.memmap(tmp_path / "numbers", np.float32, "w+", shape=(4,))
    assert not isinstance(at.explain(at.add, array, [1, 1], 2.5), str)
    at.add(array, [1, 1], 2.5)
    array.flush()
    assert np.fromfile(tmp_path / "numbers", np.float32).tolist() == [0, 5, 0, 0]


@pytest.mark.parametrize("ours", NUMPYS)
@pytest.mark.parametrize(
    ("indices", "axis", "positions", "values_", "limits"),
    [
        (np.array([0, 4, -5]), 0, ((1,), (2,)), (4, -5), ((-4, 4), (-4, 4))),
        (([0, 1], [3, 0]), 1, ((0,),), (3,), ((-3, 3),)),
        ((ALL, np.array([[0, 1], [2, -4]], np.int8)), 1, ((1, 1),), (-4,), ((-3, 3),)),
        (([0, 1], 1, [[0, 5]]), 2, ((0, 1),), (5,), ((-2, 2),)),
    ],
)
def test_an_index_out_of_bounds(
    ours: Any, indices: Any, axis: int, positions: Any, values_: Any, limits: Any, either_way: str
) -> None:
    a = CHANCE.random((4, 3, 2))
    before = a.copy()
    with pytest.raises(IndexError):
        NUMPYS[ours](before.copy(), indices, 1.0)
    for _ in range(3):
        with pytest.raises(IndexOutOfBounds) as caught:
            ours(a, indices, 1.0)
        error = caught.value
        name = ours.__name__
        assert str(error).startswith(f"at.{name}, axis {axis} of a: indices[")
        assert (error.positions, error.values, error.limits) == (positions, values_, limits)
        same(a, before)


def test_a_plan_meets_a_bad_index(either_way: str) -> None:
    a, indices, b = np.zeros(4, np.float32), np.array([0, 1, 1]), np.ones(3, np.float32)
    for _ in range(3):
        at.add(a, indices, b)
    indices[2] = 4
    with pytest.raises(IndexOutOfBounds, match=r"at.add, axis 0 of a: indices\[2\] is 4, allowed is in \[-4, 3\]"):
        at.add(a, indices, b)
    assert a.tolist() == [3, 6, 0, 0]


@pytest.mark.parametrize("ours", NUMPYS)
def test_what_numpy_refuses_is_refused(ours: Any) -> None:
    a = np.zeros((3, 3))
    for indices, kind in (
        (np.array([1.0]), IndexError),
        (([0, 1], [0, 1, 2]), IndexError),
        (([0], [0], [0]), IndexError),
        ((..., [0], ...), IndexError),
        (np.array([True, False]), IndexError),
        ((7, [0]), IndexError),
        ("x", IndexError),
    ):
        with pytest.raises(kind):
            ours(a, indices, 1)
        with pytest.raises(kind):
            NUMPYS[ours](a, indices, 1)
    for b in (np.ones(2), np.ones((2, 3, 3)), np.ones((1, 2))):
        with pytest.raises(ShapeError, match=rf"at.{ours.__name__}: b has shape .* must broadcast to \(4, 3\)"):
            ours(a, [0, 1, 2, 0], b)
    assert not a.any()


@pytest.mark.parametrize("indices", [[0], np.array([0]), 0, ALL])
@pytest.mark.parametrize("ours", NUMPYS)
def test_a_has_to_be_an_array_that_can_be_written(ours: Any, indices: Any) -> None:
    with pytest.raises(DTypeError, match=r"a is a list, allowed is a NumPy array, to write to$"):
        ours([1, 2], indices, 1)
    a = np.zeros(3)
    ours(a, indices, 0.0)
    ours(a, indices, 0.0)
    a.flags.writeable = False
    with pytest.raises(ShapeError, match="a is read-only"):
        ours(a, indices, 1.0)
    assert not a.any()


class NoText:
    """What strings cannot be made of."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def objects(*values: Any) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array


@pytest.mark.parametrize("indices", [[0, 1], np.array([0, 1]), slice(0, 2), (np.array([0, 1]),), (..., slice(2))])
@pytest.mark.parametrize(
    ("ours", "a", "b", "error"),
    [
        (at.multiply, np.array([1, 2, 3], np.uint16), objects(5, 10**6), OverflowError),
        (at.add, np.array([1, 2, 3], np.uint8), objects(5, 10**6), OverflowError),
        (at.add, np.array([1, 2, 3]), [5, None], TypeError),
        (at.add, objects(1, "a", 2), 1, TypeError),
        (at.maximum, objects(1, 2, 3), objects(5, "x"), TypeError),
        (at.add, np.array(["a", "b", "c"]), objects("x", 5), TypeError),
        (at.assign, np.array(["a", "b", "c"]), objects(5, NoText()), RuntimeError),
        (at.assign, np.array(["a", "b", "c"], np.dtypes.StringDType()), objects(5, NoText()), RuntimeError),
        (at.assign, np.array([1, 2, 3], "m8[s]"), objects(5, "x"), ValueError),
        (at.assign, np.array(["2020-01-01"] * 3, "M8[D]"), objects("2021-01-01", "x"), ValueError),
        (at.assign, np.array([(1, 2)] * 3, "i4,i4"), [(5, 6), ("x", 3)], ValueError),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_fails_on_the_way_has_written_nothing(ours: Any, a: np.ndarray, b: Any, error: Any, indices: Any) -> None:
    for each in (a, np.repeat(a, 2)[::2]):
        before = each.tolist()
        with pytest.raises(error):
            ours(each, indices, b)
        assert each.tolist() == before


def test_what_fails_on_the_way_is_put_back_where_indices_lie_in_a() -> None:
    a = np.array([1, 0, 2])
    with pytest.raises(TypeError):
        at.add(a, a, objects(5, 1, None))
    assert a.tolist() == [1, 0, 2]


def test_an_object_with_a_dim_too_many_is_added() -> None:
    a = np.zeros(3, object)
    at.add(a, 1, objects(7))
    at.add(a, [2], np.array([[8]], object))
    assert a.tolist() == [0, 7, 8]
    with pytest.raises(ShapeError, match="must broadcast"):
        at.add(a, 1, objects(7, 8))
    assert a.tolist() == [0, 7, 8]


def test_a_misfit_that_kills_numpy_is_refused() -> None:
    with pytest.raises(ShapeError, match="must broadcast"):
        at.multiply(np.zeros((1, 3, 2), np.float32), (..., [[-2, -1]], -2), np.ones((1, 1, 1, 2, 7), np.int8))
    with pytest.raises(ShapeError, match="must broadcast"):
        at.add(np.zeros(3, object), [[0, 1]], np.ones(7))
    a = np.zeros(3, object)
    at.add(a, [[0, 1], [0, 1]], [1, 10])
    assert a.tolist() == [2, 20, 0]


def test_duplicates_are_taken_in_row_major_order() -> None:
    a = np.zeros(1)
    backwards, values_ = np.zeros((2, 3), int)[:, ::-1], np.arange(6.0).reshape(2, 3)[::-1, ::-1]
    at.assign(a, backwards, values_)
    assert a.item() == values_[-1, -1] == 0
    big = np.array([[1e16, 1.0, -1e16], [1.0, 0.0, 0.0]])
    for indices in (np.zeros((2, 3), int), np.zeros((2, 3), int, order="F")):
        for b in (big, np.asfortranarray(big)):
            a[0] = 0
            at.add(a, indices, b)
            assert a.item() == 1


@pytest.mark.parametrize("indices", [np.array([0, 3, 0, 1]), (np.array([0, 3, 0, 1]),)])
def test_arrays_may_share_memory(indices: Any, either_way: str) -> None:
    for kind in (np.float64, np.int64):
        for _ in range(3):
            a = np.arange(4).astype(kind)
            want = a.copy()
            np.add.at(want, np.array([0, 3, 0, 1]), want.copy())
            at.add(a, indices, a)
            assert (a == want).all()
    for _ in range(3):
        a = np.arange(1, 5) % 4
        want = a.copy()
        np.add.at(want, a.copy(), 1)
        at.add(a, a, 1)
        assert (a == want).all()
    table = np.arange(12).reshape(3, 4)
    for _ in range(3):
        want = table.copy()
        np.add.at(want[1], np.array([0, 0, 1, 1]), want[1].copy())
        at.add(table[1], np.array([0, 0, 1, 1]), table[1])
        assert (table == want).all()
        at.add(table[0], np.array([0, 0, 1, 1]), table[1])  # beside each other, and apart
        np.add.at(want[0], np.array([0, 0, 1, 1]), want[1])
        assert (table == want).all()


FORMS: dict[str, tuple[tuple[int, ...], Any, tuple[int, ...]]] = {
    "1-D": ((40,), CHANCE.integers(-40, 40, 70), (70,)),
    "rows": ((40, 8), CHANCE.integers(-40, 40, 70), (70, 8)),
    "one row": ((40, 8), CHANCE.integers(-40, 40, 70), (8,)),
    "one column": ((40, 8), CHANCE.integers(-40, 40, 70), (70, 1)),
    "columns": ((8, 40), (ALL, CHANCE.integers(-40, 40, 70)), (8, 70)),
    "pairs": ((40, 8), (CHANCE.integers(-40, 40, 70), CHANCE.integers(-8, 8, 70)), (70,)),
    "mesh": ((40, 8), np.ix_(CHANCE.integers(0, 40, 9), CHANCE.integers(0, 8, 11)), (9, 11)),
    "mixed": ((40, 8), (CHANCE.integers(0, 40, 9).astype(np.int16), CHANCE.integers(0, 8, 9)), ()),
    "one value for rows": ((40, 8), CHANCE.integers(-40, 40, 70), ()),
    "one value for columns": ((8, 40), (ALL, CHANCE.integers(-40, 40, 70)), (1,)),
    "0-d": ((40, 8), (np.array(3), CHANCE.integers(0, 8, 9)), (9,)),
}


@pytest.mark.usefixtures("no_numpy")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ours", [at.add, at.maximum, at.assign])
def test_calls_that_repeat(ours: Any, form: str, either_way: str) -> None:
    shape, indices, b_shape = FORMS[form]
    for round_ in range(5):
        a, b = CHANCE.random(shape, np.float32), CHANCE.random(b_shape, np.float32)
        want = expected(ours, a, indices, b)
        ours(a, indices, b)
        same(a, want)
        if round_ == 3:  # one after another of all that a plan must not take for its own
            for lay in layouts.HURTFUL[:-2]:
                own = lay(a.copy())
                want = expected(ours, own, indices, b)
                ours(own, indices, lay(b) if b.ndim else b)
                same(own, want)
    strange = a.astype(np.float64)
    want = expected(ours, strange, indices, b)
    ours(strange, indices, b)
    same(strange, want)


@pytest.mark.parametrize("ours", [at.add, at.assign])
def test_scalars_that_change(ours: Any, either_way: str) -> None:
    indices = np.array([0, 1, 1])
    for dtype in (np.float32, np.int16, np.bool_, np.float64):
        for b in (1, 1.0, True, -0.0, 0.0, 0.1, 2, 2.0, np.float32(0.5), np.int8(-3), np.nan, np.array(4.0)):
            for _ in range(3):
                a = np.array([-0.0, 1.0, 3.0]).astype(dtype)
                if ours is at.assign and dtype is np.int16 and b != b:
                    with pytest.raises(ValueError, match="NaN"):
                        ours(a, indices, b)
                    continue
                want = expected(ours, a, indices, b)
                with np.errstate(all="ignore"):
                    ours(a, indices, b)
                same(a, want)


def test_a_plan_is_found_again(either_way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, indices, b = np.zeros((4, 5), np.float32), np.array([0, 1, 1]), np.ones(3, np.float32)
    calls: list[tuple[Any, ...]] = [
        (at.add, a[0], indices, b),
        (at.add, a[0], indices, 1.0),
        (at.add, a, (indices, indices), b),
        (at.add, a, (ALL, indices), b),
        (at.add, a, indices, 1.0),
        (at.put_along_axis, a[3], indices, b, 0),
        (at.add, a[2], [0, 1, 1], b),
        (at.add, a, ([2, 2, 2], [0, 1, 1]), b),
    ]
    for ours, *arguments in calls:
        ours(*arguments)

    def refuse(*_: Any) -> None:
        raise AssertionError("the long way was taken")

    monkeypatch.setattr(inplace.Idiom, "run", refuse)
    for _ in range(3):
        for ours, *arguments in calls:
            ours(*arguments)
    with pytest.raises(AssertionError, match="long way"):
        at.add(a[:2], (ALL, indices), b)
    assert a[0].tolist() == [20, 28, 4, 4, 4]
    assert a[1].tolist() == [12, 24, 8, 8, 8]
    assert a[2].tolist() == [12, 24, 0, 0, 0]
    assert a[3].tolist() == [1, 1, 0, 0, 0]


def test_a_call_that_writes_nothing_leaves_no_plan(either_way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel walks each of its loops once at least, and so would write somewhere."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a plan was kept")

    monkeypatch.setattr(inplace.Idiom, "_keep", refuse)
    indices = CHANCE.integers(-5, 5, (3, 3))
    for b in (np.ones((3, 0, 3, 1)), np.ones((3, 0, 3, 3)), 1.0):
        for ours in (at.add, at.minimum, at.assign):
            for _ in range(3):
                ours(np.zeros((3, 0, 5)), (ALL, ALL, indices), b)
    with pytest.raises(IndexError, match="axis 2"):
        at.add(np.zeros((3, 0, 5)), (ALL, ALL, indices + 9), 1.0)


@pytest.mark.parametrize("b", [np.ones(3, np.float32), np.ones(3, np.int8), 1.0])
@pytest.mark.parametrize("indices", [np.array([0, 1, 1]), (np.array([0, 1, 1]), np.array([0, 1, 1]))])
def test_a_plan_keeps_no_array_alive(indices: Any, b: Any, either_way: str) -> None:
    a, given = np.zeros((4,) * (1 + isinstance(indices, tuple)), np.float32), np.array(b)
    for _ in range(3):
        at.add(a, indices, b if isinstance(b, float) else given)
    gone = weakref.ref(a), weakref.ref(given)
    del a, given
    gc.collect()
    assert [one() for one in gone] == [None, None]


@pytest.mark.usefixtures("no_numpy")
@pytest.mark.parametrize("form", ["pairs", "mesh", "rows of pairs", "broadcast"])
def test_large_tuples_go_in_pieces(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 10)
    shape = (9, 7, 3)
    i, j = CHANCE.integers(-9, 9, (55, 2)), CHANCE.integers(-7, 7, (55, 2))
    indices = {
        "pairs": (i, j, j % 3),
        "mesh": (i[:, :1], ALL, np.array([[1, 0]])),
        "rows of pairs": (i, j),
        "broadcast": (i[:, :1], i[:1] % 7, 1),
    }[form]
    a = CHANCE.random(shape, np.float32)
    b = CHANCE.random(a[indices].shape, np.float32)
    want = expected(at.add, a, indices, b)
    selection, updates = inplace._selected(functions._ADD, a, indices, b)
    assert pieces.pay(selection, updates)
    assert len(list(pieces.cut(selection, updates, "add"))) > 5
    at.add(a, indices, b)
    same(a, want)
    shared = a.view()
    same(a, want)
    want = expected(at.add, a, indices, b * 0 + a[0, 0, 0])
    at.add(a, indices, np.broadcast_to(shared[0, 0, 0], b.shape))
    same(a, want)
    bad = i.copy()
    bad[-1, 0] = 9
    before = a.copy()
    with pytest.raises(IndexOutOfBounds, match=r"axis 0 of a: indices\[54, 0\] is 9"):
        at.add(a, (bad, *indices[1:]) if form != "mesh" else (bad[:, :1], *indices[1:]), b)
    same(a, before)


def test_an_index_that_is_mended_while_it_is_told_of_is_an_error_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 10)
    monkeypatch.setattr(pieces.bounds, "find_out_of_bounds", lambda *_: None)
    i = np.arange(55).reshape(5, 11)
    with pytest.raises(IndexOutOfBounds, match=r"indices changed while the call was reading them"):
        at.add(np.zeros((54, 2)), (i, i % 2), np.ones((5, 11)))


def test_columns_of_one_table_are_tuples_already() -> None:
    table = CHANCE.integers(0, 5, (40, 2))
    mask = CHANCE.random((5, 5)) < 0.5
    for indices in (tuple(table.T), (table[:, 0], table[:, 1]), np.nonzero(mask), (mask,)):
        selection, _ = inplace._selected(functions._ADD, np.zeros((5, 5)), indices, 1.0)
        assert not selection.packs
        assert (selection.tuples() == np.stack(selection.components, -1)).all()
    for indices in ((table[:, 1], table[:, 0]), (table[:, 0], table[:, 0]), (table[1:, 0], table[:-1, 1])):
        selection, _ = inplace._selected(functions._ADD, np.zeros((5, 5)), indices, 1.0)
        assert selection.packs
        assert (selection.tuples() == np.stack(indices, -1)).all()


def test_the_number_of_threads_changes_nothing() -> None:
    a, b = np.zeros((300, 200), np.float32), CHANCE.random(300_000, np.float32)
    indices = (CHANCE.integers(0, 300, 300_000), CHANCE.integers(0, 200, 300_000))
    want = expected(at.add, a, indices, b)
    try:
        for number in (1, 3):
            scattergen.set_num_threads(number)
            copy = a.copy()
            at.add(copy, indices, b)
            same(copy, want)
    finally:
        scattergen.set_num_threads(0)


def test_an_explanation_names_the_kernel() -> None:
    a = np.zeros((4, 6), np.float32)
    for indices, b, kernel in (
        ([1, 2], 1.0, "slices_f32_i64_k1_add"),
        (([1, 2], [3, 3]), np.ones(2, np.float32), "elements_f32_i64_k2_add"),
        ((ALL, np.array([1, 2], np.int32)), np.ones((4, 2), np.float32), "rows_f32_i32_add"),
    ):
        found = at.explain(at.add, a, indices, b)
        assert not isinstance(found, str) and found.kernel == kernel
    for axis in (0, None):
        along = at.explain(at.put_along_axis, a[:, 0], np.array([1]), 1.0, axis)
        spec = "scatter_elements_f32_i64_r1a0_none" if axis == 0 else "scatter_nd_f32_i64_r1k1_none"
        assert not isinstance(along, str) and along.spec == spec


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (np.add.at, "given is numpy.add.at: use at.add"),
        (np.maximum, "given is numpy.maximum: use at.maximum"),
        (np.put_along_axis, "given is numpy.put_along_axis: use at.put_along_axis"),
        (np.subtract.at, "given is numpy.subtract.at"),
        (
            scattergen.scatter_nd,
            "given is scattergen.scatter_nd. For operators of scattergen there is scattergen.explain",
        ),
        (scattergen.graph.scatter, "given is scattergen.graph.scatter"),
        (print, "given is print"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_explain_says_which_function_was_meant(function: Any, said: str) -> None:
    with pytest.raises(ScattergenError, match=r"^at\.explain takes one of at\.add, at\.multiply, ") as caught:
        at.explain(function, np.zeros(3), [1], 1.0)
    assert str(caught.value).endswith(said)


def put(arr: Any, indices: Any, b: Any, axis: Any) -> Any:
    want = np.array(native(arr), order="C")
    flat = want.reshape(-1) if axis is None else want
    np.put_along_axis(flat, np.array(indices, order="C"), in_c_order(b), 0 if axis is None else axis)
    return want


@pytest.mark.usefixtures("no_numpy")
@pytest.mark.parametrize("lay", (layouts.plain, *layouts.HURTFUL[:-2]))
@pytest.mark.parametrize("dtype", ["f32", "i16", "c128", "bool"])
@pytest.mark.parametrize(
    ("shape", "index", "value", "axis"),
    [
        ((5, 6), (5, 3), (5, 3), 1),
        ((5, 6), (5, 9), (5, 1), -1),
        ((5, 6), (4, 6), (), 0),
        ((5, 6), (1, 9), (5, 9), 1),
        ((5, 6), (5, 9), (1, 1, 5, 9), 1),
        ((3, 4, 5), (3, 2, 1), (5,), 1),
        ((7,), (9,), (9,), 0),
        ((3, 4), (9,), (9,), None),
        ((3, 4), (9,), (), None),
    ],
)
def test_put_along_axis(shape: Any, index: Any, value: Any, axis: Any, dtype: str, lay: Any) -> None:
    kind = np.dtype(np.int16) if dtype == "i16" else values.DTYPES[dtype]
    arr, b = values.elements(CHANCE, shape, kind, 0.1), values.elements(CHANCE, value, kind, 0.1)
    size = arr.size if axis is None else shape[axis]
    indices = CHANCE.integers(-size, size, index).astype(np.int8)
    for given in (indices, lay(indices.astype(np.int64))):
        for _ in range(3):
            mine = lay(arr.copy())
            want = put(mine, given, b, axis)
            at.put_along_axis(mine, given, lay(b) if value else b, axis)
            same(mine, want)


def test_put_along_axis_over_a_dim_of_one() -> None:
    a, indices = np.ones((3, 4, 1)), np.arange(10).reshape(1, 2, 5) % 4
    assert "do not broadcast" in str(at.explain(at.put_along_axis, a, indices, 20, 1))
    at.put_along_axis(a, indices, 20, axis=1)
    assert (np.take_along_axis(a, indices, axis=1) == 20).all()


@pytest.mark.parametrize("axis", [1.0, np.float64(1)])
def test_an_axis_that_equals_another_is_refused_again(axis: Any, either_way: str) -> None:
    a, indices = np.zeros((3, 4)), np.zeros((3, 2), np.int64)
    for _ in range(3):
        at.put_along_axis(a, indices, 2.0, 1)
    with pytest.raises(TypeError, match="integer"):
        at.put_along_axis(a, indices, 2.0, axis)


def test_put_along_axis_replaces_what_argmax_finds() -> None:
    base = np.array([[10, 30, 20], [60, 40, 50]])
    for axis in (0, 1):
        a = base.copy()
        at.put_along_axis(a, np.argmax(a, axis, keepdims=True), -99, axis)
        assert (np.argmin(a, axis) == np.argmax(base, axis)).all()
    for a in (base.copy(), base.T.copy().T):
        at.put_along_axis(a, np.array([3]), -99, axis=None)
        assert a.tolist() == [[10, 30, 20], [-99, 40, 50]]


def test_put_along_axis_refuses_what_numpy_refuses() -> None:
    a = np.zeros((3, 3))
    whole = np.ones((3, 3), int)
    for indices, value, axis, kind in (
        (whole.astype(bool), 1, 0, IndexError),
        (whole.astype(float), 1, 0, IndexError),
        (np.ones(1, int), 1, 0, ValueError),
        (whole, 1, 10, np.exceptions.AxisError),
        (whole, 1, "x", TypeError),
        (whole, 1, [], TypeError),
        (np.ones((2, 3), int), 1, 1, IndexError),
    ):
        with pytest.raises(kind):
            np.put_along_axis(a, indices, value, axis)
        with pytest.raises(kind):
            at.put_along_axis(a, indices, value, axis)
    with pytest.raises(ShapeError, match=r"b has shape \(2,\), must broadcast to \(3, 3\)"):
        at.put_along_axis(a, whole, [1, 2], 0)
    with pytest.raises(IndexOutOfBounds, match=r"at.put_along_axis: indices\[0, 0\] is 3, allowed is in \[-3, 2\]"):
        at.put_along_axis(a, whole + 2, 1, 0)
    for given in (a, a.T):
        with pytest.raises(IndexOutOfBounds, match=r"indices\[1\] is 9, allowed is in \[-9, 8\]"):
            at.put_along_axis(given, np.array([0, 9]), 1, None)
        with pytest.raises(ValueError, match=r"rank|dimensions"):
            at.put_along_axis(given, whole, 1, None)
    with pytest.raises(OverflowError):
        at.put_along_axis(np.zeros((3, 1), np.uint8), np.zeros((3, 1), int), [[1], [300], [1]], 0)
    with pytest.raises(DTypeError, match="a is a list"):
        at.put_along_axis([1], np.array([0]), 1, None)
    assert not a.any()


def test_nothing_of_it_is_imported_with_scattergen() -> None:
    code = (
        "import sys, scattergen; print(any(f'scattergen.{n}' in sys.modules for n in ('at', 'inplace', 'selection')))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_without_a_compiler_numpy_answers_after_the_same_checks(tmp_path: Path) -> None:
    ended = without_compiler(tmp_path, "reference", WITHOUT_COMPILER)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("call", ["at.add(a, i, 1.0)", "at.explain(at.add, a, i, 1.0)"])
def test_without_a_compiler_a_setting_makes_it_an_error(call: str, tmp_path: Path) -> None:
    code = f"import numpy as np; from scattergen import at; a, i = np.zeros(3), np.zeros(2, int); {call}"
    ended = without_compiler(tmp_path, "error", code)
    assert (ended.returncode, ended.stderr.count("CompilerNotFound:")) == (1, 1)


def test_bfloat16_is_added_in_its_own_type() -> None:
    a = np.zeros(2, ml_dtypes.bfloat16)
    b = np.ones(300, ml_dtypes.bfloat16)
    assert not isinstance(at.explain(at.add, a, np.zeros(300, int), b), str)
    at.add(a, np.zeros(300, int), b)
    assert a.tolist() == [256, 0]


def test_a_cast_that_numpy_remarks_on_is_remarked_on_each_time(either_way: str) -> None:
    a, index = np.zeros(3, np.float32), np.array([0, 1])
    huge, tiny, exact, rounded = np.float64(1e300), np.float64(1e-300), np.float64(0.5), np.float64(0.1)
    for b in (huge, tiny, exact, rounded):
        with np.errstate(all="ignore"):
            for _ in range(600):
                at.assign(a, index, b)
    a[:] = 7
    for b in (huge, tiny):
        for _ in range(3):
            with np.errstate(all="raise"), pytest.raises(FloatingPointError):
                at.assign(a, index, b)
    assert (a == 7).all()
    with np.errstate(all="raise"):
        for b in (exact, rounded):
            at.assign(a, index, b)
            assert a[0] == np.float32(b)
    with pytest.warns(RuntimeWarning) as told:
        for _ in range(5):
            at.assign(a, np.array([0, 1, 2]), np.full(3, 1e300))
    assert len(told) == 5


def test_more_dims_than_numpy_has_a_loop_for() -> None:
    a, index = np.zeros((1,) * 33, np.float32), np.zeros(1, np.int64)
    with pytest.raises(ShapeError, match="33 dims, allowed are 32"):
        at.add(a, (index,), 0.1)  # in float64, so that NumPy answers
    at.add(a, (index,), np.float32(0.5))
    assert a.sum() == 0.5
