"""Graph workloads, and how each library's users write them: a function of no arguments, or None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[[], Any]


class Work(NamedTuple):
    """Rows of `src` to be reduced to `size` targets along dim 0."""

    name: str
    src: Array
    target: Array
    """Of each row."""
    size: int
    reduce: str
    places: bool = False
    """Whether the place of each extreme value is asked for, too."""
    accumulate: str | None = None


def make(name: str) -> Work:
    """Return a workload of the table, with the same random numbers each time."""
    edges, width, size, dtype, reduce, places, accumulate = TABLE[name]
    chance = np.random.default_rng(0)
    shape = (edges, width) if width else (edges,)
    src = chance.random(shape, np.float32).astype(dtype)
    return Work(name, src, chance.integers(0, size, edges), size, reduce, places, accumulate)


TABLE: dict[str, tuple[int, int, int, str, str, bool, str | None]] = {
    **{
        f"rows {reduce}{' and places' if places else ''}": (200_000, 64, 10_000, "float32", reduce, places, None)
        for reduce, places in (("sum", False), ("mean", False), ("max", False), ("max", True), ("prod", False))
    },
    **{
        f"1-D {reduce}{' and places' if places else ''}": (1_000_000, 0, 10_000, "float32", reduce, places, None)
        for reduce, places in (("sum", False), ("mean", False), ("max", False), ("max", True))
    },
    "float16 rows sum": (200_000, 64, 10_000, "float16", "sum", False, None),
    "float16 rows sum, wide": (200_000, 64, 10_000, "float16", "sum", False, "float32"),
    "float16 1-D sum": (1_000_000, 0, 10_000, "float16", "sum", False, None),
    "float16 1-D sum, wide": (1_000_000, 0, 10_000, "float16", "sum", False, "float32"),
}
"""Edges, features (0: none), targets, type, reduction, places, accumulation."""


def scattergen(work: Work, threads: int) -> Call:
    """Return the call of `scattergen.graph`."""
    from scattergen import graph

    src, index, size, most = work.src, work.target, work.size, threads or None
    if work.places:
        return lambda: graph.scatter_max(src, index, 0, dim_size=size, threads=most)
    return lambda: graph.scatter(src, index, 0, size, work.reduce, threads=most, accumulate=work.accumulate)


def torch(work: Work, threads: int) -> Call | None:
    """Return what torch_geometric's `scatter` calls where torch_scatter is absent; it gives no places."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    if work.places:
        return None
    src, index = torch.from_numpy(work.src), torch.from_numpy(work.target)
    at = index if src.dim() == 1 else index[:, None].expand_as(src)
    shape = (work.size, *src.shape[1:])
    if work.accumulate:
        return lambda: torch.zeros(shape).scatter_add_(0, at, src.float()).to(src.dtype).numpy()
    if work.reduce == "sum":
        return lambda: src.new_zeros(shape).scatter_add_(0, at, src).numpy()
    if work.reduce == "mean":

        def mean() -> Any:
            count = src.new_zeros(work.size).scatter_add_(0, index, src.new_ones(index.shape)).clamp_(min=1)
            total = src.new_zeros(shape).scatter_add_(0, at, src)
            return (total / count.view(-1, *(1,) * (src.dim() - 1))).numpy()

        return mean
    if work.reduce == "prod":
        return lambda: src.new_ones(shape).scatter_reduce_(0, at, src, "prod").numpy()
    return lambda: src.new_zeros(shape).scatter_reduce_(0, at, src, "amax", include_self=False).numpy()


def numpy_groupies(work: Work, threads: int) -> Call | None:
    """Return the call of `aggregate`, along axis 0."""
    import numpy_groupies

    name = "argmax" if work.places else work.reduce
    if work.src.dtype == np.float16:
        return None
    fill = 1 if name == "prod" else 0
    arguments: dict[str, Any] = {"func": name, "size": work.size, "axis": 0, "fill_value": fill}
    if name != "argmax":
        arguments["dtype"] = work.src.dtype
    return lambda: numpy_groupies.aggregate(work.target, work.src, **arguments)


_LOOP = """
def reduce(src, index, size):
    rows, width = src.shape
    out = np.full((size, width), {start}, src.dtype)
    count = np.zeros(size, np.int64)
    {places}
    for row in range(rows):
        target = index[row]
        if target < 0 or target >= size:
            raise IndexError
        count[target] += 1
        for column in range(width):
            {step}
    for target in range(size):
        for column in range(width):
            {finish}
    return {result}
"""
_STEPS = {
    "sum": ("0", "out[target, column] += src[row, column]", "pass"),
    "prod": ("1", "out[target, column] *= src[row, column]", "pass"),
    "mean": ("0", "out[target, column] += src[row, column]", "out[target, column] /= max(1, count[target])"),
    "max": (
        "-np.inf",
        "out[target, column] = max(out[target, column], src[row, column])",
        "out[target, column] = out[target, column] if count[target] else 0",
    ),
}
_WITH_PLACES = "out[target, column], places[target, column] = (src[row, column], row)" + (
    " if src[row, column] > out[target, column] else (out[target, column], places[target, column])"
)


def numba(work: Work, threads: int) -> Call | None:
    """Return the compiled loop that a careful user writes: serial, checked."""
    import numba

    if work.src.dtype == np.float16:
        return None
    start, step, finish = _STEPS[work.reduce]
    space: dict[str, Any] = {"np": np}
    text = _LOOP.format(
        start=start,
        step=_WITH_PLACES if work.places else step,
        finish=finish,
        places="places = np.full((size, width), rows)" if work.places else "",
        result="out, places" if work.places else "out",
    )
    exec(text, space)
    function, src = numba.njit(space["reduce"]), work.src.reshape(len(work.src), -1)
    return lambda: function(src, work.target, work.size)


CONTESTANTS: dict[str, tuple[str, Callable[[Work, int], Call | None]]] = {
    "scattergen": ("scattergen", scattergen),
    "torch": ("torch", torch),
    "numpy-groupies": ("numpy_groupies", numpy_groupies),
    "numba": ("numba", numba),
}
"""The name, the package, and the call."""


def right(work: Work, found: Any) -> bool:
    """Whether a result is that of the workload, to the accuracy of its type."""
    width = work.src.size // len(work.src)
    src = work.src.reshape(-1, width).astype(np.float64)
    if isinstance(found, tuple) or (work.places and np.asarray(found).dtype.kind == "i"):
        place = np.asarray(found[1] if isinstance(found, tuple) else found).reshape(work.size, width)
        want = np.zeros((work.size, width))
        np.maximum.at(want, work.target, src)
        own = (work.target[place] == np.arange(work.size)[:, None]).all()
        return bool(own and (np.take_along_axis(src, place, 0) == want).all())
    want = np.full((work.size, width), float(work.reduce == "prod"))
    {"max": np.maximum, "prod": np.multiply}.get(work.reduce, np.add).at(want, work.target, src)
    if work.reduce == "mean":
        want /= np.maximum(np.bincount(work.target, minlength=work.size), 1)[:, None]
    tolerance = 0.1 if work.src.dtype == np.float16 and work.accumulate is None else 2e-3
    return bool(np.allclose(np.asarray(found, np.float64).reshape(want.shape), want, rtol=tolerance, atol=1e-6))
