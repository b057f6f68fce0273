"""The memory of large outputs: whose it is, what is kept of it, and that nobody meets anybody else's."""

from __future__ import annotations

import ctypes
import re
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy._core._multiarray_umath import _ARRAY_API
from numpy._core.multiarray import get_handler_name
from processes import python

import scattergen
from scattergen.call import dispatch
from scattergen.common import config
from scattergen.common.paths import templates
from scattergen.errors import SettingError
from scattergen.load import caller, loader

MB = 1 << 20
KEPT = config.Settings().keep_memory
INDICES, UPDATES = np.array([[3, 0], [-1, 3]]), np.array([[7, 8], [9, 10]], np.float32)
OURS, NUMPYS = "scattergen", "default_allocator"


def constant(name: str) -> int:
    """Return a size that the C of the memory policy names."""
    (factor, shift) = re.findall(
        rf"\b{name} = (\d+) << (\d+)", (templates() / "python" / "memory.c").read_text(encoding="utf-8")
    )[0]
    return int(factor) << int(shift)


KEPT_FROM, LARGE = constant("KEPT_FROM"), constant("LARGE")


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    if not caller.make():
        pytest.skip("the caller module cannot be built here: no Python headers")
    dispatch.forget()
    keep(0)
    keep(KEPT)
    yield
    keep(KEPT)


def keep(size: int) -> None:
    assert loader.functions is not None
    loader.functions.keep_memory(size)


def table(size: int, fill: float = 1.0) -> Any:
    """Return data of so many bytes, in two columns."""
    return np.full((size // 8, 2), fill, np.float32)


def scatter(data: Any, **more: Any) -> Any:
    return scattergen.scatter_elements(data, INDICES, UPDATES, **more)


def right(out: Any, fill: float = 1.0) -> bool:
    rest = np.delete(out, (0, 3, -1), axis=0)
    ends = out[0].tolist() == [fill, 8] and out[3].tolist() == [7, 10] and out[-1].tolist() == [9, fill]
    return ends and bool((rest == fill).all())


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def twice(data: Any) -> Iterator[Any]:
    """Yield the results of two calls: the first is planned, the second answered by the table."""
    yield scatter(data)
    yield scatter(data)


@pytest.mark.parametrize("size", [KEPT_FROM - 8, KEPT_FROM, LARGE - 8, LARGE])
def test_large_outputs_have_memory_of_ours_and_small_ones_numpys(size: int) -> None:
    data = table(size)
    for out in twice(data):
        assert get_handler_name(out) == (OURS if size >= KEPT_FROM else NUMPYS)
        assert out.flags.owndata and out.flags.carray and type(out) is np.ndarray
        assert right(out)


@pytest.mark.parametrize("size", [6 * MB, MB // 4])
def test_memory_that_no_array_holds_serves_the_next(size: int) -> None:
    data, seen = table(size), set[int]()
    for fill in range(6):
        data[:] = fill
        out = scatter(data)
        seen.add(address(out))
        assert right(out, fill)
        del out
    assert len(seen) == 1
    held = [scatter(data) for _ in range(3)]
    assert len({address(out) for out in held}) == 3, "what an array holds was given to another"
    assert all(right(out, 5) for out in held)


def test_many_medium_blocks_push_out_no_large_one() -> None:
    out = scatter(table(6 * MB))
    at = address(out)
    del out
    held = [scatter(table(MB // 4, fill)) for fill in range(40)]
    assert all(right(out, fill) for fill, out in enumerate(held))
    places = {address(out) for out in held}
    del held
    assert address(scatter(table(6 * MB))) == at
    held = [scatter(table(MB // 4)) for _ in range(32)]
    assert {address(out) for out in held} <= places


@pytest.mark.parametrize(("first", "then", "again"), [(9, 9, True), (9, 7, True), (9, 5, False), (7, 9, False)])
def test_what_is_kept_serves_outputs_that_nearly_fill_it(first: int, then: int, again: bool) -> None:
    out = scatter(table(first * MB))
    at = address(out)
    del out
    out = scatter(table(then * MB))
    assert right(out)
    assert (address(out) == at) is again


def test_views_keep_the_memory_of_their_array() -> None:
    data = table(6 * MB, 3)
    view = scatter(data)[5:]
    others = [scatter(table(6 * MB, 4)) for _ in range(3)]
    assert (view[:-1] == 3).all() and all(right(out, 4) for out in others)


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_output_has_the_order_of_its_data(order: Any) -> None:
    data = np.asarray(table(6 * MB), order=order)
    for out in twice(data):
        assert out.strides == data.strides and right(out) and get_handler_name(out) == OURS


def test_an_output_can_be_resized_in_place() -> None:
    """NumPy calls the policy's `realloc`, from large to small and back."""
    for rows in (4, 2 * MB, 16, MB):
        out = scatter(table(6 * MB, 2))
        before = out[:4].copy()
        out.resize((rows, 2), refcheck=False)
        assert (out[:4] == before).all() and out.shape == (rows, 2)
        out[:] = rows
        assert (out == rows).all()
        del out
    grown = scatter(table(6 * MB, 2))
    grown.resize((3 * MB, 2), refcheck=False)
    assert (grown[MB:] == 0).all()
    medium = scatter(table(MB, 2))
    medium.resize((MB, 2), refcheck=False)
    assert (medium[: MB // 8] == 2).sum() > MB // 5 and (medium[MB // 8 :] == 0).all()
    del medium
    assert right(scatter(table(MB)))
    del grown  # which may begin anywhere now, and is not kept: the system could not take its pages
    assert address(scatter(table(23 * MB))) % constant("HUGE_PAGE") == 64


def test_a_failed_call_gives_its_output_back() -> None:
    data = table(6 * MB)
    out = scatter(data)
    at = address(out)
    del out
    for _ in range(3):
        with pytest.raises(IndexError, match="allowed is in"):
            scattergen.scatter_elements(data, INDICES + len(data), UPDATES)
        out = scatter(data)
        assert address(out) == at and right(out)
        del out


def test_more_than_there_is_is_numpys_error() -> None:
    assert loader.functions is not None
    endless = np.broadcast_to(np.float32(1), (1 << 44, 2))
    with pytest.raises(MemoryError, match=r"Unable to allocate 128\. TiB"):
        loader.functions.unwritten(endless, endless.dtype, False)
    assert right(scatter(table(6 * MB)))
    assert get_handler_name(np.empty(MB)) == NUMPYS, "arrays that are made later are none of ours"


def test_a_policy_of_the_programs_own_is_respected() -> None:
    """Such a policy is a struct that begins with a name; NumPy's own, renamed, is one."""
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    functions = ctypes.cast(api.PyCapsule_GetPointer(_ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[304])
    default = ctypes.py_object.from_address(functions[306]).value
    size = 127 + 1 + 5 * ctypes.sizeof(ctypes.c_void_p)  # a name, a version, a context and four functions
    policy = ctypes.create_string_buffer(ctypes.string_at(api.PyCapsule_GetPointer(default, b"mem_handler"), size))
    policy[:5] = b"mine\0"
    data = table(6 * MB)
    before = set_handler(api.PyCapsule_New(ctypes.addressof(policy), b"mem_handler", None))
    try:
        names = {get_handler_name(out) for out in twice(data)}
    finally:
        set_handler(before)
    assert names == {"mine"}
    assert {get_handler_name(out) for out in twice(data)} == {OURS}


SCARCE = """
import resource
import numpy as np, scattergen
from scattergen.load import caller

assert caller.make()
small, large = (np.ones((size << 20) // 4, np.float32) for size in (30, 200))
indices, updates = np.array([1]), np.ones(1, np.float32)
outs = [scattergen.scatter_elements(small, indices, updates) for _ in range(9)]
del outs
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (now + (100 << 20), -1))
print(scattergen.scatter_elements(large, indices, updates)[1])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc for the memory of a process")
def test_what_is_kept_goes_where_memory_is_scarce() -> None:
    assert python(SCARCE, SCATTERGEN_NUM_THREADS="1") == "1.0\n"


def test_nothing_is_kept_where_that_is_said() -> None:
    keep(0)
    out = scatter(table(6 * MB))
    assert get_handler_name(out) == NUMPYS and right(out)


MEASURED = """
import numpy as np, scattergen
from scattergen.load import caller

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 >> 20

assert caller.make()
data, indices, updates = np.ones(({size} << 20) // 4, np.float32), np.array([1]), np.ones(1, np.float32)
scattergen.scatter_elements(data, indices, updates)
before = resident()
outs = [scattergen.scatter_elements(data, indices, updates) for _ in range({count})]
most = resident()
del outs
print(before, most, resident())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc for the memory of a process")
@pytest.mark.parametrize(
    ("size", "count", "setting", "least", "at_most"),
    [
        (16, 12, f"{40 * MB}", 0, 40),
        (16, 12, "", 80, 136),
        (16, 12, f"{1 << 64}", 80, 136),
        (3, 60, "", 15, 48),
        (3, 60, f"{8 * MB}", 0, 24),
    ],
)
def test_no_more_is_kept_than_was_said(size: int, count: int, setting: str, least: int, at_most: int) -> None:
    """Of twelve outputs of 16 MB two or eight stay, one of which was there before; of small ones 32 MB."""
    text = MEASURED.format(size=size, count=count)
    before, most, after = map(int, python(text, SCATTERGEN_KEEP_MEMORY=setting).split())
    assert most - before > 150
    assert least <= after - before <= at_most, (before, most, after)


def test_what_a_setting_must_be() -> None:
    for text in ("much", "-1", "1.5", "²"):
        with pytest.raises(SettingError, match=f"SCATTERGEN_KEEP_MEMORY='{text}': allowed is a whole number"):
            config.Settings.from_environment({"SCATTERGEN_KEEP_MEMORY": text})


def test_threads_never_share_what_is_kept() -> None:
    wrong, start = list[str](), threading.Barrier(6)

    def work(number: int) -> None:
        start.wait()
        for step in range(25):
            fill = number * 100 + step
            sizes = (5 * MB, (4 + step % 3) * MB, MB // 4, (3 + step % 2) * MB // 8)
            held = [scatter(table(size, fill), threads=1) for size in sizes]
            if not all(right(out, fill) for out in held):
                wrong.append(f"thread {number}, step {step}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
