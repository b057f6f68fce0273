"""Libraries for other machines, built here by `zig cc` and run under qemu."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest
from ahead import OUTPUT, SPEC, good, run, scattergen

from scattergen.load import manifest

QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="zig cc builds for other machines: pip install ziglang"
)


def zig() -> str:
    found = importlib.util.find_spec("ziglang")
    assert found is not None
    assert found.submodule_search_locations is not None
    return str(Path(found.submodule_search_locations[0]) / "zig")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cross") / "kernels"
    good(scattergen("build", SPEC, "-o", place, "--target", "aarch64-linux-musl"))
    return place


def test_the_library_is_for_that_machine(folder: Path) -> None:
    found = manifest.read(folder)
    assert (found.system, found.machine) == ("linux", "aarch64")
    library = (folder / "lib" / "libscattergen_kernels.so").read_bytes()
    assert library[:4] == b"\x7fELF"
    assert int.from_bytes(library[18:20], "little") == 183  # EM_AARCH64


@pytest.mark.skipif(QEMU is None, reason="needs qemu-aarch64 (Debian, Ubuntu: apt install qemu-user-static)")
def test_a_program_with_it_runs_under_qemu(folder: Path, tmp_path: Path) -> None:
    program, library = tmp_path / "scatter", folder / "lib" / "libscattergen_kernels.a"
    compiler = (zig(), "cc", "-target", "aarch64-linux-musl", "-O1", "-ffreestanding", "-nostdlib", "-static")
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "zig"), "ZIG_LOCAL_CACHE_DIR": str(tmp_path / "zig")}
    source = Path(__file__).with_name("freestanding.c")
    good(run(*compiler, source, f"-I{folder / 'include'}", library, "-o", program, **caches))
    assert QEMU is not None
    printed = good(run(QEMU, program))
    assert printed.startswith(OUTPUT)
    assert printed.splitlines()[2:] == list(manifest.read(folder).kernels)


def test_the_same_inputs_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    good(scattergen("build", SPEC, "-o", tmp_path / "again", "--target", "aarch64-linux-musl", "-j", "1"))
    assert manifest.read(tmp_path / "again") == manifest.read(folder)
