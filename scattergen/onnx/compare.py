"""When two arrays count as equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

_DEFAULT = 2e-5
_HALVES = {"float16": 2e-3, "bfloat16": 2e-2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far floats may differ; None takes the default of their type."""

    rtol: float | None = None
    atol: float | None = None


class Verdict(TypedDict):
    """Whether two arrays are equal, and their greatest absolute difference (NaN where there is none)."""

    equal: bool | None
    """None where there is nothing to compare with."""
    difference: float


def compare(result: NDArray[Any], expected: NDArray[Any], tolerance: Tolerance) -> Verdict:
    """Compare shape, type and values: floats within `tolerance`, NaN equal to NaN, all else exactly."""
    result, expected = as_tensor(result), as_tensor(expected)
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return Verdict(equal=False, difference=float("nan"))
    default = _HALVES.get(result.dtype.name, _DEFAULT)
    exact = result.dtype.kind in "biuO"
    if exact:
        equal = bool(np.array_equal(result, expected))
        return Verdict(equal=equal, difference=0.0 if equal else _distance(result, expected))
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    rtol = default if tolerance.rtol is None else tolerance.rtol
    atol = default if tolerance.atol is None else tolerance.atol
    result, expected = result.astype(wide), expected.astype(wide)
    equal = bool(np.allclose(result, expected, rtol=rtol, atol=atol, equal_nan=True))
    return Verdict(equal=equal, difference=_distance(result, expected))


def as_tensor(array: Any) -> NDArray[Any]:
    """Return an array as ONNX's tools have it: strings, of any width, as objects."""
    found: NDArray[Any] = np.asarray(array)
    return found.astype(object) if found.dtype.kind in "UT" else found


def _distance(result: NDArray[Any], expected: NDArray[Any]) -> float:
    if result.dtype.kind == "O":
        return float("nan")
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    apart = (result != expected) & ~((result != result) & (expected != expected))
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(result[apart].astype(wide) - expected[apart].astype(wide)), initial=0.0))
