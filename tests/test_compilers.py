"""Each C compiler that is here: it builds the kernels without a word, and what it builds is right."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import kernel_calls
import pytest
from kernel_calls import Wanted

from scattergen.common import paths
from scattergen.common.config import Settings
from scattergen.compiler import flag_sets, toolchain
from scattergen.compiler.flags import flags_of_kernel
from scattergen.compiler.toolchain import Compiler
from scattergen.errors import CompileError
from scattergen.load import loader
from scattergen.lower import lower
from scattergen.lower.forms import FORMS, REDUCING
from scattergen.lower.kernel import KernelSpec
from scattergen.render import render

STRICT = ("-Wall", "-Wextra", "-Werror")

COMMANDS = {
    "gcc": (shutil.which("gcc"), "gcc", "gcc is not on PATH"),
    "clang": (shutil.which("clang"), "clang", "clang is not on PATH"),
    "zig": (
        importlib.util.find_spec("ziglang"),
        f"{sys.executable} -m ziglang cc",
        "needs pip install ziglang",
    ),
}
"""Whether a compiler is here, its command, and what to say if it is not."""

each_compiler = pytest.mark.parametrize(
    "compiler",
    [
        pytest.param(command, id=name, marks=pytest.mark.skipif(not found, reason=reason))
        for name, (found, command, reason) in COMMANDS.items()
    ],
    indirect=True,
)


PARALLEL = """
#ifdef _OPENMP
#include <omp.h>
#endif
int count(void);
int count(void)
{
    int threads = 0;
#ifdef _OPENMP
#pragma omp parallel reduction(+ : threads)
    threads += omp_get_num_threads();
#endif
    return threads;
}
"""
"""What a compiler takes that has OpenMP's header and library, or does without."""


@pytest.fixture(scope="module")
def compiler(request: pytest.FixtureRequest) -> Compiler:
    return toolchain.find(Settings(cc=request.param))


@pytest.fixture(scope="module")
def flags(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return the product's flags, those of them that the compiler takes."""
    folder = tmp_path_factory.mktemp("flags")
    (folder / "nothing.c").write_text(PARALLEL)
    outcome = flag_sets.compile_first(
        compiler,
        folder / "nothing.c",
        folder / "nothing.so",
        flag_sets.kernel_flags(Settings(), {}),
        spec="nothing",
        timeout=300,
        scratch=folder,
    )
    return outcome.flags


def build(wanted: Wanted | KernelSpec, folder: Path, compiler: Compiler, flags: tuple[str, ...]) -> Path:
    """Return the library of a kernel, compiled with every warning an error."""
    place = folder / str(wanted)
    place.mkdir(exist_ok=True)
    for header in paths.HEADERS:
        shutil.copy(paths.templates() / header, place)
    (place / "kernel.c").write_text(render(wanted if isinstance(wanted, KernelSpec) else wanted.kernel))
    toolchain.compile_library(
        compiler,
        place / "kernel.c",
        place / "kernel.so",
        (*flags, *STRICT),
        spec=str(wanted),
        timeout=300,
        scratch=folder,
    )
    return place / "kernel.so"


@pytest.fixture(scope="module")
def libraries(
    compiler: Compiler, flags: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> dict[Wanted, Path]:
    """Return the libraries of the sample; of the small one where the compiler is not the first."""
    folder = tmp_path_factory.mktemp("kernels")
    first_found = toolchain.find(Settings(cc=next(command for found, command, _ in COMMANDS.values() if found)))
    wanted = kernel_calls.sample() if compiler == first_found else kernel_calls.small_sample()
    one = partial(build, folder=folder, compiler=compiler, flags=flags)
    first = one(wanted[0])  # alone, so that zig makes its own libraries once
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(wanted, (first, *pool.map(one, wanted[1:])), strict=True))


def test_the_sample_holds_every_form_kind_and_depth() -> None:
    kernels = [wanted.kernel for wanted in kernel_calls.sample()]
    assert {(kernel.form, kernel.element.kind) for kernel in kernels} == {
        (form, kind) for form in FORMS.values() if not form.helps for kind in form.kinds
    }
    assert {(kernel.form.name, kernel.depth) for kernel in kernels if kernel.form.has_depth} == {
        (form.name, depth)
        for form in FORMS.values()
        if form.has_depth and not form.helps
        for depth in kernel_calls.DEPTHS
        if depth >= form.least_depth
    }
    assert {kernel.operation for kernel in kernels} == set(REDUCING)
    assert {(w.kernel.form, w.kernel.element.kind) for w in kernel_calls.small_sample()} == {
        (kernel.form, kernel.element.kind) for kernel in kernels
    }


@each_compiler
def test_every_kernel_is_built_and_right(libraries: dict[Wanted, Path]) -> None:
    problems = []
    for wanted, library in libraries.items():
        loaded = loader.open_kernel(library, str(wanted))  # cffi closes a library that nobody holds
        for call in _calls(wanted):
            problems += filter(None, (kernel_calls.problem(loaded.struct, call, threads) for threads in (1, 3)))
            problems += filter(None, (kernel_calls.problem(loaded.struct, bad) for bad in call.spoiled()))
    assert not problems, "\n".join(problems[:20])


_kept: dict[Wanted, list[kernel_calls.KernelCall]] = {}


def _calls(wanted: Wanted) -> list[kernel_calls.KernelCall]:
    if wanted not in _kept:
        _kept[wanted] = kernel_calls.calls(wanted, 4, special=0.1)
    return _kept[wanted]


_held: list[loader.Loaded] = []
"""Libraries that stay open: the last one to be closed would take OpenMP's from under its waiting threads."""


@each_compiler
def test_every_kernel_that_helps_along_is_built_and_right(
    compiler: Compiler, flags: tuple[str, ...], tmp_path: Path
) -> None:
    calls = kernel_calls.helping()
    assert {(kernel.form, kernel.element.kind) for kernel in calls} == {
        (form, kind) for form in FORMS.values() if form.helps for kind in form.kinds
    }
    assert {(kernel.form, kernel.operation) for kernel in calls} == {
        (form, operation) for form in FORMS.values() if form.helps for operation in form.operations
    }
    problems = []
    for kernel, made in calls.items():
        library = build(kernel, tmp_path, compiler, flags)
        loaded = loader.open_kernel(library, str(kernel))
        _held.append(loaded)
        for call in made:
            problems += filter(None, (kernel_calls.problem(loaded.struct, call, threads) for threads in (1, 3)))
            problems += filter(None, (kernel_calls.problem(loaded.struct, bad) for bad in call.spoiled()))
    assert not problems, "\n".join(problems[:20])


def test_kernels_that_were_not_optimised_give_the_same_bits(tmp_path: Path) -> None:
    compiler = toolchain.find(Settings(cc=next(command for found, command, _ in COMMANDS.values() if found)))
    flags = flags_of_kernel(Settings(), openmp=False, native=False, optimize=False)
    calls = {**{wanted.kernel: _calls(wanted) for wanted in kernel_calls.small_sample()}, **kernel_calls.helping()}
    with ThreadPoolExecutor(2) as pool:
        libraries = pool.map(partial(build, folder=tmp_path, compiler=compiler, flags=flags), calls)
    problems = []
    for (kernel, made), library in zip(calls.items(), libraries, strict=True):
        loaded = loader.open_kernel(library, str(kernel))
        problems += filter(None, (kernel_calls.problem(loaded.struct, call, 3) for call in made))
    assert not problems, "\n".join(problems[:20])


@each_compiler
def test_a_library_exports_one_object(libraries: dict[Wanted, Path]) -> None:
    nm = shutil.which("nm") or shutil.which("llvm-nm")
    if nm is None:
        pytest.skip("nm (binutils) is not on PATH")
    # -D asks for what the loader sees, which is the wrong question on a system without ELF
    command = [nm, "-gU" if sys.platform == "darwin" else "-D", "-A", *libraries.values()]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    defined = re.findall(r"^(.*): *[0-9a-f]+ [A-Z] (\S+)$", said, re.MULTILINE)
    # clang shares the lock of an OpenMP reduction between libraries, under a name that C cannot spell
    ours = [(library, name.lstrip("_")) for library, name in defined if not name.startswith(".gomp_")]
    assert ours == [(str(library), "scattergen_kernel") for library in libraries.values()]


@each_compiler
def test_a_warning_would_be_an_error(compiler: Compiler, flags: tuple[str, ...], tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text("int f(int unused);\nint f(int unused) { return 0; }\n")
    with pytest.raises(CompileError, match="unused"):
        toolchain.compile_library(
            compiler, source, tmp_path / "kernel.so", (*flags, *STRICT), spec="f", timeout=300, scratch=tmp_path
        )


HEADER_USE = """
#include "scattergen.h"
#include "scattergen.h"
static_assert(SCATTERGEN_ABI == @ABI@, "what the loader takes");
int64_t call(void *out)
{
    const struct scattergen_kernel *kernel = scattergen_kernel_count ? scattergen_kernels[0] : &scattergen_kernel;
    return kernel->run(out, out, out, out, nullptr, out, 1) + kernel->check(out, nullptr, 1);
}
"""


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
@pytest.mark.parametrize("command", ["g++", "clang++"])
def test_the_header_is_cpp(command: str, standard: str, tmp_path: Path) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not on PATH")
    (tmp_path / "user.cpp").write_text(HEADER_USE.replace("@ABI@", str(loader.ABI)))
    words = [command, f"-std={standard}", "-fsyntax-only", *STRICT, "-I", paths.templates(), tmp_path / "user.cpp"]
    answer = subprocess.run(words, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert not answer.stderr


def test_the_sample_is_made_of_variants() -> None:
    for wanted in kernel_calls.sample():
        assert lower.kernel(
            wanted.kernel.form.name, wanted.dtype, wanted.kernel.index, wanted.reduction, wanted.kernel.depth
        ) == wanted.kernel  # fmt: skip
