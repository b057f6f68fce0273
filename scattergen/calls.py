"""A call that is not made yet: an operator's function and what it is given → checked arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from . import arrays
from .arrays import Arguments
from .errors import ScattergenError, SpecError
from .ops import OPS

_signature = functools.cache(inspect.signature)


def arguments_of(
    asker: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> tuple[Arguments, int | None]:
    """Return the checked arguments of ``function(*args, **kwargs)`` and the most threads that it may take.

    `function` is one of scattergen's operators. The values of `indices` are not looked at, so that
    duplicates cannot be refused.
    """
    op = OPS.get(getattr(function, "__name__", ""))
    if op is None:
        raise ScattergenError(f"{asker} takes one of {', '.join(OPS)}, and then its arguments")
    bound = _signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    call = bound.arguments
    if call.get("duplicates", "allow") != "allow":
        raise SpecError("duplicates", call["duplicates"], f"allow in {asker}")
    arguments = arrays.prepare(
        op,
        call["opset"],
        call.get("axis"),
        call.get("reduction", "none"),
        call[op.inputs.data],
        call[op.inputs.indices],
        call[op.inputs.updates],
        call["out"],
        call.get("mode", ""),
    )
    arguments.unique = bool(call.get("unique"))
    if call.get("accumulate") is not None:
        from . import accumulated

        accumulated.require(arguments.spec, call["accumulate"])
        arguments.accumulates = True
    return arguments, call["threads"]
