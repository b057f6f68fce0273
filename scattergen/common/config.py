"""The settings: one table, read from the environment on first use into an immutable record.

``in_key`` says whether a setting changes what a compiled kernel is, and so enters its cache key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import SettingError
from .record import Record


class Setting(Record):
    """One row of the table: a field of `Settings` and the environment variable behind it."""

    field: str
    variable: str
    choices: tuple[str, ...]
    """Allowed words; empty where any text (or, for an int default, any whole number >= 0) is."""
    in_key: bool
    meaning: str
    also: str = ""
    """A variable of others that is read where this one is not set."""


TABLE: tuple[Setting, ...] = (
    Setting(
        "cc", "SCATTERGEN_CC", (), True, "C compiler command; if unset: CC, cc, gcc, clang, the ziglang package", "CC"
    ),
    Setting("cflags", "SCATTERGEN_CFLAGS", (), True, "flags added after scattergen's own"),
    Setting("cpu", "SCATTERGEN_CPU", (), True, "instruction set: native, or a level such as x86-64-v3"),
    Setting("cache_dir", "SCATTERGEN_CACHE_DIR", (), False, "where built kernels are kept"),
    Setting("cache", "SCATTERGEN_CACHE", ("on", "read-only", "memory", "off"), False, "how the store is used"),
    Setting("cache_limit", "SCATTERGEN_CACHE_LIMIT", (), False, "bytes above which old entries of the store go"),
    Setting(
        "compile",
        "SCATTERGEN_COMPILE",
        ("auto", "optimized", "never"),
        False,
        "auto: small calls run an unoptimised kernel until the optimised one would pay; optimized: they wait for that;"
        " never: a kernel not yet built raises",
    ),
    Setting("compile_timeout", "SCATTERGEN_COMPILE_TIMEOUT", (), False, "seconds a compiler may take; 0: no limit"),
    Setting("fallback", "SCATTERGEN_FALLBACK", ("reference", "error"), False, "what answers without a compiler"),
    Setting(
        "num_threads",
        "SCATTERGEN_NUM_THREADS",
        (),
        False,
        "most threads of a call; 0: OMP_NUM_THREADS, or the usable cores",
        "OMP_NUM_THREADS",
    ),
    Setting("keep_memory", "SCATTERGEN_KEEP_MEMORY", (), False, "bytes of freed outputs kept for the next ones"),
    Setting("aot_path", "SCATTERGEN_AOT_PATH", (), False, "folders of kernels built ahead, separated as in PATH"),
)


class Settings(Record):
    """What the environment (or a caller) decided; see `TABLE` for the meanings."""

    cc: str = ""
    cflags: str = ""
    cpu: str = "native"
    cache_dir: str = ""
    cache: str = "on"
    cache_limit: int = 256 << 20
    compile: str = "auto"
    compile_timeout: int = 300
    fallback: str = "reference"
    num_threads: int = 0
    keep_memory: int = 256 << 20
    aot_path: str = ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Settings:
        """Read every variable of the table; raise `SettingError` for a value that means nothing."""
        chosen: dict[str, Any] = {}
        for row in TABLE:
            text = environ.get(row.variable, "")
            if text:
                chosen[row.field] = _read(row, text, cls._field_defaults[row.field])
        chosen.setdefault("cc", environ.get("CC", ""))
        chosen["num_threads"] = chosen.get("num_threads") or _threads_of_openmp(environ)
        return cls(**chosen)


def _threads_of_openmp(environ: Mapping[str, str]) -> int:
    """Return the threads of a parallel region that stands in no other; 0 where OpenMP is not told."""
    first = environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isascii() and first.isdigit() else 0


def _read(row: Setting, text: str, default: object) -> object:
    if row.choices and text not in row.choices:
        raise SettingError(f"{row.variable}={text!r}: allowed is one of {', '.join(row.choices)}")
    if not isinstance(default, int):
        return text
    if not (text.isascii() and text.isdigit()):
        raise SettingError(f"{row.variable}={text!r}: allowed is a whole number, 0 or more")
    return int(text)


_current: Settings | None = None


def settings() -> Settings:
    """Return the settings in force; the first call reads the environment."""
    global _current
    found = _current  # another thread may say `use(None)` meanwhile
    if found is None:
        found = _current = Settings.from_environment(os.environ)
        _warn_of_unknown(os.environ)
    return found


_OTHERS = "SCATTERGEN_TEST_"
"""What variables of the tests begin with."""

_told: set[str] = set()


def _warn_of_unknown(environ: Mapping[str, str]) -> None:
    """Warn once of each variable that bears our name and is no setting: it may be a misspelt one."""
    known = {row.variable for row in TABLE}
    for name in environ:
        if name.startswith("SCATTERGEN_") and name not in known | _told and not name.startswith(_OTHERS):
            import difflib
            import warnings

            _told.add(name)
            near = difflib.get_close_matches(name, known, n=1, cutoff=0)
            text = f"{name} is no setting: did you mean {near[0]}? `scattergen env` lists them all"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def use(new: Settings | None) -> None:
    """Put `new` in force; None reads the environment afresh at the next `settings()`."""
    global _current
    _current = new
