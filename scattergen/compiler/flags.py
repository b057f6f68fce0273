"""The flags of a build, in gcc's spelling: what kernels need, what a user adds, what is refused."""

from __future__ import annotations

import sys

from ..common.config import Settings
from ..errors import SettingError

_KERNEL_FLAGS = (
    "-std=c11", "-O3", "-fwrapv", "-ffp-contract=off", "-fno-math-errno",
    "-fPIC", "-shared", "-fvisibility=hidden", "-pipe",
)  # fmt: skip

_OF_THE_PROCESS = ("memmove", "memset", "__memmove_chk", "__memcpy_chk", "__memset_chk", "__stack_chk_fail")
"""What kernels, as compilers are set up to harden them, want of the C library; every process that loads one has it.

memcpy is not among them: by its name alone, GNU's library gives an old and slow one. The header calls it otherwise."""

_BARE = (
    "-DSCATTERGEN_BARE",
    "-nostdlib",
    "-Wl," + ",".join(f"--ignore-unresolved-symbol={name}" for name in _OF_THE_PROCESS),
)
"""Flags of a link that reads no library but OpenMP's: the others take the linker three quarters of its time."""

_MODULE_FLAGS = ("-O2", "-fwrapv", "-fPIC", "-shared", "-fvisibility=hidden")

_FAST_MATH = "NaN, infinities, -0.0 and the order of sums would no longer be what the operators promise"
_OVERFLOW = "integers would no longer wrap"

_REFUSED = {
    "-ffast-math": _FAST_MATH,
    "-Ofast": f"it means -ffast-math, and {_FAST_MATH}",
    "-funsafe-math-optimizations": _FAST_MATH,
    "-ffinite-math-only": _FAST_MATH,
    "-fassociative-math": _FAST_MATH,
    "-freciprocal-math": _FAST_MATH,
    "-fno-signed-zeros": _FAST_MATH,
    "-ffp-model=fast": _FAST_MATH,
    "-ffp-contract=fast": "fused multiply-adds round differently",
    "-ffp-contract=on": "fused multiply-adds round differently",
    **dict.fromkeys(
        (f"-mfpmath={units}" for units in ("387", "both", "sse+387", "sse,387", "387+sse", "387,sse")),
        "the 387 rounds twice, and its registers have more digits than memory",
    ),
    "-mdaz-ftz": "subnormals would be lost, in the whole process",
    "-fno-wrapv": _OVERFLOW,
    "-fstrict-overflow": _OVERFLOW,
    "-ftrapv": _OVERFLOW,
}
"""Flags of users that change results, with the reason to give."""


def split(text: str, variable: str) -> list[str]:
    """Return the words of a setting as a shell splits them; raise `SettingError` where a quote stays open."""
    if not text:
        return []
    import shlex

    try:
        return shlex.split(text)
    except ValueError as problem:
        raise SettingError(f"{variable}={text!r}: {problem}") from None


def refuse(given: list[str], variable: str) -> None:
    """Raise `SettingError` for flags that would change results."""
    for word in given:
        if word in _REFUSED:
            raise SettingError(f"{variable}: {word} is refused: {_REFUSED[word]}. Take it out.")


def _user_flags(settings: Settings) -> tuple[str, ...]:
    given = split(settings.cflags, "SCATTERGEN_CFLAGS")
    refuse(given, "SCATTERGEN_CFLAGS")
    return tuple(given)


def flags_of_kernel(
    settings: Settings, *, openmp: bool, native: bool = True, bare: bool = False, optimize: bool = True
) -> tuple[str, ...]:
    """Return the flags of a kernel's build, in gcc's spelling.

    ``native=False`` leaves ``-march=native`` out, for a compiler that refuses it; a level that the
    settings name always stays. ``bare=True`` is for a library that a process with a C library loads, such as
    Python: it is linked sooner, and not every linker can. ``optimize=False`` is for who waits for the library,
    whatever level the settings ask for. Raises `SettingError` for flags that would change results.
    """
    cpu = () if settings.cpu == "native" and not native else (f"-march={settings.cpu}",)
    parallel = ("-fopenmp",) if openmp else ()
    # Some compilers take -fopenmp and have no runtime for it: let the link fail, not the load.
    whole = ("-Wl,-z,defs",) if sys.platform == "linux" else ()
    few = _BARE if bare and sys.platform == "linux" else ()
    late = () if optimize else ("-O0",)
    return (*_KERNEL_FLAGS, *cpu, *parallel, *whole, *few, *_user_flags(settings), *late)


def flags_of_module(settings: Settings) -> tuple[str, ...]:
    """Return the flags of a Python extension module's build; Python's own symbols are found at load."""
    late = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    return (*_MODULE_FLAGS, *late, *_user_flags(settings))
