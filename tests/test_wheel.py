"""The package as others get it: built, installed elsewhere, called from another folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CODE = """
import numpy as np, pathlib, scattergen
print(pathlib.Path(scattergen.__file__).parent)
arrays = np.zeros(4, np.float32), np.array([1, 1, 3]), np.ones(3, np.float32)
answer = scattergen.scatter_elements(*arrays, reduction="add")
assert answer.tolist() == [0, 2, 0, 1], answer
print(scattergen.explain(scattergen.scatter_elements, *arrays, reduction="add").source)
"""


def build(source: Path, target: Path, kind: str) -> Path:
    """Build a wheel or an sdist from `source` with what is installed, without an index."""
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        f"--{kind}",
        "--outdir",
        str(target),
        str(source),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=target)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    (built,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


def test_the_wheel_has_the_templates_and_the_types_marker(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    templates = {
        f"scattergen/templates/{path.relative_to(ROOT / 'templates').as_posix()}"
        for path in (ROOT / "templates").rglob("*")
        if path.is_file()
    }
    assert templates
    assert templates <= names
    assert "scattergen/py.typed" in names
    assert not [name for name in names if name.split("/")[0] in ("tests", "tools", "generated", "docs")]


def test_a_wheel_made_from_the_sdist_has_the_same_files(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        # Python 3.10.12 and 3.11.4 brought filters; from 3.12 on it warns where none is chosen.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    target = tmp_path / "again"
    target.mkdir()
    again = build(source, target, "wheel")
    assert set(zipfile.ZipFile(again).namelist()) == set(zipfile.ZipFile(wheel).namelist())


def test_an_installed_wheel_answers_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # numpy and cffi come from the environment of the tests; scattergen must not.
    dependencies = tmp_path / "dependencies"
    dependencies.mkdir()
    outside = [Path(path) for path in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}]
    for path in (found for folder in outside for found in folder.iterdir()):
        if "scattergen" not in path.name and path.suffix != ".pth" and not (dependencies / path.name).exists():
            (dependencies / path.name).symlink_to(path)
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    elsewhere = tmp_path / "another folder"
    elsewhere.mkdir()
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environ |= {"SCATTERGEN_CACHE_DIR": str(tmp_path / "cache"), "SCATTERGEN_FALLBACK": "error"}
    answer = subprocess.run(
        [home / "bin" / "python", "-c", CODE], cwd=elsewhere, env=environ, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    package, source = answer.stdout.splitlines()
    assert Path(package) == site / "scattergen"
    assert source == "built"
