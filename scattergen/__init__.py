"""scattergen: a compiler for the ONNX scatter operators.

The pipeline, a room a stage, and the module of each to start at::

arguments/  arrays.py    what a caller passes     → arrays that fit the operator, and their OpSpec (operators/spec.py)
lower/      loops.py     OpSpec, shapes, strides  → loop nest, form, layout and KernelSpec; by sizes, its schedule
render.py                KernelSpec               → C text
compiler/   build.py     C text                   → library, kept by cache/
load/       supply.py    library                  → callable; also out of a folder of aot/, without the two above
call/       dispatch.py  call                     → result: all of the above once for a signature, then from memory

Before it stand api.py, tensor.py, jit.py, grad/, graph/, at/, onnx/ and cli/; below it common/ and errors.py.
"""

from __future__ import annotations

import os as _os

if _os.name != "posix":  # before anything that only POSIX has
    raise ImportError("scattergen runs on Linux (macOS is prepared for): its store and its compilers are POSIX's")

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from . import errors
from .api import scatter, scatter_elements, scatter_nd
from .errors import ScattergenError

if TYPE_CHECKING:
    import os

    from . import at, graph
    from . import onnx as onnx
    from .arguments.checks import find_bad
    from .call.bound import Bound, bind
    from .call.compiled import Kernel, compile, compile_all
    from .call.explained import Explanation, explain
    from .call.prepared import Prepared, prepare
    from .call.threads import get_num_threads
    from .common.config import Settings
    from .grad.differentiated import Gradients, gradients
    from .inspection import env, show
    from .load.prebuilt import Folder
    from .operators.spec import OpSpec
    from .tensor import tensor_scatter

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
    "Bound": "call.bound",
    "bind": "call.bound",
    "find_bad": "arguments.checks",
    "env": "inspection",
    "show": "inspection",
    "Kernel": "call.compiled",
    "compile": "call.compiled",
    "compile_all": "call.compiled",
    "Settings": "common.config",
    "Gradients": "grad.differentiated",
    "gradients": "grad.differentiated",
    "Explanation": "call.explained",
    "explain": "call.explained",
    "Folder": "load.prebuilt",
    "Prepared": "call.prepared",
    "prepare": "call.prepared",
    "OpSpec": "operators.spec",
    "tensor_scatter": "tensor",
    "get_num_threads": "call.threads",
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
    """Set how many threads a call takes at most, in this process; 0 goes back to the setting or the cores.

    No call takes more than 256. Raises `errors.SettingError` (ValueError) for what is no whole number, 0 or more.
    """
    from .call import dispatch, threads

    threads.set_number(number)
    dispatch.forget()


def use(folder: str | os.PathLike[str]) -> Folder:
    """Take kernels from a folder that was built ahead of time, before any other source, in this process.

    Kernels that are loaded already stay. A folder that is of no use here (another machine, CPU, ABI or
    scattergen, or damaged) is refused with a RuntimeWarning, its ``refusal`` says why, and calls go to the
    next source.
    """
    from .call import dispatch
    from .load import prebuilt

    found = prebuilt.use(folder)
    dispatch.forget()
    return found
