"""KernelSpec → built library: from the store, else made now (`making.py`) and published there."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ..cache import entries
from ..cache.cache import Store
from ..cache.entries import LIBRARY, SOURCE
from ..common import log
from ..common.config import Settings, settings
from ..common.record import Record
from ..errors import CompilerNotFound, KernelUnavailable
from . import request, toolchain
from .flags import flags_of_module
from .toolchain import Compiler

if TYPE_CHECKING:
    from pathlib import Path

    from ..lower.kernel import KernelSpec


class Built(Record):
    """A folder with a library that may be loaded and its C source, and how it came about (in `seconds`)."""

    folder: str
    origin: Literal["cache", "built"]
    seconds: float

    @property
    def library(self) -> Path:
        """The library's path."""
        from pathlib import Path

        return Path(self.folder, LIBRARY)

    @property
    def source(self) -> Path:
        """The C source's path."""
        return self.library.with_name(SOURCE)


def library(spec: KernelSpec, *, private: bool = False, optimize: bool = True) -> Built:
    """Return the library of a kernel: from the store, else built now.

    ``private=True`` has it in this process's own folder, for a caller whose loader could not open the one
    in the store (a file system mounted noexec, an entry evicted a moment ago). ``optimize=False`` is for one
    that was compiled without optimising, which takes a third of the time.

    Raises `CompilerNotFound` (and no compiler built it before), `CompileError` (the same one at once when
    asked again), `KernelUnavailable` (SCATTERGEN_COMPILE=never), `CacheError` (no place at all).
    """
    chosen = settings()
    name = str(spec)

    def make(compiler: Compiler, store: Store, work: Path) -> dict[str, object]:
        from . import making  # not on the way to a hit

        return making.kernel(spec, chosen, compiler, store, work, optimize=optimize)

    return _obtain(name, request.of_kernel(name, chosen, optimize=optimize), chosen, make, private=private)


def find(spec: KernelSpec) -> Built | None:
    """Return the optimised library of a kernel if the store has it. Raises `CacheError` where there is no place."""
    chosen = settings()
    name, began = str(spec), time.perf_counter()
    found = _look_up(name, request.of_kernel(name, chosen), chosen, by_anybody=chosen.compile == "never")
    return _since(began, found, "cache") if found else None


def allows_baseline() -> bool:
    """Whether a library is there sooner if it is compiled without optimising, and the settings allow that."""
    chosen = settings()
    if chosen.compile == "optimized":
        return False
    try:
        return not _compiler(chosen).is_zig
    except CompilerNotFound:
        return True  # somebody else may have built one


def module(
    name: str, recipe: str, write: Callable[[], str], include_dirs: Callable[[], list[str]], *, build: bool = True
) -> Path:
    """Return the library of a Python extension module for this Python.

    ``name`` is lower-case letters, digits and underscores; ``recipe`` stands for the C source, which
    ``write`` makes only where the store has no library. Raises as `library` does, and `KernelUnavailable`
    where none of what `include_dirs` lists has Python's headers, or where ``build=False`` forbids building.
    """
    chosen = settings()
    flags = flags_of_module(chosen)

    def make(compiler: Compiler, store: Store, work: Path) -> dict[str, object]:
        folders = include_dirs()
        included = (*flags, *(f"-I{folder}" for folder in folders))
        if not any(os.path.isfile(os.path.join(folder, "Python.h")) for folder in folders):
            raise KernelUnavailable(f"{name}: no Python.h in {', '.join(folders) or 'no folder'}")
        from . import making

        return making.library(name, write(), [included], chosen, compiler, store, work)

    asked = request.of_module(recipe, flags)
    return _obtain(name, asked, chosen, make, may_build=build).library


_Make = Callable[[Compiler, Store, "Path"], dict[str, object]]


def _obtain(
    name: str, asked: str, chosen: Settings, make: _Make, *, private: bool = False, may_build: bool = True
) -> Built:
    began = time.perf_counter()
    may_build = may_build and chosen.compile != "never"
    found = _look_up(name, asked, chosen, by_anybody=not may_build)
    store = _store(chosen, os.getpid())
    if found:
        return _since(began, _copied(found, name) if private else found, "cache")
    if not may_build:
        why = "SCATTERGEN_COMPILE=never forbids building it" if chosen.compile == "never" else "it is not to be built"
        raise KernelUnavailable(f"{name} is not in the store {store.folder}, and {why}")
    compiler = _compiler(chosen)
    return _once(Store.private() if private else store, name, request.key(asked, compiler.identity), compiler, make)


def _look_up(name: str, asked: str, chosen: Settings, *, by_anybody: bool) -> str | None:
    """Return the folder of an entry; one of another compiler only by `by_anybody`, or where there is none here."""
    store = _store(chosen, os.getpid())
    try:
        found = store.find(name, request.key(asked, _compiler(chosen).identity))
    except CompilerNotFound:
        found, by_anybody = None, True
    if found is None and by_anybody:
        found = store.find_any(name, asked)
    if found:
        log.debug("%s: found %s", name, found)
    return found


def _once(store: Store, name: str, key: str, compiler: Compiler, make: _Make) -> Built:
    from . import single_flight  # imports threading: not on the way to a hit

    run = functools.partial(_build, store, name, key, compiler, make)
    return single_flight.once((store.folder, name, key), run)


def _copied(entry: str, name: str) -> str:
    """Return the folder of an entry's copy in this process's private store."""
    import shutil

    def make(work: Path) -> dict[str, object]:
        shutil.copytree(entry, work, dirs_exist_ok=True)
        return entries.meta(entry)

    return str(Store.private().build(name, os.path.basename(entry)[len(name) + 1 :], make).parent)


def _build(store: Store, name: str, key: str, compiler: Compiler, make: _Make) -> Built:
    began = time.perf_counter()
    made = False

    def note_and_make(work: Path) -> dict[str, object]:
        nonlocal made
        made = True
        return make(compiler, store, work)

    path = store.build(name, key, note_and_make)
    # Another process may have published it while we waited for the lock.
    built = _since(began, str(path.parent), "built" if made else "cache")
    log.debug("%s: %s %s in %.3f s", name, built.origin, path, built.seconds)
    return built


def _since(began: float, folder: str, origin: Literal["cache", "built"]) -> Built:
    return Built(folder=folder, origin=origin, seconds=time.perf_counter() - began)


@functools.cache
def _store(chosen: Settings, process: int) -> Store:
    """Open the store once per process: a forked child has a private folder of its own."""
    return Store.open(chosen)


_compiler = functools.cache(toolchain.find)


def forget() -> None:
    """Forget all that this module keeps for the life of the process; the next call looks afresh."""
    for kept in (_store, _compiler):
        kept.cache_clear()
    request.forget()
    from . import single_flight

    single_flight.forget()
