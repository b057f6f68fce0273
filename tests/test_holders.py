"""Whatever holds an array goes in, without a copy where its protocol allows; what would lose a meaning does not."""

from __future__ import annotations

import array
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bits import difference

import scattergen
import scattergen.graph
from scattergen.arguments import holders
from scattergen.errors import DTypeError

DATA = np.arange(6, dtype=np.float32)


class ByArray:
    def __init__(self, held: Any) -> None:
        self._held = held

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert dtype is None
        return self._held


class ByInterface:
    def __init__(self, held: Any) -> None:
        self._held = held
        self.__array_interface__ = held.__array_interface__


class ByDLPack:
    def __init__(self, held: Any, device: int = 1) -> None:
        self._held, self._device = held, device

    def __dlpack__(self, **options: Any) -> Any:
        assert self._device == 1, "read from another device"
        return self._held.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self._device, 0)


class Tensor(ByArray):
    """Has what tensors of gradient libraries have."""

    requires_grad = True


class Metres(np.ndarray[Any, Any]):
    """A subclass with a meaning."""


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "array": ByArray,
    "interface": ByInterface,
    "dlpack": ByDLPack,
    "memoryview": memoryview,
}


@pytest.mark.parametrize("name", HOLDERS)
def test_a_protocol_is_read_in_place(name: str) -> None:
    held = DATA.copy()
    read = holders.as_array(HOLDERS[name](held), "data", "Scatter")
    assert type(read) is np.ndarray
    assert read.__array_interface__["data"] == (held.__array_interface__["data"][0], False)
    assert (read.dtype, read.shape) == (held.dtype, held.shape)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", HOLDERS)
def test_a_protocol_serves_every_argument(name: str, index: Any) -> None:
    hold = HOLDERS[name]
    indices, updates = np.array([5, -6], index), np.array([7, 8], np.float32)
    want = np.array([8, 1, 2, 3, 4, 7], np.float32)
    arguments = (hold(DATA), hold(indices), hold(updates))
    assert not difference(scattergen.scatter_elements(*arguments), want)
    explanation = scattergen.explain(scattergen.scatter_elements, *arguments)
    assert explanation.copies == ()
    assert f"_i{8 * indices.itemsize}_" in explanation.spec
    kernel = scattergen.compile(f"scatter_elements_f32_i{8 * indices.itemsize}_r1a0_none")
    assert not difference(kernel(*arguments), want)
    with pytest.raises(DTypeError, match=r"updates is float64.*float32"):
        scattergen.scatter_elements(hold(DATA), hold(indices), hold(updates.astype(np.float64)))


def test_an_array_of_the_standard_library_is_typed() -> None:
    got = scattergen.scatter_elements(array.array("f", DATA), array.array("i", [1]), array.array("f", [9]))
    assert not difference(got, np.array([0, 9, 2, 3, 4, 5], np.float32))
    with pytest.raises(DTypeError, match="updates"):
        scattergen.scatter_elements(DATA, [1], array.array("d", [9]))


def test_nested_lists_and_numbers_take_the_type_that_fits() -> None:
    got = scattergen.scatter_nd(DATA.reshape(2, 3), [[[1, 2]], [[0, 0]]], [[7], [8]])
    assert not difference(got, np.array([[8, 1, 2], [3, 4, 7]], np.float32))
    with pytest.raises(DTypeError, match="data"):
        scattergen.scatter_elements([[1, 2], [3]], [[0]], [[1]])


def test_a_tensor_that_requires_grad_says_what_to_call() -> None:
    with pytest.raises(DTypeError, match=r"updates is a Tensor that requires grad; pass updates\.detach\(\)"):
        scattergen.scatter_elements(DATA, [0], Tensor(DATA[:1]))


@pytest.mark.parametrize(
    ("package", "call"),
    [("torch", r"data\.cpu\(\)"), ("jaxlib.xla", r"jax\.device_get\(data\)"), ("cupy", r"data\.get\(\)"), ("x", "CPU")],
)
def test_a_tensor_on_another_device_says_what_to_call(package: str, call: str) -> None:
    kind = type("Remote", (ByDLPack,), {"__module__": package, "device": "cuda:0"})
    with pytest.raises(TypeError, match=rf"data is a Remote that lies on cuda:0; pass .*{call}"):
        scattergen.scatter_elements(kind(DATA, 2), [0], [1])


def test_both_reasons_are_told_in_one_call() -> None:
    kind = type("Tensor", (ByDLPack,), {"__module__": "torch", "device": "cuda:1", "requires_grad": True})
    with pytest.raises(DTypeError, match=r"requires grad and lies on cuda:1; pass data\.detach\(\)\.cpu\(\)"):
        scattergen.scatter_elements(kind(DATA, 2), [0], [1])


def test_pinned_memory_is_memory_of_the_cpu() -> None:
    class Pinned(ByArray):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (3, 0)

    assert not difference(scattergen.scatter_elements(Pinned(DATA), [0], [0]), DATA)


def test_an_error_of_the_holder_is_told() -> None:
    class Broken:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise RuntimeError("it is lazy")

    with pytest.raises(DTypeError, match=r"indices is a Broken that NumPy cannot read: it is lazy"):
        scattergen.scatter_elements(DATA, Broken(), [0])


def test_subclasses_are_taken_or_refused_on_purpose(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "file", np.float32, "w+", shape=6)
    mapped[:] = DATA
    assert not difference(scattergen.scatter_elements(mapped, [0], [9]), np.array([9, 1, 2, 3, 4, 5], np.float32))
    assert scattergen.scatter_elements(mapped, [0], [9], out=mapped) is mapped
    assert mapped[0] == 9
    record = np.rec.fromarrays([DATA], names="value")
    assert not difference(scattergen.scatter_elements(record["value"], [0], [0]), DATA)
    for lost in (np.ma.masked_array(DATA, DATA > 3), DATA.view(Metres), DATA[None].view(np.matrix)):
        with pytest.raises(DTypeError, match=rf"data is a {type(lost).__name__}.*pass (data\.filled|np\.asarray)"):
            scattergen.scatter_elements(lost, np.zeros(lost.shape, int), np.zeros(lost.shape, np.float32))
        with pytest.raises(DTypeError, match="updates is a"):
            scattergen.scatter_elements(np.array(lost), np.zeros(lost.shape, int), lost)
        with pytest.raises(DTypeError, match="data is a"):
            scattergen.scatter_elements(ByArray(lost), np.zeros(lost.shape, int), np.zeros(lost.shape, np.float32))


def test_out_must_be_an_array() -> None:
    for out in (ByArray(DATA.copy()), memoryview(DATA.copy()), np.ma.masked_array(DATA)):
        with pytest.raises(DTypeError, match="out is a"):
            scattergen.scatter_elements(DATA, [0], [1], out=out)


@pytest.mark.parametrize(
    ("module", "advice"),
    [("torch", ": use out.numpy(), "), ("jaxlib.xla", "; use np.array(out)"), ("x", ", to write to")],
)
def test_what_to_write_to_instead(module: str, advice: str) -> None:
    tensor = type("Tensor", (), {"__module__": module})()
    calls = (
        lambda: scattergen.scatter_elements(DATA, [0], [1.0], out=tensor),
        lambda: scattergen.graph.scatter_sum(DATA, [0] * len(DATA), out=tensor),
    )
    for call in calls:
        with pytest.raises(DTypeError, match=rf"out is a Tensor, allowed is .*{re.escape(advice)}"):
            call()


def test_torch_without_a_copy() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: its tensors cannot be tried")
    data, updates = torch.arange(6, dtype=torch.float32), torch.tensor([7.0, 8.0])
    want = np.array([8, 1, 2, 3, 4, 7], np.float32)
    assert not difference(scattergen.scatter_elements(data, torch.tensor([5, -6]), updates), want)
    assert not difference(scattergen.scatter_elements(DATA, torch.tensor([5, -6], dtype=torch.int32), updates), want)
    for tensor in (data, data.to(torch.bfloat16), data > 2, data.to(torch.float16), data[::2].to(torch.bfloat16)):
        assert holders.as_array(tensor, "data", "").__array_interface__["data"][0] == tensor.data_ptr()
    half = data.to(torch.bfloat16)
    got = scattergen.scatter_elements(half, torch.tensor([5, -6]), updates.to(torch.bfloat16))
    assert not difference(got, want.astype(ml_dtypes.bfloat16))
    for tensor in (data, half):
        grad = tensor.clone().requires_grad_()
        with pytest.raises(DTypeError, match=r"Tensor that requires grad; pass data\.detach\(\)"):
            scattergen.scatter_elements(grad, [0], [1])
    expanded = torch.tensor([1, 0])[:, None].expand(2, 3)
    found = scattergen.explain(scattergen.scatter_elements, data.reshape(2, 3), expanded, data.reshape(2, 3))
    assert (found.form, found.copies) == ("slices", ())
    with pytest.raises(DTypeError, match="data is a Tensor that NumPy cannot read"):
        scattergen.scatter_elements(torch.ones(2, device="meta"), [0], [1])


def test_jax_without_a_copy() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed: its arrays cannot be tried")
    for dtype in (np.float32, ml_dtypes.bfloat16):
        data, updates = jax.numpy.asarray(DATA.astype(dtype)), jax.numpy.asarray(np.array([7, 8], dtype))
        got = scattergen.scatter_elements(data, jax.numpy.asarray(np.array([5, -6], np.int32)), updates)
        assert not difference(got, np.array([8, 1, 2, 3, 4, 7], dtype))
        read = holders.as_array(data, "data", "")
        assert read.__array_interface__["data"][0] == data.unsafe_buffer_pointer()


def test_an_ort_value_without_a_copy() -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: its values cannot be tried")
    value = runtime.OrtValue.ortvalue_from_numpy(DATA)
    got = scattergen.scatter_elements(value, np.array([5, -6]), np.array([7, 8], np.float32))
    assert not difference(got, np.array([8, 1, 2, 3, 4, 7], np.float32))
    assert holders.as_array(value, "data", "").__array_interface__["data"][0] == value.data_ptr()
