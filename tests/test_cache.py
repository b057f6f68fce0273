"""The store, with plain bytes for libraries: nothing here is ever loaded. Loading is for test_build.py."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processes import python

from scattergen.cache import cache, entries, location, locks, upkeep
from scattergen.cache.cache import Store
from scattergen.common.config import Settings
from scattergen.errors import CacheError, CompileError

ROOT = Path(__file__).resolve().parent.parent
KERNEL = "lanes_f32_i64_add"
KEY = "0123456789abcdef-01234567"
OTHER = "fedcba9876543210-01234567"
DAY = 24 * 3600.0

pytestmark = pytest.mark.skipif(os.name != "posix", reason="is about POSIX permissions, signals and forks")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand files to other users")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setattr(location, "_private", {})
    yield


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "a store äöü"


def opened(root: Path, mode: str = "on", limit: int = 1 << 30) -> Store:
    return Store.open(Settings(cache_dir=str(root), cache=mode, cache_limit=limit))


def making(content: bytes = b"a library" * 100, calls: list[Path] | None = None) -> cache.Make:
    def make(work: Path) -> dict[str, object]:
        if calls is not None:
            calls.append(work)
        (work / "kernel.c").write_text("int answer;\n")
        (work / "kernel.so").write_bytes(content)
        return {"spec": KERNEL, "command": ["cc"]}

    return make


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Entries


def test_build_then_get(root: Path) -> None:
    store = opened(root)
    calls: list[Path] = []
    assert store.get(KERNEL, KEY) is None
    library = store.build(KERNEL, KEY, making(calls=calls))
    assert library == root / "v1" / f"{KERNEL}-{KEY}" / "kernel.so"
    assert store.get(KERNEL, KEY) == library
    assert opened(root).get(KERNEL, KEY) == library
    assert store.get(KERNEL, OTHER) is None
    assert store.build(KERNEL, KEY, making(calls=calls)) == library
    assert len(calls) == 1
    assert names(library.parent) == ["kernel.c", "kernel.so", "meta.json"]
    assert names(root / "tmp") == []


def test_meta_says_what_is_known(root: Path) -> None:
    import hashlib

    library = opened(root).build(KERNEL, KEY, making())
    known = json.loads(library.with_name("meta.json").read_text())
    assert known["spec"] == KERNEL
    assert known["command"] == ["cc"]
    assert known["sha256"] == hashlib.sha256(library.read_bytes()).hexdigest()
    assert time.strptime(known["created"], "%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_folders_are_ours_alone(root: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        library = opened(root).build(KERNEL, KEY, making())
    finally:
        assert os.umask(before) == mask
    for folder in (root, *(root / name for name in ("v1", "tmp", "locks", "compilers")), library.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder


@pytest.mark.parametrize("name", ["../x", "Lanes", "a/b", "", "a b", "lanes\n"])
def test_names_that_are_no_names(root: Path, name: str) -> None:
    with pytest.raises(CacheError, match="cannot name an entry"):
        opened(root).build(name, KEY, making())
    with pytest.raises(CacheError, match="cannot name an entry"):
        opened(root).get(KERNEL, f"{KEY}/..")


def cut(size: Callable[[int], int]) -> Callable[[Path], None]:
    def damage(entry: Path) -> None:
        library = entry / "kernel.so"
        os.truncate(library, size(library.stat().st_size))

    return damage


def flip(entry: Path) -> None:
    content = bytearray((entry / "kernel.so").read_bytes())
    content[len(content) // 2] ^= 4
    (entry / "kernel.so").write_bytes(content)


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda entry: (entry / name).write_bytes(content) and None


def swap_for_link(name: str) -> Callable[[Path], None]:
    def damage(entry: Path) -> None:
        (entry / name).rename(entry.parent.parent / name)
        (entry / name).symlink_to(entry.parent.parent / name)

    return damage


def entry_as_link(entry: Path) -> None:
    entry.rename(entry.parent.parent / "elsewhere")
    entry.symlink_to(entry.parent.parent / "elsewhere")


def entry_as_file(entry: Path) -> None:
    shutil.rmtree(entry)
    entry.touch()


DAMAGE = {
    "cut at 0": cut(lambda size: 0),
    "cut at 64": cut(lambda size: 64),
    "cut in half": cut(lambda size: size // 2),
    "cut by one": cut(lambda size: size - 1),
    "longer": cut(lambda size: size + 1),
    "one bit": flip,
    "zeros": write("kernel.so", bytes(900)),
    "another library": write("kernel.so", b"something else"),
    "no library": lambda entry: (entry / "kernel.so").unlink(),
    "no meta": lambda entry: (entry / "meta.json").unlink(),
    "empty meta": write("meta.json", b""),
    "bad meta": write("meta.json", b"{'sha256': "),
    "meta of another shape": write("meta.json", b'["sha256"]'),
    "meta without digest": write("meta.json", b'{"sha256": 5}'),
    "library is a link": swap_for_link("kernel.so"),
    "meta is a link": swap_for_link("meta.json"),
    "library is a folder": lambda entry: (entry / "kernel.so").unlink() or (entry / "kernel.so").mkdir(),
    "entry is a link": entry_as_link,
    "entry is a file": entry_as_file,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_a_miss_and_rebuilt(root: Path, kind: str) -> None:
    store = opened(root)
    entry = store.build(KERNEL, KEY, making()).parent
    store.build(KERNEL, OTHER, making(b"other"))
    DAMAGE[kind](entry)
    assert store.get(KERNEL, KEY) is None
    assert not os.path.lexists(entry)
    assert [name.split("-")[0] for name in names(root / "tmp")] == ["damaged"]
    calls: list[Path] = []
    library = store.build(KERNEL, KEY, making(calls=calls))
    assert len(calls) == 1
    assert library.read_bytes() == b"a library" * 100
    assert store.get(KERNEL, KEY) == library
    assert store.get(KERNEL, OTHER)


def test_damage_in_a_store_that_is_only_read_is_left_there(root: Path) -> None:
    entry = opened(root).build(KERNEL, KEY, making()).parent
    flip(entry)
    store = opened(root, "read-only")
    assert store.get(KERNEL, KEY) is None
    assert entry.exists()
    library = store.build(KERNEL, KEY, making())
    assert root not in library.parents
    assert store.get(KERNEL, KEY) == library


def test_losing_the_race_is_success(root: Path) -> None:
    store, rival = opened(root), root / "v1" / f"{KERNEL}-{KEY}"

    def make(work: Path) -> dict[str, object]:
        known = making(b"mine")(work)
        publish(root, rival, b"theirs")
        return known

    library = store.build(KERNEL, KEY, make)
    assert library == rival / "kernel.so"
    assert library.read_bytes() == b"theirs"
    assert names(root / "tmp") == []


def publish(root: Path, entry: Path, content: bytes) -> None:
    work = root / "tmp" / "rival"
    work.mkdir()
    entries.seal(work, making(content)(work))
    work.rename(entry)


def test_losing_the_race_to_a_damaged_entry_is_no_loss(root: Path) -> None:
    store, rival = opened(root), root / "v1" / f"{KERNEL}-{KEY}"

    def make(work: Path) -> dict[str, object]:
        known = making(b"mine")(work)
        publish(root, rival, b"theirs")
        flip(rival)
        return known

    assert store.build(KERNEL, KEY, make).read_bytes() == b"mine"
    assert store.get(KERNEL, KEY)


def test_a_hit_is_noted_once_a_day(root: Path) -> None:
    store = opened(root)
    meta = store.build(KERNEL, KEY, making()).with_name("meta.json")
    now = time.time()
    os.utime(meta, (now - 3600, now - 3600))
    store.get(KERNEL, KEY)
    assert meta.stat().st_mtime == pytest.approx(now - 3600, abs=1)
    os.utime(meta, (now - 2 * DAY, now - 2 * DAY))
    store.get(KERNEL, KEY)
    assert meta.stat().st_mtime == pytest.approx(now, abs=30)


def test_any_compilers_entry(root: Path) -> None:
    store = opened(root)
    request = KEY.partition("-")[0]
    assert store.find_any(KERNEL, request) is None
    newest = store.build(KERNEL, f"{request}-aaaaaaaa", making(b"a"))
    older = store.build(KERNEL, f"{request}-bbbbbbbb", making(b"b"))
    store.build(KERNEL, OTHER, making())
    store.build(f"{KERNEL}_more", f"{request}-aaaaaaaa", making())
    os.utime(older.with_name("meta.json"), (time.time() - 100, time.time() - 100))
    (root / "v1" / "stray").touch()
    assert store.find_any(KERNEL, request) == str(newest.parent)
    flip(newest.parent)
    assert store.find_any(KERNEL, request) == str(older.parent)


# A build that fails


def failing(output: str = "kernel.c:1: error") -> cache.Make:
    def make(work: Path) -> dict[str, object]:
        (work / "kernel.c").write_text("broken\n")
        raise CompileError(KERNEL, ("cc",), output, work / "kernel.c", "cc exited with status 1")

    return make


def test_a_failed_build_is_kept_where_the_error_says(root: Path) -> None:
    store = opened(root)
    with pytest.raises(CompileError) as raised:
        store.build(KERNEL, KEY, failing())
    place = raised.value.source_path
    assert place.read_text() == "broken\n"
    assert place.parent.name.startswith("failed-")
    assert str(place) in str(raised.value)
    assert store.get(KERNEL, KEY) is None
    assert store.build(KERNEL, KEY, making())


def test_five_failed_builds_are_kept(root: Path) -> None:
    store = opened(root)
    places = []
    for turn in range(7):
        with pytest.raises(CompileError) as raised:
            store.build(KERNEL, KEY, failing())
        places.append(raised.value.source_path)
        os.utime(places[-1].parent, (time.time() - 100 + turn, time.time() - 100 + turn))
    assert [place.exists() for place in places] == [False, False, True, True, True, True, True]
    assert len(names(root / "tmp")) == 5


@pytest.mark.parametrize("error", [ValueError("what"), KeyboardInterrupt()])
def test_another_failure_leaves_nothing(root: Path, error: BaseException) -> None:
    def make(work: Path) -> dict[str, object]:
        (work / "kernel.c").touch()
        raise error

    with pytest.raises(type(error)):
        opened(root).build(KERNEL, KEY, make)
    assert names(root / "tmp") == []


# The place


def test_choice_of_the_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setattr(sys, "platform", "linux")
    assert location.choose("", {}) == "/home/someone/.cache/scattergen"
    assert location.choose("", {"XDG_CACHE_HOME": "/x"}) == "/x/scattergen"
    assert location.choose("", {"XDG_CACHE_HOME": "x"}) == "/home/someone/.cache/scattergen"
    assert location.choose("~/k", {"XDG_CACHE_HOME": "/x"}) == "/home/someone/k"
    monkeypatch.chdir(tmp_path)
    assert location.choose("k", {}) == str(tmp_path / "k")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert location.choose("", {}) == "/home/someone/Library/Caches/scattergen"


REFUSED = {
    "0777": (lambda root: root.mkdir() or root.chmod(0o777), "chmod go-w"),
    "0770": (lambda root: root.mkdir() or root.chmod(0o770), "chmod go-w"),
    "a file": (lambda root: root.touch(), "not a directory"),
    "a link": (
        lambda root: (root.parent / "real").mkdir() or root.symlink_to(root.parent / "real"),
        "symbolic link",
    ),
    "entries can be changed": (
        lambda root: (root / "v1").mkdir(parents=True) or (root / "v1").chmod(0o777),
        "v1 can be changed",
    ),
    "entries are a link": (
        lambda root: root.mkdir() or (root / "v1").symlink_to(root.parent),
        "v1 is a symbolic link",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_place_that_cannot_be_trusted_is_not_used(root: Path, kind: str) -> None:
    spoil, text = REFUSED[kind]
    spoil(root)
    with pytest.raises(CacheError, match=text):
        Store.open(Settings(cache_dir=str(root)), strict=True)
    with pytest.warns(RuntimeWarning, match=text) as caught:
        store = opened(root)
        again = opened(root)
    assert len(caught) == 1
    assert store == again
    assert store.build(KERNEL, KEY, making()).is_file()
    assert store.get(KERNEL, KEY)
    assert not list(root.rglob("kernel.so"))


@as_root
def test_a_place_of_another_user(root: Path) -> None:
    opened(root).build(KERNEL, KEY, making())
    os.chown(root, 54321, -1)
    with pytest.raises(CacheError, match="belongs to user 54321"):
        Store.open(Settings(cache_dir=str(root)), strict=True)
    # To be read it was named by hand; others may own it, but not change it.
    assert opened(root, "read-only").get(KERNEL, KEY)
    root.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="chmod go-w"):
        assert opened(root, "read-only").get(KERNEL, KEY) is None


def test_a_place_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(RuntimeWarning, match="SCATTERGEN_CACHE_DIR"):
        assert opened(tmp_path / "file" / "store").build(KERNEL, KEY, making()).is_file()


def as_somebody(code: str) -> str:
    """Return code that first becomes a user without name, home or rights."""
    return f"""
import os, sys, warnings
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from scattergen.cache import cache, entries, location, upkeep
from scattergen.cache.cache import Store
from scattergen.common.config import Settings
if os.geteuid() == 0:
    import hashlib, tempfile, shutil, secrets, atexit, json, scattergen.cache.locks
    os.setgroups([])
    os.setresgid(54321, 54321, 54321)
    os.setresuid(54321, 54321, 54321)
def make(work):
    (work / "kernel.c").touch(); (work / "kernel.so").write_bytes(b"x")
    return {{}}
{code}
"""


@as_root
def test_no_home_and_no_name(tmp_path: Path) -> None:
    code = """
os.environ.pop("HOME", None); os.environ.pop("XDG_CACHE_HOME", None)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    store = Store.open(Settings())
    store.build("k", "0" * 16 + "-" + "0" * 8, make)
assert store.get("k", "0" * 16 + "-" + "0" * 8), store
assert [w.category for w in caught] == [RuntimeWarning], caught
print(caught[0].message)
"""
    assert "no home directory" in python(as_somebody(code), TMPDIR="/tmp")


def test_home_unset_with_a_name_is_found_in_the_user_database(tmp_path: Path) -> None:
    code = """
import os, pwd
from scattergen.cache import location
print(location.choose("", {}), pwd.getpwuid(os.getuid()).pw_dir)
"""
    environment = {name: text for name, text in os.environ.items() if name != "HOME"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    place, home = done.stdout.split()
    assert Path(place).is_relative_to(home)


@as_root
def test_a_store_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for above in list(tmp_path.parents)[:3]:
        above.chmod(above.stat().st_mode | 0o055)
    root = tmp_path / "store"
    library = opened(root).build(KERNEL, KEY, making())
    for path in (root, *root.rglob("*")):
        os.chown(path, 54321, 54321)
        path.chmod(0o555 if path.is_dir() else 0o444)
    code = f"""
root = Path({str(root)!r})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    store = Store.open(Settings(cache_dir=str(root)))
assert "not writable" in str(caught[0].message), caught
assert "set SCATTERGEN_CACHE=read-only and SCATTERGEN_CACHE_DIR" in str(caught[0].message), caught
store = Store.open(Settings(cache_dir=str(root), cache="read-only"))
assert store.get({KERNEL!r}, {KEY!r}) == Path({str(library)!r})
top = store.build({KERNEL!r}, {OTHER!r}, make)
assert store.get({KERNEL!r}, {OTHER!r}) == top and root not in top.parents
store.learn("cc", {{"openmp": False}})
assert store.facts("cc")["openmp"] is False
print(top)
"""
    top = python(as_somebody(code), TMPDIR="/tmp").strip()
    assert top
    assert not Path(top).exists(), "the private folder goes with its process"


def test_memory_goes_with_the_process(tmp_path: Path) -> None:
    code = """
import os, sys
sys.path.insert(0, os.getcwd())
from scattergen.cache.cache import Store
from scattergen.common.config import Settings
def make(work):
    (work / "kernel.c").touch(); (work / "kernel.so").write_bytes(b"x")
    return {}
store = Store.open(Settings(cache="memory"))
key = "0" * 16 + "-" + "0" * 8
library = store.build("k", key, make)
assert store.get("k", key) == library == Store.open(Settings(cache="memory")).get("k", key)
child = os.fork()
if child == 0:
    again = Store.open(Settings(cache="memory"))
    assert again.get("k", key) is None
    assert again.build("k", key, make) != library
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert library.exists(), "a child took its parent's folder along"
print(library)
"""
    library = python(code, TMPDIR=str(tmp_path)).strip()
    assert Path(library).is_relative_to(tmp_path)
    assert names(tmp_path) == []
    code = code.replace("Store.open(Settings(cache=", "Store.open(Settings(cache_dir='x', cache=")
    gone = python(code, TMPDIR=str(tmp_path / "missing")).strip()
    assert gone and not Path(gone).exists(), "a missing TMPDIR is no obstacle"


def test_off_finds_nothing_again() -> None:
    store = Store.open(Settings(cache="off"))
    first, second = store.build(KERNEL, KEY, making()), store.build(KERNEL, KEY, making())
    assert first != second
    assert first.is_file() and second.is_file()
    assert store.get(KERNEL, KEY) is None
    assert store.find_any(KERNEL, KEY.partition("-")[0]) is None


# A full disk


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_rename_that_fails(root: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store, rename = opened(root), os.rename

    def full(source: Path, target: Path) -> None:
        if root in Path(target).parents:
            raise OSError(number, os.strerror(number))
        rename(source, target)

    monkeypatch.setattr(os, "rename", full)
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        library = store.build(KERNEL, KEY, making())
    assert library.is_file()
    assert root not in library.parents
    monkeypatch.undo()
    assert names(root / "tmp") == []


def test_a_compiler_that_finds_the_disk_full(root: Path) -> None:
    store = opened(root)

    def make(work: Path) -> dict[str, object]:
        if root in work.parents:
            failing("ld: final link failed: No space left on device")(work)
        return making()(work)

    with pytest.warns(RuntimeWarning, match="No space left"):
        assert store.build(KERNEL, KEY, make).is_file()
    assert names(root / "tmp") == []


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    places: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / f"mount{len(places)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("file systems cannot be mounted here")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_store_on_a_disk_that_is_mounted_read_only(mounted: Callable[[str], Path]) -> None:
    disk = mounted("size=64k")
    opened(disk / "store")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    trouble = location.trouble(disk / "store", shared=False)
    assert "store is not writable, as its file system is mounted; set SCATTERGEN_CACHE_DIR to a place" in trouble
    assert "chmod" not in trouble
    assert location.trouble(disk / "store", shared=True) == ""


def test_a_disk_that_is_full(mounted: Callable[[str], Path]) -> None:
    root = mounted("size=64k") / "store"
    store = opened(root)
    with pytest.warns(RuntimeWarning, match="No space left"):
        library = store.build(KERNEL, KEY, making(bytes(1 << 20)))
    assert library.stat().st_size == 1 << 20
    assert names(root / "tmp") == []
    assert store.build(KERNEL, OTHER, making(b"small")).is_relative_to(root)


# Facts


def test_facts_about_compilers(root: Path) -> None:
    store = opened(root)
    assert store.facts("/usr/bin/cc 1 2") == {}
    store.learn("/usr/bin/cc 1 2", {"openmp": False})
    store.learn("/usr/bin/cc 1 2", {"native": False})
    assert opened(root).facts("/usr/bin/cc 1 2") == {
        "compiler": "/usr/bin/cc 1 2", "openmp": False, "native": False,
    }  # fmt: skip
    assert store.facts("/usr/bin/cc 1 3") == {}
    assert names(root / "tmp") == []
    next((root / "compilers").iterdir()).write_text("{bad")
    assert store.facts("/usr/bin/cc 1 2") == {}


# Locks


def test_a_lock_dies_with_its_holder(root: Path) -> None:
    opened(root)
    code = """
import sys, time
from pathlib import Path
from scattergen.cache import locks
with locks.advice(Path(sys.argv[1]), timeout=1, what="x") as held:
    print(held, flush=True)
    time.sleep(60)
"""
    path = root / "locks" / KEY[:2]
    holder = subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout and holder.stdout.readline() == "True\n"
        with locks.advice(path, timeout=0.1, what="x") as held:
            assert not held
    finally:
        holder.kill()
        holder.communicate()
    with locks.advice(path, timeout=0, what="x") as held:
        assert held, "at the first try"
    assert path.exists()


def test_a_lock_is_between_threads_too_and_frees_waiters_at_once(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    got: list[object] = []

    def wait() -> None:
        with locks.advice(path, timeout=10, what="x") as held:
            got.append((held, time.monotonic()))

    with locks.advice(path, timeout=1, what="x") as held:
        assert held
        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(0.1)
        assert got == []
    freed = time.monotonic()
    waiter.join()
    assert got[0][0] is True
    assert got[0][1] - freed < 0.5


def test_a_late_lock_does_not_stop_a_build(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_LOCK_TIMEOUT", 0.05)
    store = opened(root)
    with locks.advice(root / "locks" / KEY[:2], timeout=1, what="x"), ThreadPoolExecutor(1) as other:
        assert other.submit(store.build, KERNEL, KEY, making()).result().is_file()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(root: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    assert opened(root).build(KERNEL, KEY, making()).is_file()


def test_a_thread_does_not_wait_for_itself(tmp_path: Path) -> None:
    began = time.monotonic()
    with (
        locks.advice(tmp_path / "lock", timeout=60, what="x") as outer,
        locks.advice(tmp_path / "lock", timeout=60, what="x") as inner,
    ):
        assert outer and not inner
    assert time.monotonic() - began < 30
    with locks.advice(tmp_path / "lock", timeout=1, what="x") as again:
        assert again


def test_who_waits_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(locks, "_PATIENCE", 0.02)

    def wait() -> bool:
        with locks.advice(tmp_path / "lock", timeout=0.1, what=KERNEL) as held:
            return held

    with locks.advice(tmp_path / "lock", timeout=1, what="x"), ThreadPoolExecutor(1) as other:
        assert not other.submit(wait).result()
    assert len(caplog.records) == 1
    assert KERNEL in caplog.text and str(tmp_path / "lock") in caplog.text


def test_logging_that_another_thread_is_importing(tmp_path: Path) -> None:
    (tmp_path / "logging.py").write_text(
        "import time\ntime.sleep(0.3)\nclass getLogger:\n    def __init__(self, name): pass\n    debug = print\n"
    )
    code = """
import importlib.util, sys, threading, time
sys.modules.pop("logging", None)
sys.path.insert(0, sys.argv[1])
spec = importlib.util.spec_from_file_location("log", "scattergen/common/log.py")
log = importlib.util.module_from_spec(spec)
spec.loader.exec_module(log)
log.debug("nobody listens")
threading.Thread(target=__import__, args=("logging",)).start()
while "logging" not in sys.modules:
    time.sleep(0.001)
log.debug("heard")
"""
    assert "heard" in python(code, str(tmp_path))


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    child = 0
    try:
        with locks.advice(tmp_path / "lock", timeout=1, what="x") as held:
            assert held
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
        with locks.advice(tmp_path / "lock", timeout=0.5, what="x") as held:
            assert held
    finally:
        if child:
            os.kill(child, 9)
            os.waitpid(child, 0)


# Housekeeping


def filled(root: Path, ages: dict[str, float], size: int = 10_000) -> Store:
    store = opened(root)
    for name, age in ages.items():
        meta = store.build(name, KEY, making(bytes(size))).with_name("meta.json")
        os.utime(meta, (time.time() - age, time.time() - age))
    return store


def listed(root: Path) -> list[str]:
    return [entry.name for entry in upkeep.listed(root)]


def test_entries_are_listed_by_last_use(root: Path) -> None:
    filled(root, {"b": 30, "a": 20, "c": 40})
    found = upkeep.listed(root)
    assert [entry.name for entry in found] == ["c", "b", "a"]
    assert all(10_000 < entry.size < 12_000 for entry in found)
    assert found[0].meta["spec"] == KERNEL
    assert time.time() - found[0].used == pytest.approx(40, abs=5)
    assert upkeep.listed(root / "missing") == []


def test_verify_removes_what_is_damaged(root: Path) -> None:
    filled(root, {"a": 1, "b": 2, "c": 3})
    flip(root / "v1" / f"b-{KEY}")
    (root / "v1" / f"c-{KEY}" / "meta.json").unlink()
    assert sorted(entry.name for entry in upkeep.verify(root)) == ["b", "c"]
    assert listed(root) == ["a"]
    assert upkeep.verify(root) == []


def test_prune(root: Path) -> None:
    filled(root, {"a": 1 * DAY, "b": 2 * DAY, "c": 3 * DAY, "d": 4 * DAY})
    assert upkeep.prune(root) == []
    assert [entry.name for entry in upkeep.prune(root, older_than=3.5 * DAY)] == ["d"]
    assert [entry.name for entry in upkeep.prune(root, max_bytes=25_000)] == ["c"]
    assert listed(root) == ["b", "a"]
    assert names(root / "tmp") == []


def test_publication_evicts_the_least_recently_used(root: Path) -> None:
    filled(root, {"a": 10, "b": 30, "c": 20})
    limited = opened(root, limit=35_000)
    limited.build("d", KEY, making(bytes(10_000)))
    assert listed(root) == ["c", "a", "d"]
    opened(root, limit=0).build("e", KEY, making(bytes(10_000)))
    assert listed(root) == ["e"]
    assert limited.get("e", KEY)
    assert names(root / "tmp") == []


def test_publication_sweeps_what_the_dead_left(root: Path) -> None:
    store = opened(root)
    for name, age in (("123-old", 2 * DAY), ("failed-old", 2 * DAY), ("124-new", 60)):
        (root / "tmp" / name).mkdir()
        (root / "tmp" / name / "kernel.c").touch()
        os.utime(root / "tmp" / name, (time.time() - age, time.time() - age))
    (root / "tmp" / "facts").touch()
    os.utime(root / "tmp" / "facts", (0, 0))
    store.build(KERNEL, KEY, making())
    assert names(root / "tmp") == ["124-new"]


def test_clear(root: Path) -> None:
    store = filled(root, {"a": 1, "b": 2})
    store.learn("cc", {"openmp": False})
    with pytest.raises(CompileError):
        store.build(KERNEL, KEY, failing())
    (root / "tmp" / "1-in-progress").mkdir()
    (root / "v0").mkdir()
    (root / "compilers" / "zig").mkdir()
    assert upkeep.clear(root) == 2
    assert names(root) == ["compilers", "locks", "tmp", "v1"]
    assert names(root / "tmp") == ["1-in-progress"]
    assert names(root / "compilers") == names(root / "v1") == []
    assert store.build(KERNEL, KEY, making())
    assert upkeep.clear(root / "missing") == 0


@pytest.mark.parametrize("stray", ["thesis.tex", "v1/notes"])
def test_clear_refuses_what_it_does_not_know(root: Path, stray: str) -> None:
    filled(root, {"a": 1})
    (root / stray).touch()
    with pytest.raises(CacheError, match=Path(stray).name):
        upkeep.clear(root)
    assert listed(root) == ["a"]
    assert (root / stray).exists()


def test_folders_that_vanish_are_made_again(root: Path) -> None:
    store = opened(root)
    shutil.rmtree(root)
    assert store.get(KERNEL, KEY) is None
    assert store.build(KERNEL, KEY, making()).is_file()


def test_random_state_and_directory_are_left_alone(root: Path) -> None:
    before = random.getstate(), os.getcwd(), dict(os.environ)
    opened(root).build(KERNEL, KEY, making())
    assert before == (random.getstate(), os.getcwd(), dict(os.environ))
