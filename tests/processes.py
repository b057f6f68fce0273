"""Python code that is run in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def python(code: str, *words: str, status: int = 0, **environment: str) -> str:
    """Run code in another process, warnings being errors there; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    return done.stdout
