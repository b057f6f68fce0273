"""The caller: a small API-mode module through which all calls go once it is there.

cffi writes its C, our own compiler builds it, once per Python, and the store keeps it. It saves some
200 ns a call. Nothing needs it: until it is there, and where it cannot be built, calls go through the
ABI module. A process that finds it in the store takes it at once; one that makes many calls has it
built in the background; `compile` and the ahead-of-time builds make it on the way.
"""

from __future__ import annotations

from collections.abc import Callable

from . import build, config, loader, log
from .errors import ScattergenError

NAME = "scattergen_caller"
CDEF = """
int64_t scattergen_invoke(const void *call, void *out, const void *data, const void *indices, const void *updates,
                          void *scratch);
"""
SOURCE = """
#include <stdint.h>
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
    try:
        loader.use_caller(build.module(NAME, _recipe(), source, _include_dirs, build=build_it))
    except (ScattergenError, ImportError, OSError) as error:
        log.debug("calls go without the caller module: %s", error)
        return False
    return True


def _include_dirs() -> list[str]:
    import sysconfig

    return [sysconfig.get_path("include"), sysconfig.get_path("platinclude")]


def _recipe() -> str:
    """Return what stands for the source in the store: importing cffi whole takes longer than a hit may."""
    import _cffi_backend

    return f"{_cffi_backend.__version__}\n{CDEF}\n{SOURCE}"


def source() -> str:
    """Return the C of the module, as cffi writes it."""
    import io

    import cffi

    ffi = cffi.FFI()
    ffi.cdef(CDEF)
    ffi.set_source(loader.CALLER, SOURCE % loader.MISALIGNED, compiler_verbose=0)
    text = io.StringIO()
    ffi.emit_c_code(text)
    return text.getvalue()
