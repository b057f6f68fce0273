"""scattergen: a compiler for the ONNX scatter operators.

The pipeline, a module a stage::

arrays.py    arguments            → arrays that fit the operator, and their OpSpec
loops.py     shapes and strides   → the canonical loop nest
lower.py     nest                 → loop form, layout, KernelSpec
schedule.py  sizes                → threads
render.py    KernelSpec           → C text
build.py     C text               → library, by toolchain.py, kept by cache.py
loader.py    library              → callable
plan.py      signature            → all of the above, once
dispatch.py  call                 → result
"""

from __future__ import annotations

from . import errors
from .api import scatter, scatter_elements, scatter_nd
from .bound import Bound, bind
from .checks import find_bad
from .compiled import Kernel, compile
from .config import Settings
from .dispatch import forget as _forget
from .errors import ScattergenError
from .explain import Explanation, explain
from .prepared import Prepared, prepare
from .spec import OpSpec
from .threads import get_num_threads
from .threads import set_number as _set_number

__version__ = "0.1.0"

__all__ = [
    "Bound",
    "Explanation",
    "Kernel",
    "OpSpec",
    "Prepared",
    "ScattergenError",
    "Settings",
    "bind",
    "compile",
    "errors",
    "explain",
    "find_bad",
    "get_num_threads",
    "prepare",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "set_num_threads",
]


def set_num_threads(number: int) -> None:
    """Set how many threads a call takes at most, in this process; 0 goes back to the setting or the cores."""
    _set_number(number)
    _forget()
