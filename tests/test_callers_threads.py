"""Threads and forks of the caller: wrong values or an IndexError, never a write out of bounds, never a hang."""

from __future__ import annotations

import functools
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import layouts
import numpy as np
import pytest
from bits import difference
from processes import python

import scattergen
from scattergen import at
from scattergen.at import at as functions
from scattergen.at import inplace
from scattergen.call import dispatch, fast, plan, prepared
from scattergen.compiler import making
from scattergen.load import caller, loader, prebuilt, supply
from scattergen.operators import reference

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


def at_once(*works: Callable[[], object]) -> None:
    """Run each in a thread of its own, all from one moment on; raise what one of them raises."""
    start, failures = threading.Barrier(len(works)), list[BaseException]()

    def run(work: Callable[[], object]) -> None:
        start.wait()
        try:
            work()
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=run, args=(work,)) for work in works]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for failure in failures:
        raise failure


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let threads take turns as often as can be, where one lock of Python's serves them all."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


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


ENDS = """
import numpy as np, scattergen
from scattergen.call import dispatch

data = np.zeros((400, 4000), np.float32)
scattergen.scatter_elements(data, np.zeros(data.shape, np.int64), data, 1, "add", threads=2)
dispatch.forget()
"""


def test_a_program_ends_while_threads_of_openmp_wait_in_libraries() -> None:
    """By this setting they wait awake. A library that was closed would be gone from under them."""
    assert python(ENDS, OMP_WAIT_POLICY="active") == ""


def exact(got: Array, want: Array) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()


def calls(dtype: str, rows: int) -> list[Callable[[], None]]:
    """Return calls that check themselves, of every way in; those of any `rows` have indices of one shape."""
    chance = np.random.default_rng(rows)
    data, updates = (chance.integers(-9, 9, (many, 3)).astype(dtype) for many in (rows, 8))
    indices = chance.integers(-rows, rows, (8, 3))
    tuples = np.ascontiguousarray(indices[:, :1])
    picked = tuples[:, 0]
    sums = reference.scatter_elements(data, indices, updates, 0, "add")
    rows_summed = reference.scatter_nd(data, tuples, updates, "add")
    rows_most = reference.scatter_nd(data, tuples, updates, "max")
    rows_set = reference.scatter_nd(data, tuples, updates, "none")
    shared = scattergen.prepare(indices, data.shape, 0, "add")
    elements, by_tuples = scattergen.scatter_elements, scattergen.scatter_nd

    def into(function: Callable[..., object], *args: Any, **kwargs: Any) -> Array:
        out = np.empty_like(data)
        function(*args, out=out, **kwargs)
        return out

    def within(function: Callable[..., object], *args: Any, **kwargs: Any) -> Array:
        out = data.copy()
        function(out, *args, **kwargs)
        return out

    def in_place(function: Callable[..., object], *args: Any) -> Array:
        out = data.copy()
        function(out, *args, out=out)
        return out

    def refused() -> Array:
        """Fail, and say where, and leave `out` as it is."""
        out, wrong = data.copy(), indices.copy()
        wrong[5, 2] = rows
        for to in (None, out):
            with pytest.raises(scattergen.errors.IndexOutOfBounds) as raised:
                elements(out, wrong, updates, 0, "add", out=to)
            assert raised.value.positions[0] == (5, 2) and raised.value.values[0] == rows
        with pytest.raises(IndexError):
            at.add(out, wrong[:, 2], updates)
        return out

    made: list[tuple[Callable[[], Array], Array]] = [
        (lambda: elements(data, indices, updates, 0, "add"), sums),
        (lambda: into(elements, data, indices, updates, 0, "add"), sums),
        (lambda: in_place(elements, indices, updates, 0, "add"), sums),
        (lambda: by_tuples(data, tuples, updates, "add"), rows_summed),
        (lambda: by_tuples(data, tuples, updates, "max"), rows_most),
        (lambda: in_place(by_tuples, tuples, updates), rows_set),
        (lambda: shared(data, updates), sums),
        (lambda: scattergen.prepare(indices, data.shape, 0, "add")(data, updates), sums),
        (lambda: scattergen.bind(elements, data, indices, updates, 0, "add")().copy(), sums),
        (lambda: within(at.add, picked, updates), rows_summed),
        (lambda: within(at.maximum, picked, updates), rows_most),
        (lambda: within(at.assign, (picked, slice(None)), updates), rows_set),
        (refused, data),
    ]
    return [functools.partial(lambda call, want: exact(call(), want), call, want) for call, want in made]


def test_first_uses_at_once_build_each_kernel_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use_environment: Callable[..., None], hasty: None
) -> None:
    use_environment(SCATTERGEN_CACHE_DIR=str(tmp_path / "store"))
    monkeypatch.setattr(supply, "_ready", {})
    dispatch.forget()
    rendered: list[str] = []
    render = making._rendered
    monkeypatch.setattr(making, "_rendered", lambda spec, store: (rendered.append(str(spec)), render(spec, store))[1])
    mixed = calls("int16", 6)
    at_once(*(functools.partial(_in_some_order, mixed, seed) for seed in range(8)))
    assert rendered and sorted(rendered) == sorted(set(rendered))
    dispatch.forget()


def _in_some_order(works: list[Callable[[], Any]], seed: int, rounds: int = 1) -> None:
    chance = random.Random(seed)
    for _ in range(rounds):
        for work in chance.sample(works, len(works)):
            work()


def test_calls_of_all_kinds_while_tables_are_cleared_and_threads_are_set(
    monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    for module in (plan, fast, inplace):
        monkeypatch.setattr(module, "MOST_PLANS", 16)
    caller.make()
    mixed = [call for dtype in ("float32", "int64") for rows in (5, 9, 17) for call in calls(dtype, rows)]
    numbers = [2, 1, 0]

    def change() -> None:
        numbers.append(numbers.pop(0))
        scattergen.set_num_threads(numbers[0])
        time.sleep(0.001)  # so that calls meet plans of the time before, too

    try:
        with meanwhile(change):
            at_once(*(functools.partial(_in_some_order, mixed, seed, 4) for seed in range(8)))
    finally:
        scattergen.set_num_threads(0)


def test_a_caller_module_that_comes_later_changes_no_answer(monkeypatch: pytest.MonkeyPatch, hasty: None) -> None:
    """What was kept before it came knows less about the arrays that it is given."""
    if not caller.make():
        pytest.skip("the caller module cannot be built here: no Python headers")
    one, other = calls("float32", 5), calls("int64", 9)
    with monkeypatch.context() as patch:
        patch.setattr(loader, "functions", None)
        patch.setattr(loader, "invoke", loader._invoke_abi)
        patch.setattr(caller, "make", lambda: False)
        dispatch.forget()
        for call in [*one, *other] * 2:
            call()
    at_once(*(functools.partial(_in_some_order, [*one, *other], seed, 3) for seed in range(8)))
    dispatch.forget()


def test_a_plan_kept_before_the_caller_module_came_still_looks_at_its_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    if not caller.make():
        pytest.skip("the caller module cannot be built here: no Python headers")
    indices, updates = np.array([0, 1, 2]), np.ones(3, np.float32)
    table = scattergen.prepare(indices, (5,), 0, "add")
    with monkeypatch.context() as patch:
        patch.setattr(loader, "functions", None)
        table(np.zeros(5, np.float32), updates)
    for dtype in ("float32", "float32", "float64"):
        exact(table(np.zeros(5, dtype), updates.astype(dtype)), np.array([1, 1, 1, 0, 0], dtype))


def test_each_thread_has_scratch_of_its_own(hasty: None) -> None:
    works = []
    for columns in (2048, 512, 4096):
        chance = np.random.default_rng(columns)
        data, updates = (chance.integers(-9, 9, (16, columns)).astype(np.float16) for _ in range(2))
        indices = chance.integers(0, columns, data.shape)
        want = scattergen.scatter_elements(data, indices, updates, 1, "add")
        exact(want, reference.scatter_elements(data, indices, updates, 1, "add"))
        call = functools.partial(scattergen.scatter_elements, data, indices, updates, 1, "add")
        works += [functools.partial(lambda call, want: exact(call(), want), call, want)] * 4
    at_once(*(functools.partial(_in_some_order, works, seed, 3) for seed in range(8)))


def test_plans_may_be_made_while_plans_are_dropped() -> None:
    """The loop over those who keep plans is not that over a set which another thread makes larger."""

    class Keeper:
        def forget(self) -> None:
            self.more = scattergen.prepare(np.array([0, 1]), (3,), 0)

    keepers = [Keeper() for _ in range(3)]
    for keeper in keepers:
        dispatch.depend(keeper)
    dispatch.forget()
    assert all(isinstance(keeper.more, prepared.Prepared) for keeper in keepers)


def _kept_calls() -> int:
    """Return how many calls are kept, in Python or in C; those in C are then forgotten."""
    return len(fast._plans) + (loader.functions.forget() if loader.functions else 0)


@pytest.mark.parametrize("way", ["call", "plan", "numpy"])
def test_a_plan_that_was_begun_with_another_number_of_threads_is_not_kept(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller.make()
    data, indices, updates = np.zeros(7, np.float32), np.array([1, 2, 1]), np.ones(3, np.float32)
    table = scattergen.prepare(indices, data.shape, 0, "add")
    kept: dict[str, tuple[Callable[[], object], Callable[[], int]]] = {
        "call": (lambda: scattergen.scatter_elements(data, indices, updates, 0, "add"), _kept_calls),
        "plan": (lambda: table(data, updates), lambda: len(table._kept)),
        "numpy": (lambda: at.add(data, indices, updates), lambda: len(functions._ADD.plans)),
    }
    call, plans = kept[way]
    make, another_sets = plan.plan, True

    def plan_and_set(*args: Any, **more: Any) -> plan.Plan:
        found = make(*args, **more)
        if another_sets:  # a thread, that is, at this moment
            scattergen.set_num_threads(1)
        return found

    monkeypatch.setattr(plan, "plan", plan_and_set)
    try:
        call()
        assert plans() == 0
        another_sets = False
        call()
        assert plans() == 1
    finally:
        scattergen.set_num_threads(0)


def test_folders_are_asked_newest_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hasty: None) -> None:
    monkeypatch.setattr(prebuilt, "_used", {})
    monkeypatch.setattr(prebuilt, "_opened", functools.cache(lambda path: prebuilt.Folder(path=Path(path))))
    names = [str(tmp_path / name) for name in "abc"]
    uses: list[Callable[[], object]] = [functools.partial(prebuilt.use, name) for name in names]
    at_once(*(functools.partial(_in_some_order, uses, seed, 20) for seed in range(4)))
    for use in uses:
        use()
    assert [str(folder.path) for folder in prebuilt.folders()][:3] == names[::-1]


def test_deep_tuples_fit_on_a_small_stack() -> None:
    printed = python(
        "import threading, numpy as np, scattergen as s\n"
        "data, updates = np.zeros((1,) * 63 + (3,), np.float32), np.ones(1500, np.float32)\n"
        "indices = np.zeros((1500, 128), np.int64)[:, ::2]\n"
        "indices[:, 63] = np.arange(1500) % 3\n"
        "def call():\n"
        "    print(s.explain(s.scatter_nd, data, indices, updates, 'add').kernel)\n"
        "    print(s.scatter_nd(data, indices, updates, 'add').ravel())\n"
        "    try:\n"
        "        s.scatter_nd(data, indices + (np.arange(1500) == 1400)[:, None], updates, 'add', out=data)\n"
        "    except IndexError as error:\n"
        "        print(error.positions[0], data.any())\n"
        "threading.stack_size(256 << 10)\n"
        "thread = threading.Thread(target=call)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    assert printed.splitlines() == ["strided_f32_i64_k64_add", "[500. 500. 500.]", "(1400, 0) False"]
