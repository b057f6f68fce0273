"""What those are told who wait for many kernels."""

from __future__ import annotations

from .record import Record


class Done(Record):
    """One kernel of many is there."""

    name: str
    origin: str
    """Where it is from: built, cache or ahead-of-time."""
    seconds: float
    number: int
    """How many are there by now."""
    total: int
