"""The graph idiom: against plain loops, NumPy, and torch's own functions."""

from __future__ import annotations

import importlib.util
import math
from typing import Any, TypeAlias
from unittest import mock

import layouts
import numpy as np
import pytest
import values
from bits import difference
from hypothesis import given, settings
from hypothesis import strategies as st

from scattergen import graph
from scattergen.call import accumulated, direct, dispatch
from scattergen.errors import DTypeError, IndexOutOfBounds, KernelUnavailable, ShapeError, SpecError
from scattergen.graph import compose, steps

Array: TypeAlias = "np.ndarray[Any, Any]"

REDUCES = ("sum", "mul", "mean", "max", "min")
LAYS = (layouts.plain, layouts.strided, layouts.negative, layouts.fortran, layouts.swapped)

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


# The loop, written out


def combine(name: str, old: Any, new: Any) -> Any:
    """Return one step of a reduction on two scalars of one type."""
    dtype = np.asarray(old).dtype
    with np.errstate(all="ignore"):
        if name in ("sum", "mean"):
            return (old | new) if dtype.kind == "b" else (old + new).astype(dtype)
        if name == "mul":
            return (old & new) if dtype.kind == "b" else (old * new).astype(dtype)
        better = new > old if name == "max" else new < old
        return new if better or new != new else old


def quotient(total: Any, count: int, dtype: np.dtype[Any]) -> Any:
    """Return a mean: of integers, rounded towards -infinity."""
    if dtype.kind in "iu":
        return np.array(int(total) // count).astype(dtype)
    with np.errstate(all="ignore"):
        wide = np.float32 if dtype.itemsize == 2 else dtype.type
        return (wide(total) / np.asarray(count, np.float32 if dtype.itemsize == 2 else dtype)).astype(dtype)


def start(name: str, dtype: np.dtype[Any]) -> Any:
    """Return what changes no row."""
    if name == "mul":
        return np.ones((), dtype)[()]
    if name in ("sum", "mean"):
        return np.zeros((), dtype)[()]
    if dtype.kind == "b":
        return np.array(name == "min")[()]
    if dtype.kind in "iu":
        return np.array(np.iinfo(dtype).min if name == "max" else np.iinfo(dtype).max, dtype)[()]
    return np.array(-math.inf if name == "max" else math.inf, dtype)[()]


def loop(name: str, base: Array, index: Array, src: Array, dim: int, afresh: bool, own: int) -> tuple[Array, Array]:
    """Return `base` with `src` reduced into it, and the place of the row that each extreme value comes from.

    `afresh`: targets with a row start from what changes none; `own`: what `base` holds counts as so many rows.
    """
    out, seen, dtype = base.copy(), np.zeros(base.shape, np.int64), base.dtype
    places = np.full(base.shape, src.shape[dim], np.int64)
    for place in np.ndindex(index.shape):
        target = (*place[:dim], int(index[place]), *place[dim + 1 :])
        if afresh and not seen[target]:
            out[target] = start(name, dtype)
        old, new = out[target], src[place]
        out[target] = combine(name, old, new)
        improved = (new > old if name == "max" else new < old) or (new != new and old == old)
        if name in ("max", "min") and (improved or (afresh and not seen[target])):
            places[target] = place[dim]
        seen[target] += 1
    if name == "mean":
        for target in np.ndindex(out.shape):
            out[target] = quotient(out[target], max(1, int(seen[target]) + own), dtype)
    return out, places


def expand(index: Array, src: Array, dim: int) -> Array:
    """Return an index as torch_scatter's `broadcast` makes it."""
    if index.ndim == 1:
        index = index.reshape((1,) * dim + index.shape)
    return np.broadcast_to(index.reshape(index.shape + (1,) * (src.ndim - index.ndim)), src.shape)


def expected(name: str, src: Array, index: Array, dim: int, size: int) -> tuple[Array, Array]:
    """Return what `scatter` gives without `out`."""
    dim %= src.ndim
    base = np.full((*src.shape[:dim], size, *src.shape[dim + 1 :]), name == "mul", src.dtype)
    return loop(name, base, expand(index, src, dim), src, dim, afresh=True, own=0)


# Cases


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Array, Array, int, int, Any]:
    """Draw a reduction, `src`, an index of one of the shapes that are allowed, dim, targets, and a layout."""
    name = draw(st.sampled_from(REDUCES))
    tags = ["f32", "f64", "i8", "u64", "i64", "f16", "bf16"] + ([] if name == "mean" else ["bool"])
    dtype = values.DTYPES[draw(st.sampled_from(tags))]
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=4)))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    at, size = dim % len(shape), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["one", "whole", "fewer", "ones"]))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    if kind == "one":
        where: tuple[int, ...] = (shape[at],)
    elif kind == "fewer":
        where = shape[: draw(st.integers(at + 1, len(shape)))]
        if len(where) == 1 and at:
            where = shape
    else:
        where = tuple(
            1 if kind == "ones" and place != at and draw(st.booleans()) else extent
            for place, extent in enumerate(shape)
        )
    index = chance.integers(0, size, where, draw(st.sampled_from([np.int32, np.int64])))
    src = values.elements(chance, shape, dtype, draw(st.sampled_from([0.0, 0.2])))
    if dtype.kind in "iu" and draw(st.booleans()):
        src = chance.integers(0, 5, shape).astype(dtype)  # ties
    lay = draw(st.sampled_from(LAYS))
    return name, lay(src), lay(index), dim, size, draw(st.sampled_from([None, 1, 2]))


@settings(max_examples=120)
@given(calls())
def test_any_call_is_the_plain_loop(call: tuple[str, Array, Array, int, int, Any]) -> None:
    name, src, index, dim, size, threads = call
    inputs = src.tobytes(), index.tobytes()
    plain = src.astype(src.dtype.newbyteorder("="))
    want, places = expected(name, plain, index, dim, size)
    got = graph.scatter(src, index, dim, size, name, threads=threads)
    assert not difference(got, want)
    if name in ("max", "min"):
        function = graph.scatter_max if name == "max" else graph.scatter_min
        extreme, found = function(src, index, dim, dim_size=size, threads=threads)
        assert not difference(extreme, want)
        assert not difference(found, places)
    assert (src.tobytes(), index.tobytes()) == inputs


@settings(max_examples=80)
@given(calls(), st.sampled_from(LAYS))
def test_any_out_is_what_the_loop_starts_from(call: tuple[str, Array, Array, int, int, Any], lay: Any) -> None:
    name, src, index, dim, size, threads = call
    at, chance = dim % src.ndim, np.random.default_rng(size)
    plain = src.astype(src.dtype.newbyteorder("="))
    base = values.elements(chance, (*src.shape[:at], size, *src.shape[at + 1 :]), plain.dtype, 0.1)
    want, places = loop(name, base, expand(index, src, at), plain, at, afresh=False, own=0)
    out = lay(base.copy())
    assert graph.scatter(src, index, dim, reduce=name, out=out, threads=threads) is out
    assert not difference(np.array(out, plain.dtype, order="C"), want)
    if name in ("max", "min"):
        out = lay(base.copy())
        function = graph.scatter_max if name == "max" else graph.scatter_min
        extreme, found = function(src, index, dim, out=out)
        assert extreme is out
        assert not difference(np.array(out, plain.dtype, order="C"), want)
        assert not difference(found, places)


TORCH_NAMES = {"sum": "sum", "mul": "prod", "mean": "mean", "max": "amax", "min": "amin"}


@settings(max_examples=150)
@given(calls(), st.booleans(), st.booleans(), st.integers(0, 2))
def test_any_scatter_reduce_is_the_plain_loop(
    call: tuple[str, Array, Array, int, int, Any], include_self: bool, given_out: bool, more: int
) -> None:
    name, src, _, dim, size, threads = call
    at, chance = dim % src.ndim, np.random.default_rng(size + more)
    plain = src.astype(src.dtype.newbyteorder("="))
    own = tuple(size if place == at else extent + more for place, extent in enumerate(src.shape))
    base = values.elements(chance, own, plain.dtype, 0.1)
    index = chance.integers(0, size, tuple(max(0, extent - more % 2) for extent in src.shape))
    want, _ = loop(name, base, index, plain, at, afresh=not include_self, own=int(include_self))
    out = base.copy() if given_out else None
    data = out if given_out else base
    got = graph.scatter_reduce(data, dim, index, src, TORCH_NAMES[name], include_self, out=out, threads=threads)
    assert not given_out or got is out
    assert not difference(got, want)


# By hand


SRC = np.array([[1, 2], [3, 4], [5, -1], [7, 0]], np.float32)
INDEX = np.array([0, 2, 0, 2])
HALVES = SRC.astype(np.float16)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("sum", [[6, 1], [0, 0], [10, 4]]),
        ("add", [[6, 1], [0, 0], [10, 4]]),
        ("mul", [[5, -2], [1, 1], [21, 0]]),
        ("prod", [[5, -2], [1, 1], [21, 0]]),
        ("mean", [[3, 0.5], [0, 0], [5, 2]]),
        ("max", [[5, 2], [0, 0], [7, 4]]),
        ("min", [[1, -1], [0, 0], [3, 0]]),
    ],
)
def test_a_case_by_hand(name: str, want: list[list[float]]) -> None:
    assert not difference(graph.scatter(SRC, INDEX, 0, None, name), np.array(want, np.float32))
    assert not difference(graph.scatter(SRC.T, INDEX, reduce=name), np.array(want, np.float32).T.copy())


def test_an_index_of_size_1_is_repeated() -> None:
    assert graph.scatter(SRC, [1], 0).tolist() == [[0, 0], [16, 5]]
    assert graph.scatter(SRC, [[1, 0]], 0).tolist() == [[0, 5], [16, 0]]
    assert graph.scatter_min(SRC, [[1]], 0)[1].tolist() == [[4, 4], [0, 2]]


def test_the_functions_of_one_name() -> None:
    for function, name in (
        (graph.scatter_sum, "sum"),
        (graph.scatter_add, "sum"),
        (graph.scatter_mul, "mul"),
        (graph.scatter_mean, "mean"),
    ):
        assert not difference(function(SRC, INDEX, 0, dim_size=5), graph.scatter(SRC, INDEX, 0, 5, name))


def test_the_first_of_equal_values_wins_and_nan_is_the_most_extreme() -> None:
    nan = math.nan
    src = np.array([0.0, -0.0, 2.0, nan, 2.0, nan, -math.inf])
    index = np.array([0, 0, 1, 2, 1, 2, 3])
    for function, zero in ((graph.scatter_max, 0.0), (graph.scatter_min, 0.0)):
        value, place = function(src, index, dim_size=5)
        assert not difference(value, np.array([zero, 2.0, nan, -math.inf, 0.0]))
        assert place.tolist() == [0, 2, 3, 6, 7]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool", "float16", "float32"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_a_target_without_rows_is_told_from_one_that_holds_the_extreme(name: str, dtype: str) -> None:
    lowest = start(name, np.dtype(dtype))
    src = np.array([[lowest, lowest], [1, lowest]], dtype)
    got = graph.scatter(src, [3, 1], 0, 5, name)
    assert not difference(got, np.array([[0, 0], [1, lowest], [0, 0], [lowest, lowest], [0, 0]], dtype))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint64", "float32", "complex64"])
def test_means_of_many_rows_divide_by_their_number(dtype: str) -> None:
    chance = np.random.default_rng(8)
    src, index = chance.integers(0, 3, 70_000).astype(dtype), chance.integers(0, 9, 70_000)
    sums, count = np.zeros(10, dtype), np.maximum(np.bincount(index, minlength=10), 1)
    np.add.at(sums, index, src)
    whole = np.issubdtype(src.dtype, np.integer)
    want = (
        sums // count.astype(sums.dtype if dtype == "uint64" else np.int64)
        if whole
        else sums / count.astype(sums.real.dtype)
    )
    assert not difference(graph.scatter_mean(src, index, dim_size=10), want.astype(dtype))


def test_integer_means_are_rounded_down() -> None:
    src = np.array([-3, -4, 7, 8, 127, 127, 127], np.int8)
    assert graph.scatter_mean(src, [0, 0, 1, 1, 2, 3, 3]).tolist() == [-4, 7, 127, -1]  # 127 + 127 wraps to -2
    many = np.ones(300, np.uint8)
    assert graph.scatter_mean(many, np.zeros(300, np.int64)).tolist() == [0]  # 300 wraps to 44; the count does not


def test_means_of_halves_are_rounded_once_more() -> None:
    src = np.ones(5000, np.float16)
    index = np.zeros(5000, np.int64)
    assert graph.scatter_mean(src, index).tolist() == [np.float16(2048 / 5000)]
    assert graph.scatter_mean(src, index, accumulate="float32").tolist() == [1.0]
    assert graph.scatter_sum(src, index, accumulate="float32").tolist() == [5000.0]
    large = np.full(40, 60000, np.float16)
    assert graph.scatter_mean(large, np.zeros(40, np.int64), accumulate="float32").tolist() == [60000.0]
    base = np.array([60000, 1], np.float16)
    got = graph.scatter_reduce(base, 0, np.zeros(40, np.int64), large, "mean", accumulate="float32")
    assert got.tolist() == [60000.0, 1.0]


def test_sizes_of_zero() -> None:
    for name in REDUCES:
        assert graph.scatter(np.zeros((0, 3)), np.zeros(0, np.int64), 0, reduce=name).shape == (0, 3)
        got = graph.scatter(np.zeros((0, 3)), np.zeros(0, np.int64), 0, 4, name)
        assert not difference(got, np.full((4, 3), float(name == "mul")))
        assert graph.scatter(np.zeros((5, 0)), np.zeros(5, np.int64), 0, 2, name).shape == (2, 0)
    value, place = graph.scatter_max(np.zeros((0, 3)), np.zeros(0, np.int64), 0, dim_size=2)
    assert value.tolist() == place.tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("name", REDUCES)
@pytest.mark.parametrize("lay", LAYS)
def test_small_calls_that_repeat_make_no_plan_and_see_new_values(name: str, lay: Any, either_way: str) -> None:
    def reduced(seed: int) -> None:
        chance = np.random.default_rng(seed)
        src, index = chance.standard_normal((6, 3)).astype(np.float32), chance.integers(0, 4, 6)
        got = graph.scatter(src, lay(index), 0, 4, name)
        want, _ = expected(name, src, index, 0, 4)
        assert not difference(got, want)

    reduced(0)
    with mock.patch.object(dispatch, "execute", side_effect=AssertionError("asked for a plan")):
        if lay is layouts.swapped:  # has to be copied
            with pytest.raises(AssertionError, match="asked for a plan"):
                reduced(1)
            return
        for seed in range(1, 4):
            reduced(seed)


def test_rows_of_an_expanded_index_are_not_copied() -> None:
    """A graph's rows lower to row kernels: the index keeps its stride of 0."""
    from scattergen.call import dispatch

    with mock.patch.object(dispatch, "execute", wraps=dispatch.execute) as execute:
        graph.scatter(np.zeros((6, 64), np.float32), np.array([0, 1, 2, 0, 1, 2]), 0)
    arguments = execute.call_args.args[0]
    assert arguments.indices.strides == (8, 0)
    assert dispatch.planned(arguments, None)[0].form == "slices"


@pytest.mark.parametrize("tag", ["f32", "f16", "bf16", "i8", "u64", "bool", "f64"])
@pytest.mark.parametrize(("shape", "dim"), [((3000, 40), 0), ((3, 500, 33), 1), ((40, 3000), 1), ((90000,), 0)])
def test_large_places_on_any_number_of_threads(tag: str, shape: tuple[int, ...], dim: int) -> None:
    chance = np.random.default_rng(1)
    src = values.elements(chance, shape, values.DTYPES[tag], 0.01)
    narrow = chance.integers(0, 50, shape[dim])
    for index in (narrow, chance.integers(0, 50, shape)):
        found = [graph.scatter_max(src, index, dim, dim_size=60, threads=threads) for threads in (1, 2, 5)]
        best = np.take_along_axis(found[0][0], expand(index, src, dim), dim)
        equal = (src.view(np.uint8) != 0) == (best.view(np.uint8) != 0) if tag == "bool" else src == best
        equal = equal | ((src != src) & (best != best))
        count = shape[dim]
        numbers = np.arange(count).reshape((1,) * dim + (-1,) + (1,) * (len(shape) - dim - 1))
        want = np.full(found[0][0].shape, count)
        rest = tuple(np.indices(shape, sparse=True))
        np.minimum.at(want, (*rest[:dim], expand(index, src, dim), *rest[dim + 1 :]), np.where(equal, numbers, count))
        for value, place in found:
            assert not difference(value, found[0][0])
            assert not difference(place, want)


def test_places_without_a_compiler_are_the_same() -> None:
    chance = np.random.default_rng(2)
    for shape, dim in (((40, 7), 0), ((3, 30), 1), ((50,), 0)):
        src = chance.integers(0, 4, shape).astype(np.float32)
        src[src == 3] = np.nan
        index = chance.integers(0, 5, shape)
        held = np.full((*shape[:dim], 6, *shape[dim + 1 :]), 1, np.float32)
        for ours in (graph.scatter_max, graph.scatter_min):
            for out in (None, held):
                want = ours(src, index, dim, dim_size=6, out=None if out is None else out.copy())
                with mock.patch.object(direct, "ready", return_value=None):
                    got = ours(src, index, dim, dim_size=6, out=None if out is None else out.copy())
                assert not difference(got[0], want[0]) and not difference(got[1], want[1])


def test_no_index_is_looked_at_beside_a_src_without_elements() -> None:
    for shape, dim in (((3, 0), 0), ((0, 3), 1), ((2, 3, 0), 1)):
        for index in ([0, 2, 1], [0, -2, 9]):
            want = list(shape)
            for size in (0, 2):
                want[dim] = size
                assert graph.scatter(np.ones(shape), index, dim, dim_size=size or None).shape == tuple(want)


def test_out_may_share_memory_with_src_and_index() -> None:
    memory = np.arange(12.0).reshape(6, 2)
    want = graph.scatter(memory[2:].copy(), INDEX, 0, out=memory[:4].copy())
    assert not difference(graph.scatter(memory[2:], INDEX, 0, out=memory[:4]), want)
    index = np.array([0, 1, 1, 0])
    want = graph.scatter_reduce(np.zeros(4, np.int64), 0, index.copy(), index.copy(), "sum", False)
    assert not difference(graph.scatter_reduce(np.zeros(4, np.int64), 0, index, index, "sum", False, out=index), want)
    memory = np.arange(12.0)
    want = graph.scatter_reduce(memory[0:10:2].copy(), 0, index, np.ones(4), "sum")
    assert not difference(graph.scatter_reduce(memory[0:10:2], 0, index, np.ones(4), "sum", out=memory[1:6]), want)


# Against NumPy and torch


def test_sums_and_extremes_are_numpys() -> None:
    chance = np.random.default_rng(3)
    src, index = chance.random((5000, 8)), chance.integers(0, 90, 5000)
    for name, function, first in (("sum", np.add, 0.0), ("max", np.maximum, -np.inf), ("mul", np.multiply, 1.0)):
        want = np.full((100, 8), first)
        function.at(want, index, src)
        want[90:] = name == "mul"
        assert not difference(graph.scatter(src, index, 0, 100, name), want)
    weights = chance.random(5000)
    assert not difference(graph.scatter(weights, index), np.bincount(index, weights))


@needs_torch
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("tag", ["f32", "i64", "i8", "u8", "f64"])
def test_scatter_reduce_gives_torchs_values(reduce: str, include_self: bool, tag: str) -> None:
    import torch

    chance = np.random.default_rng(4)
    for shape, own, dim in (((30, 4), (7, 4), 0), ((3, 40), (3, 9), 1), ((2, 30, 3), (4, 6, 5), -2), ((50,), (20,), 0)):
        # whole numbers, so that the order of sums has no say; few, so that counts fit the type
        src, base = (chance.integers(-3 if tag[0] != "u" else 0, 4, s).astype(values.DTYPES[tag]) for s in (shape, own))
        index = chance.integers(0, own[dim], shape)
        want = torch.from_numpy(base).scatter_reduce(
            dim, torch.from_numpy(index), torch.from_numpy(src), reduce, include_self=include_self
        )
        got = graph.scatter_reduce(base, dim, index, src, reduce, include_self)
        assert got.dtype == base.dtype
        if reduce == "mean" and tag[0] == "f":
            np.testing.assert_allclose(got, want.numpy(), rtol=1e-6)
        else:
            assert np.array_equal(got, want.numpy())


@needs_torch
def test_tensors_go_in_and_nan_is_treated_as_torch_does() -> None:
    import torch

    src = torch.tensor([[1.0, float("nan")], [2.0, 3.0], [float("nan"), 0.0]])
    index = torch.tensor([1, 1, 0])
    for reduce in ("amax", "amin"):
        want = torch.zeros(3, 2).scatter_reduce(0, index[:, None].expand(-1, 2), src, reduce, include_self=False)
        assert not difference(graph.scatter_reduce(torch.zeros(3, 2), 0, index, src, reduce, False), want.numpy())
        name = reduce[1:]
        assert not difference(graph.scatter(src, index, 0, 3, name), want.numpy())


# Errors


@pytest.mark.parametrize("given_size", [3, None])
def test_an_index_does_not_count_from_the_end(given_size: int | None) -> None:
    out = np.zeros((3, 2), np.float32)
    for kind in (np.int32, np.int64):
        with pytest.raises(IndexOutOfBounds, match=r"scatter: index\[1\] is -1, allowed is in \[0, 2\]") as caught:
            graph.scatter(SRC, np.array([0, -1, 2, 1], kind), 0, given_size)
        assert caught.value.positions == ((1,),)
    with pytest.raises(IndexError, match=r"index\[2\] is 3"):
        graph.scatter(SRC, [0, 1, 3, 1], 0, 3)
    with pytest.raises(IndexError, match=r"index\[2\] is 3"):
        graph.scatter(SRC, [0, 1, 3, 1], 0, out=out)
    assert not out.any()


def test_what_is_advised_for_negative_indices_works() -> None:
    src, index = np.arange(6.0).reshape(2, 3), np.array([1, -1, 0])
    names = {"np": np, "src": src, "index": index}
    with pytest.raises(IndexOutOfBounds, match=r"in \[0, 3\] and none counts from the end here: use ") as caught:
        graph.scatter_sum(src, index, 1, dim_size=4)
    wrapped, _, dropped = str(caught.value).partition(": use ")[2].partition(" for that, or ")
    want = [[2, 0, 0, 1], [5, 3, 0, 4]]
    assert graph.scatter_sum(src, eval(wrapped, names), 1, dim_size=4).tolist() == want
    rows, _, kept = dropped.removesuffix(" to leave such rows out").partition(" and ")
    assert graph.scatter_sum(eval(rows, names), eval(kept, names), 1).tolist() == [[2, 0], [5, 3]]
    with pytest.raises(IndexOutOfBounds, match=r"index \+ dim_size, index\) for that$"):
        graph.scatter_sum(src, [[1, -1, 0]], 1)
    with pytest.raises(IndexOutOfBounds, match=r"is 5, allowed is in \[0, 2\] \(1 more found\)$"):
        graph.scatter_sum(src, [5, -1, 0], 1, dim_size=3)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: graph.scatter(SRC, [0, 1], 0),
            ShapeError,
            "2, but src has 4 rows along dim 0: did you mean dim=1",
        ),
        (lambda: graph.scatter(SRC, INDEX), ShapeError, "4, but src has 2 rows along dim 1: did you mean dim=0"),
        (lambda: graph.scatter(SRC, [0, 1, 0], 0), ShapeError, "3, but src has 4 rows along dim 0$"),
        (lambda: graph.scatter(SRC, np.zeros((4, 3), int), 0), ShapeError, "index has shape"),
        (lambda: graph.scatter(SRC, np.zeros((2, 2), int), 0), ShapeError, "cannot be expanded"),
        (lambda: graph.scatter(SRC, INDEX, 2), ShapeError, "dim is 2, allowed is -2 to 1"),
        (lambda: graph.scatter(SRC, INDEX, 0, -1), ShapeError, "dim_size is -1"),
        (lambda: graph.scatter(SRC, INDEX, 0, np.zeros(3)), ShapeError, "dim_size is"),
        (lambda: graph.scatter(SRC, INDEX.astype(float), 0), DTypeError, "index is float64"),
        (lambda: graph.scatter(SRC, INDEX, 0, reduce="median"), SpecError, "reduce='median': allowed is one of sum"),
        (lambda: graph.scatter(SRC, INDEX, 0, 3, "max", accumulate="float32"), DTypeError, "float16"),
        (lambda: graph.scatter(SRC.astype("f2"), INDEX, 0, 3, "max", accumulate="float32"), SpecError, "rounded"),
        (lambda: graph.scatter(SRC.astype("f2"), INDEX, 0, 3, accumulate="float64"), SpecError, "float32"),
        (lambda: graph.scatter(SRC > 0, INDEX, 0, 3, "mean"), DTypeError, "no mean"),
        (lambda: graph.scatter(SRC * 1j, INDEX, 0, 3, "max"), DTypeError, "complex numbers have no max"),
        (lambda: graph.scatter(SRC, INDEX, 0, out=np.zeros((3, 2))), DTypeError, "out is float64"),
        (lambda: graph.scatter(SRC, INDEX, 0, out=np.zeros((3, 3), "f4")), ShapeError, "out has shape"),
        (lambda: graph.scatter(SRC, INDEX, 0, 4, out=np.zeros((3, 2), "f4")), ShapeError, "dim_size is 4, out has 3"),
        (lambda: graph.scatter(SRC, INDEX, 0, out=[1, 2]), DTypeError, "out is a list"),
        (lambda: graph.scatter(np.float32(1), INDEX), ShapeError, "rank 0"),
        (lambda: graph.scatter(np.array(["a", "b"]), [0, 0]), DTypeError, "src is <U1, allowed are numbers and bool"),
        (lambda: graph.scatter(np.zeros(2, "M8[s]"), [0, 0], reduce="max"), DTypeError, "src is datetime64"),
        (lambda: graph.scatter_reduce(np.zeros(2, "T"), 0, [0, 0], np.zeros(2, "T"), "sum"), DTypeError, "data is"),
        (lambda: graph.scatter_reduce(SRC, 0, INDEX, SRC, "max"), SpecError, "amax"),
        (lambda: graph.scatter_reduce(SRC, 0, INDEX, SRC[0], "sum"), ShapeError, "rank"),
        (lambda: graph.scatter_reduce(SRC, 0, np.zeros((5, 2), int), SRC, "sum"), ShapeError, "allowed is 4"),
        (lambda: graph.scatter_reduce(SRC, 0, INDEX, SRC.astype("f8"), "sum"), DTypeError, "src.astype"),
        (lambda: graph.scatter(SRC, INDEX, 0, 2**62), ShapeError, "the result would have shape"),
        (lambda: graph.scatter(SRC, [0, 1, 2, 2**63 - 1], 0), ShapeError, "the result would have shape"),
        (lambda: graph.scatter(SRC[:0], INDEX[:0], 0, threads=0), SpecError, "threads=0"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_a_number_of_threads_that_means_nothing_is_refused_before_out_is_written() -> None:
    out = np.full(SRC.shape, 7, SRC.dtype)
    with pytest.raises(SpecError, match="threads"):
        graph.scatter_reduce(SRC, 0, INDEX, SRC, "sum", out=out, threads=0)
    assert (out == 7).all()


@pytest.mark.parametrize(
    ("step", "call"),
    [
        ("apply", lambda out: graph.scatter_sum(SRC, INDEX, 0, out=out)),
        ("counts", lambda out: graph.scatter_mean(SRC, INDEX, 0, out=out)),
        ("extremes", lambda out: graph.scatter_max(SRC, INDEX, 0, out=out)),
        ("apply_wide", lambda out: graph.scatter_sum(HALVES, INDEX, 0, out=out, accumulate="float32")),
        ("apply", lambda out: graph.scatter_reduce(np.ones_like(out), 0, INDEX, SRC, "amax", out=out)),
        ("apply", lambda out: graph.scatter_reduce(out, 0, INDEX, SRC, "sum", False, out=out)),
        ("touched", lambda out: graph.scatter_reduce(out, 0, INDEX, SRC, "amin", False, out=out)),
        ("counts", lambda out: graph.scatter_reduce(out, 0, INDEX, SRC, "mean", out=out)),
    ],
)
def test_out_is_untouched_where_a_step_cannot_be_had(step: str, call: Any) -> None:
    out = np.full((INDEX.max() + 1, SRC.shape[1]), -7, HALVES.dtype if step == "apply_wide" else SRC.dtype)
    before = out.copy()
    where = compose if step == "extremes" else steps
    with mock.patch.object(where, step, side_effect=KernelUnavailable("none")), pytest.raises(KernelUnavailable):
        call(out)
    assert not difference(out, before)
    call(out)
    assert difference(out, before)


def test_whatever_is_true_includes_data_once() -> None:
    want = graph.scatter_reduce(SRC, 0, INDEX, SRC, "mean", include_self=True)
    for true in (2, "yes"):
        assert (graph.scatter_reduce(SRC, 0, INDEX, SRC, "mean", include_self=true) == want).all()  # type: ignore[arg-type]


def test_the_default_import_leaves_graphs_out() -> None:
    import subprocess
    import sys

    code = "import scattergen, sys; print([m for m in sys.modules if m.startswith('scattergen.graph')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
    assert accumulated.__name__ == "scattergen.call.accumulated"
