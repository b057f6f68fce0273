"""A call that is not made yet: an operator's function and what it is given → checked arguments."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from ..arguments import arrays
from ..arguments.arrays import Arguments
from ..errors import ScattergenError, SpecError
from ..operators.ops import OPS
from .threads import require as require_threads

_PACKAGE = __name__.partition(".")[0]


def arguments_of(
    asker: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> tuple[Arguments, int | None]:
    """Return the checked arguments of ``function(*args, **kwargs)`` and the most threads that it may take.

    `function` is one of scattergen's operators. The values of `indices` are not looked at, so that
    duplicates cannot be refused.
    """
    # Functions of other modules bear these names too.
    op = OPS.get(getattr(function, "__name__", ""))
    if op is None or getattr(sys.modules[_PACKAGE], op.prefix) is not function:
        raise ScattergenError(_not_taken(asker, function))
    call = _bound(function, args, kwargs)
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
        unique=call.get("unique", False),
        accumulates=call.get("accumulate") is not None,
    )
    if arguments.accumulates:
        from . import accumulated

        accumulated.require(arguments.spec, call["accumulate"])
    require_threads(call["threads"])
    return arguments, call["threads"]


_CANNOT = {"explain": "cannot be explained", "bind": "cannot be bound", "gradients": "have no gradients here"}
"""What functions that are no operators lack, by the one that was asked for it."""


def _not_taken(asker: str, function: object) -> str:
    from .naming import given

    name, front = given(function)
    operators = ", ".join(f"{_PACKAGE}.{op}" for op in OPS)
    text = f"{asker} takes one of {operators}, and then its arguments; given is {name}"
    if front in ("", _PACKAGE):
        return text
    if (asker, front) == ("explain", f"{_PACKAGE}.at"):
        return f"{text}. For functions of {front} there is {front}.explain"
    return f"{text}. Functions of {front} {_CANNOT[asker]}"


def _bound(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return what each parameter gets; TypeError as from a call. `inspect` alone binds far more slowly."""
    signature, names, by_place, defaults = _parameters(function)
    call = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
    if len(args) > by_place or call.keys() != signature.parameters.keys() or kwargs.keys() & names[: len(args)]:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            from ..operators.elsewhere import keywords

            raise TypeError(f"{error}{keywords(kwargs, names)}") from None
    return call


@functools.cache
def _parameters(function: Callable[..., Any]) -> tuple[inspect.Signature, tuple[str, ...], int, dict[str, Any]]:
    """Return a signature, the names of its parameters, how many may be given by place, and the defaults."""
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    by_place = sum(parameter.kind is not parameter.KEYWORD_ONLY for parameter in parameters)
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    return signature, tuple(signature.parameters), by_place, defaults
