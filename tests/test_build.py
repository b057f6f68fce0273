"""Building, with real processes, real compilers, real kills; `standin` is the generator."""

from __future__ import annotations

import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import standin
import test_layers
from processes import python
from standin import Spec

from scattergen.cache import cache, location
from scattergen.common import config, machine, paths
from scattergen.common.config import Settings
from scattergen.compiler import build, making, request
from scattergen.compiler.flags import flags_of_kernel
from scattergen.errors import CompileError, CompilerNotFound, KernelUnavailable

NAME = "lanes_f32_i64_add"
NAMES = [f"rows_f32_i64_k{number}_add" for number in range(6)]
REAL = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="stands shell scripts in for compilers"),
    pytest.mark.skipif(REAL is None, reason="no C compiler on PATH"),
]

Use = Callable[..., Settings]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture(autouse=True)
def generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setattr(location, "_private", {})
    for variable in [name for name in os.environ if name == "CC" or name.startswith("SCATTERGEN_")]:
        monkeypatch.delenv(variable)
    folder = tmp_path / "templates"
    standin.install(folder, monkeypatch.setattr)
    build.forget()
    yield folder
    monkeypatch.undo()
    config.use(None)
    build.forget()


@pytest.fixture
def use(root: Path) -> Use:
    def put(**chosen: Any) -> Settings:
        settings = Settings(**{"cache_dir": str(root), **chosen})
        config.use(settings)
        return settings

    put()
    return put


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def counting(folder: Path, text: str = "", real: str = str(REAL)) -> str:
    """Return a compiler that writes down how often it is asked."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cc"
    path.write_text(f'#!/bin/sh\necho "$@" >> \'{folder}/asked\'\n{text}\nexec {real} "$@"\n')
    path.chmod(0o755)
    return f"'{path}'"


def asked(folder: Path) -> list[str]:
    path = folder / "asked"
    return path.read_text().splitlines() if path.exists() else []


class Child:
    """Another Python process that asks for kernels."""

    def __init__(self, generator: Path, root: Path, command: str, *words: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", standin.__file__, str(generator), command, *words],
            env={**os.environ, "SCATTERGEN_CACHE_DIR": str(root), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> tuple[str, str]:
        try:
            return self.process.communicate(timeout=60)
        finally:
            self.process.kill()

    def result(self) -> Any:
        said, errors = self.end()
        assert self.process.returncode == 0, errors
        return json.loads(said)


# One kernel


def test_built_then_found(root: Path, use: Use, generator: Path) -> None:
    first = build.library(Spec(NAME))
    assert first.origin == "built"
    assert first.seconds > 0
    assert standin.is_right(NAME, first.library)
    assert first.source.read_text() == standin.render(Spec(NAME))
    assert names(first.library.parent) == ["kernel.c", "kernel.h", "kernel.so", "meta.json", "scattergen.h"]
    assert re.fullmatch(rf"{NAME}-[0-9a-f]{{16}}-[0-9a-f]{{8}}", first.library.parent.name)
    second = build.library(Spec(NAME))
    assert (second.origin, second.library, second.source) == ("cache", first.library, first.source)
    known = json.loads(first.library.with_name("meta.json").read_text())
    assert known["spec"] == NAME
    assert known["command"][1] == "kernel.c"
    assert "-ffp-contract=off" in known["command"]
    assert known["cpu"] == machine.cpu_identity("native")


def test_a_hit_does_nothing_that_it_need_not(root: Path, generator: Path) -> None:
    assert all(answer["right"] for answer in Child(generator, root, "build", *NAMES[:2]).result())
    told = Child(generator, root, "hit", *NAMES[:2]).result()
    assert told == {"origins": ["cache", "cache"], "events": ["os.listdir"], "modules": []}


def test_the_process_around_is_left_alone(use: Use) -> None:
    before = os.getcwd(), dict(os.environ), random.getstate()
    build.library(Spec(NAME))
    assert (os.getcwd(), dict(os.environ), random.getstate()) == before


# The key


def key_of(chosen: Settings, name: str = NAME) -> str:
    config.use(chosen)
    return build.library(Spec(name)).library.parent.name


def test_settings_enter_the_key_as_their_table_says(root: Path, tmp_path: Path) -> None:
    standard = Settings(cache_dir=str(root))
    other = {
        "cc": counting(tmp_path / "bin"),
        "cflags": "-DX",
        "cpu": "x86-64" if os.uname().machine == "x86_64" else "armv8-a",
        "cache_limit": 1 << 29,
        "compile_timeout": 17,
        "fallback": "error",
        "num_threads": 1,
        "keep_memory": 0,
        "aot_path": "/x",
        "compile": "never",
        "cache": "read-only",
    }
    key = key_of(standard)
    rows = [row for row in config.TABLE if row.field != "cache_dir"]
    assert {row.field for row in rows} == set(other)
    for row in rows:
        changed = Settings(**{"cache_dir": str(root), row.field: other[row.field]})
        assert (key_of(changed) != key) == row.in_key, row.field


def test_what_else_enters_the_key(
    root: Path, tmp_path: Path, use: Use, generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = use(cc=counting(tmp_path / "bin"))
    keys = [key_of(chosen)]
    compiler = tmp_path / "bin" / "cc"

    def changed(change: Callable[[], object]) -> None:
        change()
        machine.cpu_identity.cache_clear()
        build.forget()
        keys.append(key_of(chosen))

    changed(lambda: (generator / "lanes.c.j2").write_text("a new template"))
    changed(lambda: (generator / "lanes.c.j2").write_text("a changed template"))
    changed(lambda: (generator / "lanes.c.j2").rename(generator / "rows.c.j2"))
    changed(lambda: (generator / "scattergen.h").write_text("#include <stdint.h>\n#define SCATTERGEN_ABI 3\n"))
    changed(lambda: os.utime(compiler, (1, 1)))
    changed(lambda: compiler.write_text(compiler.read_text() + "\n"))
    changed(lambda: monkeypatch.setattr(machine, "_features", lambda: "another CPU"))
    changed(lambda: monkeypatch.setattr(machine, "tag", lambda: "another system"))
    changed(lambda: keys.append(key_of(chosen, "rows_f32_i64_add")))
    machine.cpu_identity.cache_clear()
    assert len(set(keys)) == len(keys) - 1, "each changed it, but the last, which went back"
    assert keys[-1] == keys[-3]


def test_an_installation_that_moved_finds_its_kernels(
    root: Path, tmp_path: Path, use: Use, generator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.library(Spec(NAME))
    shutil.copytree(generator, tmp_path / "elsewhere")
    for path in (tmp_path / "elsewhere").iterdir():
        os.utime(path, (1, 1))
    monkeypatch.setattr(request, "template_folder", lambda: str(tmp_path / "elsewhere"))
    build.forget()
    assert build.library(Spec(NAME)).origin == "cache"


_OF_OPERATORS = ("operators.spec",)
"""What the generator reads and no text depends on: it says which kernel specs are valid."""


def test_the_real_generators_files_are_in_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    package = Path(paths.PACKAGE)
    assert all((package / name).is_file() for name in request._GENERATOR)
    assert all((paths.templates() / header).is_file() for header in paths.HEADERS)
    reached, ahead = set(), ["render"]
    while ahead:
        name = ahead.pop()
        if name in reached or name.split(".")[0] in ("common", "errors") or name in _OF_OPERATORS:
            continue
        reached.add(name)
        module = package.joinpath(*name.split(".")).with_suffix(".py")
        ahead += [test_layers.target(found) for found in test_layers.imports(module) if found[0] == "scattergen"]
    assert {f"{name.replace('.', '/')}.py" for name in reached} == set(request._GENERATOR)


# Many at once


def test_many_processes_and_threads_build_once(root: Path, tmp_path: Path, generator: Path) -> None:
    cc = counting(tmp_path / "bin")
    children = [Child(generator, root, "threads", *NAMES[:2], SCATTERGEN_CC=cc) for _ in range(8)]
    ended = [child.end() for child in children]
    assert [child.process.returncode for child in children] == [0] * 8, ended
    answers = [answer for said, _ in ended for answer in json.loads(said)]
    assert len(answers) == 8 * 8 * 2
    assert all(answer["right"] for answer in answers)
    assert len({answer["library"] for answer in answers}) == 2
    assert len(asked(tmp_path / "bin")) == 2
    assert names(root / "tmp") == []
    assert len(names(root / "v1")) == 2


@pytest.mark.parametrize("mode", ["on", "memory", "off", "read-only"])
def test_threads_share_a_build_in_every_mode(tmp_path: Path, use: Use, mode: str) -> None:
    use(cache=mode, cc=counting(tmp_path / "bin", "sleep 0.3"))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        built = list(pool.map(lambda _: build.library(Spec(NAME)), range(8)))
    assert len({one.library for one in built}) == 1
    assert len(asked(tmp_path / "bin")) == 1
    assert standin.is_right(NAME, built[0].library)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Have children hear Ctrl-C, even if these tests run in the background of a shell, which turns that off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
def test_builders_that_are_killed_stop_nobody(
    root: Path, tmp_path: Path, generator: Path, kind: int, interruptible: None
) -> None:
    chance, go = random.Random(kind), tmp_path / "go"
    cc = counting(tmp_path / "bin", f"until [ -e '{go}' ]; do sleep 0.02; done")
    for turn in range(7):
        if turn == 4:  # from now on it is a matter of luck how far they get
            go.touch()
        child = Child(generator, root, "build", f"rows_f32_i64_k{turn}_add", SCATTERGEN_CC=cc)
        wait_until(lambda turn=turn: len(asked(tmp_path / "bin")) > turn)
        time.sleep(chance.uniform(0, 0.2))
        child.process.send_signal(kind)
        child.process.communicate(timeout=30)
        assert child.process.returncode != 0 or turn >= 4
    wanted = [f"rows_f32_i64_k{turn}_add" for turn in range(7)]
    answers = Child(generator, root, "build", *wanted, SCATTERGEN_CC=cc).result()
    assert all(answer["right"] for answer in answers)
    assert max(answer["seconds"] for answer in answers) < 30, "who was killed held a lock for its whole 60 s"
    assert len(names(root / "v1")) == 7
    for path in (root / "tmp").iterdir():
        os.utime(path, (1, 1))
    Child(generator, root, "build", NAME, SCATTERGEN_CC=cc).result()
    assert names(root / "tmp") == []


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(1000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen in 10 s")


def test_eviction_while_others_build_and_load(root: Path, generator: Path) -> None:
    limit = {"SCATTERGEN_CACHE_LIMIT": "40000", "SCATTERGEN_CC": f"{REAL} -O0"}
    children = [Child(generator, root, "build", *(NAMES[turn:] + NAMES[:turn]) * 2, **limit) for turn in range(3)]
    for child in children:
        _, errors = child.end()
        # Between verification and load an entry may go; then the load says so, and nothing worse.
        assert child.process.returncode == 0 or "cannot open shared object file" in errors, errors
    assert 1 <= len(names(root / "v1")) <= 4
    assert names(root / "tmp") == []


def test_forked_children_build_by_themselves(use: Use) -> None:
    build.library(Spec(NAMES[0]))
    children = []
    for name in (NAMES[0], NAMES[1], NAMES[2]):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if standin.is_right(name, build.library(Spec(name)).library) else 2
            finally:
                os._exit(status)
        children.append(child)
    assert build.library(Spec(NAMES[3])).origin == "built"
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert build.library(Spec(NAMES[1])).origin == "cache"


# Damage, in a process that has never loaded what is damaged


def test_damaged_libraries_are_rebuilt_and_not_loaded(root: Path, generator: Path) -> None:
    kinds = ["cut_at_0", "cut_at_64", "cut_at_1000", "cut_in_half", "cut_by_one", "zeros", "bit", "another"]
    first = Child(generator, root, "build", *kinds).result()
    libraries = [Path(answer["library"]) for answer in first]
    size = libraries[0].stat().st_size
    for library, length in zip(libraries, (0, 64, 1000, size // 2, size - 1), strict=False):
        os.truncate(library, length)
    zeros, bit, another = libraries[5:]
    content = bytearray(bit.read_bytes())
    content[size // 3] ^= 1
    another.write_bytes(bit.read_bytes())
    zeros.write_bytes(bytes(size))
    bit.write_bytes(content)
    again = Child(generator, root, "build", *kinds).result()
    assert [answer["right"] for answer in again] == [True] * 8
    assert [answer["origin"] for answer in again] == ["built"] * 8
    assert [Path(answer["library"]) for answer in again] == libraries


# Compilers that are missing, fail or hang


def without_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "ziglang", None)
    build.forget()


def test_without_a_compiler_what_another_one_built_serves(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(cc=counting(tmp_path / "bin"))
    there = build.library(Spec(NAME))
    use()
    without_compiler(monkeypatch, tmp_path)
    assert build.library(Spec(NAME)).library == there.library
    with pytest.raises(CompilerNotFound, match="pip install"):
        build.library(Spec(NAMES[0]))
    use(cc="gone-cc")
    assert build.library(Spec(NAME)).library == there.library
    use(cflags="-DOTHER")
    with pytest.raises(CompilerNotFound):
        build.library(Spec(NAME))


def test_a_compiler_that_is_installed_later_is_found(tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    without_compiler(monkeypatch, tmp_path)
    with pytest.raises(CompilerNotFound):
        build.library(Spec(NAME))
    monkeypatch.undo()
    standin.install(tmp_path / "templates", monkeypatch.setattr)
    assert build.library(Spec(NAME)).origin == "built"


def test_building_can_be_forbidden(tmp_path: Path, use: Use) -> None:
    use(compile="never")
    with pytest.raises(KernelUnavailable, match=r"lanes_f32_i64_add.*SCATTERGEN_COMPILE=never"):
        build.library(Spec(NAME))
    use(cc=counting(tmp_path / "bin"))
    there = build.library(Spec(NAME))
    use(compile="never")
    assert build.library(Spec(NAME)).library == there.library


def test_a_failure_is_told_and_remembered(tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    use(cc=counting(tmp_path / "bin"))
    monkeypatch.setattr(making, "_rendered", lambda *_: "int answer(void) { return 1 +; }\n")
    with pytest.raises(CompileError) as raised:
        build.library(Spec(NAME))
    assert type(raised.value) is CompileError
    assert raised.value.spec == NAME
    assert raised.value.source_path.read_text() == "int answer(void) { return 1 +; }\n"
    assert "kernel.c:1:" in raised.value.output
    tries = len(asked(tmp_path / "bin"))
    with pytest.raises(CompileError) as again:
        build.library(Spec(NAME))
    assert str(again.value) == str(raised.value)
    assert len(asked(tmp_path / "bin")) == tries
    # Nothing is held against the compiler for it, and another kernel builds.
    monkeypatch.setattr(making, "_rendered", lambda spec, _: standin.render(spec))
    assert build.library(Spec(NAMES[0])).origin == "built"
    assert "-fopenmp" in asked(tmp_path / "bin")[-1]


def test_threads_get_one_failure_all(tmp_path: Path, use: Use) -> None:
    use(cc=counting(tmp_path / "bin", "sleep 0.2; echo no >&2; kill -9 $$"))

    def fail(_: int) -> str:
        with pytest.raises(CompileError) as raised:
            build.library(Spec(NAME))
        return str(raised.value)

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        texts = set(pool.map(fail, range(6)))
    assert len(texts) == 1
    assert len(asked(tmp_path / "bin")) == 1, "a compiler that died has refused nothing: no second try"


def test_a_hanging_compiler(tmp_path: Path, use: Use) -> None:
    use(cc=counting(tmp_path / "bin", "exec sleep 60"), compile_timeout=1)
    began = time.monotonic()
    with pytest.raises(CompileError, match="did not end in 1 s"):
        build.library(Spec(NAME))
    assert time.monotonic() - began < 5
    assert len(asked(tmp_path / "bin")) == 1


REFUSING = 'case "$*" in *{flag}*) echo "unknown option {flag}" >&2; exit 1;; esac'


@pytest.mark.parametrize(("flag", "fact"), [("-fopenmp", "openmp"), ("-march=native", "native"), ("-nostdlib", "bare")])
def test_what_a_compiler_refuses_is_left_out_and_remembered(
    root: Path, tmp_path: Path, generator: Path, flag: str, fact: str
) -> None:
    cc = counting(tmp_path / "bin", REFUSING.format(flag=flag))
    first = Child(generator, root, "build", NAMES[0], SCATTERGEN_CC=cc).result()
    tries = len(asked(tmp_path / "bin"))
    assert tries > 1
    later = Child(generator, root, "build", NAMES[0], NAMES[1], SCATTERGEN_CC=cc).result()
    assert [answer["right"] for answer in first + later] == [True] * 3
    assert [answer["origin"] for answer in later] == ["cache", "built"]
    assert len(asked(tmp_path / "bin")) == tries + 1
    assert flag not in asked(tmp_path / "bin")[-1]
    facts = [json.loads(path.read_text()) for path in (root / "compilers").glob("*.json")]
    assert [{**one, "compiler": ""} for one in facts] == [{fact: False, "compiler": ""}]


def test_a_level_that_is_asked_for_is_not_left_out(tmp_path: Path, use: Use) -> None:
    use(cpu="no-such-level")
    with pytest.raises(CompileError, match="no-such-level"):
        build.library(Spec(NAME))


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_compilers(name: str, use: Use) -> None:
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    use(cc=name)
    assert standin.is_right(NAME, build.library(Spec(NAME)).library)


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs pip install ziglang")
def test_zig_does_without_openmp(root: Path, tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    build.forget()
    assert standin.is_right(NAME, build.library(Spec(NAME)).library)
    assert [json.loads(path.read_text())["openmp"] for path in (root / "compilers").glob("*.json")] == [False]
    assert names(root / "tmp") == []


def test_odd_places_and_no_home(tmp_path: Path, generator: Path) -> None:
    root = tmp_path / "mit Leerzeichen & 'Zeichen' äöü"
    cc = counting(tmp_path / "bin dir")
    child = Child(
        generator,
        root,
        "build",
        NAME,
        HOME="",
        TMPDIR="/no/such",
        LC_ALL="C",
        SCATTERGEN_CC=f"{cc} -DX='a b'",
    )
    (answer,) = child.result()
    assert answer["right"]
    assert Path(answer["library"]).is_relative_to(root)


# Where the store's own library cannot be loaded


def test_a_private_copy(root: Path, tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    there = build.library(Spec(NAME))
    copy = build.library(Spec(NAME), private=True)
    assert copy.origin == "cache"
    assert root not in copy.library.parents
    assert copy.library.read_bytes() == there.library.read_bytes()
    assert copy.source.read_text() == there.source.read_text()
    assert build.library(Spec(NAME), private=True).library == copy.library
    fresh = build.library(Spec(NAMES[0]), private=True)
    assert fresh.origin == "built"
    assert standin.is_right(NAMES[0], fresh.library)
    use(compile="never")
    assert build.library(Spec(NAME), private=True).library == copy.library


def test_a_store_that_nothing_may_be_run_from(tmp_path: Path, use: Use) -> None:
    place = tmp_path / "noexec"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        use(cache_dir=str(place / "store"))
        there = build.library(Spec(NAME))
        with pytest.raises(OSError, match="map segment"):
            standin.answer(there.library)
        assert standin.is_right(NAME, build.library(Spec(NAME), private=True).library)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


# Python modules

MODULE = """#define PY_SSIZE_T_CLEAN
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "stand_in", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_stand_in(void)
{
    PyObject *made = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(made, Py_MOD_GIL_NOT_USED);
#endif
    if (made)
        PyModule_AddIntConstant(made, "answer", ANSWER);
    return made;
}
"""


def test_a_python_module(tmp_path: Path, use: Use) -> None:
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        pytest.skip("Python's headers are not installed")
    written: list[str] = []

    def module(recipe: str, *, build_it: bool = True) -> Path:
        def write() -> str:
            written.append(recipe)
            return MODULE.replace("ANSWER", recipe)

        return build.module("stand_in", recipe, write, lambda: [include], build=build_it)

    use(cc=counting(tmp_path / "bin"))
    with pytest.raises(KernelUnavailable):
        module("42", build_it=False)
    path = module("42")
    assert module("42") == module("42", build_it=False) == path
    assert written == ["42"]
    assert len(asked(tmp_path / "bin")) == 1
    loader = importlib.machinery.ExtensionFileLoader("stand_in", str(path))
    spec = importlib.util.spec_from_loader("stand_in", loader)
    assert spec
    made = importlib.util.module_from_spec(spec)
    loader.exec_module(made)
    assert made.answer == 42
    assert module("43") != path


def test_a_python_module_without_headers(root: Path, tmp_path: Path, use: Use) -> None:
    with pytest.raises(KernelUnavailable, match=r"Python\.h"):
        build.module("stand_in", "recipe", lambda: MODULE, lambda: [str(tmp_path)])
    assert names(root / "tmp") == []


def test_flags_are_those_of_the_toolchain(use: Use) -> None:
    chosen = use(cflags="-DMINE")
    build.library(Spec(NAME))
    meta = json.loads(build.library(Spec(NAME)).library.with_name("meta.json").read_text())
    wished = set(flags_of_kernel(chosen, openmp=False))
    assert wished <= set(meta["command"])


def test_compiled_templates_are_kept(tmp_path: Path) -> None:
    """Another process renders from what the first one left in the store, and gives the same text."""
    code = (
        "from scattergen.compiler import build, making; from scattergen.common import config;"
        "from scattergen.lower.kernel import KernelSpec;"
        "import jinja2, os; made = []; plain = jinja2.Environment.compile;"
        "jinja2.Environment.compile = lambda *a, **k: made.append(1) or plain(*a, **k);"
        "store = build._store(config.settings(), os.getpid());"
        "text = making._rendered(KernelSpec.parse('rows_f32_i64_add'), store); print(len(made), hash(text))"
    )
    environment = {**os.environ, "SCATTERGEN_CACHE_DIR": str(tmp_path / "store"), "PYTHONHASHSEED": "0"}
    answers = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        answers.append(done.stdout.split())
    assert int(answers[0][0]) > 0 and int(answers[1][0]) == 0
    assert answers[0][1] == answers[1][1]


# What an error of the compiler says


@pytest.mark.parametrize(
    ("cache", "variables", "advice"),
    [
        (
            "memory",
            {"SCATTERGEN_CFLAGS": "-fno-such-flag"},
            "SCATTERGEN_CFLAGS is set: try without it first. If that fails too, this is a bug",
        ),
        ("off", {"SCATTERGEN_CC": "false"}, "SCATTERGEN_CC is set: try without it first. If that fails too"),
        ("off", {"CC": "false", "SCATTERGEN_CC": ""}, "  CC is set: try without it first. If that fails too"),
        (
            "on",
            {"SCATTERGEN_CC": "false", "SCATTERGEN_CFLAGS": "-g"},
            "SCATTERGEN_CFLAGS and SCATTERGEN_CC are set: try without them first. If that fails too",
        ),
    ],
)
def test_what_the_user_has_set_is_named_before_a_bug_of_ours(
    cache: str, variables: dict[str, str], advice: str, tmp_path: Path
) -> None:
    code = """
import scattergen
from scattergen.errors import CompileError
for _ in range(2):  # the second is remembered
    try:
        scattergen.compile("scatter_elements_f32_i64_r1a0_add")
    except CompileError as error:
        assert error.source_path.is_file()
        print(error)
"""
    said = python(code, SCATTERGEN_CACHE=cache, SCATTERGEN_CACHE_DIR=str(tmp_path / "store"), **variables)
    assert said.count(advice) == 2
    assert said.count("kernel.c (goes with this process)") == (0 if cache == "on" else 2)


def test_an_error_of_the_compiler_is_ours_where_nothing_is_set(tmp_path: Path) -> None:
    error = CompileError("spec", ("cc",), "output", tmp_path / "kernel.c", "cc exited with status 1")
    ours = "  If your compiler works otherwise, this is a bug in scattergen: please report the lines above."
    assert str(error).splitlines()[-1] == ours
    other = error.but(variables=("SCATTERGEN_CC",))
    assert (other.spec, other.command, other.source_path) == (error.spec, error.command, error.source_path)
    assert str(pickle.loads(pickle.dumps(other))) == str(other) != str(error)
