"""The toolchain, with the compilers that are here and with shell scripts in their place."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from scattergen.common import paths
from scattergen.common.config import Settings
from scattergen.compiler import flag_sets, toolchain
from scattergen.compiler.flags import _REFUSED, flags_of_kernel, flags_of_module
from scattergen.errors import CompileError, CompilerNotFound, SettingError

ROOT = Path(__file__).resolve().parent.parent
SOURCE = '__attribute__((visibility("default"))) int answer(void);\nint answer(void) { return 42; }\n'
REAL = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stands shell scripts in for compilers")
needs_compiler = pytest.mark.skipif(REAL is None, reason="no C compiler on PATH")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def compiler(command: str) -> toolchain.Compiler:
    return toolchain.find(Settings(cc=command))


def compiled(folder: Path, cc: str, *, text: str = SOURCE, timeout: float = 60, openmp: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.c").write_text(text)
    flags = flags_of_kernel(Settings(), openmp=openmp)
    seconds = toolchain.compile_library(
        compiler(cc),
        folder / "kernel.c",
        folder / "kernel.so",
        flags,
        spec="lanes_f32_i64_add",
        timeout=timeout,
    )
    assert seconds > 0
    return folder / "kernel.so"


def test_an_instruction_set_that_is_none_is_no_fault_of_ours(tmp_path: Path) -> None:
    (tmp_path / "kernel.c").write_text(SOURCE)
    for found in [toolchain.find(Settings(cc=name)) for name in ("gcc", "clang") if shutil.which(name)]:
        flags = flags_of_kernel(Settings(cpu="x86-64-v9"), openmp=False)
        with pytest.raises(CompileError) as caught:
            toolchain.compile_library(
                found, tmp_path / "kernel.c", tmp_path / "kernel.so", flags, spec="lanes_f32_i64_add", timeout=60
            )
        assert str(caught.value).endswith(
            "set SCATTERGEN_CPU (or --target, of a build) to one that it has, or leave it out."
        )
        assert "knows no instruction set x86-64-v9" in str(caught.value)
        assert "bug" not in str(caught.value)


# Finding


def test_names_are_tried_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'none'}:{tmp_path}")
    for name in ("clang", "gcc", "cc"):
        script(tmp_path / name, "exit 0")
        assert toolchain.find(Settings()).command == (str(tmp_path / name),)


def test_a_folder_or_a_file_without_x_is_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cc").mkdir()
    script(tmp_path / "gcc", "exit 0").chmod(0o644)
    script(tmp_path / "clang", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.find(Settings()).path == str(tmp_path / "clang")


def test_the_setting_goes_first_and_keeps_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "cc", "exit 0")
    tool = script(tmp_path / "my tools" / "ccache", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = toolchain.find(Settings(cc=f"'{tool}' cc -m64"))
    assert found.command == (str(tool), "cc", "-m64")
    assert found.path == str(tool)


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "bin" / "mycc", "exit 0")
    monkeypatch.chdir(tmp_path)
    assert compiler("./bin/mycc").command == (str(tmp_path / "bin" / "mycc"),)
    assert compiler("./bin/mycc bin/mycc").command[1] == str(tmp_path / "bin" / "mycc")


def test_none_is_told_with_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(CompilerNotFound) as raised:
        toolchain.find(Settings())
    for text in ("SCATTERGEN_CC", "CC", "cc, gcc, clang", str(tmp_path), "ziglang"):
        assert text in str(raised.value)
    for way in ("install a compiler", "pip install ziglang", "SCATTERGEN_AOT_PATH"):
        assert way in str(raised.value)


def test_a_setting_that_is_not_there_is_not_replaced_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CompilerNotFound, match="no-such-cc"):
        compiler("no-such-cc -m64")
    with pytest.raises(SettingError, match="quotation"):
        compiler("gcc 'unbalanced")
    with pytest.raises(CompilerNotFound):
        compiler("' '")


def test_the_ziglang_package_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zig = script(tmp_path / "site" / "ziglang" / "zig", "exit 0")
    (zig.parent / "__init__.py").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "ziglang", raising=False)
    found = toolchain.find(Settings())
    assert found.command == (str(zig), "cc")
    assert found.is_zig
    # What zig is told: the CPU in its own spelling, always.
    assert found.spell(("-O3", "-march=native")) == ("-O3", "-mcpu=native")
    assert found.spell(("-march=x86-64-v3",)) == ("-mcpu=x86_64_v3",)
    assert found.spell(("-O2",)) == ("-O2", "-mcpu=baseline")


def test_identity_follows_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    wrapper, inner = script(tmp_path / "ccache", "exit 0"), script(tmp_path / "gcc", "exit 0")
    first = compiler("ccache gcc").identity
    assert compiler("ccache gcc").identity == first
    os.utime(inner, ns=(1, 1))
    second = compiler("ccache gcc").identity
    script(wrapper, "exit 00")
    third = compiler("ccache gcc").identity
    assert len({first, second, third, compiler("ccache gcc -m64").identity}) == 4


def test_identity_of_two_names_for_one_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = script(tmp_path / "ccache", "exit 0")
    for name in ("gcc", "clang"):
        (tmp_path / name).symlink_to(tool)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiler("gcc").path == compiler("clang").path == str(tool)
    assert compiler("gcc").identity != compiler("clang").identity


# Flags


def test_flags() -> None:
    plain = flags_of_kernel(Settings(), openmp=False)
    assert {"-std=c11", "-O3", "-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-march=native"} <= set(plain)
    assert "-fopenmp" not in plain
    assert "-fopenmp" in flags_of_kernel(Settings(), openmp=True)
    assert flags_of_kernel(Settings(cflags="-g '-DA=b c'"), openmp=False)[-2:] == ("-g", "-DA=b c")
    assert "-march=native" not in flags_of_kernel(Settings(), openmp=False, native=False)
    assert "-march=x86-64-v2" in flags_of_kernel(Settings(cpu="x86-64-v2"), openmp=False, native=False)
    assert ("-nostdlib" in flags_of_kernel(Settings(), openmp=False, bare=True)) == (sys.platform == "linux")
    assert "-nostdlib" not in plain
    assert "-g" in flags_of_module(Settings(cflags="-g"))


@pytest.mark.parametrize("flag", sorted(_REFUSED))
def test_flags_that_change_results_are_refused(flag: str) -> None:
    with pytest.raises(SettingError, match=rf"SCATTERGEN_CFLAGS: {re.escape(flag)} is refused: .{{20}}"):
        flags_of_kernel(Settings(cflags=f"-g {flag}"), openmp=False)
    with pytest.raises(SettingError, match=rf"CC.*{re.escape(flag)}"):
        compiler(f"cc {flag}")


# Compiling


@pytest.mark.parametrize("name", ["gcc", "clang", "cc"])
def test_compilers(name: str, tmp_path: Path) -> None:
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    folder = tmp_path / "mit Leerzeichen & Umlauten äöü"
    library = compiled(folder, name)
    assert ctypes.CDLL(str(library)).answer() == 42
    assert sorted(path.name for path in folder.iterdir()) == ["kernel.c", "kernel.so"]
    assert str(folder).encode() not in library.read_bytes()


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs pip install ziglang")
def test_zig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HOME", raising=False)
    (tmp_path / "kernel.c").write_text(SOURCE)
    zig = toolchain.find(Settings())

    def build(*, openmp: bool, cpu: str) -> None:
        toolchain.compile_library(
            zig,
            tmp_path / "kernel.c",
            tmp_path / "kernel.so",
            flags_of_kernel(Settings(cpu=cpu), openmp=openmp),
            spec="lanes",
            timeout=120,
            scratch=tmp_path / "zig",
        )

    build(openmp=False, cpu="native")
    assert ctypes.CDLL(str(tmp_path / "kernel.so")).answer() == 42
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernel.c", "kernel.so", "zig"]
    build(openmp=False, cpu="x86-64-v2" if os.uname().machine == "x86_64" else "baseline")
    loop = "\n#pragma omp parallel for\n    for (int i = 0; i < 4; i++)\n        (void)i;\n    return 42;"
    (tmp_path / "kernel.c").write_text(SOURCE.replace("return 42;", loop))
    with pytest.raises(CompileError, match="__kmpc"):
        build(openmp=True, cpu="native")


@needs_compiler
def test_words_of_the_command_are_kept(tmp_path: Path) -> None:
    wrapper = script(tmp_path / "my tools" / "ccache", f'echo "$@" > "{tmp_path}/said"\nexec "$@"')
    library = compiled(tmp_path / "work", f"'{wrapper}' {REAL} -DUNUSED='a b'")
    assert ctypes.CDLL(str(library)).answer() == 42
    assert (tmp_path / "said").read_text().startswith(f"{REAL} -DUNUSED=a b kernel.c -std=c11")


@needs_compiler
def test_what_a_failure_tells(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as raised:
        compiled(tmp_path, str(REAL), text="int answer(void)\n{\n    return 1 +;\n}\n")
    error = raised.value
    assert isinstance(error, CompileError) and error.refused
    assert error.spec == "lanes_f32_i64_add"
    assert error.command[:2] == (str(REAL), "kernel.c")
    assert error.source_path == tmp_path / "kernel.c"
    assert "kernel.c:3:" in error.output
    for text in ("lanes_f32_i64_add", "exited with status 1", "kernel.c:3:", "-std=c11", str(tmp_path)):
        assert text in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert type(again) is type(error)


@needs_compiler
def test_an_undefined_name_fails_at_the_link(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only GNU-like linkers know -z defs")
    with pytest.raises(CompileError, match="nowhere"):
        compiled(tmp_path, str(REAL), text="int nowhere(void);\n" + SOURCE.replace("42", "nowhere()"))


@pytest.mark.skipif(shutil.which("gcc") is None or sys.platform != "linux", reason="needs gcc and GNU's linker")
def test_a_bare_link_leaves_to_the_process_what_every_one_has_and_no_more(tmp_path: Path) -> None:
    flags = flags_of_kernel(Settings(), openmp=True, bare=True)
    source, library = tmp_path / "kernel.c", tmp_path / "kernel.so"

    for header in paths.HEADERS:
        shutil.copy(paths.templates() / header, tmp_path)

    def build(statement: str) -> None:
        head = '#include <string.h>\n#include "kernel.h"\nint nowhere(void);\n'
        function = "void copy(char *to, const char *from, int n)"
        source.write_text(f'{head}__attribute__((visibility("default"))) {function} {{ {statement} }}\n')
        toolchain.compile_library(compiler("gcc"), source, library, flags, spec="kernel", timeout=60)

    build("memcpy(to, from, n);")
    to = ctypes.create_string_buffer(4)
    ctypes.CDLL(str(library)).copy(to, b"abc", 4)
    assert to.value == b"abc"
    with pytest.raises(CompileError, match="nowhere"):
        build("*to = *from + n + nowhere();")


def test_a_hanging_compiler_is_stopped_with_its_children(tmp_path: Path) -> None:
    hanging = script(
        tmp_path / "cc",
        f"sleep 300 &\necho $! > '{tmp_path}/child'\necho $$ > '{tmp_path}/self'\necho working\nwait",
    )
    began = time.monotonic()
    with pytest.raises(CompileError, match=r"did not end in 0\.5 s and was stopped") as raised:
        compiled(tmp_path / "work", str(hanging), timeout=0.5)
    assert time.monotonic() - began < 5
    assert raised.value.output == "working\n"
    assert not raised.value.refused
    assert is_gone(int((tmp_path / "child").read_text()))
    assert is_gone(int((tmp_path / "self").read_text()))


def is_gone(process: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                return True
        else:
            if state == "Z":
                return True
        time.sleep(0.02)
    return False


def test_an_interrupt_stops_the_compiler(tmp_path: Path) -> None:
    hanging = script(tmp_path / "cc", f"echo $$ > '{tmp_path}/new' && mv '{tmp_path}/new' '{tmp_path}/self'\nsleep 300")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "kernel.c").touch()
    code = f"""
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from scattergen.common import paths
from scattergen.compiler import toolchain
from scattergen.common.config import Settings
work = Path({str(tmp_path / "work")!r})
cc = toolchain.find(Settings(cc={str(hanging)!r}))
toolchain.compile_library(cc, work / "kernel.c", work / "kernel.so", (), spec="x", timeout=60)
"""
    child = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(tmp_path / "self")
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=20)
    finally:
        child.kill()
    assert "KeyboardInterrupt" in said
    assert is_gone(int((tmp_path / "self").read_text()))
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["kernel.c"]


def wait_for(path: Path) -> None:
    for _ in range(500):
        if path.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"{path} did not appear")


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
def test_there_are_flags_to_try_whatever_a_compiler_refuses(cpu: str, optimize: bool) -> None:
    known = {"native": False, "openmp": False, "bare": False}
    (only,) = flag_sets.kernel_flags(Settings(cpu=cpu), known, optimize=optimize)
    assert "-fopenmp" not in only and "-nostdlib" not in only and "-march=native" not in only
    assert ("-march=x86-64-v3" in only) == (cpu == "x86-64-v3")


def test_other_ways_to_fail(tmp_path: Path) -> None:
    silent = script(tmp_path / "silent", "exit 0")
    with pytest.raises(CompileError, match="wrote no library"):
        compiled(tmp_path / "a", str(silent))
    killed = script(tmp_path / "killed", "kill -9 $$")
    with pytest.raises(CompileError, match="died of signal 9") as raised:
        compiled(tmp_path / "b", str(killed))
    assert not raised.value.refused
    broken = script(tmp_path / "broken", "exit 0")
    broken.write_text("#!/no/such/interpreter\n")
    with pytest.raises(CompileError, match="cannot be started"):
        compiled(tmp_path / "c", str(broken))


@needs_compiler
def test_warnings_are_no_failure(tmp_path: Path) -> None:
    chatty = script(tmp_path / "cc", f'echo "warning: so what" >&2\nexec {REAL} "$@"')
    assert ctypes.CDLL(str(compiled(tmp_path / "work", str(chatty)))).answer() == 42


@needs_compiler
def test_the_process_around_is_left_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def around() -> tuple[object, ...]:
        mask = os.umask(0o022)
        os.umask(mask)
        return os.getcwd(), mask, dict(os.environ), random.getstate()

    slow = script(tmp_path / "cc", f'echo noise\nsleep 0.2\nexec {REAL} "$@"')
    before = around()
    seen: list[object] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.append((os.getcwd(), dict(os.environ)))
            time.sleep(0.005)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        compiled(tmp_path / "work", str(slow))
    finally:
        done.set()
        watcher.join()
    assert around() == before
    assert len(seen) > 5
    assert all(look == (before[0], before[2]) for look in seen)
    assert capfd.readouterr() == ("", "")
