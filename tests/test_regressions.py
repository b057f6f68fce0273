"""Calls that once went wrong: dims of size 1 with odd strides, interleaved steps, fewer threads than asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from bits import difference

import scattergen
from scattergen.call import dispatch
from scattergen.call import threads as threads_of_calls
from scattergen.common import machine
from scattergen.errors import IndexOutOfBounds, SettingError, SpecError
from scattergen.load import supply
from scattergen.load.loader import _abi
from scattergen.lower import schedule
from scattergen.lower.kernel import KernelSpec
from scattergen.operators import reference

Array = np.ndarray


def ones(*shape: int) -> Array:
    return -np.ones(shape)


@pytest.mark.parametrize(
    ("data", "indices", "axis"),
    [((5, 1), (5, 1), 1), ((4, 1, 6), (4, 1, 6), 1), ((4, 1, 6), (2, 1, 6), 1), ((3, 4, 1), (3, 4, 1), 2)],
)
def test_an_axis_of_size_1(data: tuple[int, ...], indices: tuple[int, ...], axis: int) -> None:
    values = np.arange(float(np.prod(data))).reshape(data)
    got = scattergen.scatter_elements(values, np.zeros(indices, int), ones(*indices), axis)
    assert not difference(got, reference.scatter_elements(values, np.zeros(indices, int), ones(*indices), axis, "none"))


VIEWS: list[Callable[[Array], Array]] = [lambda a: a[0][None], lambda a: a[::16], lambda a: a[8:9][::-1]]


@pytest.mark.parametrize("view", VIEWS)
def test_an_output_of_size_1_with_any_stride_is_all_that_is_written(view: Callable[[Array], Array]) -> None:
    data, out = np.arange(1.0, 81).reshape(16, 5), np.zeros((16, 5))
    want = out.copy()
    view(want)[...] = -1
    scattergen.scatter_elements(view(data), np.zeros((1, 5), int), ones(1, 5), out=view(out))
    assert not difference(out, want)


@pytest.mark.parametrize("shape", [(5, 10, 10), (5, 400, 10)])
def test_one_place_on_the_axis_and_part_of_the_rest(shape: tuple[int, ...]) -> None:
    data = np.arange(float(np.prod(shape))).reshape(shape)
    indices = np.full((1, shape[1], 5), 2)
    got = scattergen.scatter_elements(data, indices, ones(*indices.shape))
    assert not difference(got, reference.scatter_elements(data, indices, ones(*indices.shape), 0, "none"))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_outer_steps_that_interleave(threads: int) -> None:
    data = np.arange(4 * 64 * 1024.0).reshape(4, 64, 1024)
    indices = np.broadcast_to(np.array([[[3]]]), (1, 64, 512))
    got = scattergen.scatter_elements(data, indices, ones(1, 64, 512), threads=threads)
    assert (got[3, :, :512] == -1).all() and (got[:3] == data[:3]).all() and (got[3, :, 512:] == data[3, :, 512:]).all()
    chance = np.random.default_rng(1)
    data, out = chance.random((64, 4, 512)), np.zeros((64, 4, 512))[:, ::-1]
    indices = np.broadcast_to(chance.integers(0, 4, (64, 3, 1)), (64, 3, 512))
    updates = chance.random((64, 3, 512))
    scattergen.scatter_elements(data, indices, updates, 1, "add", out=out, threads=threads)
    assert not difference(out, reference.scatter_elements(data, indices, updates, 1, "add"))


def test_rows_that_do_not_divide_the_output() -> None:
    data, out = np.arange(1.0, 133).reshape(1, 132)[:, :100], np.zeros((1, 132))[:, :100]
    indices = np.broadcast_to(np.zeros((9, 1), int), (9, 66))
    scattergen.scatter_elements(data, indices, ones(9, 66), out=out, threads=1)
    assert (out[0, :66] == -1).all() and (out[0, 66:] == data[0, 66:]).all()


@pytest.mark.parametrize("share", [1, 64, 1 << 16, 1 << 40])
@pytest.mark.parametrize("name", ["buckets_f32_i64_k1_add", "buckets_c128_i64_k1_add", "owners_f32_i64_k1_add"])
def test_scratch_is_enough_for_fewer_threads(name: str, share: int) -> None:
    spec = KernelSpec.parse(name)
    struct = supply.ready(spec).loaded.struct
    numbers = dict.fromkeys(spec.layout.meanings, 1 << 20)
    layout = _abi.ffi.new("int64_t[]", spec.layout.pack({**numbers, "SHARE": share}))
    sizes = [struct.scratch_bytes(layout, threads) for threads in range(1, 101)]
    assert sizes == sorted(sizes) and sizes[-1] <= 9 << 20


@pytest.mark.parametrize("name", ["slices_f32_i64_k1_add", "owners_f32_i64_k1_add"])
def test_slices_without_elements(name: str) -> None:
    spec = KernelSpec.parse(name)
    struct = supply.ready(spec).loaded.struct
    numbers = {**dict.fromkeys(spec.layout.meanings, 0), "OUTER": 1, "COUNT": 3, "SIZES": 5, "INDEX_STEP": 1}
    layout = _abi.ffi.new("int64_t[]", spec.layout.pack({**numbers, **({"SHARE": 1} if "SHARE" in numbers else {})}))
    scratch = _abi.ffi.new("char[]", struct.scratch_bytes(layout, 2) + 64)
    for indices, found in ((0, 1, 4), -1), ((0, 5, 4), 1):
        index = _abi.ffi.new("int64_t[]", indices)
        assert struct.check(index, layout, 1) == found
        null = _abi.ffi.NULL
        assert struct.run(null, null, index, null, layout, scratch, 2) == found


@pytest.mark.parametrize(("rows", "length", "threads"), [(3501, 2048, 2), (3501, 2048, 3), (9001, 256, 8)])
def test_slices_dealt_out_in_many_rounds(rows: int, length: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "SHARE", 300)
    dispatch.forget()
    chance = np.random.default_rng(rows)
    data, updates = chance.random((300, length), np.float32), chance.random((rows, length), np.float32)
    indices = chance.integers(0, 300, (rows, 1))
    found = scattergen.explain(scattergen.scatter_nd, data, indices, updates, "add", threads=threads)
    assert found.kernel == "owners_f32_i64_k1_add" and found.threads == threads
    assert rows > 2 * threads * found.numbers["SHARE"], "three rounds, the last of them short"
    wanted = data.copy()
    np.add.at(wanted, indices[:, 0], updates)
    assert not difference(scattergen.scatter_nd(data, indices, updates, "add", threads=threads), wanted)


def test_attributes_of_no_use_are_refused_by_name() -> None:
    data, indices, updates = np.zeros(3), np.array([0]), np.ones(1)
    with pytest.raises(SpecError, match="reduction"):
        scattergen.scatter_elements(data, indices, updates, reduction=[])  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="opset"):
        scattergen.scatter(data, indices, updates, opset="9")  # type: ignore[arg-type]
    for number in (0, -1, [], 2.0, "2"):
        with pytest.raises(SpecError, match=r"threads=.*allowed is a whole number, 1 or more"):
            scattergen.scatter_elements(data, indices, updates, threads=number)  # type: ignore[arg-type]
    for number in (-1, [], 2.0, "2"):
        with pytest.raises(SettingError, match=r"threads=.*allowed is a whole number, 0 or more"):
            scattergen.set_num_threads(number)  # type: ignore[arg-type]


def test_no_way_to_ask_for_threads_gives_more_than_can_be_made(use_environment: Callable[..., None]) -> None:
    assert threads_of_calls.most(5000) == threads_of_calls.MOST
    use_environment(SCATTERGEN_NUM_THREADS="5000")
    assert scattergen.get_num_threads() == threads_of_calls.most(None) == threads_of_calls.MOST
    use_environment(SCATTERGEN_NUM_THREADS="3")
    try:
        scattergen.set_num_threads(5000)
        assert scattergen.get_num_threads() == threads_of_calls.most(None) == threads_of_calls.MOST
    finally:
        scattergen.set_num_threads(0)
    assert scattergen.get_num_threads() == 3


@pytest.mark.parametrize(
    ("openmp", "own", "threads"),
    [("3", "", 3), ("5,2", "", 5), ("5", "2", 2), ("0", "", None), ("many", "", None), ("²", "", None)],
)
def test_threads_are_those_of_openmp_unless_it_is_said_otherwise(
    openmp: str, own: str, threads: int | None, use_environment: Callable[..., None]
) -> None:
    use_environment(OMP_NUM_THREADS=openmp, SCATTERGEN_NUM_THREADS=own)
    assert scattergen.get_num_threads() == (threads or machine.usable_cores())


@pytest.mark.parametrize("form", ["fresh", "in place", "another"])
def test_empty_data_at_any_address_has_no_place_for_an_index(form: str) -> None:
    data = np.zeros(0, [("before", np.float32), ("value", np.int64)])["value"]
    assert data.flags.aligned and data.ctypes.data % 8
    out = {"fresh": None, "in place": data, "another": data[:]}[form]
    for reduction in ("none", "add"):
        with pytest.raises(IndexOutOfBounds):
            scattergen.scatter_elements(data, np.zeros(3, int), np.ones(3, np.int64), 0, reduction, out=out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("shape", [(1, 2), (3, 5), (2, 3, 2)])
def test_empty_data_that_is_written_itself_has_no_place_for_an_index(dtype: type, shape: tuple[int, ...]) -> None:
    data = np.zeros((9, *shape[1:]), dtype)[:0]  # the strides of one that is no slice are 0
    for index in (np.int32, np.int64):
        with pytest.raises(IndexOutOfBounds):
            scattergen.scatter_elements(data, np.zeros(shape, index), np.ones(shape, dtype), out=data)


@pytest.mark.parametrize(
    ("data", "indices", "axis"),
    [((7, 9), (7, 0), 0), ((7, 9), (0, 9), 0), ((3, 4, 5), (3, 4, 0), 1), ((1, 3), (1, 0), 0)],
)
def test_a_call_without_an_update_is_explained(data: tuple[int, ...], indices: tuple[int, ...], axis: int) -> None:
    none = tuple(map(slice, indices))  # of the strides of an array that has elements
    arrays = np.zeros(data), np.zeros(data, np.int64)[none], np.ones(data)[none]
    found = scattergen.explain(scattergen.scatter_elements, *arrays, axis, "add", threads=3)
    assert (found.kernel, found.source, found.numbers) == (None, "nothing", {})
    assert "there is no update" in str(found)
    strided = tuple(
        np.lib.stride_tricks.as_strided(np.zeros(1, array.dtype), indices, (8,) * len(indices)) for array in arrays[1:]
    )
    assert scattergen.explain(scattergen.scatter_elements, arrays[0], *strided, axis, "add").kernel is None
    assert scattergen.explain(scattergen.scatter_nd, np.zeros((3, 0)), [[1]], np.zeros((1, 0))).kernel is None
    empty = np.zeros((3, 0))
    assert not isinstance(scattergen.at.explain(scattergen.at.add, empty, np.array([0]), 1.0), str)
