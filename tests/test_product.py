"""A sample of the product of all that a call can differ in, against the reference, bit for bit."""

from __future__ import annotations

import os

import product
import pytest
from product import Combination

SEED = int(os.environ.get("SCATTERGEN_TEST_SEED", "1"))
SIZE = int(os.environ.get("SCATTERGEN_TEST_SAMPLE", "2000"))
SAMPLE = product.sample(SIZE, SEED)
GROUPS = sorted({f"{item.function}_{item.dtype}_{item.reduction}" for item in SAMPLE})


@pytest.mark.parametrize("group", GROUPS)
def test_sample(group: str) -> None:
    """One test for each operator, type and reduction: as many as there are kinds of kernels."""
    items = [item for item in SAMPLE if f"{item.function}_{item.dtype}_{item.reduction}" == group]
    problems = [f"{item}: {problem}" for item in items if (problem := product.check(item))]
    assert not problems, f"seed {SEED}: {len(problems)} of {len(items)} differ\n" + "\n".join(problems[:10])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_changes_no_bit(threads: int) -> None:
    items = [item for item in SAMPLE if (item.dtype, item.reduction) in product.DEEP and item.newest][:300]
    problems = [f"{item}: {problem}" for item in items if (problem := product.check(item, threads))]
    assert not problems, "\n".join(problems[:10])


def test_the_sample_holds_all_that_it_promises() -> None:
    pairs = {(item.dtype, item.reduction, item.scenario.form) for item in SAMPLE}
    assert len(pairs) == (15 * 3 + 13 * 2) * 5
    assert {item.layout for item in SAMPLE} == set(product.LAYOUTS)
    assert {item.scenario for item in SAMPLE} == set(product.SCENARIOS)
    assert {(item.function, item.opset) for item in SAMPLE} == {row[:2] for row in product.VERSIONS}


def test_the_sample_is_the_same_each_time() -> None:
    assert product.sample(SIZE, SEED) == SAMPLE


def test_a_wrong_answer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    item: Combination = product.matching(SAMPLE, "scatter_elements-18_f32_.*_add_rows")[0]
    function = product.scattergen.scatter_elements

    def off_by_one_bit(*arguments: object, **options: object) -> object:
        result = function(*arguments, **options)
        result.reshape(-1).view("u4")[-1] ^= 1
        return result

    assert not product.check(item)
    monkeypatch.setattr(product.scattergen, "scatter_elements", off_by_one_bit)
    assert "1 of" in product.check(item)
