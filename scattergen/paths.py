"""Where the templates lie: inside the package once installed from a wheel, beside it in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def templates() -> Path:
    """Return the folder of templates; raise `FileNotFoundError` naming both places if there is none."""
    package = Path(__file__).resolve().parent
    for folder in (package / "templates", package.parent / "templates"):
        if (folder / "kernel.c.j2").is_file():
            return folder
    raise FileNotFoundError(f"scattergen's templates are neither in {package} nor beside it: reinstall scattergen")
