/* How Python calls kernels: call.c, memory.c, site.c, table.c, bound.c and functions.c, in this order, become one
 * extension module, of which cffi writes the rest.
 *
 * A small call spends its time on finding out what it is. So C looks at the arrays (site.c), and finds the call that
 * answers ones like them (table.c). What is not found, does not fit or fails returns None, with nothing written, and
 * is left to whoever asked. */
#include <stdint.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

struct scattergen_call {
    int64_t (*run)(void *out, const void *data, const void *indices, const void *updates,
                   const int64_t *layout, void *scratch, int32_t threads);
    int64_t (*check)(const void *indices, const int64_t *layout, int32_t threads); /* NULL: `out` is nobody else's yet */
    const int64_t *layout;
    int32_t threads;
    uintptr_t element_mask, index_mask;
};

enum { MISALIGNED = -2 }; /* an address is no multiple of its element's size, and the call did not run */

static int64_t scattergen_invoke(const void *call, void *out, const void *data, const void *indices,
                                 const void *updates, void *scratch)
{
    const struct scattergen_call *c = call;
    if ((((uintptr_t)out | (uintptr_t)data | (uintptr_t)updates) & c->element_mask)
        || ((uintptr_t)indices & c->index_mask))
        return MISALIGNED;
    if (c->check) {
        const int64_t position = c->check(indices, c->layout, c->threads);
        if (position >= 0)
            return position;
    }
    return c->run(out, data, indices, updates, c->layout, scratch, c->threads);
}
