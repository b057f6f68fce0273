"""Arguments → NumPy arrays that fit the operator: coercion, dtypes, shapes, byte order, overlap.

Every rule about arguments stands here, whatever runs afterwards. A copy is made only where it says so
in `Arguments.copies`.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError, SpecError
from ..load import loader
from ..operators import dtypes, shapes
from ..operators.dtypes import DType
from ..operators.ops import Op
from ..operators.shapes import Array as Array  # to whom it is passed on
from ..operators.spec import OpSpec

_KIND_ORDER = "biufc"
"""Python numbers in a list may become any of these kinds that does not stand before their own."""

_MOST_WORK = 1000
"""How long NumPy searches for a byte that two interleaved arrays share before it takes it that they do."""


class Arguments:
    """The arrays of one call, in native byte order, of fitting shapes; `out` is where the result goes."""

    __slots__ = ("accumulates", "checked", "copies", "data", "foreign", "indices", "out", "spec", "unique", "updates")

    def __init__(
        self,
        spec: OpSpec,
        data: Array,
        indices: Array,
        updates: Array,
        out: Array | None,
        copies: list[str],
        *,
        checked: bool = False,
        unique: bool = False,
    ) -> None:
        self.spec, self.data, self.indices, self.updates, self.out = spec, data, indices, updates, out
        self.copies = copies
        self.checked = checked
        """Whether every index is known to be in bounds, for as long as `indices` lives."""
        self.unique = unique
        """A promise that no two updates have one target; where it is wrong, any of them may win."""
        self.accumulates = False
        """Whether halves are kept in float32 until the end, which `accumulated` does."""
        self.foreign = False
        """Whether the elements are of a type that C has not, so that `moving` has to be asked."""

    def reading(self, indices: Array, updates: Array, copies: list[str]) -> Arguments:
        """Return the same call, whose inputs are read from other arrays with the same values."""
        return Arguments(
            self.spec, self.data, indices, updates, self.out, copies, checked=self.checked, unique=self.unique
        )


def prepare(
    op: Op, opset: int, axis: Any, reduction: str, data: Any, indices: Any, updates: Any, out: Any, mode: str = ""
) -> Arguments:
    """Return the arguments of a call, or raise `DTypeError`, `ShapeError` or `SpecError`.

    `axis` may be negative, and counts only for an operator that has one.
    """
    if not isinstance(reduction, str):
        raise SpecError("reduction", reduction, "the name of one, as none or add")
    if not isinstance(mode, str):
        raise SpecError("mode", mode, "the name of one, as linear")
    try:
        opset = operator.index(opset)
    except TypeError:
        raise SpecError("opset", opset, "a whole number") from None
    names = op.inputs
    given = ((names.data, data), (names.indices, indices), (names.updates, updates))
    copies = [f"{name}: read from a {type(value).__name__}" for name, value in given if _has_no_type(value)]
    data = as_array(data, names.data, op)
    if indices is None and op.optional_indices:
        indices = np.zeros(data.shape[:1], np.int64)
    indices = as_indices(indices, op)
    updates = like_data(updates, names.updates, data, op, copies)
    place = shapes.fit(op, axis, data, indices, updates)
    spec = spec_of(op, data.dtype, indices.dtype, data.ndim, place, reduction, opset, mode)
    if out is not None:
        out = check_out(str(op), out, data, copies, names.data)
        data = apart(data, out, names.data, copies)
    indices, updates = readable(indices, names.indices, out, copies), readable(updates, names.updates, out, copies)
    arguments = Arguments(spec, data, indices, updates, out, copies)
    arguments.foreign = data.dtype.kind in dtypes.FOREIGN and dtypes.is_foreign(data.dtype)
    return arguments


@lru_cache(maxsize=1024)
def spec_of(
    op: Op,
    dtype: np.dtype[Any],
    index: np.dtype[Any],
    rank: int,
    place: int,
    reduction: str,
    opset: int,
    mode: str = "",
) -> OpSpec:
    """Return the spec of a call on arrays of these types, or raise `DTypeError` or `SpecError`."""
    try:
        return OpSpec(
            op=op,
            dtype=_row(op, dtype, reduction),
            index=dtypes.of_numpy(index, f"{op}: {op.inputs.indices}"),
            rank=rank,
            place=place,
            reduction=reduction,
            opset=opset,
            mode=mode,
        )
    except SpecError as error:
        if error.field in ("dtype", "index"):
            raise DTypeError(f"{op}: {error}") from None
        raise


def _row(op: Op, dtype: np.dtype[Any], reduction: str) -> DType:
    if not dtypes.is_foreign(dtype):
        return dtypes.of_numpy(dtype, f"{op}: {op.inputs.data}", op.versions[-1].dtypes)
    from . import foreign

    return foreign.row(dtype, reduction, str(op))


def as_array(value: Any, name: str, op: Op) -> Array:
    """Return `value` as an array of the same memory where that can be, or raise `DTypeError`."""
    if type(value) is np.ndarray:
        return value
    from . import holders

    return holders.as_array(value, name, str(op))


def _has_no_type(value: Any) -> bool:
    if type(value) is np.ndarray or value is None:
        return False
    from . import holders

    return not holders.has_type(value)


def as_indices(value: Any, op: Op) -> Array:
    """Return `value` as an array of int32 or int64, or raise `DTypeError`."""
    name = op.inputs.indices
    if value is None:
        raise DTypeError(f"{op}: {name} is None, allowed is an array of int32 or int64")
    array, plain = as_array(value, name, op), _has_no_type(value)
    if plain and (array.size == 0 or array.dtype.kind == "i"):
        array = array.astype(np.int64, copy=False)
    if array.dtype.kind != "i" or array.dtype.itemsize not in (4, 8):
        hint = "" if plain else f": use {name}.astype('int64')"
        if array.dtype.kind == "u" and array.dtype.itemsize == 8:  # the others would wrap
            hint += ", where every value is below 2**63"
        raise DTypeError(f"{op}: {name} is {array.dtype}, allowed is int32 or int64{hint}")
    return array


def like_data(value: Any, name: str, data: Array, op: Op, copies: list[str]) -> Array:
    """Return `value` as an array of the type of `data`, in either byte order, or raise `DTypeError`."""
    array = as_array(value, name, op)
    if dtypes.interchangeable(array.dtype, data.dtype):
        return array
    plain = _has_no_type(value)
    if dtypes.is_foreign(data.dtype):
        from . import foreign

        return foreign.updates(value if plain else array, array, data.dtype, str(op), copies)
    native = data.dtype.newbyteorder("=")
    if plain and (array.size == 0 or _KIND_ORDER.find(array.dtype.kind) in range(_kind(native) + 1)):
        try:
            made = np.asarray(value, dtype=native).reshape(array.shape)
        except OverflowError as error:
            raise ShapeError(f"{op}: {name} does not fit {native}: {error}") from None
        if "int" in native.name and not np.array_equal(made.astype(array.dtype), array):  # ml_dtypes' wrap
            raise ShapeError(f"{op}: {name} holds a whole number that {native} has not")
        return made
    if value is None:
        raise DTypeError(f"{op}: {name} is None, allowed is an array of {native} as {op.inputs.data} is")
    raise DTypeError(f"{op}: {name} is {array.dtype}, {op.inputs.data} is {native}: use {name}.astype({str(native)!r})")


def _kind(dtype: np.dtype[Any]) -> int:
    return _KIND_ORDER.find("u" if "int" in dtype.name else "f" if "float" in dtype.name else dtype.kind)


def check_out(op: str, given: Any, data: Array, copies: list[str], name: str = "data") -> Array:
    """Return `given` as an array that may take a result like `data`; note in `copies` what it is read through.

    `name` is what the operator calls `data`.
    """
    if not isinstance(given, np.ndarray) or isinstance(given, np.ma.MaskedArray):
        raise DTypeError(f"{op}: out is a {type(given).__name__}, allowed is a NumPy array")
    out: Array = np.asarray(given)  # a memory map, say, as the plain array that it is
    if not dtypes.interchangeable(out.dtype, data.dtype):
        raise DTypeError(f"{op}: out is {out.dtype}, must be {data.dtype} as {name} is")
    if out.shape != data.shape:
        raise ShapeError(f"{op}: out has shape {out.shape}, must have that of {name}, {data.shape}")
    if not out.flags.writeable:
        raise ShapeError(f"{op}: out is read-only")
    if elements_meet(out):
        raise ShapeError(f"{op}: out has elements that share memory (strides {out.strides})")
    if not out.dtype.isnative:
        copies.append("out: foreign byte order")
    return out


def apart(data: Array, out: Array, name: str, copies: list[str]) -> Array:
    """Return `data`, or a copy where it shares memory with `out` and is not the same elements.

    NumPy's own assignment reads elements of rank 1 that it has written, where strides differ.
    """
    if same_memory(out, data) or not share_memory(out, data):
        return data
    copies.append(f"{name}: shares memory with out")
    return compact(data)


def elements_meet(array: Array) -> bool:
    """Whether elements of an array may share memory, as those of an expanded one do."""
    reach = array.itemsize if array.size else 0
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (extent - 1)
    return False


def same_memory(one: Array, other: Array) -> bool:
    """Whether two arrays of one shape are the same elements."""
    return one is other or (
        one.strides == other.strides and one.dtype == other.dtype and loader.address(one) == loader.address(other)
    )


def share_memory(one: Array, other: Array) -> bool:
    """Whether two arrays may have a byte in common: two columns of one table have none."""
    return np.may_share_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]  # the stubs know two special values alone


def once(array: Array, axis: int | None = None) -> Array:
    """Return what is repeated by a stride of 0 once: a view, of size 1 along all such dims but `axis`."""
    if 0 not in array.strides:
        return array
    dims = enumerate(array.strides)
    return array[(..., *(slice(0, 1) if stride == 0 and dim != axis else slice(None) for dim, stride in dims))]


def compact(array: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """Return a C-ordered copy, no larger than what it stands for: dims of stride 0 keep that stride."""
    if 0 not in array.strides:
        return np.array(array, dtype or array.dtype, order="C")
    return np.broadcast_to(np.array(once(array), dtype or array.dtype, order="C"), array.shape)


def aligned(array: Array) -> bool:
    """Whether typed C pointers may walk an array: 8-byte words ask for more than NumPy's complex64 does."""
    return array.flags.aligned and (
        array.dtype.alignment >= min(array.itemsize, 8)
        or array.__array_interface__["data"][0] % min(array.itemsize, 8) == 0
    )


def plain(array: Array) -> Array:
    """Return an array that kernels can walk as one run: native, aligned, C-contiguous; itself if it is so."""
    native = np.ascontiguousarray(array, dtypes.native(array.dtype)).reshape(array.shape)
    return native if aligned(native) else native.copy()


def readable(array: Array, name: str, out: Array | None, copies: list[str]) -> Array:
    """Return the array, or one copy of it where a kernel cannot read it while it writes `out`."""
    reasons = []
    if out is not None and share_memory(array, out):
        reasons.append("shares memory with out")
    if not array.dtype.isnative:
        reasons.append("foreign byte order")
    if not reasons:
        return array
    copies.append(f"{name}: {' and '.join(reasons)}")
    return compact(array, dtypes.native(array.dtype))
