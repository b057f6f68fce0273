"""The ONNX scatter operators on NumPy arrays, by C kernels that are compiled for each type and layout.

>>> import numpy as np, scattergen
>>> scattergen.scatter_elements(np.zeros(4), [1, 3, 1], [1.0, 2.0, 3.0], reduction="add")
array([0., 4., 0., 2.])

Operators:

scatter_elements    updates along one axis: ScatterElements
scatter_nd          updates of slices that index tuples name: ScatterND
scatter             ScatterElements without reductions, as it was until opset 10: Scatter
tensor_scatter      the update of a key or value cache: TensorScatter

The same with less work for each call:

prepare             indices checked once, for many data and updates; makes a `Prepared`
bind                a call bound to its arrays, for loops; makes a `Bound`
compile             the kernels of a spec such as scatter_elements_f32_i64_r2a0_add; makes a `Kernel`
compile_all         those of many specs, built side by side
use                 kernels from a folder that was built ahead of time, a `Folder`
set_num_threads     the most threads of a call
get_num_threads     what that is now

About calls:

gradients           the gradients of data and updates, as `Gradients`
explain             which kernel answers a call, and why, as an `Explanation`
find_bad            where indices are out of bounds
show                the C of a spec
env                 versions, compiler, CPU, threads, paths and settings in force
OpSpec              an operator on one kind of arrays, and its text
Settings            what the environment variables say
errors              the exceptions; all of them are a `ScattergenError`

Modules, imported when they are used:

at                  NumPy's in-place idiom: np.add.at and its like
graph               rows reduced by an index, as torch_scatter has it
onnx                the scatter nodes of models, and models run by these operators
jit                 kernels by import: from scattergen.jit import scatter_nd_f32_i64_r2k1_add
inspection          what the `scattergen` command does, as functions

The README leads to the documentation.
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
    from . import inspection as inspection
    from . import jit as jit
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


_SUBMODULES = ("at", "graph", "inspection", "jit", "onnx")


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return _import_module(f".{name}", __name__)
    if name not in _LAZY:
        from .operators.elsewhere import missing

        raise missing(__name__, name, __all__)
    found: object = getattr(_import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    own = (name for name in globals() if name.startswith("__"))
    # Not `onnx`: who walks all names may not have that package.
    return sorted({*own, *__all__, "inspection", "jit"})


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
    next source: nothing is raised.
    """
    from .call import dispatch
    from .load import prebuilt

    found = prebuilt.use(folder)
    dispatch.forget()
    return found
