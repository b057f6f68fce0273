"""What each command prints, for people and (``--json``) for programs; each returns the exit status."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import inspection
from ..cache.upkeep import Entry
from ..common.progress import Done
from ..common.words import number_of
from . import terminal

if TYPE_CHECKING:
    from ..onnx import Report

Command = Callable[[argparse.Namespace], int]


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, default=str))


def show(chosen: argparse.Namespace) -> int:
    """Print the C of a spec."""
    found = inspection.sources(chosen.spec)
    if chosen.json:
        _print_json({"spec": chosen.spec, "kernels": [{"name": name, "source": found[name]} for name in found]})
    elif chosen.list:
        print("\n".join(found))
    else:
        terminal.c_source("\n".join(found.values()))
    return 0


def build(chosen: argparse.Namespace) -> int:
    """Build a folder, and say what is in it."""
    import sys

    from ..aot import aot, wanted

    progress = terminal.Progress()
    began = time.perf_counter()

    def on_done(done: Done) -> None:
        progress(done.number, done.total, f"{done.name} {done.seconds:.2f} s")

    asked = wanted.gather(chosen.items)
    for line in asked.left_out:
        print(f"scattergen: left out: {line}", file=sys.stderr)
    try:
        made = aot.build(
            asked,
            chosen.output,
            target=chosen.target,
            name=chosen.name,
            jobs=chosen.jobs,
            openmp=not chosen.no_openmp,
            python=chosen.python,
            on_done=on_done,
        )
    finally:
        progress.end()
    seconds = time.perf_counter() - began
    sizes = {path: (chosen.output / path).stat().st_size for path in (*made.libraries.values(), made.static)}
    if chosen.json:
        kernels, levels = list(made.kernels), list(made.libraries)
        _print_json(
            {"folder": str(chosen.output), "kernels": kernels, "levels": levels, "bytes": sizes, "seconds": seconds}
        )
        return 0
    print(
        f"{chosen.output}: {number_of(len(made.kernels), 'kernel')} for {made.system} {made.machine} in {seconds:.1f} s"
    )
    threads = "threads by OpenMP" if "-fopenmp" in made.flags else "one thread"
    print(f"  {made.compiler}, {threads}")
    labels = {path: level for level, path in made.libraries.items()}
    print("\n".join(f"  {line}" for line in terminal.aligned(
        [(path, terminal.size(number), labels.get(path, "")) for path, number in sizes.items()]
    )))  # fmt: skip
    return 0


def run(chosen: argparse.Namespace) -> int:
    """Run a model, and print a table of its scatter nodes."""
    from ..onnx import load_arrays, nodes
    from ..onnx import run as run_model
    from ..onnx.report import HEADERS

    found = nodes(chosen.model)
    inputs, expected = load_arrays(chosen.io) if chosen.io else (None, None)
    if not chosen.json:
        rows = [(node.name, str(node.spec or f"({node.reason})")) for node in found]
        lines = terminal.aligned(rows) if rows else ["(no scatter nodes)"]
        print("\n".join((chosen.model.name, *(f"  {line}" for line in lines))))
    progress = terminal.Progress()
    try:
        report = run_model(chosen.model, inputs, expected, rtol=chosen.rtol, atol=chosen.atol, progress=progress)
    finally:
        progress.end()
    if chosen.json:
        _print_json(_report(report))
    else:
        terminal.table(HEADERS, report.rows(), whole=2)
        print("\n".join(f"  {line}" for line in report.summary()), end="\n\n")
    return 0 if report.equal else 1


def _report(report: Report) -> dict[str, Any]:
    """Return a report as values that JSON has; NaN is none of them."""

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "equal": report.equal,
        "inputs": report.inputs_are,
        "expected": report.expected_are,
        "nodes": [
            {
                "name": row.node.name,
                "spec": str(row.node.spec or ""),
                "kernel": row.kernel,
                "source": row.source,
                "ready_seconds": row.ready,
                "seconds": row.seconds,
                "reference_seconds": number(row.reference_seconds),
                "calls": row.calls,
                "equal": row.equal,
                "difference": number(row.difference),
            }
            for row in report.nodes
        ],
        "not_run": [node.name for node in report.not_run],
        "outputs": [
            {"name": row.name, "equal": row.equal, "difference": number(row.difference)} for row in report.outputs
        ],
    }


def env(chosen: argparse.Namespace) -> int:
    """Print what decides how calls are served here."""
    found = inspection.env()
    if chosen.json:
        _print_json(found)
        return 0
    settings = found.pop("settings")
    levels = enumerate(found["cpu"]["caches"], 1)
    found["cpu"]["caches"] = ", ".join(f"L{level} {terminal.size(number)}" for level, number in levels)
    for title, content in found.items():
        if isinstance(content, dict):
            rows = [(f"  {name}", _text(value)) for name, value in content.items() if value not in ("", [])]
            print("\n".join((title, *terminal.aligned(rows))) if rows else f"{title}  -")
        elif isinstance(content, list):
            print("\n".join((title, *(f"  {_text(item)}" for item in content))) if content else f"{title}  -")
        else:
            print(f"{title}  {content}")
    print("settings")
    table = [(row["variable"], _text(row["value"]) or "-", row["from"], row["meaning"]) for row in settings]
    terminal.table(("variable", "value", "from", "meaning"), table)
    return 0


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {part}" for name, part in value.items() if part != "")
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def cache_dir(chosen: argparse.Namespace) -> int:
    """Print where the store is."""
    path = inspection.cache_dir()
    if chosen.json:
        _print_json({"path": str(path)})
    else:
        print(path)
    return 0


def cache_list(chosen: argparse.Namespace) -> int:
    """Print the entries of the store."""
    entries = inspection.cache_list()
    if chosen.json:
        _print_json([_entry(entry) for entry in entries])
        return 0
    now = time.time()
    rows = [
        (
            entry.name if entry.meta.get("optimized", True) else f"{entry.name} (baseline)",
            terminal.size(entry.size),
            f"{terminal.age(now - entry.used)} ago",
            _milliseconds(entry.meta.get("seconds")),
            entry.path.name,
        )
        for entry in entries
    ]
    terminal.table(("kernel", "size", "used", "compiled in", "folder"), rows, whole=1)
    whole = terminal.size(sum(entry.size for entry in entries))
    print(f"{number_of(len(entries), 'kernel')}, {whole}, in {inspection.cache_dir()}")
    return 0


def _milliseconds(seconds: Any) -> str:
    return f"{1e3 * seconds:.0f} ms" if isinstance(seconds, int | float) else "-"


def _entry(entry: Entry) -> dict[str, Any]:
    known = {name: entry.meta.get(name) for name in ("seconds", "created", "sha256", "optimized")}
    return {"kernel": entry.name, "path": str(entry.path), "bytes": entry.size, "used": entry.used, **known}


def cache_verify(chosen: argparse.Namespace) -> int:
    """Remove damaged entries, and say which; 1 where there were any."""
    damaged = inspection.cache_verify()
    _print_removed(chosen, damaged, "damaged")
    return 1 if damaged else 0


def cache_prune(chosen: argparse.Namespace) -> int:
    """Remove old entries, and say which."""
    removed = inspection.cache_prune(older_than=chosen.older_than, max_bytes=chosen.max_size)
    _print_removed(chosen, removed, "removed")
    return 0


def _print_removed(chosen: argparse.Namespace, entries: Sequence[Entry], word: str) -> None:
    if chosen.json:
        _print_json([{"kernel": entry.name, "path": str(entry.path), "bytes": entry.size} for entry in entries])
        return
    print("\n".join((*(f"{word}: {entry.path.name}" for entry in entries), f"{len(entries)} {word}")))


def cache_clear(chosen: argparse.Namespace) -> int:
    """Remove every entry, and say how many there were."""
    number = inspection.cache_clear()
    if chosen.json:
        _print_json({"removed": number})
    else:
        print(f"{number} removed")
    return 0
