"""A lock between processes that saves work and decides nothing: who cannot have it goes on without."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import TYPE_CHECKING

from ..common import log

if TYPE_CHECKING:
    from pathlib import Path

_POLL = 0.01
_PATIENCE = 3.0
"""Seconds of waiting after which the log says what for."""

_held: dict[int, int] = {}
"""The descriptors of locks that this process holds or waits for → the thread that does."""


def _close_copies() -> None:
    # A forked child holds a copy of its parent's descriptor; the lock would live until the child ends.
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_copies)


@contextmanager
def advice(path: Path, *, timeout: float, what: str) -> Iterator[bool]:
    """Hold the lock file `path` inside of the block; yield whether we have it.

    The operating system frees it when its holder ends, however that ends. The file stays: deleting it
    would let two processes hold two files of one name. A file system without locks, or a wait of more
    than `timeout` seconds for `what`, yields False. So does a thread that is at a lock already: it is in a signal
    handler or a finalizer, and who holds the lock may be itself.
    """
    if get_ident() in _held.copy().values():
        yield False
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield False
        return
    _held[descriptor] = get_ident()
    mine = os.getpid()
    try:
        yield _wait(descriptor, path, timeout, what)
    finally:
        if os.getpid() == mine:
            _held.pop(descriptor, None)
            os.close(descriptor)


def _wait(descriptor: int, path: Path, timeout: float, what: str) -> bool:
    began = time.monotonic()
    told = False
    while True:
        try:
            # Not lockf: its locks belong to the process and would not keep two threads apart.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except (BlockingIOError, PermissionError):
            pass
        except OSError:
            return False
        waited = time.monotonic() - began
        if waited > timeout:
            log.debug("waited %.0f s for %s; building it as well", waited, what)
            return False
        if waited > _PATIENCE and not told:
            told = True
            log.warning(
                "process %d waits up to %.0f s for another one that builds %s (lock %s)",
                os.getpid(), timeout, what, path,
            )  # fmt: skip
        time.sleep(_POLL)
