"""The examples in the README and the guides run and print what they say."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import scattergen
from scattergen import at, graph
from scattergen.operators.ops import OPS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if page.exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page: Path) -> None:
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert not failed


def test_help_of_the_package_begins_with_its_use_and_has_every_name() -> None:
    text = scattergen.__doc__ or ""
    (example,) = doctest.DocTestFinder(recurse=False).find(scattergen, "scattergen")
    assert example.examples and not doctest.DocTestRunner().run(example).failed
    named = {line.split()[0] for line in text.splitlines() if line} | set(re.findall(r"`(\w+)`", text))
    public = {*scattergen.__all__, "inspection", "jit"}
    assert public <= named
    assert {name for name in dir(scattergen) if not name.startswith("__")} == public
    assert all(hasattr(scattergen, name) for name in dir(scattergen))


def test_the_guide_has_what_a_compiled_kernel_has() -> None:
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8").partition("\n## Compiled kernels\n")[2]
    table = text.partition("| | what it is |")[2].partition("\n\n")[0]
    kernel = scattergen.compile("scatter_elements_f32_i64_r2a0_add")
    public = {name for name in dir(kernel) if not name.startswith("_")}
    assert set(re.findall(r"^\| `kernel\.(\w+)", table, re.MULTILINE)) == public
    assert inspect.signature(kernel.bind).parameters.keys() == {"data", "indices", "updates", "out", "threads"}
    variant = kernel.variants[0]
    assert all(f"`{name}`" in table for name in (*type(variant)._fields, "source"))
    assert all(f"`{name}`" in table for name in type(kernel.spec)._fields)


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (scattergen.scatter_elements, "out"),
        (scattergen.scatter_nd, "out"),
        (scattergen.tensor_scatter, "out"),
        (graph.scatter, "out"),
        (graph.scatter_reduce, "out"),
        (at.add, "a"),
        (at.put_along_axis, "arr"),
    ],
)
def test_the_rule_for_an_array_that_is_written_stands_with_the_argument(
    function: Callable[..., object], argument: str
) -> None:
    said = re.split(r"\n        \w+: ", (function.__doc__ or "").partition(f"        {argument}: ")[2])[0]
    assert re.search(
        r"Nothing else may write to it meanwhile, not even to (elements|positions) ", " ".join(said.split())
    )


FUNCTIONS = [
    (module, name)
    for module, names in ((scattergen, scattergen.__all__), (at, at.__all__), (graph, graph.__all__))
    for name in names
    if inspect.isfunction(getattr(module, name)) and name != "get_num_threads"
]


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=lambda one: getattr(one, "__name__", one))
def test_a_public_function_says_what_it_raises(module: object, name: str) -> None:
    text = " ".join((getattr(module, name).__doc__ or "").split())
    assert re.search(r"\bRaises\b|exceptions are those of|in arguments and exceptions|is raised", text)


@pytest.mark.parametrize("name", graph.__all__)
def test_a_function_of_graphs_says_whose_it_is(name: str) -> None:
    assert re.search(r"torch_scatter|torch\.Tensor|As `scatter_max`", getattr(graph, name).__doc__ or "")


def test_the_semantics_have_examples() -> None:
    text = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
    assert len(doctest.DocTestParser().get_examples(text)) > 30


def test_the_semantics_say_the_opset_of_each_operator() -> None:
    text = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
    said = text.partition("Unless you say otherwise, `opset` is ")[2].partition(".")[0]
    found = {
        name: int(opset)
        for opset, names in re.findall(r"(\d+) for\s((?:`\w+`(?: and\s)?)+)", said)
        for name in re.findall(r"`(\w+)`", names)
    }
    assert found.keys() == OPS.keys()
    for name, opset in found.items():
        assert inspect.signature(getattr(scattergen, name)).parameters["opset"].default == opset
        assert OPS[name].default_opset == opset
