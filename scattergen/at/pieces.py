"""Large calls whose index tuples have to be packed: in pieces that stay in a cache.

Packed as a whole the tuples would take as much memory again as the index arrays have, which costs more than the update.
Every index is looked at before the first piece is written, so that a call still does all or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..arguments import memory
from ..arguments.arrays import Array
from ..operators import bounds
from .selection import Selection

PIECE = 1 << 15
"""Index tuples of a piece: half a megabyte of pairs."""


def pay(selection: Selection, updates: Array) -> bool:
    """Whether a call is better done in pieces."""
    batch, view = selection.batch, selection.view
    if math.prod(batch) < 2 * PIECE or batch[0] == 1 or not view.dtype.isnative or not selection.packs:
        return False
    return not any(memory.share_memory(one, view) for one in (*selection.components, updates))


def cut(selection: Selection, updates: Array, name: str) -> Iterator[tuple[Selection, Array]]:
    """Yield a call in pieces, in row-major order; raise `IndexOutOfBounds` before the first."""
    for component, size in zip(selection.components, selection.view.shape, strict=False):
        error = bounds.find_out_of_bounds(component, (size,), name)
        if error is not None:
            raise error
    batch = selection.batch
    step = max(1, PIECE // math.prod(batch[1:]))
    for start in range(0, batch[0], step):
        stop = min(start + step, batch[0])
        components = tuple(
            one[start:stop] if one.ndim == len(batch) and one.shape[0] > 1 else one for one in selection.components
        )
        piece = selection._replace(components=components, batch=(stop - start, *batch[1:]))
        yield piece, updates[start:stop]
