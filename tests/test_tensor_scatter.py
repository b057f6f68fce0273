"""TensorScatter: against the loop of ONNX's text, in every type, mode and layout; and what it leaves alone."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import layouts
import numpy as np
import onnx
import product
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import scattergen
import scattergen.onnx
from scattergen.aot import wanted
from scattergen.call import threads
from scattergen.cli.cli import main
from scattergen.errors import DTypeError, IndexOutOfBounds, ShapeError, SpecError
from scattergen.operators import reference
from scattergen.operators.dtypes import DTYPES, ELEMENTS, OPAQUE, TENSORS
from scattergen.operators.ops import OPS
from scattergen.operators.spec import OpSpec
from scattergen.tensor import tensor_scatter

Array: TypeAlias = "np.ndarray[Any, Any]"

TYPES = (*ELEMENTS, *OPAQUE)
MODES = ("linear", "circular")
SHAPES = (
    # cache, positions written, axis
    ((2, 3, 8, 5), 3, -2),
    ((2, 3, 8, 5), 1, 2),
    ((2, 3, 8, 5), 8, 2),
    ((2, 8, 3, 5), 2, 1),
    ((3, 7), 4, -1),
    ((1, 4, 9), 9, 2),
    ((3, 1, 1, 6, 1), 5, 3),
    ((2, 2, 2, 3, 2, 4), 2, -3),
)


def oracle(cache: Array, update: Array, starts: Any, axis: int = -2, mode: str = "linear") -> Array:
    """Return what the loop of ONNX's text gives, one element row at a time."""
    present, axis = cache.copy(), axis % cache.ndim
    for prefix in np.ndindex(cache.shape[:axis]):
        for step in range(update.shape[axis]):
            position = int(starts[prefix[0]]) + step
            if mode == "circular":
                position %= cache.shape[axis]
            present[(*prefix, position)] = update[(*prefix, step)]
    return present


def made(
    shape: tuple[int, ...], length: int, axis: int, mode: str, dtype: Any = np.float32, seed: int = 0
) -> tuple[Array, Array, Array]:
    """Return a cache, an update and write indices whose elements are bytes of any kind."""
    chance, dtype = np.random.default_rng(seed), np.dtype(dtype)
    axis %= len(shape)
    written = (*shape[:axis], length, *shape[axis + 1 :])

    def elements(dims: tuple[int, ...]) -> Array:
        small = 0x0F if dtype.name in ("int4", "uint4", "float4_e2m1fn") else 1 if dtype.kind == "b" else 0xFF
        raw = chance.integers(0, small, (*dims, dtype.itemsize), np.uint8, endpoint=True)
        found: Array = raw.view(dtype)[..., 0]
        return found

    size = shape[axis]
    low, high = (0, size - length + 1) if mode == "linear" else (-3 * size, 3 * size)
    return elements(shape), elements(written), chance.integers(low, high or 1, shape[0])


def same(got: Array, want: Array) -> bool:
    """Whether two arrays have the same type, shape and bytes."""
    return type(got) is np.ndarray and (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())


# What it gives


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type(dtype: Any, mode: str) -> None:
    for number, (shape, length, axis) in enumerate(SHAPES):
        cache, update, starts = made(shape, length, axis, mode, dtype.numpy, number)
        before = cache.tobytes(), update.tobytes(), starts.tobytes()
        want = oracle(cache, update, starts, axis, mode)
        for most in (1, 3):
            got = tensor_scatter(cache, update, starts, axis=axis, mode=mode, threads=most)
            assert same(got, want) and not np.shares_memory(got, cache)
        assert (cache.tobytes(), update.tobytes(), starts.tobytes()) == before
        narrow = starts.astype(np.int32)
        for _ in range(3):  # planned, then by the plan that is kept
            out = cache.copy()
            assert tensor_scatter(out, update, narrow, axis=axis, mode=mode, out=out) is out
            assert same(out, want)


@pytest.mark.parametrize("mode", MODES)
def test_which_kernel_answers(mode: str) -> None:
    form = {"linear": "windows", "circular": "rings"}[mode]
    for dtype in TYPES:
        cache, update, starts = made((2, 3, 8, 5), 3, 2, mode, dtype.numpy)
        found = scattergen.explain(tensor_scatter, cache, update, starts, mode=mode, out=cache)
        assert found.kernel == f"{form}_w{8 * dtype.size}_i64_none" and found.form == form
        assert found.spec == f"tensor_scatter_{dtype}_i64_r4a2_{mode}"
        assert found.copies == () and found.source in ("built", "cache", "ahead-of-time")


def test_without_write_indices_it_writes_from_the_start() -> None:
    cache, update, _ = made((2, 3, 8, 5), 3, -2, "linear")
    for mode in MODES:
        assert same(tensor_scatter(cache, update, mode=mode), oracle(cache, update, [0, 0]))
        assert same(tensor_scatter(cache, update, None, mode=mode), oracle(cache, update, [0, 0]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [1, 3, 8])
@pytest.mark.parametrize("axis", [1, 2, 3])
def test_every_layout(axis: int, length: int, mode: str) -> None:
    shape = (3, 8, 8, 8)
    cache, update, starts = made(shape, length, axis, mode, np.float64)
    plain = (layouts.plain, *layouts.HURTFUL)
    for shift, lay in enumerate(plain):
        here = [plain[(shift + turn) % len(plain)] for turn in (0, 2, 5)]
        for lays in ((lay, lay, lay), here):
            given = [each(array) for each, array in zip(lays, (cache, update, starts), strict=True)]
            want = oracle(*(layouts_native(array) for array in given), axis, mode)
            assert same(tensor_scatter(*given, axis=axis, mode=mode), want), lays
            if 0 not in given[0].strides and given[0].flags.writeable:
                assert tensor_scatter(*given, axis=axis, mode=mode, out=given[0]) is given[0]
                assert same(layouts_native(given[0]), want), lays
            out = np.full(shape, 7.0)[::-1].transpose(0, 2, 1, 3)
            assert tensor_scatter(given[0], *given[1:], axis=axis, mode=mode, out=out) is out
            assert same(np.ascontiguousarray(out), want), lays


def layouts_native(array: Array) -> Array:
    """Return the values in C order and this machine's byte order."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))


@st.composite
def calls(draw: st.DrawFn) -> tuple[Array, Array, Array, int, str, int]:
    """Draw a call: cache, update and write indices in some layout, axis, mode, threads."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=2, max_size=5)))
    axis = draw(st.integers(1, len(shape) - 1))
    length, mode = draw(st.integers(0, shape[axis])), draw(st.sampled_from(MODES))
    kind = DTYPES[draw(st.sampled_from(["u8", "f16", "i32", "c64", "c128", "f8e5m2"]))].numpy
    arrays = made(shape, length, axis, mode, kind, draw(st.integers(0, 99)))
    lays = st.sampled_from(
        [layouts.plain, layouts.fortran, layouts.strided, layouts.negative, layouts.unaligned, layouts.packed]
    )
    cache, update, starts = (draw(lays)(array) for array in arrays)
    return cache, update, starts, axis - draw(st.sampled_from([0, len(shape)])), mode, draw(st.integers(1, 3))


@settings(max_examples=400)
@given(calls())
def test_random_calls(call: tuple[Array, Array, Array, int, str, int]) -> None:
    cache, update, starts, axis, mode, most = call
    want = oracle(cache, update, starts, axis, mode)
    assert same(tensor_scatter(cache, update, starts, axis=axis, mode=mode, threads=most), want)
    assert same(reference.tensor_scatter(cache, starts, update, axis % cache.ndim, mode), want)
    out = cache.copy(order="K")
    assert tensor_scatter(out, update, starts, axis=axis, mode=mode, out=out, threads=most) is out
    assert same(out, want)


@settings(max_examples=200)
@given(calls())
def test_random_calls_on_three_threads(call: tuple[Array, Array, Array, int, str, int]) -> None:
    cache, update, starts, axis, mode, _ = call
    with product.small_machine():
        want = oracle(cache, update, starts, axis, mode)
        assert same(tensor_scatter(cache, update, starts, axis=axis, mode=mode), want)
        out = cache.copy(order="K")
        assert same(tensor_scatter(out, update, starts, axis=axis, mode=mode, out=out), want)


def test_large_updates_run_on_threads_and_the_bits_do_not_depend_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "get_num_threads", lambda: 3)
    cache, update, starts = made((2, 4, 700, 128), 500, 2, "circular", np.float32)
    found = scattergen.explain(tensor_scatter, cache, update, starts, mode="circular", out=cache)
    assert found.threads == 3
    want = oracle(cache, update, starts, 2, "circular")
    for most in (1, 2, 3):
        assert same(tensor_scatter(cache, update, starts, mode="circular", threads=most), want)
    small = update[:, :, :2]
    assert scattergen.explain(tensor_scatter, cache, small, starts, mode="circular", out=cache).threads == 1


@pytest.mark.parametrize("start", [0, 7, -1, 2**63 - 1, -(2**63), 2**62 + 5])
def test_circular_takes_any_start_modulo_the_axis(start: int) -> None:
    cache, update, _ = made((1, 7, 2), 5, 1, "circular")
    got = tensor_scatter(cache, update, np.array([start]), axis=1, mode="circular")
    assert same(got, oracle(cache, update, [start], 1, "circular"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["U3", "S5", "O", "T", "M8[D]", "m8[s]", "V3", [("a", "i4"), ("b", "i8")]], ids=str)
def test_elements_that_c_has_no_type_for(dtype: Any, mode: str) -> None:
    for shape, length, axis in (*SHAPES, ((2, 50, 3), 1, 1)):
        numbers, written, starts = made(shape, length, axis, mode, np.int32)
        kind = np.dtypes.StringDType() if dtype == "T" else np.dtype(dtype)
        if kind.kind in "Mm":
            cache, update = numbers.astype(np.int64).view(kind), written.astype(np.int64).view(kind)
        elif kind.kind == "V":
            raw = [np.frombuffer(bytearray(array.tobytes() * kind.itemsize), np.uint8) for array in (numbers, written)]
            cache, update = (
                each[: array.size * kind.itemsize].view(kind).reshape(array.shape)
                for each, array in zip(raw, (numbers, written), strict=True)
            )
        else:
            cache, update = (numbers % 97).astype(str).astype(kind), (written % 89).astype(str).astype(kind)
        want = oracle(cache, update, starts, axis, mode)
        got = tensor_scatter(cache, update, starts, axis=axis, mode=mode)
        assert got.dtype == want.dtype and (got == want).all()
        out = cache.copy()
        assert tensor_scatter(out, update, starts, axis=axis, mode=mode, out=out) is out and (out == want).all()
    if mode == "linear":
        with pytest.raises(IndexOutOfBounds, match=r"write_indices\[1\] is 50, allowed is in \[0, 49\]"):
            tensor_scatter(cache, update, [0, 50], axis=1, out=cache)


def test_arrays_may_share_memory() -> None:
    for mode in MODES:
        cache, _, starts = made((2, 3, 8, 5), 3, 2, mode, np.int64)
        for update in (cache[:, :, :3], cache[:, :, 5:], cache[:, :, 2:5][:, ::-1]):
            own, shared = cache.copy(), cache.copy()
            source = np.lib.stride_tricks.as_strided(
                shared.reshape(-1)[(update.ctypes.data - cache.ctypes.data) // 8 :], update.shape, update.strides
            )
            want = oracle(own, source.copy(), starts, 2, mode)
            assert same(tensor_scatter(shared, source, starts, mode=mode, out=shared), want)
    cache = np.arange(12).reshape(2, 6)
    starts, update = cache[:, 3], np.array([[50], [51]])
    cache[:, 3] = (1, 3)  # the second one is written over by its own update
    want = oracle(cache, update, [1, 3], 1)
    assert same(tensor_scatter(cache, update, starts, axis=1, out=cache), want)


# What it leaves alone


GUARDED = """
import ctypes, mmap
import numpy as np
import scattergen
PAGE = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * 8 * PAGE)
cache = np.frombuffer(memory, np.uint8).reshape(2, 8, PAGE)
libc = ctypes.CDLL(None, use_errno=True)
def protect(pages, rights):
    for entry, page in pages:
        where = ctypes.c_void_p(cache.ctypes.data + (entry * 8 + page) * PAGE)
        assert libc.mprotect(where, ctypes.c_size_t(PAGE), rights) == 0
pages = [(entry, page) for entry in range(2) for page in range(8)]
for mode, starts in (("linear", [1, 5]), ("circular", [6, 13])):
    starts, update = np.array(starts), np.full((2, 3, PAGE), 7, np.uint8)
    free = {(entry, (int(start) + step) % 8) for entry, start in enumerate(starts) for step in range(3)}
    cache[:] = 1
    protect([page for page in pages if page not in free], mmap.PROT_READ * 0)
    bound = scattergen.bind(scattergen.tensor_scatter, cache, update, starts, axis=1, mode=mode, out=cache)
    for most in (1, 2):
        for _ in range(3):
            scattergen.tensor_scatter(cache, update, starts, axis=1, mode=mode, out=cache, threads=most)
    bound()
    protect(pages, mmap.PROT_READ | mmap.PROT_WRITE)
    assert {page for page in pages if (cache[page] == 7).all()} == free
    assert all((cache[page] == 1).all() for page in pages if page not in free)
protect(pages, 0)
for _ in range(2):
    scattergen.tensor_scatter(cache, update[:, :0], starts, axis=1, mode="circular", out=cache)
    try:
        scattergen.tensor_scatter(cache, update, np.array([0, 6]), axis=1, out=cache)
    except IndexError:
        pass
    else:
        raise AssertionError("a bad index went through")
print("untouched")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pages are protected as Linux does it")
def test_in_place_it_neither_reads_nor_writes_any_other_page() -> None:
    done = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "untouched\n"), done.stderr


BAD: tuple[tuple[str, dict[str, Any], type[Exception], str], ...] = (
    ("beyond", {"write_indices": [0, 6]}, IndexOutOfBounds,
     r"TensorScatter: write_indices\[1\] is 6, allowed is in \[0, 5\] for 3 positions in an axis of 8$"),
    ("negative", {"write_indices": [-1, 9]}, IndexOutOfBounds,
     r"write_indices\[0\] is -1, allowed is in \[0, 5\] for 3 positions in an axis of 8 \(1 more found\)"),
    ("far", {"write_indices": [2**63 - 1, 0]}, IndexOutOfBounds, r"write_indices\[0\] is 9223372036854775807"),
    ("batch", {"axis": 0}, ShapeError, r"TensorScatter: axis is 0, which is the batch; allowed is 1 to 3, or -3 to -1"),
    ("batch from the end", {"axis": -4}, ShapeError, "axis is -4, which is the batch"),
    ("axis", {"axis": 4}, ShapeError, r"axis is 4, allowed is -4 to 3 for rank 4"),
    ("axis of the wrong kind", {"axis": 1.5}, ShapeError, "axis is 1.5, must be a whole number"),
    ("mode", {"mode": "ring"}, SpecError, "mode='ring': allowed is linear or circular for TensorScatter-24"),
    ("mode of the wrong kind", {"mode": ["linear"]}, SpecError, r"mode=\['linear'\]"),
    ("opset", {"opset": 23}, SpecError, "opset=23: allowed is 24 or above for TensorScatter"),
    ("starts", {"write_indices": [1]}, ShapeError,
     r"write_indices has shape \(1,\), must have \(2,\): an index for each entry of the batch"),
    ("starts of rank 2", {"write_indices": [[1, 1]]}, ShapeError, r"write_indices has shape \(1, 2\), must have"),
    ("one start", {"write_indices": 1}, ShapeError, "write_indices has rank 0, allowed is 1 or more"),
    ("floats", {"write_indices": [1.0, 2.0]}, DTypeError, r"write_indices is float64, allowed is int32 or int64"),
    ("unsigned", {"write_indices": np.array([1, 2], np.uint64)}, DTypeError, r"use write_indices.astype\('int64'\)"),
    ("rank", {"update": np.zeros((2, 3, 3), np.float32)}, ShapeError,
     "update has rank 3, must have that of past_cache, 4"),
    ("too long", {"update": np.zeros((2, 3, 9, 5), np.float32)}, ShapeError,
     r"update.shape\[2\] is 9, allowed is 8 or less along axis 2"),
    ("other dim", {"update": np.zeros((2, 1, 3, 5), np.float32)}, ShapeError,
     r"update.shape\[1\] is 1, allowed is 3 as in past_cache"),
    ("type", {"update": np.zeros((2, 3, 3, 5))}, DTypeError,
     r"update is float64, past_cache is float32: use update.astype\('float32'\)"),
    ("flat", {"past_cache": np.zeros(3, np.float32)}, ShapeError, "past_cache has rank 1, allowed is 2 or more"),
    ("another type", {"past_cache": np.zeros((1, 2), np.longdouble), "update": np.zeros((1, 2), np.longdouble),
                      "axis": 1}, DTypeError, "past_cache is float128: allowed is one of bool, .*, int4$"),
    ("out", {"out": np.zeros((2, 3, 8, 4), np.float32)}, ShapeError,
     r"out has shape \(2, 3, 8, 4\), must have that of past_cache, \(2, 3, 8, 5\)"),
)  # fmt: skip


@pytest.mark.parametrize(("changes", "error", "text"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_what_is_refused(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    cache, update, starts = made((2, 3, 8, 5), 3, 2, "linear")
    tensor_scatter(cache.copy(), update, starts, out=cache)  # so that a plan is kept
    before, call = cache.copy(), {"past_cache": cache, "update": update, "write_indices": starts, "out": cache}
    if "past_cache" in changes:
        del call["out"]
        call["write_indices"] = np.zeros(len(changes["past_cache"]), np.int64)
    for _ in range(2):
        with pytest.raises(error, match=text):
            tensor_scatter(**{**call, **changes})
        assert same(cache, before)


def test_what_an_index_error_has_for_programs() -> None:
    cache, update, _ = made((12, 8, 2), 3, 1, "linear")
    starts = np.full(12, 6)
    starts[0] = 5
    with pytest.raises(IndexOutOfBounds) as caught:
        tensor_scatter(cache, update, starts, axis=1)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.positions == tuple((place,) for place in range(1, 9)), "the first eight"
    assert error.values == (6,) * 8 and error.limits == ((0, 6),) * 8
    assert (error.operator, error.argument) == ("TensorScatter", "write_indices")
    with pytest.raises(IndexOutOfBounds, match=re.escape(str(error))):
        reference.tensor_scatter(cache, starts, update, 1, "linear")


def test_sizes_of_zero() -> None:
    for shape, length in (((2, 8, 0), 3), ((0, 8, 2), 3), ((2, 8, 2), 0), ((2, 0, 2), 0)):
        cache, update, _ = made(shape, length, 1, "circular")
        starts = np.zeros(shape[0], np.int64)
        for mode in MODES:
            assert same(tensor_scatter(cache, update, starts, axis=1, mode=mode), cache)
            assert tensor_scatter(cache, update, starts, axis=1, mode=mode, out=cache) is cache
    with pytest.raises(IndexOutOfBounds, match=r"write_indices\[0\] is 9, allowed is in \[0, 8\]"):
        tensor_scatter(np.zeros((1, 8, 2)), np.zeros((1, 0, 2)), [9], axis=1)


# Other ways to it


def test_a_plan_that_is_kept_serves_no_other_arrays() -> None:
    cache, update, starts = made((2, 3, 8, 5), 3, 2, "linear")
    for _ in range(3):
        out = cache.copy()
        tensor_scatter(out, update, starts, out=out)
    want = oracle(cache, update, starts)
    for lay in (layouts.fortran, layouts.strided, layouts.negative, layouts.unaligned):
        out = lay(cache)
        assert same(np.ascontiguousarray(tensor_scatter(out, lay(update), lay(starts), out=out)), want)
    locked = layouts.read_only(cache.copy())
    with pytest.raises(ShapeError, match="out is read-only"):
        tensor_scatter(locked, update, starts, out=locked)
    assert same(tensor_scatter(cache, update, starts), want), "and not the call that is not in place"


def test_bind_reads_the_write_indices_of_the_time() -> None:
    cache, update, starts = made((2, 3, 8, 5), 1, 2, "linear")
    starts[:] = 0, 3
    want, step = cache.copy(), scattergen.bind(tensor_scatter, cache, update, starts, out=cache)
    for _ in range(4):
        want = oracle(want, update, starts)
        assert step() is cache and same(cache, want)
        starts += 1
        update += 1
    starts[1] = 8
    with pytest.raises(IndexOutOfBounds, match=r"write_indices\[1\] is 8, allowed is in \[0, 7\]"):
        step()
    assert same(cache, want)


@pytest.mark.parametrize("mode", MODES)
def test_a_compiled_spec(mode: str) -> None:
    cache, update, starts = made((2, 3, 8, 5), 3, 2, mode)
    kernel = scattergen.compile(f"tensor_scatter_f32_i64_r4a2_{mode}")
    want = oracle(cache, update, starts, 2, mode)
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel and type(again) is type(kernel)
    assert same(kernel(cache, update, starts), want)
    assert same(kernel(past_cache=cache, update=update, write_indices=starts), want)
    assert same(kernel(cache, update), oracle(cache, update, [0, 0], 2))
    assert kernel(cache.copy(), update, starts, out=cache) is cache
    assert kernel.bind(cache, update, starts, out=cache)() is cache and same(cache, want)
    assert [variant.spec.form.name for variant in kernel.variants] == [{"linear": "windows"}.get(mode, "rings")]
    with pytest.raises(ShapeError, match="past_cache has rank 3, must have 4"):
        kernel(cache[0], update[0])
    with pytest.raises(DTypeError, match="past_cache is float64, this kernel takes float32"):
        kernel(cache.astype(float), update.astype(float))


def test_it_is_imported_by_its_text_and_found_in_lists() -> None:
    from scattergen.jit import tensor_scatter_i8_i64_r3a1_circular as kernel

    assert str(kernel) == "tensor_scatter_i8_i64_r3a1_circular"
    with pytest.raises(ImportError, match="tensor_scatter_i8_i64_r3a1_circular"):
        from scattergen.jit import tensor_scatter_i8_i64_r3a1_circlar  # noqa: F401
    row = {"operator": "tensor_scatter", "dtype": "*", "rank": [2, 3], "axis": "*", "mode": "*"}
    found = wanted._product(row)
    assert len(found) == len(set(found)) == (len(TENSORS) + len(OPAQUE)) * 3 * 2
    texts = wanted.gather([*found[:3], "tensor_scatter_f16_i64_r4a2_linear"])
    assert {kernel.form.name for kernel in texts.kernels} == {"windows", "rings"}
    with pytest.raises(SpecError, match="mode='linear': allowed is none for ScatterElements-18"):
        wanted._product({"operator": "scatter_elements", "dtype": "f32", "rank": 2, "axis": 0, "mode": "linear"})
    assert "windows_w16_i64_none" in scattergen.show("tensor_scatter_f16_i64_r4a2_linear")


def test_a_spec_takes_the_default_mode_and_no_axis_of_the_batch() -> None:
    rest: dict[str, Any] = {"op": OPS["tensor_scatter"], "dtype": DTYPES["f16"], "index": DTYPES["i64"], "opset": 30}
    assert str(OpSpec(rank=4, place=2, **rest)) == "tensor_scatter_f16_i64_r4a2_linear"
    with pytest.raises(SpecError, match="axis=0: allowed is 1 to 3 for rank 4"):
        OpSpec(rank=4, place=0, **rest)
    with pytest.raises(SpecError, match="axis=0: allowed is none for rank 1"):
        OpSpec(rank=1, place=0, **rest)
    with pytest.raises(SpecError, match="reduction='add': allowed is none for TensorScatter-24"):
        OpSpec(rank=4, place=2, reduction="add", **rest)


# ONNX


def model(dtype: int, shape: tuple[int, ...], length: int, axis: int | None, inputs: int, **attributes: Any) -> Any:
    """Return a model of one node; `axis` None leaves the attribute out."""
    dims = list(shape)
    dims[-2 if axis is None else axis] = length
    given = [("past_cache", dtype, shape), ("update", dtype, dims), ("write_indices", TensorProto.INT64, shape[:1])]
    attributes |= {} if axis is None else {"axis": axis}
    node = helper.make_node("TensorScatter", [row[0] for row in given[:inputs]], ["present"], **attributes)
    values = [helper.make_tensor_value_info(*row) for row in given[:inputs]]
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("present", dtype, shape)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)


@pytest.mark.parametrize(
    ("inputs", "axis", "attributes", "text"),
    [
        (3, None, {}, "tensor_scatter_f16_i64_r4a2_linear"),
        (2, None, {}, "tensor_scatter_f16_i64_r4a2_linear"),
        (3, 1, {"mode": "circular"}, "tensor_scatter_f16_i64_r4a1_circular"),
        (3, -1, {"mode": "linear"}, "tensor_scatter_f16_i64_r4a3_linear"),
    ],
)
def test_a_model_is_read_and_run(inputs: int, axis: int | None, attributes: dict[str, Any], text: str) -> None:
    proto = model(TensorProto.FLOAT16, (9, 6, 6, 6), 5, axis, inputs, **attributes)
    (node,) = scattergen.onnx.nodes(proto)
    assert str(node.spec) == text and node.mode == attributes.get("mode", "linear")
    report = scattergen.onnx.run(proto)
    assert report.equal and report.nodes[0].equal, str(report)
    assert report.nodes[0].kernel is not None and report.nodes[0].kernel.startswith(("windows_w16", "rings_w16"))
    assert str(report.nodes[0].node.spec) == text


@pytest.mark.parametrize("dtype", [row for row in OPAQUE if row.onnx.upper() in TensorProto.DataType.keys()], ids=str)  # noqa: SIM118
def test_a_model_of_small_types(dtype: Any) -> None:
    proto = model(TensorProto.DataType.Value(dtype.onnx.upper()), (2, 3, 8, 5), 3, 2, 3)
    (node,) = scattergen.onnx.nodes(proto)
    assert str(node.spec) == f"tensor_scatter_{dtype}_i64_r4a2_linear"
    cache, update, starts = made((2, 3, 8, 5), 3, 2, "linear", dtype.numpy)
    feeds = {"past_cache": cache, "update": update, "write_indices": starts}
    (got,) = scattergen.onnx.evaluator(proto).run(None, feeds)
    assert same(got, oracle(cache, update, starts))


def node_tests() -> list[Any]:
    """Return ONNX's own node tests: node, inputs, outputs."""
    from test_onnx_nodes import NODE_TESTS

    return [case for case in NODE_TESTS if case.values[0].op_type == "TensorScatter"]


@pytest.mark.parametrize(("node", "inputs", "outputs", "opset"), node_tests())
def test_onnx_node_tests_pass_in_the_runner(node: Any, inputs: list[Array], outputs: list[Array], opset: int) -> None:
    infos: Callable[..., Any] = helper.make_tensor_value_info
    types = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in inputs]
    values = [infos(name, kind, array.shape) for name, kind, array in zip(node.input, types, inputs, strict=True)]
    graph = helper.make_graph([node], "g", values, [infos(node.output[0], types[0], outputs[0].shape)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(proto)
    feeds, expected = dict(zip(node.input, inputs, strict=True)), {node.output[0]: outputs[0]}
    report = scattergen.onnx.run(proto, feeds, expected)
    assert report.equal and [row.equal for row in report.outputs] == [True], str(report)
    assert report.nodes[0].form in ("windows", "rings")


def test_there_are_onnx_node_tests_of_both_modes() -> None:
    modes = {attribute.s for case in node_tests() for attribute in case.values[0].attribute if attribute.name == "mode"}
    assert len(node_tests()) >= 3 and modes == {b"linear", b"circular"}


@pytest.mark.parametrize("mode", MODES)
def test_it_is_timed_against_numpy(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"tensor_scatter_f16_i64_r3a1_{mode}", "--data", "2x9x5", "--indices", "2x4x5", "--rounds", "1"]
    assert main(["bench", *words]) == 0
    assert "yes" in capsys.readouterr().out
    assert main(["bench", *words[:4], "2x10x5"]) == 2
    assert "update.shape[1] is 10, allowed is 9 or less" in capsys.readouterr().err
    onnx.save(model(TensorProto.FLOAT, (2, 9, 5), 4, 1, 2, mode=mode), tmp_path / "m.onnx")
    assert main(["bench", str(tmp_path / "m.onnx"), "--rounds", "1"]) == 0
    assert {"linear": "windows", "circular": "rings"}[mode] in capsys.readouterr().out


def test_it_is_not_imported_before_it_is_asked_for() -> None:
    code = "import sys, scattergen; print('scattergen.tensor' in sys.modules, scattergen.tensor_scatter.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "tensor_scatter"]


@pytest.mark.parametrize(("name", "value"), [("int4", 9), ("int4", -9), ("uint4", 16), ("uint4", -1), ("int4", 1000)])
def test_a_list_that_does_not_fit_is_refused(name: str, value: int) -> None:
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    cache = np.zeros((1, 3, 1), dtype)
    with pytest.raises(ShapeError, match=f"{name} has not"):
        scattergen.tensor_scatter(cache, [[[value]]], [1])
    assert scattergen.tensor_scatter(cache, [[[7]]], [1])[0, 1, 0] == 7
