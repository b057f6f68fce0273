"""Workloads of gradients, and how torch's users come by them: a function of no arguments, or None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[[], Any]


class Work(NamedTuple):
    """A ScatterElements along an axis, its result, and the gradient of that."""

    data: Array
    indices: Array
    updates: Array
    axis: int
    reduction: str
    grad: Array
    result: Array


_SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, bool]] = {
    "1-D": ((1_000_000,), (1_000_000,), 0, False),
    "rows of a graph": ((20_000, 64), (200_000, 64), 0, True),
    "columns": ((2000, 512), (4000, 512), 0, False),
    "along rows": ((4000, 512), (4000, 512), 1, False),
    "small": ((64, 64), (64, 64), 0, False),
}
"""Shape of data, of indices, axis, and whether the index is that of a row, expanded."""

TABLE = {
    f"{shape}, {reduction}": (shape, reduction) for shape in _SHAPES for reduction in ("none", "add", "mul", "max")
}


def make(name: str) -> Work:
    """Return a workload of the table, with the same random numbers each time."""
    import scattergen

    shape, reduction = TABLE[name]
    sizes, extents, axis, expanded = _SHAPES[shape]
    chance = np.random.default_rng(0)
    own = extents[: axis + 1] + (1,) * (len(extents) - axis - 1) if expanded else extents
    indices = np.broadcast_to(chance.integers(0, sizes[axis], own), extents)
    data, grad = (chance.random(sizes, np.float32) + np.float32(0.5) for _ in range(2))
    updates = chance.random(extents, np.float32) + np.float32(0.5)
    result = scattergen.scatter_elements(data, indices, updates, axis, reduction)
    return Work(data, indices, updates, axis, reduction, grad, result)


def scattergen(work: Work, threads: int) -> Call:
    """Return the call of `scattergen.gradients`, which gets the result as autograd keeps it."""
    import scattergen as ours

    def gradients() -> Any:
        return ours.gradients(
            ours.scatter_elements, work.grad, work.data, work.indices, work.updates, work.axis, work.reduction,
            threads=threads or None, result=work.result,
        )  # fmt: skip

    return gradients


def torch(work: Work, threads: int) -> Call:
    """Return torch's backward of the same call, the graph of which is kept."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    data, updates = (torch.from_numpy(array).requires_grad_() for array in (work.data, work.updates))
    grad, own = torch.from_numpy(work.grad), work.indices
    if 0 in own.strides:
        own = own[:, :1]
    indices = torch.from_numpy(np.array(own)).expand(work.indices.shape)
    if work.reduction == "none":
        result = data.scatter(work.axis, indices, updates)
    elif work.reduction == "add":
        result = data.scatter_add(work.axis, indices, updates)
    else:
        result = data.scatter_reduce(work.axis, indices, updates, {"mul": "prod", "max": "amax"}[work.reduction])
    return lambda: torch.autograd.grad(result, (data, updates), grad, retain_graph=True)


CONTESTANTS: dict[str, tuple[str, Callable[[Work, int], Call]]] = {
    "scattergen": ("scattergen", scattergen),
    "torch": ("torch", torch),
}
"""The name, the package, and the call."""


def right(work: Work, found: Any) -> bool:
    """Whether gradients are those of the loop; torch gives updates that are overwritten some, too."""
    of_data, of_updates = (np.asarray(part, np.float64) for part in found)
    at = np.broadcast_to(work.indices, work.updates.shape)
    grad = np.take_along_axis(work.grad.astype(np.float64), at, work.axis)
    if work.reduction == "none":
        return bool(((of_updates == grad) | (of_updates == 0)).all()) and _left(work, of_data)
    if work.reduction == "add":
        return bool((of_updates == grad).all() and (of_data == work.grad).all())
    if work.reduction == "mul":
        factor = np.take_along_axis(work.result.astype(np.float64), at, work.axis) / work.updates
        return bool(np.allclose(of_updates, grad * factor, rtol=1e-3))
    wins = np.take_along_axis(work.result, at, work.axis) == work.updates
    total = of_data.sum() + of_updates.sum()  # shared out, nothing is lost
    return bool((of_updates[~wins] == 0).all() and np.isclose(total, work.grad.sum(dtype=np.float64), rtol=1e-4))


def _left(work: Work, of_data: Array) -> bool:
    want = work.grad.astype(np.float64)
    np.put_along_axis(want, np.array(work.indices), 0, work.axis)
    return bool((of_data == want).all())
