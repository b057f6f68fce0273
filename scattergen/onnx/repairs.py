"""Operators of other kinds that ONNX's reference evaluator refuses though the standard allows the call.

Exported models with scatter nodes have them too, and a model is worth running as a whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx.reference.op_run import OpRun


class GatherElements(OpRun):  # type: ignore[misc]
    """GatherElements, also where `indices` is smaller than `data` in a dim other than the axis."""

    op_domain = ""

    def _run(self, data: NDArray[Any], indices: NDArray[Any], axis: int | None = None) -> tuple[NDArray[Any]]:
        axis = (axis or 0) % data.ndim
        within = tuple(slice(None) if dim == axis else slice(size) for dim, size in enumerate(indices.shape))
        return (np.take_along_axis(data[within], indices, axis),)


REPAIRS: tuple[type[OpRun], ...] = (GatherElements,)
