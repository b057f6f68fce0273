"""The keys of the store.

A key stands for the C text instead of holding it, so that a hit renders nothing:

    request   what is built: spec, bytes of the generator, flags, CPU, machine (16 hex digits)
    compiler  what builds it: command, path, size and modification time (8 hex digits)

The kernel ABI's number stands in the header, which is one of the generator's files.
"""

from __future__ import annotations

import functools
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

from ..cache import location
from ..common import machine
from ..common.config import Settings
from ..common.digest import fingerprint, sha256
from ..common.paths import PACKAGE, content, template_folder
from .flags import flags_of_kernel

_GENERATOR = ("operators/dtypes.py", "lower/layout.py", "lower/forms.py", "lower/kernel.py", "render.py")
"""The modules that decide the C text of a kernel, beside the templates."""


def of_kernel(name: str, settings: Settings, *, optimize: bool = True) -> str:
    """Return the request for a kernel, by the text of its spec."""
    return _request(_kernel_common(settings), name if optimize else f"{name}, not optimised")


def of_module(recipe: str, flags: tuple[str, ...]) -> str:
    """Return the request for an extension module of this Python, for whose source `recipe` stands."""
    # The first suffix names the ABI; sysconfig says the same, after an import of its own.
    python = f"{sys.hexversion} {EXTENSION_SUFFIXES[0]}"
    return _request("\n".join((python, machine.tag(), str(location.FORMAT), *flags)), recipe)


def key(request: str, compiler: str) -> str:
    """Return the key of what a compiler, by its identity, builds on a request."""
    return f"{request}-{_hash(compiler)[:8]}"


@functools.cache
def generator_fingerprint() -> str:
    """Return a hash over all files that decide the C text of a kernel: templates, header and modules."""
    folder = template_folder()
    names = sorted(name for name in os.listdir(folder) if not name.startswith(".") and "." in name)
    files = [os.path.join(PACKAGE, name) for name in _GENERATOR] + [os.path.join(folder, name) for name in names]
    named = ((os.path.basename(path), content(path)) for path in files)
    return fingerprint(*(f"{name} {len(held)}\n".encode() + held for name, held in named))


@functools.cache
def _kernel_common(settings: Settings) -> str:
    """Return the part of the request that all kernels share."""
    # The flags that are wished for; what a compiler makes of them is a matter of the compiler.
    flags = flags_of_kernel(settings, openmp=True, bare=True)
    cpu = machine.cpu_identity(settings.cpu)
    return "\n".join((generator_fingerprint(), machine.tag(), cpu, str(location.FORMAT), *flags))


def _request(common: str, what: str) -> str:
    return _hash(f"{common}\n\n{what}")[:16]


def _hash(text: str) -> str:
    # Whatever the locale is: paths may be any bytes, templates have more letters than some locales do.
    return sha256(text.encode("utf-8", "surrogateescape"))


def forget() -> None:
    """Forget what this module keeps for the life of the process."""
    for kept in (_kernel_common, generator_fingerprint):
        kept.cache_clear()
