"""Sets of flags, tried in turn: what a compiler can do is learnt by letting it do everything first, then less."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..common.config import Settings
from ..common.record import Record
from ..errors import CompileError
from . import toolchain
from .flags import flags_of_kernel
from .toolchain import Compiler

if TYPE_CHECKING:
    from pathlib import Path

_OPTIONAL: dict[str, str] = {"-fopenmp": "openmp", "-march=native": "native", "-nostdlib": "bare"}
"""Flags that a kernel can be built without, and the name under which a refusal is remembered."""


class Outcome(Record):
    """A build that worked: with which flags, in how many seconds, and what had to be left out for it."""

    flags: tuple[str, ...]
    seconds: float
    refused: dict[str, bool]
    """``{"openmp": False}`` where the same source compiled only without OpenMP; usually empty."""


def kernel_flags(settings: Settings, known: Mapping[str, object], *, optimize: bool = True) -> list[tuple[str, ...]]:
    """Return the flags to try in turn, without what the compiler is `known` to refuse.

    Without optimising (`flags_of_kernel`) neither OpenMP nor the CPU's own instructions are asked for.
    """
    both, costly = (True, False), (True, False) if optimize else (False,)
    native = costly
    if settings.cpu != "native":  # a level that is named stays, whatever is known of the other
        native, known = (optimize,), {**known, "native": True}
    sets = []
    # What most compilers refuse goes first: the bare link, then OpenMP for want of its runtime.
    for wish in itertools.product(native, costly, both):
        wished = dict(zip(("native", "openmp", "bare"), wish, strict=True))
        if not any(wanted and known.get(name) is False for name, wanted in wished.items()):
            sets.append(flags_of_kernel(settings, optimize=optimize, **wished))
    return list(dict.fromkeys(sets))


def compile_first(
    compiler: Compiler,
    source: Path,
    library: Path,
    flag_sets: Iterable[tuple[str, ...]],
    *,
    spec: str,
    timeout: float,
    scratch: Path,
) -> Outcome:
    """Compile with the first flags of `flag_sets` that the compiler takes; raise the last `CompileError`."""
    tried: list[tuple[str, ...]] = []
    last: CompileError | None = None
    for flags in flag_sets:
        tried.append(flags)
        try:
            seconds = toolchain.compile_library(
                compiler, source, library, flags, spec=spec, timeout=timeout, scratch=scratch
            )
        except CompileError as error:
            if not error.refused:
                raise
            last = error
            continue
        missing = {name: False for flag, name in _OPTIONAL.items() if flag in tried[0] and flag not in flags}
        return Outcome(flags=flags, seconds=seconds, refused=missing)
    raise last or ValueError(f"{spec}: there are no flags to try")
