"""Kernels and `c/driver.c` as one program, and the file of calls that it reads."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernel_calls import Block, KernelCall

from scattergen.common import paths
from scattergen.lower.kernel import KernelSpec
from scattergen.render import render

HERE = Path(__file__).parent / "c"
NAME, TITLE = 128, 256


def build(folder: Path, command: Sequence[str], kernels: Iterable[KernelSpec]) -> Path:
    """Return a program that holds the kernels; `command` compiles C. Warnings are errors."""
    kernels = sorted(set(kernels), key=str)
    for header in paths.HEADERS:
        shutil.copy(paths.templates() / header, folder)
    shutil.copy(HERE / "driver.c", folder)
    for spec in kernels:
        (folder / f"{spec}.c").write_text(render(spec))
    (folder / "table.c").write_text(_table(kernels))
    words = [*command, "-std=c11", "-Wall", "-Wextra", "-Werror", "-DSCATTERGEN_AHEAD_OF_TIME"]

    def compile_one(name: str) -> str:
        _run([*words, "-c", f"{name}.c", "-o", f"{name}.o"], folder)
        return f"{name}.o"

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, ["driver", "table", *map(str, kernels)]))
    _run([*words, *objects, "-o", "driver"], folder)
    return folder / "driver"


def run(program: Path, calls: Iterable[tuple[KernelCall, int]], **environment: str) -> str:
    """Make each call, on so many threads; return what the program says, with its exit status if it is not 0."""
    calls = list(calls)
    path = program.with_name("calls")
    with path.open("wb") as file:
        file.write(struct.pack("=q", len(calls)))
        for call, threads in calls:
            file.write(_call(call, threads))
    done = subprocess.run(
        [program, path], capture_output=True, text=True, env={**os.environ, **environment}, timeout=600
    )
    said = done.stderr.strip()
    assert done.returncode or done.stdout == f"{len(calls)} calls, 0 wrong\n", done.stdout
    return f"exit status {done.returncode}\n{said}" if done.returncode or said else ""


def _table(kernels: Sequence[KernelSpec]) -> str:
    declared = "\n".join(f"extern const struct scattergen_kernel scattergen_{spec};" for spec in kernels)
    listed = ",\n".join(f"    &scattergen_{spec}" for spec in kernels)
    return (
        f'#include "scattergen.h"\n{declared}\n'
        f"const struct scattergen_kernel *const scattergen_kernels[] = {{\n{listed}\n}};\n"
        f"const int64_t scattergen_kernel_count = {len(kernels)};\n"
    )


def _run(words: Sequence[str | Path], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stderr}"


def _call(call: KernelCall, threads: int) -> bytes:
    numbers = (threads, call.bad, len(call.layout), *call.layout)
    blocks = (call.out, call.data, call.indices, call.updates, call.want)
    return b"".join(
        (
            _text(str(call.kernel), NAME),
            _text(call.name, TITLE),
            struct.pack(f"={len(numbers)}q", *numbers),
            *map(_block, blocks),
        )
    )


def _text(text: str, size: int) -> bytes:
    return text.encode()[: size - 1].ljust(size, b"\0")


def _block(block: Block | None) -> bytes:
    if block is None:
        return struct.pack("=3q", -1, 0, 0)
    return struct.pack("=3q", len(block.raw), block.lead, block.offset) + block.raw
