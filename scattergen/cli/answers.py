"""What each command prints, for people and (``--json``) for programs; each returns the exit status."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

from .. import inspection
from ..cache.upkeep import Entry
from ..common.progress import Done
from ..common.words import number_of
from ..lower.kernel import KernelSpec
from . import terminal

Command = Callable[[argparse.Namespace], int]


def show(chosen: argparse.Namespace) -> int:
    """Print the C of a kernel, or list those of an operator's spec."""
    found = inspection.sources(chosen.spec)
    if chosen.json:
        terminal.print_json({"spec": chosen.spec, "kernels": [{"name": name, "source": found[name]} for name in found]})
    elif chosen.list:
        print("\n".join(found))
    elif chosen.all or len(found) == 1:
        terminal.c_source("\n".join(found.values()))
    else:
        rows = [(name, str(text.count("\n")), KernelSpec.parse(name).form.summary) for name, text in found.items()]
        terminal.table(("kernel", "lines of C", "what it does"), rows)
        print(f"`scattergen show {next(iter(found))}` prints the C of one, and --all that of all.")
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
        terminal.print_json(
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


def env(chosen: argparse.Namespace) -> int:
    """Print what decides how calls are served here."""
    found = inspection.env()
    if chosen.json:
        terminal.print_json(found)
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
        terminal.print_json({"path": str(path)})
    else:
        print(path)
    return 0


def cache_list(chosen: argparse.Namespace) -> int:
    """Print the entries of the store."""
    entries = inspection.cache_list()
    if chosen.json:
        terminal.print_json([_entry(entry) for entry in entries])
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
        terminal.print_json([{"kernel": entry.name, "path": str(entry.path), "bytes": entry.size} for entry in entries])
        return
    print("\n".join((*(f"{word}: {entry.path.name}" for entry in entries), f"{len(entries)} {word}")))


def cache_clear(chosen: argparse.Namespace) -> int:
    """Remove every entry, and say how many there were."""
    number = inspection.cache_clear()
    if chosen.json:
        terminal.print_json({"removed": number})
    else:
        print(f"{number} removed")
    return 0
