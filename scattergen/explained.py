"""What a call would run, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import dispatch
from .calls import arguments_of
from .kernel import FORMS
from .record import Record


class Explanation(Record):
    """How a call is served; ``str()`` of it is the text for people."""

    spec: str
    """The operator on these arrays, as an `OpSpec` text."""
    form: str
    """The loop form that the shapes and strides lower to."""
    kernel: str | None
    """The kernel that answers; None where the reference does."""
    source: str
    """Where this process has the kernel from: built, cache, ahead-of-time; or reference."""
    threads: int
    layout: tuple[int, ...]
    """The numbers that the kernel is given, as its source lists them."""
    copies: tuple[str, ...]
    """Copies made on top of the result itself."""

    def __str__(self) -> str:
        answer = f"{self.kernel} ({self.source})" if self.kernel else "the reference: no kernel could be had"
        return "\n".join(
            (
                f"{self.spec}",
                f"  form     {self.form}: {FORMS[self.form].summary}",
                f"  kernel   {answer}",
                f"  threads  {self.threads}",
                f"  layout   {', '.join(map(str, self.layout))}",
                f"  copies   {'; '.join(self.copies) or 'none'}",
            )
        )


def explain(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Explanation:
    """Return what ``function(*args, **kwargs)`` would run, without running it.

    `function` is one of scattergen's operators. The kernel is made ready (built, if it has to be);
    arguments are checked as in the call, except for the values of `indices`.
    """
    arguments, threads = arguments_of("explain", function, *args, **kwargs)
    spec = str(arguments.spec)
    if arguments.accumulates:
        from . import accumulated

        arguments = accumulated.first_part(arguments, threads)
    plan, arguments = dispatch.planned(arguments, threads)
    return Explanation(
        spec=spec,
        form=plan.form,
        kernel=str(plan.kernel) if plan.ready else None,
        source=plan.ready.origin if plan.ready else "reference",
        threads=plan.threads,
        layout=plan.layout,
        copies=tuple(arguments.copies),
    )
