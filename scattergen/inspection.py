"""What the commands of the same names do, as functions: `show`, `env`, `cache_list` and its like.

Those of `build` and `run` are `aot.build` and `onnx.run`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cache import location
from .call import threads
from .common import config, machine
from .compiler import platforms, toolchain
from .compiler.flags import flags_of_kernel
from .errors import CacheError, CompilerNotFound, SpecError
from .load import caller, prebuilt
from .lower.kernel import KernelSpec, parse_either
from .lower.lower import variants
from .operators.spec import OpSpec

if TYPE_CHECKING:
    from .cache.upkeep import Entry


def sources(spec: OpSpec | KernelSpec | str) -> dict[str, str]:
    """Return the C of every kernel that `spec` (an operator's or a kernel's, or the text of one) needs, by name."""
    from .render import render

    if isinstance(spec, str):
        spec = parse_either(spec)
    if not isinstance(spec, OpSpec | KernelSpec):
        raise SpecError("spec", spec, "an OpSpec, a KernelSpec, or the text of one")
    kernels = variants(spec) if isinstance(spec, OpSpec) else (spec,)
    return {str(kernel): render(kernel) for kernel in kernels}


def show(spec: OpSpec | KernelSpec | str) -> str:
    """Return the C of `spec` exactly as it is compiled; of an operator's spec, that of all its kernels.

    Raises `SpecError` (ValueError) for what is neither an operator's spec, nor a kernel's, nor the text of one.
    """
    return "\n".join(sources(spec).values())


def env() -> dict[str, Any]:
    """Return what decides how calls are served here: versions, compiler, CPU, threads, paths, settings.

    Plain values that `json` can write. Runs the compiler to ask for its version. Raises `SettingError` (ValueError)
    for a variable whose value means nothing.
    """
    chosen = config.settings()
    store = location.choose(chosen.cache_dir, os.environ)
    return {
        "versions": _versions(),
        "machine": machine.tag(),
        "cpu": {
            "level": _level(),
            "built for": machine.cpu_identity(chosen.cpu),
            "caches": list(machine.cache_sizes()),
        },
        "threads": {"cores": machine.usable_cores(), "a call": threads.get_num_threads()},
        "compiler": _compiler(chosen),
        "store": {"path": str(store or ""), "mode": chosen.cache, "trouble": _trouble(store, chosen)},
        "caller module": caller.status(),
        "ahead of time": [
            {
                "folder": str(folder.path),
                "level": folder.level,
                "kernels": len(folder.kernels),
                "refused": folder.refusal,
            }
            for folder in prebuilt.folders()
        ],
        "settings": [
            {
                "name": row.field,
                "variable": row.variable,
                "value": getattr(chosen, row.field),
                "from": _source(row, chosen),
                "meaning": row.meaning,
            }
            for row in config.TABLE
        ],
    }


def _level() -> str:
    """Return the highest level of x86-64 that this CPU has; empty on other processors."""
    has = [level for level in machine.LEVELS if not machine.lacking(level)]
    return has[-1] if platforms.here().endswith("x86_64") else ""


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from . import __version__

    found = {"scattergen": __version__, "python": platform.python_version()}
    for name in ("numpy", "cffi", "jinja2", "ml_dtypes", "onnx", "ziglang"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _compiler(chosen: config.Settings) -> dict[str, Any]:
    from .aot.libraries import version

    try:
        found = toolchain.find(chosen)
    except CompilerNotFound as error:
        return {"command": [], "missing": str(error)}
    flags = found.spell(flags_of_kernel(chosen, openmp=True))
    return {"command": list(found.command), "version": version(found), "flags": list(flags)}


def _trouble(store: str | None, chosen: config.Settings) -> str:
    if store is None:
        return "there is no home directory to keep kernels in; set SCATTERGEN_CACHE_DIR"
    return location.trouble(store, shared=chosen.cache == "read-only" and bool(chosen.cache_dir))


def _source(row: config.Setting, chosen: config.Settings) -> str:
    """Return where a setting's value is from: a variable, the default, or the program."""
    value = getattr(chosen, row.field)
    if value != getattr(config.Settings.from_environment(os.environ), row.field):
        return "the program"
    if os.environ.get(row.variable):
        return row.variable
    return "default" if value == config.Settings._field_defaults[row.field] else row.also


def cache_dir() -> Path:
    """Return the folder of the store; raise `CacheError` where there is no home for one."""
    found = location.choose(config.settings().cache_dir, os.environ)
    if found is None:
        raise CacheError("there is no home directory to keep kernels in; set SCATTERGEN_CACHE_DIR")
    return Path(found)


def cache_list() -> list[Entry]:
    """List the entries of the store, least recently used first."""
    from .cache import upkeep

    return upkeep.listed(cache_dir())


def cache_verify() -> list[Entry]:
    """Read every library of the store, remove the entries that are damaged, and return those."""
    from .cache import upkeep

    return upkeep.verify(_ours())


def cache_prune(*, older_than: float | None = None, max_bytes: int | None = None) -> list[Entry]:
    """Remove entries unused for `older_than` seconds, and the longest unused above `max_bytes`; return them.

    Without either, the limit is that of the settings.
    """
    if older_than is None and max_bytes is None:
        max_bytes = config.settings().cache_limit
    from .cache import upkeep

    return upkeep.prune(_ours(), older_than=older_than, max_bytes=max_bytes)


def cache_clear() -> int:
    """Remove every entry of the store, and return how many there were; `CacheError` if it is not a store."""
    from .cache import upkeep

    return upkeep.clear(_ours())


def _ours() -> Path:
    """Return the store, if what is there may be changed by us."""
    root = cache_dir()
    why = location.trouble(root, shared=False)
    if why:
        raise CacheError(f"{root} is left as it is: {why}")
    return root
