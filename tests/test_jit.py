"""Kernels by import."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ahead import ROOT, good, python, run

import scattergen
from scattergen import jit
from scattergen.aot import aot
from scattergen.errors import SpecError
from scattergen.lower import standard
from scattergen.operators.spec import OpSpec

CODE = """
import numpy as np
from scattergen.jit import scatter_elements_f32_i64_r2a1_add as kernel
print(kernel(np.zeros((1, 4), np.float32), np.array([[1, 1]]), np.ones((1, 2), np.float32))[0].tolist())
"""


def test_an_import_gives_a_kernel() -> None:
    from scattergen.jit import scatter_elements_f32_i64_r2a1_add as kernel

    assert isinstance(kernel, scattergen.Kernel)
    result = kernel(np.zeros((1, 4), np.float32), np.array([[1, 1]]), np.ones((1, 2), np.float32))
    assert result.tolist() == [[0, 2, 0, 0]]
    assert jit.scatter_elements_f32_i64_r2a1_add is kernel


def test_it_works_in_another_python() -> None:
    assert good(python(CODE)) == "[0.0, 2.0, 0.0, 0.0]\n"


def test_it_works_with_a_home_that_cannot_be_written() -> None:
    done = python("import os; os.environ.pop('SCATTERGEN_CACHE_DIR', 0)\n" + CODE, HOME="/proc/self", XDG_CACHE_HOME="")
    assert good(done) == "[0.0, 2.0, 0.0, 0.0]\n"
    assert "kernels are kept for the life of this process only" in done.stderr


def test_it_works_with_a_home_of_any_bytes(tmp_path: Path) -> None:
    home = os.fsdecode(bytes(tmp_path) + b"/h\xff")
    done = python("import os; os.environ.pop('SCATTERGEN_CACHE_DIR', 0)\n" + CODE, HOME=home, XDG_CACHE_HOME="")
    assert good(done) == "[0.0, 2.0, 0.0, 0.0]\n"
    assert list(Path(home).glob(".cache/scattergen/v1/*/kernel.so"))


def test_the_store_is_the_same_under_every_locale() -> None:
    code = CODE + "print(*(variant.library for variant in kernel.variants))\nimport scattergen.load.loader as loader\n"
    code += "print(loader.has_caller())"
    printed = good(python(code))
    assert good(python(code, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", SCATTERGEN_CC="/no")) == printed


def test_a_store_that_keeps_nothing_will_do(tmp_path: Path) -> None:
    done = python(CODE, SCATTERGEN_CACHE_DIR=str(tmp_path / "store"), SCATTERGEN_CACHE_LIMIT="0")
    assert good(done) == "[0.0, 2.0, 0.0, 0.0]\n"


def test_the_c_of_a_kernel_is_not_read_from_the_store(tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    good(python(CODE, SCATTERGEN_CACHE_DIR=place))
    for path in Path(place).glob("v1/*/kernel.c"):
        path.write_bytes(b"\xff")
    code = (
        CODE
        + f"""
import scattergen.inspection, shutil, sys
assert "scattergen.render" not in sys.modules  # a hit renders nothing
shutil.rmtree({place!r})
again = scattergen.compile(str(kernel))
assert [variant.source for variant in again.variants] == list(scattergen.inspection.sources(str(kernel)).values())
"""
    )
    good(python(code, SCATTERGEN_CACHE_DIR=place))


def test_kernels_go_to_spawned_processes(tmp_path: Path) -> None:
    script = tmp_path / "spawn.py"
    script.write_text(
        """
import multiprocessing, sys
import numpy as np
from scattergen.jit import scatter_nd_f32_i64_r1k1_add as kernel

def call(given, index):
    assert str(given) == str(kernel) and given.variants[0].address
    return given(np.zeros(4, np.float32), np.array([[index]]), np.ones(1, np.float32)).tolist()

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.starmap(call, [(kernel, 0), (kernel, 3)]))
"""
    )
    assert good(run(sys.executable, script, cwd=tmp_path)) == "[[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]\n"


def test_a_kernel_is_shown_in_a_few_words() -> None:
    kernel = scattergen.compile("scatter_nd_f32_i64_r1k1_add")
    assert repr(kernel) == f"<Kernel scatter_nd_f32_i64_r1k1_add: {len(kernel.variants)} variants>"
    assert repr(kernel.variant("elements")) == "<Variant elements_f32_i64_k1_add>"
    with pytest.raises(SpecError, match=r"form='rows': allowed is one of .* for scatter_nd_f32_i64_r1k1_add$"):
        kernel.variant("rows")


def test_a_kernel_is_pickled_by_its_spec() -> None:
    kernel = scattergen.compile("scatter_nd_f32_i64_r1k1_add")
    again = pickle.loads(pickle.dumps(kernel))
    assert again.spec == kernel.spec
    assert [variant.spec for variant in again.variants] == [variant.spec for variant in kernel.variants]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("scatter_elements_f32_i64_r3a1_sum", "scatter_elements_f32_i64_r3a1_add"),
        ("scatter_elements_f32_i64_r3a3_add", "scatter_elements_f32_i64_r3a2_add"),
        ("scatter_elements_float32_i64_r3a1_add", "scatter_elements_f32_i64_r3a1_add"),
        ("scatter_element_f32_i64_r3a1_add", "scatter_elements_f32_i64_r3a1_add"),
        ("scatter_nd_f32_i64_r3a1_add", "scatter_nd_f32_i64_r3k1_add"),
        ("scatter_nd_f32_u64_r3k1_add", "scatter_nd_f32_i64_r3k1_add"),
        ("scatter_elements_f32_r2a0_add", "scatter_elements_f32_i64_r2a0_add"),
        ("scatter_nd_r2k1_add", ""),
        ("scatter_f32_r2a0_none", "scatter_f32_i64_r2a0_none"),
        ("scatter_nd_f32", ""),
    ],
)
def test_a_wrong_spec_is_an_import_error_with_the_grammar_and_near_names(name: str, near: str) -> None:
    with pytest.raises(ImportError) as caught:
        getattr(jit, name)
    text = str(caught.value)
    assert text.startswith(f"{name} is no kernel: ")
    assert "<operator>_<dtype>_<index dtype>_r<rank>" in text
    if near:
        offered = text.split("near:")[1].splitlines()[0].replace(",", "").split()
        assert near in offered
        assert all(scattergen.OpSpec.parse(one) for one in offered)


@pytest.mark.parametrize("name", ["gather", "scattered", "__path__", "_ipython_display_", "compile_everything"])
def test_any_other_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(jit, name)
    assert not hasattr(jit, name)


def test_dir_lists_the_standard_set() -> None:
    assert set(standard.SPECS) <= set(dir(jit))


def test_type_checkers_see_callables(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="needs mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "from scattergen.jit import scatter_elements_f32_i64_r2a1_add as kernel\nreveal_type(kernel)\nkernel(1)\n"
    )
    folder = ("--cache-dir", str(tmp_path / "cache"), "--config-file", str(ROOT / "pyproject.toml"))
    said = run(sys.executable, "-m", "mypy", *folder, program, cwd=tmp_path).stdout
    assert 'Revealed type is "scattergen.call.compiled.Kernel"' in said
    assert "Missing positional arguments" in said
    assert "Found 1 error" in said


@pytest.mark.parametrize("call", [scattergen.compile, scattergen.show, lambda spec: scattergen.compile_all([spec])])
@pytest.mark.parametrize("value", [None, 3])
def test_what_is_no_spec_at_all_is_a_spec_error(call: Callable[[Any], object], value: object) -> None:
    with pytest.raises(SpecError, match=rf"spec={value}: allowed is an OpSpec"):
        call(value)


def test_one_spec_in_place_of_many_is_told_so() -> None:
    with pytest.raises(SpecError, match="allowed is a list of specs; "):
        scattergen.compile_all("scatter_nd_f32_i64_r1k1_add")


@pytest.mark.parametrize("specs", [None, 3, OpSpec.parse("scatter_nd_f32_i64_r1k1_add")])
def test_what_is_no_list_of_specs_is_refused(specs: Any) -> None:
    with pytest.raises(SpecError, match=r"specs=.*a list of specs; scattergen\.compile takes one"):
        scattergen.compile_all(specs)


def test_what_cannot_be_called_is_refused_before_anything_is_built() -> None:
    with pytest.raises(SpecError, match=r"on_done=.*: allowed is a function"):
        scattergen.compile_all(["scatter_nd_f32_i64_r1k1_add"], on_done="print")  # type: ignore[arg-type]


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "two"])
def test_a_number_of_compilers_that_means_nothing_is_refused(jobs: Any, tmp_path: Path) -> None:
    for call in (scattergen.compile_all, lambda specs, jobs: aot.build(specs, tmp_path / "built", jobs=jobs)):
        with pytest.raises(SpecError, match=r"jobs=.*a whole number, 1 or more, or None"):
            call(["scatter_nd_f32_i64_r1k1_add"], jobs=jobs)
    assert not (tmp_path / "built").exists()


def test_many_are_built_at_once_and_told_of_one_by_one(tmp_path: Path) -> None:
    code = """
import scattergen
from scattergen.common import config
seen = []
specs = ["scatter_nd_f32_i64_r2k1_add", "scatter_elements_f32_i64_r1a0_add"]
kernels = scattergen.compile_all(specs, jobs=2, on_done=seen.append)
assert [str(kernel) for kernel in kernels] == specs
names = {str(variant.spec) for kernel in kernels for variant in kernel.variants}
assert sorted(done.name for done in seen) == sorted(names)
assert [done.number for done in seen] == list(range(1, len(names) + 1)) and seen[0].total == len(names)
assert {done.origin for done in seen} == {"built"}
config.use(config.settings()._replace(compile="never"))
import numpy as np
print(scattergen.scatter_nd(np.zeros((4, 2), np.float32), [[1]], np.ones((1, 2), np.float32), "add")[1])
try:
    scattergen.scatter_nd(np.zeros((4, 2), np.float32), [[1]], np.ones((1, 2), np.float32), "mul")
except scattergen.errors.KernelUnavailable as error:
    print("SCATTERGEN_COMPILE=never" in str(error))
"""
    assert good(python(code, SCATTERGEN_CACHE_DIR=str(tmp_path))) == "[1. 1.]\nTrue\n"


def test_a_failure_among_many_is_that_kernel_s(tmp_path: Path) -> None:
    code = """
import scattergen
try:
    scattergen.compile_all(["scatter_nd_f32_i64_r2k1_add"])
except scattergen.errors.CompileError as error:
    print(error.spec.split("_")[1:])
"""
    done = python(code, SCATTERGEN_CACHE_DIR=str(tmp_path), SCATTERGEN_CC="false")
    assert "f32" in good(done)
