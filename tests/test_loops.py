"""The loop nest: it walks what the operator says, and its canonical form keeps the order of what collides."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from scattergen.lower.loops import Component, Loop, Nest, along_axis, by_tuples, canonical

Shape = tuple[int, ...]
Reads = dict[int, int]
"""What stands at each address of `indices`."""

Step = tuple[int, int]
"""The addresses of a target and of its update."""


def walk(nest: Nest, values: Reads) -> Iterator[Step]:
    """Yield the steps of a nest, as the docstring of `loops` says them."""
    for place in itertools.product(*(range(loop.extent) for loop in nest.loops)):
        out, index, update = (
            sum(i * stride for i, stride in zip(place, strides, strict=True))
            for strides in zip(*(loop[1:] for loop in nest.loops), strict=True)
        ) if nest.loops else (0, 0, 0)  # fmt: skip
        for j, component in enumerate(nest.components):
            out += component.stride * values[index + j * nest.component_step]
        yield out, update


def at(place: Sequence[int], strides: Sequence[int]) -> int:
    return sum(i * stride for i, stride in zip(place, strides, strict=True))


class Call:
    """Shapes and strides of one call, and random values for its indices, one for each address."""

    def __init__(self, data: Shape, shape: Shape, axis: int, strides: tuple[Shape, Shape, Shape], seed: int) -> None:
        self.data, self.shape, self.axis = data, shape, axis
        self.out, self.index, self.update = strides
        chance, self.values = random.Random(seed), Reads()
        for place in itertools.product(*map(range, shape)):
            size = data[axis] if axis >= 0 else data[place[-1]]
            # an address that several places share holds what is in bounds for all of them
            here = at(place, self.index)
            self.values[here] = min(self.values.get(here, size), chance.randrange(size))

    def __repr__(self) -> str:
        return f"{self.data} {self.shape} axis {self.axis}, strides {self.out} {self.index} {self.update}"

    def nest(self) -> Nest:
        if self.axis >= 0:
            return along_axis(self.shape, self.axis, self.data, self.out, self.index, self.update)
        return by_tuples(self.shape, self.data, self.out, self.index, self.update)

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the operator, by its definition."""
        if self.axis >= 0:
            for place in itertools.product(*map(range, self.shape)):
                target = list(place)
                target[self.axis] = self.values[at(place, self.index)]
                yield at(target, self.out), at(place, self.update)
            return
        depth = self.shape[-1]
        for batch in itertools.product(*map(range, self.shape[:-1])):
            found = [self.values[at((*batch, j), self.index)] for j in range(depth)]
            for rest in itertools.product(*map(range, self.data[depth:])):
                yield at((*found, *rest), self.out), at((*batch, *rest), self.update)


@st.composite
def apart(draw: st.DrawFn, shape: Shape) -> Shape:
    """Draw strides under which no two elements share memory: any order of dims, gaps, either sign."""
    strides, reach = [0] * len(shape), 4
    for dim in draw(st.permutations(range(len(shape)))):
        strides[dim] = reach * draw(st.sampled_from([1, 1, -1]))
        reach = reach * max(1, shape[dim]) + draw(st.sampled_from([0, 0, 0, 4, 1]))
    return tuple(strides)


def packed(shape: Shape) -> Shape:
    return tuple(4 * math.prod(shape[dim + 1 :]) for dim in range(len(shape)))


@st.composite
def strides(draw: st.DrawFn, shape: Shape) -> Shape:
    """Draw strides of an input: those of C order, any without overlap, or some of them zero."""
    kind = draw(st.sampled_from(["packed", "apart", "zeros"]))
    if kind == "packed":
        return packed(shape)
    found = draw(apart(shape))
    return found if kind == "apart" else tuple(draw(st.sampled_from([0, stride])) for stride in found)


SIZE = st.sampled_from([1, 1, 2, 2, 3, 4])


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Draw a call of either kind, of up to four dims."""
    data = tuple(draw(st.lists(SIZE, min_size=1, max_size=4)))
    axis = draw(st.integers(-1, len(data) - 1))
    if axis < 0:
        batch = draw(st.lists(st.integers(0, 3), max_size=2))
        shape = (*batch, draw(st.integers(0, len(data))))
        updates = (*shape[:-1], *data[shape[-1] :])
    else:
        whole = draw(st.booleans())
        shape = updates = tuple(
            draw(st.integers(0, 5)) if dim == axis else size if whole else draw(st.integers(0, size))
            for dim, size in enumerate(data)
        )
    out = packed(data) if draw(st.booleans()) else draw(apart(data))
    return Call(data, shape, axis, (out, draw(strides(shape)), draw(strides(updates))), draw(st.integers(0, 9999)))


def by_target(steps: Iterator[Step]) -> dict[int, list[int]]:
    """Return for each target its updates in order."""
    found: dict[int, list[int]] = {}
    for target, update in steps:
        found.setdefault(target, []).append(update)
    return found


@settings(max_examples=200)
@given(calls())
def test_a_nest_walks_what_the_operator_says(call: Call) -> None:
    assert list(walk(call.nest(), call.values)) == list(call.steps())


@settings(max_examples=500)
@given(calls())
def test_the_canonical_nest_keeps_the_order_of_each_target(call: Call) -> None:
    assert by_target(walk(canonical(call.nest()), call.values)) == by_target(call.steps())


@settings(max_examples=200)
@given(calls())
def test_the_canonical_nest_is_short_and_final(call: Call) -> None:
    nest = canonical(call.nest())
    assert canonical(nest) == nest
    assert all(loop.extent != 1 for loop in nest.loops)
    for outer, inner in itertools.pairwise(nest.loops):
        assert outer[1:] != tuple(inner.extent * stride for stride in inner[1:]), "these two are one loop"
    moving = [abs(loop.out) for loop in nest.loops if loop.out]
    assert moving == sorted(moving, reverse=True)


def test_an_array_in_c_order_has_few_loops() -> None:
    shape = (2, 3, 4, 5, 6)
    nest = canonical(along_axis(shape, 2, shape, packed(shape), packed(shape), packed(shape)))
    assert nest.loops == (Loop(6, 480, 480, 480), Loop(4, 0, 120, 120), Loop(30, 4, 4, 4))
    assert nest.components == (Component(4, 120),)


def test_fortran_order_is_c_order_of_the_dims_reversed() -> None:
    shape = (2, 3, 4)
    reversed_strides = packed(shape[::-1])[::-1]
    fortran = canonical(along_axis(shape, 0, shape, *[reversed_strides] * 3))
    backwards = canonical(along_axis(shape[::-1], 2, shape[::-1], *[packed(shape[::-1])] * 3))
    assert fortran == backwards


def test_tuples_of_many_dims_are_one_loop() -> None:
    nest = canonical(by_tuples((2, 3, 4, 2), (5, 6, 7), packed((5, 6, 7)), packed((2, 3, 4, 2)), packed((2, 3, 4, 7))))
    assert nest == Nest((Loop(24, 0, 8, 28), Loop(7, 4, 0, 4)), (Component(5, 168), Component(6, 28)), 4)


def test_the_interpreter_sees_a_wrong_order() -> None:
    call = Call((1,), (3,), 0, ((4,), (4,), (4,)), 0)
    nest = call.nest()
    assert by_target(walk(nest, call.values)) == {0: [0, 4, 8]} == by_target(call.steps())
    backwards = Nest((Loop(3, 0, 4, -4),), nest.components, 0)
    assert by_target((out, update + 8) for out, update in walk(backwards, call.values)) == {0: [8, 4, 0]}
