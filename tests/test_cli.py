"""The command, run as people and programs run it."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ahead import ROOT, SPEC, environment, good, python, run, scattergen

from scattergen import inspection
from scattergen.aot import aot
from scattergen.call import compiled
from scattergen.cli import cli, terminal

MODEL = ROOT / "tests" / "models" / "gat_segment_softmax.dy.onnx"


def built(cache: Path) -> None:
    good(python(f"import scattergen; scattergen.compile({SPEC!r})", SCATTERGEN_CACHE_DIR=str(cache)))


def on_a_terminal(*arguments: str, **variables: str) -> str:
    """Run the command with a pseudo-terminal as its output, and return what it wrote."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "scattergen", *arguments]
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=environment(TERM="xterm", **variables))
    os.close(slave)
    parts = []
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # Linux's way of saying that the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(master)
    assert process.wait() == 0
    return b"".join(parts).decode()


def test_show_prints_the_c_exactly_as_it_is_compiled() -> None:
    printed = good(scattergen("show", SPEC, "--all"))
    kernel = compiled.compile(SPEC)
    assert printed == "\n".join(variant.source for variant in kernel.variants)
    assert printed == inspection.show(SPEC)
    assert good(scattergen("show", "rows_f32_i64_add")) == kernel.variant("rows").source


def test_show_lists_the_kernels_of_a_spec_and_says_how_to_see_one() -> None:
    header, *rows, last = good(scattergen("show", SPEC)).splitlines()
    assert header.split() == ["kernel", "lines", "of", "C", "what", "it", "does"]
    found = inspection.sources(SPEC)
    assert [row.split()[0] for row in rows] == [*found]
    assert [int(row.split()[1]) for row in rows] == [text.count("\n") for text in found.values()]
    assert rows[0].endswith("each row of data copied, then its updates applied in order")
    (command,) = re.findall("`scattergen (.*?)`", last)
    assert good(scattergen(*command.split())) == found["rows_f32_i64_add"] and "--all that of all" in last
    assert scattergen("show", SPEC, "--all", "--list").returncode == 2


def test_show_lists_names_and_speaks_json() -> None:
    names = good(scattergen("show", SPEC, "--list")).split()
    assert "rows_f32_i64_add" in names
    answer = json.loads(good(scattergen("show", SPEC, "--json")))
    assert [kernel["name"] for kernel in answer["kernels"]] == names
    assert answer["kernels"][0]["source"] in inspection.show(SPEC)


def test_colours_are_for_terminals_alone() -> None:
    pytest.importorskip("rich", reason="needs rich")
    assert "\x1b[" in on_a_terminal("show", "rows_f32_i64_add")
    assert "\x1b[" not in on_a_terminal("show", "rows_f32_i64_add", NO_COLOR="1")
    assert "\x1b[" not in good(scattergen("show", "rows_f32_i64_add"))
    coloured = on_a_terminal("show", "rows_f32_i64_add", COLUMNS="60")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace("\r\n", "\n")
    assert [line.rstrip() for line in plain.splitlines()] == inspection.show("rows_f32_i64_add").splitlines()


def test_a_spec_that_is_none_is_status_2() -> None:
    done = scattergen("show", "scatter_elements_f32_i64_r3a5_add")
    assert done.returncode == 2
    assert done.stdout == ""
    said, near = done.stderr.split("; near: ")
    assert said == "scattergen: SpecError: axis=5: allowed is 0 to 2 for rank 3"
    assert "scatter_elements_f32_i64_r3a2_add" in near.strip().split(", ")


@pytest.mark.parametrize("arguments", [(), ("shew",), ("show",), ("build", SPEC), ("cache",), ("cache", "prune", "x")])
def test_words_that_mean_nothing_are_status_2(arguments: tuple[str, ...]) -> None:
    done = scattergen(*arguments)
    assert done.returncode == 2
    assert "usage: scattergen" in done.stderr


def test_build_says_what_it_made(tmp_path: Path) -> None:
    done = scattergen("build", SPEC, "-o", tmp_path / "kernels", "-j", "2")
    assert re.match(rf"{tmp_path}/kernels: \d+ kernels for \w+ \w+ in [\d.]+ s\n", good(done))
    assert "\r" not in done.stderr
    answer = json.loads(good(scattergen("build", "rows_f32_i64_add", "-o", tmp_path / "one", "--json")))
    assert answer["kernels"] == ["rows_f32_i64_add"]
    assert all((tmp_path / "one" / name).stat().st_size == size for name, size in answer["bytes"].items())


def test_build_says_all_that_may_be_asked_for(tmp_path: Path) -> None:
    done = scattergen("build", "foo", "-o", tmp_path / "kernels")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "scattergen: SpecError: spec='foo': allowed is an operator's spec (scatter_elements_f32_i64_r3a1_add),"
        " a kernel's (rows_f32_i64_add), `standard`, a list (.toml, .json) or a model (.onnx)\n"
    )


def test_build_reads_what_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(aot, "gather")
    assert cli.main(["build", "rows_w32_i64_none", "-o", str(tmp_path / "kernels")]) == 0


def test_the_tool_is_the_same_command(tmp_path: Path) -> None:
    command = (sys.executable, ROOT / "tools" / "build_kernels.py", "rows_f32_i64_add", "-o", tmp_path / "kernels")
    assert "1 kernel for" in good(run(*command, PYTHONPATH=""))
    assert (tmp_path / "kernels" / "manifest.json").is_file()


def test_run_compares_a_model_with_the_outputs_given() -> None:
    pytest.importorskip("onnx", reason="needs the onnx package")
    printed = good(scattergen("run", MODEL, "--io", MODEL.with_suffix(".npz")))
    assert "elements_f32_i64_k1_max" in printed
    assert "expected outputs: given" in printed
    assert printed.splitlines()[-1].startswith("  reference: ONNX's own evaluator")
    answer = json.loads(good(scattergen("run", MODEL, "--io", MODEL.with_suffix(".npz"), "--json")))
    assert answer["equal"] is True
    assert len(answer["nodes"]) == 3


def test_run_is_status_1_where_outputs_differ(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="needs the onnx package")
    with np.load(MODEL.with_suffix(".npz")) as archive:
        arrays = {name: archive[name] + (name.startswith("out/")) for name in archive.files}
    np.savez(tmp_path / "wrong.npz", **arrays)
    done = scattergen("run", MODEL, "--io", tmp_path / "wrong.npz")
    assert done.returncode == 1
    assert "NOT EQUAL" in done.stdout


def test_run_is_status_2_where_there_is_no_model(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="needs the onnx package")
    done = scattergen("run", tmp_path / "none.onnx")
    assert done.returncode == 2
    assert "none.onnx" in done.stderr


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    onnx = pytest.importorskip("onnx", reason="needs the onnx package")
    model = onnx.load(MODEL)
    (tmp_path / "model.onnx").write_bytes(MODEL.read_bytes())
    (tmp_path / "text.onnx").write_text("no model")
    (tmp_path / "empty.onnx").touch()
    (tmp_path / "text.npz").write_text("no arrays")
    np.save(tmp_path / "one.npy", np.zeros(3))
    del model.opset_import[:]
    model.opset_import.append(onnx.helper.make_opsetid("elsewhere", 1))
    (tmp_path / "opset.onnx").write_bytes(model.SerializeToString())
    model.graph.initializer.append(
        onnx.TensorProto(name="w", dims=[3], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
    )
    model.graph.initializer[-1].external_data.add(key="location", value="gone")
    (tmp_path / "external.onnx").write_bytes(model.SerializeToString())
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *(
            (f"{command} text.onnx", "ModelError: text.onnx cannot be read")
            for command in ("run", "build -o x", "bench")
        ),
        ("run empty.onnx", "ModelError: empty.onnx has no graph"),
        *((f"{command} opset.onnx", "its graph imports no opset") for command in ("run", "build -o x", "bench")),
        *((f"{command} external.onnx", "gone") for command in ("run", "build -o x", "bench")),
        ("run model.onnx --io text.npz", "ModelError: text.npz cannot be read as an .npz"),
        ("bench model.onnx --io one.npy", "ModelError: one.npy cannot be read as an .npz"),
    ],
)
def test_a_file_that_is_not_what_it_is_taken_for_is_status_2(words: str, said: str, spoilt: Path) -> None:
    done = scattergen(*words.split(), cwd=spoilt)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("scatter_elements_f32_i64_r2a0_add --data 0x4 --indices 4x4", "no index fits axis 0, whose size is 0"),
        ("scatter_nd_f32_i64_r2k1_add --data 0x4 --indices 3x1", "no index fits data of shape (0, 4)"),
        ("scatter_nd_f32_i64_r2k0_add --data 4x4 --indices 4x0", "of depth 0 NumPy has no index for 4 tuples"),
        ("scatter_elements_f32_i64_r2a0_add --data 4x4 --indices=-1x4", "'-1x4' is no shape"),
        (
            "scatter_elements_f32_i64_r2a0_add --data 4x4 --indices 4x4 --seed -1",
            "allowed is a whole number, 0 or more",
        ),
        (
            "scatter_elements_f32_i64_r2a0_add --data 4x4 --indices 4x4 --rounds 0",
            "argument --rounds: '0': allowed is a whole number, 1 or more",
        ),
        (f"scatter_elements_f32_i64_r1a0_add --data {1 << 62} --indices 4", "there are no arrays of these shapes"),
        (f"scatter_elements_f32_i64_r1a0_add --data {1 << 50} --indices 4", "MemoryError: Unable to allocate"),
    ],
)
def test_arrays_that_cannot_be_measured_are_status_2(words: str, said: str) -> None:
    done = scattergen("bench", *words.split())
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1,5"])
def test_a_tolerance_is_a_number(text: str) -> None:
    done = scattergen("run", str(MODEL), f"--rtol={text}")
    assert done.returncode == 2
    assert "argument --rtol" in done.stderr.splitlines()[-1]


def test_cache_lists_what_is_kept(tmp_path: Path) -> None:
    cache = tmp_path / "store"
    built(cache)
    assert good(scattergen("cache", "dir", SCATTERGEN_CACHE_DIR=str(cache))) == f"{cache}\n"
    listed = good(scattergen("cache", "list", SCATTERGEN_CACHE_DIR=str(cache)))
    assert re.search(r"^rows_f32_i64_add +[\d.]+ KB +\d+ s ago +\d+ ms", listed, re.MULTILINE)
    answer = json.loads(good(scattergen("cache", "list", "--json", SCATTERGEN_CACHE_DIR=str(cache))))
    assert "rows_f32_i64_add" in [entry["kernel"] for entry in answer]
    assert all(Path(entry["path"]).is_dir() and entry["bytes"] > 0 and entry["seconds"] > 0 for entry in answer)


def test_cache_lists_an_entry_that_says_odd_things(tmp_path: Path) -> None:
    built(tmp_path / "store")
    for path in (tmp_path / "store").glob("v1/*/meta.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "seconds": "long"}))
    printed = good(scattergen("cache", "list", SCATTERGEN_CACHE_DIR=str(tmp_path / "store")))
    assert " ms " not in printed


def test_cache_verify_is_status_1_where_something_is_damaged(tmp_path: Path) -> None:
    cache = tmp_path / "store"
    built(cache)
    assert good(scattergen("cache", "verify", SCATTERGEN_CACHE_DIR=str(cache))) == "0 damaged\n"
    (library,) = cache.glob("v1/rows_f32_i64_add-*/kernel.so")
    library.write_bytes(b"")
    done = scattergen("cache", "verify", SCATTERGEN_CACHE_DIR=str(cache))
    assert done.returncode == 1
    assert done.stdout == f"damaged: {library.parent.name}\n1 damaged\n"
    assert not library.parent.exists()


def test_cache_prune_and_clear_remove(tmp_path: Path) -> None:
    cache = tmp_path / "store"
    built(cache)
    number = len(list((cache / "v1").iterdir()))
    assert good(scattergen("cache", "prune", "--older-than", "1d", SCATTERGEN_CACHE_DIR=str(cache))) == "0 removed\n"
    (entry,) = cache.glob("v1/rows_f32_i64_add-*")
    os.utime(entry / "meta.json", (0, 0))
    pruned = good(scattergen("cache", "prune", "--older-than", "90d", SCATTERGEN_CACHE_DIR=str(cache)))
    assert pruned == f"removed: {entry.name}\n1 removed\n"
    assert good(scattergen("cache", "clear", SCATTERGEN_CACHE_DIR=str(cache))) == f"{number - 1} removed\n"
    assert list((cache / "v1").iterdir()) == []


def test_cache_clear_leaves_a_folder_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    done = scattergen("cache", "clear", SCATTERGEN_CACHE_DIR=str(tmp_path))
    assert done.returncode == 2
    assert "did not make (letters)" in done.stderr
    assert (tmp_path / "letters").is_dir()


def test_env_says_where_each_setting_is_from(tmp_path: Path) -> None:
    given = {"SCATTERGEN_CFLAGS": "-O2", "CC": "gcc", "OMP_NUM_THREADS": "1", "SCATTERGEN_AOT_PATH": str(tmp_path)}
    answer = json.loads(good(scattergen("env", "--json", **given)))
    settings = {row["name"]: (row["value"], row["from"]) for row in answer["settings"]}
    assert settings["cflags"] == ("-O2", "SCATTERGEN_CFLAGS")
    assert settings["cc"] == ("gcc", "CC")
    assert settings["num_threads"] == (1, "OMP_NUM_THREADS")
    assert settings["compile"] == ("auto", "default")
    assert set(settings) == {row.field for row in inspection.config.TABLE}
    assert answer["compiler"]["command"][0].endswith("/gcc")
    assert "-O2" in answer["compiler"]["flags"]
    assert "no folder that `scattergen build` wrote" in answer["ahead of time"][0]["refused"]
    assert answer["versions"]["scattergen"] in good(scattergen("--version"))
    printed = good(scattergen("env", **given))
    assert re.search(r"SCATTERGEN_CFLAGS +-O2 +SCATTERGEN_CFLAGS", printed)
    assert re.search(r"caches +L1 [\d.]+ KB, L2 [\d.]+ [KM]B, L3 [\d.]+ [KM]B$", printed, re.MULTILINE)


def test_env_says_where_the_caller_module_is_or_why_there_is_none(tmp_path: Path) -> None:
    store = {"SCATTERGEN_CACHE_DIR": str(tmp_path / "store"), "SCATTERGEN_COMPILE": "auto"}

    def caller_module(**variables: str) -> dict[str, str]:
        found: dict[str, str] = json.loads(good(scattergen("env", "--json", **{**store, **variables})))["caller module"]
        return found

    assert "not built yet; 200 calls of a process have it built" in caller_module()["state"]
    assert "there is no C compiler" in caller_module(SCATTERGEN_CC="no-such-compiler")["state"]
    assert "SCATTERGEN_COMPILE=never forbids" in caller_module(SCATTERGEN_COMPILE="never")["state"]
    code = "import scattergen; from scattergen.load import caller; assert caller.make(); print(scattergen.env())"
    used = good(python(code, **store))
    assert "calls of this process go through it" in used
    found = caller_module()
    assert found["path"] in used and Path(found["path"]).is_relative_to(tmp_path / "store")
    assert found["state"] == "calls go through it from the second one of a process on"
    assert found["path"] in good(scattergen("env", **store))


def test_env_says_why_no_caller_module_can_be_built(tmp_path: Path) -> None:
    code = (
        "from scattergen.load import caller; caller._include_dirs = lambda: ['/no-headers'];"
        " print(caller.status()); assert not caller.make(); print(caller.status())"
    )
    first, then = good(python(code, SCATTERGEN_CACHE_DIR=str(tmp_path))).splitlines()
    assert "there is no Python.h in /no-headers; install the headers of this Python" in first
    assert "no Python.h in /no-headers" in then


def test_env_says_that_there_is_no_compiler() -> None:
    printed = good(scattergen("env", SCATTERGEN_CC="no-such-compiler"))
    assert "no C compiler" in printed
    assert "is no program on PATH" in printed


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"'{sys.executable}' -m scattergen show {SPEC} --all | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment())
    assert done.stdout.startswith("/* Generated by scattergen")
    assert done.stderr == ""


@pytest.mark.parametrize("words", ["env", "cache list", "show rows_f32_i64_add"])
def test_a_closed_output_is_status_2(words: str) -> None:
    done = run("sh", "-c", f'"$0" -m scattergen {words} >&-', sys.executable)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "scattergen: OSError: standard output is closed; send it to /dev/null if you want none\n"


def test_what_the_locale_cannot_write_is_printed_as_escapes(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = scattergen("bench", "scatter_nd_f32_i64_r2k1_add", "--data", "4x4", "--indices", "3x1", **plain)
    assert "NumPy \\xb5s" in good(done)
    place = str(tmp_path / os.fsdecode(b"h\xff"))
    assert good(scattergen("cache", "dir", SCATTERGEN_CACHE_DIR=place)) == f"{tmp_path}/h\\udcff\n"


def test_bash_completes_commands_options_and_specs() -> None:
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    script = good(scattergen("completion", "bash"))

    def completed(*words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in ("scattergen", *words))
        code = (
            f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _scattergen; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
        return good(run("bash", "-c", code)).split()

    assert completed("ca") == ["cache"]
    assert completed("cache", "pr") == ["prune"]
    assert completed("cache", "prune", "--old") == ["--older-than"]
    assert "scatter_elements_f32_i64_r2a0_add" in completed("show", "scatter_el")
    assert completed("build", "x", "--tar") == ["--target"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_scripts(shell: str, tmp_path: Path) -> None:
    text = good(scattergen("completion", shell))
    assert "older-than" in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(text)
    good(run(shell, tmp_path / "script"))


@pytest.mark.parametrize("words", [(), ("cache",)])
def test_a_group_of_commands_alone_shows_its_help(words: tuple[str, ...]) -> None:
    done = scattergen(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", good(scattergen(*words, "--help")))


def test_help_says_what_happens_without_options() -> None:
    said = " ".join(good(scattergen("cache", "prune", "--help")).split())
    assert "Without options that is what is above SCATTERGEN_CACHE_LIMIT." in said
    said = " ".join(good(scattergen("bench", "--help")).split())
    assert "of which the median counts (default: 9)" in said
    assert "of the values and indices (default: 0)" in said
    assert "WHAT" in said and "subject" not in said


@pytest.mark.parametrize(("number", "text"), [(7, "7 B"), (32 << 10, "32 KB"), (1536, "1.5 KB"), (1 << 20, "1 MB")])
def test_sizes_are_written_in_the_unit_that_suits(number: int, text: str) -> None:
    assert terminal.size(number) == text


@pytest.mark.parametrize("tool", ["measure_forms", "regenerate"])
def test_tools_have_help(tool: str) -> None:
    assert f"usage: {tool}.py" in good(run(sys.executable, ROOT / "tools" / f"{tool}.py", "--help"))


def test_every_command_has_help() -> None:
    for words in ((), ("show",), ("build",), ("run",), ("cache",), ("cache", "prune"), ("env",), ("completion",)):
        assert "usage: scattergen" in good(scattergen(*words, "--help"))


@pytest.mark.parametrize(("text", "bytes_"), [("1G", 1 << 30), ("1.5K", 1536), ("7", 7)])
def test_sizes_are_read(text: str, bytes_: int) -> None:
    chosen = cli.parser().parse_args(["cache", "prune", "--max-size", text])
    assert chosen.max_size == bytes_
