"""Kernels of every form and kind, and the caller module, under sanitizers: no access, shift or race that is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import driver
import kernel_calls
import numpy as np
import pytest
from kernel_calls import KernelCall, Wanted

from scattergen.load import caller

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="gcc's and clang's sanitizers as Linux has them")

MEMORY = ("-g", "-O1", "-fopenmp", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
RACES = ("-g", "-O1", "-fopenmp", "-fsanitize=thread")

WORKS = """
#include <omp.h>
int main(int count, char **words)
{
    int threads = 0;
    (void)words;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads += count;
    return threads == 0 || omp_get_max_threads() == 0;
}
"""
LEAKS = """
#include <stdlib.h>
int main(int count, char **words)
{
    volatile char *memory = malloc(4);
    (void)words;
    memory[3 + count] = 1;
    return memory[0] == 7;
}
"""
RACES_ITSELF = """
#include <omp.h>
int main(void)
{
    volatile int total = 0;
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 1000; i++)
        total += omp_get_thread_num();
    return total < 0;
}
"""


def trial(folder: Path, command: tuple[str, ...], source: str, **environment: str) -> int | None:
    """Return the exit status of a small program; None where it cannot be built."""
    (folder / "trial.c").write_text(source)
    words = [*command, "trial.c", "-o", "trial"]
    if shutil.which(command[0]) is None or subprocess.run(words, cwd=folder, capture_output=True).returncode:
        return None
    return subprocess.run([folder / "trial"], capture_output=True, env={**os.environ, **environment}).returncode


def finite(calls: list[KernelCall]) -> list[KernelCall]:
    """Return the calls without a NaN in the result: its bits may differ, and the driver compares bytes."""
    return [call for call in calls if not np.isnan(call.want.array(call.want.raw)).any()]


def helping() -> list[KernelCall]:
    return finite([call for found in kernel_calls.helping().values() for call in found])


@pytest.fixture(scope="module")
def calls() -> dict[Wanted, list[KernelCall]]:
    return {wanted: finite(kernel_calls.calls(wanted, 4)) for wanted in kernel_calls.small_sample()}


def test_no_kernel_leaves_its_arrays(
    calls: dict[Wanted, list[KernelCall]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("memory")
    compiler = next((name for name in ("gcc", "clang") if trial(folder, (name, *MEMORY), WORKS) == 0), None)
    if compiler is None:
        pytest.skip("neither gcc nor clang has OpenMP and the libraries of -fsanitize=address,undefined")
    assert trial(folder, (compiler, *MEMORY), LEAKS) not in (0, None), "the sanitizer sees nothing"
    more = helping()
    kernels = [*(wanted.kernel for wanted in calls), *(call.kernel for call in more)]
    program = driver.build(folder, (compiler, *MEMORY), kernels)
    made = [(call, threads) for found in calls.values() for call in found for threads in (1, 3)]
    made += [(bad, 1 + at % 3) for found in calls.values() for call in found for at, bad in enumerate(call.spoiled())]
    made += [(call, threads) for call in more for threads in (1, 3)] + [
        (bad, 3) for call in more for bad in call.spoiled()
    ]
    assert len({call.kernel for call, _ in made}) == len(calls) + len(kernel_calls.HELPING)
    # OpenMP's own memory lives until the end
    assert driver.run(program, made, ASAN_OPTIONS="detect_leaks=0") == ""


def archer() -> str:
    """Return the library that tells clang's thread sanitizer of OpenMP's locks and barriers."""
    clang = shutil.which("clang")
    if clang is None:
        return ""
    said = subprocess.run([clang, "-print-file-name=libarcher.so"], capture_output=True, text=True).stdout.strip()
    beside = Path(os.path.realpath(clang)).parents[1] / "lib" / "libarcher.so"
    return next((str(path) for path in (Path(said), beside) if path.is_absolute() and path.is_file()), "")


def test_no_two_threads_of_a_kernel_race(
    calls: dict[Wanted, list[KernelCall]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, library = tmp_path_factory.mktemp("races"), archer()
    options = {"OMP_TOOL_LIBRARIES": library, "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
    if not library or trial(folder, ("clang", *RACES), WORKS, **options) != 0:
        pytest.skip(
            "needs clang with its sanitizers, OpenMP and libarcher (Debian: clang, libomp-dev, libclang-rt-*-dev)"
        )
    assert trial(folder, ("clang", *RACES), RACES_ITSELF, **options) not in (0, None), "the sanitizer sees nothing"
    # one kind of each form: how threads share does not depend on the element, but for halves in a wide copy
    some = {(wanted.kernel.form.name, wanted.kernel.works_in_floats): wanted for wanted in calls}
    more = {(call.kernel.form.name, call.kernel.operation): call.kernel for call in helping()}
    kernels = [*(wanted.kernel for wanted in some.values()), *more.values()]
    program = driver.build(folder, ("clang", *RACES), kernels)
    made = [(call, 3) for wanted in some.values() for call in calls[wanted]]
    made += [(bad, 3) for wanted in some.values() for bad in calls[wanted][0].spoiled()]
    made += [(call, 3) for call in helping() if call.kernel in more.values()]
    assert driver.run(program, made, **options) == ""


def preloaded() -> list[str]:
    """Return gcc's sanitizer libraries, to be loaded before Python is; empty where there are none."""
    if shutil.which("gcc") is None:
        return []
    asked = (["gcc", f"-print-file-name={name}"] for name in ("libasan.so", "libubsan.so"))
    found = [subprocess.run(words, capture_output=True, text=True).stdout.strip() for words in asked]
    return found if all(os.path.isabs(path) for path in found) else []


def test_the_caller_module_leaves_no_array(tmp_path: Path) -> None:
    libraries = preloaded()
    if not libraries or not caller.make():
        pytest.skip("needs gcc with the libraries of -fsanitize=address,undefined, and Python's headers")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "PYTHONMALLOC": "malloc",
        "SCATTERGEN_CC": "gcc",
        "SCATTERGEN_CFLAGS": "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all",
        "SCATTERGEN_TEST_CACHE": str(tmp_path / "store"),
    }
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "test_fast.py"]
    done = subprocess.run(words, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    module = next((tmp_path / "store").glob("*/scattergen_caller-*/kernel.so"))
    assert b"__asan_report" in module.read_bytes() and b"__ubsan_handle" in module.read_bytes()
