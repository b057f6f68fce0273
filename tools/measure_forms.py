"""Measure what the forms for loops and views save: ratios of two ways to one result, taken in turns.

python tools/measure_forms.py            # all of it, some four minutes
python tools/measure_forms.py strides    # one part: strides, expanded, prepared, in-place, bound, numpy, strings
"""

from __future__ import annotations

import argparse
import operator
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("SCATTERGEN_COMPILE", "optimized")

import scattergen
from scattergen import at
from scattergen.load import caller

Array = np.ndarray[Any, np.dtype[Any]]
SECONDS, ROUNDS = 0.15, 9


class Pair(NamedTuple):
    """Two ways to one result."""

    name: str
    plain: Callable[[], Any]
    better: Callable[[], Any]


def chance() -> np.random.Generator:
    """Return the same random numbers each time."""
    return np.random.default_rng(0)


def index_add(*arguments: Any, **options: Any) -> Array:
    """Return `scatter_elements` with add."""
    return scattergen.scatter_elements(*arguments, **{**options, "reduction": "add"})


def packed_first(data: Array, indices: Array, updates: Array, axis: int) -> Array:
    """Return `index_add` into `data` of packed copies."""
    return index_add(data, np.ascontiguousarray(indices), np.ascontiguousarray(updates), axis=axis, out=data, threads=1)


def expanded() -> Iterator[Pair]:
    """Compare an index that was expanded along rows with one that was written out in memory."""
    for rows, width in ((2_000, 64), (20_000, 64), (100_000, 16)):
        data, updates = chance().random((2, rows, width), np.float32)
        narrow = chance().integers(0, rows, (rows, 1))
        wide = np.repeat(narrow, width, axis=1)
        view = np.broadcast_to(narrow, wide.shape)
        yield Pair(
            f"{rows} rows of {width}",
            partial(index_add, data, wide, updates),
            partial(index_add, data, view, updates),
        )


def prepared() -> Iterator[Pair]:
    """Compare a plan with calls: indices as they come, and indices that repeat along rows."""
    for rows, width in ((100, 8), (10_000, 64), (100_000, 16)):
        data, updates = chance().random((2, rows, width), np.float32)
        for name, indices in (
            ("", chance().integers(0, rows, (rows, width))),
            (", repeated", np.repeat(chance().integers(0, rows, (rows, 1)), width, axis=1)),
        ):
            plan = scattergen.prepare(indices, data.shape, 0, "add")
            yield Pair(
                f"{rows} x {width}{name}",
                partial(index_add, data, indices, updates),
                partial(plan, data, updates),
            )


def in_place() -> Iterator[Pair]:
    """Compare calls into `data` itself with fresh results, for one row in a hundred."""
    for rows in (1_000, 100_000):
        data = np.zeros((rows, 64), np.float32)
        indices = chance().integers(0, rows, (rows // 100, 1))
        updates = np.zeros((rows // 100, 64), np.float32)
        yield Pair(
            f"{rows // 100} of {rows} rows",
            partial(scattergen.scatter_nd, data, indices, updates, "add"),
            partial(scattergen.scatter_nd, data, indices, updates, "add", out=data),
        )


def bound() -> Iterator[Pair]:
    """Compare a bound call with the call, and with the least that NumPy does."""
    for size in (16, 1024):
        data, updates, out = np.zeros((3, size), np.float32)
        indices = chance().permutation(size)
        call = scattergen.bind(scattergen.scatter_elements, data, indices, updates, reduction="add", out=out)
        yield Pair(f"{size} elements, a call", partial(index_add, data, indices, updates), call)
        yield Pair(f"{size} elements, np.add", partial(np.add, updates, updates), call)


def numpy() -> Iterator[Pair]:
    """Compare NumPy's in-place functions with those of `scattergen.at`."""
    caller.make()  # the first calls of a machine do without
    for size in (2, 100, 10_000, 1_000_000):
        a, b = np.zeros(max(10, size // 10), np.float32), np.ones(size, np.float32)
        i = chance().integers(0, a.size, size)
        yield Pair(f"{size}, add", partial(np.add.at, a, i, b), partial(at.add, a, i, b))
        yield Pair(f"{size}, add 1", partial(np.add.at, a, i, 1), partial(at.add, a, i, 1))
        listed = i.tolist()
        yield Pair(f"{size}, add at a list", partial(np.add.at, a, listed, b), partial(at.add, a, listed, b))
        count = a.astype(np.int64)
        yield Pair(f"{size}, count by 1", partial(np.add.at, count, i, 1), partial(at.add, count, i, 1))
        small = i.astype(np.int32)
        yield Pair(f"{size}, int32 indices", partial(np.add.at, a, small, b), partial(at.add, a, small, b))
        yield Pair(f"{size}, maximum", partial(np.maximum.at, a, i, b), partial(at.maximum, a, i, b))
        yield Pair(f"{size}, assign", partial(operator.setitem, a, i, b), partial(at.assign, a, i, b))
        side = max(4, int(size**0.5))
        table, pairs = np.zeros((side, side), np.float32), tuple(chance().integers(0, side, (2, size)))
        yield Pair(f"{size}, add at pairs", partial(np.add.at, table, pairs, b), partial(at.add, table, pairs, b))
        yield Pair(
            f"{size}, assign at pairs", partial(operator.setitem, table, pairs, b), partial(at.assign, table, pairs, b)
        )
        rows = max(min(4, size), size // 16)
        wide, values = np.zeros((max(2, rows // 10), 16), np.float32), np.ones((rows, 16), np.float32)
        which = chance().integers(0, len(wide), rows)
        tall = np.zeros((16, len(wide)), np.float32)
        across: Any = (slice(None), which)
        yield Pair(
            f"{size}, add rows of 16", partial(np.add.at, wide, which, values), partial(at.add, wide, which, values)
        )
        yield Pair(
            f"{size}, assign rows of 16",
            partial(operator.setitem, wide, which, values),
            partial(at.assign, wide, which, values),
        )
        yield Pair(
            f"{size}, add columns of 16",
            partial(np.add.at, tall, across, values.T.copy()),
            partial(at.add, tall, across, values.T.copy()),
        )
        along, four = np.zeros((rows, 16), np.float32), chance().integers(0, 16, (rows, 4))
        yield Pair(
            f"{size}, put_along_axis",
            partial(np.put_along_axis, along, four, values[:, :4].copy(), 1),
            partial(at.put_along_axis, along, four, values[:, :4].copy(), 1),
        )


def strides() -> Iterator[Pair]:
    """Compare the call on a view with a packed copy and a call on that, on one thread: the rule of packing.py."""
    for size in (4_096, 65_536, 1_048_576):
        for name, data, indices, updates, axis in views(size):
            yield Pair(
                f"{size} {name}",
                partial(packed_first, data, indices, updates, axis),
                partial(index_add, data, indices, updates, axis, out=data, threads=1),
            )


def views(size: int) -> Iterator[tuple[str, Array, Array, Array, int]]:
    """Yield views whose strides are those of no packed array: name, data, indices, updates, axis."""
    width = 64
    rows = size // width
    flat = chance().integers(0, size, (size, 2))
    pairs = np.zeros((size, 2), np.float32)
    record = np.zeros(size, [("flag", "u1"), ("index", "i8"), ("value", "f4")])
    record["index"] = flat[:, 0]
    yield "elements, columns", pairs[:, 0].copy(), flat[:, 0], pairs[:, 1], 0
    yield "elements, fields", pairs[:, 0].copy(), record["index"], record["value"], 0
    data, gaps = np.zeros((rows, width), np.float32), np.zeros((rows, 2 * width), np.float32)[:, ::2]
    along, across = chance().integers(0, width, (rows, width)), chance().integers(0, rows, (rows, width))
    yield "rows, flipped", data, along[:, ::-1], np.zeros_like(data)[:, ::-1], 1
    yield "rows, fortran", data, np.asfortranarray(along), np.asfortranarray(data), 1
    yield "lanes, gaps", data, across, gaps, 0
    yield "slices, gaps", data, np.broadcast_to(across[:, :1], data.shape), gaps, 0


def strings() -> Iterator[Pair]:
    """Compare NumPy's own ways, on one thread, with the operators on strings, objects and records."""
    size = 1_000_000
    for dtype in ("O", np.dtypes.StringDType(), "U2", "U8", "U10", "S3", "V12"):
        for targets, count in ((size, size), (size, size // 10), (size // 10, size)):
            data, updates = _words(targets, dtype), _words(count, dtype)
            index = chance().integers(0, targets, count)
            yield Pair(
                f"{data.dtype}, {count} into {targets}",
                partial(_assigned, data, index, updates),
                partial(scattergen.scatter_elements, data, index, updates, threads=1),
            )
        data, updates, index = _words(size, dtype), _words(1000, dtype), chance().integers(0, size, 1000)
        yield Pair(
            f"{data.dtype}, 1000 into {size} in place",
            partial(_assigned_to, data, index, updates),
            partial(scattergen.scatter_elements, data, index, updates, out=data, threads=1),
        )
        data, index = data.reshape(1000, 1000), chance().integers(0, 1000, (1000, 1000))
        for axis in (0, 1):
            yield Pair(
                f"{data.dtype}, 1000 x 1000 along {axis}",
                partial(_put_along, data, index, data, axis),
                partial(scattergen.scatter_elements, data, index, data, axis, threads=1),
            )
    data, updates, index = (
        _words(size // 10, "O"),
        _words(size // 10, "O"),
        chance().integers(0, size // 10, size // 10),
    )
    for reduction, ufunc in (("add", np.add), ("max", np.maximum)):
        yield Pair(
            f"object, {reduction} of {size // 10}",
            partial(_reduced, ufunc, data, index, updates),
            partial(scattergen.scatter_elements, data, index, updates, reduction=reduction),
        )


def _words(count: int, dtype: Any) -> Array:
    dtype = np.dtype(dtype)
    if dtype.kind == "V":
        return np.zeros(count, dtype)
    words = [f"{number}" for number in range(count)]
    return np.array([word.encode() for word in words] if dtype.kind == "S" else words, dtype)


def _assigned(data: Array, index: Array, updates: Array) -> Array:
    return _assigned_to(data.copy(), index, updates)


def _assigned_to(data: Array, index: Array, updates: Array) -> Array:
    data[index] = updates
    return data


def _put_along(data: Array, index: Array, updates: Array, axis: int) -> Array:
    result = data.copy()
    np.put_along_axis(result, index, updates, axis)
    return result


def _reduced(ufunc: np.ufunc, data: Array, index: Array, updates: Array) -> Array:
    result = data.copy()
    ufunc.at(result, index, updates)
    return result


def seconds(call: Callable[[], Any], number: int) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def measure(pair: Pair) -> tuple[float, float]:
    """Return the best times of both ways, a round of one after a round of the other."""
    pair.plain()
    pair.better()
    number = max(1, int(SECONDS / ROUNDS / seconds(pair.plain, 2)))
    rounds = [(seconds(pair.plain, number), seconds(pair.better, number)) for _ in range(ROUNDS)]
    return min(plain for plain, _ in rounds), min(better for _, better in rounds)


PARTS: dict[str, Callable[[], Iterator[Pair]]] = {
    "expanded": expanded,
    "prepared": prepared,
    "in-place": in_place,
    "bound": bound,
    "strides": strides,
    "numpy": numpy,
    "strings": strings,
}


def main(names: list[str]) -> None:
    """Print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", metavar="PART", nargs="*", help=f"of {', '.join(PARTS)}. Default: all of them")
    parts = parser.parse_args(names).parts
    unknown = set(parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    for name in parts or PARTS:
        print(f"{name}: {(PARTS[name].__doc__ or '').splitlines()[0]}")
        for pair in PARTS[name]():
            plain, better = measure(pair)
            print(f"  {pair.name:32s} {plain * 1e6:10.2f} µs -> {better * 1e6:10.2f} µs  {plain / better:6.2f} x")


if __name__ == "__main__":
    main(sys.argv[1:])
