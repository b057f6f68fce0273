"""Strings, which ONNX has among its types: they move, join and compare; fixed widths grow."""

from __future__ import annotations

import numpy as np

from .case import ND, SE, Array, Case, S, i32, i64


def text(*values: object) -> Array:
    """Return values as objects."""
    return np.array(values, object)


def wide(values: object, width: int) -> Array:
    """Return strings of a fixed width."""
    return np.array(values, f"U{width}")


CASES = [
    Case("strings-a", SE, 11, text("a", "b", "c"), i64([2, 0]), text("x", "yy"), expect=text("yy", "b", "x")),
    Case("strings-b", S, 9, text("a", "b", "c"), i32([-1]), text("x"), expect=text("a", "b", "x")),
    Case(
        "strings-c",
        ND,
        18,
        wide([["a", "b"], ["c", "d"]], 1),
        i64([[1], [1]]),
        wide([["long", "er"], ["x", "y"]], 4),
        expect=wide([["a", "b"], ["x", "y"]], 4),
        note="the last one wins; the width is that of the wider type",
    ),
    Case(
        "strings-d",
        SE,
        16,
        wide(["ab", "c"], 2),
        i64([0, 0, 1]),
        wide(["x", "yz", ""], 2),
        reduction="add",
        expect=wide(["abxyz", "c"], 5),
        note="joined in order, in the width that it needs",
    ),
    Case(
        "strings-e",
        ND,
        18,
        np.array([b"b", b"b", b"b"]),
        i64([[0], [1], [2], [0]]),
        np.array([b"a", b"ba", b"b", b"c"]),
        reduction="max",
        expect=np.array([b"c", b"ba", b"b"]),
    ),
    Case(
        "strings-f",
        SE,
        18,
        text("b", "b"),
        i64([0, 1, 0]),
        text("a", "B", "aa"),
        reduction="min",
        expect=text("a", "B"),
        note="by code points: upper case first",
    ),
    Case(
        "strings-g",
        SE,
        18,
        np.array([["a", "b"], ["c", "d"]], np.dtypes.StringDType()),
        i64([[1, 0]]),
        np.array([["a string too long to be kept in place", ""]], np.dtypes.StringDType()),
        expect=np.array([["a", ""], ["a string too long to be kept in place", "d"]], np.dtypes.StringDType()),
    ),
    Case("strings-h", SE, 18, text("a"), i64([0]), text("b"), reduction="mul", error=TypeError),
    Case("strings-i", ND, 18, wide(["a"], 1), i64([[0]]), np.array([b"b"]), error=TypeError, note="text and bytes"),
    Case("strings-j", ND, 18, wide(["a"], 1), i64([[0]]), i64([1]), error=TypeError),
    Case("strings-k", SE, 18, i64([1]), i64([0]), wide(["1"], 1), error=TypeError),
    Case("strings-l", SE, 18, text("a", "b"), i64([0, 2]), text("x", "y"), error=IndexError),
    Case("strings-m", SE, 11, text("a", "b"), i64([0]), text("x"), reduction="add", error=ValueError, note="before 16"),
    Case("strings-n", SE, 18, text(), i64([]), text(), reduction="add", expect=text()),
]
