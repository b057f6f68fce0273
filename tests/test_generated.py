"""What is generated and checked in: each file a fresh render, and none left over.

``pytest --update-generated`` writes them afresh, as ``python tools/regenerate.py`` does.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def regenerate() -> ModuleType:
    """Return the tool, as a module of its own."""
    spec = importlib.util.spec_from_file_location("regenerate", ROOT / "tools" / "regenerate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated(regenerate: ModuleType, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    if request.config.getoption("--update-generated"):
        assert regenerate.main([]) == 0
    status = regenerate.main(["--check"])
    assert status == 0, f"pytest --update-generated, or python tools/regenerate.py, mends\n{capsys.readouterr().out}"


def test_the_check_goes_both_ways(
    regenerate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(regenerate.GENERATED, tmp_path / "generated")
    monkeypatch.setattr(regenerate, "ROOT", tmp_path)
    monkeypatch.setattr(regenerate, "GENERATED", tmp_path / "generated")
    monkeypatch.setattr(regenerate, "ABI_MODULE", tmp_path / "_abi.py")
    monkeypatch.setattr(regenerate, "abi_module", lambda: "text\n")
    monkeypatch.setattr(regenerate, "SETTINGS", tmp_path / "settings.md")
    page = (ROOT / "docs" / "settings.md").read_text()
    (tmp_path / "settings.md").write_text(page)
    (tmp_path / "_abi.py").write_text("text\n")
    before = {path.name: path.read_text() for path in (tmp_path / "generated").iterdir()}
    assert regenerate.main(["--check"]) == 0

    changed, missing, *_ = sorted(before)
    (tmp_path / "generated" / changed).write_text(before[changed] + "\n")
    (tmp_path / "generated" / missing).unlink()
    (tmp_path / "generated" / "rows_f32_i64_sub.c").write_text("")
    (tmp_path / "_abi.py").write_text("other\n")
    (tmp_path / "settings.md").write_text(page.replace("| native |", "| naive |"))
    capsys.readouterr()
    assert regenerate.main(["--check"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[:-1] == [
        "stale: _abi.py",
        "stale: settings.md",
        f"stale: generated/{changed}",
        f"stale: generated/{missing}",
        "unclaimed: generated/rows_f32_i64_sub.c",
    ]
    assert not (tmp_path / "generated" / missing).exists(), "a check writes nothing"

    assert regenerate.main([]) == 0
    assert {path.name: path.read_text() for path in (tmp_path / "generated").iterdir()} == before
    assert (tmp_path / "_abi.py").read_text() == "text\n"
    assert (tmp_path / "settings.md").read_text() == page
