"""Kernels out of folders that were built ahead of time: asked before the store and before a compiler.

Folders are those that the program named, the newest first; those of SCATTERGEN_AOT_PATH; and the one that
a wheel may carry. One that is of no use here is refused once, with the reason, and the next is asked.
"""

from __future__ import annotations

import functools
import itertools
import os
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..common import config, log, machine
from ..common.paths import PACKAGE
from ..common.record import Record
from ..common.words import number_of
from ..compiler import request
from ..errors import AheadOfTimeError, ScattergenError
from . import loader
from .loader import Loaded

if TYPE_CHECKING:
    from pathlib import Path

    from .manifest import Manifest

PACKAGED = os.path.join(PACKAGE, "kernels")
"""Where a wheel has kernels of its own."""


class Folder(Record):
    """A folder that was looked at, and what it is good for here."""

    path: Path
    refusal: str = ""
    """Why nothing of it is used; empty where it is."""
    level: str = ""
    """The instruction-set level of the library that is used."""
    library: Path | None = None
    loaded: Mapping[str, Loaded] = MappingProxyType({})

    def __repr__(self) -> str:
        level = f" for {self.level}" if self.level else ""
        what = f"refused: {self.refusal}" if self.refusal else f"{number_of(len(self.loaded), 'kernel')}{level}"
        return f"<Folder {self.path}: {what}>"

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels that it serves."""
        return tuple(self.loaded)


_used: dict[str, int] = {}
"""Folders that this process was told to ask → when; the last one is asked first."""
_order = itertools.count()


def use(folder: str | os.PathLike[str]) -> Folder:
    """Ask `folder` from now on, before all others, for kernels that this process has not loaded yet."""
    path = os.path.abspath(os.fsdecode(folder))
    _opened.cache_clear()
    found = _opened(path)
    _used[path] = next(_order)
    return found


def find(name: str) -> tuple[Loaded, Path] | None:
    """Return the kernel of that name with its library, None where no folder has it."""
    for folder in folders():
        if folder.library and name in folder.loaded:
            log.debug("%s: found in %s", name, folder.library)
            return folder.loaded[name], folder.library
    return None


def folders() -> list[Folder]:
    """Return the folders in the order in which they are asked, those that are refused too."""
    used = _used.copy()  # whole, whatever other threads add
    newest_first = sorted(used, key=used.__getitem__, reverse=True)
    paths = [*newest_first, *filter(None, config.settings().aot_path.split(os.pathsep))]
    if _packaged():
        paths.append(PACKAGED)
    return [_opened(path) for path in paths]


@functools.cache
def _packaged() -> bool:
    return os.path.isdir(PACKAGED)


@functools.cache
def _opened(folder: str) -> Folder:
    from pathlib import Path

    path = Path(folder)
    try:
        return _open(path)
    except (ScattergenError, OSError) as error:
        warnings.warn(
            f"scattergen does without the kernels of {path}: {error}", RuntimeWarning, stacklevel=outside_of_package()
        )
        return Folder(path=path, refusal=str(error))


def _open(path: Path) -> Folder:
    from . import manifest

    found = manifest.read(path)
    level = _level(found)
    library = path / found.libraries[level]
    if not library.is_file():
        raise AheadOfTimeError(f"{library} is missing: build the folder again")
    if manifest.digest(library) != found.digests.get(found.libraries[level]):
        # Loading a library that was cut short kills the process.
        raise AheadOfTimeError(f"{library} is not the file that was built: build the folder again")
    loaded = loader.open_kernels(library)
    used = {name: loaded[name] for name in found.kernels if name in loaded}
    return Folder(path=path, level=level, library=library, loaded=used)


def _level(found: Manifest) -> str:
    """Return the best level of a folder that this machine has; raise `AheadOfTimeError` if it has none."""
    if found.abi != loader.ABI:
        raise AheadOfTimeError(f"it is of kernel ABI {found.abi}, this scattergen calls {loader.ABI}: build it again")
    from ..compiler import platforms

    if f"{found.system} {found.machine}" != platforms.here():
        raise AheadOfTimeError(f"it is for {found.system} {found.machine}, this machine is {platforms.here()}")
    if found.generator != request.generator_fingerprint():
        raise AheadOfTimeError(
            f"it was built by another scattergen ({found.version}), whose kernels may read their layouts"
            " otherwise: build it again"
        )
    able = [level for level in found.libraries if not machine.lacking(level)]
    if able:
        return able[-1]
    lowest = next(iter(found.libraries))
    raise AheadOfTimeError(f"it asks for a CPU of level {lowest}; this one lacks {', '.join(machine.lacking(lowest))}")


def outside_of_package() -> int:
    """Return the stack level of the code that called scattergen, seen from our caller."""
    import sys

    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("scattergen"):
        level, frame = level + 1, frame.f_back
    return level
