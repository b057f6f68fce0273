"""For any shapes, ranks, indices and ``out=``: the reference's bits, or the right exception and no write."""

from __future__ import annotations

from typing import Any, TypeAlias

import layouts
import numpy as np
import pytest
import values
from bits import difference
from cases import oracle
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scattergen
from scattergen.errors import IndexOutOfBounds, ScattergenError, ShapeError
from scattergen.operators import reference

Array: TypeAlias = "np.ndarray[Any, Any]"

REDUCTIONS = ("none", "add", "mul", "max", "min")
KINDS = (
    ("f32", np.int64, "none"),
    ("f32", np.int64, "add"),
    ("i8", np.int32, "mul"),
    ("i8", np.int32, "min"),
    ("f16", np.int64, "max"),
)
"""What the calls are drawn from; the product has all types, and few kernels make this fast."""

BAD_OFFSETS = (0, 1, 7, 2**31 - 8, 2**31)


class Call:
    """One call: its arrays and attributes, and its functions on both sides."""

    def __init__(self, op: str, data: Array, indices: Array, updates: Array, axis: int, reduction: str) -> None:
        self.op, self.axis, self.reduction = op, axis, reduction
        self.data, self.indices, self.updates = data, indices, updates

    def __repr__(self) -> str:
        arrays = ((self.data, "data"), (self.indices, "indices"), (self.updates, "updates"))
        shapes = ", ".join(f"{name} {array.dtype}{list(array.shape)}" for array, name in arrays)
        return f"{self.op}({shapes}, axis={self.axis}, {self.reduction}; indices {self.indices.tolist()})"

    def run(self, out: Array | None = None, threads: int | None = None) -> Any:
        """Call the public function."""
        arrays = (self.data, self.indices, self.updates)
        if self.op == "ScatterND":
            return scattergen.scatter_nd(*arrays, self.reduction, out=out, threads=threads)
        return scattergen.scatter_elements(*arrays, self.axis, self.reduction, out=out, threads=threads)

    def expected(self) -> Array | type[Exception]:
        """Return the reference's result, or the class that has to be raised."""
        arrays = (self.data, self.indices, self.updates)
        try:
            axis = oracle.validate(self.op, 18, *arrays, self.axis, self.reduction)
            if self.op == "ScatterND":
                return reference.scatter_nd(*arrays, self.reduction)
            return reference.scatter_elements(*arrays, axis, self.reduction)
        except (ValueError, TypeError, IndexError) as error:
            return next(kind for kind in (ValueError, TypeError, IndexError) if isinstance(error, kind))


@st.composite
def calls(draw: st.DrawFn, low: int = 1, high: int = 8) -> Call:
    """Draw a call that is right in most cases; some have a bad index, shape, axis or depth."""
    dims = draw(st.integers(low, high))
    op = draw(st.sampled_from(["ScatterElements", "ScatterND"]))
    tag, index_type, reduction = draw(st.sampled_from(KINDS))
    dtype, index = values.DTYPES[tag], np.dtype(index_type)
    size = st.integers(0, 4) if dims <= 3 else st.sampled_from([1, 1, 1, 2, 2, 3])
    few = draw(st.lists(size, min_size=min(dims, 8), max_size=min(dims, 8)))
    shape = tuple(draw(st.permutations(few + [1] * (dims - len(few)))))
    wrong = draw(st.sampled_from(["", "", "", "index", "index", "updates", "place", "larger"]))
    axis = 0
    if op == "ScatterND":
        depth = draw(st.integers(0, dims)) if wrong != "place" else dims + 1
        batch = tuple(draw(st.lists(st.integers(0, 5), max_size=min(3, 64 - dims + min(depth, dims)))))
        places, sizes = (*batch, depth), shape[:depth]
        updated = (*batch, *shape[depth:])
        sizes = (*sizes, 1) if wrong == "place" else sizes
    else:
        axis = draw(st.integers(-dims, dims - 1)) if wrong != "place" else dims
        at, full = axis % dims, draw(st.booleans())
        places = tuple(
            draw(st.integers(0, 9)) if dim == at else extent if full else draw(st.integers(0, extent))
            for dim, extent in enumerate(shape)
        )
        if wrong == "larger" and dims > 1:
            longer = (at + 1) % dims
            places = (*places[:longer], shape[longer] + 1, *places[longer + 1 :])
        sizes, updated = (shape[at],), places
    if wrong == "updates":
        updated = (*updated, 1) if len(updated) < 64 and draw(st.booleans()) else (*updated[:-1], 11)
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    if 0 in sizes:
        indices = np.zeros(places, index)  # any value is out of bounds, where there is one
    else:
        style = draw(st.sampled_from(["random", "ends", "same"]))
        indices = values.indices(chance, places, sizes, index, style)
    if wrong == "index" and indices.size:
        place = np.unravel_index(draw(st.integers(0, indices.size - 1)), places)
        limit = sizes[int(place[-1]) % len(sizes)] if op == "ScatterND" else sizes[0]
        beyond = draw(st.sampled_from(BAD_OFFSETS))
        value = limit + beyond if draw(st.booleans()) else -limit - 1 - beyond
        indices[place] = np.clip(value, np.iinfo(index).min, np.iinfo(index).max)
    lay = draw(st.sampled_from((layouts.plain, layouts.strided, layouts.negative, layouts.fortran)))
    data = lay(values.elements(chance, shape, dtype, 0.05))
    updates = lay(values.elements(chance, updated, dtype, 0.05))
    return Call(op, data, lay(indices), updates, axis, reduction)


def check(call: Call, out: Array | None = None, watched: tuple[Array, ...] = ()) -> None:
    """Run a call and check its result or exception; `watched` may not be written, nor `out` on failure."""
    want = call.expected()
    inputs = [array.tobytes() for array in watched]
    if isinstance(want, type):
        before = b"" if out is None else out.tobytes()
        with pytest.raises(want) as caught:
            call.run(out)
        assert isinstance(caught.value, ScattergenError)
        assert out is None or out.tobytes() == before
    else:
        got = call.run(out)
        assert out is None or got is out
        assert not difference(np.array(got, order="C"), want)
    assert [array.tobytes() for array in watched] == inputs


@settings(max_examples=400)
@given(calls())
def test_any_call(call: Call) -> None:
    check(call, None, (call.data, call.indices, call.updates))


@settings(max_examples=30)
@given(calls(33, 64))
def test_high_ranks(call: Call) -> None:
    check(call, None, (call.data, call.indices, call.updates))


def test_the_highest_rank() -> None:
    shape = (1,) * 62 + (3, 2)
    data, chance = np.zeros(shape, np.float32), np.random.default_rng(0)
    for axis in (0, 62, 63):
        sizes = (shape[axis],)
        indices = values.indices(chance, shape, sizes, np.dtype(np.int64), "random")
        check(Call("ScatterElements", data, indices, data + 1, axis, "add"))
    tuples = np.zeros((5, 64), np.int64)
    tuples[:, 62] = [0, 1, -1, 2, 2]
    check(Call("ScatterND", data, tuples, np.arange(5, dtype=np.float32), 0, "add"))


@settings(max_examples=150)
@given(calls(), st.sampled_from([layouts.plain, layouts.strided, layouts.negative, layouts.fortran]))
def test_out_elsewhere(call: Call, lay: Any) -> None:
    out = lay(np.full(call.data.shape, 77, call.data.dtype))
    check(call, out, (call.data, call.indices, call.updates))


@settings(max_examples=150)
@given(calls())
def test_out_is_data(call: Call) -> None:
    check(call, call.data, (call.indices, call.updates))


@settings(max_examples=150)
@given(calls(), st.integers(0, 9))
def test_out_overlaps_data(call: Call, shift: int) -> None:
    buffer = np.zeros(call.data.size + 9, call.data.dtype)
    data = buffer[: call.data.size].reshape(call.data.shape)
    data[...] = call.data
    call.data = data
    check(call, buffer[shift : shift + data.size].reshape(data.shape), (call.indices, call.updates))


@settings(max_examples=150)
@given(calls(), st.integers(-3, 3))
def test_out_overlaps_updates(call: Call, shift: int) -> None:
    size = max(call.data.size, call.updates.size)
    buffer = np.zeros(size + 9, call.data.dtype)
    updates = buffer[4 : 4 + call.updates.size].reshape(call.updates.shape)
    updates[...] = call.updates
    call.updates = updates
    out = buffer[4 + shift : 4 + shift + call.data.size].reshape(call.data.shape)
    check(call, out, (call.data, call.indices))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("bad", [False, True])
def test_out_is_indices(reduction: str, bad: bool) -> None:
    indices = np.array([2, 0, 1, 1, 9 if bad else -1], np.int64)
    data, updates = np.arange(5), np.array([5, 6, 7, 8, 9])
    check(Call("ScatterElements", data, indices, updates, 0, reduction), indices, (data, updates))


@settings(max_examples=100)
@given(calls(), st.sampled_from([1, 2, 7]))
def test_the_number_of_threads_changes_no_bit(call: Call, threads: int) -> None:
    want = call.expected()
    if isinstance(want, type):
        with pytest.raises(want):
            call.run(threads=threads)
    else:
        assert not difference(call.run(threads=threads), want)


@settings(max_examples=200)
@given(calls())
@example(Call("ScatterElements", np.zeros((2, 0)), np.zeros((2, 0), np.int64), np.zeros((2, 0)), 1, "add"))
def test_the_reference_is_the_plain_loop(call: Call) -> None:
    want = call.expected()
    arrays = (call.data, call.indices, call.updates)
    if isinstance(want, type):
        with pytest.raises(want):
            oracle.scatter(call.op, 18, *arrays, call.axis, call.reduction)
    else:
        assert not difference(oracle.scatter(call.op, 18, *arrays, call.axis, call.reduction), want)


@pytest.mark.parametrize(
    ("tag", "reduction"),
    [(tag, f) for tag in values.DTYPES for f in REDUCTIONS if tag[0] != "c" or f not in ("max", "min")],
)
def test_the_reference_is_the_plain_loop_in_each_type(tag: str, reduction: str) -> None:
    chance, dtype = np.random.default_rng(3), values.DTYPES[tag]
    for special in (0.0, 0.5):
        data = values.elements(chance, (3, 11), dtype, special)
        updates = values.elements(chance, (3, 40), dtype, special)
        indices = values.indices(chance, (3, 40), (11,), np.dtype(np.int64), "random")
        want = oracle.scatter("ScatterElements", 18, data, indices, updates, 1, reduction)
        assert not difference(reference.scatter_elements(data, indices, updates, 1, reduction), want)


def test_the_first_bad_index_is_named_in_every_layout() -> None:
    plain = np.zeros((40, 60), np.int64)
    plain[7, 11], plain[30, 2] = 5, -6
    for lay in (layouts.plain, layouts.fortran, layouts.strided, layouts.negative, layouts.packed):
        for axis in (0, 1):
            with pytest.raises(IndexOutOfBounds) as caught:
                scattergen.scatter_elements(
                    np.zeros((5, 60) if axis == 0 else (40, 5)), lay(plain), np.zeros((40, 60)), axis
                )
            assert caught.value.positions == ((7, 11), (30, 2))
            assert (caught.value.values, caught.value.limits) == ((5, -6), ((-5, 5), (-5, 5)))


def test_an_out_that_does_not_fit_is_refused() -> None:
    data, indices, updates = np.zeros(3), np.array([0]), np.ones(1)
    for out in (np.zeros(4), np.zeros((3, 1))):
        with pytest.raises(ShapeError, match="out"):
            scattergen.scatter_elements(data, indices, updates, out=out)
    with pytest.raises(TypeError, match="out"):
        scattergen.scatter_elements(data, indices, updates, out=np.zeros(3, np.float32))
    with pytest.raises(ValueError, match=r"out.*read-only"):
        scattergen.scatter_elements(data, indices, updates, out=layouts.read_only(data))
