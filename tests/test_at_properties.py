"""NumPy's in-place idiom for any index expression: NumPy's own bits and shapes, or an error and no write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import layouts
import numpy as np
from bits import difference, native
from hypothesis import given, settings
from hypothesis import strategies as st

from scattergen import at


def numpys_assign(a: Any, indices: Any, b: Any) -> None:
    a[indices] = b


KINDS: tuple[tuple[Callable[..., None], Callable[..., None], str], ...] = (
    (at.add, np.add.at, "float32"),
    (at.add, np.add.at, "int32"),
    (at.multiply, np.multiply.at, "uint8"),
    (at.maximum, np.maximum.at, "float64"),
    (at.minimum, np.minimum.at, "int16"),
    (at.maximum, np.maximum.at, "bool"),
    (at.assign, numpys_assign, "float32"),
    (at.assign, numpys_assign, "uint8"),
)
"""What the calls are drawn from: few kernels make this fast."""

LAYOUTS = (layouts.plain, layouts.fortran, layouts.strided, layouts.negative, layouts.unaligned, layouts.swapped)
INDEX_TYPES = ("int64", "int32", "int8", "uint64")


class Call:
    """A call: what it is done with, and what NumPy has instead."""

    def __init__(self, draw: Any) -> None:
        self.ours, self.numpys, self.dtype = draw(st.sampled_from(KINDS))
        self.chance = np.random.default_rng(draw(st.integers(0, 2**32)))
        shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
        self.a = self.elements(shape)
        self.indices = self.expression(draw, shape)
        self.bad = False
        try:
            named = self.a[self.indices].shape
        except IndexError:
            named, self.bad = (), True
        kept = draw(st.lists(st.booleans(), min_size=len(named), max_size=len(named)))
        self.b = self.elements(tuple(n if keep else 1 for n, keep in zip(named, kept, strict=True)))
        self.lay = [draw(st.sampled_from(LAYOUTS)) for _ in range(3)]

    def __repr__(self) -> str:
        return f"{self.ours.__name__}({self.a!r}, {self.indices!r}, {self.b!r}); {self.lay}"

    def elements(self, shape: tuple[int, ...]) -> Any:
        return (self.chance.integers(-9, 9, shape) / (2 if self.dtype[0] == "f" else 1)).astype(self.dtype)

    def expression(self, draw: Any, shape: tuple[int, ...]) -> Any:
        """Return an index expression for an array of a shape; now and then it is out of bounds."""
        batch = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))
        items: list[Any] = []
        left = list(shape)
        dots = False
        while left and len(items) < 7:
            kind = draw(st.sampled_from("aaaaaallssimmn.e"))
            if kind in "al":
                size, bad = left.pop(0), draw(st.integers(0, 40)) == 0
                found = self.chance.integers(-size - bad, size + bad, self.part(draw, batch))
                dtype = draw(st.sampled_from(INDEX_TYPES))
                items.append(found.astype(dtype) if kind == "a" else found.tolist())
            elif kind == "s":
                left.pop(0)
                items.append(slice(*draw(st.sampled_from([(None,), (None, None, -1), (1, None), (None, None, 2)]))))
            elif kind == "i":
                size = left.pop(0)
                items.append(draw(st.integers(-size, size - 1)))
            elif kind == "m":
                rank = draw(st.integers(1, min(2, len(left))))
                items.append(self.chance.random(left[:rank]) < 0.6)
                del left[:rank]
            elif kind == "n":
                items.append(None)
            elif kind == "." and not dots:
                dots = True
                items.append(...)
                del left[: draw(st.integers(0, len(left)))]
            else:
                break
        alone = len(items) == 1 and draw(st.booleans())
        return items[0] if alone else tuple(items)

    def part(self, draw: Any, batch: tuple[int, ...]) -> tuple[int, ...]:
        """Return a shape that broadcasts to that of a batch."""
        wide = tuple(1 if draw(st.integers(0, 5)) == 0 else extent for extent in batch)
        return wide[draw(st.integers(0, len(wide) - 1)) :] if draw(st.integers(0, 3)) == 0 else wide


def laid_out(one: Any, lay: Any) -> Any:
    return lay(one) if isinstance(one, np.ndarray) and one.ndim and one.dtype.kind != "b" else one


@settings(max_examples=250)
@given(st.data())
def test_any_index_expression(data: Any) -> None:
    call = Call(data.draw)
    want = call.a.copy()
    try:
        call.numpys(
            want, call.indices, call.b if call.bad else np.array(np.broadcast_to(call.b, want[call.indices].shape))
        )
    except IndexError as error:
        refused: IndexError | None = error
    else:
        refused = None
    lay_a, lay_indices, lay_b = call.lay
    a, b = laid_out(call.a.copy(), lay_a), laid_out(call.b, lay_b)
    indices = (
        tuple(laid_out(one, lay_indices) for one in call.indices)
        if isinstance(call.indices, tuple)
        else laid_out(call.indices, lay_indices)
    )
    for _ in range(3):  # the last of them by a plan, where there is one
        np.copyto(a, call.a)
        try:
            call.ours(a, indices, b)
        except IndexError:
            assert refused is not None
            assert not difference(np.array(native(a), order="C"), call.a)
        else:
            assert refused is None
            assert not difference(np.array(native(a), order="C"), want)


@settings(max_examples=200)
@given(st.data())
def test_put_along_any_axis(data: Any) -> None:
    draw = data.draw
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    size = shape[axis]
    wide = [extent if draw(st.integers(0, 3)) else 1 for extent in shape]
    wide[axis] = draw(st.integers(1, 7))
    bad = draw(st.integers(0, 20)) == 0
    indices = chance.integers(-size - bad, size + bad, wide).astype(draw(st.sampled_from(INDEX_TYPES)))
    named = list(shape)
    named[axis] = wide[axis]
    arr = chance.integers(0, 99, shape).astype("float32")
    b = chance.integers(0, 99, [extent if draw(st.booleans()) else 1 for extent in named]).astype("float32")
    want = arr.copy()
    try:
        np.put_along_axis(want, indices, b, axis)
    except IndexError:
        want = arr
    lays = [draw(st.sampled_from(LAYOUTS)) for _ in range(3)]
    mine = lays[0](arr.copy())
    given_ = lays[1](indices), lays[2](b)
    for _ in range(3):
        np.copyto(mine, arr)
        try:
            at.put_along_axis(mine, *given_, axis)
        except IndexError:
            assert want is arr
        assert not difference(np.array(native(mine), order="C"), want)
