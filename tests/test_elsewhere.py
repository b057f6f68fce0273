"""Names that other libraries have for functions and arguments: errors say what to write here, and that works."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from bits import difference

import scattergen
from scattergen import at, graph
from scattergen.operators.elsewhere import KEYWORDS, NAMES

WRONG = [
    (module, name) for module, names in NAMES.items() for name in names if not hasattr(import_module(module), name)
]


def said(module: str, name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(import_module(module), name)
    return str(caught.value)


@pytest.mark.parametrize(("module", "name"), WRONG)
def test_a_name_of_another_library_is_told_one_that_is_there(module: str, name: str) -> None:
    front, _, advice = said(module, name).partition(": ")
    assert front == f"module '{module}' has no attribute '{name}'"
    ours = [*re.findall(r"\bscattergen\.([\w.]+)", advice), *re.findall(r"use (scatter_\w+)\(", advice)]
    theirs = re.findall(r"\bnp\.([\w.]+)", advice)
    assert ours or theirs or "scatter" in advice
    for root, names in ((scattergen, ours), (np, theirs)):
        for path in names:
            found: Any = root
            for part in path.split("."):
                found = getattr(found, part)
            assert callable(found)


@pytest.mark.parametrize(
    ("module", "name", "near"),
    [
        ("scattergen", "scater_nd", "did you mean scatter_nd"),
        ("scattergen.at", "mutliply", "did you mean multiply?"),
        ("scattergen.graph", "scatter_meen", "did you mean scatter_mean"),
    ],
)
def test_a_misspelt_name_is_told_what_is_like_it(module: str, name: str, near: str) -> None:
    assert near in said(module, name)


@pytest.mark.parametrize("module", NAMES)
def test_a_name_that_means_nothing_has_no_advice(module: str) -> None:
    for name in ("rubbish", "__wrapped__"):
        assert said(module, name) == f"module '{module}' has no attribute '{name}'"
    assert not hasattr(import_module(module), "rubbish")


def test_the_steps_of_a_softmax_are_one() -> None:
    src, index = np.array([[1.0, 5], [2, 6], [3, 7]]), np.array([0, 2, 0])
    steps = said("scattergen.graph", "softmax").partition("along dim 0: ")[2].split(", and then ")
    names: dict[str, Any] = {
        "np": np,
        "src": src,
        "index": index,
        **{name: getattr(graph, name) for name in graph.__all__},
    }
    exec(steps[0], names)
    got = eval(steps[1], names)
    weight = np.exp(src[[0, 2]] - src[2])
    want = np.stack([(weight / weight.sum(0))[0], np.ones(2), (weight / weight.sum(0))[1]])
    assert np.allclose(got, want)


def test_rows_by_the_ends_of_their_segments_are_summed() -> None:
    src, indptr = np.arange(5.0), np.array([0, 2, 2, 5])
    call = said("scattergen.graph", "segment_csr").partition("along dim 0: ")[2]
    assert eval(call, {"np": np, "src": src, "indptr": indptr, "scatter": graph.scatter}).tolist() == [1, 0, 9]


@pytest.mark.parametrize("types", ["ff", "dd", "fi", "dl", "ll", "lB", "BB", "HB", "DD", "ee"])
def test_what_stands_for_subtract_has_its_bits(types: str) -> None:
    a, b = np.arange(4).astype(types[0]), np.array([3, 200, 7]).astype(types[1])
    indices = np.array([2, 0, 2])
    want = a.copy()
    np.subtract.at(want, indices, b)
    eval(said("scattergen.at", "subtract").partition("use ")[2], {"scattergen": scattergen, "np": np, **locals()})
    assert not difference(a, want)
    assert at.explain(at.add, a, indices, np.negative(b, dtype=a.dtype)).kernel


@pytest.mark.parametrize("ask", [scattergen.explain, scattergen.bind])
def test_a_keyword_of_another_library_is_told_the_one_here(ask: Any) -> None:
    data, indices, updates = np.zeros(3), np.array([0]), np.ones(1)
    for wrong, name in {"reduce": "reduction", "dim": "axis", "num_threads": "threads"}.items():
        with pytest.raises(TypeError, match=rf"keyword argument '{wrong}'; {wrong}= is called {name}= here$"):
            ask(scattergen.scatter_elements, data, indices, updates, **{wrong: 0})
    with pytest.raises(TypeError, match=r"; index= is called indices= here; src= is called updates= here$"):
        ask(scattergen.scatter_nd, data, index=indices, src=updates)
    with pytest.raises(TypeError, match=r"keyword argument 'rubbish'$"):
        ask(scattergen.scatter_nd, data, indices, updates, rubbish=0)
    assert {one for meant in KEYWORDS.values() for one in meant} - {"reduce", "dim"} <= {
        "reduction", "axis", "past_cache", "data", "indices", "write_indices", "updates", "update", "threads"
    }  # fmt: skip
