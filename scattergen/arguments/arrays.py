"""Arguments → NumPy arrays that fit the operator: coercion, dtypes, shapes, byte order, overlap (`memory.py`).

Every rule about arguments stands here, whatever runs afterwards. A copy is made only where it says so
in `Arguments.copies`.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ..errors import DTypeError, ShapeError, SpecError
from ..operators import dtypes, shapes
from ..operators.dtypes import DType
from ..operators.ops import Op
from ..operators.shapes import Array as Array  # to whom it is passed on
from ..operators.spec import OpSpec
from . import memory

_KIND_ORDER = "biufc"
"""Python numbers in a list may become any of these kinds that does not stand before their own."""


class Arguments:
    """The arrays of one call, in native byte order and of fitting shapes, and what is known of them. It never changes.

    No `Record`: one takes longer to make and to read, by a microsecond and more for each call that goes this way.
    """

    __slots__ = ("accumulates", "checked", "copies", "data", "foreign", "indices", "out", "spec", "unique", "updates")

    def __init__(
        self,
        spec: OpSpec,
        data: Array,
        indices: Array,
        updates: Array,
        out: Array | None,
        copies: tuple[str, ...] = (),
        foreign: bool = False,
        checked: bool = False,
        unique: bool = False,
        accumulates: bool = False,
    ) -> None:
        self.spec: Final = spec
        self.data: Final = data
        self.indices: Final = indices
        self.updates: Final = updates
        self.out: Final = out
        """Where the result goes; None for a new array."""
        self.copies: Final = copies
        """What is read or written by way of a copy, and why, for people."""
        self.foreign: Final = foreign
        """Whether the elements are of a type that C has not, so that `moving` has to be asked."""
        self.checked: Final = checked
        """Whether every index is known to be in bounds, for as long as `indices` lives."""
        self.unique: Final = unique
        """A promise that no two updates have one target; where it is wrong, any of them may win."""
        self.accumulates: Final = accumulates
        """Whether halves are kept in float32 until the end, which `accumulated` does."""

    def reading(self, indices: Array, updates: Array, copies: tuple[str, ...]) -> Arguments:
        """Return the same call on other inputs, whose values are those of these or a part of them."""
        known = self.foreign, self.checked, self.unique, self.accumulates
        return Arguments(self.spec, self.data, indices, updates, self.out, copies, *known)

    def writing(self, out: Array) -> Arguments:
        """Return the same call, whose result goes to `out`."""
        known = self.foreign, self.checked, self.unique, self.accumulates
        return Arguments(self.spec, self.data, self.indices, self.updates, out, self.copies, *known)


def prepare(
    op: Op, opset: int, axis: Any, reduction: str, data: Any, indices: Any, updates: Any, out: Any, mode: str = "",
    *, checked: bool = False, unique: bool = False, accumulates: bool = False,
) -> Arguments:  # fmt: skip
    """Return the arguments of a call, or raise `DTypeError`, `ShapeError` or `SpecError`.

    `axis` may be negative, and counts only for an operator that has one. The other flags are those of `Arguments`.
    """
    if not isinstance(reduction, str):
        raise SpecError("reduction", reduction, "the name of one, as none or add")
    if not isinstance(unique, (int, np.bool)) or unique not in (0, 1):  # whoever writes "no" makes no promise
        raise SpecError("unique", unique, "True or False")
    if not isinstance(mode, str):
        raise SpecError("mode", mode, "the name of one, as linear")
    try:
        opset = operator.index(opset)
    except TypeError:
        raise SpecError("opset", opset, "a whole number") from None
    names = op.inputs
    given = ((names.data, data), (names.indices, indices), (names.updates, updates))
    copies = [f"{name}: read from a {type(value).__name__}" for name, value in given if _has_no_type(value)]
    data = as_data(data, op)
    if indices is None and op.optional_indices:
        indices = np.zeros(data.shape[:1], np.int64)
    indices = as_indices(indices, op.inputs.indices, op)
    updates = like_data(updates, names.updates, data, op, copies)
    place = shapes.fit(op, axis, data, indices, updates, reduction)
    spec = spec_of(op, data.dtype, indices.dtype, data.ndim, place, reduction, opset, mode)
    if out is not None:
        out = check_out(str(op), out, data, copies, names.data)
        data = memory.apart(data, out, names.data, copies)
    indices = memory.readable(indices, names.indices, out, copies)
    updates = memory.readable(updates, names.updates, out, copies)
    foreign = data.dtype.kind in dtypes.FOREIGN and dtypes.is_foreign(data.dtype)
    return Arguments(spec, data, indices, updates, out, tuple(copies), foreign, checked, bool(unique), accumulates)


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
            dtype=element_of(op, dtype, reduction),
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


def element_of(op: Op, dtype: np.dtype[Any], reduction: str) -> DType:
    """Return the type that a spec names for data of `dtype`, or raise `DTypeError`."""
    if not dtypes.is_foreign(dtype):
        return dtypes.of_numpy(dtype, f"{op}: {op.inputs.data}", op.versions[-1].dtypes)
    from . import foreign

    return foreign.row(dtype, reduction, str(op))


def as_array(value: Any, name: str, who: Op | str) -> Array:
    """Return `value` as an array of the same memory where that can be, or raise `DTypeError`."""
    if type(value) is np.ndarray:
        return value
    from . import holders

    return holders.as_array(value, name, str(who))


def as_data(value: Any, op: Op) -> Array:
    """Return `value` as the array that an operator changes a copy of, or raise `DTypeError`."""
    if value is None:
        raise DTypeError(f"{op}: {op.inputs.data} is None, allowed is an array")
    return _as_elements(value, op.inputs.data, op)


def _as_elements(value: Any, name: str, who: Op | str) -> Array:
    """Return what `as_array` does, but for an object that NumPy would take for an element."""
    if type(value) is np.ndarray:
        return value
    from . import holders

    return holders.as_elements(value, name, str(who))


def _has_no_type(value: Any) -> bool:
    if type(value) is np.ndarray or value is None:
        return False
    from . import holders

    return not holders.has_type(value)


def as_indices(value: Any, name: str, who: Op | str) -> Array:
    """Return `value` as an array of int32 or int64, or raise a `DTypeError` that names `who` and the argument."""
    if value is None:
        raise DTypeError(f"{who}: {name} is None, allowed is an array of int32 or int64")
    array, plain = _as_elements(value, name, who), _has_no_type(value)
    if plain and (array.size == 0 or array.dtype.kind == "i"):
        array = array.astype(np.int64, copy=False)
    if array.dtype.kind != "i" or array.dtype.itemsize not in (4, 8):
        from .advice import to_indices

        raise DTypeError(f"{who}: {name} is {array.dtype}, allowed is int32 or int64{to_indices(array, name, plain)}")
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
    from .advice import to_type_of_data, words_for

    array = _as_elements(value, name, op)
    advice = to_type_of_data(array, words_for(value, name), native, op)
    raise DTypeError(f"{op}: {name} is {array.dtype}, {op.inputs.data} is {native}: {advice}")


def _kind(dtype: np.dtype[Any]) -> int:
    return _KIND_ORDER.find("u" if "int" in dtype.name else "f" if "float" in dtype.name else dtype.kind)


def check_out(op: str, given: Any, data: Array, copies: list[str], name: str = "data") -> Array:
    """Return `given` as an array that may take a result like `data`; note in `copies` what it is read through.

    `name` is what the operator calls `data`.
    """
    if not isinstance(given, np.ndarray) or isinstance(given, np.ma.MaskedArray):
        from .advice import not_writable

        raise not_writable(op, given, "out")
    out: Array = np.asarray(given)  # a memory map, say, as the plain array that it is
    if not dtypes.interchangeable(out.dtype, data.dtype):
        raise DTypeError(f"{op}: out is {out.dtype}, must be {data.dtype} as {name} is")
    if out.shape != data.shape:
        raise ShapeError(f"{op}: out has shape {out.shape}, must have that of {name}, {data.shape}")
    if not out.flags.writeable:
        raise ShapeError(f"{op}: out is read-only")
    if memory.elements_meet(out):
        raise ShapeError(f"{op}: out has elements that share memory (strides {out.strides})")
    if not out.dtype.isnative:
        copies.append("out: foreign byte order")
    return out
