"""What a case is, and short names to write one with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

S, SE, ND = "Scatter", "ScatterElements", "ScatterND"


@dataclass(frozen=True, slots=True)
class Case:
    """One call: either ``expect`` (the result) or ``error`` (the class to be raised) is given."""

    id: str
    op: str
    opset: int
    data: Array
    indices: Array
    updates: Array
    axis: int = 0
    reduction: str = "none"
    expect: Array | None = None
    error: type[Exception] | None = None
    note: str = ""


def _array(dtype: Any, values: Any) -> Array:
    return np.array(values, dtype)


boolean: Callable[[Any], Array] = partial(_array, np.bool_)
u8: Callable[[Any], Array] = partial(_array, np.uint8)
u32: Callable[[Any], Array] = partial(_array, np.uint32)
i8: Callable[[Any], Array] = partial(_array, np.int8)
i32: Callable[[Any], Array] = partial(_array, np.int32)
i64: Callable[[Any], Array] = partial(_array, np.int64)
f16: Callable[[Any], Array] = partial(_array, np.float16)
f32: Callable[[Any], Array] = partial(_array, np.float32)
f64: Callable[[Any], Array] = partial(_array, np.float64)
c64: Callable[[Any], Array] = partial(_array, np.complex64)


def bf16_bits(bits: list[int]) -> Array:
    """Return the bfloat16 numbers of these bit patterns."""
    return np.array(bits, np.uint16).view(ml_dtypes.bfloat16)
