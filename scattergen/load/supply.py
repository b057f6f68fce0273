"""KernelSpec → a kernel that can be called, from the first that has it.

That is this process, the ahead-of-time library, the store, or the compiler, most of whose time goes into optimising.
So a small call takes a *baseline* kernel: the same C, compiled without optimising. Once a process has done so much by
it that the optimiser would have paid, the next call has the optimised one built, which then takes its place.
"""

from __future__ import annotations

import math
import os
import time
from typing import Any

from ..cache import entries
from ..common import config, log
from ..common.record import Record
from ..compiler import build
from ..errors import CacheError, CompileError, CompilerNotFound, KernelUnavailable, ScattergenError
from ..lower.kernel import KernelSpec
from . import loader, prebuilt
from .loader import Loaded

BASELINE_MAX_ELEMENTS = 1 << 18
"""Elements up to which a call takes a baseline kernel: it is done with them before an optimiser would be."""

OPTIMIZE_AFTER_ELEMENTS = 1 << 20
"""Elements after which a baseline kernel has cost a process a part of what the optimised one does."""

CALL_MIN_ELEMENTS = 1 << 12
"""Elements that count for a call at least: those of baseline kernels do not go by the table of small calls."""


class Ready(Record):
    """A kernel that can be called."""

    spec: KernelSpec
    loaded: Loaded
    origin: str
    """Where this process has it from: built, cache or ahead-of-time."""
    library: str
    seconds: float
    is_baseline: bool = False
    """Whether it was compiled without optimising."""

    def __hash__(self) -> int:
        return hash(self.library)


_ready: dict[KernelSpec, Ready] = {}
_done: dict[KernelSpec, float] = {}
"""Elements that calls by baseline kernels had."""


def ready(spec: KernelSpec, elements: int | None = None) -> Ready:
    """Return the kernel of `spec`, loaded; it is built if nobody has it.

    A baseline kernel is for a call on so many `elements`, of the output or of the updates, which are counted; None asks
    for the optimised one. Where nothing can be built, a baseline one of the store has to do. Raises as `build.library`.
    """
    found = _ready.get(spec)
    if found is None:
        small = elements is not None and elements <= BASELINE_MAX_ELEMENTS
        try:
            found = _ready.setdefault(spec, _ahead_of_time(spec) or (_soonest(spec) if small else _best(spec)))
        except KernelUnavailable as error:
            advice = f"`scattergen build {spec} -o FOLDER` makes a folder that has it"
            raise KernelUnavailable(f"{error}. {_asked()}: {advice}") from None
    if not found.is_baseline:
        return found
    if elements is not None:
        _count(spec, elements)
    return _improved(spec, found, elements) if _is_due(spec, elements) else found


def counted(*arrays: Any) -> int:
    """Return the elements that a call on arrays counts for."""
    return max([CALL_MIN_ELEMENTS, *(int(array.size) for array in arrays)])


def _count(spec: KernelSpec, elements: int) -> None:
    _done[spec] = _done.get(spec, 0) + elements


def _is_due(spec: KernelSpec, elements: int | None) -> bool:
    """Whether the optimised kernel is to take the place of a baseline one, which has served what was counted."""
    return (
        elements is None
        or elements > BASELINE_MAX_ELEMENTS
        or config.settings().compile == "optimized"
        or _done.get(spec, 0) > OPTIMIZE_AFTER_ELEMENTS
    )


def _improved(spec: KernelSpec, baseline: Ready, elements: int | None) -> Ready:
    try:
        found = _ready[spec] = _optimized(spec)
        return found
    except (CompilerNotFound, KernelUnavailable):
        _done[spec] = 0  # to ask again takes a look through the store
        return baseline
    except ScattergenError as error:
        if elements is None:
            raise
        # There is a kernel that answers, and the compiler is asked again only for large calls.
        tell = log.debug if _done.get(spec) == -math.inf else log.warning
        tell("%s stays as it is, without optimisation: %s", spec, error)
        _done[spec] = -math.inf
        return baseline


def _ahead_of_time(spec: KernelSpec) -> Ready | None:
    began = time.perf_counter()
    found = prebuilt.find(str(spec))
    if found is None:
        return None
    loaded, library = found
    seconds = time.perf_counter() - began
    return Ready(spec=spec, loaded=loaded, origin="ahead-of-time", library=str(library), seconds=seconds)


def _asked() -> str:
    """Return which folders of kernels built ahead of time were asked, in words."""
    used = [str(folder.path) for folder in prebuilt.folders() if folder.library]
    return f"It is not in {' or '.join(used)} either" if used else "No folder with it is in SCATTERGEN_AOT_PATH"


def _soonest(spec: KernelSpec) -> Ready:
    """Return the optimised kernel if somebody has built it, else the baseline one if that can be had."""
    try:
        found = build.find(spec)
        if found:
            return _open(spec, found)
        if build.allows_baseline():
            return _open(spec, build.library(spec, optimize=False))._replace(is_baseline=True)
    except (CompileError, CacheError, OSError) as error:
        if isinstance(error, CompileError) and not error.refused:
            raise  # it would hang again
        log.debug("%s: no baseline kernel: %s", spec, error)
    return _best(spec)


def _best(spec: KernelSpec) -> Ready:
    """Return the optimised kernel, or where nothing can be built the baseline one of the store."""
    try:
        return _optimized(spec)
    except (CompilerNotFound, KernelUnavailable) as error:
        if not build.allows_baseline():
            raise
        missing = error
    try:
        return _open(spec, build.library(spec, optimize=False))._replace(is_baseline=True)
    except (CompilerNotFound, KernelUnavailable):
        raise missing from None  # the two say the same


def _optimized(spec: KernelSpec) -> Ready:
    """Return the optimised kernel, from a private copy of its library where the store's cannot be loaded."""
    built = build.library(spec)
    try:
        return _open(spec, built)
    except OSError as error:
        log.debug("%s: %s; trying a private copy", built.folder, error)
    built = build.library(spec, private=True)
    try:
        return _open(spec, built)
    except OSError as error:
        raise CacheError(
            f"{built.folder} cannot be loaded: {error}. Is its file system mounted noexec?"
            " Set SCATTERGEN_CACHE_DIR to a folder that programs may run from"
        ) from error


def _open(spec: KernelSpec, built: build.Built) -> Ready:
    path = os.path.join(built.folder, entries.LIBRARY)
    return Ready(
        spec=spec,
        loaded=loader.open_kernel(path, str(spec)),
        origin=built.origin,
        library=path,
        seconds=built.seconds,
    )
