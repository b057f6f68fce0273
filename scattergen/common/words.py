"""Words that depend on a number."""

from __future__ import annotations


def number_of(count: int, noun: str) -> str:
    """Return a number and what it counts: ``1 kernel``, ``8 kernels``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
