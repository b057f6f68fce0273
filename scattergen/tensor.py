"""TensorScatter: the update of a key or value cache. NumPy arrays in, a fresh NumPy array (or `out`) out."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays, caller, dispatch, fast, loader
from .arrays import Arguments, Array
from .loader import NULL
from .ops import OPS

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
        past_cache: rank r >= 2, the first dim is the batch; any type of ONNX's tensors but strings, the small ones
            (float8, float4, int4) as ``ml_dtypes`` has them.
        update: the type and shape of `past_cache`, but for the axis, where it is no longer than that.
        write_indices: int32 or int64, an index for each entry of the batch; None for zeros.
        mode: linear, where every position has to lie within the axis: an index is in [0, s - t] for t positions
            in an axis of size s; or circular, where positions are taken modulo s, and any index will do.
        axis: in [-r, r-1], not the batch.
        opset: the ONNX opset whose rules hold, 24 or above.
        out: array of the shape and type of `past_cache` for the result; may be `past_cache` itself. A failed
            call leaves it untouched.
        threads: most threads of this call; the result does not depend on it.

    Raises:
        IndexOutOfBounds (IndexError), ShapeError and SpecError (ValueError), DTypeError (TypeError).

    """
    key = None
    if out is past_cache and type(past_cache) is type(update) is type(write_indices) is np.ndarray:
        key = (
            _OP.name, past_cache.dtype, update.dtype, write_indices.dtype, past_cache.shape, update.shape,
            write_indices.shape, mode, axis, opset, threads,
        )  # fmt: skip
        try:
            plan = fast.plans.get(key)
        except TypeError:  # an unhashable mode or axis; the checks say so
            key = plan = None
        if plan is not None:
            found = plan(past_cache, write_indices, update)
            if found is not None:
                return found
    arguments = arrays.prepare(_OP, opset, axis, "none", past_cache, write_indices, update, out, mode)
    result = dispatch.execute(arguments, threads)
    if key is not None and arguments.updates.size and dispatch.all_contiguous(arguments):
        _keep(key, arguments, threads)
    return result if out is None else out


def _keep(key: tuple[Any, ...], arguments: Arguments, threads: int | None) -> None:
    """Keep the call in place of C-contiguous arrays: a decoder makes it for every layer and token."""
    call = dispatch.planned(arguments, threads)[0].call
    if call is None:
        return
    caller.adopt(dispatch.forget)
    checked = call.checked
    from_buffer, invoke, may_share_memory = loader.from_buffer, loader.invoke, np.may_share_memory

    def in_place(cache: Array, starts: Array, update: Array, _kept: object = call) -> Array | None:
        if not cache.flags.writeable or may_share_memory(cache, update) or may_share_memory(cache, starts):
            return None
        try:
            pointers = from_buffer(cache), NULL, from_buffer(starts), from_buffer(update)
        except ValueError:  # not C-contiguous
            return None
        return cache if invoke(checked, *pointers, NULL) == -1 else None

    if len(fast.plans) >= fast.MOST_PLANS:
        fast.plans.clear()
    fast.plans[key] = in_place
