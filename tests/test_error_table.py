"""The table of errors in docs/semantics.md: every class is there, and calls raise what its row says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import python

import scattergen
from scattergen import errors

PAGE = Path(__file__).parent.parent / "docs" / "semantics.md"
SPEC = "scatter_elements_f32_i64_r1a0_add"
DATA, UPDATES = np.zeros(3, np.float32), np.ones(1, np.float32)
CACHE = np.zeros((2, 3, 1), np.float32)


def rows() -> dict[str, tuple[str, str]]:
    """Return the table: class → what it also is, and when it is raised."""
    text = PAGE.read_text(encoding="utf-8").partition("| class | also a | when |")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {name.strip("`"): (also.strip("`"), when) for name, also, when in cells}


def call(indices: Any = (0,), updates: Any = UPDATES, data: Any = DATA, **options: Any) -> Any:
    return scattergen.scatter_elements(data, list(indices), updates, **options)


def read_only() -> np.ndarray[Any, Any]:
    array = DATA.copy()
    array.flags.writeable = False
    return array


CALLS: dict[str, list[Callable[[], Any]]] = {
    "ShapeError": [
        lambda: call([0, 1]),
        lambda: call([[0]]),
        lambda: call(axis=1),
        lambda: call(axis="0"),
        lambda: call(out=np.zeros(4, np.float32)),
        lambda: call(out=read_only()),
        lambda: call(out=np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3,), (0,))),
        lambda: call(updates=[300], data=np.zeros(3, np.int8)),
    ],
    "SpecError": [
        lambda: scattergen.compile("rubbish"),
        lambda: scattergen.show("rubbish"),
        lambda: call(reduction="pow"),
        lambda: call(reduction="max", opset=16),
        lambda: call(opset=10),
        lambda: call(opset="18"),
        lambda: call(threads=0),
        lambda: call(threads=-1),
        lambda: call(threads="2"),
        lambda: call([], [], threads=-1),
        lambda: call(data=["a", "b"], updates=["c"], reduction="add", threads=-1),
        lambda: scattergen.bind(
            scattergen.scatter_elements, np.array(["a"]), np.zeros(1, int), np.array(["b"]), threads=0
        ),
        lambda: scattergen.find_bad([3], (3,), axis=0, limit=-1),
        lambda: scattergen.prepare([[0]], (3,), threads=0),
        lambda: call(duplicates="perhaps"),
        lambda: call(unique=np.ones(1, bool)),
        lambda: call(unique="no"),
        lambda: call(accumulate="float64"),
        lambda: scattergen.tensor_scatter(CACHE, CACHE, mode="round"),
        lambda: scattergen.tensor_scatter(CACHE, CACHE, threads=0),
    ],
    "DTypeError": [
        lambda: call(updates=np.ones(1)),
        lambda: call([0.5]),
        lambda: call(data=np.zeros(3, np.complex64), updates=np.zeros(1, np.complex64), reduction="max"),
        lambda: call(out=[0, 0, 0]),
        lambda: call(accumulate="float32", reduction="add"),
    ],
    "IndexOutOfBounds": [lambda: call([3])],
    "DuplicateTargets": [lambda: call([1, 1], [1, 1], duplicates="refuse")],
    "SettingError": [lambda: scattergen.set_num_threads(-1), lambda: scattergen.set_num_threads("2")],  # type: ignore[arg-type]
}
"""Calls that raise a class in this process."""

LISTED = "import scattergen; scattergen.scatter_elements([1.0], [0], [2.0])"
COMPILED = f"import scattergen; scattergen.compile({SPEC!r})"
NOT_STORED = {"SCATTERGEN_CACHE": "off"}

PROGRAMS: dict[str, list[tuple[str, dict[str, str]]]] = {
    "SettingError": [
        (LISTED, {"SCATTERGEN_NUM_THREADS": "many"}),
        (LISTED, {**NOT_STORED, "SCATTERGEN_CFLAGS": "-ffast-math"}),
    ],
    "CompilerNotFound": [(COMPILED, {**NOT_STORED, "SCATTERGEN_CC": "no-such-compiler"})],
    "CompileError": [(COMPILED, {**NOT_STORED, "SCATTERGEN_CFLAGS": "-fno-such-flag"})],
    "KernelUnavailable": [(COMPILED, {**NOT_STORED, "SCATTERGEN_COMPILE": "never"})],
    "CacheError": [
        (
            "from scattergen import inspection; inspection.cache_clear()",
            {"SCATTERGEN_CACHE_DIR": str(PAGE.parent), "SCATTERGEN_CACHE": "on"},
        )
    ],
    "AheadOfTimeError": [("from scattergen.aot import aot; aot.build([], '/no-such-folder/kernels')", {})],
    "ModelError": [(f"import scattergen.onnx as onnx; onnx.nodes({str(PAGE)!r})", {})],
}
"""Programs that raise a class, and the environment that they need."""

PROGRAM = """
from scattergen.errors import ScattergenError
try:
    {code}
except ScattergenError as error:
    print(type(error).__name__, *(getattr(error, name) for name in {attributes}))
"""


def test_the_table_has_every_class_and_what_it_also_is() -> None:
    table = rows()
    classes = {
        name: found
        for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, errors.ScattergenError) and found is not errors.ScattergenError
    }
    assert table.keys() == classes.keys() == CALLS.keys() | PROGRAMS.keys()
    for name, (also, _) in table.items():
        assert also in {base.__name__ for base in classes[name].__mro__}


@pytest.mark.parametrize("name", CALLS)
def test_calls_raise_the_class_of_their_row_and_it_has_what_the_row_says(name: str) -> None:
    attributes = re.findall(r"`(\w+)`", rows()[name][1].partition("; has ")[2])
    for raises in CALLS[name]:
        with pytest.raises(errors.ScattergenError) as caught:
            raises()
        assert type(caught.value).__name__ == name
        assert all(hasattr(caught.value, one) for one in attributes)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_raise_the_class_of_their_row_and_it_has_what_the_row_says(name: str) -> None:
    if name == "ModelError":
        pytest.importorskip("onnx", reason="models are read by the onnx package")
    attributes = re.findall(r"`(\w+)`", rows()[name][1].partition("; has ")[2])
    for code, environment in PROGRAMS[name]:
        wrapped = PROGRAM.format(code=code, attributes=attributes)
        assert python(wrapped, **environment).partition(" ")[0].strip() == name


def test_the_rows_name_the_arguments_whose_values_they_are_about() -> None:
    table = rows()
    for argument in ("threads=", "duplicates=", "unique=", "limit=", "accumulate=", "mode"):
        assert argument in table["SpecError"][1]
        assert argument not in table["SettingError"][1]
    assert "set_num_threads" in table["SettingError"][1]
    assert "read-only" in table["ShapeError"][1]
