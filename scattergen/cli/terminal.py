"""What goes to a terminal: tables, C in colours, a line of progress; plain text where there is none.

Colours come from rich, if that is installed and NO_COLOR is not set.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any


def prepare() -> None:
    """Have what standard output cannot write (letters of its encoding alone, bytes of a path) printed as escapes.

    Raises OSError where there is no standard output.
    """
    if sys.stdout is None:
        raise OSError("standard output is closed; send it to /dev/null if you want none")
    if isinstance(sys.stdout, io.TextIOWrapper):  # tests put others in its place
        sys.stdout.reconfigure(errors="backslashreplace")


def _rich(name: str) -> Any:
    """Return a module of rich if standard output shall have colours, else None."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return None
    import importlib

    try:
        return importlib.import_module(f"rich.{name}")
    except ImportError:
        return None


def c_source(text: str) -> None:
    """Print C as it is, on a terminal in colours."""
    syntax, console = _rich("syntax"), _rich("console")
    if syntax and console:
        code = syntax.Syntax(text.removesuffix("\n"), "c", background_color="default")
        console.Console().print(code, soft_wrap=True, end="")
    else:
        sys.stdout.write(text)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, whole: int | None = None) -> None:
    """Print rows below headers. On a narrow terminal all columns from number `whole` on are left unfolded."""
    if not rows:
        return
    tables, console = _rich("table"), _rich("console")
    if not tables or not console:
        print("\n".join(aligned([headers, *rows])))
        return
    from rich import box
    from rich.markup import escape

    grid = tables.Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, header in enumerate(headers):
        kept = whole is not None and number >= whole
        grid.add_column(header, overflow="fold", no_wrap=kept, min_width=None if kept else min(12, len(header)))
    for row in rows:
        grid.add_row(*map(escape, row))
    console.Console().print(grid)


def print_json(value: Any) -> None:
    """Print a value for programs; what JSON has not, as its text."""
    print(json.dumps(value, indent=1, default=str))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return `rows` as lines of text with their columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


class Progress:
    """One line on standard error that is written over and over; nothing where that is no terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, number: int, total: int, text: str) -> None:
        """Show that `number` of `total` is at hand."""
        if self._shown:
            print(f"\r\033[K[{number}/{total}] {text}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def size(number: float) -> str:
    """Return bytes in the unit that suits them."""
    for unit in ("B", "KB", "MB"):
        if number < 1024:
            return f"{number:.1f}".removesuffix(".0") + f" {unit}"
        number /= 1024
    return f"{number:.1f} GB"


def age(seconds: float) -> str:
    """Return a span of time in the unit that suits it."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
