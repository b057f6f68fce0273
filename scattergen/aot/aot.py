"""Many specs → a folder of C sources, header, libraries and manifest, for C programs and for `prebuilt`.

The folder is made beside its place and moved there whole. Its bytes depend on the kernels, the compiler
and the target alone: commands run inside of it with relative paths, and nothing has a date.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from ..cache.cache import Store
from ..common import config, machine
from ..common.progress import Done
from ..compiler import platforms, request, toolchain
from ..errors import AheadOfTimeError, CompileError
from ..load import loader, manifest
from ..load.manifest import Manifest
from ..lower.kernel import KernelSpec
from ..operators.spec import OpSpec
from . import libraries
from .packaging import Package
from .wanted import Wanted, gather

DEFAULT_NAME = "scattergen_kernels"

_HEADERS_OF_OTHERS = (
    "scattergen", "kernel", "omp",
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math", "setjmp",
    "signal", "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib", "stdnoreturn",
    "string", "tgmath", "threads", "time", "uchar", "wchar", "wctype",
)  # fmt: skip
"""Names that a header must not have which stands first on a compiler's way: those of our own and of C11."""

_MOST_NAMED = 3
"""Files that an error names."""


def build(
    items: Iterable[OpSpec | KernelSpec | str | Path] | Wanted,
    folder: str | os.PathLike[str],
    *,
    target: str = "",
    name: str = DEFAULT_NAME,
    jobs: int | None = None,
    openmp: bool = True,
    python: bool = False,
    on_done: Callable[[Done], object] | None = None,
) -> Manifest:
    """Build the kernels that `items` need into `folder`, and return its manifest.

    Args:
        items: as `wanted.gather` takes them: specs, their texts, ``standard``, .toml, .json and .onnx files; or what
            it returned.
        folder: made whole or not at all; an older one that this function wrote, and that holds nothing else, is
            replaced.
        target: as `platforms.parse` takes it; by default this kind of machine.
        name: of the library, as in ``-lscattergen_kernels``.
        jobs: compilers at a time; by default as many as there are cores to use.
        openmp: False leaves threads out, and with them the need of OpenMP's runtime.
        python: also write a cffi build script of the kernels.
        on_done: called for every kernel that is compiled.

    Raises:
        SpecError, AheadOfTimeError: what is asked for, or `folder`, will not do.
        CompilerNotFound, CompileError: the latter's ``spec`` names the kernel.

    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{,63}", name):
        raise AheadOfTimeError(f"name {name!r}: allowed are up to 64 lower-case letters, digits and underscores")
    if name in _HEADERS_OF_OTHERS:
        raise AheadOfTimeError(f"name {name!r}: its header, {name}.h, would take the place of one that kernels include")
    at_a_time = machine.compilers(jobs)
    asked, place = items if isinstance(items, Wanted) else gather(items), Path(os.path.abspath(folder))
    plan = libraries.Plan(platforms.parse(target), config.settings(), name, openmp=openmp)
    _refuse_foreign(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        made = _fill(work, asked, plan, at_a_time, python, on_done)
        work.chmod(0o777 & ~_umask())
        _replace(place, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return made


def _fill(
    work: Path,
    asked: Wanted,
    plan: libraries.Plan,
    jobs: int,
    python: bool,
    on_done: Callable[[Done], object] | None,
) -> Manifest:
    from .. import __version__

    # What the compilers leave behind must not stand in the folder.
    with tempfile.TemporaryDirectory(prefix="scattergen-") as scratch:
        compiling = libraries.Compiling(plan, work, Path(scratch), Store.open(plan.settings).tool_folder("zig"))
        package = Package(
            name=plan.name,
            version=__version__,
            kernels=asked.kernels,
            shared=plan.shared(plan.target.levels[0]),
            static=plan.static,
            link_flags="",
            install_name=plan.install_name,
        )
        _write(work, package.sources())
        units = [*map(str, asked.kernels), "table"]
        try:
            compiling.learn()
            _compile_all(compiling, units, jobs, on_done)
            for level in plan.target.levels:
                compiling.link(units, level)
            compiling.archive(units)
        except CompileError as error:
            raise _kept(error).but(variables=toolchain.set_by_user(plan.settings)) from None
        compiler = compiling.compiler_name()
    package = dataclasses.replace(package, link_flags="-fopenmp" if compiling.openmp else "")
    _write(work, package.descriptions(asked.files))
    if python:
        _write(work, {f"python/{plan.name}_build.py": package.python(compiling.extension_flags())})
    files = sorted(path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file())
    made = Manifest(
        name=plan.name,
        abi=loader.ABI,
        version=__version__,
        generator=request.generator_fingerprint(),
        system=plan.target.system,
        machine=plan.target.machine,
        compiler=compiler,
        flags=compiling.flags(plan.target.levels[0]),
        libraries={level: plan.shared(level) for level in plan.target.levels},
        static=plan.static,
        specs=tuple(map(str, asked.specs)),
        kernels={str(kernel): f"src/{kernel}.c" for kernel in asked.kernels},
        digests={name: manifest.digest(work / name) for name in files},
    )
    made.write(work)
    return made


def _compile_all(
    compiling: libraries.Compiling, units: list[str], jobs: int, on_done: Callable[[Done], object] | None
) -> None:
    levels = compiling.plan.target.levels
    total = len(units) * len(levels)
    with ThreadPoolExecutor(jobs) as pool:
        work = {pool.submit(compiling.compile, unit, level): unit for level in levels for unit in units}
        try:
            for number, future in enumerate(as_completed(work), 1):
                done = Done(work[future], "built", future.result(), number, total)
                if on_done:
                    on_done(done)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")  # names of files may be any bytes


def _refuse_foreign(place: Path) -> None:
    """Raise `AheadOfTimeError` where `place` holds anything that `build` did not write."""
    if not place.is_dir():
        if place.exists():
            raise AheadOfTimeError(f"{place} is a file: name a folder")
        return
    there = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_symlink() or not path.is_dir()}
    if not there:
        return
    advice = "name a new folder, or remove that one"
    try:
        known = {manifest.NAME, *manifest.read(place).digests}
    except AheadOfTimeError as error:
        raise AheadOfTimeError(f"{place} is not replaced ({error}): {advice}") from None
    strange = sorted(there - known)
    if strange:
        named = ", ".join(strange[:_MOST_NAMED]) + (" ..." if len(strange) > _MOST_NAMED else "")
        raise AheadOfTimeError(f"{place} is not replaced: `scattergen build` did not write {named} there: {advice}")


def _replace(place: Path, work: Path) -> None:
    if not place.exists():
        work.rename(place)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent)) / "old"
    place.rename(aside)
    try:
        work.rename(place)
    except OSError:
        aside.rename(place)
        raise
    finally:
        shutil.rmtree(aside.parent, ignore_errors=True)


def _kept(error: CompileError) -> CompileError:
    """Return the error with its source in a place that stays."""
    folder = Path(tempfile.mkdtemp(prefix="scattergen-failed-"))
    source = Path(shutil.copy(error.source_path, folder)) if error.source_path.is_file() else error.source_path
    return error.but(source_path=source)


def _umask() -> int:
    # The system tells the mask only by setting it; mkdtemp's folders are for their owner alone.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
