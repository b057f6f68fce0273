"""The machine we run on: what its CPU can do, how large its caches are, how many cores we may use."""

from __future__ import annotations

import functools
import operator
import os
import sys

from ..errors import SpecError
from .digest import sha256
from .paths import content
from .record import Record

_FEATURE_KEYS = ("flags", "Features", "isa", "CPU implementer", "CPU part", "CPU variant", "cpu", "features")
"""Keys of /proc/cpuinfo that say which instructions there are: x86, ARM, RISC-V, POWER, s390x."""

_FIRST_BLOCK = 16 << 10
"""Bytes of /proc/cpuinfo that surely hold the block of one core; the file grows with the cores."""


class CacheSizes(Record):
    """Bytes of data that each level of the first core's caches holds."""

    l1: int
    l2: int
    l3: int


_DEFAULT_SIZES = CacheSizes(l1=32 << 10, l2=1 << 20, l3=16 << 20)


def tag() -> str:
    """Return operating system, architecture, C library and pointer width: what a library runs on at all."""
    multiarch = getattr(sys.implementation, "_multiarch", "")
    return f"{sys.platform} {os.uname().machine} {multiarch} {sys.maxsize.bit_length() + 1}"


@functools.cache
def cpu_identity(cpu: str) -> str:
    """Return a text that is equal on two machines where code built for `cpu` runs alike.

    A named level is its own identity. For ``native`` it is a hash of the feature flags that the system
    reports; where it reports none, the name of the machine stands in.
    """
    if cpu != "native":
        return cpu
    return f"native-{sha256(_features().encode())[:16]}"


def _features(cpuinfo: str | os.PathLike[str] = "/proc/cpuinfo") -> str:
    if sys.platform == "darwin":
        return _features_of_macos()
    try:
        with open(cpuinfo, "rb") as file:
            block = file.read(_FIRST_BLOCK).split(b"\n\n")[0].decode(errors="replace")
    except OSError:
        block = ""
    pairs = (line.partition(":") for line in block.splitlines())
    found = [f"{key.strip()}: {value.strip()}" for key, _, value in pairs if key.strip() in _FEATURE_KEYS]
    return "\n".join(found) or f"the host {os.uname().nodename}"


def _features_of_macos() -> str:
    import subprocess

    names = ["machdep.cpu.brand_string", "machdep.cpu.features", "machdep.cpu.leaf7_features", "hw.optional"]
    # A name that this kind of Mac does not know makes the status nonzero; the rest is printed all the same.
    done = subprocess.run(["/usr/sbin/sysctl", *names], capture_output=True, text=True, check=False)
    return done.stdout


@functools.cache
def cache_sizes() -> CacheSizes:
    """Return the sizes of the data caches, in bytes; a usual machine's where the system does not tell."""
    return _cache_sizes("/sys/devices/system/cpu/cpu0/cache")


def _cache_sizes(folder: str | os.PathLike[str]) -> CacheSizes:
    sizes = list(_DEFAULT_SIZES)
    for index in range(8):
        try:
            level = int(_line(folder, f"index{index}", "level"))
            kind, size = (_line(folder, f"index{index}", name) for name in ("type", "size"))
            held = _bytes(size)
        except FileNotFoundError:  # they are numbered without gaps
            break
        except (OSError, ValueError):
            continue
        if kind != "Instruction" and 1 <= level <= 3 and held > 0:
            sizes[level - 1] = held
    return CacheSizes(*sizes)


def _line(*parts: str | os.PathLike[str]) -> str:
    """Return the text of a small file."""
    return content(os.path.join(*parts)).decode(errors="replace").strip()


def _bytes(text: str) -> int:
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1]] if text[-1:] in units else int(text)


def usable_cores() -> int:
    """Return how many cores this process may keep busy: the affinity mask, cut to the cgroups' CPU quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota()
    return cores if quota is None else max(1, min(cores, quota))


def compilers(jobs: int | None) -> int:
    """Return how many compilers may run at a time: `jobs`, or one for each core where that is None.

    Raise `SpecError` for what is no whole number, 1 or more.
    """
    if jobs is None:
        return usable_cores()
    try:
        number = operator.index(jobs)
    except TypeError:
        number = 0
    if number < 1:
        raise SpecError("jobs", jobs, "a whole number, 1 or more, or None for as many as there are cores")
    return number


@functools.cache
def _quota(root: str | os.PathLike[str] = "/") -> int | None:
    """Return the least quota on the way up from our own group, in cores rounded up; None is no limit."""
    limits: list[int] = []
    for folder in _groups(root):
        try:
            if os.path.exists(os.path.join(folder, "cpu.max")):
                used, period = _line(folder, "cpu.max").split()
            else:
                used, period = _line(folder, "cpu.cfs_quota_us"), _line(folder, "cpu.cfs_period_us")
            if used not in ("max", "-1"):
                limits.append(-(-int(used) // int(period)))
        except (OSError, ValueError, ZeroDivisionError):
            continue
    return min(limits, default=None)


def _groups(root: str | os.PathLike[str]) -> list[str]:
    """List our cgroup's folder and those above it, for each hierarchy that limits the CPU.

    Inside of a container /proc may name the host's path while /sys shows the container's group as the
    top; the walk upwards meets it there.
    """
    try:
        lines = _line(root, "proc/self/cgroup").splitlines()
    except OSError:
        return []
    folders: list[str] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mounts = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
        elif "cpu" in controllers.split(","):
            mounts = ["sys/fs/cgroup/cpu", f"sys/fs/cgroup/{controllers}"]
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for mount in mounts:
            folders += [os.path.join(root, mount, *parts[:depth]) for depth in range(len(parts), -1, -1)]
    return folders


LEVELS: dict[str, tuple[str, ...]] = {
    "x86-64": (),
    "x86-64-v2": ("cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"),
    "x86-64-v3": ("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
"""Levels of x86-64, lowest first, each with what it asks for on top of the one before, in Linux's words."""


def lacking(level: str) -> tuple[str, ...]:
    """Return what this CPU lacks of a level of `LEVELS`, in Linux's words; empty for any other name."""
    if level not in LEVELS:
        return ()
    names = list(LEVELS)
    asked = {word for name in names[: names.index(level) + 1] for word in LEVELS[name]}
    return tuple(sorted(asked - set(_features().split())))
