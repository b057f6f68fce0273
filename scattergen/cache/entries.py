"""One finished entry of the store: a folder with source, library and what is known of them.

It is made in a folder of its own, sealed, and appears under its name by one rename; nothing is
ever written to it again. It disappears by one rename, too.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import TYPE_CHECKING, Any

from ..common.digest import sha256
from ..common.paths import AnyPath
from ..errors import CacheError

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = "kernel.c"
LIBRARY = "kernel.so"
META = "meta.json"

NAME = r"(?P<name>[a-z0-9_]+)-(?P<request>[0-9a-f]{16})-(?P<compiler>[0-9a-f]{8})"
_DIGEST = b'"sha256": "'
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
_HEX = frozenset("0123456789abcdef-")
_DAY = 24 * 3600.0
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
"""What a rename says when its target's name is in use."""


def folder_name(name: str, key: str) -> str:
    """Return an entry's name, which `NAME` describes; raise `CacheError` for parts that would not fit."""
    joined = f"{name}-{key}"
    # Not by the pattern: to compile it takes as long as the rest of a hit.
    dashes = len(key) == 25 and key[16] == "-" and joined.count("-") == 2
    if not name or not dashes or not _LETTERS.issuperset(name) or not _HEX.issuperset(key):
        raise CacheError(f"{joined!r} cannot name an entry of the store")
    return joined


def is_sound(entry: AnyPath) -> bool:
    """Return whether an entry's library is the one that was published.

    This decides about life and death: loading a library that was cut short kills the process. Raises
    FileNotFoundError where there is no entry.
    """
    if not stat.S_ISDIR(os.lstat(entry).st_mode):
        return False
    try:
        # The json module takes longer to import than all of this, and one field is enough.
        found = read(os.path.join(entry, META)).partition(_DIGEST)[2][:64]
        return sha256(read(os.path.join(entry, LIBRARY))).encode() == found
    except OSError:
        return False


def read(path: AnyPath) -> bytes:
    """Return a file's content; a symbolic link in its place is an OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def mark_used(entry: AnyPath) -> None:
    """Note that an entry is in use, once a day at most: what eviction goes by."""
    try:
        if time.time() - os.stat(os.path.join(entry, META)).st_mtime > _DAY:
            os.utime(os.path.join(entry, META))
    except OSError:
        # A store that we may only read, or an entry that has just gone: neither is the caller's concern.
        pass


def last_used(entry: AnyPath) -> float:
    """Return when an entry was last marked as used (seconds since the epoch); OSError if it has gone."""
    return os.stat(os.path.join(entry, META)).st_mtime


def meta(entry: AnyPath) -> dict[str, Any]:
    """Return what was written down about an entry; empty where that is unreadable."""
    import json

    try:
        found = json.loads(read(os.path.join(entry, META)))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def seal(work: Path, known: dict[str, object]) -> None:
    """Write down what is `known` about the library in `work`, its digest and the date."""
    import json

    facts = {
        **known,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "sha256": sha256(read(work / LIBRARY)),
    }
    (work / META).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def publish(work: Path, entry: Path, trash: Path) -> None:
    """Give the sealed folder `work` its name, unless a sound entry of that name is there already.

    Raises OSError where the file system refuses.
    """
    import shutil

    for _ in range(3):
        try:
            os.rename(work, entry)
            return
        except OSError as problem:
            if problem.errno not in _TAKEN:
                raise
        try:
            if is_sound(entry):
                # Another process was faster; its entry is as good.
                shutil.rmtree(work, ignore_errors=True)
                return
        except FileNotFoundError:
            continue
        retire(entry, trash, "damaged")
    raise OSError(errno.EEXIST, "a damaged entry cannot be moved away", str(entry))


def retire(entry: AnyPath, trash: AnyPath, why: str) -> str | None:
    """Move an entry out of sight, into the folder `trash`; None where that fails or it has gone already."""
    import secrets

    aside = os.path.join(trash, f"{why}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        os.rename(entry, aside)
    except OSError:
        return None
    return aside
