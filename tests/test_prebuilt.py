"""Python takes kernels from folders: in which order, and what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ahead import SPEC, good, python

from scattergen.aot import aot
from scattergen.load import manifest

CALL = """
import numpy as np, scattergen
arrays = np.zeros((2, 4), np.float32), np.array([[1, 1, 3], [0, -1, 0]]), np.ones((2, 3), np.float32)
def call():
    answer = scattergen.scatter_elements(*arrays, axis=1, reduction="add")
    assert answer.tolist() == [[0, 2, 0, 1], [2, 0, 0, 1]], answer
    print(scattergen.explain(scattergen.scatter_elements, *arrays, axis=1, reduction="add").source)
"""

NO_COMPILER = {"PATH": "", "SCATTERGEN_COMPILE": "never", "SCATTERGEN_CACHE": "off"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("prebuilt") / "kernels"
    aot.build([SPEC], place)
    return place


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(folder, tmp_path / "kernels")
    return tmp_path / "kernels"


def edit(folder: Path, **changes: Any) -> None:
    path = folder / manifest.NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_the_path_serves_where_there_is_nothing_else(folder: Path) -> None:
    done = python(CALL + "call()", SCATTERGEN_AOT_PATH=str(folder), **NO_COMPILER)
    assert good(done) == "ahead-of-time\n"
    assert done.stderr == ""


def test_without_it_such_a_call_is_an_error() -> None:
    said = python(CALL + "call()", **NO_COMPILER).stderr
    assert "KernelUnavailable" in said and "No folder with it is in SCATTERGEN_AOT_PATH" in said


def test_an_error_names_the_folders_that_were_asked(folder: Path) -> None:
    code = "\nscattergen.scatter_elements(np.zeros(3, np.uint8), [0], np.ones(1, np.uint8), reduction='add')"
    said = python(CALL + code, SCATTERGEN_AOT_PATH=str(folder), **NO_COMPILER).stderr
    assert f"It is not in {folder} either: `scattergen build elements_u8_i64_k1_add -o FOLDER` makes a folder" in said


def test_a_folder_is_told_in_a_line(folder: Path) -> None:
    code = f"import scattergen, warnings; print(scattergen.use({str(folder)!r}))"
    number = len(manifest.read(folder).kernels)
    level = next(iter(manifest.read(folder).libraries))
    assert re.fullmatch(rf"<Folder {folder}: {number} kernels( for {level})?>\n", good(python(code)))
    code += f"; warnings.simplefilter('ignore'); print(scattergen.use({str(folder.parent)!r}))"
    assert good(python(code)).splitlines()[1].startswith(f"<Folder {folder.parent}: refused: ")


def test_use_serves_the_next_call(folder: Path) -> None:
    code = f"found = scattergen.use({str(folder)!r}); print(len(found.kernels), found.level or '-'); call()"
    kernels, source = good(python(CALL + code, **NO_COMPILER)).splitlines()
    assert kernels.split()[0] == str(len(manifest.read(folder).kernels))
    assert source == "ahead-of-time"


def test_a_folder_is_asked_before_the_store(folder: Path) -> None:
    assert good(python(CALL + "call()")) in ("built\n", "cache\n")
    assert good(python(CALL + "call()", SCATTERGEN_AOT_PATH=str(folder))) == "ahead-of-time\n"


def test_what_a_folder_lacks_comes_from_the_next_source(folder: Path) -> None:
    code = 'scattergen.scatter_elements(*arrays, axis=1, reduction="mul"); call()'
    assert good(python(CALL + code, SCATTERGEN_AOT_PATH=str(folder))) == "ahead-of-time\n"


def test_compile_gives_source_and_address_of_a_folder_s_kernel(folder: Path) -> None:
    code = f"""
kernel = scattergen.compile({SPEC!r}).variant("rows")
assert kernel.source == scattergen.show("rows_f32_i64_add") and kernel.address
print(kernel.library)
"""
    printed = good(python(CALL + code, SCATTERGEN_AOT_PATH=str(folder), **NO_COMPILER))
    assert Path(printed.strip()).is_relative_to(folder)


def machine_missing(folder: Path) -> None:
    edit(folder, machine="pdp11")


def system_missing(folder: Path) -> None:
    edit(folder, system="plan9")


def abi_changed(folder: Path) -> None:
    edit(folder, abi=1)


def generator_changed(folder: Path) -> None:
    edit(folder, generator="0" * 64, version="7.1")


def level_missing(folder: Path) -> None:
    # No CPU has these and lacks AVX-512: it stands for any level that is too high.
    edit(folder, libraries={"x86-64-v4": next(iter(manifest.read(folder).libraries.values()))})


def library_damaged(folder: Path) -> None:
    path = folder / next(iter(manifest.read(folder).libraries.values()))
    path.write_bytes(path.read_bytes()[:-100])


def library_gone(folder: Path) -> None:
    (folder / next(iter(manifest.read(folder).libraries.values()))).unlink()


def manifest_gone(folder: Path) -> None:
    (folder / manifest.NAME).unlink()


def manifest_torn(folder: Path) -> None:
    path = folder / manifest.NAME
    path.write_text(path.read_text()[:-20])


def manifest_of_another_format(folder: Path) -> None:
    edit(folder, format=2)


def library_elsewhere(folder: Path) -> None:
    edit(folder, libraries={"x86-64-v2": "../../lib.so"})


def field_of(name: str, value: object) -> Callable[[Path], None]:
    return lambda folder: edit(folder, **{name: value})


def manifest_nested(folder: Path) -> None:
    (folder / manifest.NAME).write_text("[" * 100_000)


HAS_V4 = Path("/proc/cpuinfo").exists() and "avx512vl" in Path("/proc/cpuinfo").read_text()


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (machine_missing, "it is for linux pdp11, this machine is "),
        (system_missing, "it is for plan9 "),
        (abi_changed, "it is of kernel ABI 1, this scattergen calls 3"),
        (generator_changed, "it was built by another scattergen (7.1)"),
        pytest.param(
            level_missing,
            "it asks for a CPU of level x86-64-v4; this one lacks ",
            marks=pytest.mark.skipif(HAS_V4 or os.uname().machine != "x86_64", reason="this CPU has the highest level"),
        ),
        (library_damaged, "is not the file that was built"),
        (library_gone, "is missing"),
        (manifest_gone, "has no manifest.json"),
        (manifest_torn, "cannot be read"),
        (manifest_of_another_format, "is of format 2"),
        (library_elsewhere, "outside of its folder"),
        (manifest_nested, "cannot be read"),
        *((field_of(name, None), f"({name} is not a table") for name in ("libraries", "kernels", "digests")),
        (field_of("libraries", ["lib.so"]), "(libraries is not a table of texts)"),
        (field_of("libraries", {"x86-64-v2": 3}), "(libraries is not a table of texts)"),
        (field_of("libraries", {}), "names no library"),
        (field_of("kernels", "rows"), "(kernels is not a table of texts)"),
        (field_of("digests", 3), "(digests is not a table of texts)"),
        (field_of("flags", [3]), "(flags is not a list of texts)"),
        (field_of("abi", True), "(abi is not a number)"),
        (field_of("version", None), "(version is not a text)"),
        (field_of("surplus", ""), "takes name, abi"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused_and_the_next_is_asked(
    harm: Any, reason: str, copy: Path, folder: Path
) -> None:
    harm(copy)
    both = os.pathsep.join((str(copy), str(folder)))
    done = python(CALL + "call()", SCATTERGEN_AOT_PATH=both, **NO_COMPILER)
    assert good(done) == "ahead-of-time\n"
    assert f"RuntimeWarning: scattergen does without the kernels of {copy}: " in done.stderr
    assert reason in done.stderr
    assert done.stderr.count("RuntimeWarning") == 1


def test_use_says_why_it_refuses(copy: Path) -> None:
    edit(copy, abi=1)
    code = f"found = scattergen.use({str(copy)!r}); print(found.refusal); call()"
    reason, source = good(python(CALL + code)).splitlines()
    assert reason.startswith("it is of kernel ABI 1")
    assert source in ("built", "cache")


def test_use_takes_any_path_and_keeps_none_that_it_cannot_read(copy: Path) -> None:
    code = f"scattergen.use({os.fsencode(copy)!r}); call()"
    assert good(python(CALL + code)).split() == ["ahead-of-time"]
    code = "\ntry:\n    scattergen.use(1)\nexcept TypeError:\n    call()"
    assert good(python(CALL + code)).split()[0] in ("built", "cache")


def test_a_library_that_the_loader_refuses_is_refused(copy: Path) -> None:
    name = next(iter(manifest.read(copy).libraries.values()))
    (copy / name).write_bytes(b"no ELF")
    edit(copy, digests={name: manifest.digest(copy / name)})
    done = python(CALL + "call()", SCATTERGEN_AOT_PATH=str(copy))
    assert good(done) in ("built\n", "cache\n")
    assert "does without the kernels of" in done.stderr
