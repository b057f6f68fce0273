"""Measurements as JSON, with all that they depend on: machine, compiler, versions, threads, revision."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

import scattergen
from scattergen.common import config, machine
from scattergen.compiler import toolchain
from scattergen.errors import ScattergenError

FORMAT = 1
"""Number of the layout; readers refuse any other."""

ROOT = Path(__file__).resolve().parents[2]

Record = dict[str, Any]


class UnreadableRecord(Exception):
    """A file that is not a record of ours."""


def start(kind: str, rounds: int, threads: int) -> Record:
    """Return a record without measurements; `kind` is run or sweep."""
    return {
        "format": FORMAT,
        "kind": kind,
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "revision": revision(),
        "rounds": rounds,
        "threads": threads or config.settings().num_threads or machine.usable_cores(),
        "machine": _machine(),
        "compiler": _compiler(),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scattergen": scattergen.__version__,
        },
        "load_before": _load(),
    }


def write(record: Record, path: Path) -> None:
    """Write a record."""
    record["load_after"] = _load()
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> Record:
    """Return the record in a file; raise `UnreadableRecord` that says why it is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableRecord(f"{path}: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT or found.get("kind") not in ("run", "sweep"):
        raise UnreadableRecord(f"{path} is no record of tools/bench.py of format {FORMAT}")
    return found


def revision() -> str:
    """Return the git revision of the checkout, with a + where files differ from it; empty outside of git."""
    try:
        head = _said("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD")
        return head + ("+" if _said("git", "-C", str(ROOT), "status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def summary(record: Record) -> str:
    """Return in one line what the numbers depend on."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    what = record["machine"]
    caches = "/".join(f"{size >> 10}K" for size in what["caches"].values())
    return (
        f"{what['cpu']}, {what['cores']} cores, caches {caches}, {record['threads']} threads; "
        f"{record['compiler']}; {versions}; revision {record['revision'] or 'unknown'}; {record['rounds']} rounds"
    )


def _machine() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "architecture": platform.machine(),
        "cpu": _cpu(),
        "cores": machine.usable_cores(),
        "caches": machine.cache_sizes()._asdict(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _compiler() -> str:
    try:
        command = toolchain.find(config.settings()).command
        return _said(*command, "--version").splitlines()[0]
    except (ScattergenError, OSError, subprocess.CalledProcessError, IndexError) as error:
        return f"none ({type(error).__name__})"


def _load() -> float:
    return round(os.getloadavg()[0], 2)


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
