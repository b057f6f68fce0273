"""The table of element types: names on the ONNX and NumPy side, storage and arithmetic on the C side.

A kernel that only moves elements needs their width and no type: those are the ``word`` rows. Types that
operators move and never compute with are ``opaque``: small floats and integers, a byte each in NumPy.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ..common.record import Record
from ..errors import DTypeError, SpecError

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["bool", "unsigned", "signed", "float", "half", "complex", "word", "opaque", "string"]


class DType(Record):
    """One element type. ``half`` is a float whose arithmetic type is wider than its storage.

    A ``string`` is none of C's: kernels see its position, an int64, and NumPy moves the string.
    """

    tag: str
    kind: Kind
    size: int
    """Bytes of one element."""
    storage: str
    """C type in memory."""
    arithmetic: str
    """C type in which one step of a reduction is computed."""
    onnx: str = ""
    """The tensor type's name in ONNX; empty for words."""
    numpy_name: str = ""

    def __str__(self) -> str:
        return self.tag

    def __hash__(self) -> int:  # that of all fields takes long, and plans are looked up by specs
        return hash(self.tag)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype; where NumPy has none, that of ``ml_dtypes``."""
        return _numpy(self.numpy_name)


@cache
def _numpy(name: str) -> np.dtype[Any]:
    import numpy as np

    if name != "bfloat16" and all(row.numpy_name != name for row in OPAQUE):
        return np.dtype(name)
    try:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        raise DTypeError(f"{name} arrays need the ml_dtypes package, a new one: pip install -U ml_dtypes") from None
    return found


DTYPES: dict[str, DType] = {
    row.tag: row
    for row in (
        DType("bool", "bool", 1, "uint8_t", "uint8_t", "bool", "bool"),
        DType("u8", "unsigned", 1, "uint8_t", "uint32_t", "uint8", "uint8"),
        DType("u16", "unsigned", 2, "uint16_t", "uint32_t", "uint16", "uint16"),
        DType("u32", "unsigned", 4, "uint32_t", "uint32_t", "uint32", "uint32"),
        DType("u64", "unsigned", 8, "uint64_t", "uint64_t", "uint64", "uint64"),
        DType("i8", "signed", 1, "int8_t", "int32_t", "int8", "int8"),
        DType("i16", "signed", 2, "int16_t", "int32_t", "int16", "int16"),
        DType("i32", "signed", 4, "int32_t", "int32_t", "int32", "int32"),
        DType("i64", "signed", 8, "int64_t", "int64_t", "int64", "int64"),
        DType("f16", "half", 2, "uint16_t", "float", "float16", "float16"),
        DType("bf16", "half", 2, "uint16_t", "float", "bfloat16", "bfloat16"),
        DType("f32", "float", 4, "float", "float", "float", "float32"),
        DType("f64", "float", 8, "double", "double", "double", "float64"),
        DType("c64", "complex", 8, "complex64", "float", "complex64", "complex64"),
        DType("c128", "complex", 16, "complex128", "double", "complex128", "complex128"),
        *(
            DType(tag, "opaque", 1, "uint8_t", "uint8_t", onnx, name)
            for tag, onnx, name in (
                ("f8e4m3fn", "float8e4m3fn", "float8_e4m3fn"),
                ("f8e4m3fnuz", "float8e4m3fnuz", "float8_e4m3fnuz"),
                ("f8e5m2", "float8e5m2", "float8_e5m2"),
                ("f8e5m2fnuz", "float8e5m2fnuz", "float8_e5m2fnuz"),
                ("f8e8m0", "float8e8m0", "float8_e8m0fnu"),
                ("f4e2m1", "float4e2m1", "float4_e2m1fn"),
                ("u4", "uint4", "uint4"),
                ("i4", "int4", "int4"),
            )
        ),
        DType("str", "string", 8, "int64_t", "int64_t", "string", "object"),
        DType("w8", "word", 1, "uint8_t", "uint8_t"),
        DType("w16", "word", 2, "uint16_t", "uint16_t"),
        DType("w32", "word", 4, "uint32_t", "uint32_t"),
        DType("w64", "word", 8, "uint64_t", "uint64_t"),
        DType("w128", "word", 16, "word128", "word128"),
    )
}

ELEMENTS: tuple[DType, ...] = tuple(row for row in DTYPES.values() if row.onnx and row.kind not in ("string", "opaque"))
"""The types that kernels are for."""

TENSORS: tuple[DType, ...] = (*ELEMENTS, DTYPES["str"])
"""The types of tensors that every operator takes; the others exist only inside of kernels, or are opaque."""

OPAQUE: tuple[DType, ...] = tuple(row for row in DTYPES.values() if row.kind == "opaque")
"""The types of tensors that only operators without reductions may take; no kernel is made for them."""

FOREIGN = "OUSTMmV"
"""The kinds of NumPy's types that C has not; V is that of bfloat16, too."""

INDEX_TYPES: tuple[DType, ...] = (DTYPES["i32"], DTYPES["i64"])


def lookup(tag: str, field: str = "dtype") -> DType:
    """Return the row of a tag, or raise `SpecError` naming `field`."""
    if tag not in DTYPES:
        raise SpecError(field, tag, f"one of {', '.join(DTYPES)}")
    return DTYPES[tag]


@lru_cache(maxsize=64)
def of_numpy(dtype: np.dtype[Any], argument: str, allowed: tuple[DType, ...] = ELEMENTS) -> DType:
    """Return the row of a NumPy dtype in either byte order, or raise `DTypeError` naming `argument`."""
    if dtype.kind in "OUST":
        return DTYPES["str"]
    name = dtype.newbyteorder("=").name
    for row in allowed:
        if row.numpy_name == name and dtype.itemsize == row.size:
            return row
    raise DTypeError(f"{argument} is {dtype}: allowed is one of {', '.join(row.numpy_name for row in allowed)}")


def is_foreign(dtype: np.dtype[Any]) -> bool:
    """Whether C has no type for the elements: strings, Python's objects, times and records."""
    return dtype.kind in FOREIGN and (dtype.kind != "V" or dtype.type.__name__ == "void")


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a NumPy dtype in this machine's byte order; that of NumPy's own strings has none.

    One that is native is returned itself and not as a copy, so that whoever compares by identity finds it again.
    """
    return dtype if dtype.kind == "T" or dtype.isnative else dtype.newbyteorder("=")


def interchangeable(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether two dtypes differ in byte order at most, those of fixed-width strings also in their width."""
    return one == other or (one.kind == other.kind and (one.kind in "US" or native(one) == native(other)))
