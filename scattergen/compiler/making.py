"""What is made in the folder of an entry: C source, library, and what is noted of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ..cache.cache import Store
from ..cache.entries import LIBRARY, SOURCE
from ..common import log, machine
from ..common.config import Settings
from ..common.paths import HEADERS, template_folder
from ..errors import CompileError
from ..lower.kernel import KernelSpec
from ..render import render
from . import flag_sets, toolchain
from .toolchain import Compiler


def kernel(
    spec: KernelSpec, chosen: Settings, compiler: Compiler, store: Store, work: Path, *, optimize: bool
) -> dict[str, object]:
    """Render a kernel into the folder `work`, compile it there, and return what is to be noted of it."""
    for header in HEADERS:
        shutil.copyfile(os.path.join(template_folder(), header), work / header)
    known = store.facts(_learnt_under(compiler, chosen))
    flags = flag_sets.kernel_flags(chosen, known, optimize=optimize)
    return {**library(str(spec), _rendered(spec, store), flags, chosen, compiler, store, work), "optimized": optimize}


def library(
    name: str,
    source: str,
    flags: list[tuple[str, ...]],
    chosen: Settings,
    compiler: Compiler,
    store: Store,
    work: Path,
) -> dict[str, object]:
    """Write C into the folder `work`, compile it by the first of the sets of flags that the compiler takes.

    Returns what is to be noted of it; the store learns which sets were refused. Raises `CompileError`.
    """
    (work / SOURCE).write_text(source, encoding="utf-8")
    try:
        outcome = flag_sets.compile_first(
            compiler,
            work / SOURCE,
            work / LIBRARY,
            flags,
            spec=name,
            timeout=chosen.compile_timeout,
            scratch=store.tool_folder("zig"),
        )
    except CompileError as error:
        raise error.but(variables=toolchain.set_by_user(chosen)) from None
    if outcome.refused:
        log.debug("%s: %s does without %s", name, compiler.path, ", ".join(outcome.refused))
        store.learn(_learnt_under(compiler, chosen), outcome.refused)
    return {
        "spec": name,
        "command": list(toolchain.command_line(compiler, SOURCE, LIBRARY, outcome.flags)),
        "compiler": compiler.identity.splitlines(),
        "cpu": machine.cpu_identity(chosen.cpu),
        "machine": machine.tag(),
        "seconds": round(outcome.seconds, 3),
    }


def _learnt_under(compiler: Compiler, chosen: Settings) -> str:
    return f"{compiler.identity}\n{chosen.cflags}"


def _rendered(spec: KernelSpec, store: Store) -> str:
    kept = store.tool_folder("jinja")
    try:
        kept.mkdir(0o700, exist_ok=True)
        return render(spec, kept)
    except OSError:  # that folder cannot be written; where the kernel goes is another matter
        return render(spec)
