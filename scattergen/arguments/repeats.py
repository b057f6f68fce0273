"""Indices that repeat in memory along the dims after the axis: recognised, so that slices move instead of elements.

Exported models and most graph code expand an index over the features of a row and write it out. Such a call is the
same as one with a stride of 0 there, which lowers to `slices`: an index is read once a row, and rows move as
vectors. A few rows are probed first; all are compared only where those repeat.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import Arguments, Array

LEAST_UPDATES = 1 << 18
"""Below this a call is over before a test of its indices pays."""

LEAST_LENGTH = 4
"""Elements of a row from which slices are quicker than single elements."""

PROBES = 16
_COMPARED = 1 << 16
"""Indices compared in one go: as many bytes of scratch."""


def possible(arguments: Arguments) -> bool:
    """Whether a call is of the kind, and of the size, that its indices are looked at."""
    indices, place = arguments.indices, arguments.spec.place
    return (
        arguments.spec.op.addressing == "axis"
        and indices.size >= LEAST_UPDATES
        and math.prod(indices.shape[place + 1 :]) >= LEAST_LENGTH
        and indices.flags.c_contiguous
    )


def collapse(arguments: Arguments) -> Arguments:
    """Return the arguments with a stride of 0 along dims where indices repeat; as they are where they do not."""
    if not possible(arguments):
        return arguments
    indices, place = arguments.indices, arguments.spec.place
    length = math.prod(indices.shape[place + 1 :])
    rows = indices.reshape(-1, length)
    if not _repeat(rows[:: -(-len(rows) // PROBES)]):
        return arguments
    step = max(1, _COMPARED // length)
    if not all(_repeat(rows[start : start + step]) for start in range(0, len(rows), step)):
        return arguments
    once: tuple[Any, ...] = (..., *(slice(0, 1) for _ in indices.shape[place + 1 :]))
    first = indices[once]
    return arguments.reading(np.broadcast_to(first, indices.shape), arguments.updates, arguments.copies)


def _repeat(rows: Array) -> bool:
    return bool((rows == rows[:, :1]).all())
