"""Exported models: their scatter nodes as specs, and their runs with compiled kernels at every one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import scattergen.onnx
from scattergen.errors import DTypeError, IndexOutOfBounds, ModelError, ShapeError, SpecError
from scattergen.lower import lower
from scattergen.onnx import load_arrays, nodes, run

ROOT = Path(__file__).parents[1]
MODELS = ROOT / "tests" / "models"
INDEX: list[dict[str, Any]] = json.loads((MODELS / "index.json").read_text())


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: entry["file"])
def test_an_exported_model_gives_its_expected_outputs_with_compiled_kernels(entry: dict[str, Any]) -> None:
    inputs, expected = load_arrays(MODELS / entry["io"])
    assert expected is not None
    assert set(expected) == set(entry["outputs"])
    report = run(MODELS / entry["file"], inputs, expected, rtol=entry["rtol"], atol=entry["atol"])
    assert report.equal, str(report)
    assert [row.equal for row in report.nodes] == [True] * entry["n_scatter"]
    assert report.not_run == ()
    assert {row.source for row in report.nodes} <= {"loaded", "ahead-of-time", "cache", "built"}
    operators = {f"{row.node.op}:{row.node.reduction}" for row in report.nodes}
    assert operators == set(entry["scatter"])
    for row in report.nodes:
        assert row.kernel.startswith(lower.SCHEDULES[row.form]), f"{row.kernel} is no schedule of {row.form}"


def test_the_index_and_the_files_are_the_same_models() -> None:
    files = {path.name for path in MODELS.glob("*.onnx")} | {path.name for path in MODELS.glob("*.npz")}
    assert files == {entry[key] for entry in INDEX for key in ("file", "io")}


def test_wrong_expectations_are_found() -> None:
    inputs, expected = load_arrays(MODELS / "negative_indices.ts.npz")
    assert expected is not None
    (name,) = expected
    report = run(MODELS / "negative_indices.ts.onnx", inputs, {name: expected[name] + 1})
    assert not report.equal
    assert report.outputs[0].difference == pytest.approx(1, abs=1e-5)
    assert "NOT EQUAL" in str(report)
    assert not run(MODELS / "negative_indices.ts.onnx", inputs, {name: expected[name][1:]}).equal
    assert not run(MODELS / "negative_indices.ts.onnx", inputs, {name: expected[name].astype(np.float64)}).equal


def test_a_model_without_arrays_runs_on_random_ones() -> None:
    report = run(MODELS / "gat_segment_softmax.dy.onnx")
    assert report.equal, str(report)
    assert "inputs: random" in str(report)


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.FLOAT8E4M3FN])
def test_a_type_that_an_operator_does_not_take_is_told_on_made_up_inputs_too(kind: int) -> None:
    inputs = [helper.make_tensor_value_info(name, kind, [4, 3]) for name in ("x", "ones")]
    node = helper.make_node("ScatterElements", ["x", "ids", "ones"], ["y"])
    output = helper.make_tensor_value_info("y", kind, [4, 3])
    graph = helper.make_graph([node], "g", inputs, [output], [numpy_helper.from_array(np.zeros((4, 3), int), "ids")])
    with pytest.raises(DTypeError, match="allowed is one of bool"):
        run(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))


def test_a_negative_dim_is_an_open_one() -> None:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [-1, 3]) for name in ("x", "ones")]
    inputs.append(helper.make_tensor_value_info("ids", TensorProto.INT64, [-1, 3]))
    graph = helper.make_graph([scatter()], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    report = run(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))
    assert report.equal, str(report)
    inputs[2] = helper.make_tensor_value_info("ids", TensorProto.INT64, [-1, -1])
    graph = helper.make_graph([scatter("ScatterND")], "g", inputs, [Y])
    (node,) = nodes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
    assert (node.k, node.rank, node.spec) == (None, 2, None)


# Models of our own: places where a node can hide, and attributes in every spelling.

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 3])
IDS = numpy_helper.from_array(np.array([[3, -4, 3]], np.int32), "ids")
ONES = numpy_helper.from_array(np.ones((1, 3), np.float32), "ones")


def model(
    graph_nodes: list[onnx.NodeProto],
    opset: int = 18,
    functions: tuple[onnx.FunctionProto, ...] = (),
    domain: str = "",
) -> onnx.ModelProto:
    graph = helper.make_graph(graph_nodes, "g", [X], [Y], [IDS, ONES])
    imports = [helper.make_opsetid(domain, opset), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=8)


def scatter(
    kind: str = "ScatterElements", inputs: str = "x ids ones", output: str = "y", **more: Any
) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **more)


def test_a_node_without_a_name_and_with_defaults() -> None:
    (node,) = nodes(model([scatter()]))
    assert str(node) == "ScatterElements: scatter_elements_f32_i32_r2a0_none"
    assert repr(node) == "<ScatterNode 'ScatterElements': scatter_elements_f32_i32_r2a0_none>"
    assert (node.axis, node.reduction, node.rank, node.k, node.opset) == (0, "none", 2, None, 18)


@pytest.mark.parametrize(
    ("opset", "text"),
    [
        (11, "_none_opset11"),
        (12, "_none_opset11"),
        (13, "_none_opset13"),
        (17, "_none_opset16"),
        (21, "_none"),
    ],
)
def test_the_opset_in_force_is_the_one_of_the_spec(opset: int, text: str) -> None:
    (node,) = nodes(model([scatter(axis=-1)], opset))
    assert str(node.spec) == f"scatter_elements_f32_i32_r2a1{text}"


def test_a_node_that_its_opset_does_not_allow_has_a_reason_and_no_run() -> None:
    wrong = model([scatter(reduction="max")], 16)
    (node,) = nodes(wrong)
    assert node.spec is None
    assert "max" in node.reason
    assert repr(node) == f"<ScatterNode 'ScatterElements': {node.reason}>"
    with pytest.raises(SpecError, match="max"):
        run(wrong, {"x": np.zeros((4, 3), np.float32)})


def test_the_other_name_of_the_default_domain() -> None:
    renamed = model([scatter(axis=0, reduction="add", domain="ai.onnx")], domain="ai.onnx")
    assert [str(node.spec) for node in nodes(renamed)] == ["scatter_elements_f32_i32_r2a0_add"]
    assert run(renamed, {"x": np.zeros((4, 3), np.float32)}).equal


def test_an_operator_of_another_domain_is_not_a_scatter_node() -> None:
    assert nodes(model([scatter(domain="local")])) == ()


def conditional() -> onnx.ModelProto:
    """One scatter node in each branch of an If, whose names are the same."""
    branches = {
        f"{name}_branch": helper.make_graph(
            [scatter(name="s", output=name, reduction=reduction)],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 3])],
        )
        for name, reduction in (("then", "add"), ("else", "max"))
    }
    condition = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.BOOL, [], [True]))
    return model([condition, helper.make_node("If", ["c"], ["y"], name="if", **branches)])


def test_nodes_in_both_branches_are_found_and_the_one_not_taken_is_said_not_to_run() -> None:
    conditions = conditional()
    assert {node.name: str(node.spec) for node in nodes(conditions)} == {
        "if.then_branch/s": "scatter_elements_f32_i32_r2a0_add",
        "if.else_branch/s": "scatter_elements_f32_i32_r2a0_max",
    }
    report = run(conditions, {"x": np.zeros((4, 3), np.float32)})
    assert report.equal
    assert [row.node.name for row in report.nodes] == ["if.then_branch/s"]
    assert [node.name for node in report.not_run] == ["if.else_branch/s"]
    assert report.nodes[0].source != "reference"


def test_a_loop_runs_its_node_more_than_once() -> None:
    inside = helper.make_graph(
        [
            helper.make_node("Identity", ["keep"], ["kept"]),
            scatter(name="s", inputs="state ids ones", output="next", reduction="add"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("keep", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [4, 3]),
        ],
        [
            helper.make_tensor_value_info("kept", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [4, 3]),
        ],
    )
    trips = helper.make_node("Constant", [], ["n"], value=helper.make_tensor("n", TensorProto.INT64, [], [5]))
    go = helper.make_node("Constant", [], ["go"], value=helper.make_tensor("go", TensorProto.BOOL, [], [True]))
    looping = model([trips, go, helper.make_node("Loop", ["n", "go", "x"], ["y"], body=inside)])
    assert [str(node) for node in nodes(looping)] == ["Loop.body/s: scatter_elements_f32_i32_r2a0_add"]
    wanted = np.zeros((4, 3), np.float32)
    wanted[[3, 0, 3], [0, 1, 2]] = 5
    report = run(looping, {"x": np.zeros((4, 3), np.float32)}, {"y": wanted})
    assert report.equal
    assert [row.calls for row in report.nodes] == [5]


def test_a_function_s_node_takes_its_attributes_from_the_call_and_runs_with_a_kernel() -> None:
    inner = helper.make_node("ScatterElements", ["d", "i", "u"], ["r"], name="s", axis=1)
    inner.attribute.append(onnx.AttributeProto(name="reduction", ref_attr_name="how", type=onnx.AttributeProto.STRING))
    function = helper.make_function(
        "local", "put", ["d", "i", "u"], ["r"], [inner], [helper.make_opsetid("", 16)], ["how"]
    )
    calling = model([helper.make_node("put", ["x", "ids", "ones"], ["y"], domain="local", how="mul")], 18, (function,))
    (node,) = nodes(calling)
    assert (node.name, node.reduction, node.opset, node.spec) == ("local.put/s", None, 16, None)
    # ids holds 3 and -4, one past each end of axis 1's 3.
    with pytest.raises(IndexError):
        run(calling, {"x": np.ones((4, 3), np.float32)})
    inner_axis = next(row for row in calling.functions[0].node[0].attribute if row.name == "axis")
    inner_axis.i = 0
    report = run(calling, {"x": np.full((4, 3), 2, np.float32)})
    assert report.equal
    assert str(report.nodes[0].node.spec) == "scatter_elements_f32_i32_r2a0_mul_opset16"
    assert report.nodes[0].source != "reference"


@pytest.mark.filterwarnings("ignore:Scatter is deprecated")
@pytest.mark.parametrize("opset", [9, 10, 11])
@pytest.mark.parametrize("axis", [0, 1])
def test_scatter_runs_though_onnx_s_evaluator_has_none(opset: int, axis: int, tmp_path: Path) -> None:
    one = model([scatter("Scatter", axis=axis)], opset)
    one.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([[2, -1, 2]], np.int32), "ids"))
    wanted = np.zeros((4, 3), np.float32)
    wanted[([2, -1, 2], [0, 1, 2]) if axis == 0 else (0, [2, -1, 2])] = 1
    data = {"x": np.zeros((4, 3), np.float32)}
    for expected in (None, {"y": wanted}):
        report = run(one, data, expected)
        assert report.equal and report.outputs
        assert str(report.nodes[0].node.spec) == f"scatter_f32_i32_r2a{axis}_none" + ("_opset11" if opset == 11 else "")
    assert not run(one, data, {"y": wanted + 1}).equal
    onnx.save(one, tmp_path / "one.onnx")
    answer = subprocess.run(
        [sys.executable, "-m", "scattergen", "run", tmp_path / "one.onnx"], capture_output=True, text=True, check=True
    )
    assert "inputs: random" in answer.stdout


@pytest.mark.parametrize("form", ["path", "text", "bytes", "proto"])
def test_a_model_comes_as_a_path_bytes_or_a_proto_which_is_left_alone(form: str) -> None:
    path = MODELS / "negative_indices.ts.onnx"
    proto = onnx.load(path)
    before = proto.SerializeToString()
    given = {"path": path, "text": str(path), "bytes": path.read_bytes(), "proto": proto}[form]
    assert [str(node.spec) for node in nodes(given)] == ["scatter_nd_f32_i64_r2k1_none"]
    assert proto.SerializeToString() == before


def test_names_that_the_model_does_not_have_are_refused() -> None:
    with pytest.raises(ShapeError, match="no array for input x"):
        run(model([scatter()]), {"z": np.zeros((4, 3), np.float32)})
    with pytest.raises(ShapeError, match="no output z"):
        run(model([scatter()]), {"x": np.zeros((4, 3), np.float32)}, {"z": np.zeros(1)})


def test_arrays_without_a_prefix_are_told_their_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "file.npz", **{"x": np.zeros(3), "in/y": np.zeros(3)})
    with pytest.raises(ModelError, match=r"file\.npz has x: name it in/x \(expected outputs: out/<output>\)"):
        load_arrays(tmp_path / "file.npz")
    np.savez(tmp_path / "file.npz", x=np.zeros(3), y=np.zeros(3))
    with pytest.raises(ModelError, match="has x, y: name them in/x, in/y "):
        load_arrays(tmp_path / "file.npz")


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.onnx cannot be read: No such file or directory$"):
        nodes(tmp_path / "none.onnx")
    with pytest.raises(ModelError, match=r"none\.npz cannot be read: No such file or directory$"):
        load_arrays(tmp_path / "none.npz")


@pytest.mark.parametrize("name", ["put", ""])
def test_an_error_of_an_operator_names_the_node(name: str) -> None:
    made = model([scatter(name=name)])
    data, node = np.zeros((4, 3), np.float32), name or "ScatterElements"
    made.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([[3, -4, 9]]), "ids"))
    said = rf"^ScatterElements \(node '{node}'\): indices\[0, 2\] is 9, allowed is in \[-4, 3\]$"
    with pytest.raises(IndexOutOfBounds, match=said) as caught:
        run(made, {"x": data})
    assert caught.value.values == (9,)
    with pytest.raises(DTypeError, match=rf"updates is float32, data is float64.* \(node '{node}'\)$"):
        run(made, {"x": data.astype(np.float64)})


def demo(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "demo.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def test_the_demo_shows_a_row_per_node_and_ends_with_zero(tmp_path: Path) -> None:
    answer = demo(cwd=tmp_path)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    rows = [line.split() for line in answer.stdout.splitlines() if re.search(r"x +yes$", line)]
    wanted = ("gat_segment_softmax.dy.onnx", "graph_pooling.ts.onnx", "topk_topp_filter.dy.onnx")
    assert [row[0] for row in rows] == [node.name for file in wanted for node in nodes(MODELS / file)]
    assert answer.stdout.endswith("all equal\n")
    assert re.search(r"time +reference +ratio +equal$", answer.stdout, re.MULTILINE)
    assert answer.stdout.count("reference: ONNX's own evaluator, which is written in Python") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_demo_ends_with_one_where_outputs_differ_and_with_two_where_it_cannot_run(tmp_path: Path) -> None:
    inputs, expected = load_arrays(MODELS / "negative_indices.ts.npz")
    assert expected is not None
    arrays = {f"in/{name}": array for name, array in inputs.items()}
    arrays |= {f"out/{name}": array + 1 for name, array in expected.items()}
    np.savez(tmp_path / "wrong.npz", **arrays)
    answer = demo(str(MODELS / "negative_indices.ts.onnx"), "--io", "wrong.npz", cwd=tmp_path)
    assert (answer.returncode, answer.stdout.splitlines()[-1]) == (1, "NOT all equal")
    answer = demo("missing.onnx", cwd=tmp_path)
    assert answer.returncode == 2
    assert "missing.onnx" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_without_the_onnx_package_the_message_says_what_to_install() -> None:
    code = "import sys; sys.modules['onnx'] = None\nimport scattergen\nimport scattergen.onnx"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1].startswith("ImportError: scattergen.onnx needs the onnx package")
    assert answer.stderr.endswith("pip install onnx ml_dtypes\n")


def test_the_public_names_of_the_package() -> None:
    assert all(hasattr(scattergen.onnx, name) for name in scattergen.onnx.__all__)


def test_names_are_unique_and_odd_attributes_are_told(tmp_path: Path) -> None:
    kinds = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("x", "u", "a", "b", "y")}
    index = helper.make_tensor_value_info("i", TensorProto.INT64, [3])
    names = (("n#2", "x", "a"), ("n", "a", "b"), ("n", "b", "y"))
    chain = [helper.make_node("ScatterElements", [x, "i", "u"], [y], name=name) for name, x, y in names]
    graph = helper.make_graph(chain, "g", [kinds["x"], index, kinds["u"]], [kinds["y"]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    assert [node.name for node in nodes(model)] == ["n#2", "n", "n#3"]
    arrays = {"x": np.zeros(3, np.float32), "i": np.arange(3), "u": np.ones(3, np.float32)}
    report = run(model, arrays)
    assert [one.node.name for one in report.nodes] == ["n#2", "n", "n#3"] and report.equal
    for attribute, word in (("reduction", b"\xff"), ("axis", 1.0)):
        odd = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], name="odd")
        odd.attribute.append(helper.make_attribute(attribute, word))
        graph = helper.make_graph([odd], "g", [kinds["x"], index, kinds["u"]], [kinds["y"]])
        (found,) = nodes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
        assert found.spec is None and attribute in found.reason
