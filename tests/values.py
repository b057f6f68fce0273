"""Arrays of values that hurt: signed zeros, NaN, infinities, subnormals, both ends of a type."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

DTYPES: dict[str, np.dtype[Any]] = {
    "bool": np.dtype(np.bool_),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
"""NumPy's dtypes by scattergen's tags."""


def elements(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], special: float) -> Array:
    """Return random elements; each float is a special value with probability `special`.

    Integers are spread over their whole range. Floats lie around 1, so that long products stay finite. A
    bool may be any byte.
    """
    if dtype.kind == "b":
        return random.choice(np.array([0, 0, 0, 1, 2, 255], np.uint8), shape).astype(np.uint8).view(np.bool_)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return random.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        result = np.empty(shape, dtype)
        result.real, result.imag = (elements(random, shape, part, special) for _ in range(2))
        return result
    size = random.uniform(0.6, 1.6, shape) * random.choice([-1.0, 1.0], shape)
    plain = size.astype(dtype)
    return np.where(random.random(shape) < special, random.choice(_specials(dtype), shape), plain)


def _specials(dtype: np.dtype[Any]) -> Array:
    limits: Any = ml_dtypes.finfo(dtype)
    tiny, least, most = (float(x) for x in (limits.smallest_normal, limits.smallest_subnormal, limits.max))
    both = [sign * x for x in (0.0, float("inf"), tiny, least, 3 * least, most) for sign in (1.0, -1.0)]
    return np.array([float("nan"), *both], dtype)


def indices(
    random: np.random.Generator,
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    dtype: np.dtype[Any],
    style: str,
) -> Array:
    """Return index values in bounds: one size for all entries, or one per component along the last dim.

    The styles: ``random``, both signs; ``ends``, only the first and last of each sign; ``same``, all alike;
    ``sorted``, not negative, along the first dim; ``run``, alike along the last dim.
    """
    size = np.array(sizes, np.int64)
    if not np.prod(shape):
        return np.zeros(shape, dtype)
    flat = (math.prod(shape) // size.size, size.size)  # NumPy's random numbers stop at 32 dims
    if style == "ends":
        found = np.choose(random.integers(0, 4, flat), [-size, -1 + 0 * size, 0 * size, size - 1])
    elif style == "same":
        found = np.broadcast_to(size // 2 - random.integers(0, 2) * size, flat)
    else:
        found = random.integers(-size, size, flat)
    found = found.reshape(shape)
    if style == "sorted":
        found = np.sort(found % size, axis=0)
    if style == "run":
        found = np.broadcast_to(found[..., :1], shape)
    return np.array(found, dtype, order="C")
