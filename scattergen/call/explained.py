"""What a call would run, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arguments.arrays import Arguments
from ..common.record import Record
from ..lower.forms import FORMS
from ..lower.kernel import KernelSpec
from . import dispatch
from .calls import arguments_of

PYTHON = "python"
"""What stands in place of a form and of a source where strings are combined, which no kernel does."""

NOTHING = "nothing"
"""The same where there is no update: such a call checks its arguments and copies data."""

REFERENCE = "reference"
"""What stands in place of a source where no kernel can be had."""

_WITHOUT_KERNEL = {
    REFERENCE: "the reference: no kernel could be had",
    PYTHON: "none: strings are Python's to combine",
    NOTHING: "none: there is no update",
}

_WITHOUT_FORM = {
    PYTHON: "old values and updates combined in order, target by target",
    NOTHING: "no update, data stays as it is",
}


class Explanation(Record):
    """How a call is served; ``str()`` of it is the text for people."""

    spec: str
    """The operator on these arrays, as an `OpSpec` text."""
    form: str
    """The loop form that the shapes and strides lower to."""
    kernel: str | None
    """The kernel that answers; None where the reference does, or where none is needed."""
    source: str
    """Where this process has the kernel from: built, cache, ahead-of-time; or reference; or python, for strings; or
    nothing, without an update."""
    threads: int
    layout: tuple[int, ...]
    """The numbers that the kernel is given, as its source lists them."""
    copies: tuple[str, ...]
    """Copies made on top of the result itself."""
    moved: str = ""
    """How elements of a type that C has not are moved; empty for numbers."""

    def __str__(self) -> str:
        answer = f"{self.kernel} ({self.source})" if self.kernel else _WITHOUT_KERNEL[self.source]
        return "\n".join(
            (
                f"{self.spec}",
                f"  form     {self.form}: {_summary(self.form)}",
                *self._schedule(),
                f"  kernel   {answer}",
                f"  threads  {self.threads}",
                *self._numbers(),
                f"  copies   {'; '.join(self.copies) or 'none'}",
                *([f"  moved    {self.moved}"] if self.moved else []),
            )
        )

    @property
    def numbers(self) -> dict[str, int | tuple[int, ...]]:
        """The numbers of the layout by their names in the kernel's source; empty where no kernel answers."""
        if self.kernel is None:
            return {}
        spec = KernelSpec.parse(self.kernel)
        return spec.layout.unpack(self.layout, spec.depth)

    def _schedule(self) -> list[str]:
        """Return the line about the form of the kernel, where that does the same loops in another way."""
        own = KernelSpec.parse(self.kernel).form if self.kernel else None
        return [f"  schedule {own.name}: {own.summary}"] if own and own.name != self.form else []

    def _numbers(self) -> list[str]:
        """Return the lines about the layout, as many of its numbers in one as there is room for."""
        import textwrap

        words = [f"{name}\N{NO-BREAK SPACE}{value}" for name, value in self.numbers.items()]
        lines = textwrap.wrap(", ".join(words), 100, break_long_words=False) or ["none"]
        shown = (line.replace("\N{NO-BREAK SPACE}", " ") for line in lines)
        return [f"  {'' if place else 'layout':8} {line}" for place, line in enumerate(shown)]


def _summary(form: str) -> str:
    return FORMS[form].summary if form in FORMS else _WITHOUT_FORM[form]


def explain(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Explanation:
    """Return what ``function(*args, **kwargs)`` would run, without running it.

    Args:
        function: one of scattergen's operators.
        *args: the arguments of the call; the values of `indices` are not looked at.
        **kwargs: its other arguments, but ``duplicates="refuse"``.

    The kernel is made ready (built, if it has to be).

    Raises:
        ShapeError and SpecError (ValueError), DTypeError (TypeError): what the call would raise.
        CompileError, KernelUnavailable (RuntimeError): the kernel cannot be had.
        ScattergenError: `function` is another one.

    """
    return explain_arguments(*arguments_of("explain", function, *args, **kwargs))


def explain_arguments(arguments: Arguments, threads: int | None) -> Explanation:
    """Return what checked arguments would run."""
    spec, moved = str(arguments.spec), ""
    if not arguments.updates.size:
        return Explanation(spec, NOTHING, None, NOTHING, 1, (), arguments.copies)
    if arguments.foreign:
        from ..arguments import moving

        lowered = moving.lowered(arguments)
        if lowered is None:
            return Explanation(spec, PYTHON, None, PYTHON, 1, (), arguments.copies)
        arguments, moved = lowered.arguments, lowered.text()
    if arguments.accumulates:
        from . import accumulated

        arguments = accumulated.first_part(arguments, threads)
    plan, arguments = dispatch.planned(arguments, threads)
    return Explanation(
        spec=spec,
        form=plan.form,
        kernel=str(plan.kernel) if plan.ready else None,
        source=plan.ready.origin if plan.ready else REFERENCE,
        threads=plan.threads,
        layout=plan.layout,
        copies=arguments.copies,
        moved=moved,
    )
