"""Folders of kernels built ahead of time: what is in them, and C and C++ programs that use them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ahead import EXAMPLES, OUTPUT, ROOT, SPEC, good, python, run, scattergen

import scattergen as scattergen_package
from scattergen.aot import aot
from scattergen.aot.wanted import gather
from scattergen.common.config import Settings
from scattergen.compiler import toolchain
from scattergen.errors import AheadOfTimeError, CompileError, SpecError
from scattergen.load import manifest
from scattergen.lower.lower import variants
from scattergen.operators.spec import OpSpec

NAMES = sorted(map(str, variants(OpSpec.parse(SPEC))))
CC = str(toolchain.find(Settings()).path)


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ahead of time") / "kernels"
    aot.build([SPEC], place, python=True)
    return place


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_manifest_says_what_is_there(folder: Path) -> None:
    found = manifest.read(folder)
    assert list(found.kernels) == NAMES
    assert found.specs == (SPEC,)
    assert found.abi == 3
    assert {*found.digests, "manifest.json"} == set(files(folder))
    assert all(manifest.digest(folder / name) == digest for name, digest in found.digests.items())


def test_the_same_inputs_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    aot.build([SPEC], tmp_path / "elsewhere" / "others", python=True, jobs=1)
    assert files(tmp_path / "elsewhere" / "others") == files(folder)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_compiler_by_name_is_as_reproducible(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    for name in ("one", "two"):
        good(scattergen("build", SPEC, "-o", tmp_path / name, SCATTERGEN_CC=compiler))
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_a_c_program_links_the_shared_library(folder: Path, tmp_path: Path) -> None:
    lib, program = folder / "lib", tmp_path / "scatter"
    flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{folder / 'include'}", f"-L{lib}")
    good(run(CC, EXAMPLES / "scatter.c", *flags, "-lscattergen_kernels", f"-Wl,-rpath,{lib}", "-o", program))
    said = good(run(program))
    assert said.startswith(OUTPUT)
    assert "rows_f32_i64_add: position 4 is out of bounds" in said
    assert said.splitlines()[-len(NAMES) :] == NAMES


def test_a_c_program_links_the_static_library(folder: Path, tmp_path: Path) -> None:
    program, extra = tmp_path / "scatter", [flag for flag in manifest.read(folder).flags if flag == "-fopenmp"]
    library = folder / "lib" / "libscattergen_kernels.a"
    good(run(CC, EXAMPLES / "scatter.c", f"-I{folder / 'include'}", library, *extra, "-o", program))
    shutil.copytree(folder / "include", tmp_path / "include")  # the program stands alone
    assert good(run(program)).startswith(OUTPUT)


@needs("c++")
@needs("pkg-config")
def test_the_commands_of_the_page_make_programs_that_start(folder: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "ahead-of-time.md").read_text(encoding="utf-8")
    commands = page.split("\n## Link\n")[1].split("```sh\n")[1].split("```")[0]
    place = tmp_path / "a path"
    shutil.copytree(folder, place / "kernels")
    for name in ("scatter.c", "scatter.cpp"):
        shutil.copy(EXAMPLES / name, place)
    good(run("sh", "-ec", commands, cwd=place))
    assert good(run(place / "scatter_c")).startswith(OUTPUT)
    assert good(run(place / "scatter_cpp")) == OUTPUT


@needs("g++")
@needs("pkg-config")
def test_a_cpp_program_asks_pkg_config(folder: Path, tmp_path: Path) -> None:
    lib, program = folder / "lib", tmp_path / "scatter"
    asked = run("pkg-config", "--cflags", "--libs", "scattergen_kernels", PKG_CONFIG_PATH=str(lib / "pkgconfig"))
    words = [word.replace("\\", "") for word in re.findall(r"(?:\\.|\S)+", good(asked))]
    flags = ("-std=c++11", "-Wall", "-Wextra", "-Werror", "-pthread", f"-Wl,-rpath,{lib}")
    good(run("g++", EXAMPLES / "scatter.cpp", *flags, *words, "-o", program))
    assert good(run(program)) == OUTPUT


@needs("cmake")
@needs("g++")
def test_cmake_builds_the_examples(folder: Path, tmp_path: Path) -> None:
    good(run("cmake", "-S", EXAMPLES, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={folder}"))
    good(run("cmake", "--build", tmp_path))
    assert good(run(tmp_path / "scatter_c")).startswith(OUTPUT)
    assert good(run(tmp_path / "scatter_c_static")).startswith(OUTPUT)
    assert good(run(tmp_path / "scatter_cpp")) == OUTPUT


@needs("make")
def test_make_builds_the_folder_again_when_its_list_changes(tmp_path: Path) -> None:
    listed = tmp_path / "my kernels.json"
    listed.write_text(json.dumps({"specs": ["rows_f32_i64_add"]}))
    # The rules for a file's name with a space are make's own.
    command = f'"{sys.executable}" -m scattergen build "my kernels.json" -o kernels'
    (tmp_path / "Makefile").write_text(
        f"all: kernels/manifest.json\nkernels/manifest.json:\n\t{command}\n-include kernels/scattergen_kernels.d\n"
    )
    assert "scattergen build" in good(run("make", "all", cwd=tmp_path))
    assert "scattergen build" not in good(run("make", "all", cwd=tmp_path))
    listed.write_text(json.dumps({"specs": ["rows_f64_i64_add"]}))
    later = (tmp_path / "kernels" / "manifest.json").stat().st_mtime + 5
    os.utime(listed, (later, later))
    assert "scattergen build" in good(run("make", "all", cwd=tmp_path))
    assert list(manifest.read(tmp_path / "kernels").kernels) == ["rows_f64_i64_add"]


def test_a_kernel_that_does_not_compile_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *strided*.c*) echo no such luck; exit 1;; esac\nexec {CC} "$@"\n')
    compiler.chmod(0o755)
    place = tmp_path / "out"
    place.mkdir()
    done = scattergen("build", SPEC, "-o", place / "kernels", SCATTERGEN_CC=str(compiler))
    assert done.returncode == 1
    assert "strided_f32_i64_k1_add: cc exited with status 1" in done.stderr
    assert "no such luck" in done.stderr
    source = re.search(r"source: +(\S+)", done.stderr)
    assert source is not None
    assert Path(source[1]).name == "strided_f32_i64_k1_add.c"
    assert "Generated by scattergen" in Path(source[1]).read_text()
    assert list(place.iterdir()) == []
    shutil.rmtree(Path(source[1]).parent)


def test_a_failed_build_leaves_the_older_folder(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "kernels"
    shutil.copytree(folder, place)
    before = files(place)
    done = scattergen("build", SPEC, "-o", place, SCATTERGEN_CC="false")
    assert done.returncode == 1
    assert files(place) == before
    assert list(tmp_path.iterdir()) == [place]


def test_a_folder_of_ours_is_replaced_and_another_is_not(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "kernels"
    shutil.copytree(folder, place)
    aot.build(["rows_w32_i64_none"], place)
    assert list(manifest.read(place).kernels) == ["rows_w32_i64_none"]
    assert not (place / "src" / "rows_f32_i64_add.c").exists()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("Call me Ishmael.")
    with pytest.raises(AheadOfTimeError, match=r"has no manifest\.json"):
        aot.build(["rows_w32_i64_none"], tmp_path / "thesis")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter1.tex"]


def a_browser_extension(place: Path) -> None:
    shutil.rmtree(place)
    place.mkdir()
    (place / "manifest.json").write_text('{"manifest_version": 3, "name": "mine"}')
    (place / "background.js").write_text("// months of work")


def a_file_more(place: Path) -> None:
    (place / "src" / "notes.txt").write_text("Call me Ishmael.")


def a_link_more(place: Path) -> None:
    (place / "thesis").symlink_to(place.parent)


def a_manifest_cut_short(place: Path) -> None:
    text = (place / "manifest.json").read_bytes()
    (place / "manifest.json").write_bytes(text[: len(text) // 2])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (a_browser_extension, "none that `scattergen build` wrote"),
        (a_file_more, r"did not write src/notes\.txt there"),
        (a_link_more, "did not write thesis there"),
        (a_manifest_cut_short, "cannot be read"),
    ],
)
def test_a_folder_that_holds_anything_else_is_left_as_it_is(
    change: Callable[[Path], None], why: str, folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "kernels"
    shutil.copytree(folder, place)
    change(place)
    before = files(place)
    with pytest.raises(AheadOfTimeError, match=why) as caught:
        aot.build(["rows_w32_i64_none"], place)
    assert "name a new folder, or remove that one" in str(caught.value)
    assert files(place) == before


def test_a_folder_of_an_older_version_is_replaced(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "kernels"
    shutil.copytree(folder, place)
    manifest.read(place)._replace(version="0.0.1", generator="0" * 16).write(place)
    aot.build(["rows_w32_i64_none"], place)
    assert list(manifest.read(place).kernels) == ["rows_w32_i64_none"]


def test_no_openmp_needs_no_runtime(tmp_path: Path) -> None:
    made = aot.build(["rows_f32_i64_add"], tmp_path / "kernels", openmp=False)
    assert "-fopenmp" not in made.flags
    library = (tmp_path / "kernels" / made.libraries[next(iter(made.libraries))]).read_bytes()
    assert b"GOMP" not in library
    assert b"gomp" not in library


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="levels are x86-64's")
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's loader chooses among levels")
def test_the_loader_takes_the_best_level_that_the_cpu_has(tmp_path: Path) -> None:
    """The library of the higher level is exchanged for one that has a kernel more, which shows who is loaded."""
    place, other = tmp_path / "kernels", tmp_path / "other"
    aot.build(["rows_f32_i64_add"], place, target="x86-64-v2,x86-64-v3")
    better = place / "lib" / "glibc-hwcaps" / "x86-64-v3" / "libscattergen_kernels.so"
    assert manifest.read(place).libraries == {
        "x86-64-v2": "lib/libscattergen_kernels.so",
        "x86-64-v3": str(better.relative_to(place)),
    }
    aot.build(["rows_f32_i64_add", "rows_f64_i64_add"], other, target="x86-64-v3")
    shutil.copyfile(other / "lib" / "libscattergen_kernels.so", better)
    program = tmp_path / "scatter"
    flags = (f"-I{place / 'include'}", f"-L{place / 'lib'}", "-lscattergen_kernels", f"-Wl,-rpath,{place / 'lib'}")
    good(run(CC, EXAMPLES / "scatter.c", *flags, "-o", program))
    names = good(run(program)).splitlines()[3:]
    has = "avx2" in Path("/proc/cpuinfo").read_text() and "fma" in Path("/proc/cpuinfo").read_text()
    assert names == (["rows_f32_i64_add", "rows_f64_i64_add"] if has else ["rows_f32_i64_add"])


def test_a_cffi_extension_is_built_by_setuptools(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="needs setuptools")
    shutil.copytree(folder, tmp_path / "kernels")
    (tmp_path / "setup.py").write_text(
        'from setuptools import setup\nsetup(name="mine", py_modules=[],'
        ' cffi_modules=["kernels/python/scattergen_kernels_build.py:ffibuilder"])\n'
    )
    good(run(sys.executable, "setup.py", "-q", "build_ext", "--inplace", cwd=tmp_path))
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import numpy as np
from _scattergen_kernels import ffi, lib
data, out = np.arange(8, dtype=np.float32), np.empty(8, np.float32)
indices, updates = np.array([0, 0, -1, 3, 2, 3]), np.arange(10, 70, 10, dtype=np.float32)
layout = ffi.new("int64_t[]", [2, 3, 4, 8, 4, 3, 3])
kernel = lib.scattergen_rows_f32_i64_add
arrays = [ffi.from_buffer(array) for array in (out, data, indices, updates)]
assert kernel.run(*arrays, layout, ffi.NULL, 1) == -1
assert ffi.string(lib.scattergen_find(b"rows_f32_i64_add").name) == b"rows_f32_i64_add"
print(*out.astype(int))
assert "scattergen" not in sys.modules
"""
    assert good(python(code)).split() == OUTPUT.split()


def test_a_cffi_extension_is_built_by_hand(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="needs setuptools")
    place = tmp_path / "kernels"
    shutil.copytree(folder, place)
    good(run(sys.executable, place / "python" / "scattergen_kernels_build.py", cwd=tmp_path))
    code = f"import sys; sys.path.insert(0, {str(place / 'python')!r}); import _scattergen_kernels as k"
    assert good(python(f"{code}; print(k.lib.scattergen_rows_f32_i64_add.abi)")) == "3\n"


def test_a_kernel_is_called_by_its_address() -> None:
    printed = good(run(sys.executable, EXAMPLES / "by_pointer.py"))
    assert re.sub(r"[\[\].]", "", printed).split() == OUTPUT.split()


def test_numba_calls_a_kernel_by_its_address() -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    code = """
import ctypes, numba, numpy as np, scattergen
address = scattergen.compile("scatter_elements_f32_i64_r2a1_add").variant("rows").address
p, n = ctypes.c_size_t, ctypes.c_int64
run = ctypes.CFUNCTYPE(n, p, p, p, p, p, p, ctypes.c_int32)(address)
@numba.njit
def call(out, data, indices, updates, layout):
    return run(out.ctypes.data, data.ctypes.data, indices.ctypes.data, updates.ctypes.data, layout.ctypes.data, 0, 1)
out, data = np.empty(8, np.float32), np.arange(8, dtype=np.float32)
indices, updates = np.array([0, 0, -1, 3, 2, 3]), np.arange(10, 70, 10, dtype=np.float32)
assert call(out, data, indices, updates, np.array([2, 3, 4, 8, 4, 3, 3])) == -1
print(*out.astype(int))
"""
    assert good(python(code)).split() == OUTPUT.split()


@pytest.mark.parametrize(
    ("call", "form", "layout"),
    [
        # The table of docs/ahead-of-time.md, with B = 3, A = 4, size = 5, n = 2, and k = 2 of dims (3, 5), L = 4.
        (("scatter_elements", (3, 5), (3, 2), 1), "rows", (3, 2, 5, 15, 5, 2, 2)),
        (("scatter_elements", (3, 5, 4), (3, 2, 4), 1), "lanes", (3, 2, 4, 5, 60, 20, 4, 8, 4, 8, 4, 4)),
        (("scatter_nd", (3, 5, 4), (2, 2), None), "slices", (1, 2, 4, 60, 60, 0, 2, 0, 4, 3, 5, 20, 4)),
        (("scatter_nd", (3, 5), (2, 2), None), "elements", (2, 15, 1, 3, 5, 5, 1, 1)),
        (("scatter_elements", (5,), (2,), 0), "elements", (2, 5, 1, 5, 1, 1)),
    ],
)
def test_layouts_are_those_of_the_guide(call: tuple[Any, ...], form: str, layout: tuple[int, ...]) -> None:
    operator, data, indices, axis = call
    updates = indices if axis is not None else (*indices[:-1], *data[indices[-1] :])
    arrays = (np.zeros(data, np.float32), np.zeros(indices, np.int64), np.zeros(updates, np.float32))
    place = () if axis is None else (axis,)
    found = scattergen_package.explain(
        getattr(scattergen_package, operator), *arrays, *place, reduction="add", threads=1
    )
    assert (found.form, found.layout) == (form, layout)


def test_lists_have_products(tmp_path: Path) -> None:
    listed = tmp_path / "kernels.json"
    rows = [
        {"operator": "scatter_elements", "dtype": ["f32", "c64"], "rank": 2, "axis": [-1], "reduction": "*"},
        {"operator": ["scatter_nd"], "dtype": "u8", "index": "*", "rank": [1, 2], "k": "*"},
    ]
    listed.write_text(json.dumps({"specs": ["scatter_f32_i32_r1a0_none", "rows_f64_i64_add"], "kernels": rows}))
    found = gather([listed])
    assert [str(spec) for spec in found.specs] == sorted(
        [f"scatter_elements_f32_i64_r2a1_{name}" for name in ("none", "add", "mul", "max", "min")]
        + [f"scatter_elements_c64_i64_r2a1_{name}" for name in ("none", "add", "mul")]
        + [f"scatter_nd_u8_{index}_{place}_none" for index in ("i32", "i64") for place in ("r1k1", "r2k1", "r2k2")]
        + ["scatter_f32_i32_r1a0_none"]
    )
    assert "rows_f64_i64_add" in map(str, found.kernels)
    assert found.files == (listed,)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the standard library reads TOML from Python 3.11 on")
def test_lists_may_be_toml(tmp_path: Path) -> None:
    listed = tmp_path / "kernels.toml"
    listed.write_text(
        '[[kernels]]\noperator = "scatter_nd"\ndtype = ["f32", "f64"]\nrank = 3\nk = 1\nreduction = "max"\n'
    )
    assert [str(spec) for spec in gather([str(listed)]).specs] == [
        "scatter_nd_f32_i64_r3k1_max",
        "scatter_nd_f64_i64_r3k1_max",
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"operator": "scatter_add", "dtype": "f32", "rank": 1, "axis": 0}, "operator='scatter_add'"),
        ({"operator": "scatter_nd", "dtype": "f32", "rank": 1}, "k is missing, which ScatterND needs"),
        ({"operator": "scatter_nd", "dtype": "f32", "k": 1}, "rank is missing"),
        ({"operator": "scatter_nd", "dtype": "f33", "rank": 1, "k": 1}, "dtype='f33': did you mean 'f32'? Allowed is"),
        (
            {"operator": "*", "dtype": "float32", "rank": 1, "k": "*", "axis": "*"},
            "dtype='float32': did you mean 'f32'?",
        ),
        ({"operator": "*", "dtype": ["f32", "?"], "rank": 1}, "dtype='?': allowed is one of bool, u8"),
        (
            {"operator": "scatter_nd", "dtype": "f32", "index": "int64", "rank": 1, "k": "*"},
            "index='int64': did you mean 'i64'",
        ),
        (
            {"operator": "scatter_nd", "dtype": "f32", "rank": 1, "k": "*", "reduction": "sum"},
            "reduction='sum': allowed is",
        ),
        (
            {"operator": "tensor_scatter", "dtype": "*", "rank": 2, "axis": 1, "mode": "ring"},
            "mode='ring': allowed is one of linear, circular",
        ),
        ({"operator": "scatter_nd", "dtype": "f32", "rank": 1, "k": 1, "reduce": "add"}, "'reduce' means nothing here"),
        ({"operator": "scatter_nd", "dtype": "*", "rank": 1, "k": 2}, "nothing that it says is valid together"),
        (
            {"operator": "scatter_nd", "dtype": "f32", "rank": "3", "k": 1},
            "rank is '3': allowed is a whole number, or a list of such",
        ),
        ({"operator": "scatter_nd", "dtype": "f32", "rank": True, "k": 1}, "rank is True: allowed is a whole"),
        ({"operator": "scatter_nd", "dtype": "f32", "rank": "*", "k": 1}, "rank is '*': allowed is a whole"),
        ({"operator": "scatter_nd", "dtype": "f32", "rank": 100000000, "k": "*"}, "rank=100000000: allowed is 1 to 64"),
        (
            {"operator": "scatter_nd", "dtype": "f32", "rank": 1, "k": [1, None]},
            """k is [1, None]: allowed is a whole number, or a list of such, or "*\"""",
        ),
        ({"operator": [["scatter_nd"]], "dtype": "f32", "rank": 1, "k": 1}, "operator is [['scatter_nd']]: allowed"),
    ],
)
def test_lists_say_what_is_wrong_and_where(row: dict[str, object], said: str, tmp_path: Path) -> None:
    listed = tmp_path / "kernels.json"
    listed.write_text(json.dumps({"kernels": [row]}))
    with pytest.raises(AheadOfTimeError) as caught:
        gather([listed])
    assert f"kernels.json, kernels[0]: {said}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"specs": 3}', "specs is 3: allowed is a list of texts"),
        ('{"specs": "rows_f32_i64_add"}', "allowed is a list of texts"),
        ('{"kernels": [1]}', "kernels is [1]: allowed is a list of tables"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_lists_of_another_form_are_refused(text: str, said: str, tmp_path: Path) -> None:
    listed = tmp_path / "kernels.json"
    listed.write_text(text)
    with pytest.raises(AheadOfTimeError) as caught:
        gather([listed])
    assert str(caught.value).startswith(f"{listed}: ")
    assert said in str(caught.value)


def test_models_give_their_scatter_nodes() -> None:
    pytest.importorskip("onnx", reason="needs the onnx package")
    found = gather([ROOT / "tests" / "models" / "gat_segment_softmax.dy.onnx"])
    assert "scatter_nd_f32_i64_r2k1_add" in map(str, found.specs)


def test_what_was_gathered_is_built_without_reading_it_again(tmp_path: Path) -> None:
    listed = tmp_path / "kernels.json"
    listed.write_text(json.dumps({"specs": ["rows_w32_i64_none"]}))
    asked = gather([listed])
    listed.unlink()
    assert list(aot.build(asked, tmp_path / "kernels").kernels) == ["rows_w32_i64_none"]


def test_a_list_may_have_a_name_of_any_bytes(tmp_path: Path) -> None:
    listed = tmp_path / os.fsdecode(b"k\xff.json")
    listed.write_text(json.dumps({"specs": ["rows_w32_i64_none"]}))
    aot.build([listed], tmp_path / "kernels")
    assert b"/k\xff.json:\n" in (tmp_path / "kernels" / "scattergen_kernels.d").read_bytes()


@pytest.mark.parametrize("refused", [True, False])
def test_a_failure_stays_what_it_is_when_its_source_is_kept(
    refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "kernel.c").write_text("source")
    error = CompileError("spec", ("cc",), "output", tmp_path / "kernel.c", "why", refused)
    kept = aot._kept(error)
    (tmp_path / "kernel.c").unlink()
    assert kept.source_path.read_text() == "source"
    assert str(kept).replace(str(kept.source_path), str(error.source_path)) == str(error)
    assert kept.refused == refused


def test_nothing_asked_for_is_an_error() -> None:
    with pytest.raises(AheadOfTimeError, match="no kernel is asked for"):
        gather([])
    with pytest.raises(
        AheadOfTimeError, match=r"no kernel is asked for\n  scatter_nd_str_i64_r1k1_add: .*without a kernel"
    ):
        gather(["scatter_nd_str_i64_r1k1_add"])
    with pytest.raises(SpecError):
        gather(["rows_f32_i64_pow"])


@pytest.mark.parametrize("target", ["x86-64-v9", "aarch64", "x86-64-v2,aarch64-linux-gnu", "aarch64-windows-gnu"])
def test_a_target_that_is_none_is_refused(target: str, tmp_path: Path) -> None:
    with pytest.raises(AheadOfTimeError, match="allowed are levels"):
        aot.build([SPEC], tmp_path / "kernels", target=target)


@pytest.mark.parametrize("name", ["scattergen", "stdint", "kernel", "Upper", "a-b", "", "n" * 65])
def test_a_name_that_will_not_do_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(AheadOfTimeError, match="name"):
        aot.build([SPEC], tmp_path / "kernels", name=name)
    assert not list(tmp_path.iterdir())
