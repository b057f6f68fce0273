"""Contestants in processes of their own, so that one's waiting threads cannot slow another, taking turns."""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import importlib.util
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from scattergen.bench.bench import repeats, timed

from . import oracle, peers
from .workloads import BY_NAME, Row

PAUSE = 0.01
"""Seconds between turns: threads of the last contestant may still spin for work."""


class Player:
    """A contestant's process. Its name may end in a number of threads, as in ``torch:1``."""

    def __init__(self, name: str, threads: int) -> None:
        self.name, self.version = name, ""
        base, _, own = name.partition(":")
        self.contestant = peers.TABLE[base]
        self.threads = int(own) if own else threads
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, base, self.threads), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, question: str, argument: Any = None) -> tuple[bool, Any]:
        """Return whether the process could do it, and its answer or what kept it from it."""
        try:
            self._pipe.send((question, argument))
            found: tuple[bool, Any] = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(5)
            return False, f"died with exit code {self._process.exitcode}"
        return found

    def end(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._pipe.send(("end", None))
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._pipe.close()


@contextlib.contextmanager
def players(names: Sequence[str], threads: int, say: Callable[[str], None]) -> Iterator[list[Player]]:
    """Start the contestants; those whose library is absent are named and left out."""
    started = [Player(name, threads) for name in names]
    try:
        present = []
        for player in started:
            there, answer = player.ask("version")
            if there:
                player.version = answer
                present.append(player)
            else:
                say(f"{player.name}: left out, {answer}")
        yield present
    finally:
        for player in started:
            player.end()


def measure(row: Row, playing: Sequence[Player], rounds: int) -> dict[str, dict[str, Any]]:
    """Return what each contestant makes of one workload, as `record.py` keeps it."""
    results: dict[str, dict[str, Any]] = {}
    counts: dict[str, int] = {}
    for player in playing:
        able, answer = player.ask("load", row.name)
        if able:
            first, later, verdict = answer
            counts[player.name] = repeats(later)
            results[player.name] = {"verdict": verdict, "first_seconds": first, "seconds": []}
        else:
            results[player.name] = {"verdict": answer, "seconds": []}
    able_players = [player for player in playing if player.name in counts]
    for turn in range(rounds):
        start = turn % max(1, len(able_players))
        for player in able_players[start:] + able_players[:start]:
            time.sleep(PAUSE)
            able, answer = player.ask("time", counts[player.name])
            if able:
                results[player.name]["seconds"].append(answer)
            else:
                results[player.name]["verdict"] = answer
    for found in results.values():
        if found["seconds"]:
            found.update(median=statistics.median(found["seconds"]), least=min(found["seconds"]))
    return results


def _serve(pipe: Connection, name: str, threads: int) -> None:
    """Answer questions until told to end: the whole life of a contestant's process."""
    if threads:
        os.environ.update(OMP_NUM_THREADS=str(threads), SCATTERGEN_NUM_THREADS=str(threads))
    contestant, function = peers.TABLE[name], None
    while True:
        try:
            question, argument = pipe.recv()
        except EOFError:
            return
        if question == "end":
            return
        try:
            if question == "version":
                pipe.send(_version(contestant.package))
            elif question == "load":
                function = None
                function, answer = _load(contestant, BY_NAME[argument])
                pipe.send(answer)
            else:
                assert function is not None
                function()
                pipe.send((True, timed(function, argument)))
        except Exception as error:
            pipe.send((False, f"refuses: {type(error).__name__}: {' '.join(str(error).split())[:100]}"))


def _version(package: str) -> tuple[bool, str]:
    if importlib.util.find_spec(package) is None:
        return False, f"the package {package} is not installed"
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return True, importlib.metadata.version(package)
    return True, str(getattr(importlib.import_module(package), "__version__", ""))


def _load(contestant: peers.Contestant, row: Row) -> tuple[Callable[[], Any] | None, tuple[bool, Any]]:
    gc.enable()
    gc.collect()
    work = row.make()
    start = time.perf_counter()
    function = contestant.call(work)
    if function is None:
        return None, (False, "no such call")
    result = np.asarray(function())
    first = time.perf_counter() - start
    verdict = ""
    if contestant is not peers.LIMIT:
        verdict = oracle.verdict(work, result, by_bits=contestant.package == "scattergen")
    gc.disable()
    function()
    return function, (True, (first, min(timed(function, 1) for _ in range(2)), verdict))
