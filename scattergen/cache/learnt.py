"""What was learnt about compilers, such as flags that one does not take: a small file for each, beside the entries."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping

from ..common import log
from ..common.digest import sha256
from . import entries, location


def known(roots: Iterable[str], identity: str) -> dict[str, object]:
    """Return what the first store that knows a compiler, by its identity, has of it; empty where none does."""
    for root in roots:
        try:
            found = json.loads(entries.read(_file(root, identity)))
        except (OSError, ValueError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def add(root: str, identity: str, facts: Mapping[str, object]) -> None:
    """Write what is known about a compiler. A store that cannot be written forgets it."""
    text = json.dumps({**facts, "compiler": identity}, indent=1)
    try:
        descriptor, path = tempfile.mkstemp(prefix=f"{os.getpid()}-", dir=os.path.join(root, location.WORK))
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(path, _file(root, identity))
    except OSError as problem:
        log.debug("what was learnt about a compiler could not be kept: %s", problem)


def _file(root: str, identity: str) -> str:
    return os.path.join(root, location.COMPILERS, f"{sha256(identity.encode())[:16]}.json")
