"""The measuring itself: workloads, what is right, records, tables, the chart, and the commands."""

from __future__ import annotations

import argparse
import copy
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scattergen.bench import bench, workload
from scattergen.bench.table import short
from scattergen.cli.cli import main
from scattergen.errors import ShapeError
from scattergen.operators import reference

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))

from bench_lib import chart, compare, markdown, numba_loop, oracle, record, report, sweep_cases, workloads  # noqa: E402


def by_reference(work: workload.Workload) -> workload.Array:
    arrays = (work.data, work.indices, work.updates)
    if work.spec.op.addressing == "axis":
        return reference.scatter_elements(*arrays, work.spec.place, work.reduction)
    return reference.scatter_nd(*arrays, work.reduction)


def cut_down(row: workloads.Row) -> workload.Workload:
    """Return a workload of a row's operator and style on small dims."""
    data = tuple(min(size, 12) for size in row.data)
    if "_nd_" in row.spec:
        indices = (*(min(size, 10) for size in row.indices[:-1]), row.indices[-1])
    else:
        indices = tuple(min(extent, 9) for extent in row.indices)
    return workload.make(row.spec, data, indices, row.style, seed=3)


ROWS = pytest.mark.parametrize("row", workloads.TABLE, ids=lambda row: row.name)


def test_the_names_of_workloads_are_theirs_alone() -> None:
    assert len(workloads.BY_NAME) == len(workloads.TABLE) == 16
    assert [row.name for row in workloads.chosen("tiny,hist")] == ["tiny-set-2d", "tiny-nd-rows", "hist-add-1d"]


def test_a_workload_is_the_same_every_time() -> None:
    first, again = (workloads.BY_NAME["topk-logits"].make() for _ in range(2))
    for name in ("data", "indices", "updates"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert first.indices.dtype == np.int64 and first.data.shape == (32, 50257)
    other = workload.make(str(first.spec), first.data.shape, first.indices.shape, "unique", seed=1)
    assert not np.array_equal(first.indices, other.indices)


@ROWS
def test_what_is_right_is_what_the_reference_says(row: workloads.Row) -> None:
    work = cut_down(row)
    wanted = by_reference(work)
    assert oracle.exact(work).tobytes() == wanted.tobytes()
    assert oracle.verdict(work, wanted, by_bits=True) == oracle.verdict(work, wanted, by_bits=False) == ""
    wrong = wanted.copy()
    wrong.flat[work.data.size // 2] += 3
    assert oracle.verdict(work, wrong, by_bits=True) == "WRONG bits"
    assert oracle.verdict(work, wrong, by_bits=False) == "WRONG values"
    assert oracle.verdict(work, wanted[None], by_bits=False) == "WRONG shape"


@ROWS
def test_the_loop_for_numba_is_right(row: workloads.Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python: whether numba compiles it is numba's concern, and it need not be here."""
    plain = type(sys)("numba")
    plain.njit = lambda function: function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numba", plain)
    work = cut_down(row)
    call = numba_loop.call(work)
    if call is None:
        assert work.spec.dtype.kind == "half"
    else:
        assert oracle.verdict(work, call(), by_bits=False) == ""


@pytest.mark.parametrize("style", workload.STYLES)
@pytest.mark.parametrize(
    ("spec", "data", "indices"),
    [
        ("scatter_elements_f32_i64_r3a1_add", (4, 9, 5), (4, 7, 5)),
        ("scatter_elements_i8_i32_r1a0_max", (50,), (40,)),
        ("scatter_nd_f64_i64_r3k2_mul", (5, 6, 3), (4, 5, 2)),
        ("scatter_nd_bool_i32_r2k0_none", (5, 6), (1, 0)),
        ("scatter_nd_f32_i64_r2k0_add", (5, 6), (1, 0)),
    ],
)
def test_every_style_is_in_bounds_and_measured_right(
    spec: str, data: workload.Shape, indices: workload.Shape, style: str
) -> None:
    work = workload.make(spec, data, indices, style, seed=5)
    assert work.indices.shape == indices
    wanted = by_reference(work)  # which checks the bounds
    assert np.array_equal(work.ours()(), wanted)
    assert np.array_equal(work.numpy()(), wanted)


def test_styles_are_what_they_say() -> None:
    spec, shape = "scatter_elements_f32_i64_r2a0_add", (64, 16)
    made = {style: workload.make(spec, shape, shape, style).indices for style in workload.STYLES}
    assert (np.sort(made["unique"], axis=0) == np.arange(64)[:, None]).all()
    assert (np.diff(made["sorted"], axis=0) >= 0).all()
    assert np.median(made["skewed"]) < 8
    assert (made["negative"] < 0).sum() == 512
    assert (made["repeated"] == 32).all()
    assert made["expanded"].strides[1] == 0
    with pytest.raises(ShapeError, match="no room"):
        workload.make(spec, (4, 4), (5, 4), "unique")


def test_traffic_counts_expanded_indices_once() -> None:
    work = workload.make("scatter_elements_f32_i64_r2a0_add", (8, 4), (6, 4), "expanded")
    assert work.traffic == 2 * 8 * 4 * 4 + 6 * 8 + 6 * 4 * 4


def test_the_sweep_has_every_type_reduction_and_operator() -> None:
    grid = sweep_cases.items()
    assert len({str(item) for item in grid}) == len(grid)
    assert {item.dtype for item in grid} | {"f32"} == {row.tag for row in sweep_cases.dtypes.ELEMENTS}
    for operator in ("scatter_elements", "scatter_nd"):
        found = {(item.dtype, item.reduction) for item in grid if item.case.operator == operator}
        assert len(found) == 14 * 5 - 4  # complex numbers have no order
    assert sweep_cases.sample(grid, 9, seed=2) == sweep_cases.sample(grid, 9, seed=2)


def result(micros: float, verdict: str = "") -> dict[str, Any]:
    return {"verdict": verdict, "seconds": [micros / 1e6], "median": micros / 1e6, "least": micros / 2e6}


@pytest.fixture
def run() -> record.Record:
    made = record.start("run", rounds=1, threads=2)
    names = ("scattergen", "limit", "numpy", "torch")
    made["contestants"] = {name: {"version": "1", "threads": 2, "note": ""} for name in names}
    micros = {"tiny-a": (2, 1, 4, 5), "big-b": (10, 8, 40, 20), "big-c": (30, 10, 15, 90)}
    made["workloads"] = {
        name: {
            "call_bound": name.startswith("tiny"),
            "results": dict(zip(names, map(result, times), strict=True)),
        }
        for name, times in micros.items()
    }
    return made


def test_figures_and_means(run: record.Record) -> None:
    tiny, ahead, behind = report.figures(run)
    assert (ahead.best, behind.best) == ("torch", "numpy")
    assert (ahead.ahead, ahead.over_limit, ahead.room) == pytest.approx((2.0, 1.25, 2.5))
    assert behind.ahead == pytest.approx(0.5)
    assert tiny.call_bound
    text = report.table(run)
    assert "geometric mean 1.00x the best correct peer, least 0.50x, ahead on 1 of 2" in text
    assert "geometric mean 1.94x the time of a plain copy" in text
    assert text.splitlines()[2].split()[:2] == ["big-b", "10.0"]
    assert report.table(run, by="least").splitlines()[2].split()[:2] == ["big-b", "5.00"]


def test_a_wrong_peer_is_no_peer(run: record.Record) -> None:
    run["workloads"]["big-b"]["results"]["torch"]["verdict"] = "WRONG values"
    assert report.figures(run)[1].best == "numpy"
    assert "20.0!" in report.table(run)
    assert report.wrong(run) == []
    run["workloads"]["big-c"]["results"]["scattergen"]["verdict"] = "WRONG bits"
    assert report.wrong(run) == ["big-c"]
    assert report.figures(run)[2].ahead is None


def test_the_markdown_of_a_run(run: record.Record) -> None:
    run["workloads"]["big-b"]["results"]["scattergen:1"] = result(40)
    lines = markdown.tables(run).splitlines()
    assert lines[3] == "| big-b | 10.0 | torch | 2.00 | 1.25 | 40.0 | - | - |"
    assert lines[-2:] == [
        "| as it is: two threads, a fresh output, memory kept | 1.00 | 1 of 2 |",
        "| one thread, the peers as they are | 0.50 | 0 of 1 |",
    ]
    run["workloads"]["big-b"]["results"]["scattergen"]["verdict"] = "WRONG bits"
    assert markdown.ahead(run, "scattergen") == pytest.approx([0.5])


def test_docs_have_the_numbers_of_the_record() -> None:
    made = record.read(ROOT / "docs" / "records" / "workloads.json")
    page, readme = (
        " ".join((ROOT / name).read_text(encoding="utf-8").split()) for name in ("docs/benchmarks.md", "README.md")
    )
    for table in markdown.tables(made).split("\n\n"):
        assert " ".join(table.split()) in page
    assert f"revision {made['revision']}" in page and f"{made['versions']['torch']}" in page
    every = report.figures(made)
    copies = report.mean(found.over_limit for found in every if not found.call_bound)
    for contestant, wording in (
        ("scattergen", "scattergen is {:.2f} times as fast as the best correct peer"),
        ("scattergen-fresh", "{:.2f} times as fast ({} of 14) with `SCATTERGEN_KEEP_MEMORY=0`"),
        ("scattergen-out", "{:.2f} times ({} of 14) with `out=`"),
        ("scattergen:1", "{:.2f} times ({} of 14) on one thread"),
    ):
        ratios = markdown.ahead(made, contestant)
        assert wording.format(report.mean(ratios), sum(ratio >= 1 for ratio in ratios)) in readme
    for text in (page, readme):
        assert f"takes {copies:.2f} times as long as " in text


def test_the_chart_is_xml_with_a_bar_for_each_workload(run: record.Record) -> None:
    tree = ET.fromstring(chart.draw(run))
    svg = "{http://www.w3.org/2000/svg}"
    assert tree.tag == f"{svg}svg"
    bars = [bar.get("class") for bar in tree.iter(f"{svg}rect") if bar.get("height") == "14"]
    assert bars == ["ahead", "behind", "call"]
    texts = ["".join(text.itertext()) for text in tree.iter(f"{svg}text")]
    assert {"big-b", "big-c", "tiny-a"} <= set(texts)


def slower(made: record.Record) -> None:
    made["workloads"]["big-b"]["results"]["scattergen"]["median"] *= 1.3


def slower_machine(made: record.Record) -> None:
    for work in made["workloads"].values():
        for found in work["results"].values():
            found["median"] *= 2


def missing(made: record.Record) -> None:
    del made["workloads"]["big-b"]


def wrong(made: record.Record) -> None:
    made["workloads"]["big-b"]["results"]["scattergen"]["verdict"] = "WRONG bits"


@pytest.mark.parametrize(
    ("change", "options", "code"),
    [
        (lambda made: None, [], 0),
        (slower, [], 1),
        (slower, ["--tolerance", "1.4"], 0),
        (slower_machine, [], 0),
        (missing, [], 1),
        (missing, ["--subset"], 0),
        (wrong, ["--subset"], 1),
    ],
)
def test_compare(
    run: record.Record, tmp_path: Path, change: Callable[[record.Record], None], options: list[str], code: int
) -> None:
    after = copy.deepcopy(run)
    change(after)
    record.write(run, tmp_path / "old.json")
    record.write(after, tmp_path / "new.json")
    parser = argparse.ArgumentParser()
    compare.configure(parser)
    paths = [str(tmp_path / "old.json"), str(tmp_path / "new.json")]
    assert compare.command(parser.parse_args([*paths, *options])) == code


def tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "bench.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_a_run_and_its_record(tmp_path: Path) -> None:
    """Everything once, in processes of their own, on what takes no time."""
    paths = [tmp_path / "run.json", tmp_path / "run.svg"]
    options = ["--rounds", "1", "--json", str(paths[0]), "--chart", str(paths[1])]
    done = tool("--only", "tiny", "--peers", "numpy,numba", *options)
    assert done.returncode == 0, done.stderr
    assert "\r" not in done.stderr and "\033" not in done.stderr  # which is no terminal
    assert "tiny-set-2d" in done.stdout and "calls, not in the means" in done.stdout
    made = json.loads(paths[0].read_text(encoding="utf-8"))
    assert (made["format"], made["kind"], made["rounds"]) == (record.FORMAT, "run", 1)
    assert {"cpu", "cores", "caches", "system", "architecture"} <= set(made["machine"])
    assert {"python", "numpy", "scattergen"} <= set(made["versions"])
    assert made["compiler"] and made["threads"] >= 1
    assert set(made["workloads"]) == {"tiny-set-2d", "tiny-nd-rows"}
    for work in made["workloads"].values():
        assert {"scattergen", "limit", "numpy"} <= set(work["results"])
        assert all(found["verdict"] == "" and len(found["seconds"]) == 1 for found in work["results"].values())
    ET.parse(paths[1])
    again = tool("show", str(paths[0]))
    assert again.returncode == 0 and again.stdout == done.stdout
    assert tool("compare", str(paths[0]), str(paths[0])).returncode == 0


def test_usage_errors_are_for_people(tmp_path: Path) -> None:
    done = tool("--only", "tiny", "--peers", "nosuch")
    assert (done.returncode, done.stdout) == (2, "") and "there are scattergen" in done.stderr
    (tmp_path / "not.json").write_text("[]")
    done = tool("compare", str(tmp_path / "not.json"), str(tmp_path / "not.json"))
    assert done.returncode == 2 and "is no record" in done.stderr


def test_a_sweep_of_one_case(tmp_path: Path) -> None:
    path = tmp_path / "sweep.json"
    done = tool("sweep", "--only", "slice-1-small-random/add/i32", "--rounds", "1", "--check", "--json", str(path))
    assert done.returncode in (0, 1), done.stderr  # one round may find any ratio
    made = record.read(path)
    assert set(made["cases"]) == {
        "scatter_nd/slice-1-small-random/add/i32",
        "scatter_nd/slice-1-small-random/add/f32",
    }
    assert "WRONG" not in done.stdout
    found = made["cases"]["scatter_nd/slice-1-small-random/add/i32"]
    assert "_u32_i64_" in found["kernel"] and found["bytes"] == found["sibling_bytes"]


def test_a_sweep_in_place(tmp_path: Path) -> None:
    path = tmp_path / "sweep.json"
    done = tool("sweep", "--only", "/columns-random/none/u8", "--rounds", "1", "--in-place", "--json", str(path))
    assert done.returncode in (0, 1), done.stderr
    made = record.read(path)
    assert made["in_place"] and "_w8_i64_none" in made["cases"]["scatter_elements/columns-random/none/u8"]["kernel"]


def test_shapes_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["scatter_elements_f32_i64_r2a0_add", "--data", "30x4", "--indices", "50x4", "--rounds", "1"]
    assert main(["bench", *arguments]) == 0
    assert "30x4 50x4" in capsys.readouterr().out
    assert main(["bench", *arguments[:1]]) == 2
    assert "give the shapes" in capsys.readouterr().err


@pytest.mark.parametrize("spec", ["scatter_elements_f16_i64_r2a0_add", "scatter_nd_i8_i64_r2k1_none"])
def test_a_bench_says_whether_it_was_in_place_and_on_how_many_threads(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [spec, "--data", "3000x40", "--indices", "5000x40" if "r2a0" in spec else "5000x1", "--rounds", "2"]
    for more, output in (([], "fresh"), (["--in-place"], "in place"), (["--in-place", "--threads", "1"], "in place")):
        assert main(["bench", *arguments, *more]) == 0
        header, row, legend = capsys.readouterr().out.splitlines()
        cells = dict(zip(re.split(r"  +", header), re.split(r"  +", row), strict=True))
        assert (cells["output"], cells["equal"]) == (output, "yes")
        assert cells["threads"] == "1" or "--threads" not in more
        assert "output: a fresh array in each call, or in place (out=data)" in legend


def test_a_bench_in_place_changes_an_array_of_its_own() -> None:
    work = workload.make("scatter_elements_i64_i64_r1a0_add", (9,), (20,))
    before = work.data.copy()
    found = bench.measure(work, 1, in_place=True, threads=1)
    assert (found.in_place, found.threads, found.equal) == (True, 1, True)
    assert (work.data == before).all()
    moved = found.gigabytes_a_second * found.seconds * 1e9
    assert round(moved) == 8 * (2 * len(np.unique(work.indices)) + 20 + 20)
    with pytest.raises(SystemExit):
        main(["bench", "x", "--threads", "0"])


def test_the_shapes_of_tensor_scatter_are_those_that_were_given(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--data", "2x1x8x4", "--indices", "2x1x3x4", "--rounds", "1"]
    assert main(["bench", "tensor_scatter_f32_i64_r4a2_linear", *given]) == 0
    header, row, legend = capsys.readouterr().out.splitlines()
    assert "2x1x8x4 2x1x3x4 (update)" in row and "in place" in row
    assert "GB/s" in header and "GB/s: bytes that every implementation has to read and write" in legend


@pytest.mark.parametrize(
    ("number", "decimals", "text"),
    [
        *((12.345, 1, "12.3"), (1.26, 1, "1.3"), (0.96, 1, "0.96"), (0.0312, 1, "0.031")),
        *((4.217, 2, "4.22"), (0.0005, 2, "0.00050"), (0.0, 2, "0.00")),
    ],
)
def test_small_numbers_keep_two_digits(number: float, decimals: int, text: str) -> None:
    assert short(number, decimals) == text


def test_a_models_scatter_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx", reason="models are read with the onnx package")
    models = ROOT / "tests" / "models"
    model, arrays = models / "graph_pooling.ts.onnx", models / "graph_pooling.ts.npz"
    works = bench.of_model(str(model), str(arrays))
    assert works and all(work.spec.reduction in ("none", "add", "max", "min", "mul") for work in works)
    assert main(["bench", str(model), "--io", str(arrays), "--rounds", "1"]) == 0
    out = capsys.readouterr().out
    assert all(work.name in out for work in works)


def test_waiting_times_are_measured(tmp_path: Path) -> None:
    path = tmp_path / "latency.json"
    options = ["--rounds", "1", "--seed", "4", "--tasks", "import,first,warm", "--json", str(path)]
    command = [sys.executable, str(ROOT / "tools" / "latency.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("seed 4, 1 processes")
    found = json.loads(path.read_text(encoding="utf-8"))["seconds"]
    assert len(found["further"]) == 3 * len(found["first"]) == 3
    assert 0 < found["warm"][0] < found["first"][0]
