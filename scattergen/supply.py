"""KernelSpec → a kernel that can be called, from the first that has it.

That is this process, the ahead-of-time library, the store, or the compiler, most of whose time goes into optimising.
A small call does not wait for that: the same C, compiled without optimising, is its *baseline* kernel, until a thread
has had the optimised one built, which takes its place and stays in the store.
"""

from __future__ import annotations

import _thread
import os
import time
from collections.abc import Callable

from . import build, cache_entry, loader, log, prebuilt
from .errors import CacheError, CompileError
from .kernel import KernelSpec
from .loader import Loaded
from .record import Record


class Ready(Record):
    """A kernel that can be called."""

    spec: KernelSpec
    loaded: Loaded
    origin: str
    """Where this process has it from: built, baseline, cache or ahead-of-time."""
    library: str
    source: str
    """The C file that the library was made from."""
    seconds: float

    @property
    def is_baseline(self) -> bool:
        """Whether it stands in for one that is being built."""
        return self.origin == "baseline"


on_improved: Callable[[], None] = lambda: None  # noqa: E731
"""Run, in any thread, when the optimised kernel has taken the place of a baseline one."""

_ready: dict[KernelSpec, Ready] = {}
_improving: set[KernelSpec] = set()
"""Baseline kernels that a thread cares for, or whose optimised ones it could not get."""
_turn = _thread.allocate_lock()
"""Held while one of them is built, so that their compilers leave the other cores alone."""
_latest = 0.0
"""When a baseline kernel was last asked for, or came."""

QUIET = 0.1
"""Seconds without any such after which one is improved: first calls come together, and those who wait go first."""


def _start_afresh() -> None:
    # The threads of the parent are not in its forked child.
    global _turn
    _turn = _thread.allocate_lock()
    _improving.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)


def ready(spec: KernelSpec, *, soon: bool = False) -> Ready:
    """Return the kernel of `spec`, loaded; it is built if nobody has it.

    `soon` is for who would rather have a baseline kernel now than the optimised one later. Raises as `build.library`.
    """
    found = _ready.get(spec)
    if found is None:
        found = _ready.setdefault(spec, _ahead_of_time(spec) or (_soonest(spec) if soon else _built(spec)))
    if found.is_baseline and not soon:
        return _improved(spec)
    if found.is_baseline:
        _improve_behind(spec)
    return found


def stands(kernel: Ready, *, soon: bool) -> bool:
    """Whether `ready` still gives this kernel, which it gave before."""
    return not kernel.is_baseline or (soon and _ready.get(kernel.spec) is kernel)


def _improved(spec: KernelSpec) -> Ready:
    found = _ready[spec] = _built(spec)
    on_improved()
    return found


def _improve_behind(spec: KernelSpec) -> None:
    """Have a thread replace the baseline kernel of `spec`; a process that ends waits for it."""
    if spec in _improving:
        return
    _improving.add(spec)
    import threading

    def improve() -> None:
        with _turn:
            while threading.main_thread().is_alive() and time.monotonic() - _latest < QUIET:
                time.sleep(QUIET / 4)
            if not _ready[spec].is_baseline or not (threading.main_thread().is_alive() or build.lasts()):
                return
            try:
                _improved(spec)
            except Exception as error:  # whatever it is, there is a kernel that answers
                log.warning("%s stays as it is, without optimisation: %s", spec, error)

    try:
        threading.Thread(target=improve, name=f"scattergen {spec}").start()
    except RuntimeError as error:  # no more threads, or the interpreter is about to end
        log.debug("%s is not optimised: %s", spec, error)


def _ahead_of_time(spec: KernelSpec) -> Ready | None:
    began = time.perf_counter()
    found = prebuilt.find(str(spec))
    if found is None:
        return None
    loaded, library, source = found
    seconds = time.perf_counter() - began
    return Ready(
        spec=spec, loaded=loaded, origin="ahead-of-time", library=str(library), source=str(source), seconds=seconds
    )


def _soonest(spec: KernelSpec) -> Ready:
    global _latest
    _latest = time.monotonic()
    try:
        built = build.library(spec, soon=True)
        return _as_ready(spec, built, _open(spec, built))
    except (CompileError, CacheError, OSError) as error:
        log.debug("%s: no baseline kernel: %s", spec, error)
    finally:
        _latest = time.monotonic()
    return _built(spec)


def _built(spec: KernelSpec) -> Ready:
    """Return the optimised kernel, from a private copy of its library where the store's cannot be loaded."""
    built = build.library(spec)
    try:
        return _as_ready(spec, built, _open(spec, built))
    except OSError as error:
        log.debug("%s: %s; trying a private copy", built.folder, error)
    built = build.library(spec, private=True)
    try:
        return _as_ready(spec, built, _open(spec, built))
    except OSError as error:
        raise CacheError(
            f"{built.folder} cannot be loaded: {error}. Is its file system mounted noexec?"
            " Set SCATTERGEN_CACHE_DIR to a folder that programs may run from"
        ) from error


def _open(spec: KernelSpec, built: build.Built) -> Loaded:
    return loader.open_kernel(os.path.join(built.folder, cache_entry.LIBRARY), str(spec))


def _as_ready(spec: KernelSpec, built: build.Built, loaded: Loaded) -> Ready:
    return Ready(
        spec=spec,
        loaded=loaded,
        origin=built.origin,
        library=os.path.join(built.folder, cache_entry.LIBRARY),
        source=os.path.join(built.folder, cache_entry.SOURCE),
        seconds=built.seconds,
    )
