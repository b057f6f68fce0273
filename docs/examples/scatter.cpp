// The same as scatter.c on threads of the caller's own: every thread has some of the rows.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "scattergen_kernels.h"

struct Matrix {
    std::int64_t rows, columns;
    std::vector<float> values;
    float *row(std::int64_t i) { return values.data() + i * columns; }
    const float *row(std::int64_t i) const { return values.data() + i * columns; }
};

// Rows `first` to `last` of out = data, with updates added where indices say; -1, or a position out of bounds.
static std::int64_t scatter_add(Matrix &out, const Matrix &data, const std::vector<std::int64_t> &indices,
                                const Matrix &updates, std::int64_t first, std::int64_t last)
{
    std::int64_t layout[SCATTERGEN_ROWS_UPDATE_ROW + 1];
    layout[SCATTERGEN_ROWS_ROWS] = last - first;
    layout[SCATTERGEN_ROWS_COUNT] = updates.columns;
    layout[SCATTERGEN_ROWS_SIZE] = data.columns;
    layout[SCATTERGEN_ROWS_TOTAL] = (last - first) * data.columns;
    layout[SCATTERGEN_ROWS_OUT_ROW] = data.columns;
    layout[SCATTERGEN_ROWS_INDEX_ROW] = updates.columns;
    layout[SCATTERGEN_ROWS_UPDATE_ROW] = updates.columns;

    const auto &kernel = scattergen_rows_f32_i64_add;
    std::vector<char> scratch(static_cast<std::size_t>(kernel.scratch_bytes(layout, 1)) + 64);
    const auto start = (reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64;
    return kernel.run(out.row(first), data.row(first), indices.data() + first * updates.columns,
                      updates.row(first), layout, reinterpret_cast<void *>(start), 1);
}

int main()
{
    const Matrix data{2, 4, {0, 1, 2, 3, 4, 5, 6, 7}};
    const Matrix updates{2, 3, {10, 20, 30, 40, 50, 60}};
    const std::vector<std::int64_t> indices{0, 0, -1, 3, 2, 3};
    Matrix out{2, 4, std::vector<float>(8)};
    std::int64_t failed[2] = {0, 0};

    std::thread half([&] { failed[0] = scatter_add(out, data, indices, updates, 0, 1); });
    failed[1] = scatter_add(out, data, indices, updates, 1, 2);
    half.join();
    if (failed[0] != -1 || failed[1] != -1)
        return 1;
    for (std::int64_t i = 0; i < out.rows; i++)
        std::printf("%g %g %g %g\n", out.row(i)[0], out.row(i)[1], out.row(i)[2], out.row(i)[3]);
    return 0;
}
