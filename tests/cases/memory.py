"""Memory layouts, and inputs that share memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import layouts
import numpy as np

from .case import ND, SE, Case, f32, f64, i64


def _in_layout(id: str, lay: Callable[[Any], Any]) -> Iterator[Case]:
    """Two small sums in one layout: of all inputs, then of each alone."""
    data, indices = f32(np.arange(6).reshape(2, 3)), i64([[1, 0, 1], [0, 0, 1]])
    updates = f32([[10, 20, 30], [40, 50, 60]])
    expect = f32([[0 + 40, 1 + 20 + 50, 2], [3 + 10, 4, 5 + 30 + 60]])
    for letter, inputs in (
        ("a", (lay(data), lay(indices), lay(updates))),
        ("b", (lay(data), indices, updates)),
        ("c", (data, lay(indices), updates)),
        ("d", (data, indices, lay(updates))),
    ):
        yield Case(id + letter, SE, 18, *inputs, reduction="add", expect=expect, note=lay.__name__)
    yield Case(
        id + "e",
        ND,
        18,
        lay(np.zeros((2, 2, 3))),
        lay(i64([[1, 0], [0, 1]])),
        lay(f64([[1, 2, 3], [4, 5, 6]])),
        reduction="max",
        expect=f64([[[0, 0, 0], [4, 5, 6]], [[1, 2, 3], [0, 0, 0]]]),
        note=lay.__name__,
    )


_BUFFER = f32([0, 1, 2, 3, 4, 5])
_SAME = i64([2, 0, 1])

CASES = [
    *_in_layout("B92", layouts.strided),
    *_in_layout("B88", layouts.negative),
    *_in_layout("B91", layouts.fortran),
    *_in_layout("B87", layouts.unaligned),
    *_in_layout("B86", layouts.packed),
    *_in_layout("B99", layouts.swapped),
    *_in_layout("B96", layouts.read_only),
    Case(
        "B47",
        SE,
        11,
        np.broadcast_to(f32(np.zeros(5)), (3, 5)),
        i64([[0, 1, 2, 0, 0], [2, 0, 0, 1, 2]]),
        f32([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]),
        expect=f32([[1, 7, 8, 4, 5], [0, 2, 0, 9, 0], [6, 0, 3, 0, 10]]),
        note="data with a zero stride: the result owns all its cells",
    ),
    Case(
        "B64a",
        SE,
        16,
        f32(np.zeros((2, 4))),
        np.broadcast_to(i64([[0], [1], [0]]), (3, 4)),
        f32(np.arange(12).reshape(3, 4)),
        reduction="add",
        expect=f32([[8, 10, 12, 14], [4, 5, 6, 7]]),
        note="indices with a zero stride, as graph networks make them",
    ),
    Case(
        "B64b",
        SE,
        16,
        f32(np.zeros((2, 3))),
        i64([[0, 1, 0], [1, 1, 1]]),
        np.broadcast_to(f32(2.0), (2, 3)),
        reduction="add",
        expect=f32([[2, 0, 2], [2, 4, 2]]),
        note="updates is one number: both strides are zero",
    ),
    Case(
        "B64c",
        ND,
        18,
        f32(np.ones((3, 2))),
        np.broadcast_to(i64([1]), (4, 1)),
        f32(np.full((4, 2), 2.0)),
        reduction="mul",
        expect=f32([[1, 1], [16, 16], [1, 1]]),
        note="one index, four times, by a zero stride",
    ),
    Case(
        "B92f",
        SE,
        18,
        f32(np.arange(8).reshape(1, 2, 2, 2)).transpose(0, 2, 3, 1),
        i64([[[[1]], [[0]]]]),
        f32([[[[50]], [[60]]]]),
        axis=3,
        expect=f32([[[[0, 50], [1, 5]], [[60, 6], [3, 7]]]]),
        note="channels moved to the end by a view",
    ),
    Case(
        "B85a",
        SE,
        11,
        _BUFFER,
        i64([0, 1, 2, 3, 4, 5]),
        _BUFFER[::-1],
        expect=f32([5, 4, 3, 2, 1, 0]),
        note="updates is a reversed view of data",
    ),
    Case(
        "B85b",
        SE,
        11,
        _SAME,
        _SAME,
        i64([10, 20, 30]),
        expect=i64([20, 30, 10]),
        note="data and indices are one array; it must not change while it is read",
    ),
    Case(
        "B46",
        SE,
        16,
        _BUFFER[:4],
        i64([0, 0, 3]),
        _BUFFER[1:4],
        reduction="add",
        expect=f32([3, 1, 2, 6]),
        note="updates overlaps data by a shift",
    ),
    Case("B95", SE, 18, np.flip(f32([1, 34])), i64([0]), f32([7]), expect=f32([7, 1]), note="np.flip as data"),
]
