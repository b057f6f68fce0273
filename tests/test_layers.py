"""Who may import whom: the rooms of the package in order, and what stays out of the fast path."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import scattergen

PACKAGE = Path(scattergen.__file__).parent

HOUSE = {
    "errors": "",
    "common": "record words digest config log paths progress machine process",
    "cache": "locks location entries upkeep learnt cache",
    "operators": "dtypes ops near elsewhere meant spec bounds shapes reference",
    "lower": "layout forms kernel loops lower values work schedule standard",
    "render": "",
    "compiler": "flags toolchain platforms flag_sets single_flight request making build",
    "load": "_abi loader caller manifest prebuilt supply",
    "arguments": "holders advice memory kept foreign arrays targets addressing packing repeats checks strings moving",
    "call": "threads plan fast dispatch direct accumulated naming calls explained prepared bound compiled",
    "api": "",
    "tensor": "",
    "jit": "",
    "grad": "backward differentiated",
    "graph": "targets steps extremes compose reduce",
    "at": "selection casting pieces quick inplace at",
    "onnx": "graph nodes inputs repairs operators compare report watch runner",
    "aot": "packaging libraries wanted aot",
    "bench": "workload cache_workload table bench",
    "inspection": "",
    "cli": "terminal completion running answers cli",
}
"""The rooms in order, and in each its modules: a module imports only from what stands before it."""

ORDER = [name for room, held in HOUSE.items() for name in ([f"{room}.{one}" for one in held.split()] or [room])]

ONLY_HERE = {
    "jinja2": ("render",),
    "cffi": ("load.caller",),
    "_cffi_backend": ("load.caller", "load._abi"),
    "subprocess": ("common.machine", "common.process"),
    "onnx": ("onnx",),
}
"""Where these packages may be imported at all, at the top or inside of a function."""

FRONTS = ("__init__", "__main__")
"""Of the package: they may import any room. Of a room: anything in it."""


def name_of(path: Path) -> str:
    """Return the module at `path` as ORDER has it; the front of a room is the room."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] in FRONTS else parts)


def guide() -> list[tuple[list[str], str]]:
    """Return the rooms of each row of CONTRIBUTING.md's table, as HOUSE has them, and the module to start at."""
    text = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| room | start at |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [[re.findall(r"`([\w./]+)`", cell) for cell in row.split("|")[1:3]] for row in table]
    return [([room.removesuffix("/").removesuffix(".py") for room in rooms], "".join(start)) for rooms, start in rows]


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "templates")


def imports(path: Path) -> list[tuple[str, ...]]:
    """Return every import of a module as an absolute dotted name, those for type checkers and in functions too."""
    here = ("scattergen", *path.relative_to(PACKAGE).with_suffix("").parts)
    found: list[tuple[str, ...]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: -node.level] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            found += [(*module, alias.name) for alias in node.names]
    return found


def rank(name: str) -> int:
    """Return where a module stands in the order; a room stands where its last module does."""
    found = [place for place, known in enumerate(ORDER) if known == name or known.startswith(f"{name}.")]
    assert found, f"{name} has no place in HOUSE: give it one"
    return found[-1]


def target(imported: tuple[str, ...]) -> str:
    """Return the module that an import names; a name out of the front, as in `from scattergen import f`, is api's."""
    for length in (2, 1):
        name = ".".join(imported[1 : 1 + length])
        if name in ORDER or (name in HOUSE and len(imported) > length):
            return name
    return "api"


@pytest.mark.parametrize("path", [path for path in sources() if name_of(path) not in FRONTS], ids=name_of)
def test_a_module_imports_only_from_what_stands_before_it(path: Path) -> None:
    own = name_of(path)
    for imported in imports(path):
        if imported[0] == "scattergen" and len(imported) > 1:
            other = target(imported)
            front_of_its_room = own in HOUSE and other.startswith(f"{own}.")
            assert front_of_its_room or rank(other) < rank(own), f"{own} imports {other}, which stands behind it"


def test_every_module_of_the_house_is_there() -> None:
    there = {name_of(path) for path in sources()} - {*FRONTS}
    assert there == {*ORDER, *(room for room, modules in HOUSE.items() if modules)}


def test_the_guide_has_the_rooms_in_order_and_where_to_start() -> None:
    assert [room for rooms, _ in guide() for room in rooms] == [*HOUSE]
    for rooms, start in guide():
        assert not start or any((PACKAGE / folder / start).is_file() for folder in ("", *rooms)), start


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_a_dependency_is_imported_only_where_it_belongs(path: Path) -> None:
    for imported in imports(path):
        allowed = ONLY_HERE.get(imported[0])
        assert allowed is None or name_of(path).startswith(allowed), f"{name_of(path)} imports {imported[0]}"


def test_the_check_sees_an_upward_import() -> None:
    path = PACKAGE / "onnx" / "runner.py"
    assert ("scattergen", "errors", "ShapeError") in imports(path)
    assert ("scattergen", "onnx", "graph", "load") in imports(path)
    assert rank("onnx.graph") < rank("onnx.runner") == rank("onnx")
    assert target(("scattergen", "operators", "ops", "OPS")) == "operators.ops"
    assert target(("scattergen", "__version__")) == "api"


def test_importing_scattergen_is_light() -> None:
    heavy = ("jinja2", "pycparser", "onnx", "subprocess", "ml_dtypes")
    code = "import sys, numpy; before = set(sys.modules); import scattergen; print(*set(sys.modules) - before)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(heavy) & set(answer.stdout.split()) == set()


def test_a_system_that_is_not_posix_is_told_so() -> None:
    code = "import os, numpy; os.name = 'nt'; import scattergen"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: scattergen runs on Linux" in answer.stderr
