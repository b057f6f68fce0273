"""Index values against the sizes of their dims: where the first bad ones are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import IndexOutOfBounds

_CHUNK = 1 << 16
"""Entries looked at in one go, so that a search in a large (or broadcast) array needs little memory."""


def find_out_of_bounds(
    indices: np.ndarray[Any, Any], sizes: Sequence[int], operator: str, limit: int = IndexOutOfBounds.MOST
) -> IndexOutOfBounds | None:
    """Return the error to raise for `indices`, or None where every value lies in its dim.

    ``sizes`` is one size for all entries, or one for each component of the tuples that lie along the last
    axis of `indices`. A value ``v`` is in bounds where ``-size <= v < size``. The error names up to
    ``limit`` places, the first ones in row-major order of `indices`, whatever its memory layout.
    """
    found = positions(indices, sizes, limit)
    if not found:
        return None
    places = [tuple(map(int, np.unravel_index(flat, indices.shape))) for flat in found]
    return IndexOutOfBounds(
        operator,
        tuple(places),
        tuple(int(indices[place]) for place in places),
        tuple((-sizes[flat % len(sizes)], sizes[flat % len(sizes)]) for flat in found),
    )


def find_misplaced_windows(
    starts: np.ndarray[Any, Any], length: int, size: int, operator: str, argument: str
) -> IndexOutOfBounds | None:
    """Return the error for windows of `length` positions that do not lie within a dim of `size`, None for none."""
    from ..common.words import number_of

    room = size - length + 1
    found = tuple((int(place),) for place in np.flatnonzero((starts < 0) | (starts >= room))[: IndexOutOfBounds.MOST])
    if not found:
        return None
    reason = f"for {number_of(length, 'position')} in an axis of {size}"
    values, limits = tuple(int(starts[place]) for place in found), ((0, room),) * len(found)
    return IndexOutOfBounds(operator, found, values, limits, argument, reason)


def positions(indices: np.ndarray[Any, Any], sizes: Sequence[int], limit: int | None = None) -> list[int]:
    """Return the flat positions, in row-major order, of the first ``limit`` values out of bounds; all without one."""
    if _all_within(indices, sizes):
        return []
    size_of = np.array(sizes, np.int64)
    found: list[int] = []
    start = 0
    flags = ["external_loop", "buffered", "zerosize_ok"]
    for values in np.nditer(indices, flags, order="C", buffersize=_CHUNK):  # type: ignore[call-overload]
        size = np.resize(np.roll(size_of, -start), values.size)
        found += (start + np.flatnonzero((values < -size) | (values >= size))).tolist()
        if limit is not None and len(found) >= limit:
            break
        start += values.size
    return found[:limit]


def _all_within(indices: np.ndarray[Any, Any], sizes: Sequence[int]) -> bool:
    """Whether no value is out of bounds, which extremes of each component tell sooner than the search does."""
    if indices.size == 0:
        return True
    components = [indices] if len(sizes) == 1 else [indices[..., place] for place in range(len(sizes))]
    return all(one.min() >= -size and one.max() < size for one, size in zip(components, sizes, strict=True))
