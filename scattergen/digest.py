"""SHA-256, without OpenSSL: loading that takes ``hashlib`` longer than all else that a hit of the store does."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

_PLACES = ("_sha2" if sys.version_info >= (3, 12) else "_sha256", "hashlib")
"""Where Python has its own: since 3.12, before, and where it was built without (as `random` looks for it)."""


def sha256(*parts: bytes) -> str:
    """Return the digest of the parts in a row, in hex."""
    whole = _function()()
    for part in parts:
        whole.update(part)
    found: str = whole.hexdigest()
    return found


@cache
def _function() -> Callable[[], Any]:
    for name in _PLACES:
        try:
            found: Callable[[], Any] = importlib.import_module(name).sha256
        except (ImportError, AttributeError):
            continue
        return found
    raise ImportError("this Python has no SHA-256")
