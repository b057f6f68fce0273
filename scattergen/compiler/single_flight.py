"""One build of a thing at a time in this process; its failure is remembered."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from threading import Event, get_ident
from typing import Any, TypeVar

from ..errors import CompileError

_T = TypeVar("_T")


class _Flight:
    """A build that others may wait for. `concurrent.futures` has one too, and imports logging: 10 ms."""

    def __init__(self) -> None:
        self.pilot = get_ident()
        self.landed = Event()
        self.result: Any = None
        self.error: BaseException | None = None


_flying: dict[Hashable, _Flight] = {}
_failed: dict[Hashable, CompileError] = {}


def once(key: Hashable, build: Callable[[], _T]) -> _T:
    """Return what `build` returns; of simultaneous calls for one key, one builds and all get its result.

    A `CompileError` is raised again at once by later calls for the same key. A signal handler or a finalizer that
    comes upon a build of its own thread builds by itself: that one goes on only when it has returned.
    """
    # Not a lock: dict.setdefault decides, so a fork leaves no lock behind; its child flies by itself.
    mine = _Flight()
    place = (os.getpid(), key)
    while True:
        known = _failed.get(key)
        if known is not None:
            raise type(known)(*known.args)
        standing = _flying.setdefault(place, mine)
        if standing is mine:
            return _fly(place, key, mine, build)
        if standing.pilot == get_ident():
            return build()
        standing.landed.wait()
        if standing.error is None:
            result: _T = standing.result
            return result
        if isinstance(standing.error, Exception):
            raise standing.error
        # Otherwise the thread that built was interrupted; that says nothing about the kernel.


def _fly(place: Hashable, key: Hashable, mine: _Flight, build: Callable[[], _T]) -> _T:
    try:
        result = build()
        mine.result = result
        return result
    except BaseException as error:
        if isinstance(error, CompileError):
            _failed[key] = error
        mine.error = error
        raise
    finally:
        del _flying[place]
        mine.landed.set()


def forget() -> None:
    """Forget the failures, so that the next call tries again."""
    _failed.clear()
