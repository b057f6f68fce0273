"""What those are told who wait for many kernels."""

from __future__ import annotations

from typing import NamedTuple


class Done(NamedTuple):
    """One kernel of many is there."""

    name: str
    origin: str
    """Where it is from: built, cache or ahead-of-time."""
    seconds: float
    number: int
    """How many are there by now."""
    total: int
