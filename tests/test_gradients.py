"""Gradients: small cases, the reference's loop bit for bit, finite differences, torch, layouts, threads, errors."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import layouts
import numpy as np
import pytest
import values
from bits import difference

import scattergen
from scattergen.arguments.arrays import Arguments
from scattergen.call import direct
from scattergen.call.calls import arguments_of
from scattergen.errors import DTypeError, IndexOutOfBounds, ScattergenError, ShapeError, SpecError
from scattergen.grad import backward, differentiated
from scattergen.lower import work
from scattergen.operators import dtypes, reference
from scattergen.operators.ops import REDUCTIONS

Array = np.ndarray[Any, Any]

STEPS = {
    "none": ["take"],
    "add": ["gather"],
    "mul": ["suffix", "prefix"],
    "max": ["ties", "share"],
    "min": ["ties", "share"],
}
"""The kernels that answer, by reduction."""

LAYOUTS = (layouts.plain, layouts.fortran, layouts.strided, layouts.negative, layouts.unaligned, layouts.packed,
           layouts.swapped, layouts.read_only)  # fmt: skip
TYPES = ("f16", "bf16", "f32", "f64", "c64", "c128")


class Small(NamedTuple):
    """A call by ScatterElements along axis 0, the gradient of its result, and those of its inputs."""

    report: str
    """The number of the public report that it comes from."""
    reduction: str
    data: list[Any]
    indices: Any
    updates: list[Any]
    grad: list[Any]
    of_data: list[Any]
    of_updates: list[Any]


SMALL = (
    Small("B73a", "add", [[1, 2, 3], [4, 5, 6]], [[1, 0]], [[7, 8]], [[1, 2, 3], [4, 5, 6]],
          [[1, 2, 3], [4, 5, 6]], [[4, 2]]),
    Small("B73b, nothing to scatter", "none", [1, 2], np.zeros(0, int), [], [3, 4], [3, 4], []),
    Small("B74a, a factor of 0", "mul", [2, 5], [0, 0], [0, 3], [10, 1], [0, 1], [60, 0]),
    Small("B74b, two of them", "mul", [2, 5], [0, 0, 1], [0, 0, 4], [10, 1], [0, 4], [0, 0, 5]),
    Small("B74c, in data", "mul", [0, 5], [0, 0], [3, 4], [1, 7], [12, 7], [0, 0]),
    Small("B74d, three that tie", "max", [5, 1], [0, 0, 1], [5, 5, 0], [6, 8], [2, 8], [2, 2, 0]),
    Small("B76a, data loses", "max", [-100, 7], [0, 0, 0], [1, 3, 2], [5, 1], [0, 1], [0, 5, 0]),
    Small("B76b, data wins", "min", [-3, 7], [0, 1], [4, 9], [5, 2], [5, 2], [0, 0]),
    Small("B79, overwritten", "none", [1, 2, 3], [1, 1, 0], [4, 5, 6], [10, 20, 30], [0, 0, 30], [0, 20, 10]),
    Small("B80b", "add", [0.5], [0, 0], [1, 2], [3], [3], [3, 3]),
    Small("B82, negative indices", "max", [1, 3, 4], [-3, -1], [2, 3], [2, 3, 5], [0, 3, 5], [2, 0]),
    Small("a NaN wins", "max", [1, np.nan], [0, 1, 1], [np.nan, 2, np.nan], [3, 8], [0, 4], [3, 0, 4]),
    Small("zeros tie", "min", [0.0], [0], [-0.0], [3], [1.5], [1.5]),
)  # fmt: skip


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.report)
@pytest.mark.parametrize("tag", ["f16", "bf16", "f32", "f64"])
def test_small_cases(case: Small, tag: str) -> None:
    grad, data, updates, *want = (
        np.array(part, np.float64).astype(values.DTYPES[tag])
        for part in (case.grad, case.data, case.updates, case.of_data, case.of_updates)
    )
    found = scattergen.gradients(
        scattergen.scatter_elements, grad, data, np.array(case.indices), updates, 0, case.reduction
    )
    assert not difference(found.data, want[0]) and not difference(found.updates, want[1])


def targets(arguments: Arguments) -> Array:
    """Return the targets of a call by the reference's functions, which the package itself does not go by."""
    shape, indices, spec = arguments.data.shape, arguments.indices, arguments.spec
    if spec.op.addressing == "axis":
        return reference.element_targets(shape, indices, spec.place)
    return reference.tuple_targets(shape, indices)


class Call(NamedTuple):
    """A call of an operator and the gradient of its result."""

    function: Callable[..., Any]
    grad: Array
    data: Array
    indices: Array
    updates: Array
    attributes: dict[str, Any]

    def gradients(self, **more: Any) -> differentiated.Gradients:
        return scattergen.gradients(
            self.function, self.grad, self.data, self.indices, self.updates, **self.attributes, **more
        )

    def expected(self) -> tuple[Array, Array]:
        """Return what the loop gives, which sees no layouts, threads or steps."""
        arguments, _ = arguments_of("a test", self.function, self.data, self.indices, self.updates, **self.attributes)
        dtype, reduction = dtypes.native(self.data.dtype), self.attributes["reduction"]
        wide = np.dtype(np.float32) if dtype.itemsize == 2 and reduction in ("mul", "max", "min") else dtype
        parts = [
            np.array(array, order="C").astype(dtype).astype(wide) for array in (self.grad, self.data, self.updates)
        ]
        for part in parts[1:]:
            np.conjugate(part, out=part) if part.dtype.kind == "c" else None
        found = reference.gradients(*parts, targets(arguments), reduction)
        with np.errstate(all="ignore"):
            return found[0].astype(dtype), found[1].astype(dtype)


def along_axis(chance: np.random.Generator, dtype: np.dtype[Any], reduction: str) -> Call:
    shape = tuple(chance.integers(1, 6, chance.integers(1, 5)).tolist())
    axis = int(chance.integers(len(shape)))
    extents = tuple(
        int(chance.integers(0, 12) if dim == axis else chance.integers(1, n + 1)) for dim, n in enumerate(shape)
    )
    own = extents[: axis + 1] + tuple(1 if chance.random() < 0.5 else n for n in extents[axis + 1 :])
    indices = np.broadcast_to(chance.integers(-shape[axis], shape[axis], own), extents)
    if own == extents:
        indices = indices.astype(np.int32 if chance.random() < 0.5 else np.int64)
    return _call(
        chance, scattergen.scatter_elements, dtype, shape, indices, extents, {"axis": axis, "reduction": reduction}
    )


def by_tuples(chance: np.random.Generator, dtype: np.dtype[Any], reduction: str) -> Call:
    shape = tuple(chance.integers(1, 6, chance.integers(1, 5)).tolist())
    depth = min(len(shape), int(chance.integers(0, 3)))  # kernels of all depths are in kernel_calls.py
    batch = tuple(chance.integers(0, 5, chance.integers(0, 3)).tolist())
    sizes = np.array(shape[:depth], int)
    indices = np.array(chance.integers(-sizes, sizes, (*batch, depth)))
    return _call(chance, scattergen.scatter_nd, dtype, shape, indices, batch + shape[depth:], {"reduction": reduction})


def _call(
    chance: np.random.Generator,
    function: Callable[..., Any],
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    indices: Array,
    extents: tuple[int, ...],
    attributes: dict[str, Any],
) -> Call:
    grad, data, updates = (values.elements(chance, size, dtype, 0.1) for size in (shape, shape, extents))
    if data.size:
        updates[chance.random(extents) < 0.3] = data.reshape(-1)[0]  # ties
    lays = [
        LAYOUTS[int(chance.integers(len(LAYOUTS)))] if array.ndim else layouts.plain for array in (grad, data, updates)
    ]
    if 0 not in indices.strides and chance.random() < 0.5:
        indices = LAYOUTS[int(chance.integers(len(LAYOUTS)))](indices)
    return Call(
        function,
        *(lay(array) for lay, array in zip(lays[:2], (grad, data), strict=True)),
        indices,
        lays[2](updates),
        attributes,
    )


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have threads pay at once."""
    monkeypatch.setattr(work, "THREAD_PAYS", 1)
    monkeypatch.setattr(backward, "LEAST_PART", 1)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Give the steps that kernels take, and how many threads each has."""
    steps: list[str] = []
    run = direct.run

    def watched(have: Any, layout: Any, number: int, *arrays: Any) -> int:
        if have.spec.form.name == "grad":
            steps.append(have.spec.operation)
        return run(have, layout, number, *arrays)

    monkeypatch.setattr(direct, "run", watched)
    return steps


@pytest.mark.parametrize("make", [along_axis, by_tuples])
@pytest.mark.parametrize("tag", TYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_every_bit_is_that_of_the_loop(make: Any, tag: str, reduction: str, eager: None, answered: list[str]) -> None:
    if tag[0] == "c" and reduction in ("max", "min"):
        pytest.skip("complex numbers have no order")
    chance = np.random.default_rng([REDUCTIONS.index(reduction), TYPES.index(tag), make is by_tuples])
    for turn in range(40):
        call = make(chance, values.DTYPES[tag], reduction)
        inputs = [array.tobytes() for array in call[1:5]]
        more = {"result": call.function(*call[2:5], **call.attributes)} if turn % 3 == 0 else {}
        answered.clear()
        found = call.gradients(threads=1 + turn % 3, **more)
        assert answered == (STEPS[reduction] if call.updates.size else [])
        for got, want in zip(found, call.expected(), strict=True):
            assert not difference(got, want), (call, difference(got, want))
            assert got.flags.writeable and got.flags.c_contiguous
            assert not any(np.shares_memory(got, array) for array in call[1:5])
        assert [array.tobytes() for array in call[1:5]] == inputs


@pytest.mark.parametrize("shape", [(9000,), (4, 2500)], ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_targets_that_are_fetched_ahead(reduction: str, shape: tuple[int, ...], answered: list[str]) -> None:
    chance, axis = np.random.default_rng(6), len(shape) - 1
    extents = (*shape[:axis], 4000)
    indices = chance.integers(-shape[axis], shape[axis], extents)
    call = _call(
        chance, scattergen.scatter_elements, np.dtype(np.float64), shape, indices, extents,
        {"axis": axis, "reduction": reduction},
    )  # fmt: skip
    for got, want in zip(call.gradients(), call.expected(), strict=True):
        assert not difference(got, want)
    assert answered == STEPS[reduction]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    ("shape", "extents", "own", "axis"),
    [
        ((90_000,), (120_000,), (120_000,), 0),
        ((300, 700), (500, 650), (500, 650), 0),
        ((300, 700), (250, 900), (250, 900), 1),
        ((3000, 64), (5000, 64), (5000, 1), 0),
        ((40, 3000), (90, 3000), (90, 1), 0),
        ((9, 70, 300), (9, 110, 300), (9, 110, 1), 1),
    ],
    ids=str,
)
def test_the_number_of_threads_changes_no_bit(
    shape: tuple[int, ...], extents: tuple[int, ...], own: tuple[int, ...], axis: int, reduction: str
) -> None:
    chance = np.random.default_rng(len(shape))
    grad, data, updates = (chance.integers(-3, 4, size).astype(np.float32) for size in (shape, shape, extents))
    indices = np.broadcast_to(chance.integers(-shape[axis], shape[axis], own), extents)
    every = [
        scattergen.gradients(scattergen.scatter_elements, grad, data, given, updates, axis, reduction, threads=threads)
        for threads in (1, 2, 3, 7)
        for given in (indices, np.array(indices))  # the second repeats in memory, and is recognised where it is large
    ]
    assert len({(found.data.tobytes(), found.updates.tobytes()) for found in every}) == 1


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_they_are_those_of_finite_differences(reduction: str) -> None:
    chance, step = np.random.default_rng(3), 1e-6
    data, updates, grad = (chance.uniform(0.5, 2, shape) for shape in ((3, 4), (5, 4), (3, 4)))
    indices = chance.integers(0, 3, (5, 4))
    found = scattergen.gradients(scattergen.scatter_elements, grad, data, indices, updates, 0, reduction)

    def loss() -> float:
        return float((grad * scattergen.scatter_elements(data, indices, updates, 0, reduction)).sum())

    for array, gradient in ((data, found.data), (updates, found.updates)):
        for place in np.ndindex(array.shape):
            kept = array[place]
            array[place] = kept + step
            more = loss()
            array[place] = kept - step
            assert gradient[place] == pytest.approx((more - loss()) / (2 * step), abs=1e-7), (place, reduction)
            array[place] = kept


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_they_are_those_of_torch(reduction: str, dtype: str) -> None:
    import torch

    if dtype[0] == "c" and reduction != "add" and reduction != "mul":
        pytest.skip("complex numbers have no order")
    chance = np.random.default_rng(4)
    shapes = ((5, 6), (9, 6), (5, 6))
    data, updates, grad = (chance.integers(-2, 3, shape).astype(dtype) for shape in shapes)
    if dtype[0] == "c":
        data, updates, grad = (array + 1j * chance.integers(1, 3, array.shape) for array in (data, updates, grad))
    indices = chance.integers(0, 5, (9, 6))
    start, given = (torch.tensor(array, requires_grad=True) for array in (data, updates))
    name = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    if dtype[0] == "c" and reduction == "mul":  # which scatter_reduce does not take: row by row
        result, rows = start, torch.arange(6)
        for row, index in zip(given, torch.from_numpy(indices), strict=True):
            factor = torch.ones_like(start).index_put((index, rows), row)
            result = result * factor
    elif reduction == "add":
        result = start.scatter_add(0, torch.from_numpy(indices), given)
    else:
        result = start.scatter_reduce(0, torch.from_numpy(indices), given, name)
    want = torch.autograd.grad(result, (start, given), torch.from_numpy(grad))
    found = scattergen.gradients(scattergen.scatter_elements, grad, data, indices, updates, 0, reduction)
    for got, theirs in zip(found, want, strict=True):
        np.testing.assert_allclose(got, theirs.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_the_example_for_torch() -> None:
    example = Path(__file__).resolve().parent.parent / "docs" / "examples" / "torch_autograd.py"
    ended = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False)
    assert ended.stdout.split() == ["True", "True"], ended.stderr


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_a_cache_has_none_where_it_is_overwritten(mode: str) -> None:
    chance = np.random.default_rng(5)
    grad, cache, update = (chance.random(shape, np.float32) for shape in ((2, 3, 8, 4), (2, 3, 8, 4), (2, 3, 3, 4)))
    starts = np.array([2, 5 if mode == "linear" else 7])
    found = scattergen.gradients(scattergen.tensor_scatter, grad, cache, update, starts, mode=mode)
    left, taken = grad.copy(), np.empty_like(update)
    for entry, start in enumerate(starts):
        for place in range(3):
            taken[entry, :, place] = grad[entry, :, (start + place) % 8]
            left[entry, :, (start + place) % 8] = 0
    assert not difference(found.data, left) and not difference(found.updates, taken)
    with pytest.raises(IndexError, match="write_indices"):
        scattergen.gradients(scattergen.tensor_scatter, grad, cache, update, np.array([0, 6]), mode="linear")


def test_more_ties_than_32_bits_count_are_counted_in_64(monkeypatch: pytest.MonkeyPatch, answered: list[str]) -> None:
    call = (scattergen.scatter_elements, np.float32([1, 7]), np.float32([5, 1]), [0, 0, 1], np.float32([5, 5, 0]))
    want = scattergen.gradients(*call, reduction="max")
    monkeypatch.setattr(differentiated, "MOST_TIES", 2)
    names: list[str] = []
    kernel = direct.kernel
    monkeypatch.setattr(direct, "kernel", lambda *given: (names.append(given[1].tag), kernel(*given))[1])
    found = scattergen.gradients(*call, reduction="max")
    assert names == ["f64", "f64"] and answered == ["ties", "share"] * 2
    assert not difference(found.data, want.data) and not difference(found.updates, want.updates)


def test_a_circular_start_may_be_any_number() -> None:
    for start in (2**63 - 1, -(2**63), -1, 12):
        cache, update = np.zeros((1, 5)), np.arange(3.0)[None]
        grad = np.arange(1.0, 6)[None]
        written = scattergen.tensor_scatter(cache, update + 1, np.array([start]), axis=1, mode="circular") > 0
        found = scattergen.gradients(
            scattergen.tensor_scatter, grad, cache, update, np.array([start]), axis=1, mode="circular"
        )
        assert sorted(found.updates[0]) == grad[written].tolist() and not found.data[written].any()


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_any_rank(reduction: str) -> None:
    shape = (1,) * 63 + (3,)
    data, indices = np.ones(shape), np.zeros(shape, int)
    found = scattergen.gradients(scattergen.scatter_elements, data, data, indices, data, -1, reduction)
    assert found.data.shape == found.updates.shape == shape


def test_numpys_own_settings_for_errors_do_not_count() -> None:
    signalling = np.array([0x7F800001], np.uint32).view(np.float32)
    for grad in (signalling, np.float32([1e-45])):
        with np.errstate(all="raise"):
            for reduction in ("mul", "max"):
                one = np.ones(1, np.float32)
                scattergen.gradients(
                    scattergen.scatter_elements, grad, one, [0, 0], np.ones(2, np.float32), 0, reduction
                )


def test_complex_numbers_at_an_address_for_floats_alone() -> None:
    room = np.zeros(9, np.float32)
    start = 1 if room.ctypes.data % 8 == 0 else 0
    grad = room[start : start + 8].view(np.complex64)
    grad[:] = np.arange(4) + 1j
    found = scattergen.gradients(scattergen.scatter_elements, grad, grad, [2, 0], grad[:2], 0, "add")
    assert grad.flags.aligned and found.updates.tolist() == [2 + 1j, 1j]


@pytest.mark.parametrize("given", [["1", "2", "3"], [1j, 1, 1], [np.datetime64("2020-01-01")] * 3, [object()] * 3])
@pytest.mark.parametrize("name", ["grad", "result"])
def test_lists_are_held_to_the_rules_for_updates(name: str, given: Any) -> None:
    more = {"grad": np.ones(3, np.float32), "result": np.ones(3, np.float32), name: given}
    with pytest.raises(DTypeError, match=name):
        scattergen.gradients(
            scattergen.scatter_elements, more["grad"], np.ones(3, np.float32), [0], np.ones(1, np.float32), 0, "max",
            result=more["result"],
        )  # fmt: skip


def test_lists_and_a_result_that_is_given() -> None:
    found = scattergen.gradients(
        scattergen.scatter_nd, [1.0, 2.0], np.array([3.0, 4.0]), [[1], [1]], [4.0, 4.0], "max", result=[3.0, 4.0]
    )
    assert found.data.tolist() == [1, 2 / 3] and found.updates.tolist() == [2 / 3, 2 / 3]
    data, updates = found
    assert data is found.data and updates is found.updates


F = np.zeros((2, 3), np.float32)
AT = np.zeros((1, 3), int)
WHOLE, TEXT = F.astype(int), F.astype(str).astype(object)


@pytest.mark.parametrize(
    ("error", "match", "arguments", "more"),
    [
        (IndexOutOfBounds, r"ScatterElements.*\[0, 1\] is 2", (F, F, [[0, 2, 0]], F[:1]), {}),
        (IndexOutOfBounds, r"ScatterElements.*\[0, 1\] is -3", (F, F, [[0, -3, 0]], F[:1]), {"reduction": "max"}),
        (IndexOutOfBounds, "ScatterElements", (F, F, [[0, 2, 0]], F[:1]), {"reduction": "mul"}),
        (ShapeError, "grad has shape", (F[:1], F, AT, F[:1]), {}),
        (DTypeError, "grad is float64", (F.astype(float), F, AT, F[:1]), {}),
        (ShapeError, "result has shape", (F, F, AT, F[:1]), {"reduction": "max", "result": F[:1]}),
        (DTypeError, "data is int64, gradients are of floats", (WHOLE, WHOLE, AT, WHOLE[:1]), {}),
        (DTypeError, "data is object", (TEXT, TEXT, AT, TEXT[:1]), {}),
        (SpecError, "out=", (F, F, AT, F[:1]), {"out": F.copy()}),
        (SpecError, "duplicates", (F, F, AT, F[:1]), {"duplicates": "refuse"}),
        (SpecError, "reduction='mean'", (F, F, AT, F[:1]), {"reduction": "mean"}),
        (ShapeError, "updates", (F, F, AT, F), {}),
        (TypeError, "unexpected", (F, F, AT, F[:1]), {"axes": 1}),
    ],
)  # fmt: skip
def test_errors(error: type[Exception], match: str, arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    with pytest.raises(error, match=match):
        scattergen.gradients(scattergen.scatter_elements, *arguments, **more)


def test_another_function_is_refused_by_name() -> None:
    with pytest.raises(ScattergenError, match=r"gradients takes one of scattergen\.scatter, "):
        scattergen.gradients(np.add, F, F, AT, F)


def test_bad_indices_are_found_where_nothing_is_updated() -> None:
    data, indices = np.zeros((2, 0), np.float32), np.array([[5]])
    with pytest.raises(IndexOutOfBounds):
        scattergen.gradients(scattergen.scatter_nd, data, data, indices, np.zeros((1, 0), np.float32))


def test_without_a_compiler_the_reference_answers(tmp_path: Path) -> None:
    text = """
import warnings, numpy as np, scattergen
warnings.simplefilter("ignore")
found = [
    scattergen.gradients(scattergen.scatter_elements, *map(np.float16, ([10, 1], [2, 5])), [0, 0, 1],
                         np.float16([3, 7, 2]), 0, reduction)
    for reduction in ("none", "add", "mul", "max", "min")
]
print([[part.tolist() for part in one] for one in found])
try:
    scattergen.gradients(scattergen.scatter_nd, np.ones(2), np.ones(2), [[2]], [1.0])
except IndexError as error:
    print(error)
"""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCATTERGEN_") and name != "CC"}
    said = []
    for own in ({"SCATTERGEN_CC": str(tmp_path / "none"), "SCATTERGEN_CACHE_DIR": str(tmp_path / "s")}, {}):
        command = [sys.executable, "-c", text]
        ended = subprocess.run(command, env={**kept, **own}, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        said.append(ended.stdout)
    assert said[0] == said[1] and "ScatterND" in said[0]


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_more_ties_than_a_float32_counts_are_divided_by_in_float64(
    monkeypatch: pytest.MonkeyPatch, reduction: str
) -> None:
    chance = np.random.default_rng(7)
    grad, data = chance.random((2, 40), np.float32)
    indices, updates = chance.integers(0, 40, 500), chance.integers(0, 2, 500).astype(np.float32)
    call = (scattergen.scatter_elements, grad, np.round(data), indices, updates, 0, reduction)
    want = scattergen.gradients(*call)
    monkeypatch.setattr(differentiated, "MOST_IN_FLOAT32", 0)
    monkeypatch.setattr(differentiated, "_PART", 7)
    for got, wanted in zip(scattergen.gradients(*call), want, strict=True):
        assert not difference(got, wanted)
