"""TensorScatter: the update of a key or value cache. NumPy arrays in, a fresh NumPy array (or `out`) out."""

from __future__ import annotations

from typing import Any

import numpy as np

from .call import dispatch, fast
from .operators.ops import OPS

_OP = OPS["tensor_scatter"]


def tensor_scatter(
    past_cache: Any,
    update: Any,
    write_indices: Any = None,
    *,
    mode: str = "linear",
    axis: int = -2,
    opset: int = 24,
    out: Any = None,
    threads: int | None = None,
) -> np.ndarray[Any, Any]:
    """Return a copy of `past_cache` with `update` written along an axis, from an index on: ONNX TensorScatter.

    For every position p of `update` the element of the result at p, with p[axis] replaced by
    write_indices[p[0]] + p[axis], becomes update[p]. With ``out=past_cache`` only these elements are written,
    and none of the others is read.

    Args:
        past_cache: rank r >= 2, the first dim is the batch; any type of ONNX's tensors, the small ones
            (float8, float4, int4) as ``ml_dtypes`` has them; strings, times and records as for `scatter_elements`.
        update: the type and shape of `past_cache`, but for the axis, where it is no longer than that.
        write_indices: int32 or int64, an index for each entry of the batch; None for zeros.
        mode: linear, where every position has to lie within the axis: an index is in [0, s - t] for t positions
            in an axis of size s; or circular, where positions are taken modulo s, and any index will do.
        axis: in [-r, r-1], not the batch.
        opset: the ONNX opset whose rules hold, 24 or above; all of them mean version 24, the only one so far.
        out: array of the shape and type of `past_cache` for the result; may be `past_cache` itself. A failed
            call leaves it untouched. Nothing else may write to it meanwhile, not even to positions that `update`
            does not reach.
        threads: most threads of this call; the result does not depend on it.

    Raises:
        IndexOutOfBounds (IndexError), ShapeError and SpecError (ValueError), DTypeError (TypeError).

    """
    result = fast.recall(
        past_cache, write_indices, update, out, _OP, opset, axis, "none", threads, "allow", False, mode
    )
    if result is not None:
        return result
    return dispatch.run(past_cache, write_indices, update, out, _OP, opset, axis, "none", threads, "allow", False, mode)
