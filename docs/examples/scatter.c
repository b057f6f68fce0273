/* Adds updates to the rows of a matrix, as ONNX ScatterElements does along the last axis.
 *
 *     scattergen build scatter_elements_f32_i64_r2a1_add -o kernels
 *     cc scatter.c -Ikernels/include -Lkernels/lib -lscattergen_kernels -Wl,-rpath,"$PWD/kernels/lib" -o scatter
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scattergen_kernels.h"

enum { ROWS = 2, SIZE = 4, COUNT = 3 };

/* Call a kernel with the scratch that it asks for; the result is that of `run`. */
static int64_t call(const struct scattergen_kernel *kernel, float *out, const float *data, const int64_t *indices,
                    const float *updates, const int64_t *layout, int32_t threads)
{
    const int64_t bytes = kernel->scratch_bytes(layout, threads);
    void *scratch = bytes ? aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64) : NULL;
    const int64_t position = kernel->run(out, data, indices, updates, layout, scratch, threads);
    free(scratch);
    return position;
}

int main(void)
{
    const float data[ROWS * SIZE] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int64_t indices[ROWS * COUNT] = {0, 0, -1, 3, 2, 3};
    const float updates[ROWS * COUNT] = {10, 20, 30, 40, 50, 60};
    float out[ROWS * SIZE];

    /* Everything lies in C order without gaps, so the strides are those of whole rows. */
    const int64_t layout[] = {
        [SCATTERGEN_ROWS_ROWS] = ROWS,     [SCATTERGEN_ROWS_COUNT] = COUNT,
        [SCATTERGEN_ROWS_SIZE] = SIZE,     [SCATTERGEN_ROWS_TOTAL] = ROWS * SIZE,
        [SCATTERGEN_ROWS_OUT_ROW] = SIZE,  [SCATTERGEN_ROWS_INDEX_ROW] = COUNT,
        [SCATTERGEN_ROWS_UPDATE_ROW] = COUNT,
    };

    /* by name, checked by the compiler ... */
    if (call(&scattergen_rows_f32_i64_add, out, data, indices, updates, layout, 1) != -1)
        return 1;
    for (int i = 0; i < ROWS * SIZE; i++)
        printf("%g%c", out[i], i % SIZE == SIZE - 1 ? '\n' : ' ');

    /* ... or by a name that is known only now */
    const struct scattergen_kernel *kernel = scattergen_find("rows_f32_i64_add");
    if (!kernel || kernel->abi != SCATTERGEN_ABI || scattergen_find("rows_f32_i64_pow"))
        return 1;
    const int64_t wrong[ROWS * COUNT] = {0, 0, -1, 3, 4, 3};
    printf("%s: position %" PRId64 " is out of bounds\n", kernel->name, kernel->check(wrong, layout, 1));
    for (int64_t i = 0; (kernel = scattergen_kernel_at(i)); i++)
        printf("%s\n", kernel->name);
    return 0;
}
