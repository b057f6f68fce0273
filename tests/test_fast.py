"""Small calls that repeat: who answers them, and what is refused by a plan that was guessed."""

from __future__ import annotations

import gc
import pickle
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import layouts
import numpy as np
import pytest

import scattergen
from scattergen.call import dispatch, fast
from scattergen.call.calls import arguments_of
from scattergen.common.paths import templates
from scattergen.errors import SpecError
from scattergen.load import caller, loader
from scattergen.operators import dtypes
from scattergen.operators.ops import OPS

(_WRITTEN,) = re.findall(r"SLOTS = 1 << (\d+)", (templates() / "python" / "table.c").read_text(encoding="utf-8"))
SLOTS = 1 << int(_WRITTEN)
"""Sites of the caller module's table."""

of_the_table = pytest.mark.skipif(not fast._one_at_a_time(), reason="no GIL guards the table of this Python")

Arrays = tuple[Any, Any, Any]
Lay = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def with_caller() -> Iterator[None]:
    if not caller.make():
        pytest.skip("the caller module cannot be built here: no Python headers")
    dispatch.forget()
    yield
    dispatch.forget()


def arrays(dtype: str = "float32", index: str = "int64") -> Arrays:
    data = np.arange(12).reshape(3, 4).astype(dtype)
    return data, np.array([[2, 0, 1, -1], [0, 0, 2, 2]], index), np.full((2, 4), 7, dtype)


def expected(data: Any, indices: Any, updates: Any) -> Any:
    out = np.array(data)
    for place in np.ndindex(*np.shape(indices)):
        out[indices[place], place[1]] += updates[place]
    return out


def call(data: Any, indices: Any, updates: Any, **more: Any) -> Any:
    return scattergen.scatter_elements(data, indices, updates, 0, "add", **more)


@pytest.fixture
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, all but the fast way raises."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("the slow way was taken")

    return lambda: monkeypatch.setattr(dispatch, "run", refuse)


@pytest.mark.parametrize("more", [{}, {"threads": 1}, {"opset": 16}, {"threads": 2, "unique": False}])
def test_the_second_call_is_fast(more: dict[str, Any], nobody_else: Callable[[], None]) -> None:
    given = arrays()
    call(*given, **more)
    nobody_else()
    for _ in range(3):
        given[2][:] += 1
        assert (call(*given, **more) == expected(*given)).all()
    with pytest.raises(AssertionError, match="slow way"):
        call(*given, **more, duplicates="refuse")


@pytest.mark.parametrize("form", ["in place", "into another"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bool"])
def test_an_output_of_the_callers_is_fast_too(form: str, dtype: str, nobody_else: Callable[[], None]) -> None:
    data, indices, updates = arrays(dtype)
    out = data if form == "in place" else np.empty_like(data)
    assert call(data, indices, updates, out=out) is out
    nobody_else()
    for _ in range(3):
        want = expected(data, indices, updates)
        before = updates.copy(), indices.copy()
        assert call(data, indices, updates, out=out) is out
        assert (out == want).all() and (updates == before[0]).all() and (indices == before[1]).all()


def test_an_output_is_looked_at_before_it_is_written() -> None:
    data, indices, updates = arrays()
    room = np.zeros(100, np.float32)
    out = room[:12].reshape(3, 4)
    for _ in range(2):
        call(data, indices, updates, out=out)
    want = expected(data, indices, updates)
    shared = room[4:16].reshape(3, 4)  # data that lies across the output
    shared[...] = data
    assert (call(shared, indices, updates, out=out) == want).all()
    near = room[12:24].reshape(3, 4)  # and data that ends where the output begins
    near[...] = data
    assert (call(near, indices, updates, out=out) == want).all() and (near == data).all()
    view = out[:]  # the very elements, by another object
    view[...] = data
    assert (call(view, indices, updates, out=out) == want).all()
    later = room[4:12].reshape(2, 4)  # updates inside of the output
    out[...] = data
    later_values = later.copy()
    assert (call(data, indices, later, out=out) == expected(data, indices, later_values)).all()
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        call(data, indices, updates, out=out)
    for wrong, error in ((np.empty((3, 4)), TypeError), (np.empty((4, 3), np.float32), ValueError), ([], TypeError)):
        with pytest.raises(error):
            call(data, indices, updates, out=wrong)
    transposed = np.empty((4, 3), np.float32).T
    assert (call(data, indices, updates, out=transposed) == want).all()


@pytest.mark.parametrize("form", ["in place", "into another"])
def test_a_bad_index_leaves_the_output_alone(form: str) -> None:
    data, indices, updates = arrays()
    out = data if form == "in place" else np.full_like(data, -1)
    call(data, indices, updates, out=out)
    before = out.copy()
    indices[1, 3] = -4
    with pytest.raises(IndexError):
        call(data, indices, updates, out=out)
    assert (out == before).all()


def test_tuples_are_fast_too(nobody_else: Callable[[], None]) -> None:
    data, indices, updates = np.zeros((4, 3)), np.array([[3], [0], [3]]), np.arange(9.0).reshape(3, 3)
    first = scattergen.scatter_nd(data, indices, updates, "add")
    nobody_else()
    assert (scattergen.scatter_nd(data, indices, updates, "add") == first).all()
    assert first[3].tolist() == [6, 8, 10]


@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16"])
def test_a_result_is_served_as_the_data_of_the_next_call(dtype: str, nobody_else: Callable[[], None]) -> None:
    data, indices, updates = arrays(str(dtypes.DTYPES["bf16"].numpy) if dtype == "bfloat16" else dtype)
    result = call(data, indices, updates)
    assert result.dtype is data.dtype
    nobody_else()
    for _ in range(3):
        want = expected(result, indices, updates)
        result = call(result, indices, updates)
        assert (result == want).all()


def test_copies_of_a_dtype_are_served(nobody_else: Callable[[], None]) -> None:
    """NumPy makes one for each array that comes out of a pickle; a result has the one of its data."""
    given = arrays()
    call(*given)
    call(*given, out=np.empty_like(given[0]))
    nobody_else()
    for _ in range(2):
        data, indices, updates = (pickle.loads(pickle.dumps(one)) for one in given)
        assert data.dtype is not given[0].dtype
        assert (call(data, indices, updates) == expected(*given)).all()
        assert (call(data, indices, updates, out=np.empty_like(given[0])) == expected(*given)).all()
    for unit in ("m", "s"):
        data = given[0].astype(np.dtype("float32", metadata={"unit": unit}))
        assert call(data, *given[1:]).dtype.metadata == {"unit": unit}
    assert call(*given).dtype.metadata is None


OUTS = ["fresh", "in place", "another"]
READ = [layouts.plain, layouts.fortran, layouts.strided, layouts.negative, layouts.read_only, layouts.broadcast]
WRITTEN = [
    *((out, lay) for out in OUTS for lay in (layouts.plain, layouts.fortran)),
    *(("in place", lay) for lay in (layouts.strided, layouts.negative)),
]
"""Kinds of output and layouts of data: a kernel does not copy data with gaps, and a fresh result has none."""


def output(form: str, data: Any) -> Any:
    """Return what `out` is in a form of call."""
    return {"fresh": None, "in place": data, "another": np.empty_like(data)}[form]


@pytest.mark.parametrize(("out", "lay_data"), WRITTEN)
@pytest.mark.parametrize("lay_indices", READ)
@pytest.mark.parametrize("lay_updates", READ)
def test_any_strides_are_fast(
    out: str, lay_data: Lay, lay_indices: Lay, lay_updates: Lay, nobody_else: Callable[[], None]
) -> None:
    given = arrays()
    laid = lay_data(given[0]), lay_indices(given[1]), lay_updates(given[2])
    first = call(*laid, out=output(out, laid[0]))
    nobody_else()
    random = np.random.default_rng(1)
    for _ in range(3):
        data, updates = (random.integers(-9, 9, one.shape).astype(np.float32) for one in (given[0], given[2]))
        laid = lay_data(data), lay_indices(random.integers(-3, 3, (2, 4))), lay_updates(updates)
        want = expected(*laid)
        found = call(*laid, out=output(out, laid[0]))
        assert (found == want).all() and found.strides == first.strides and found.flags.owndata == first.flags.owndata


def test_strides_of_an_output_are_looked_at() -> None:
    data, indices, updates = arrays()
    call(data, indices, updates, out=np.empty_like(data))
    for lay in (layouts.fortran, layouts.strided, layouts.negative):
        out = lay(np.full_like(data, -1))
        assert call(data, indices, updates, out=out) is out and (out == expected(data, indices, updates)).all()
        data = lay(data)
        assert (call(data, indices, updates, out=data) == out).all()
        data = arrays()[0]


def test_an_output_between_the_rows_of_another() -> None:
    """Their memory interleaves; a view that begins in front of its address ends where another begins."""
    room = np.zeros((8, 4), np.float32)
    data, indices, updates = arrays()
    for view in (room[0:6:2], room[5::-2], room[2::-1], room[:3]):
        view[...] = data
        for other in (room[1:7:2], room[3:8:2], room[3:6], room[7:4:-1]):
            values = room[other_rows(room, other)].copy()
            want = expected(view.copy(), indices, updates)
            for _ in range(2):
                view[...] = data
                assert (call(view, indices, updates, out=other) == want).all()
            room[other_rows(room, other)] = values


def other_rows(room: Any, view: Any) -> list[int]:
    start = (view.ctypes.data - room.ctypes.data) // room.strides[0]
    return [start + row * view.strides[0] // room.strides[0] for row in range(len(view))]


def odd(data: Any, indices: Any, updates: Any) -> dict[str, Arrays]:
    """Arrays with the shape of `indices`, and in all but one point those of the plan."""
    wide = np.zeros((3, 8), data.dtype)
    wide[:, ::2] = data
    foreign = data.dtype.newbyteorder()
    return {
        "dtype of all": (data.astype("float64"), indices, updates.astype("float64")),
        "dtype of data's bytes": (data.astype(foreign), indices, updates),
        "indices' dtype": (data, indices.astype("int32"), updates),
        "more rows": (np.vstack([data, data]), indices, updates),
        "more columns": (np.hstack([data, data]), indices, updates),
        "data not in C order": (np.asfortranarray(data), indices, updates),
        "data with gaps": (wide[:, ::2], indices, updates),
        "indices reversed": (data, indices[:, ::-1].copy()[:, ::-1], updates),
        "updates of one element": (data, indices, np.broadcast_to(updates[:1, :1], updates.shape)),
        "a memory map": (data.view(np.memmap), indices, updates),
        "a masked array": (np.ma.masked_array(data), indices, updates),
        "a list": (data.tolist(), indices, updates.tolist()),
        "a dtype with metadata": (data.astype(np.dtype(data.dtype, metadata={"unit": "m"})), indices, updates),
        "no alignment": (np.frombuffer(b"." + data.tobytes(), np.uint8)[1:].view(data.dtype), indices, updates),
    }


@pytest.mark.parametrize("name", list(odd(*arrays())))
def test_a_wrong_guess_is_noticed(name: str) -> None:
    given = arrays()
    call(*given)
    data, indices, updates = odd(*given)[name]
    if np.ndim(data) == 1:
        data = data.reshape(given[0].shape)
    if name == "a masked array":
        with pytest.raises(TypeError, match="masked"):
            call(data, indices, updates)
        return
    found = call(data, indices, updates)
    want = expected(np.asarray(data), indices, np.asarray(updates))
    assert type(found) is np.ndarray and found.shape == want.shape and (found == want).all()
    assert (call(*given) == expected(*given)).all()


def test_bad_calls_fail_as_the_first_one_does() -> None:
    data, indices, updates = arrays()
    call(data, indices, updates)
    indices[1, 2] = 3
    with pytest.raises(IndexError, match=r"ScatterElements.*3"):
        call(data, indices, updates)
    with pytest.raises(TypeError, match="updates is float64"):
        call(data, indices, updates.astype("float64"))
    with pytest.raises(ValueError, match="updates has shape"):
        call(data, indices, updates[:1])
    with pytest.raises(ValueError, match="rank"):
        call(data[0], indices, updates)
    for wrong in ([0], {}, None):
        with pytest.raises((TypeError, ValueError)):
            call(wrong, indices, updates)


def test_plans_keep_what_they_compare_with() -> None:
    """A dtype whose address is in a plan may not be freed and its address used again."""
    for unit in range(50):
        dtype = np.dtype("float32", metadata={"unit": unit})
        data, indices, updates = arrays()
        call(data.astype(dtype), indices, updates.astype(dtype))
        del dtype, data, updates
        gc.collect()
        given = arrays()
        assert (call(*given) == expected(*given)).all()


def recalled(data: Any, indices: Any, updates: Any, axis: Any = 0, reduction: Any = "add", opset: Any = 18) -> Any:
    elements = OPS["scatter_elements"]
    return fast.recall(data, indices, updates, None, elements, opset, axis, reduction, None, "allow", False, "")


@of_the_table
def test_the_table_is_bounded() -> None:
    assert loader.functions is not None
    for size in range(1, 2 * SLOTS):
        data, indices = np.zeros(size, np.int8), np.zeros(1, np.int64)
        assert scattergen.scatter_elements(data, indices, data[:1] + 1, 0, "add")[0] == 1
    assert SLOTS // 2 < loader.functions.forget() <= SLOTS
    assert loader.functions.forget() == 0


def test_the_dictionary_is_bounded(monkeypatch: pytest.MonkeyPatch, without_table: None) -> None:
    monkeypatch.setattr(fast, "MOST_PLANS", 8)
    for size in range(1, 40):
        data, indices = np.zeros(size), np.zeros(size, np.int64)
        assert scattergen.scatter_elements(data, indices, data + 1, 0, "add")[0] == size
        assert 0 < len(fast._plans) <= 8


@of_the_table
@pytest.mark.parametrize("axis", [np.int64(0), np.int8(0), int("0")])
@pytest.mark.parametrize("reduction", ["".join("add"), "add"])
def test_attributes_are_equal_by_value(axis: Any, reduction: str) -> None:
    given = arrays()
    call(*given)
    assert (recalled(*given, axis, reduction) == expected(*given)).all()
    call(*given, opset=1000 - 984)
    assert (recalled(*given, axis, reduction, 1000 - 984) == expected(*given)).all()


@pytest.mark.parametrize(
    "wrong", [0.0, False, np.float64(0), np.bool_(False), "0", b"0", None, [], np.array(0), -4, 1 << 70]
)
def test_attributes_of_other_types_are_others(wrong: Any) -> None:
    given = arrays()
    call(*given)
    assert recalled(*given, wrong) is None
    assert recalled(*given, 0, wrong) is None
    assert recalled(*given, 0, "add", wrong) is None


@pytest.mark.parametrize("axis", [0.0, np.float64(0)])
def test_a_float_for_an_axis_is_refused_again(axis: Any) -> None:
    given = arrays()
    call(*given)
    for _ in range(2):
        with pytest.raises((TypeError, ValueError), match="axis"):
            scattergen.scatter_elements(*given, axis, "add")


@of_the_table
def test_a_whole_number_of_numpys_is_kept(nobody_else: Callable[[], None]) -> None:
    given = arrays()
    scattergen.scatter_elements(*given, np.int64(0), "add")
    nobody_else()
    assert (scattergen.scatter_elements(*given, np.int64(0), "add") == expected(*given)).all()
    assert (call(*given) == expected(*given)).all()


@of_the_table
def test_the_table_runs_no_code_of_an_attributes_class() -> None:
    """It might let go of the site that is being compared."""
    asked = []

    class Sly(np.int64):
        def __index__(self) -> int:
            asked.append(fast.forget())
            return 0

    given = arrays()
    call(*given)
    assert recalled(*given, Sly(0)) is None and not asked
    assert (scattergen.scatter_elements(*given, Sly(0), "add") == expected(*given)).all()


@pytest.mark.parametrize("unique", [np.timedelta64(0, "s"), np.timedelta64("NaT", "s"), "no", 2, 0.0, None])
def test_what_is_neither_true_nor_false_is_no_promise(unique: Any) -> None:
    data, updates = np.zeros(3), np.ones(2)
    for known in (False, True, np.False_, 1):
        scattergen.scatter_elements(data, np.array([0, 2]), updates, unique=known)
        with pytest.raises(SpecError, match=r"unique=.*: allowed is True or False"):
            scattergen.scatter_elements(data, np.array([0, 2]), updates, unique=unique)


def test_what_is_no_call_is_refused() -> None:
    """The functions are for this package alone; the wrong arguments raise, and do no harm."""
    functions = loader.functions
    assert functions is not None
    data, indices, updates = arrays()
    assert functions.recall() is None and functions.recall(1, 2, 3, 4) is None
    for function in (functions.remember, functions.serve, functions.bind_call):
        with pytest.raises(TypeError):
            function()
    for wrong in (None, "", 0.5):
        with pytest.raises(TypeError):
            functions.remember(wrong, None, None, data, indices, updates, None)
    with pytest.raises(TypeError, match="arrays"):
        functions.remember(1, None, None, data, [], updates, None)
    with pytest.raises(TypeError):
        functions.bind_call(None, None, None, 1, 1, 1, "", 1, 1)


def test_nothing_is_leaked() -> None:
    """Sites that go take what they kept with them."""
    functions = loader.functions
    assert functions is not None

    class Owner:
        pass

    data, indices, updates = arrays()
    dtype = np.dtype("float32", metadata={"of": "this test"})
    data = data.astype(dtype)
    owner, before = Owner(), sys.getrefcount(dtype)
    gone = weakref.ref(owner)
    for number in range(3 * SLOTS):
        functions.remember(1, owner, None, data, indices, updates, None, number)
    sites = [functions.serve(1, owner, None, data, indices, updates, None) for _ in range(100)]
    sites += [functions.bind_call(data, owner, owner, 1, 1, 0, 0, 0, 0) for _ in range(100)]
    with pytest.raises(TypeError):
        functions.remember("", owner, None, data, indices, updates, None)
    functions.forget()
    del sites, owner
    assert gone() is None
    assert sys.getrefcount(dtype) == before
    assert sys.getrefcount(data) == 2


def test_scratch_is_handed_over(nobody_else: Callable[[], None]) -> None:
    data = np.zeros((64, 2048), np.float16)
    indices = np.zeros((64, 2048), np.int64)
    arguments, threads = arguments_of("test", scattergen.scatter_elements, data, indices, data + 1, 1, "add", threads=1)
    planned = dispatch.planned(arguments, threads)[0].call
    assert planned is not None and planned.scratch_bytes, "choose shapes whose kernel has scratch"
    first = scattergen.scatter_elements(data, indices, data + 1, 1, "add", threads=1)
    nobody_else()
    assert (scattergen.scatter_elements(data, indices, data + 1, 1, "add", threads=1) == first).all()


def test_scratch_lives_as_long_as_somebody_holds_it() -> None:
    """A signal's handler may call with a larger one between the making of arguments and the call."""
    sizes, held = [1 << 10, 1 << 20, 1 << 21, 1 << 22], list[Any]()

    def grow() -> None:
        for size in sizes:
            some = loader.Call.__new__(loader.Call)
            some.scratch_bytes = size
            held.append(some.scratch())
            held[-1][0:size] = bytes([len(held)]) * size
            assert some.scratch() is held[-1]

    new = threading.Thread(target=grow)  # with no scratch yet
    new.start()
    new.join()
    for number, (size, scratch) in enumerate(zip(sizes, held, strict=True), 1):
        assert len(scratch) >= size and loader.number(scratch) % 64 == 0
        assert loader._abi.ffi.buffer(scratch, size)[:] == bytes([number]) * size


def test_a_forgotten_call_may_be_running() -> None:
    """Its site is freed while the kernel is under way, and it ends as if nothing had happened."""
    functions = loader.functions
    assert functions is not None
    data, indices = np.zeros(1 << 20, np.float32), np.zeros(1 << 20, np.int64)
    scattergen.scatter_elements(data, indices, data + 1, 0, "add", threads=1)
    stop = threading.Event()

    def forget() -> None:
        while not stop.wait(0.0005):
            functions.forget()

    other = threading.Thread(target=forget)
    other.start()
    try:
        for _ in range(20):
            assert scattergen.scatter_elements(data, indices, data + 1, 0, "add", threads=1)[0] == 1 << 20
    finally:
        stop.set()
        other.join()


@pytest.fixture
def without_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As where no GIL guards the table: each kept call is looked at by C, and found by a dictionary."""
    monkeypatch.setattr(fast, "_one_at_a_time", lambda: False)
    fast.forget()
    yield
    fast.forget()


def test_a_build_without_a_gil_never_uses_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a build turns a GIL on for moments, while it imports modules."""
    monkeypatch.setattr(sys, "abiflags", "t")
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    dispatch.forget()
    call(*arrays())
    assert fast.recall is fast._recall and fast._plans


def test_without_a_caller_module_a_masked_array_is_refused_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "functions", None)
    dispatch.forget()
    data, indices, updates = arrays()
    call(data, indices, updates)
    for masked in (0, 1, 2):
        given: list[Any] = [data, indices, updates]
        given[masked] = np.ma.masked_array(given[masked], mask=np.eye(*given[masked].shape))
        with pytest.raises(TypeError, match="mask"):
            call(*given)


@pytest.mark.parametrize("out", OUTS)
def test_without_a_gil_the_same_answers(out: str, without_table: None, nobody_else: Callable[[], None]) -> None:
    data, indices, updates = given = arrays()
    into = output(out, data)
    call(*given, out=into)
    assert len(fast._plans) == 1
    nobody_else()
    want = expected(*given)
    assert (call(*given, out=into) == want).all()
    assert fast._recall([], indices, updates, None) is None and fast._recall(data, indices, updates, None, []) is None


def test_without_a_caller_module_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "functions", None)
    monkeypatch.setattr(loader, "invoke", loader._invoke_abi)
    fast.forget()
    given = arrays()
    for _ in range(3):
        assert (call(*given) == expected(*given)).all()
    assert len(fast._plans) == 1
    for name, odd_ones in odd(*given).items():
        if name not in ("a masked array", "no alignment"):
            data, indices, updates = odd_ones
            assert (call(data, indices, updates) == expected(np.asarray(data), indices, np.asarray(updates))).all()


def test_without_a_caller_module_an_output_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, nobody_else: Callable[[], None]
) -> None:
    monkeypatch.setattr(loader, "functions", None)
    monkeypatch.setattr(loader, "invoke", loader._invoke_abi)
    fast.forget()
    data, indices, updates = given = arrays()
    room = np.zeros(24, np.float32)
    out, want = room[:12].reshape(3, 4), expected(*given)
    assert call(*given, out=out) is out and len(fast._plans) == 1
    odd_ones: dict[str, Any] = {
        "of another type": np.empty((3, 4), np.float64),
        "of another shape": np.empty((4, 3), np.float32),
        "read-only": layouts.read_only(np.empty_like(data)),
        "a list": [],
    }
    for what, wrong in odd_ones.items():
        with pytest.raises((TypeError, ValueError)):
            call(*given, out=wrong)
        assert not isinstance(wrong, np.ndarray) or fast._recall(*given, wrong) is None, what
    for gaps in (np.empty((3, 8), np.float32)[:, ::2], np.empty((4, 3), np.float32).T):
        assert (call(*given, out=gaps) == want).all()
    across = room[4:16].reshape(3, 4)
    across[...] = data
    assert (call(across, indices, updates, out=out) == want).all()
    before, bad = out.copy(), indices.copy()
    bad[1, 3] = 9
    with pytest.raises(IndexError):
        call(data, bad, updates, out=out)
    assert (out == before).all()
    shared = out[:2]  # updates that lie in the output
    shared[...] = updates
    assert (call(data, indices, shared, out=out) == want).all()
    nobody_else()
    out[...] = 0
    assert call(*given, out=out) is out and (out == want).all()


def test_without_a_caller_module_what_is_refused_stays_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dictionary compares dtypes and shapes, which a subclass has as well, and hashes attributes."""
    monkeypatch.setattr(loader, "functions", None)
    monkeypatch.setattr(loader, "invoke", loader._invoke_abi)
    fast.forget()

    class Zero:
        def __index__(self) -> int:
            return 0

        def __hash__(self) -> int:
            raise RuntimeError("no hash")

    data, indices, updates = given = arrays()
    for _ in range(2):
        call(*given)
        call(*given, out=data)
        masked = np.ma.masked_array(data)
        for wrong in ((masked, indices, updates), (data, indices, np.ma.masked_array(updates))):
            with pytest.raises(TypeError, match="masked"):
                call(*wrong)
        with pytest.raises(TypeError, match="masked"):
            call(masked, indices, updates, out=masked)
        assert (scattergen.scatter_elements(*given, Zero(), "add") == expected(*given)).all()
        assert call(data.astype(np.dtype("float32", metadata={"unit": "m"})), indices, updates).dtype.metadata


def test_a_caller_module_that_comes_late_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has it made, all that was kept without it goes."""
    monkeypatch.setattr(caller, "adopt", lambda: True)
    monkeypatch.setattr(loader, "functions", None)
    monkeypatch.setattr(loader, "invoke", loader._invoke_abi)
    dispatch.forget()
    data, indices, updates = given = arrays()
    prepared = scattergen.prepare(indices, data.shape, 0, "add")
    for _ in range(2):
        call(*given)
        prepared(data, updates)
    assert len(fast._plans) == len(prepared._kept) == 1
    late = caller.make()
    assert late and not fast._plans and not prepared._kept
    assert loader.functions is not None
    call(*given)
    assert (recalled(*given) == expected(*given)).all()


def test_a_plan_that_does_not_look_is_no_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was kept without a caller module trusts its key; another thread may bring the module at any time."""
    data, indices, updates = arrays()
    prepared = scattergen.prepare(indices, data.shape, 0, "add")
    with monkeypatch.context() as without:
        without.setattr(caller, "adopt", lambda: True)
        without.setattr(loader, "functions", None)
        without.setattr(loader, "invoke", loader._invoke_abi)
        prepared(data, updates)
    for _ in range(2):
        prepared(data, updates)
    with pytest.raises(TypeError, match="float64"):
        prepared(data, updates.astype(np.float64))
    with pytest.raises(ValueError, match="shape"):
        prepared(data[:1], updates)
