"""What holds an array → a NumPy array of the same memory, where its protocol allows that.

Taken are NumPy's own arrays and maps of files, and whatever has a buffer, `__array_interface__`,
`__array__` or `__dlpack__` in the memory of the CPU; then nested lists and numbers. Refused is what
would lose a meaning on the way: masks, units, gradients; and what lies on another device.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..operators.dtypes import DTYPES
from ..operators.shapes import Array

_PLAIN = (np.ndarray, np.memmap, np.recarray)
"""Classes of arrays that mean no more than their elements; all other subclasses are refused."""

_PROTOCOLS = ("__array_interface__", "__array_struct__", "__array__", "__dlpack__")

_CPU_DEVICES = (1, 3, 11)
"""DLPack's numbers for the memory of the CPU, plain or pinned for CUDA or ROCm."""

_TO_CPU = {"torch": "{}.cpu()", "jax": "jax.device_get({})", "jaxlib": "jax.device_get({})", "cupy": "{}.get()"}
"""The package of a tensor on another device → what to call."""


def as_array(value: Any, name: str, operator: str) -> Array:
    """Return `value` as a plain array, or raise `DTypeError` that says what to pass in place of argument `name`."""
    where = f"{operator}: {name} is a {type(value).__name__}"
    if isinstance(value, np.ndarray):
        return _plain(value, name, where)
    _refuse_what_would_be_lost(value, name, where)
    try:
        if _is_bfloat16_of_torch(value):
            bits = np.from_dlpack(value.detach().view(sys.modules["torch"].int16))
            return bits.view(DTYPES["bf16"].numpy)
        if hasattr(value, "__dlpack__") and not any(hasattr(value, other) for other in _PROTOCOLS[:3]):
            return np.from_dlpack(value)
        array = np.asanyarray(value)
    except DTypeError:
        raise
    except Exception as error:
        raise DTypeError(f"{where} that NumPy cannot read: {error}") from error
    return _plain(array, name, where)


def as_elements(value: Any, name: str, operator: str) -> Array:
    """Return what `as_array` does; raise `DTypeError` for an object in which NumPy knows no array, but an element."""
    array = as_array(value, name, operator)
    if array.ndim == 0 and array.dtype == object and not has_type(value):
        raise DTypeError(
            f"{operator}: {name} is of type {type(value).__name__}, which is no array; allowed is an array, a list of"
            " numbers, or an object with __array__, __dlpack__ or a buffer"
        )
    return array


def has_type(value: Any) -> bool:
    """Whether the elements of `value` have a type of their own; those of lists and numbers take one that fits."""
    if hasattr(value, "dtype") or any(hasattr(value, protocol) for protocol in _PROTOCOLS):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _plain(array: Array, name: str, where: str) -> Array:
    if isinstance(array, np.ma.MaskedArray):
        raise DTypeError(f"{where}, a masked array; pass {name}.filled(...) or {name}.data and {name}.mask apart")
    if type(array) not in _PLAIN:
        raise DTypeError(f"{where}, a subclass of NumPy's array whose meaning would be lost; pass np.asarray({name})")
    return array if type(array) is np.ndarray else array.view(np.ndarray)


def _refuse_what_would_be_lost(value: Any, name: str, where: str) -> None:
    wanted, why = name, []
    if getattr(value, "requires_grad", False) is True:
        wanted, why = f"{wanted}.detach()", ["requires grad"]
    if not _on_cpu(value):
        package = type(value).__module__.partition(".")[0]
        wanted = _TO_CPU.get(package, "a copy of {} in the memory of the CPU").format(wanted)
        why.append(f"lies on {getattr(value, 'device', 'another device')}")
    if why:
        raise DTypeError(f"{where} that {' and '.join(why)}; pass {wanted}")


def _on_cpu(value: Any) -> bool:
    if not hasattr(value, "__dlpack_device__"):
        return True
    try:
        return int(value.__dlpack_device__()[0]) in _CPU_DEVICES
    except Exception:  # some kinds of tensors have no answer; reading them says more
        return True


def _is_bfloat16_of_torch(value: Any) -> bool:
    """Whether NumPy needs help with a tensor: neither its arrays nor its DLPack know bfloat16."""
    return type(value).__module__.partition(".")[0] == "torch" and str(getattr(value, "dtype", "")) == "torch.bfloat16"
