"""Every combination of operator, version, reduction, types, shape and memory layout, and how one is checked.

The tests take a sample of it and ``tools/check_product.py`` runs the whole.
"""

from __future__ import annotations

import random
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import layouts
import numpy as np
import pytest
import values
from bits import difference
from scenarios import SCENARIOS, Scenario

import scattergen
from scattergen.call import dispatch
from scattergen.call import threads as threads_of_calls
from scattergen.common import machine
from scattergen.lower import schedule, work
from scattergen.operators import reference

Array: TypeAlias = "np.ndarray[Any, Any]"
Layout: TypeAlias = "tuple[Callable[[Array], Array], ...]"

VERSIONS: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("scatter", 9, ("none",)),
    ("scatter", 11, ("none",)),
    ("scatter_elements", 11, ("none",)),
    ("scatter_elements", 13, ("none",)),
    ("scatter_elements", 16, ("none", "add", "mul")),
    ("scatter_elements", 18, ("none", "add", "mul", "max", "min")),
    ("scatter_nd", 11, ("none",)),
    ("scatter_nd", 13, ("none",)),
    ("scatter_nd", 16, ("none", "add", "mul")),
    ("scatter_nd", 18, ("none", "add", "mul", "max", "min")),
)

INDEX_TYPES = {"i32": np.dtype(np.int32), "i64": np.dtype(np.int64)}

_ALL = (layouts.plain, *layouts.HURTFUL)

LAYOUTS: dict[str, Layout] = {
    **{lay.__name__: (lay, lay, lay) for lay in _ALL},
    **{
        f"mixed{shift}": (_ALL[shift], _ALL[(shift + 3) % len(_ALL)], _ALL[(shift + 5) % len(_ALL)])
        for shift in range(len(_ALL))
    },
}
"""How data, indices and updates lie in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """One call of the product."""

    function: str
    opset: int
    reduction: str
    dtype: str
    index: str
    scenario: Scenario
    layout: str

    def __str__(self) -> str:
        head = f"{self.function}-{self.opset}_{self.dtype}_{self.index}_{self.reduction}"
        return f"{head}_{self.scenario.name}_{self.layout}"

    @property
    def newest(self) -> bool:
        """Whether no later version of the operator exists."""
        return self.opset in (9, 18)


def combinations() -> Iterator[Combination]:
    """Yield the whole product; those that differ only in layout follow each other."""
    for function, opset, reductions in VERSIONS:
        for reduction in reductions:
            for dtype in values.DTYPES:
                if dtype in ("c64", "c128") and reduction in ("max", "min"):
                    continue
                if dtype == "bf16" and (opset < 13 or function == "scatter"):
                    continue
                for index in INDEX_TYPES:
                    for scenario in SCENARIOS:
                        if scenario.tuples == (function == "scatter_nd"):
                            for layout in LAYOUTS:
                                yield Combination(
                                    function=function,
                                    opset=opset,
                                    reduction=reduction,
                                    dtype=dtype,
                                    index=index,
                                    scenario=scenario,
                                    layout=layout,
                                )


DEEP = {("f32", "none"), ("f32", "add"), ("i16", "none"), ("bf16", "max"), ("c128", "mul")}
"""The pairs of type and reduction that a sample takes through every shape and layout."""


def sample(size: int, seed: int) -> list[Combination]:
    """Return about `size` combinations, the same ones for the same seed.

    Each pair of reduction and type is in it with every loop form, each version with every type, and each
    shape in every layout. A pair comes with one index type, which keeps the number of kernels down.
    """
    chance = random.Random(seed)
    groups: dict[tuple[str, ...], list[Combination]] = {}
    deep = []
    for item in combinations():
        if item.index == ("i32", "i64")[zlib.crc32(f"{item.dtype}{item.reduction}".encode()) % 2]:
            if item.scenario.depth <= 2:
                groups.setdefault(("kernel", item.reduction, item.dtype, item.scenario.form), []).append(item)
                groups.setdefault(("version", item.function, str(item.opset), item.dtype), []).append(item)
            if (item.dtype, item.reduction) in DEEP:
                groups.setdefault(("layout", item.scenario.name, item.layout), []).append(item)
                deep.append(item)
    chosen = dict.fromkeys(chance.choice(group) for group in groups.values())
    while len(chosen) < size:
        chosen[chance.choice(deep)] = None
    return sorted(chosen, key=str)


@lru_cache(maxsize=8)
def _inputs(function: str, dtype: str, index: str, scenario: Scenario, name: str) -> tuple[Array, Array, Array]:
    """Return data, indices and updates in C order, from a seed that is the crc32 of `name`."""
    chance = np.random.default_rng(zlib.crc32(name.encode()))
    data = values.elements(chance, scenario.data, values.DTYPES[dtype], scenario.special)
    updates = values.elements(chance, scenario.updates, values.DTYPES[dtype], scenario.special)
    return data, scenario.make_indices(chance, INDEX_TYPES[index]), updates


@lru_cache(maxsize=4)
def _expected(item: tuple[Any, ...], reduction: str, changed: tuple[bool, ...]) -> Array:
    """Return the reference's answer; `changed` says which inputs a zero stride gave other values."""
    data, indices, updates = (
        layouts.broadcast(array) if change else array for array, change in zip(_inputs(*item), changed, strict=True)
    )
    if item[0] == "scatter_nd":
        return reference.scatter_nd(data, indices, updates, reduction)
    return reference.scatter_elements(data, indices, updates, item[3].axis, reduction)


def check(item: Combination, threads: int | None = None) -> str:
    """Return how scattergen's answer, or what gave it, differs from what is right; else ``""``."""
    name = f"{item.dtype}_{item.index}_{item.scenario.name}"
    key = (item.function, item.dtype, item.index, item.scenario, name)
    lays = LAYOUTS[item.layout]
    arrays = tuple(lay(array) for lay, array in zip(lays, _inputs(*key), strict=True))
    before = [array.tobytes() for array in arrays]
    want = _expected(key, item.reduction, tuple(lay is layouts.broadcast for lay in lays))
    function = getattr(scattergen, item.function)
    options: dict[str, Any] = {"opset": item.opset}
    if item.function != "scatter_nd":
        options["axis"] = item.scenario.axis - (zlib.crc32(str(item).encode()) % 2) * len(item.scenario.data)
    if item.function != "scatter":
        options["reduction"] = item.reduction
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if (item.function, item.opset) == ("scatter", 11) else "error")
        problem = difference(function(*arrays, **options, threads=threads), want)
        problem = problem or _by_other_schedule(item, function, arrays, options, want)
    if [array.tobytes() for array in arrays] != before:
        return "an input was written"
    return problem


def _by_other_schedule(
    item: Combination, function: Callable[..., Any], arrays: tuple[Array, ...], options: dict[str, Any], want: Array
) -> str:
    """Return what is wrong with the kernel that answered, or with the answer of a machine of small caches."""
    usual = scattergen.explain(function, *arrays, **options)
    problem = _wrong_kernel(item, usual, want)
    if problem:
        return problem
    with small_machine():
        unusual = scattergen.explain(function, *arrays, **options)
        if (unusual.kernel, unusual.layout, unusual.threads) == (usual.kernel, usual.layout, usual.threads):
            return ""
        problem = difference(function(*arrays, **options), want) or _wrong_kernel(item, unusual, want)
    return problem and f"by {unusual.kernel} on {unusual.threads} threads: {problem}"


@contextmanager
def small_machine() -> Iterator[None]:
    """Let schedules that are for arrays past the caches, on several threads, serve arrays of any size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "cache_sizes", lambda: machine.CacheSizes(256, 2048, 8192))
        patch.setattr(work, "THREAD_PAYS", 1)
        patch.setattr(schedule, "COPY_PAYS", 1)
        patch.setattr(schedule, "OWNERS_PAY", 1)
        patch.setattr(work, "STREAM_PAYS", 32)
        patch.setattr(schedule, "BUCKETS_PAY", 0)
        patch.setattr(schedule, "INVERSE_PAYS", 1)
        patch.setattr(schedule, "LEAST_TILED_COLUMNS", 1)
        patch.setattr(schedule, "PIECE", 16)
        patch.setattr(schedule, "FAR", 1)
        patch.setattr(schedule, "BLOCK", 16)
        patch.setattr(threads_of_calls, "get_num_threads", lambda: 3)
        dispatch.forget()
        yield
    dispatch.forget()


def _wrong_kernel(item: Combination, explanation: Any, want: Array) -> str:
    """Return what is wrong with the kernel that `explain` names; empty calls need none."""
    if not want.size or not item.scenario.entries:
        return ""
    found = f"{explanation.source} {explanation.kernel}"
    if explanation.kernel is None or explanation.source not in ("ahead-of-time", "cache", "built"):
        return f"answered by {found}"
    form = explanation.form
    element, operation = kernel_words(item.dtype, item.reduction)
    if not re.fullmatch(rf"[a-z_]+_{element}_{item.index}(_k\d+)?_{operation}", str(explanation.kernel)):
        return f"answered by {found}, whose element, index or operation is wrong"
    plain = item.layout in ("plain", "read_only")
    if form not in (item.scenario.forms if plain else (*item.scenario.forms, *ANY_FORM)):
        return f"answered by {found}, which is not of form {' or '.join(item.scenario.forms)}"
    return ""


ANY_FORM = ("rows", "lanes", "slices", "elements", "strided")
"""What may answer where strides are not those of C order."""


def kernel_words(dtype: str, reduction: str) -> tuple[str, str]:
    """Return the element and operation of the right kernel: one for all types whose bits agree."""
    if reduction == "none":
        return f"w{8 * values.DTYPES[dtype].itemsize}", "none"
    if dtype == "bool":
        return dtype, "or" if reduction in ("add", "max") else "and"
    if reduction in ("add", "mul") and re.fullmatch(r"i\d+", dtype):
        return f"u{dtype[1:]}", reduction
    return dtype, reduction


def matching(items: Iterable[Combination], pattern: str) -> list[Combination]:
    """Return the combinations whose text holds a match of `pattern`."""
    wanted = re.compile(pattern)
    return [item for item in items if wanted.search(str(item))]
