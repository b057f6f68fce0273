"""The C compiler: find it, identify it, run it, tell its failure.

Nothing here knows of kernels or of the store.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from ..common.config import Settings
from ..common.record import Record
from ..errors import CompileError, CompilerNotFound
from .flags import refuse, split

if TYPE_CHECKING:
    from pathlib import Path

_CANDIDATES = ("cc", "gcc", "clang")


class Compiler(Record):
    """A C compiler that is there.

    ``command`` is what to run, words of the user's included; ``path`` the resolved binary; ``identity``
    changes when the command or any program that it names does.
    """

    command: tuple[str, ...]
    path: str
    identity: str

    @property
    def is_zig(self) -> bool:
        """Whether it is ``zig cc``, which names CPUs in its own way and keeps caches of its own."""
        return any(os.path.splitext(os.path.basename(word))[0] in ("zig", "ziglang") for word in self.command)

    def spell(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """Return `flags` as this compiler writes them."""
        if not self.is_zig:
            return flags
        # zig takes the host's CPU where nothing is said, so every build says one.
        chosen = [flag for flag in flags if flag.startswith("-march=")] or ["-march=baseline"]
        rest = tuple(flag for flag in flags if not flag.startswith("-march="))
        return (*rest, "-mcpu=" + chosen[-1].partition("=")[2].replace("-", "_"))


def find(settings: Settings) -> Compiler:
    """Return the compiler to use: the one that is set, else cc, gcc or clang, else the ziglang package.

    A compiler that is set and not there is an error: another one in its place would be a surprise.
    Raises `CompilerNotFound`.
    """
    if settings.cc:
        return _named(split(settings.cc, "SCATTERGEN_CC (or CC)"), settings.cc)
    for name in _CANDIDATES:
        found = _which(name)
        if found:
            return _compiler((found,))
    zig = _zig()
    if zig:
        return _compiler((zig, "cc"))
    raise CompilerNotFound(
        f"no C compiler. Looked for: SCATTERGEN_CC and CC (not set); {', '.join(_CANDIDATES)} on PATH"
        f" ({os.environ.get('PATH', '') or 'empty'}); the ziglang package of this Python.{_WAYS_OUT}"
    )


def set_by_user(settings: Settings) -> tuple[str, ...]:
    """Return the variables that choose the compiler or add to its flags, as far as they are set."""
    chooses = "SCATTERGEN_CC" if os.environ.get("SCATTERGEN_CC") else "CC"
    return tuple(name for name, text in (("SCATTERGEN_CFLAGS", settings.cflags), (chooses, settings.cc)) if text)


_WAYS_OUT = """
  - install a compiler (apt install gcc; dnf install gcc; xcode-select --install), or
  - pip install ziglang, which brings one as a Python package, or
  - build the kernels ahead of time on a machine that has one, and set SCATTERGEN_AOT_PATH."""


def _named(words: list[str], text: str) -> Compiler:
    refuse(words, "SCATTERGEN_CC (or CC)")
    found = _which(words[0]) if words else ""
    if not found:
        raise CompilerNotFound(
            f"no C compiler: SCATTERGEN_CC (or CC) is {text!r}, and {words[0] if words else text!r} is no"
            f" program on PATH ({os.environ.get('PATH', '') or 'empty'}).\n"
            f"  - unset it, to have {', '.join(_CANDIDATES)} and the ziglang package tried, or{_WAYS_OUT}"
        )
    # We run in another directory, so paths that the user gave from here are made absolute.
    rest = [os.path.abspath(word) if os.sep in word and os.path.exists(word) else word for word in words[1:]]
    return _compiler((found, *rest))


def _compiler(command: tuple[str, ...]) -> Compiler:
    parts, path = list(command), ""
    for word in command:
        program = "" if word.startswith("-") else _which(word)
        if program:
            # The name counts as well as the file: ccache and some clangs act by the name they are called by.
            status, real = os.stat(program), os.path.realpath(program)
            parts.append(f"{program} {real} {status.st_size} {status.st_mtime_ns}")
            path = path or real
    return Compiler(command=command, path=path or os.path.realpath(command[0]), identity="\n".join(parts))


def _which(name: str) -> str:
    # shutil.which does the same, at 6 ms of imports on the way to every first hit.
    folders = [""] if os.path.dirname(name) else os.environ.get("PATH", "").split(os.pathsep)
    for folder in folders:
        path = os.path.abspath(os.path.join(folder, name))
        if (folder or os.path.dirname(name)) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def _zig() -> str:
    import importlib.util

    package = importlib.util.find_spec("ziglang")
    for folder in (package and package.submodule_search_locations) or ():
        found = _which(os.path.join(folder, "zig"))
        if found:
            return found
    return ""


def compile_library(
    compiler: Compiler,
    source: Path,
    library: Path,
    flags: tuple[str, ...],
    *,
    spec: str,
    timeout: float,
    scratch: Path | None = None,
) -> float:
    """Compile `source` to the shared library `library`, and return the seconds that took.

    Runs in the folder of `source`, which must be private, and leaves nothing there but the library.
    `scratch` is a folder where the compiler may keep what later runs can use. `timeout` is in seconds, 0
    is no limit. Raises `CompileError` with what the compiler said.
    """
    import shutil

    from ..common import process

    began = time.perf_counter()
    private = source.parent
    target = library.name if library.parent == private else str(library.absolute())
    command = command_line(compiler, source.name, target, flags)
    work = private / ".compiler"
    work.mkdir(exist_ok=True)
    try:
        ended = process.run(command, private, _environment(work, scratch or work), timeout)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    name = os.path.basename(command[0])
    if ended.failure:
        raise CompileError(spec, command, ended.output, source, f"{name} {ended.failure}", ended.said_no)
    if not library.is_file():
        raise CompileError(spec, command, ended.output, source, f"{name} ended well, but wrote no library")
    return time.perf_counter() - began


def command_line(compiler: Compiler, source: str, library: str, flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of the command; the source stands first so that ``-l`` flags find its symbols."""
    return (*compiler.command, source, *compiler.spell(flags), "-o", library)


def _environment(work: Path, scratch: Path) -> dict[str, str]:
    given = {"ZIG_GLOBAL_CACHE_DIR": str(scratch), **os.environ}
    temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP", "ZIG_LOCAL_CACHE_DIR"), str(work))
    # Messages in one language, for people who read other people's reports.
    return {**given, **temporary, "LC_ALL": "C"}
