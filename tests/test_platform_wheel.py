"""The wheel that carries kernels: where it is installed, common calls run compiled, without compiler or store."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytest.importorskip("build", reason="needs the build package")
pytest.importorskip("hatchling", reason="needs hatchling, as nothing is fetched for a test")

CODE = """
import numpy as np, pathlib, scattergen
from scattergen.operators import reference
from scattergen.lower import standard
from scattergen.operators.spec import OpSpec

print(pathlib.Path(scattergen.__file__).parent)
random = np.random.default_rng(7)
answered = 0
for text in standard.SPECS:
    spec = OpSpec.parse(text)
    dtype = spec.dtype.numpy
    for rank in (1, 2, 3):
        depth = spec.place
        if spec.op.addressing == "window":
            cache, starts = random.integers(0, 3, (2, 3, 9, 5)).astype(dtype), np.array([4, 1])
            given = cache, cache[:, :, :rank].copy(), starts
            answer = scattergen.tensor_scatter(*given, mode=spec.mode)
            wanted = reference.tensor_scatter(cache, starts, given[1], 2, spec.mode)
            source = scattergen.explain(scattergen.tensor_scatter, *given, mode=spec.mode).source
            assert np.array_equal(answer, wanted) and source == "ahead-of-time", (text, rank, source)
            continue
        if spec.op.addressing == "axis":
            shape, indices = (5, 6, 7)[:rank], random.integers(-2, 2, (5, 6, 7)[:rank])
            place, updates, function = (rank - 1,), indices.shape, scattergen.scatter_elements
        elif depth <= rank:
            shape, indices = (5, 6, 7)[:rank], random.integers(-2, 2, (4, depth))
            place, updates, function = (), (4, *shape[depth:]), scattergen.scatter_nd
        else:
            continue
        arrays = random.integers(0, 3, shape).astype(dtype), indices, random.integers(0, 3, updates).astype(dtype)
        answer = function(*arrays, *place, reduction=spec.reduction)
        wanted = getattr(reference, spec.op.prefix)(*arrays, *place, spec.reduction)
        assert answer.dtype == wanted.dtype and np.array_equal(answer, wanted), (text, rank)
        source = scattergen.explain(function, *arrays, *place, reduction=spec.reduction).source
        assert source == "ahead-of-time", (text, rank, source)
        answered += 1
print(answered)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, str(ROOT / "tools" / "build_wheel.py"), "-o", str(folder)]
    if os.uname().machine == "x86_64":
        command += ["--target", "x86-64-v2"]  # one level of the two: half the time
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_tag_is_that_of_any_python_3_on_this_platform(wheel: Path) -> None:
    python, abi, platform = wheel.stem.split("-")[-3:]
    assert (python, abi) == ("py3", "none")
    assert platform.endswith(sysconfig.get_platform().split("-")[-1].replace(".", "_"))
    (name,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/WHEEL"))
    text = zipfile.ZipFile(wheel).read(name).decode()
    assert f"Tag: py3-none-{platform.split('.')[0]}" in text
    assert "Root-Is-Purelib: false" in text
    assert "Tag: py3-none-any" not in text


def test_common_calls_run_compiled_where_there_is_no_compiler(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    # pip checks the tag and the record; it is the test environment's, and fetches nothing.
    python = str(home / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", str(wheel)]
    installed = subprocess.run(pip, capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    # numpy and cffi come from the environment of the tests; scattergen must not.
    dependencies = tmp_path / "dependencies"
    dependencies.mkdir()
    outside = [Path(path) for path in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}]
    for path in (found for folder in outside for found in folder.iterdir()):
        if "scattergen" not in path.name and path.suffix != ".pth" and not (dependencies / path.name).exists():
            (dependencies / path.name).symlink_to(path)
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    kept = ("HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR")
    environ = {name: os.environ[name] for name in kept if name in os.environ}
    environ |= {
        "PATH": "",
        "SCATTERGEN_CACHE_DIR": str(tmp_path / "cache"),
        "SCATTERGEN_COMPILE": "never",
        "SCATTERGEN_FALLBACK": "error",
    }
    done = subprocess.run(
        [python, "-W", "error", "-c", CODE], cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    package, answered = done.stdout.splitlines()
    assert Path(package) == site / "scattergen"
    assert int(answered) > 100
    assert not list((tmp_path / "cache").glob("v1/*"))
    command = subprocess.run([home / "bin" / "scattergen", "env"], env=environ, capture_output=True, text=True)
    assert str(site / "scattergen" / "kernels") in command.stdout, command.stderr
