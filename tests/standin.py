"""A generator of a few lines in the real one's place, so that the tests of the store need no templates.

Run as a program it is another process that asks for kernels::

    python standin.py FOLDER COMMAND [NAME ...]

FOLDER gets the templates; the settings come from the environment. It prints one JSON object.
"""

from __future__ import annotations

import ctypes
import json
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scattergen.common import paths
from scattergen.compiler import build, making, request

TEXT = """#include "scattergen.h"
#include <stddef.h>
__attribute__((visibility("default"))) int answer(void);
int answer(void)
{
    int sum = 0;
    /* One thread: a test forks after this has run, and a team of several would hang in the child. */
#ifdef _OPENMP
#pragma omp parallel for num_threads(1) reduction(+ : sum)
#endif
    for (int i = 0; i < 4; i++)
        sum += i == 3 ? ANSWER : 0;
    return sum;
}
"""


class Spec:
    """A kernel whose text is its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


def number(name: str) -> int:
    return zlib.crc32(name.encode()) >> 1


def render(spec: Spec) -> str:
    return TEXT.replace("ANSWER", str(number(str(spec))))


def install(folder: Path, put: Callable[[object, str, Any], None] = setattr) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for header in paths.HEADERS:
        if not (folder / header).exists():
            (folder / header).write_text("#include <stdint.h>\n")
    put(making, "template_folder", lambda: str(folder))
    put(request, "template_folder", lambda: str(folder))
    put(request, "_GENERATOR", ())
    put(making, "_rendered", lambda spec, _: render(spec))


def answer(library: Path) -> int:
    return ctypes.CDLL(str(library)).answer()


def is_right(name: str, library: Path) -> bool:
    return answer(library) == number(name)


def _ask(name: str) -> dict[str, object]:
    built = build.library(Spec(name))
    return {
        "name": name,
        "right": is_right(name, built.library),
        "origin": built.origin,
        "library": str(built.library),
        "seconds": built.seconds,
    }


def _build(names: list[str]) -> object:
    return [_ask(name) for name in names]


def _threads(names: list[str]) -> object:
    """Ask from eight threads at once, in a process that has imported as little as can be."""
    results: list[dict[str, object]] = []
    start = threading.Barrier(8)

    def work(turn: int) -> None:
        start.wait()
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            results.append(_ask(name))

    failures: list[object] = []
    threading.excepthook = failures.append
    workers = [threading.Thread(target=work, args=(turn,)) for turn in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures, failures
    return results


def _hit(names: list[str]) -> object:
    """Find kernels that are there, and tell what that took."""
    events: set[str] = set()
    modules = {
        "jinja2",
        "subprocess",
        "tempfile",
        "shutil",
        "json",
        "logging",
        "fcntl",
        "threading",
    }
    before = set(sys.modules)
    watched = (
        "subprocess.Popen",
        "os.listdir",
        "os.scandir",
        "fcntl.flock",
        "os.mkdir",
        "os.rename",
        "os.utime",
    )
    sys.addaudithook(lambda event, _: events.add(event) if event in watched else None)
    origins = [build.library(Spec(name)).origin for name in names]
    seen = sorted(events)
    return {"origins": origins, "events": seen, "modules": sorted(modules & set(sys.modules) - before)}


if __name__ == "__main__":
    install(Path(sys.argv[1]))
    commands = {"build": _build, "threads": _threads, "hit": _hit}
    print(json.dumps(commands[sys.argv[2]](sys.argv[3:])))
