"""The manifest of a folder of kernels built ahead of time: what is in it, and for whom."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..common.digest import sha256
from ..common.record import Record
from ..errors import AheadOfTimeError

if TYPE_CHECKING:
    from pathlib import Path

NAME = "manifest.json"
FORMAT = 1

_FORMS: dict[str, tuple[type, str]] = {
    "abi": (int, "a number"),
    "flags": (list, "a list of texts"),
    "specs": (list, "a list of texts"),
    "libraries": (dict, "a table of texts"),
    "kernels": (dict, "a table of texts"),
    "digests": (dict, "a table of texts"),
}
"""What JSON has for a field, in Python and in words, where it is no text."""


class Manifest(Record):
    """What stands in ``manifest.json``; paths are relative to its folder, with forward slashes."""

    name: str
    """Of the library, as a linker has it."""
    abi: int
    version: str
    """Of the scattergen that built it."""
    generator: str
    """Fingerprint of what wrote the C: layouts are a matter between that and the kernels."""
    system: str
    machine: str
    compiler: str
    flags: tuple[str, ...]
    libraries: dict[str, str]
    """Instruction-set level → shared library, the lowest level first."""
    static: str
    specs: tuple[str, ...]
    kernels: dict[str, str]
    """Kernel → its C source."""
    digests: dict[str, str]
    """File → SHA-256, of every file but the manifest."""

    def write(self, folder: Path) -> None:
        """Write it into its folder."""
        import json

        text = json.dumps({"format": FORMAT, **self._asdict()}, indent=1)
        (folder / NAME).write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> Manifest:
    """Return the manifest of a folder; raise `AheadOfTimeError` where there is none that we can read."""
    import json

    path = folder / NAME
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AheadOfTimeError(f"{folder} has no {NAME}: it is no folder that `scattergen build` wrote") from None
    except (OSError, ValueError, RecursionError) as error:
        raise AheadOfTimeError(f"{path} cannot be read: {error}") from None
    return _checked(found, path)


def _checked(found: Any, path: Path) -> Manifest:
    if not isinstance(found, dict) or "format" not in found:
        raise AheadOfTimeError(f"{path} is none that `scattergen build` wrote")
    number = found.pop("format")
    if number != FORMAT:
        raise AheadOfTimeError(f"{path} is of format {number}, this scattergen reads {FORMAT}: build the folder again")
    try:
        manifest = Manifest(**{name: _value(name, value) for name, value in found.items()})
    except TypeError as error:
        raise AheadOfTimeError(f"{path} is not whole ({error}): build the folder again") from None
    if not manifest.libraries:
        raise AheadOfTimeError(f"{path} names no library: build the folder again")
    for name in (*manifest.libraries.values(), *manifest.kernels.values()):
        if ".." in name.split("/") or os.path.isabs(name):
            raise AheadOfTimeError(f"{path} names {name}, which is outside of its folder")
    return manifest


def _value(name: str, value: Any) -> Any:
    """Return what a field holds, lists as tuples; raise `TypeError` where it has another form."""
    kind, words = _FORMS.get(name, (str, "a text"))
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if type(value) is not kind or not all(isinstance(one, str) for one in inner):
        raise TypeError(f"{name} is not {words}")
    return tuple(value) if isinstance(value, list) else value


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(path.read_bytes())
