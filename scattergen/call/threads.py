"""How many threads a call may take: what the call says, else the process, else the environment, else the cores.

`OMP_NUM_THREADS` counts too: launchers of many processes set it, so that these do not take all cores each.

A forked child is serial: OpenMP's threads do not live through a fork, and entering a parallel region
there hangs.
"""

from __future__ import annotations

import operator
import os

from ..common import config, machine
from ..errors import SettingError, SpecError

MOST = 256
"""Threads that a call gets at most, whatever it or a setting says: libgomp ends a process where it cannot make them."""

_number: int | None = None
_forked = False


def get_num_threads() -> int:
    """Return how many threads a call takes at most when it does not say itself."""
    if _forked:
        return 1
    return min(_number or config.settings().num_threads or machine.usable_cores(), MOST)


def set_number(number: int) -> None:
    """Set what `get_num_threads` returns, in this process; 0 goes back to the setting or the cores.

    Raise `SettingError` for what is no whole number, 0 or more.
    """
    global _number
    whole = _whole(number)
    if whole < 0:
        raise SettingError(f"threads={number!r}: allowed is a whole number, 0 or more")
    _number = whole or None


def most(threads: int | None) -> int:
    """Return how many threads a call may take that asks for `threads`; None asks for the default.

    Raise `SpecError` for what is no whole number, 1 or more.
    """
    if threads is None:
        return get_num_threads()
    number = _asked(threads)
    return 1 if _forked else min(number, MOST)


def require(threads: int | None) -> None:
    """Raise `SpecError` as `most` does, for calls that may not come to ask it: it asks the system for the cores."""
    if threads is not None:
        _asked(threads)


def _asked(threads: int) -> int:
    number = _whole(threads)
    if number < 1:
        raise SpecError("threads", threads, "a whole number, 1 or more, or None for the default")
    return number


def _whole(number: object) -> int:
    """Return a whole number, or one that is never allowed where it is none."""
    try:
        return operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        return -1


def become_serial() -> None:
    """Use one thread from now on, whatever is asked for."""
    global _forked
    _forked = True


os.register_at_fork(after_in_child=become_serial)
