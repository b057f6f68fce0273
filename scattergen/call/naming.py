"""How a caller writes a function that was given; imported only where it is one that is not taken."""

from __future__ import annotations

import sys

import numpy as np

from ..common.record import Record

_PACKAGE = __name__.partition(".")[0]

_FRONTS = (_PACKAGE, f"{_PACKAGE}.at", f"{_PACKAGE}.graph")
"""Modules whose functions users call."""

_LONGEST = 80
"""Characters of an object that is shown as it is; arrays are longer."""


class Given(Record):
    """A function, or what stands in its place: its public name, and the public module that it is of, if it is ours."""

    name: str
    front: str = ""


def given(function: object) -> Given:
    """Return what to call an object that should have been another function."""
    own = getattr(function, "__qualname__", "")
    for front in _FRONTS:
        module = sys.modules.get(front)
        if own in getattr(module, "__all__", ()) and getattr(module, own) is function:
            return Given(f"{front}.{own}", front)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return Given(f"numpy.{owner.__name__}.{own.rpartition('.')[2]}")
    if not own:
        shown = repr(function)
        return Given(shown if len(shown) <= _LONGEST else f"an object of type {type(function).__name__}")
    module_name = getattr(function, "__module__", None) or ""
    if module_name.partition(".")[0] == _PACKAGE:
        return Given(f"{_PACKAGE}'s {own}")
    return Given(f"{module_name}.{own}".removeprefix("builtins.").removeprefix("."))
