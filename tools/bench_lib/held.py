"""Calls whose results are alive together, as in programs of more than one step: what their memory costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[[], Any]


class Work(NamedTuple):
    """A scatter of a few updates, taken so many times before the first result goes."""

    data: Array
    indices: Array
    updates: Array
    held: int


TABLE = {
    f"{kilobytes:,} KB, {held} held": (kilobytes, held)
    for kilobytes in (256, 1024, 3072, 8192)
    for held in (1, 2, 6)
}  # fmt: skip


def make(name: str) -> Work:
    """Return a workload of the table: float32, an eighth of the elements replaced."""
    kilobytes, held = TABLE[name]
    chance, size = np.random.default_rng(0), kilobytes * 256
    return Work(
        chance.random(size, np.float32),
        chance.permutation(size)[: size // 8],
        chance.random(size // 8, np.float32),
        held,
    )


def scattergen(work: Work, threads: int) -> Call:
    """Return calls of ours, as they are."""
    import scattergen as ours
    from scattergen.load import caller

    caller.make()
    data, indices, updates, held = work
    return lambda: [ours.scatter_elements(data, indices, updates, threads=threads or None) for _ in range(held)]


def fresh(work: Work, threads: int) -> Call:
    """Return the same calls, but no memory is kept."""
    from scattergen.common import config

    config.use(config.settings()._replace(keep_memory=0))
    return scattergen(work, threads)


def numpy(work: Work, threads: int) -> Call:
    """Return copies to which NumPy assigns."""
    data, indices, updates, held = work

    def replaced() -> Array:
        out = data.copy()
        out[indices] = updates
        return out

    return lambda: [replaced() for _ in range(held)]


def torch(work: Work, threads: int) -> Call:
    """Return calls of torch's `scatter`."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    data, indices, updates = map(torch.from_numpy, work[:3])
    return lambda: [torch.scatter(data, 0, indices, updates) for _ in range(work.held)]


CONTESTANTS: dict[str, tuple[str, Callable[[Work, int], Call]]] = {
    "scattergen": ("scattergen", scattergen),
    "no memory kept": ("scattergen", fresh),
    "numpy": ("numpy", numpy),
    "torch": ("torch", torch),
}
"""The name, the package, and the call."""


def right(work: Work, found: Any) -> bool:
    """Whether all results have the updates, and else the data."""
    want = work.data.copy()
    want[work.indices] = work.updates
    return all(np.array_equal(want, np.asarray(result)) for result in found)
