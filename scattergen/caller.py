"""The caller: a small API-mode module through which all calls go once it is there.

It also looks at small calls' arrays itself: that they are those of the plan takes C 10 ns, and Python 1000.

cffi writes its C, our own compiler builds it, once per Python, and the store keeps it. It saves some
200 ns a call. Nothing needs it: until it is there, and where it cannot be built, calls go through the
ABI module. A process that finds it in the store takes it at once; one that makes many calls has it
built in the background; `compile` and the ahead-of-time builds make it on the way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from . import build, config, loader, log
from .errors import ScattergenError

NAME = "scattergen_caller"
CDEF = """
int64_t scattergen_invoke(const void *call, void *out, const void *data, const void *indices, const void *updates,
                          void *scratch);
int64_t scattergen_invoke_arrays(uintptr_t arrays);
int64_t scattergen_invoke_arrays_with(uintptr_t arrays, uintptr_t scratch);
int64_t scattergen_invoke_into(uintptr_t arrays, uintptr_t scratch);
int64_t scattergen_invoke_bound(uintptr_t addresses);
"""
SOURCE = """
#include <stdint.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/ndarraytypes.h>

struct scattergen_call {
    int64_t (*run)(void *out, const void *data, const void *indices, const void *updates,
                   const int64_t *layout, void *scratch, int32_t threads);
    int64_t (*check)(const void *indices, const int64_t *layout); /* NULL: `out` is nobody else's yet */
    const int64_t *layout;
    int32_t threads;
    uintptr_t element_mask, index_mask;
};

static int64_t scattergen_invoke(const void *call, void *out, const void *data, const void *indices,
                                 const void *updates, void *scratch)
{
    const struct scattergen_call *c = call;
    if ((((uintptr_t)out | (uintptr_t)data | (uintptr_t)updates) & c->element_mask)
        || ((uintptr_t)indices & c->index_mask))
        return %d;
    if (c->check) {
        const int64_t position = c->check(indices, c->layout);
        if (position >= 0)
            return position;
    }
    return c->run(out, data, indices, updates, c->layout, scratch, c->threads);
}

/* What a site holds: a call, then of each array its type, bytes, rank and shape. */
enum { CALL, DATA, TYPE = 0, BYTES, RANK, SHAPE };

static const int64_t *next(const int64_t *expected)
{
    return expected + SHAPE + expected[RANK];
}

/* Whether an object is an array of NumPy's own class, in C order, of the type, rank and shape that is expected.
 * Reads what NumPy's headers lay open, and changes nothing. */
static int fits(PyArrayObject *array, PyArrayObject *site, const int64_t *expected)
{
    if (Py_TYPE((PyObject *)array) != Py_TYPE((PyObject *)site)
        || (int64_t)(intptr_t)PyArray_DESCR(array) != expected[TYPE] || PyArray_NDIM(array) != expected[RANK]
        || !PyArray_CHKFLAGS(array, NPY_ARRAY_C_CONTIGUOUS))
        return 0;
    for (int64_t i = 0; i < expected[RANK]; i++)
        if (PyArray_DIMS(array)[i] != expected[SHAPE + i])
            return 0;
    return 1;
}

/* Whether two arrays share memory. */
static int meet(PyArrayObject *a, int64_t a_bytes, PyArrayObject *b, int64_t b_bytes)
{
    const char *from = PyArray_DATA(a), *other = PyArray_DATA(b);
    return from < other + b_bytes && other < from + a_bytes;
}

/* `arrays` is the address of a tuple that Python holds: a number for each array would take longer than the rest. */
static int64_t scattergen_invoke_arrays_with(uintptr_t arrays, uintptr_t scratch)
{
    PyArrayObject *const *array = (PyArrayObject *const *)((PyTupleObject *)arrays)->ob_item;
    PyArrayObject *site = array[0], *out = array[1], *d = array[2], *i = array[3], *u = array[4];
    const int64_t *expected = PyArray_DATA(site);
    const int64_t *data = expected + DATA, *indices = next(data), *updates = next(indices);
    if (!fits(d, site, data) || !fits(i, site, indices) || !fits(u, site, updates))
        return %d;
    return scattergen_invoke((const void *)(intptr_t)expected[CALL], PyArray_DATA(out), PyArray_DATA(d),
                             PyArray_DATA(i), PyArray_DATA(u), (void *)scratch);
}

static int64_t scattergen_invoke_arrays(uintptr_t arrays)
{
    return scattergen_invoke_arrays_with(arrays, 0);
}

/* The same for an output that is somebody's: the data itself, or an array that shares no memory with the others. */
static int64_t scattergen_invoke_into(uintptr_t arrays, uintptr_t scratch)
{
    PyArrayObject *const *array = (PyArrayObject *const *)((PyTupleObject *)arrays)->ob_item;
    PyArrayObject *site = array[0], *out = array[1], *d = array[2], *i = array[3], *u = array[4];
    const int64_t *expected = PyArray_DATA(site);
    const int64_t *data = expected + DATA, *indices = next(data), *updates = next(indices);
    if (!fits(d, site, data) || !fits(i, site, indices) || !fits(u, site, updates) || !fits(out, site, data)
        || !PyArray_CHKFLAGS(out, NPY_ARRAY_WRITEABLE) || (out != d && meet(out, data[BYTES], d, data[BYTES]))
        || meet(out, data[BYTES], i, indices[BYTES]) || meet(out, data[BYTES], u, updates[BYTES]))
        return %d;
    return scattergen_invoke((const void *)(intptr_t)expected[CALL], PyArray_DATA(out),
                             out == d ? NULL : PyArray_DATA(d), PyArray_DATA(i), PyArray_DATA(u), (void *)scratch);
}

static int64_t scattergen_invoke_bound(uintptr_t addresses)
{
    void *const *a = (void *const *)addresses;
    return scattergen_invoke(a[0], a[1], a[2], a[3], a[4], NULL);
}
"""

_tried = False


def adopt(then: Callable[[], object]) -> None:
    """Take the caller if the store has it; else have it built once this process has made many calls.

    `then` is run when calls go through a caller that did not before.
    """
    global _tried
    if _tried:
        return
    _tried = True
    if not _take(build_it=False) and config.settings().compile == "auto":
        loader.on_many_calls = lambda: _start(then)


def make() -> bool:
    """Take the caller, built now if the store lacks it; False where it cannot be built."""
    global _tried
    _tried = True
    return _take(build_it=True)


def _start(then: Callable[[], object]) -> None:
    def work() -> None:
        if _take(build_it=True):
            then()

    import threading

    threading.Thread(target=work, name=NAME, daemon=True).start()


def _take(*, build_it: bool) -> bool:
    if loader.has_caller():
        return True
    if sys.implementation.name != "cpython":  # elsewhere an object's id is not its address
        return False
    try:
        loader.use_caller(build.module(NAME, _recipe(), source, _include_dirs, build=build_it))
    except (ScattergenError, ImportError, OSError) as error:
        log.debug("calls go without the caller module: %s", error)
        return False
    return True


def _include_dirs() -> list[str]:
    import sysconfig

    return [sysconfig.get_path("include"), sysconfig.get_path("platinclude"), np.get_include()]


def _recipe() -> str:
    """Return what stands for the source in the store: importing cffi whole takes longer than a hit may."""
    import _cffi_backend

    return f"{_cffi_backend.__version__} {np.__version__}\n{CDEF}\n{SOURCE}"


def source() -> str:
    """Return the C of the module, as cffi writes it."""
    import io

    import cffi

    ffi = cffi.FFI()
    ffi.cdef(CDEF)
    ffi.set_source(loader.CALLER, SOURCE.replace("%d", str(loader.MISALIGNED)), compiler_verbose=0)
    text = io.StringIO()
    ffi.emit_c_code(text)
    # The stable ABI hides what a tuple holds; the module is of one Python anyway.
    return f"#define _CFFI_NO_LIMITED_API\n{text.getvalue()}"
