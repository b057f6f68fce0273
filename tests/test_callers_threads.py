"""Threads and forks of the caller: wrong values or an IndexError, never a write out of bounds, never a hang."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import layouts
import numpy as np
import pytest
from bits import difference

import scattergen
from scattergen import reference

Array: TypeAlias = "np.ndarray[Any, Any]"

GUARD, ROUNDS = 4096, 25
CHANCE = np.random.default_rng(2)


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Run `work` again and again in another thread."""
    done = threading.Event()

    def repeat() -> None:
        while not done.is_set():
            work()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def guarded(shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return a zone with guards around an array of float32, and the array."""
    size = int(np.prod(shape))
    zone = np.full(size + 2 * GUARD, 77, np.float32)
    return zone, zone[GUARD : GUARD + size].reshape(shape)


SHAPES: dict[str, tuple[tuple[int, ...], int, Callable[[Array], Array]]] = {
    "elements": ((30_000,), 0, layouts.plain),
    "rows": ((300, 100), 1, layouts.plain),
    "lanes": ((300, 100), 0, layouts.plain),
    "strided": ((300, 100), 0, layouts.strided),
}


@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize("name", SHAPES)
def test_indices_written_meanwhile_lead_nowhere_else(name: str, reduction: str) -> None:
    shape, axis, lay = SHAPES[name]
    zone, out = guarded(shape)
    indices = lay(CHANCE.integers(0, shape[axis], shape))
    updates = np.ones(shape, np.float32)
    good = indices.copy()
    place = tuple(extent // 2 for extent in shape)
    beyond = [2**40, -(2**40), shape[axis], -shape[axis] - 1, 2**63 - 1, -(2**63)]

    def spoil() -> None:
        for value in beyond:
            indices[place] = value
            indices[place] = good[place]

    bound = scattergen.bind(scattergen.scatter_elements, out, indices, updates, axis, reduction, out=out)
    failed = 0
    with meanwhile(spoil):
        for _ in range(ROUNDS):
            out[...] = 0
            for call in (
                bound,
                lambda: scattergen.scatter_elements(out, indices, updates, axis, reduction, out=out),
                lambda: scattergen.scatter_elements(out, indices, updates, axis, reduction),
                lambda: scattergen.scatter_elements(out, indices, updates, axis, duplicates="refuse"),
                lambda: scattergen.prepare(indices, shape, axis, reduction)(out, updates),
            ):
                try:
                    call()
                except (IndexError, scattergen.errors.DuplicateTargets):
                    failed += 1
            assert (zone[:GUARD] == 77).all() and (zone[-GUARD:] == 77).all()
    assert failed >= ROUNDS  # the duplicates at least
    indices[...] = good
    want = reference.scatter_elements(np.zeros(shape, np.float32), good, updates, axis, reduction)
    out[...] = 0
    assert not difference(bound().copy(), want)


def test_data_and_updates_written_meanwhile_give_old_or_new_values() -> None:
    shape = (300, 100)
    data, updates = np.zeros(shape, np.float32), np.ones(shape, np.float32)
    indices = CHANCE.integers(0, 300, shape)
    zone, out = guarded(shape)

    def change() -> None:
        data[...] = 4 - data
        updates[...] = 3 - updates

    with meanwhile(change):
        for _ in range(ROUNDS):
            scattergen.scatter_elements(data, indices, updates, out=out)
            assert np.isin(out, [0, 4, 1, 2]).all()
            assert np.isin(scattergen.scatter_elements(data, indices, updates), [0, 4, 1, 2]).all()
    assert (zone[:GUARD] == 77).all() and (zone[-GUARD:] == 77).all()


def test_many_threads_scatter_into_arrays_of_their_own() -> None:
    problems: list[str] = []

    def work(seed: int) -> None:
        chance = np.random.default_rng(seed)
        for shape, axis in (((500,), 0), ((40, 50), 0), ((40, 50), 1), ((4, 5, 6), 1)) * 10:
            data, updates = (chance.integers(-9, 9, shape).astype(np.float32) for _ in range(2))
            indices = chance.integers(-shape[axis], shape[axis], shape)
            want = reference.scatter_elements(data, indices, updates, axis, "add")
            problems.append(difference(scattergen.scatter_elements(data, indices, updates, axis, "add"), want))
            scattergen.scatter_elements(data, indices, updates, axis, "add", out=data)
            problems.append(difference(data, want))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(problems) == 8 * 80 and not any(problems)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_runs_what_its_parent_ran() -> None:
    data, updates = np.zeros((512, 2048), np.float32), np.ones((512, 2048), np.float32)
    indices = CHANCE.integers(0, 2048, data.shape)
    want = reference.scatter_elements(data, indices, updates, 1, "add")
    plan = scattergen.prepare(indices, data.shape, 1, "add", threads=2)
    bound = scattergen.bind(scattergen.scatter_elements, data, indices, updates, 1, "add", threads=2)
    kernel = scattergen.compile("scatter_elements_f32_i64_r2a1_add")
    calls: tuple[Callable[[], Array], ...] = (
        lambda: scattergen.scatter_elements(data, indices, updates, 1, "add"),
        lambda: scattergen.scatter_elements(data, indices, updates, 1, "add", threads=2),
        lambda: kernel(data, indices, updates, threads=2),
        lambda: plan(data, updates),
        bound,
    )
    scattergen.set_num_threads(2)
    try:
        assert scattergen.explain(scattergen.scatter_elements, data, indices, updates, 1, "add").threads == 2
        for call in calls * 2:
            assert not difference(call().copy(), want)
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends a child that hangs
            os._exit(0 if all(call().tobytes() == want.tobytes() for call in calls * 2) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for call in calls:
            assert not difference(call().copy(), want)
    finally:
        scattergen.set_num_threads(0)
