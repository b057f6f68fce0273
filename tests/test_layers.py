"""Who may import whom: the rooms of the package in order, and what stays out of the fast path."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import scattergen

PACKAGE = Path(scattergen.__file__).parent

ORDER = (
    "errors", "record", "digest", "config", "log", "paths", "machine", "dtypes", "ops", "spec", "kernel", "loops",
    "lower", "schedule", "standard", "render", "packaging", "process", "toolchain", "targets", "trials", "libraries",
    "manifest", "locks", "cache_root", "cache_entry", "cache_admin", "cache_facts", "cache", "flights", "request",
    "build", "_abi", "loader", "caller", "bounds", "reference", "threads", "holders", "foreign", "shapes", "arrays",
    "addressing", "prebuilt", "supply", "plan", "packing", "repeats", "checks", "strings", "moving", "fast",
    "dispatch", "direct", "accumulated", "calls", "backward", "differentiated", "explained", "prepared", "bound",
    "progress", "compiled", "api", "tensor", "graph", "selection", "casting", "pieces", "quick", "inplace", "at",
    "commands", "jit", "onnx", "workload", "cache_workload", "bench", "wanted", "aot", "terminal", "completion",
    "cli_commands", "cli",
)  # fmt: skip
"""A module imports only from names before its own. `onnx` is a package and counts as one."""

ONLY_HERE = {
    "jinja2": {"render"},
    "cffi": {"caller"},
    "_cffi_backend": {"caller", "_abi"},
    "subprocess": {"machine", "process"},
    "filelock": {"locks"},
    "onnx": {"onnx"},
}
"""Where these packages may be imported at all, at the top or inside of a function."""

ENTRIES = ("__init__", "__main__")
"""Modules that may import any room."""


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if room(path) not in ("templates", "__pycache__"))


def imports(path: Path) -> list[tuple[str, ...]]:
    """Every import of a module as an absolute dotted name, those for type checkers and in functions too."""
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


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_rooms_before_its_own(path: Path) -> None:
    own = room(path)
    if own in ENTRIES:
        return
    assert own in ORDER, f"{own} has no place in ORDER: give it one"
    rank = ORDER.index(own)
    for name in imports(path):
        if name[0] != "scattergen" or len(name) == 1 or name[1] == own:
            continue
        # `from scattergen import f` is the public front, which stands where `api` does.
        target = name[1] if name[1] in ORDER else "api"
        assert ORDER.index(target) < rank, f"{own} imports {'.'.join(name)}, which stands behind it"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_dependency_is_imported_only_where_it_belongs(path: Path) -> None:
    for name in imports(path):
        allowed = ONLY_HERE.get(name[0])
        assert allowed is None or room(path) in allowed, f"{room(path)} imports {name[0]}"


def test_the_check_sees_an_upward_import() -> None:
    path = PACKAGE / "onnx" / "runner.py"
    assert ("scattergen", "errors", "ShapeError") in imports(path)
    assert ("scattergen", "onnx", "graph", "load") in imports(path)


def test_importing_scattergen_is_light() -> None:
    heavy = ("jinja2", "pycparser", "onnx", "subprocess", "filelock", "ml_dtypes")
    code = "import sys, numpy; before = set(sys.modules); import scattergen; print(*set(sys.modules) - before)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(heavy) & set(answer.stdout.split()) == set()
