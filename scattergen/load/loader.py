"""Library → callable: all that scattergen does with cffi.

A library is opened through an out-of-line ABI module (`_abi.py`, generated from the header by
`tools/regenerate.py`; importing it costs 0.5 ms where an in-line `cdef` costs 16). Calls go through a
*caller*: a small API-mode module that cffi writes and our own compiler builds, once per Python; it
makes small calls quicker and is not needed, so that until it is there (or where it cannot be built)
the same calls go through the ABI module.
"""

from __future__ import annotations

import _thread
import itertools
import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

from ..common.paths import AnyPath
from ..common.record import Record
from ..errors import CacheError
from . import _abi

ABI = 3
NULL = _abi.ffi.NULL
CALLER = "_scattergen_caller"

for _name in ("scattergen_kernel", "scattergen_call"):
    # cffi makes a struct known on first use, which threads without a global lock can see half done.
    _abi.ffi.sizeof(f"struct {_name}")

MISALIGNED = -2
"""What a call returns that did not run since an address is no multiple of its element's size."""

Invoke = Callable[[Any, Any, Any, Any, Any, Any], int]


_FOR_EVER = getattr(_abi.ffi, "RTLD_NODELETE", 0)
"""Libraries are never closed, not by an interpreter that ends either: plans hold their functions, and OpenMP's threads
wait in code that is loaded along with them."""


class Loaded(Record):
    """An open library's kernel."""

    name: str
    struct: Any
    library: Any

    @property
    def address(self) -> int:
        """Address of the kernel's `run` function."""
        return int(_abi.ffi.cast("uintptr_t", self.struct.run))


def open_kernel(path: AnyPath, name: str) -> Loaded:
    """Return the kernel of a library that holds one; `OSError` where it cannot be loaded."""
    library = _opened(path)
    return _checked(library.scattergen_kernel, library, path, name)


def open_kernels(path: AnyPath) -> dict[str, Loaded]:
    """Return the kernels of a library that holds many, by name; `OSError` where it cannot be loaded."""
    library = _opened(path)
    structs = [library.scattergen_kernels[i] for i in range(library.scattergen_kernel_count)]
    named = {_abi.ffi.string(struct.name).decode(): struct for struct in structs}
    return {name: _checked(struct, library, path, name) for name, struct in named.items()}


def _opened(path: AnyPath) -> Any:
    try:
        return _abi.ffi.dlopen(str(path), _FOR_EVER)
    except UnicodeEncodeError:  # cffi takes no bytes, and of text only what is no escape for bytes
        encoding = sys.getfilesystemencoding()
        raise OSError(f"{path} has a name that is not {encoding}, by which cffi opens no library") from None


def _checked(struct: Any, library: Any, path: AnyPath, name: str) -> Loaded:
    found = _abi.ffi.string(struct.name).decode()
    if struct.abi != ABI or found != name:
        raise CacheError(f"{path} holds {found} for ABI {struct.abi}, wanted is {name} for ABI {ABI}")
    return Loaded(name, struct, library)


class Call:
    """A kernel with its layout and threads: what stays the same from call to call.

    `pointer` and `checked` are what `invoke` takes: the latter checks every index before the first
    write, so that a failed call leaves the output as it was.
    """

    __slots__ = ("__weakref__", "_alive", "_check", "_layout", "checked", "pointer", "scratch_bytes")

    def __init__(
        self, kernel: Loaded, layout: tuple[int, ...], threads: int, element_size: int, index_size: int
    ) -> None:
        """Addresses must be multiples of the two sizes; 1 where the kernel takes any."""
        numbers = _abi.ffi.new("int64_t[]", layout)
        struct, masks = kernel.struct, (element_size - 1, index_size - 1)
        new = _abi.ffi.new
        self.pointer = new("struct scattergen_call *", (struct.run, NULL, numbers, threads, *masks))
        self.checked = new("struct scattergen_call *", (struct.run, struct.check, numbers, threads, *masks))
        self.scratch_bytes = max(int(struct.scratch_bytes(numbers, number)) for number in {1, threads})
        self._check, self._layout, self._alive = struct.check, numbers, kernel
        _calls.add(self)

    def become_serial(self) -> None:
        """Run on one thread from now on."""
        self.pointer.threads = self.checked.threads = 1

    def check(self, indices: Any) -> int:
        """Return -1, or a position in `indices` that is out of bounds."""
        return int(self._check(indices, self._layout, self.pointer.threads))

    def scratch(self) -> Any:
        """Return this thread's scratch, grown to what the call needs, which is reused by every call.

        Who holds it keeps it: a signal's handler may make the thread call with a larger one before the kernel runs.
        """
        if not self.scratch_bytes:
            return NULL
        scratch = _arena.__dict__.get("scratch")
        if scratch is None or len(scratch) < self.scratch_bytes:
            memory = memoryview(_abi.ffi.buffer(_abi.ffi.new("char[]", self.scratch_bytes + 64)))
            unaligned = number(_abi.ffi.from_buffer(memory)) % -64
            scratch = _arena.scratch = _abi.ffi.from_buffer(memory[-unaligned:])
        return scratch


_arena = _thread._local()  # what `threading.local` is, without the import of that module

_calls: weakref.WeakSet[Call] = weakref.WeakSet()


def _make_calls_serial() -> None:
    for call in _calls:
        call.become_serial()


os.register_at_fork(after_in_child=_make_calls_serial)  # a child has none of OpenMP's threads, and would wait for them


def address(array: Any) -> Any:
    """Return the address of an array's first element, whatever its strides. Keeps the array alive.

    An empty slice begins where its array does and counts as contiguous; `__array_interface__`, which also
    tells the address, takes five times as long.
    """
    return _abi.ffi.from_buffer(array[:0] if array.ndim else array)


def untyped(pointer: Any) -> Any:
    """Return a pointer as ``void *``, which `invoke` takes 10 ns quicker than another; it keeps nothing alive."""
    return _abi.ffi.cast("void *", pointer)


from_buffer: Callable[[Any], Any] = _abi.ffi.from_buffer
"""Return the address of a C-contiguous array; `ValueError` for any other. Keeps the array alive."""


_calls_by_abi = itertools.count(1)

MANY_CALLS = 200
"""Calls after which a process is worth a caller module, which takes longer to build than any kernel."""

on_many_calls: Callable[[], None] = lambda: None  # noqa: E731
"""Run once, at call number `MANY_CALLS` that goes through the ABI module."""

on_caller: Callable[[], None] = lambda: None  # noqa: E731
"""Run when calls go through a caller module that did not before."""


def _invoke_abi(call: Any, out: Any, data: Any, indices: Any, updates: Any, scratch: Any) -> int:
    ffi = _abi.ffi
    if next(_calls_by_abi) == MANY_CALLS:
        on_many_calls()
    elements, index = 0, int(ffi.cast("uintptr_t", ffi.cast("void *", indices)))
    for pointer in (out, data, updates):
        elements |= int(ffi.cast("uintptr_t", ffi.cast("void *", pointer)))
    call = ffi.cast("struct scattergen_call *", call)
    if elements & call.element_mask or index & call.index_mask:
        return MISALIGNED
    if call.check != NULL:
        position = int(call.check(indices, call.layout, call.threads))
        if position >= 0:
            return position
    return int(call.run(out, data, indices, updates, call.layout, scratch, call.threads))


invoke: Invoke = _invoke_abi
"""Run a call: `invoke(call.pointer, out, data, indices, updates, scratch)`, each an address or NULL."""


class Functions(Record):
    """What the caller module does for Python; templates/python says how each is called."""

    recall: Callable[..., Any]
    remember: Callable[..., None]
    forget: Callable[[], int]
    serve: Callable[..., Callable[[Any, Any, Any, Any], Any]]
    bind_call: Callable[..., Callable[[], Any]]
    unwritten: Callable[[Any, Any, bool], Any]
    keep_memory: Callable[[int], None]


functions: Functions | None = None
"""None where there is no caller module."""


def number(pointer: Any) -> int:
    """Return an address as a number, which C takes quicker than a pointer; it keeps nothing alive."""
    return int(_abi.ffi.cast("uintptr_t", pointer))


def described(call: Call, pointer: Any) -> tuple[int, Call, Callable[[], int] | None]:
    """Return a call as the caller module takes it: `pointer` is one of its two."""
    return number(pointer), call, (lambda: number(call.scratch())) if call.scratch_bytes else None


def has_caller() -> bool:
    """Whether calls go through a caller module."""
    return invoke is not _invoke_abi


def use_caller(path: AnyPath) -> None:
    """Send all further calls through the caller module at `path`."""
    global invoke, functions
    import importlib.util

    spec = importlib.util.spec_from_file_location(CALLER, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = list[Any]()
    if module.lib.scattergen_functions(id(found)) != 0:
        raise ImportError(f"{path} was built for another NumPy")
    functions, invoke = Functions(*found), module.lib.scattergen_invoke
    on_caller()
