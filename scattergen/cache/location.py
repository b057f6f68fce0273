"""Where the store lies, and whether what lies there may be trusted: we execute what is in it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping

from ..common.paths import AnyPath
from ..errors import CacheError

FORMAT = 1
"""Number of the layout below; a store of another one is not looked at."""

ENTRIES = f"v{FORMAT}"
LOCKS = "locks"
WORK = "tmp"
COMPILERS = "compilers"
FOLDERS = (ENTRIES, LOCKS, WORK, COMPILERS)


def choose(cache_dir: str, environ: Mapping[str, str]) -> str | None:
    """Return the root of the store: `cache_dir`, else the user's cache folder; None if there is none."""
    if cache_dir:
        return os.path.abspath(os.path.expanduser(cache_dir))
    # A relative XDG_CACHE_HOME is to be ignored, says its specification.
    base = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
    return os.path.join(base, "scattergen") if os.path.isabs(base) else None


def _folders(root: AnyPath) -> list[str]:
    return [os.fspath(root), *(os.path.join(root, name) for name in FOLDERS)]


def prepare(root: AnyPath) -> None:
    """Make the folders of a store, for its owner alone; raise OSError where that is impossible."""
    for folder in _folders(root):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue


def is_whole(root: AnyPath) -> bool:
    """Return whether all folders of a store are there."""
    return all(map(os.path.lexists, _folders(root)))


def trouble(root: AnyPath, *, shared: bool) -> str:
    """Return why the store at `root` must not be used and what to do about it; "" where it may be.

    A `shared` store is only read and was named by the user: it may belong to anybody, but not be open to
    everybody's changes.
    """
    for folder in _folders(root):
        try:
            status = os.lstat(folder)
        except FileNotFoundError:
            continue
        except OSError as problem:
            return f"{problem}; set SCATTERGEN_CACHE_DIR to another place"
        why = _distrust(folder, status, shared)
        if why:
            return f"{folder} {why}"
    return ""


def _distrust(folder: str, status: os.stat_result, shared: bool) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "is a symbolic link; set SCATTERGEN_CACHE_DIR to the directory that it leads to"
    if not stat.S_ISDIR(status.st_mode):
        return "is not a directory; move it away, or set SCATTERGEN_CACHE_DIR to another place"
    if os.name != "posix":
        return ""
    if not shared and status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}, not to you; set SCATTERGEN_CACHE_DIR to a place of your own"
    if status.st_mode & 0o022:
        return f"can be changed by other users; run: chmod go-w '{folder}'"
    if not shared and not os.access(folder, os.W_OK | os.X_OK):
        allowed = status.st_mode & stat.S_IRWXU == stat.S_IRWXU  # what forbids it is no mode
        advice = "set SCATTERGEN_CACHE_DIR to a place that is" if allowed else f"run: chmod u+rwx '{folder}'"
        why = ", as its file system is mounted" if allowed else ""
        return f"is not writable{why}; {advice}, or set SCATTERGEN_CACHE=read-only and SCATTERGEN_CACHE_DIR"
    return ""


_private: dict[int, str] = {}


def private() -> str:
    """Return this process's own store: a temporary folder, removed when the process ends."""
    found = existing_private()
    if found:
        return found
    import atexit
    import tempfile

    try:
        root = tempfile.mkdtemp(prefix="scattergen-")
        prepare(root)
    except OSError as problem:
        raise CacheError(f"no place for a temporary folder ({problem}); set TMPDIR or SCATTERGEN_CACHE_DIR") from None
    standing = _private.setdefault(os.getpid(), root)
    atexit.register(_remove, root, os.getpid())
    return standing


def existing_private() -> str | None:
    """Return the folder that `private` made in this process, if it did. A forked child makes its own."""
    return _private.get(os.getpid())


def _remove(root: str, maker: int) -> None:
    import shutil

    if os.getpid() == maker:
        _private.pop(maker, None)
        shutil.rmtree(root, ignore_errors=True)
