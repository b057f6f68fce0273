"""The operators: NumPy arrays in, a fresh NumPy array (or `out`) out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .call import dispatch, fast
from .operators.ops import OPS

_SCATTER, _SCATTER_ELEMENTS, _SCATTER_ND = OPS["scatter"], OPS["scatter_elements"], OPS["scatter_nd"]


def scatter_elements(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    reduction: str = "none",
    *,
    opset: int = 18,
    out: Any = None,
    threads: int | None = None,
    duplicates: str = "allow",
    unique: bool = False,
    accumulate: str | None = None,
) -> np.ndarray[Any, Any]:
    """Return a copy of `data` with `updates` applied where `indices` says, along one axis: ONNX ScatterElements.

    For every position p of `indices`, in row-major order, the element of the result at p, with
    p[axis] replaced by indices[p], becomes f(element, updates[p]).

    Args:
        data: rank r >= 1, any type of ONNX's tensors; times and records too (docs/semantics.md).
        indices: int32 or int64, rank r, no larger than `data` off the axis; values in
            [-s, s-1] for an axis of size s, negative ones counting from the end.
        updates: the type of `data`, the shape of `indices`.
        axis: in [-r, r-1].
        reduction: f, one of none (replaces; the last one wins), add, mul (from opset 16), max, min (from 18).
        opset: the ONNX opset whose rules hold: those of the newest version of the operator up to it. There is no
            upper limit: 99 means the last version.
        out: array of the shape and type of `data` for the result; may be `data` itself. A failed
            call leaves it untouched: every index is checked before the first write, which costs time.
            Nothing else may write to it meanwhile, not even to elements that no index names.
        threads: most threads of this call; the result does not depend on it.
        duplicates: allow, or refuse: no two updates may have one target.
        unique: a promise that no two updates have one target. Where it is wrong, any of them may win.
        accumulate: None: halves are rounded after every update. float32: sums and products (add, mul) of float16
            and bfloat16 are kept in float32, in order, and rounded once.

    Raises:
        IndexOutOfBounds (IndexError), ShapeError, SpecError and DuplicateTargets (ValueError),
        DTypeError (TypeError).

    """
    if accumulate is None:
        result = fast.recall(
            data, indices, updates, out, _SCATTER_ELEMENTS, opset, axis, reduction, threads, duplicates, unique, ""
        )
        if result is not None:
            return result
        return dispatch.run(
            data, indices, updates, out, _SCATTER_ELEMENTS, opset, axis, reduction, threads, duplicates, unique, ""
        )
    from .call import accumulated

    return accumulated.run(
        data, indices, updates, out, _SCATTER_ELEMENTS, opset, axis, reduction, threads, duplicates, unique, accumulate
    )


def scatter_nd(
    data: Any,
    indices: Any,
    updates: Any,
    reduction: str = "none",
    *,
    opset: int = 18,
    out: Any = None,
    threads: int | None = None,
    duplicates: str = "allow",
    unique: bool = False,
    accumulate: str | None = None,
) -> np.ndarray[Any, Any]:
    """Return a copy of `data` with slices of it updated where index tuples say: ONNX ScatterND.

    The last dim of `indices`, k long, holds tuples; for every tuple t, in row-major order, the slice
    result[t] of shape data.shape[k:] becomes f(slice, updates[position of t]), element by element.

    Args:
        data: rank r >= 1, any type of ONNX's tensors; times and records too (docs/semantics.md).
        indices: int32 or int64, rank q >= 1, indices.shape[-1] = k in [0, r]; negative values count from the end.
        updates: the type of `data`, shape indices.shape[:-1] + data.shape[k:].
        reduction: f, one of none (replaces; the last one wins), add, mul (from opset 16), max, min (from 18).
        opset: the ONNX opset whose rules hold: those of the newest version of the operator up to it. There is no
            upper limit: 99 means the last version.
        out: array of the shape and type of `data` for the result; may be `data` itself. A failed
            call leaves it untouched: every index is checked before the first write, which costs time.
            Nothing else may write to it meanwhile, not even to elements that no index names.
        threads: most threads of this call; the result does not depend on it.
        duplicates: allow, or refuse: no two updates may have one target.
        unique: a promise that no two updates have one target. Where it is wrong, any of them may win.
        accumulate: None: halves are rounded after every update. float32: sums and products (add, mul) of float16
            and bfloat16 are kept in float32, in order, and rounded once.

    Raises:
        IndexOutOfBounds (IndexError), ShapeError, SpecError and DuplicateTargets (ValueError),
        DTypeError (TypeError).

    """
    if accumulate is None:
        result = fast.recall(
            data, indices, updates, out, _SCATTER_ND, opset, None, reduction, threads, duplicates, unique, ""
        )
        if result is not None:
            return result
        return dispatch.run(
            data, indices, updates, out, _SCATTER_ND, opset, None, reduction, threads, duplicates, unique, ""
        )
    from .call import accumulated

    return accumulated.run(
        data, indices, updates, out, _SCATTER_ND, opset, None, reduction, threads, duplicates, unique, accumulate
    )


def scatter(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    *,
    opset: int = 9,
    out: Any = None,
    threads: int | None = None,
    duplicates: str = "allow",
    unique: bool = False,
) -> np.ndarray[Any, Any]:
    """Return what ONNX Scatter gives: `scatter_elements` without reductions, deprecated from opset 11 on.

    Arguments, shapes, types and exceptions are those of `scatter_elements`; with an opset of 11 or more it warns
    (DeprecationWarning).
    """
    if isinstance(opset, int) and opset >= 11:
        warnings.warn("Scatter is deprecated since opset 11: use scatter_elements", DeprecationWarning, stacklevel=2)
    result = fast.recall(data, indices, updates, out, _SCATTER, opset, axis, "none", threads, duplicates, unique, "")
    if result is not None:
        return result
    return dispatch.run(data, indices, updates, out, _SCATTER, opset, axis, "none", threads, duplicates, unique, "")
