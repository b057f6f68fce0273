"""The machine: read from files that the tests write, and from the real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scattergen.common import machine

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and /sys")

BLOCK = "processor\t: {number}\nmodel name\t: Some CPU\ncpu MHz\t\t: {mhz}\nflags\t\t: fpu sse {flags}\n"


def cpuinfo(folder: Path, *, flags: str, mhz: str = "2000", cores: int = 2) -> Path:
    path = folder / "cpuinfo"
    blocks = [BLOCK.format(number=number, mhz=mhz, flags=flags) for number in range(cores)]
    path.write_text("\n".join(blocks))
    return path


@LINUX
def test_features_are_what_decides(tmp_path: Path) -> None:
    plain = machine._features(cpuinfo(tmp_path, flags="avx"))
    assert "avx" in plain
    assert machine._features(cpuinfo(tmp_path, flags="avx", mhz="3100", cores=64)) == plain
    assert machine._features(cpuinfo(tmp_path, flags="avx avx2")) != plain


@LINUX
def test_arm_features_count(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nBogoMIPS\t: 50\nFeatures\t: fp asimd sve\nCPU part\t: 0xd0c\n")
    assert machine._features(tmp_path / "cpuinfo").splitlines() == [
        "Features: fp asimd sve",
        "CPU part: 0xd0c",
    ]


@LINUX
def test_a_system_that_tells_nothing_stands_for_itself(tmp_path: Path) -> None:
    assert os.uname().nodename in machine._features(tmp_path / "missing")
    (tmp_path / "cpuinfo").write_text("processor : 0\n")
    assert os.uname().nodename in machine._features(tmp_path / "cpuinfo")


def test_a_named_level_is_its_own_identity() -> None:
    assert machine.cpu_identity("x86-64-v3") == "x86-64-v3"
    native = machine.cpu_identity("native")
    assert native.startswith("native-")
    assert len(native) == len("native-") + 16


@LINUX
def test_identity_starts_no_process_and_is_the_same_in_another() -> None:
    code = """
import sys
from scattergen.common import machine
started = []
sys.addaudithook(lambda event, _: started.append(event) if event in ("subprocess.Popen", "os.fork") else None)
print(machine.cpu_identity("native"), started)
"""
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent
    )
    assert said.stdout.split() == [machine.cpu_identity("native"), "[]"]


def test_the_tag_names_system_and_width() -> None:
    assert machine.tag().startswith(sys.platform)
    assert machine.tag().endswith(("32", "64"))


def cache(folder: Path, index: int, level: str, kind: str, size: str) -> None:
    place = folder / f"index{index}"
    place.mkdir()
    for name, text in (("level", level), ("type", kind), ("size", size)):
        (place / name).write_text(text + "\n")


def test_cache_sizes(tmp_path: Path) -> None:
    cache(tmp_path, 0, "1", "Data", "48K")
    cache(tmp_path, 1, "1", "Instruction", "64K")
    cache(tmp_path, 2, "2", "Unified", "2M")
    assert machine._cache_sizes(tmp_path) == (48 << 10, 2 << 20, machine._DEFAULT_SIZES.l3)


def test_cache_sizes_that_mean_nothing_are_passed_over(tmp_path: Path) -> None:
    cache(tmp_path, 0, "1", "Data", "")
    cache(tmp_path, 1, "two", "Data", "1K")
    cache(tmp_path, 2, "9", "Unified", "1K")
    assert machine._cache_sizes(tmp_path) == machine._DEFAULT_SIZES
    assert machine._cache_sizes(tmp_path / "missing") == machine._DEFAULT_SIZES


def test_cache_sizes_of_this_machine() -> None:
    sizes = machine.cache_sizes()
    assert 4 << 10 <= sizes.l1 <= sizes.l2
    assert sizes.l1 < sizes.l3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity masks")
def test_affinity_counts() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from scattergen.common import machine; print(machine.usable_cores())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent,
    )
    assert said.stdout.strip() == "1"
    assert 1 <= machine.usable_cores() <= (os.cpu_count() or 1)


def group(root: Path, where: str, **files: str) -> None:
    folder = root / where
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")


def quota(root: Path, cgroup: str) -> int | None:
    group(root, "proc/self", cgroup=cgroup)
    machine._quota.cache_clear()
    try:
        return machine._quota(root)
    finally:
        machine._quota.cache_clear()


def test_quota_of_version_2(tmp_path: Path) -> None:
    group(tmp_path, "sys/fs/cgroup/a/b", cpu__max="max 100000")
    assert quota(tmp_path, "0::/a/b") is None
    group(tmp_path, "sys/fs/cgroup/a", cpu__max="350000 100000")
    assert quota(tmp_path, "0::/a/b") == 4
    group(tmp_path, "sys/fs/cgroup/a/b", cpu__max="50000 100000")
    assert quota(tmp_path, "0::/a/b") == 1


def test_quota_of_version_1(tmp_path: Path) -> None:
    group(tmp_path, "sys/fs/cgroup/cpu/a", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert quota(tmp_path, "4:memory:/a\n3:cpu,cpuacct:/a") is None
    group(tmp_path, "sys/fs/cgroup/cpu/a", cpu__cfs_quota_us="200000", cpu__cfs_period_us="100000")
    assert quota(tmp_path, "4:memory:/a\n3:cpu,cpuacct:/a") == 2


def test_quota_inside_of_a_container_that_sees_the_hosts_path(tmp_path: Path) -> None:
    group(tmp_path, "sys/fs/cgroup", cpu__max="300000 100000")
    assert quota(tmp_path, "0::/system.slice/docker-1234.scope") == 3


def test_no_cgroups_or_nonsense_is_no_limit(tmp_path: Path) -> None:
    assert machine._quota(tmp_path / "nothing") is None
    group(tmp_path, "sys/fs/cgroup", cpu__max="what")
    assert quota(tmp_path, "0::/") is None
