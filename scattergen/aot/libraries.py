"""C files → objects, shared libraries, a static one: the compiler's part of an ahead-of-time build."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ..common import process
from ..common.config import Settings
from ..compiler import flag_sets, platforms, toolchain
from ..compiler.flags import flags_of_kernel
from ..compiler.platforms import Target
from ..compiler.toolchain import Compiler
from ..errors import CompileError

_LINK_ONLY = ("-shared", "-Wl,-z,defs")
_TRIAL = """
__attribute__((visibility("default"))) int trial(int n);
int trial(int n)
{
    int sum = 0;
#pragma omp parallel for num_threads(n) reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}
"""
_HERE = "-ffile-prefix-map={}=."


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be made, and how its files are called; paths are relative to the folder."""

    target: Target
    settings: Settings
    name: str
    openmp: bool = field(kw_only=True)

    def shared(self, level: str) -> str:
        """Return the path of a level's shared library.

        The lowest stands where a linker looks. The others stand where glibc's loader looks first on a
        CPU that has them, whoever linked the program.
        """
        deeper = "" if level == self.target.levels[0] else f"glibc-hwcaps/{level}/"
        return f"lib/{deeper}lib{self.name}{self.target.ending}"

    @property
    def static(self) -> str:
        """The path of the static library, which is of the lowest level."""
        return f"lib/lib{self.name}.a"

    @property
    def install_name(self) -> str:
        """Under which name programs of macOS look for the shared library; empty elsewhere."""
        return f"@rpath/lib{self.name}.dylib" if self.target.system == "macos" else ""


class Compiling:
    """One build in `folder`, which has the sources; objects go to `scratch`, what compilers keep to `kept`."""

    def __init__(self, plan: Plan, folder: Path, scratch: Path, kept: Path) -> None:
        """Raise `CompilerNotFound` where nothing builds for the target."""
        self.plan, self.folder, self.scratch, self.kept = plan, folder, scratch, kept
        self.compiler = platforms.compiler(plan.target, plan.settings)
        self.openmp = plan.openmp

    def learn(self) -> None:
        """Find out whether the compiler can do OpenMP, by making a library with it."""
        if not self.openmp:
            return
        work = self._private("trial")
        (work / "trial.c").write_text(_TRIAL, encoding="utf-8")
        outcome = flag_sets.compile_first(
            self.compiler,
            work / "trial.c",
            work / "trial.so",
            [self._flags(self.plan.target.levels[0], openmp) for openmp in (True, False)],
            spec="trial",
            timeout=self.plan.settings.compile_timeout,
            scratch=self.kept,
        )
        self.openmp = "-fopenmp" in outcome.flags

    def flags(self, level: str) -> tuple[str, ...]:
        """Return the flags that objects of a level are compiled with, in gcc's spelling."""
        return tuple(word for word in self._flags(level, self.openmp) if word not in _LINK_ONLY)

    def extension_flags(self) -> tuple[str, ...]:
        """Return the flags for those who compile the sources into a Python extension."""
        return tuple(word for word in self.flags(self.plan.target.levels[0]) if word != "-fPIC")

    def _flags(self, level: str, openmp: bool) -> tuple[str, ...]:
        own = flags_of_kernel(self.plan.settings._replace(cpu=level), openmp=openmp)
        # Set by the machine that we run on; right for every other Linux, too.
        strict = ("-Wl,-z,defs",) if self.plan.target.system == "linux" and sys.platform != "linux" else ()
        out = ("-Wl,-z,defs",) if self.plan.target.system != "linux" else ()
        return tuple(word for word in (*own, *strict) if word not in out)

    def compile(self, unit: str, level: str) -> float:
        """Compile ``src/<unit>.c`` for a level; return the seconds it took. May run in threads."""
        work = self._private(level, unit)
        flags = (*self.flags(level), "-DSCATTERGEN_AHEAD_OF_TIME", "-g0", *self._local(work), "-c")
        return self._run(work / f"{unit}.c", work / f"{unit}.o", flags, unit)

    def link(self, units: list[str], level: str) -> None:
        """Make the shared library of a level."""
        work = self._private(level, "link")
        library = self.folder / self.plan.shared(level)
        library.parent.mkdir(parents=True, exist_ok=True)
        objects = [f"../{unit}/{unit}.o" for unit in units]
        name = f"-Wl,-soname,{library.name}"
        if self.plan.target.system == "macos":
            name = f"-Wl,-install_name,{self.plan.install_name}"
        flags = (*objects[1:], *self._flags(level, self.openmp), name)
        first = work / objects[0]
        shutil.copyfile(first, work / first.name)
        self._run(work / first.name, library, flags, library.name)

    def archive(self, units: list[str]) -> None:
        """Make the static library, of the lowest level."""
        lowest = self.scratch / self.plan.target.levels[0]
        library = self.folder / self.plan.static
        tool = (self.compiler.command[0], "ar") if self.compiler.is_zig else (_archiver(self.compiler),)
        # D: no dates, owners and modes.
        mode = "rcs" if sys.platform == "darwin" and not self.compiler.is_zig else "rcsD"
        command = (*tool, mode, str(library), *(f"{unit}/{unit}.o" for unit in units))
        ended = process.run(command, lowest, {**os.environ, "ZERO_AR_DATE": "1"}, self.plan.settings.compile_timeout)
        if ended.failure or not library.is_file():
            raise CompileError(library.name, command, ended.output, lowest, f"{tool[0]} {ended.failure}")

    def compiler_name(self) -> str:
        """Return what the compiler says about itself, in one line."""
        return version(self.compiler)

    def _private(self, *parts: str) -> Path:
        """Return a folder for one run of the compiler, with the source of the unit that it is named for."""
        work = self.scratch.joinpath(*parts)
        work.mkdir(parents=True, exist_ok=True)
        source = self.folder / "src" / f"{parts[-1]}.c"
        if source.is_file():
            shutil.copyfile(source, work / source.name)
        return work

    def _local(self, work: Path) -> tuple[str, ...]:
        return (
            *(f"-I{self.folder / name}" for name in ("include", "src")),
            _HERE.format(self.folder),
            _HERE.format(work),
        )

    def _run(self, source: Path, target: Path, flags: tuple[str, ...], unit: str) -> float:
        return toolchain.compile_library(
            self.compiler,
            source,
            target,
            flags,
            spec=unit,
            timeout=self.plan.settings.compile_timeout,
            scratch=self.kept,
        )


def version(compiler: Compiler) -> str:
    """Return the first line of what a compiler says about itself; empty where it says nothing."""
    ended = process.run((*compiler.command, "--version"), Path.cwd(), {**os.environ, "LC_ALL": "C"}, 30)
    lines = ended.output.strip().splitlines()
    return "" if ended.failure or not lines else lines[0]


def _archiver(compiler: Compiler) -> str:
    beside = (Path(compiler.path).with_name(name) for name in ("ar", "llvm-ar"))
    found = next((str(path) for path in beside if os.access(path, os.X_OK)), None)
    return found or shutil.which("ar") or shutil.which("llvm-ar") or "ar"
