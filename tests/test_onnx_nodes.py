"""ONNX's own node tests of the operators, run by the public functions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import scattergen

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Scatter": scattergen.scatter,
    "ScatterElements": scattergen.scatter_elements,
    "ScatterND": scattergen.scatter_nd,
    "TensorScatter": scattergen.tensor_scatter,
}


def node_tests() -> list[Any]:
    """Return a parameter for each test: name, node, inputs, outputs and the opset that it is meant for.

    The modules' functions hand each test to ``expect``. Collecting by ONNX's own ``collect_testcases``
    would run the tests of every operator, which takes seconds and warns.
    """
    found = []

    def expect(node: Any, inputs: Any, outputs: Any, name: str, opset_imports: Any = (), **_: Any) -> None:
        opset = opset_imports[0].version if opset_imports else onnx.defs.get_schema(node.op_type).since_version
        found.append(pytest.param(node, inputs, outputs, opset, id=name))

    for op in FUNCTIONS:
        module: Any = importlib.import_module(f"onnx.backend.test.case.node.{op.lower()}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "expect", expect)
            group = getattr(module, op)
            for name in vars(group):
                if name.startswith("export"):
                    getattr(group, name)()
    return found


NODE_TESTS = node_tests()


def test_all_are_found() -> None:
    ids = {parameter.id for parameter in NODE_TESTS}
    assert len(ids) == len(NODE_TESTS) >= 16
    assert {
        "test_scatter_with_axis",
        "test_scatter_elements_with_reduction_max",
        "test_scatternd_min",
        "test_tensorscatter_circular",
    } <= ids


@pytest.mark.parametrize(("node", "inputs", "outputs", "opset"), NODE_TESTS)
def test_node(node: Any, inputs: list[Any], outputs: list[Any], opset: int) -> None:
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    keywords = {name: x.decode() if isinstance(x, bytes) else x for name, x in attributes.items()}
    (want,) = outputs
    got = FUNCTIONS[node.op_type](*inputs, **keywords, opset=opset)
    assert got.dtype == want.dtype == inputs[0].dtype
    np.testing.assert_array_equal(got, want)
