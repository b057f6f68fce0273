"""The graph idiom: rows of `src` reduced by an index that names their targets.

`scatter` and its kin have the arguments of torch_scatter and torch_geometric, `scatter_reduce` those of
``torch.Tensor.scatter_reduce``; arrays are NumPy's, or what NumPy can read. They run on the kernels of
`scattergen.scatter_elements`: results are those of the loop over `index` in row-major order, bit for bit, on any number
of threads. ONNX knows nothing of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from .reduce import (
    scatter,
    scatter_add,
    scatter_max,
    scatter_mean,
    scatter_min,
    scatter_mul,
    scatter_reduce,
    scatter_sum,
)

__all__ = [
    "scatter",
    "scatter_add",
    "scatter_max",
    "scatter_mean",
    "scatter_min",
    "scatter_mul",
    "scatter_reduce",
    "scatter_sum",
]

if not TYPE_CHECKING:  # to a type checker a wrong name stays wrong

    def __getattr__(name: str) -> NoReturn:
        from ..operators.elsewhere import missing

        raise missing(__name__, name, __all__)
