"""The store of built libraries: look up, build and publish. It knows no specs, and of compilers how they fail.

Layout, under a root that belongs to its user alone::

    v1/<name>-<request>-<compiler>/     kernel.c  kernel.so  meta.json, never changed after publication
    compilers/                          what was learnt about compilers, and what tools keep: zig, jinja
    locks/00 … ff                       advice only
    tmp/                                builds in progress, the last failed ones, what was moved aside

A hit takes no lock, starts no process and lists no folder. Correctness rests on two things alone: an
entry appears by one rename, and its digest is verified before anybody loads it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..common import log
from ..common.config import Settings
from ..common.paths import AnyPath
from ..common.record import Record
from ..errors import CacheError, CompileError
from . import entries, location
from .entries import LIBRARY

if TYPE_CHECKING:
    from pathlib import Path

_LOCK_TIMEOUT = 60.0
_FULL = ("No space left on device", "Disk quota exceeded")
"""What compilers say (in the C locale) when it is not the source that they fail at."""

Make = Callable[["Path"], dict[str, object]]
"""Writes kernel.c and kernel.so into the folder that it is given; returns what is to be known of them."""


class Store(Record):
    """An opened store.

    ``mode`` is that of the settings: ``on``; ``read-only`` (builds go to a private folder on top);
    ``memory`` (a private folder is all there is); ``off`` (the same, and nothing is found again).
    """

    folder: str
    """Path of its root."""
    mode: str
    limit: int

    @classmethod
    def open(cls, settings: Settings, *, strict: bool = False) -> Store:
        """Open the store that the settings name.

        One that cannot be used or trusted is replaced by a private folder for the life of the process,
        with one RuntimeWarning; `strict` makes that a `CacheError`.
        """
        if settings.cache in ("memory", "off"):
            return cls(folder=location.private(), mode=settings.cache, limit=settings.cache_limit)
        root = location.choose(settings.cache_dir, os.environ)
        reading = settings.cache == "read-only"
        why = _reason(root, reading=reading, shared=reading and bool(settings.cache_dir))
        if root and not why:
            return cls(folder=root, mode=settings.cache, limit=settings.cache_limit)
        if strict:
            raise CacheError(f"the kernel store cannot be used: {why}")
        _warn(f"{why}. Until then kernels are kept for the life of this process only.")
        return cls.private()

    @classmethod
    def private(cls) -> Store:
        """Open this process's private store, which goes when the process ends."""
        return cls(folder=location.private(), mode="memory", limit=0)

    @property
    def root(self) -> Path:
        """Its root."""
        from pathlib import Path  # here and elsewhere: not on the way to a hit

        return Path(self.folder)

    def get(self, name: str, key: str) -> Path | None:
        """Return the verified library of an entry, or None. A damaged entry is moved aside."""
        from pathlib import Path

        found = self.find(name, key)
        return Path(found, LIBRARY) if found else None

    def find(self, name: str, key: str) -> str | None:
        """Return the folder of an entry whose library is verified, or None. A damaged entry is moved aside."""
        folder = entries.folder_name(name, key)
        for root in self._roots():
            entry = os.path.join(root, location.ENTRIES, folder)
            try:
                sound = entries.is_sound(entry)
            except OSError:
                continue
            if sound:
                entries.mark_used(entry)
                return entry
            log.debug("%s is damaged; moved aside", entry)
            if self.mode != "read-only":
                entries.retire(entry, os.path.join(root, location.WORK), "damaged")
        return None

    def find_any(self, name: str, request: str) -> str | None:
        """Return the folder of the newest verified entry for a request, whatever compiler built it, or None.

        `request` is the key's part before its last hyphen. Lists the store, so it is for those who have
        no compiler.
        """
        start = f"{name}-{request}-"
        found: list[tuple[float, str]] = []
        for root in self._roots():
            try:
                folder = os.path.join(root, location.ENTRIES)
                names = [entry for entry in os.listdir(folder) if entry.startswith(start)]
                found += [(entries.last_used(os.path.join(folder, entry)), entry) for entry in names]
            except OSError:
                continue
        for _, entry in sorted(found, reverse=True):
            there = self.find(name, entry[len(name) + 1 :])
            if there:
                return there
        return None

    def build(self, name: str, key: str, make: Make) -> Path:
        """Return the library of an entry, made by `make` in a private folder unless another process did.

        Where the store cannot be written (full, read-only, gone) the entry goes to the private store, with
        one RuntimeWarning. A `CompileError` of `make` names the place where the source is kept.
        """
        if self.mode == "read-only":
            return Store.private().build(name, key, make)
        from . import locks

        folder = entries.folder_name(name, key)
        try:
            location.prepare(self.folder)
            if self.mode == "off":
                return self._made(name, make) / LIBRARY
            shard = self.root / location.LOCKS / key[:2]
            with locks.advice(shard, timeout=_LOCK_TIMEOUT, what=name):
                return self.get(name, key) or self._publish(name, folder, make)
        except OSError as problem:
            if self.folder == location.existing_private():
                raise CacheError(f"no kernel can be built in {self.folder}: {problem}; set TMPDIR") from problem
            _warn(f"{self.folder} cannot be written ({problem}). {name} is kept while this process lives.")
            return Store.private().build(name, key, make)

    def _publish(self, name: str, folder: str, make: Make) -> Path:
        work = self._made(name, make)
        entry = self.root / location.ENTRIES / folder
        try:
            entries.publish(work, entry, self.root / location.WORK)
        except OSError:
            _remove(work)
            raise
        if self.mode == "on":
            from . import upkeep

            upkeep.tidy(self.root, self.limit, keep=folder)
        return entry / LIBRARY

    def _made(self, name: str, make: Make) -> Path:
        """Return a folder with all that an entry has, made and sealed."""
        import tempfile
        from pathlib import Path

        work = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self.root / location.WORK))
        try:
            entries.seal(work, make(work))
            return work
        except CompileError as error:
            if any(text in error.output for text in _FULL):
                _remove(work)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(work)) from error
            raise self._kept(work, error) from None
        except BaseException:
            _remove(work)
            raise

    def _kept(self, work: Path, error: CompileError) -> CompileError:
        from . import upkeep

        place = upkeep.keep_failed(work) / error.source_path.name
        return error.but(source_path=place, passing=os.fspath(self.root) == location.existing_private())

    def facts(self, identity: str) -> dict[str, object]:
        """Return what was learnt about a compiler; empty where nothing was."""
        from . import learnt

        return learnt.known(self._roots(), identity)

    def learn(self, identity: str, facts: Mapping[str, object]) -> None:
        """Add to what is known about a compiler. A store that cannot be written forgets it."""
        from . import learnt

        root = location.private() if self.mode == "read-only" else self.folder
        learnt.add(root, identity, {**self.facts(identity), **facts})

    def tool_folder(self, tool: str) -> Path:
        """Return the path of a folder where a tool may keep what its later runs can use; `tool` names it."""
        root = location.private() if self.mode == "read-only" else self.folder
        from pathlib import Path

        return Path(root, location.COMPILERS, tool)

    def _roots(self) -> list[str]:
        if self.mode == "off":
            return []
        top = location.existing_private() if self.mode == "read-only" else None
        return [self.folder, top] if top else [self.folder]


def _reason(root: str | None, *, reading: bool, shared: bool) -> str:
    """Return why a store cannot be used, "" where it can; make its folders if need be."""
    if root is None:
        return "there is no home directory to keep kernels in; set SCATTERGEN_CACHE_DIR"
    why = location.trouble(root, shared=shared)
    if why or reading or location.is_whole(root):
        return why
    try:
        location.prepare(root)
    except OSError as problem:
        return f"{root} cannot be made ({problem}); set SCATTERGEN_CACHE_DIR to a place that can be written"
    # mkdir's mode does not tighten a folder that was there, and somebody may have been faster.
    return location.trouble(root, shared=shared)


def _remove(folder: AnyPath) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


_warned: set[str] = set()


def _warn(text: str) -> None:
    import warnings

    if text not in _warned:
        _warned.add(text)
        warnings.warn(f"scattergen: {text}", RuntimeWarning, stacklevel=3)
