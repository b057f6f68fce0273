"""What kernels get to see: a sample of kernels, and for each the calls that the planner sends to it.

A call is kept as blocks of bytes, so that it can be given to a kernel of any compiler, in this process or another.
"""

from __future__ import annotations

import ctypes
import dataclasses
import math
import random
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from typing import Any, TypeAlias
from unittest import mock

import layouts
import numpy as np
import product
import values
from bits import difference
from scenarios import SCENARIOS, Scenario

from scattergen.arguments import arrays
from scattergen.call import plan
from scattergen.common import config
from scattergen.errors import CompilerNotFound
from scattergen.grad import backward
from scattergen.graph import extremes, steps
from scattergen.load import _abi
from scattergen.lower import lower
from scattergen.lower.kernel import KernelSpec
from scattergen.operators import reference
from scattergen.operators.dtypes import DTYPES, ELEMENTS, INDEX_TYPES, DType
from scattergen.operators.ops import OPS, REDUCTIONS
from scattergen.operators.spec import OpSpec

Array: TypeAlias = "np.ndarray[Any, Any]"

DEPTHS = (0, 1, 2, 3)

MORE = (
    Scenario("nd-k0-whole", ("elements",), (1,), (70, 0)),
    Scenario("nd-k0-batches", ("slices",), (5, 4), (30, 2, 0)),
    Scenario("nd-k1-slices", ("slices",), (7, 6), (30, 5, 1)),
    Scenario("nd-k1-elements", ("elements",), (40,), (1100, 1)),
    Scenario("nd-k2-slices", ("slices",), (4, 5, 6), (1030, 2)),
    Scenario("nd-k3-slices", ("slices",), (3, 4, 5, 6), (90, 3)),
    Scenario("nd-k3-elements", ("elements",), (3, 4, 5), (1030, 3), style="ends"),
)
"""Shapes that only matter here: each form that has a depth, at depths 0 to 3."""

WINDOWS = (
    ((3, 4, 20, 6), 5, 2),
    ((2, 3, 9, 4), 1, 2),
    ((2, 3, 40), 7, 2),
    ((3, 9, 5), 9, 1),
    ((5, 7), 3, 1),
    ((2, 2, 3, 4, 5), 2, 3),
    ((1, 300, 8), 200, 1),
)
"""Shape of a cache, positions written, axis."""

LAYOUTS = {
    name: lays
    for name, lays in product.LAYOUTS.items()
    if not {layouts.swapped, layouts.read_only} & set(lays)  # the planner gets to see neither
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A kernel, and a tensor type and reduction that need it."""

    kernel: KernelSpec
    dtype: DType
    reduction: str

    def __str__(self) -> str:
        return str(self.kernel)


@lru_cache(maxsize=1)
def sample() -> tuple[Wanted, ...]:
    """Return a kernel for each form, kind of element and depth; element, index type and operation take turns."""
    groups: dict[tuple[str, str, int], dict[str, Wanted]] = {}
    for wanted in _all():
        kernel = wanted.kernel
        groups.setdefault((kernel.form.name, kernel.element.kind, kernel.depth), {})[str(wanted)] = wanted
    turns: dict[str, Iterator[int]] = {}
    chosen = []
    for (_, kind, _), found in sorted(groups.items()):
        turn = next(turns.setdefault(kind, count()))
        chosen.append(list(found.values())[turn * 7 % len(found)])
    return tuple(chosen)


def small_sample() -> tuple[Wanted, ...]:
    """Return a kernel for each form and kind of element; depths take turns."""
    groups: dict[tuple[str, str], list[Wanted]] = {}
    for wanted in sample():
        groups.setdefault((wanted.kernel.form.name, wanted.kernel.element.kind), []).append(wanted)
    return tuple(found[turn % len(found)] for turn, found in enumerate(groups.values()))


def _all() -> Iterator[Wanted]:
    for depth in DEPTHS:
        for dtype in ELEMENTS:
            for index in INDEX_TYPES:
                for reduction in REDUCTIONS:
                    if dtype.kind != "complex" or reduction not in ("max", "min"):
                        spec = OpSpec(
                            op=OPS["scatter_nd"],
                            dtype=dtype,
                            index=index,
                            rank=4,
                            place=depth,
                            reduction=reduction,
                            opset=18,
                        )
                        for kernel in lower.variants(spec):
                            yield Wanted(kernel, dtype, reduction)
    for dtype in ELEMENTS:
        for index in INDEX_TYPES:
            for mode in ("linear", "circular"):
                spec = OpSpec(op=OPS["tensor_scatter"], dtype=dtype, index=index, rank=4, place=2, opset=24, mode=mode)
                for kernel in lower.variants(spec):
                    yield Wanted(kernel, dtype, "none")


@dataclass(frozen=True, slots=True)
class Block:
    """The memory of an array: no byte more than its elements span."""

    raw: bytes
    lead: int
    """The address of the first byte, modulo 16."""
    offset: int
    """Where in `raw` the first element is."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, array: Array) -> Block:
        """Return the memory of an array."""
        view = (array.shape, array.dtype, array.strides)
        if not array.size:
            return cls(b"", 0, 0, *view)
        low, high = np.lib.array_utils.byte_bounds(array)
        return cls(ctypes.string_at(low, high - low), low % 16, array.__array_interface__["data"][0] - low, *view)

    def array(self, raw: bytes | bytearray | Array) -> Array:
        """Return the array that lies in a copy of this memory."""
        return np.ndarray(self.shape, self.dtype, raw, self.offset, self.strides)

    def with_value(self, place: Any, value: Any) -> Block:
        """Return the memory with another value at a place of the array; an array for all of it, by ``...``."""
        raw = bytearray(self.raw)
        self.array(raw)[place] = value
        return dataclasses.replace(self, raw=bytes(raw))

    def memory(self) -> tuple[Array, int]:
        """Return a fresh copy of the block and the address of the first element in it."""
        room = np.zeros(len(self.raw) + 32, np.uint8)
        start = -room.ctypes.data % 16 + self.lead
        room[start : start + len(self.raw)] = np.frombuffer(self.raw, np.uint8)
        return room[start : start + len(self.raw)], room.ctypes.data + start + self.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCall:
    """What a kernel is called with, and what it has to do."""

    name: str
    kernel: KernelSpec
    layout: tuple[int, ...]
    out: Block
    data: Block | None
    indices: Block
    updates: Block
    want: Block
    """What `out` is afterwards; undefined where an index is bad."""
    sizes: tuple[int, ...]
    """The size of the dim of each index component."""
    tuples: bool
    bad: bool = False

    def spoiled(self) -> Iterator[KernelCall]:
        """Yield this call with an index out of bounds: at either end of the type, and next to those of the dim."""
        if not self.sizes:
            return
        chance = random.Random(zlib.crc32(self.name.encode()))
        bounds = np.iinfo(self.indices.dtype)
        for what in ("least", "most", "size", "below"):
            place = tuple(chance.randrange(extent) for extent in self.indices.shape)
            size = self.sizes[place[-1] if self.tuples else 0]
            value = {"least": bounds.min, "most": bounds.max, "size": size, "below": -size - 1}[what]
            yield dataclasses.replace(
                self,
                name=f"{self.name}, {value} at {list(place)}",
                indices=self.indices.with_value(place, value),
                bad=True,
            )


@contextmanager
def nothing_built() -> Iterator[None]:
    """Let plans name kernels and layouts, as they do on a machine without a compiler, and build nothing."""
    refuse = mock.Mock(side_effect=CompilerNotFound("no kernel is built here"))
    before = config.settings()
    config.use(before._replace(fallback="reference"))
    plan.forget()
    try:
        with mock.patch.object(plan, "ready", refuse), mock.patch.object(plan, "_warned", True):
            yield
    finally:
        config.use(before)
        plan.forget()


def calls(wanted: Wanted, most: int, special: float = 0.0) -> list[KernelCall]:
    """Return up to `most` calls that the planner sends to a kernel; `special` is the share of special values.

    A kernel that no scenario is planned as is a failure: what has been added needs a scenario.
    """
    kernel = wanted.kernel
    chance = random.Random(zlib.crc32(str(kernel).encode()))
    if kernel.form.name in ("windows", "rings"):
        return _window_calls(wanted, most, chance)
    fitting = [s for s in (*SCENARIOS, *MORE) if s.depth == kernel.depth and s.entries]
    tries = [(scenario, name, fresh) for scenario in fitting for name in LAYOUTS for fresh in (True, False)]
    chance.shuffle(tries)
    found: list[KernelCall] = []
    for small in (True, False):  # every schedule on the small machine; the usual sizes on the other
        enough = len(found) + most // 2
        with product.small_machine() if small else nullcontext(), nothing_built():
            for scenario, name, fresh in tries:
                title = f"{kernel} on {scenario.name}, {name}, {'fresh' if fresh else 'in place'}"
                if len(found) < enough and all(call.name != title for call in found):
                    where = (scenario, name, wanted.dtype, kernel.index, wanted.reduction)
                    if _form(*where, fresh, small) == kernel.form.name:
                        found.append(_call(*where, fresh, title, special))
    assert found, f"no call of tests/scenarios.py in any layout is planned as {kernel}: add one that is"
    assert all(call.kernel == kernel for call in found)
    return found


def _window_calls(wanted: Wanted, most: int, chance: random.Random) -> list[KernelCall]:
    tries = [(*window, name, fresh) for window in WINDOWS for name in LAYOUTS for fresh in (True, False)]
    chance.shuffle(tries)
    found: list[KernelCall] = []
    for small in (True, False):
        with product.small_machine() if small else nullcontext(), nothing_built():
            made = (_window_call(wanted, *each, small) for each in tries[small::2])
            found += islice((call for call in made if call is not None), most // 2)
    assert found, f"no window of WINDOWS in any layout is planned as {wanted.kernel}: add one that is"
    assert all(call.kernel == wanted.kernel for call in found)
    return found


def _window_call(
    wanted: Wanted, shape: tuple[int, ...], length: int, axis: int, layout: str, fresh: bool, small: bool
) -> KernelCall | None:
    """Return a call of TensorScatter; None where a kernel cannot copy `data` as `fresh` wants."""
    mode, dtype, size = "linear" if wanted.kernel.form.name == "windows" else "circular", wanted.dtype, shape[axis]
    machine = "a small machine" if small else "this machine"
    written = (*shape[:axis], length, *shape[axis + 1 :])
    title = f"{wanted.kernel} on {shape} by {written}, {layout}, {'fresh' if fresh else 'in place'}, {machine}"
    chance = np.random.default_rng(zlib.crc32(title.encode()))
    low, high = (0, size - length + 1) if mode == "linear" else (-3 * size, 3 * size)
    made = (
        values.elements(chance, shape, dtype.numpy, 0.0),
        chance.integers(low, high, shape[:1]).astype(wanted.kernel.index.numpy),
        values.elements(chance, written, dtype.numpy, 0.0),
    )
    lays = LAYOUTS[layout]
    cache, starts, update = (lay(array) for lay, array in zip(lays, made, strict=True))
    cache = cache.copy() if 0 in cache.strides else cache
    op = OPS["tensor_scatter"]
    arguments = arrays.prepare(op, 24, axis, "none", cache, starts, update, None, mode)
    target = cache.copy() if lays[0] is layouts.broadcast else lays[0](cache)
    if fresh and not (target.flags.forc and target.flags.aligned and target.strides == cache.strides):
        return None
    found = plan.plan(arguments, target, fresh, None)
    out = Block.of(target)
    return KernelCall(
        name=title,
        kernel=found.kernel,
        layout=found.layout,
        out=dataclasses.replace(out, raw=b"\xa5" * len(out.raw)) if fresh else out,
        data=Block.of(cache) if fresh else None,
        indices=Block.of(starts),
        updates=Block.of(update),
        want=out.with_value(..., reference.tensor_scatter(cache, starts, update, axis, mode)),
        sizes=(size - length + 1,) if mode == "linear" else (),
        tuples=False,
    )


_forms: dict[tuple[object, ...], str] = {}


def _form(scenario: Scenario, layout: str, dtype: DType, index: DType, reduction: str, fresh: bool, small: bool) -> str:
    """Return the form that a call is planned as; ``""`` where a kernel cannot copy `data` as `fresh` wants."""
    key = (scenario.name, layout, dtype.tag, index.tag, reduction == "none", fresh, small)
    if key not in _forms:
        arguments, target = _arguments(scenario, layout, dtype, index, reduction, None, 0.0)
        copied = target.flags.forc and target.flags.aligned and target.strides == arguments.data.strides
        form = plan.plan(arguments, target, fresh, None).kernel.form.name if copied or not fresh else ""
        _forms[key] = form
    return _forms[key]


def _arguments(
    scenario: Scenario,
    layout: str,
    dtype: DType,
    index: DType,
    reduction: str,
    chance: np.random.Generator | None,
    special: float,
) -> tuple[arrays.Arguments, Array]:
    """Return the arguments of a call, with values where there is a `chance`, and the array to write to."""
    if chance is None:
        data, updates = np.zeros(scenario.data, dtype.numpy), np.zeros(scenario.updates, dtype.numpy)
        own = scenario.shape[: len(scenario.shape) - scenario.expand] + (1,) * scenario.expand
        indices = np.broadcast_to(np.zeros(own, index.numpy), scenario.shape)
    else:
        data = values.elements(chance, scenario.data, dtype.numpy, special)
        updates = values.elements(chance, scenario.updates, dtype.numpy, special)
        indices = scenario.make_indices(chance, index.numpy)
    lays = LAYOUTS[layout]
    data, indices, updates = (lay(array) for lay, array in zip(lays, (data, indices, updates), strict=True))
    if 0 in data.strides:
        data = data.copy()
    op, place = (OPS["scatter_nd"], None) if scenario.tuples else (OPS["scatter_elements"], scenario.axis)
    arguments = arrays.prepare(op, 18, place, reduction, data, indices, updates, None)
    return arguments, data.copy() if lays[0] is layouts.broadcast else lays[0](data)


def _call(
    scenario: Scenario,
    layout: str,
    dtype: DType,
    index: DType,
    reduction: str,
    fresh: bool,
    title: str,
    special: float,
) -> KernelCall:
    chance = np.random.default_rng(zlib.crc32(title.encode()))
    arguments, target = _arguments(scenario, layout, dtype, index, reduction, chance, special)
    data, indices, updates = arguments.data, arguments.indices, arguments.updates
    found = plan.plan(arguments, target, fresh, None)
    if scenario.tuples:
        want = reference.scatter_nd(data, indices, updates, reduction)
    else:
        want = reference.scatter_elements(data, indices, updates, scenario.axis, reduction)
    out, given = Block.of(target), None
    if fresh:
        given = Block.of(data)
        out = dataclasses.replace(out, raw=b"\xa5" * len(out.raw))
    return KernelCall(
        name=title,
        kernel=found.kernel,
        layout=found.layout,
        out=out,
        data=given,
        indices=Block.of(indices),
        updates=Block.of(updates),
        want=out.with_value(..., want),
        sizes=scenario.data[: scenario.depth] if scenario.tuples else (scenario.data[scenario.axis],),
        tuples=scenario.tuples,
    )


HELPING = (
    "flat_f16_i64_convert",
    "flat_bf16_i64_convert",
    "extremes_f32_i64_argmax",
    "extremes_f64_i32_argmin",
    "extremes_i8_i64_argmin",
    "extremes_u64_i32_argmax",
    "extremes_f16_i32_argmin",
    "extremes_bf16_i64_argmax",
    "grad_w32_i64_k1_gather",
    "grad_w16_i32_k0_gather",
    "grad_w128_i32_k2_take",
    "grad_w64_i64_k1_take",
    "grad_f32_i64_k1_suffix",
    "grad_c64_i32_k1_suffix",
    "grad_f64_i32_k3_prefix",
    "grad_c128_i64_k1_prefix",
    "grad_f32_i32_k1_ties",
    "grad_f64_i64_k2_ties",
    "grad_f32_i64_k1_share",
    "grad_f64_i32_k0_share",
)
"""Kernels that help along: each form with every kind of element that it is for, and each operation."""


@lru_cache(maxsize=1)
def helping() -> dict[KernelSpec, list[KernelCall]]:
    """Return calls of the kernels that help along, which no plan names."""
    found: dict[KernelSpec, list[KernelCall]] = {}
    for name in HELPING:
        spec, chance = KernelSpec.parse(name), np.random.default_rng(zlib.crc32(name.encode()))
        found[spec] = [*_HELPING[spec.form.name](spec, chance)]
    return found


def _conversions(spec: KernelSpec, chance: np.random.Generator) -> Iterator[KernelCall]:
    dtype = spec.element.numpy
    for size, special in ((1, 0.0), (7, 0.5), (8, 0.5), (3000, 0.1), (2500, 0.0)):
        halves = values.elements(chance, (size,), dtype, special)
        floats = (halves.astype(np.float32) * np.float32(1.001)).astype(np.float32)
        with np.errstate(all="ignore"):
            rounded = floats.astype(dtype)
        settled = np.where(np.isnan(halves), halves, rounded)
        for what, out, data, updates, want in (
            ("widened", np.empty_like(floats), None, halves, halves.astype(np.float32)),
            ("narrowed", np.empty_like(halves), None, floats, rounded),
            ("settled", np.empty_like(halves), halves, floats, settled),
        ):
            yield KernelCall(
                name=f"{spec}, {size} {what}",
                kernel=spec,
                layout=(size, int(what == "widened")),
                out=Block.of(out),
                data=None if data is None else Block.of(data),
                indices=Block.of(np.zeros(0, np.int64)),
                updates=Block.of(updates),
                want=Block.of(want),
                sizes=(),
                tuples=False,
            )


def _extremes(spec: KernelSpec, chance: np.random.Generator) -> Iterator[KernelCall]:
    name = spec.operation.removeprefix("arg")
    for number, (shape, dim, size, own) in enumerate(
        (
            ((1,), 0, 1, (1,)),
            ((2000,), 0, 60, (2000,)),
            ((1100, 40), 0, 50, (1100, 1)),
            ((70, 40), 0, 5, (70, 40)),
            ((9, 1200), 0, 3, (9, 1200)),
            ((5, 300, 7), 1, 40, (1, 300, 1)),
            ((5, 300, 7), 1, 40, (5, 300, 7)),
            ((4, 500), 1, 80, (4, 500)),
        )
    ):
        afresh = number % 3 != 2
        src = values.elements(chance, shape, spec.element.numpy, 0.1)
        src[chance.random(shape) < 0.5] = src.reshape(-1)[0]  # ties
        index = np.broadcast_to(chance.integers(-size, size, own).astype(spec.index.numpy), shape)
        result = (*shape[:dim], size, *shape[dim + 1 :])
        start = values.elements(chance, result, spec.element.numpy, 0.1)
        if afresh:
            start[...] = steps.neutral(name, start.dtype)
        best, want = start.copy(), np.full(result, shape[dim])
        for place in np.ndindex(shape):
            target = (*place[:dim], int(index[place]) % size, *place[dim + 1 :])
            new, old = src[place], best[target]
            exceeds, is_nan = new > old if name == "max" else new < old, new != new
            if exceeds or (is_nan and old == old) or (afresh and new == old and want[target] == shape[dim]):
                want[target] = place[dim]
            if exceeds or is_nan:
                best[target] = new
        if afresh:
            best[want == shape[dim]] = 0
        yield KernelCall(
            name=f"{spec} on {shape}, dim {dim}, {own}",
            kernel=spec,
            layout=extremes.layout_of(index.shape, index.strides, index.itemsize, dim, size, afresh) or (),
            out=Block.of(_one_behind_the_other(np.zeros_like(want), start)),
            data=None,
            indices=Block.of(index),
            updates=Block.of(src),
            want=Block.of(_one_behind_the_other(want, best)),
            sizes=(size,),
            tuples=False,
        )


def _one_behind_the_other(*arrays: Array) -> Array:
    return np.frombuffer(b"".join(array.tobytes() for array in arrays), np.uint8)


def _steps(spec: KernelSpec, chance: np.random.Generator) -> Iterator[KernelCall]:
    depth = spec.depth
    along: list[tuple[Shape, Shape, int, Shape]] = [  # data, indices as they are expanded to, axis, as they lie
        ((6,), (9,), 0, (9,)),
        ((1,), (3,), 0, (1,)),
        ((5, 700), (9, 650), 0, (9, 650)),
        ((5, 40), (30, 40), 0, (30, 1)),
        ((3, 1500), (3, 1200), 1, (3, 1200)),
        ((3, 8, 7), (2, 20, 5), 1, (2, 20, 1)),
        ((2, 8, 3, 2), (2, 5, 3, 2), 1, (2, 5, 3, 2)),
    ]
    for data, shape, axis, own in along if depth == 1 else ():
        index = np.broadcast_to(chance.integers(-data[axis], data[axis], own).astype(spec.index.numpy), shape)
        yield from _walks(spec, chance, data, index, shape, axis)
    for batch, rest in (((4, 300), ()), ((1100,), (3,)), ((5,), (600,)), ((), (2, 3)), ((3,), ())):
        data = (*(4, 3, 5)[:depth], *rest) or (1,)
        sizes = np.array(data[:depth], int)
        index = np.array(chance.integers(-sizes, sizes, (*batch, depth)).astype(spec.index.numpy))
        yield from _walks(spec, chance, data, index, (*batch, *data[depth:]), None)


Shape: TypeAlias = tuple[int, ...]


def _walks(
    spec: KernelSpec, chance: np.random.Generator, data: Shape, index: Array, shape: Shape, axis: int | None
) -> Iterator[KernelCall]:
    """Yield the call of a step in order and in reverse; what it does is written here once more, one by one."""
    name, dtype = spec.operation, np.dtype(f"u{min(8, spec.element.size)}")
    if spec.element.kind != "word" or spec.element.size > 8:
        dtype = np.dtype("complex128") if spec.element.kind == "word" else spec.element.numpy
    walked = OpSpec(
        op=OPS["scatter_nd" if axis is None else "scatter_elements"],
        dtype=DTYPES["f32"],
        index=spec.index,
        rank=len(data),
        place=spec.depth if axis is None else axis,
        opset=18,
    )
    total, number = math.prod(data), math.prod(shape)
    first = 0 if name in ("gather", "share") else total
    special = float(chance.choice([0, 0.1]))
    value, update, out = (
        values.elements(chance, (size,), dtype, special) for size in (2 * total, number, first + number)
    )
    if name in ("ties", "share"):
        update[chance.random(number) < 0.5] = value[0]
        value[:total][chance.random(total) < 0.5] = value[0]
    if name == "ties":
        out = np.arange(total).astype(f"i{dtype.itemsize}")
    if axis is None:
        targets = reference.tuple_targets(data, index % np.array(data[: spec.depth], index.dtype))
    else:
        targets = reference.element_targets(data, index, axis)
    for reverse in (False, True):
        dims: Shape = ()
        if reverse:
            dims = tuple(range(index.ndim - 1)) if axis is None else (axis,)
        want = out.copy()
        order = np.flip(np.arange(number).reshape(shape), dims).reshape(-1)
        with np.errstate(all="ignore"):
            for u in order.tolist():
                t = int(targets.reshape(-1)[u])
                equal = value[t] == update[u] or update[u] != update[u]
                if name == "ties":
                    want[t] += equal
                elif name == "share":
                    want[u] = value[total + t] if equal else 0
                elif name == "prefix":
                    want[first + u], want[t] = _product(want[first + u], want[t]), _product(want[t], update[u])
                else:
                    want[first + u] = value[t] if name == "gather" else want[t]
                    if name == "take":
                        want[t] = 0
                    elif name == "suffix":
                        want[t] = _product(want[t], update[u])
        flipped = np.flip(index, dims)
        plan = backward.planned(walked, data, flipped.shape, flipped.strides, shape, dims, name, value.dtype, first)
        yield KernelCall(
            name=f"{spec} on {data}, {index.shape} of {index.strides}, axis {axis}, {dims} reversed",
            kernel=spec,
            layout=plan.layout,
            out=Block.of(out),
            data=Block.of(value if name == "share" else value[:total]),
            indices=Block.of(flipped),
            updates=Block.of(np.flip(update.reshape(shape), dims)),
            want=Block.of(want),
            sizes=data[: spec.depth] if axis is None else (data[axis],),
            tuples=axis is None,
        )


def _product(one: Any, other: Any) -> Any:
    if one.dtype.kind != "c":
        return one * other
    product = np.empty((), one.dtype)
    product.real = one.real * other.real - one.imag * other.imag
    product.imag = one.real * other.imag + one.imag * other.real
    return product[()]


_HELPING = {"flat": _conversions, "extremes": _extremes, "grad": _steps}


def problem(kernel: Any, call: KernelCall, threads: int = 1) -> str:
    """Return what a kernel does wrong on a call, else ``""``; `kernel` is cffi's ``struct scattergen_kernel``."""
    ffi = _abi.ffi
    layout = ffi.new("int64_t[]", call.layout)
    blocks = (call.out, call.data, call.indices, call.updates)
    memories = [block.memory() if block else None for block in blocks]
    out, data, indices, updates = (ffi.cast("void *", m[1]) if m else ffi.NULL for m in memories)
    scratch = np.full(kernel.scratch_bytes(layout, threads) + 64, 0xA5, np.uint8)
    start = ffi.cast("void *", -(-scratch.ctypes.data // 64) * 64)
    checked = kernel.check(indices, layout, 1)
    if (checked >= 0) != call.bad or checked < -1:
        return f"{call.name}: check returns {checked}"
    for number in (2, 3, 7):
        if (shared := kernel.check(indices, layout, number)) != checked:
            return f"{call.name}, {number} threads: check returns {shared}, not {checked}"
    status = kernel.run(out, data, indices, updates, layout, start, threads)
    if (status >= 0) != call.bad or status < -1:
        return f"{call.name}, {threads} threads: run returns {status}"
    for what, block, memory in zip(("data", "indices", "updates"), blocks[1:], memories[1:], strict=True):
        if block and memory and memory[0].tobytes() != block.raw:
            return f"{call.name}, {threads} threads: {what} has been written"
    if call.bad or memories[0] is None:
        return ""
    wrong = difference(np.array(call.out.array(memories[0][0])), np.array(call.want.array(call.want.raw)))
    return wrong and f"{call.name}, {threads} threads: {wrong}"
