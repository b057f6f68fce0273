"""Operators that ONNX's reference evaluator lacks, refuses, or answers against the standard.

Exported models with scatter nodes have other ones too (spline flows, unpooling), and a model is worth running as a
whole. Scatter is here for the run that scattergen's own is compared with.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_max_pool import MaxPool as OnnxMaxPool


class GatherElements(OpRun):  # type: ignore[misc]
    """GatherElements, also where `indices` is smaller than `data` in a dim other than the axis."""

    op_domain = ""

    def _run(self, data: NDArray[Any], indices: NDArray[Any], axis: int | None = None) -> tuple[NDArray[Any]]:
        axis = (axis or 0) % data.ndim
        within = tuple(slice(None) if dim == axis else slice(size) for dim, size in enumerate(indices.shape))
        return (np.take_along_axis(data[within], indices, axis),)


class MaxPool(OnnxMaxPool):  # type: ignore[misc]
    """MaxPool whose Indices count through the whole tensor with unit strides too, not within a plane."""

    op_domain = ""

    def _run(self, x: NDArray[Any], **attributes: Any) -> tuple[NDArray[Any], ...]:
        results: tuple[NDArray[Any], ...] = super()._run(x, **attributes)
        if len(results) == 1:
            return results
        values, indices = results
        size = prod(x.shape[2:])
        first = np.arange(prod(x.shape[:2])).reshape(x.shape[:2] + (1,) * (x.ndim - 2)) * size
        return values, indices % size + first


class Scatter(OpRun):  # type: ignore[misc]
    """Scatter of opsets 9 to 11, by the loop of its text: the index stands for the coordinate along the axis."""

    op_domain = ""

    def _run(
        self, data: NDArray[Any], indices: NDArray[Any], updates: NDArray[Any], axis: int | None = None
    ) -> tuple[NDArray[Any]]:
        output, axis = data.copy(), (axis or 0) % data.ndim
        for place in np.ndindex(indices.shape):
            output[(*place[:axis], indices[place], *place[axis + 1 :])] = updates[place]
        return (output,)


REPAIRS: tuple[type[OpRun], ...] = (GatherElements, MaxPool, Scatter)
