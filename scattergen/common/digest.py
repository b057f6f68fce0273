"""Digests, without OpenSSL: loading that takes ``hashlib`` longer than all else that a hit of the store does."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

_MODULES = ("_sha2" if sys.version_info >= (3, 12) else "_sha256", "hashlib")
"""Where Python has its own: since 3.12, before, and where it was built without (as `random` looks for it)."""


_KEY = 1
"""Of the hash of `fingerprint`; any will do."""


def sha256(*parts: bytes) -> str:
    """Return the digest of the parts in a row, in hex."""
    whole = _function()()
    for part in parts:
        whole.update(part)
    found: str = whole.hexdigest()
    return found


def fingerprint(*parts: bytes) -> str:
    """Return 64 bits, in hex, that tell whether parts have changed, in a twentieth of the time that SHA-256 takes.

    It is what Python checks compiled files against their sources with: no proof against somebody who wants to deceive.
    """
    whole = b"".join(parts)
    try:
        from _imp import source_hash  # public as importlib.util.source_hash, whose import takes longer than SHA-256
    except ImportError:
        return sha256(whole)[:16]
    found: bytes = source_hash(_KEY, whole)
    return found.hex()


@cache
def _function() -> Callable[[], Any]:
    for name in _MODULES:
        try:
            found: Callable[[], Any] = importlib.import_module(name).sha256
        except (ImportError, AttributeError):
            continue
        return found
    raise ImportError("this Python has no SHA-256")
