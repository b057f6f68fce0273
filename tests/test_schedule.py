"""Loops and a machine → schedule: which kernel, on how many threads, in tiles of what size. Nothing runs here."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scattergen.lower import loops, lower, schedule
from scattergen.lower.layout import LAYOUTS, LOOP
from scattergen.lower.lower import SCHEDULES
from scattergen.lower.schedule import Choice
from scattergen.lower.values import VALUES
from scattergen.lower.work import Machine, Work
from scattergen.operators.dtypes import DTYPES

KB, MB = 1 << 10, 1 << 20
Shape = tuple[int, ...]


def machine(threads: int = 2, l2: int = 512 * KB, l3: int = 32 * MB) -> Machine:
    return Machine(threads, l2, l3)


def strides(shape: Shape, item: int) -> Shape:
    return tuple(item * math.prod(shape[dim + 1 :]) for dim in range(len(shape)))


def work(
    data: Shape, indices: Shape, axis: int | None, dtype: str = "f32", reduction: str = "add", fresh: bool = True
) -> tuple[str, Work]:
    """Return the form and the work of a call on C-ordered arrays; `axis` None is ScatterND."""
    item = DTYPES[dtype].size
    if axis is None:
        updates = indices[:-1] + data[indices[-1] :]
        nest = loops.by_tuples(indices, data, strides(data, item), strides(indices, 8), strides(updates, item))
    else:
        nest = loops.along_axis(indices, axis, data, strides(data, item), strides(indices, 8), strides(indices, item))
    form, found = lower.lower(loops.canonical(nest), item, 8, math.prod(data))
    assert found is not None
    return form, Work(found, *lower.element(DTYPES[dtype], reduction), 8, fresh)


def chosen(here: Machine, *args: object, **kwargs: object) -> Choice:
    return schedule.choose(*work(*args, **kwargs), here)  # type: ignore[arg-type]


def named(choice: Choice) -> dict[str, Any]:
    return LAYOUTS[choice.form].unpack(choice.layout, 1)


def tile(choice: Choice) -> tuple[int, int]:
    """Return how many columns a tile has, and whether it is written past the caches."""
    assert choice.form == "tiles"
    numbers = named(choice)
    return numbers["WIDTH"], numbers["STREAMED"]


@pytest.mark.parametrize(
    ("form", "data", "indices", "axis", "dtype", "reduction", "fresh"),
    [
        ("rows", (64, 1000), (64, 100), 1, "f32", "none", True),
        ("rows", (64, 1000), (64, 100), 1, "f16", "add", True),  # too few sums to convert every row
        ("wide_rows", (64, 1000), (64, 1000), 1, "f16", "add", True),
        ("rows", (64, 1000), (64, 1000), 1, "f16", "max", True),
        ("rows", (4, 100_000), (4, 100_000), 1, "f16", "add", True),  # a row of floats leaves the cache
        ("lanes", (100, 100), (100, 100), 0, "f32", "add", True),  # the output is near
        ("tiles", (1024, 1024), (1024, 1024), 0, "f32", "add", True),
        ("tiles", (1024, 1024), (256, 1024), 0, "f32", "add", True),
        ("lanes", (1024, 1024), (255, 1024), 0, "f32", "add", True),  # too few updates for copies of all
        ("lanes", (8192, 128), (8192, 128), 0, "f32", "add", True),  # narrow rows
        ("tiles", (4096, 1024), (512, 1024), 0, "f32", "none", True),
        ("lanes", (4096, 1024), (256, 1024), 0, "f32", "none", True),
        ("lanes", (4096, 1024), (512, 1024), 0, "f32", "none", False),  # in place nothing else would be copied
        ("tiles", (4096, 1024), (1024, 1024), 0, "f32", "none", False),
        ("tiles", (16384, 512), (16384, 512), 0, "f32", "add", True),
        ("lanes", (32768, 512), (32768, 512), 0, "f32", "add", True),  # a tile is as far away as the output
        ("lanes", (10000, 500), (10000, 500), 0, "f32", "add", True),  # the same, for rows that are no whole lines
        ("tiles", (8, 128, 4096), (8, 64, 4096), 1, "f32", "max", True),
        ("tiles", (8, 128, 4096), (8, 16, 4096), 1, "f32", "max", True),  # all of the output is far away
        ("tiles", (8, 128, 4096), (8, 32, 4096), 1, "f32", "max", False),
        ("lanes", (8, 128, 4096), (8, 31, 4096), 1, "f32", "max", False),
        ("elements", (1 << 16,), (1 << 20,), 0, "f32", "add", True),
        ("buckets", (1 << 22,), (1 << 20,), 0, "f32", "add", True),
        ("elements", (1 << 22,), (100,), 0, "f32", "add", True),
        ("inverse", (50_000, 256), (8192, 1), None, "f32", "none", True),
        ("owners", (50_000, 256), (8192, 1), None, "f32", "none", False),
        ("slices", (50_000, 256), (100, 1), None, "f32", "none", True),
        ("owners", (50_000, 64), (400_000, 1), None, "f32", "add", True),
        ("slices", (1000, 64), (1000, 1), None, "f32", "add", True),
    ],
)
def test_the_schedule(
    form: str, data: Shape, indices: Shape, axis: int | None, dtype: str, reduction: str, fresh: bool
) -> None:
    assert chosen(machine(), data, indices, axis, dtype, reduction, fresh).form == form


@pytest.mark.parametrize(
    ("data", "dtype", "columns", "streamed"),
    [
        ((1024, 1024), "f32", 64, 0),
        ((512, 1024), "f32", 64, 0),
        ((256, 4096), "f32", 128, 0),
        ((128, 8192), "f32", 256, 0),
        ((64, 16384), "f32", 256, 0),
        ((4096, 1024), "f32", 64, 1),
        ((4096, 1024), "f64", 32, 1),
        ((4096, 2048), "f16", 128, 0),  # floats, which are rounded on the way back
        ((4096, 2048), "u16", 128, 1),
        ((4096, 4096), "u8", 256, 1),
        ((2048, 1500), "f32", 64, 1),
    ],
)
def test_the_width_of_a_tile(data: Shape, dtype: str, columns: int, streamed: int) -> None:
    assert tile(chosen(machine(), data, data, 0, dtype)) == (columns, streamed)


@pytest.mark.parametrize(
    ("form", "data", "indices", "axis"),
    [("tiles", (1024, 512), (1024, 512), 0), ("inverse", (8192, 256), (8192, 1), None)],
)
def test_what_is_too_large_for_the_last_cache_is_written_past_it(
    form: str, data: Shape, indices: Shape, axis: int | None
) -> None:
    size = 4 * math.prod(data)
    for l3, streamed in ((4 * size, 0), (4 * size - 1, 1)):
        choice = chosen(machine(l3=l3), data, indices, axis, "f32", "none")
        assert choice.form == form and named(choice)["STREAMED"] == streamed, l3


@pytest.mark.parametrize("form", ["windows", "rings"])
@pytest.mark.parametrize("fresh", [True, False])
def test_windows_are_written_past_the_last_cache_where_all_of_them_are_too_large(form: str, fresh: bool) -> None:
    data, update = (4, 1024, 256), (4, 16, 256)
    nest = loops.windows(update, 1, data, strides(data, 4), (8,), strides(update, 4), form == "rings")
    written = 4 * (math.prod(update) + fresh * math.prod(data))
    for l3, streamed in ((4 * written, 0), (4 * written - 1, 1)):
        choice = schedule.of_nest(form, loops.canonical(nest), 4, 4 * math.prod(data), fresh, machine(l3=l3))
        assert LAYOUTS[form].unpack(choice.layout, 1)["STREAMED"] == streamed


@pytest.mark.parametrize(
    ("length", "share"), [(16, 65536 // 16), (63, 1040), (64, 4096), (256, 1024), (1 << 16, schedule.LEAST_SHARE)]
)
def test_short_updates_of_a_share_fill_half_of_the_second_level_cache_and_long_ones_two(
    length: int, share: int
) -> None:
    choice = chosen(machine(), (50, length), (200_000, 1), None, "f32", "add")
    assert choice.form == "owners" and named(choice)["SHARE"] == share
    assert named(chosen(machine(l2=1 * MB), (50, 256), (200_000, 1), None, "f32", "add"))["SHARE"] == 2048


def test_tiles_know_the_machine() -> None:
    """Twice the caches, and a tile of twice the rows is as near."""
    assert tile(chosen(machine(1), (256, 8192), (256, 8192), 0)) == (128, 0)
    assert tile(chosen(machine(1, 1 * MB), (512, 8192), (512, 8192), 0)) == (128, 1)
    assert chosen(machine(1, 4 * MB, 256 * MB), (1024, 1024), (1024, 1024), 0).form == "lanes"
    assert chosen(machine(1, 1 * MB), (32768, 512), (32768, 512), 0).form == "tiles"


@pytest.mark.parametrize("most", [1, 2, 3, 8, 64])
def test_threads_are_as_many_as_there_is_work_for(most: int) -> None:
    here = machine(most)
    assert chosen(here, (10, 10), (10, 10), 1).threads == 1
    assert chosen(here, (1000, 1000), (1000, 1000), 1).threads == most
    assert chosen(here, (2, 100_000), (2, 100_000), 1).threads == min(most, 2), "one for each row"


@given(
    rank=st.integers(1, 3),
    extents=st.lists(st.integers(1, 5000), min_size=3, max_size=3),
    entries=st.integers(1, 5000),
    axis=st.integers(0, 2),
    dtype=st.sampled_from(["u8", "f16", "bf16", "f32", "f64", "c128"]),
    reduction=st.sampled_from(["none", "add", "mul"]),
    fresh=st.booleans(),
    threads=st.integers(1, 128),
    l2=st.sampled_from([128 * KB, 512 * KB, 2 * MB, 8 * MB]),
    l3=st.sampled_from([1 * MB, 8 * MB, 32 * MB, 512 * MB]),
)
def test_what_holds_for_all(
    rank: int, extents: list[int], entries: int, axis: int, dtype: str, reduction: str, fresh: bool, threads: int,
    l2: int, l3: int,
) -> None:  # fmt: skip
    """The kernel is one of the form's, its tiles cover the columns, and its scratch has a bound."""
    data, place = tuple(extents[:rank]), axis % rank
    indices = tuple(entries if dim == place else extent for dim, extent in enumerate(data))
    form, call = work(data, indices, place, dtype, reduction, fresh)
    choice = schedule.choose(form, call, machine(threads, l2, l3))
    assert choice.form in SCHEDULES[form] and 1 <= choice.threads <= threads
    numbers, from_loops = named(choice), VALUES[form](call.loops)
    assert LAYOUTS[choice.form].pack(numbers) == choice.layout
    assert all(
        numbers[name] == (value if isinstance(value, int) else tuple(value)) for name, value in from_loops.items()
    )
    if form == "lanes":
        width = numbers["WIDTH"]
        assert 1 <= width <= min(schedule.BLOCK, call.loops.inner.extent)
        if choice.form == "tiles":
            axis_extent = call.loops.components[0].size
            assert choice.threads * axis_extent * width * call.wide_size <= schedule.SCRATCH


def strided(data: Shape, indices: Shape, axis: int | None, threads: int, fresh: bool = True) -> Choice:
    """Return the schedule of a call on C-ordered float32 as the form that takes any strides has it."""
    if axis is None:
        updates = indices[:-1] + data[indices[-1] :]
        nest = loops.by_tuples(indices, data, strides(data, 4), strides(indices, 8), strides(updates, 4))
    else:
        nest = loops.along_axis(indices, axis, data, strides(data, 4), strides(indices, 8), strides(indices, 4))
    return schedule.of_nest("strided", loops.canonical(nest), 4, 4 * math.prod(data), fresh, machine(threads))


@pytest.mark.parametrize(
    ("data", "indices", "axis", "most", "threads", "shared"),
    [
        ((16, 64, 96), (64, 33, 47), 0, 2, 2, 1),  # a loop along the axis is nobody's to share; it stands first
        ((64, 64, 96), (64, 33, 47), 0, 2, 2, 0),  # it stands second
        ((64, 64, 96), (50, 64, 47), 1, 8, 8, 0),  # the outermost that moves the output
        ((3, 2048, 96), (2, 2048, 47), 1, 8, 8, 2),  # of two and 47 steps: one that has a step for each thread
        ((512, 512), (300, 2), None, 8, 1, -1),  # tuples may name one target twice
        ((4, 5, 6), (4, 3, 5), 0, 8, 1, 2),  # too little work
    ],
)
def test_threads_share_a_loop_whose_steps_never_meet(
    data: Shape, indices: Shape, axis: int | None, most: int, threads: int, shared: int
) -> None:
    choice = strided(data, indices, axis, most)
    assert (choice.form, choice.threads, named(choice)["SHARED"]) == ("strided", threads, shared)


@pytest.mark.parametrize(
    ("data", "indices", "axis", "extents"),
    [
        ((128, 256, 96), (128, 200, 47), 0, (200, 128, 47)),  # each step along the axis would go through all of it
        ((16, 64, 96), (128, 60, 47), 0, (128, 60, 47)),  # the cache holds the output
        ((128, 256, 96), (8000, 200, 47), 0, (8000, 200, 47)),  # the cache does not hold what a walk reads
        ((128, 256, 96), (100, 200, 96), 2, (100, 200, 96)),  # along the last axis it is near as it is
        ((64, 50, 60, 96), (64, 40, 50, 47), 1, (64, 50, 40, 47)),  # what stands outside of it stays there
    ],
)
def test_targets_far_away_are_met_again_soon(data: Shape, indices: Shape, axis: int, extents: Shape) -> None:
    choice = strided(data, indices, axis, 2)
    assert named(choice)["FIRST_LOOP"][:: len(LOOP)] == extents


def test_tuples_are_not_read_anew_for_a_slice() -> None:
    nest = loops.Nest(
        (loops.Loop(1000, 0, 16, 40), loops.Loop(50, 4000, 0, 8), loops.Loop(2, 4, 0, 4)),
        (loops.Component(300, 40), loops.Component(50, 4_000_000)),
        8,
    )
    choice = schedule.of_nest("strided", nest, 4, 200 * MB, True, machine())
    assert LAYOUTS["strided"].unpack(choice.layout, 2)["FIRST_LOOP"][:: len(LOOP)] == (1000, 50, 2)  # type: ignore[index]
