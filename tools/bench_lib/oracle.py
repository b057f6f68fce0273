"""What is right: the operator's loop in the element type, and in a wide one for peers that sum in another order."""

from __future__ import annotations

import numpy as np

from scattergen.bench.workload import UFUNCS, Array, Workload

_TOLERANCE = {"float16": 4e-2, "bfloat16": 3e-1, "float32": 2e-4, "float64": 1e-9}


def exact(work: Workload) -> Array:
    """Return the result of the loop in row-major order of the indices, rounded at each step: scattergen's bits.

    NumPy's ``ufunc.at`` is that loop for all but products of complex numbers, which it may fuse, and the
    max and min of zeros of two signs; workloads have neither.
    """
    return work.numpy()()


def wide(work: Workload) -> Array:
    """Return the result in float64, or in the wrapping integers of the workload's own type."""
    dtype = work.data.dtype
    widened = np.float64 if dtype.kind == "f" or dtype.name == "bfloat16" else dtype
    out, updates, key = work.data.astype(widened), work.updates.astype(widened), work.key()
    if work.reduction == "none":
        out[key] = updates
    else:
        UFUNCS[work.reduction].at(out, key, updates)
    return out


def verdict(work: Workload, result: Array, *, by_bits: bool) -> str:
    """Return "" for a right result, else what is wrong with it."""
    if result.shape != work.data.shape:
        return "WRONG shape"
    if by_bits:
        wanted = exact(work)
        return "" if result.dtype == wanted.dtype and result.tobytes() == wanted.tobytes() else "WRONG bits"
    wanted = wide(work)
    if wanted.dtype.kind != "f":
        return "" if np.array_equal(result, wanted) else "WRONG values"
    near = _TOLERANCE[work.data.dtype.name]
    close = np.allclose(result.astype(np.float64), wanted, rtol=near, atol=10 * near)
    return "" if close else "WRONG values"
