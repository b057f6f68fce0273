"""scattergen: a compiler for the ONNX scatter operators.

The pipeline, a module a stage::

arrays.py    arguments            → arrays that fit the operator (shapes.py), and their OpSpec
moving.py    strings, times …     → arguments of numbers, and the result back
loops.py     shapes and strides   → the canonical loop nest, by the operator's row in addressing.py
lower.py     nest                 → loop form, layout, KernelSpec
schedule.py  sizes                → threads
render.py    KernelSpec           → C text
build.py     C text               → library, by toolchain.py, kept by cache.py under the key of request.py
loader.py    library              → callable
prebuilt.py  folder by aot.py     → callables, without any of the five above
supply.py    KernelSpec           → a kernel, from the first of these that has it
plan.py      signature            → all of the above, once
dispatch.py  call                 → result
fast.py      a call seen before   → result, without any of the above
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from . import errors
from .api import scatter, scatter_elements, scatter_nd
from .errors import ScattergenError

if TYPE_CHECKING:
    import os

    from . import at, graph
    from . import onnx as onnx
    from .bound import Bound, bind
    from .checks import find_bad
    from .commands import env, show
    from .compiled import Kernel, compile, compile_all
    from .config import Settings
    from .differentiated import Gradients, gradients
    from .explained import Explanation, explain
    from .prebuilt import Folder
    from .prepared import Prepared, prepare
    from .spec import OpSpec
    from .tensor import tensor_scatter
    from .threads import get_num_threads

__version__ = "0.1.0"

__all__ = [
    "Bound",
    "Explanation",
    "Folder",
    "Gradients",
    "Kernel",
    "OpSpec",
    "Prepared",
    "ScattergenError",
    "Settings",
    "at",
    "bind",
    "compile",
    "compile_all",
    "env",
    "errors",
    "explain",
    "find_bad",
    "get_num_threads",
    "gradients",
    "graph",
    "prepare",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "set_num_threads",
    "show",
    "tensor_scatter",
    "use",
]


_LAZY = {
    "Bound": "bound",
    "bind": "bound",
    "find_bad": "checks",
    "env": "commands",
    "show": "commands",
    "Kernel": "compiled",
    "compile": "compiled",
    "compile_all": "compiled",
    "Settings": "config",
    "Gradients": "differentiated",
    "gradients": "differentiated",
    "Explanation": "explained",
    "explain": "explained",
    "Folder": "prebuilt",
    "Prepared": "prepared",
    "prepare": "prepared",
    "OpSpec": "spec",
    "tensor_scatter": "tensor",
    "get_num_threads": "threads",
}
"""Names whose modules are imported when somebody asks: most programs call an operator and nothing else."""


_SUBMODULES = ("at", "graph", "onnx")


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return _import_module(f".{name}", __name__)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(_import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})  # not `onnx`: who walks all names may not have that package


def set_num_threads(number: int) -> None:
    """Set how many threads a call takes at most, in this process; 0 goes back to the setting or the cores."""
    from . import dispatch, threads

    threads.set_number(number)
    dispatch.forget()


def use(folder: str | os.PathLike[str]) -> Folder:
    """Take kernels from a folder that was built ahead of time, before any other source, in this process.

    Kernels that are loaded already stay. A folder that is of no use here (another machine, CPU, ABI or
    scattergen, or damaged) is refused with a RuntimeWarning, its ``refusal`` says why, and calls go to the
    next source.
    """
    from . import dispatch, prebuilt

    found = prebuilt.use(folder)
    dispatch.forget()
    return found
