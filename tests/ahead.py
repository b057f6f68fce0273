"""What the tests of ahead-of-time folders share: other processes, and a folder that is built once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs" / "examples"
SPEC = "scatter_elements_f32_i64_r2a1_add"

OUTPUT = """30 1 2 33
4 5 56 107
"""
"""What every example prints first."""


def environment(**variables: str) -> dict[str, str]:
    """Return the environment without settings, but for `variables`; scattergen is importable from any folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCATTERGEN_")}
    ours = {
        "SCATTERGEN_FALLBACK": "error",
        "PYTHONPATH": str(ROOT),
        "SCATTERGEN_CACHE_DIR": os.environ["SCATTERGEN_CACHE_DIR"],
    }
    return {**kept, **ours, **variables}


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=environment(**variables))


def python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in another Python."""
    return run(sys.executable, "-W", "always", "-c", code, **variables)


def scattergen(*arguments: str | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return run(sys.executable, "-m", "scattergen", *arguments, cwd=cwd, **variables)


def good(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a program printed that has to have ended well."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
