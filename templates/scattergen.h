/* The scattergen kernel ABI, version 3.
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

#define SCATTERGEN_ABI 3

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

#endif
