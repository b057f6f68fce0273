"""One build of a thing at a time in this process; its failure is remembered."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar, cast

from .errors import CompileError

if TYPE_CHECKING:
    from concurrent.futures import Future

_T = TypeVar("_T")

_flying: dict[Hashable, Future[object]] = {}
_failed: dict[Hashable, CompileError] = {}


def once(key: Hashable, build: Callable[[], _T]) -> _T:
    """Return what `build` returns; of simultaneous calls for one key, one builds and all get its result.

    A `CompileError` is raised again at once by later calls for the same key.
    """
    from concurrent.futures import CancelledError, Future

    # Not a lock: dict.setdefault decides, so a fork leaves no lock behind; its child flies by itself.
    mine: Future[object] = Future()
    place = (os.getpid(), key)
    while True:
        known = _failed.get(key)
        if known is not None:
            raise type(known)(*known.args)
        standing = _flying.setdefault(place, mine)
        if standing is mine:
            return _fly(place, key, mine, build)
        try:
            return cast(_T, standing.result())
        except CancelledError:
            # The thread that built was interrupted; that says nothing about the kernel.
            continue


def _fly(place: Hashable, key: Hashable, mine: Future[object], build: Callable[[], _T]) -> _T:
    try:
        result = build()
    except Exception as error:
        if isinstance(error, CompileError):
            _failed[key] = error
        del _flying[place]
        mine.set_exception(error)
        raise
    except BaseException:
        del _flying[place]
        mine.cancel()
        raise
    del _flying[place]
    mine.set_result(result)
    return result


def forget() -> None:
    """Forget the failures, so that the next call tries again."""
    _failed.clear()
