/* The scattergen kernel ABI, version 2.
 *
 * A kernel applies `updates` to `out` at the places that `indices` name. It reads no global state,
 * allocates nothing, and uses only index values that it has checked against their dim.
 *
 *   layout    sizes and strides of the loops, as the kernel's own source lists them
 *   data      what `out` starts from; NULL: `out` already holds it
 *   scratch   scratch_bytes(layout, threads) bytes, aligned to 64; NULL where that is 0
 *   threads   1 or more; a kernel built without OpenMP runs on one
 *
 * `check` reads the indices alone. It returns -1, or the least position (a tuple counts as one) that is
 * out of bounds, in the order of the kernel's loops. `run` returns -1, or such a position; `out` is
 * then undefined. Where a failed call must leave `out` as it was, call `check` first.
 */
#ifndef SCATTERGEN_H
#define SCATTERGEN_H

#include <stdint.h>

#define SCATTERGEN_ABI 2

#ifdef __cplusplus
extern "C" {
#endif

/* plain declarations: what cffi reads */
struct scattergen_kernel {
    int32_t abi;
    const char *name;
    int64_t (*check)(const void *indices, const int64_t *layout, int32_t threads);
    int64_t (*run)(void *out, const void *data, const void *indices, const void *updates,
                   const int64_t *layout, void *scratch, int32_t threads);
    int64_t (*scratch_bytes)(const int64_t *layout, int32_t threads);
};

/* what a library of one kernel exports */
extern const struct scattergen_kernel scattergen_kernel;

/* what a library of many kernels exports, sorted by name */
extern const struct scattergen_kernel *const scattergen_kernels[];
extern const int64_t scattergen_kernel_count;
/* end of plain declarations */

#ifdef __cplusplus
}
#endif

/* How a kernel's source names the one object that it exports: `scattergen_kernel` in a library of its
 * own, `scattergen_<name>` (SCATTERGEN_AHEAD_OF_TIME) where many kernels share a library. */
#ifdef SCATTERGEN_AHEAD_OF_TIME
#define SCATTERGEN_EXPORT(name) SCATTERGEN_VISIBLE const struct scattergen_kernel scattergen_##name
#else
#define SCATTERGEN_EXPORT(name) SCATTERGEN_VISIBLE const struct scattergen_kernel scattergen_kernel
#endif

#if defined(_WIN32)
#define SCATTERGEN_VISIBLE __declspec(dllexport)
#else
#define SCATTERGEN_VISIBLE __attribute__((visibility("default")))
#endif

/* A function that is compiled once: compilers would write out its vectorised loops for each of its callers,
 * which is most of what a user waits for at a kernel's first use. */
#if defined(__has_attribute)
#if __has_attribute(noclone)
#define SCATTERGEN_ONCE __attribute__((noinline, noclone))
#endif
#endif
#ifndef SCATTERGEN_ONCE
#define SCATTERGEN_ONCE __attribute__((noinline))
#endif

/* For a library that is linked without the C library and finds its functions in the process, of whatever version: GNU's
 * has a memcpy of old, without vector instructions, and the new one under the name of memmove as well. */
#ifdef SCATTERGEN_BARE
#include <string.h>
void *memcpy(void *restrict to, const void *restrict from, size_t bytes) __asm__("memmove");
#endif

#endif
