"""What machine a library is built for: system, processor, instruction-set levels, and the compiler for it."""

from __future__ import annotations

import os
import sys

from ..common import machine
from ..common.config import Settings
from ..common.record import Record
from ..errors import AheadOfTimeError, CompilerNotFound
from . import toolchain
from .toolchain import Compiler

_SYSTEMS = {"linux": ("linux", ".so"), "darwin": ("macos", ".dylib"), "macos": ("macos", ".dylib")}
"""Names of systems, Python's and those of a target, to ours and the ending of a shared library."""

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_BASELINES = {"x86_64": "x86-64-v2", "aarch64": "armv8-a"}


class Target(Record):
    """A kind of machine. ``levels`` are instruction sets, the lowest first; each gets a library of its own."""

    system: str
    machine: str
    levels: tuple[str, ...]
    triple: str = ""
    """What ``zig cc`` calls it; empty where this machine's own compiler builds for it."""

    def __str__(self) -> str:
        return f"{self.triple or f'{self.machine}-{self.system}'} ({', '.join(self.levels)})"

    @property
    def ending(self) -> str:
        """The ending of a shared library's name."""
        return _SYSTEMS[self.system][1]

    @property
    def kind(self) -> str:
        """System and processor, as `here` names them."""
        return f"{self.system} {self.machine}"


def here() -> str:
    """Return system and processor of this machine, such as ``linux x86_64``."""
    system = _SYSTEMS.get(sys.platform, (sys.platform, ""))[0]
    return f"{system} {_machine()}"


def _machine() -> str:
    name = os.uname().machine.lower()
    return _MACHINES.get(name, name)


def parse(text: str = "") -> Target:
    """Return the target that `text` names.

    That is nothing (this machine, at a level that nearly all of its kind have); levels of x86-64, joined
    by commas (``x86-64-v2,x86-64-v3``: one library each, the best is chosen at load); or another machine as
    zig names it (``aarch64-linux-gnu``). Raises `AheadOfTimeError`.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        return _own(_machine(), (_BASELINES.get(_machine(), "native"),))
    if all(word in machine.LEVELS for word in words):
        levels = tuple(level for level in machine.LEVELS if level in words)
        if _machine() == "x86_64":
            return _own("x86_64", levels)
        return Target(system="linux", machine="x86_64", levels=levels, triple="x86_64-linux-gnu")
    parts = text.split("-")
    if len(words) == 1 and len(parts) in (2, 3) and parts[1] in _SYSTEMS:
        level = "x86-64-v2" if parts[0] == "x86_64" else "baseline"
        return Target(system=_SYSTEMS[parts[1]][0], machine=parts[0], levels=(level,), triple=text)
    raise AheadOfTimeError(
        f"target {text!r}: allowed are levels ({', '.join(machine.LEVELS)}), joined by commas, or a machine such as"
        " aarch64-linux-gnu, x86_64-linux-musl or aarch64-macos (built by zig cc)"
    )


def _own(processor: str, levels: tuple[str, ...]) -> Target:
    if sys.platform not in _SYSTEMS:
        raise AheadOfTimeError(
            f"{sys.platform}: allowed here is a target that names a machine, as aarch64-linux-gnu does"
        )
    return Target(system=_SYSTEMS[sys.platform][0], machine=processor, levels=levels)


def compiler(target: Target, settings: Settings) -> Compiler:
    """Return the compiler for `target`: the one that is set, else the usual ones, or zig for another machine.

    Raises `CompilerNotFound`.
    """
    if not target.triple or settings.cc:
        return toolchain.find(settings)
    from importlib.util import find_spec
    from shlex import quote

    package = find_spec("ziglang")
    for folder in (package and package.submodule_search_locations) or ():
        zig = os.path.join(folder, "zig")
        command = f"{quote(zig)} cc -target {quote(target.triple)}"
        return toolchain.find(settings._replace(cc=command))
    raise CompilerNotFound(
        f"{target.triple} is not this machine: install zig, whose cc builds for others (pip install ziglang),"
        " or name a compiler for it in SCATTERGEN_CC"
    )
