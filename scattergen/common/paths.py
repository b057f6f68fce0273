"""Where the templates lie: inside the package once installed from a wheel, beside it in a checkout."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing it takes as long as a third of the package: not on the way to a hit of the store
    from pathlib import Path

AnyPath = str | os.PathLike[str]

PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
"""Where scattergen itself lies."""


HEADERS = ("scattergen.h", "kernel.h")
"""What the C source of a kernel includes, of what lies beside the templates: the ABI, and what is the sources' own."""


@cache
def template_folder() -> str:
    """Return the folder of templates; raise `FileNotFoundError` naming both places if there is none."""
    for folder in (os.path.join(PACKAGE, "templates"), os.path.join(os.path.dirname(PACKAGE), "templates")):
        if os.path.isfile(os.path.join(folder, "kernel.c.j2")):
            return folder
    raise FileNotFoundError(f"scattergen's templates are neither in {PACKAGE} nor beside it: reinstall scattergen")


def content(path: AnyPath) -> bytes:
    """Return the bytes of a file; an unbuffered one takes half the time where there are many small ones to read."""
    with open(path, "rb", buffering=0) as file:
        return file.read()


def templates() -> Path:
    """Return that folder as a path."""
    from pathlib import Path

    return Path(template_folder())
