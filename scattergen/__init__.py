"""scattergen: a compiler for the ONNX scatter operators.

The pipeline, a module a stage::

arrays.py    arguments            → arrays that fit the operator, and their OpSpec
loops.py     shapes and strides   → the canonical loop nest
lower.py     nest                 → loop form, layout, KernelSpec
schedule.py  sizes                → threads
render.py    KernelSpec           → C text
build.py     C text               → library, by toolchain.py, kept by cache.py
loader.py    library              → callable
prebuilt.py  folder by aot.py     → callables, without any of the five above
plan.py      signature            → all of the above, once
dispatch.py  call                 → result
"""

from __future__ import annotations

import os as _os

from . import errors
from .api import scatter, scatter_elements, scatter_nd
from .bound import Bound, bind
from .checks import find_bad
from .commands import env, show
from .compiled import Kernel, compile, compile_all
from .config import Settings
from .dispatch import forget as _forget
from .errors import ScattergenError
from .explain import Explanation, explain
from .prebuilt import Folder
from .prebuilt import use as _use
from .prepared import Prepared, prepare
from .spec import OpSpec
from .threads import get_num_threads
from .threads import set_number as _set_number

__version__ = "0.1.0"

__all__ = [
    "Bound",
    "Explanation",
    "Folder",
    "Kernel",
    "OpSpec",
    "Prepared",
    "ScattergenError",
    "Settings",
    "bind",
    "compile",
    "compile_all",
    "env",
    "errors",
    "explain",
    "find_bad",
    "get_num_threads",
    "prepare",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "set_num_threads",
    "show",
    "use",
]


def set_num_threads(number: int) -> None:
    """Set how many threads a call takes at most, in this process; 0 goes back to the setting or the cores."""
    _set_number(number)
    _forget()


def use(folder: str | _os.PathLike[str]) -> Folder:
    """Take kernels from a folder that was built ahead of time, before any other source, in this process.

    Kernels that are loaded already stay. A folder that is of no use here (another machine, CPU, ABI or
    scattergen, or damaged) is refused with a RuntimeWarning, its ``refusal`` says why, and calls go to the
    next source.
    """
    found = _use(folder)
    _forget()
    return found
