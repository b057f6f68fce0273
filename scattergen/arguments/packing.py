"""Strides or a copy: where indices and updates are packed first, as a pure function of shapes and strides.

Measured by ``tools/measure_forms.py strides`` on two cores, one thread: the time with strides by that of a
packed copy and the call on it, with this rule turned off.

| packed, the call is | 32 000 updates | 1 000 000 updates | so it is |
|---------------------|----------------|-------------------|----------|
| rows                | 1.1 to 1.3     | 1.0 to 1.9        | packed   |
| elements            | 0.8 to 1.5     | 0.9 to 1.4        | left     |
| lanes               | 0.9 to 1.7     | 0.9 to 1.1        | left     |
| slices              | 0.9 to 1.0     | 0.6 to 1.0        | left     |

With few updates all lie between 0.9 and 1.1. The rows form gains most, and runs on several threads, which
the strided one does not; the others would gain a third at best, for twice the memory. A stride of 0 stays
as it is, so that a copy is never larger than what it stands for.
"""

from __future__ import annotations

import math
from functools import lru_cache

from ..lower import lower
from ..operators.spec import OpSpec
from .addressing import Extents, Numbers, canonical_nest
from .arrays import Arguments, Array
from .memory import compact

LEAST_UPDATES = 16384
"""Below this a call's own cost hides the difference."""


def pack(arguments: Arguments, target: Array) -> Arguments:
    """Return the arguments with packed copies of indices and updates where these pay in a call that writes `target`."""
    indices, updates = arguments.indices, arguments.updates
    if updates.size < LEAST_UPDATES or (indices.flags.c_contiguous and updates.flags.c_contiguous):
        return arguments
    if not _pays(
        arguments.spec, target.shape, target.strides, target.itemsize,
        indices.shape, indices.strides, indices.itemsize, updates.shape, updates.strides,
    ):  # fmt: skip
        return arguments
    copies = list(arguments.copies)
    names = arguments.spec.op.inputs
    indices, updates = _packed(indices, names.indices, copies), _packed(updates, names.updates, copies)
    return arguments.reading(indices, updates, tuple(copies))


@lru_cache(maxsize=1024)
def _pays(
    spec: OpSpec, sizes: Numbers, out: Numbers, item: int,
    index_shape: Numbers, index: Numbers, index_item: int, update_shape: Numbers, update: Numbers,
) -> bool:  # fmt: skip
    def form(index: Numbers, update: Numbers) -> str:
        nest = canonical_nest(spec, Extents(index_shape, update_shape, sizes, out, index, update))
        return lower.lower(nest, item, index_item, math.prod(sizes))[0]

    packed = (packed_strides(index_shape, index, index_item), packed_strides(update_shape, update, item))
    return form(index, update) == "strided" and form(*packed) == "rows"


def packed_strides(shape: Numbers, strides: Numbers, item: int) -> Numbers:
    """Return the strides of a packed copy, in C order, of an array; those of 0 stay."""
    packed = []
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        packed.append(item if stride else 0)
        item *= extent if stride else 1
    return tuple(reversed(packed))


def _packed(array: Array, name: str, copies: list[str]) -> Array:
    if array.strides == packed_strides(array.shape, array.strides, array.itemsize):
        return array
    copies.append(f"{name}: packed, which is quicker than its strides")
    return compact(array)
