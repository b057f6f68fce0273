"""The caller: a small API-mode module through which all calls go once it is there.

Its C lies in templates/python; cffi writes what makes a module of it, our own compiler builds it, once per Python,
and the store keeps it. Nothing needs it: until it is there, and where it cannot be built, calls go through the ABI
module, and small ones take a microsecond or two longer. A process that finds it in the store takes it at once; one
that makes many calls has it built in the background; `compile` and the ahead-of-time builds make it on the way.
"""

from __future__ import annotations

import os
import sys

import numpy as np

from ..common import config, log
from ..common.paths import content, template_folder
from ..compiler import build
from ..errors import CompilerNotFound, ScattergenError
from . import loader

NAME = "scattergen_caller"
CDEF = """
int64_t scattergen_invoke(const void *call, void *out, const void *data, const void *indices, const void *updates,
                          void *scratch);
int64_t scattergen_functions(uintptr_t list);
"""

_PARTS = ("call", "memory", "site", "table", "bound", "functions")
_IS_CPYTHON = sys.implementation.name == "cpython"
"""Elsewhere an object's id is not its address."""

_calls = 0
_tried = False
_path = ""
"""Where the module lies that this process uses."""
_failure = ""
"""Why this process could not build it, or not load it."""


def adopt() -> bool:
    """Take the caller if the store has it; else have it built once this process has made many calls.

    False at the first call of a process: there may be no second, and loading a module takes half a millisecond.
    """
    global _calls, _tried
    _calls += 1
    if _calls == 1 and not _tried:
        return False
    if not _tried:
        _tried = True
        if not _take(build_it=False) and config.settings().compile != "never":
            loader.on_many_calls = _start
    return True


def make() -> bool:
    """Take the caller, built now if the store lacks it; False where it cannot be built."""
    global _tried
    _tried = True
    return _take(build_it=True)


def _start() -> None:
    import threading

    try:
        threading.Thread(target=lambda: _take(build_it=True), name=NAME, daemon=True).start()
    except RuntimeError as error:  # no more threads, or the interpreter is about to end
        log.debug("calls go without the caller module: %s", error)


def _take(*, build_it: bool) -> bool:
    global _path, _failure
    if loader.has_caller():
        return True
    if not _IS_CPYTHON:
        return False
    try:
        path = build.module(NAME, _recipe(), source, _include_dirs, build=build_it)
        _path = str(path)
        loader.use_caller(path)
    except (ScattergenError, ImportError, OSError, UnicodeError) as error:  # 3.13 wants paths that are text
        log.debug("calls go without the caller module: %s", error)
        _failure = str(error) if build_it or isinstance(error, (ImportError, UnicodeError)) else _failure
        return False
    if loader.functions is not None:
        loader.functions.keep_memory(min(config.settings().keep_memory, sys.maxsize))
    return True


def status() -> dict[str, str]:
    """Return where the module lies, and which calls use it or why none does; this loads and builds nothing."""
    if loader.has_caller():
        return {"path": _path, "state": "calls of this process go through it"}
    if not _IS_CPYTHON:
        return {"path": "", "state": f"none on {sys.implementation.name}: small calls take longer"}
    try:
        path = str(build.module(NAME, _recipe(), source, _include_dirs, build=False))
    except (ScattergenError, ImportError, OSError) as error:
        return {"path": "", "state": f"none, so that small calls take longer: {_failure or _why_none(error)}"}
    return {"path": path, "state": _failure or "calls go through it from the second one of a process on"}


def _why_none(error: Exception) -> str:
    """Return why the store lacks the module, which `error` says, and what to do."""
    from ..compiler import toolchain

    chosen = config.settings()
    if chosen.compile == "never":
        return str(error)
    if not any(os.path.isfile(os.path.join(folder, "Python.h")) for folder in _include_dirs()):
        return f"there is no Python.h in {', '.join(_include_dirs())}; install the headers of this Python"
    try:
        toolchain.find(chosen)
    except CompilerNotFound:
        return "there is no C compiler"
    return f"not built yet; {loader.MANY_CALLS} calls of a process have it built, scattergen.compile does at once"


def _include_dirs() -> list[str]:
    import sysconfig

    return [sysconfig.get_path("include"), sysconfig.get_path("platinclude"), np.get_include()]


def _text() -> str:
    folder = os.path.join(template_folder(), "python")
    return "\n".join(content(os.path.join(folder, f"{part}.c")).decode() for part in _PARTS)


def _recipe() -> str:
    """Return what stands for the source in the store: importing cffi whole takes longer than a hit may."""
    import _cffi_backend

    return f"{_cffi_backend.__version__} {np.__version__}\n{CDEF}\n{_text()}"


def source() -> str:
    """Return the C of the module, as cffi writes it."""
    import io

    import cffi

    ffi = cffi.FFI()
    ffi.cdef(CDEF)
    ffi.set_source(loader.CALLER, _text(), compiler_verbose=0)
    text = io.StringIO()
    ffi.emit_c_code(text)
    # The stable ABI hides what a vector call is; the module is of one Python anyway.
    return f"#define _CFFI_NO_LIMITED_API\n{text.getvalue()}"
