"""Housekeeping of the store: list, verify, prune, clear, and what follows a publication."""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..common.record import Record
from ..errors import CacheError
from . import entries, location

_FAILED_KEPT = 5
_DAY = 24 * 3600.0
_HOUR = 3600.0
_KNOWN = re.compile(rf"v\d+|{location.LOCKS}|{location.WORK}|{location.COMPILERS}")
_FINISHED_WORK = ("failed-", "damaged-", "gone-")


class Entry(Record):
    """A finished entry: its kernel, folder, bytes on disk, and last use in seconds since the epoch."""

    name: str
    path: Path
    size: int
    used: float

    @property
    def meta(self) -> dict[str, Any]:
        """What was written down at the build: spec, command, compiler, seconds, created, sha256."""
        return entries.meta(self.path)


def listed(root: Path) -> list[Entry]:
    """List the finished entries, least recently used first."""
    found = []
    for folder in _listed(root / location.ENTRIES):
        matched = re.fullmatch(entries.NAME, folder.name)
        if not matched:
            continue
        try:
            used = entries.last_used(folder)
            with os.scandir(folder) as files:
                size = sum(file.stat().st_size for file in files)
        except FileNotFoundError:
            # Evicted while we looked, or without its meta.json: verify() says so.
            used, size = 0.0, 0
            if not folder.exists():
                continue
        found.append(Entry(name=matched["name"], path=folder, size=size, used=used))
    return sorted(found, key=lambda entry: (entry.used, entry.path.name))


def verify(root: Path) -> list[Entry]:
    """Read every library, remove the entries that are damaged, and return those."""
    damaged = []
    for entry in listed(root):
        try:
            sound = entries.is_sound(entry.path)
        except FileNotFoundError:
            continue
        if not sound:
            damaged.append(entry)
            _discard(root, entry, "damaged")
    return damaged


def prune(root: Path, *, older_than: float | None = None, max_bytes: int | None = None) -> list[Entry]:
    """Remove entries unused for `older_than` seconds, then the least recently used above `max_bytes`.

    Returns what was removed. Sweeps what dead builds left behind as well.
    """
    standing = listed(root)
    now = time.time()
    removed = [entry for entry in standing if older_than is not None and now - entry.used > older_than]
    kept = [entry for entry in standing if entry not in removed]
    total = sum(entry.size for entry in kept)
    for entry in kept:
        if max_bytes is None or total <= max_bytes:
            break
        total -= entry.size
        removed.append(entry)
    for entry in removed:
        _discard(root, entry, "gone")
    _sweep(root, _DAY)
    return removed


def clear(root: Path) -> int:
    """Remove everything that the store made but the lock files; return the number of entries.

    Raises `CacheError`, before anything is removed, where the folder holds names that no store makes.
    Builds in progress are left to end.
    """
    unknown = [path.name for path in _listed(root) if not _KNOWN.fullmatch(path.name)]
    unknown += [path.name for path in _listed(root / location.ENTRIES) if not re.fullmatch(entries.NAME, path.name)]
    if unknown:
        raise CacheError(
            f"{root} holds names that scattergen did not make ({', '.join(sorted(unknown)[:5])});"
            " nothing was removed. Is it the right directory?"
        )
    removed = listed(root)
    for entry in removed:
        _discard(root, entry, "gone")
    for path in _listed(root):
        if re.fullmatch(r"v\d+", path.name) and path.name != location.ENTRIES:
            shutil.rmtree(path, ignore_errors=True)
    for path in _listed(root / location.COMPILERS):
        _delete(path)
    for path in _listed(root / location.WORK):
        if path.name.startswith(_FINISHED_WORK):
            _delete(path)
    _sweep(root, _HOUR)
    return len(removed)


def tidy(root: Path, limit: int, *, keep: str) -> None:
    """After a publication: bring the store below `limit` bytes, but for the entry `keep`, and sweep."""
    standing = listed(root)
    total = sum(entry.size for entry in standing)
    for entry in standing:
        if total <= limit:
            break
        if entry.path.name != keep:
            total -= entry.size
            _discard(root, entry, "gone")
    _sweep(root, _DAY)


def keep_failed(work: Path) -> Path:
    """Keep the folder of a failed build under another name, the newest five of them; return its place."""
    place = work.with_name(f"failed-{work.name}")
    try:
        os.rename(work, place)
        os.utime(place)
    except OSError:
        return work
    failed = [path for path in _listed(work.parent) if path.name.startswith("failed-")]
    for path in sorted(failed, key=_modified, reverse=True)[_FAILED_KEPT:]:
        _delete(path)
    return place


def _sweep(root: Path, age: float) -> None:
    oldest = time.time() - age
    for path in _listed(root / location.WORK):
        if _modified(path) < oldest:
            _delete(path)


def _discard(root: Path, entry: Entry, why: str) -> None:
    # First out of sight, by one rename: nobody may find half of an entry.
    aside = entries.retire(entry.path, root / location.WORK, why)
    if aside:
        _delete(Path(aside))


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):  # another process sweeps as well
        path.unlink()


def _modified(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return time.time()


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
