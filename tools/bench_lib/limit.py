"""A plain copy of `data` to a fresh output, and one read of indices and updates; on one core or all, as is faster.

It is what times are compared with, and no bound: a kernel that reuses memory, or that skips the rows which are
replaced, can take less time. Its result is not a scatter's.
"""

from __future__ import annotations

import functools
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scattergen.bench.bench import timed
from scattergen.bench.workload import Array, Workload
from scattergen.common import config, machine
from scattergen.compiler import toolchain
from scattergen.compiler.flags import flags_of_kernel

_SOURCE = r"""
#include <omp.h>
#include <stdint.h>
#include <string.h>

static int64_t part(int64_t n, int64_t t, int64_t count) { return n / count * t + n % count * t / count; }

static int64_t sum(const void *from, int64_t bytes, int64_t t, int64_t count)
{
    const int64_t *words = from, end = part(bytes / 8, t + 1, count);
    int64_t total = 0;
    for (int64_t i = part(bytes / 8, t, count); i < end; i++)
        total += words[i];
    return total;
}

__attribute__((visibility("default")))
int64_t limit(char *out, const char *data, int64_t data_bytes, const void *indices, int64_t index_bytes,
              const void *updates, int64_t update_bytes, int32_t threads)
{
    int64_t total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total) if (threads > 1)
    {
        const int64_t t = omp_get_thread_num(), count = omp_get_num_threads();
        const int64_t begin = part(data_bytes, t, count);
        memcpy(out + begin, data + begin, (size_t)(part(data_bytes, t + 1, count) - begin));
        total += sum(indices, index_bytes, t, count) + sum(updates, update_bytes, t, count);
    }
    return total;
}
"""
_DECLARATION = """
int64_t limit(char *out, const char *data, int64_t data_bytes, const void *indices, int64_t index_bytes,
              const void *updates, int64_t update_bytes, int32_t threads);
"""
_WORTH_THREADS = 1 << 20
"""Bytes of traffic below which one thread is the faster; above, a trial decides."""


@functools.cache
def _library() -> tuple[Any, Any]:
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(_DECLARATION)
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "limit.c"), Path(folder, "limit.so")
        source.write_text(_SOURCE)
        settings = config.settings()
        flags = flags_of_kernel(settings, openmp=True)
        toolchain.compile_library(toolchain.find(settings), source, library, flags, spec="limit", timeout=60)
        return ffi, ffi.dlopen(str(library), ffi.RTLD_NODELETE)  # OpenMP's threads wait in it, to the end


def call(work: Workload) -> Callable[[], Array]:
    """Return the call that copies and reads the arrays of `work`."""
    ffi, library = _library()
    data, updates, indices = work.data, work.updates, np.ascontiguousarray(work.indices)
    most = int(os.environ.get("SCATTERGEN_NUM_THREADS", "0")) or machine.usable_cores()
    sizes = (data.nbytes, indices.nbytes, updates.nbytes)
    from_buffer, empty, shape, dtype, limit = ffi.from_buffer, np.empty, data.shape, data.dtype, library.limit
    at_data, at_indices, at_updates = (from_buffer(array) for array in (data, indices, updates))

    def on(threads: int) -> Callable[[], Array]:
        def run() -> Array:
            out = empty(shape, dtype)
            limit(from_buffer(out), at_data, sizes[0], at_indices, sizes[1], at_updates, sizes[2], threads)
            return out

        return run

    calls = [on(threads) for threads in ({1} if work.traffic < _WORTH_THREADS else {1, most})]
    return min(calls, key=lambda call: statistics.median(timed(call, 1) for _ in range(5)))
