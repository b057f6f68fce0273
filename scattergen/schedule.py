"""Sizes → threads: which schedule of a form a call takes, as a pure function of its loops."""

from __future__ import annotations

from .lower import Loops

_BYTES_A_THREAD = 128 << 10
"""Traffic that pays for one more thread: handing work over costs about 2 µs, moving this some 10."""


def threads(form: str, loops: Loops | None, item: int, index_item: int, most: int) -> int:
    """Return how many threads a call takes, at most `most`; `item` and `index_item` are bytes."""
    if loops is None or form == "elements" or loops.outer.extent == 1:
        return 1
    steps = loops.outer.extent * loops.tuples.extent * loops.inner.extent
    traffic = 2 * loops.total * item + steps * (item + index_item)
    return max(1, min(most, loops.outer.extent, traffic // _BYTES_A_THREAD))
