/* Scatter operators as one writes them on a first day: a loop or two, C order, indices that are in bounds. */
#include <math.h>
#include <stdint.h>

/* The tests look these up by name. */
void elements_f32_add_axis0(float *out, int64_t height, int64_t width, const int64_t *indices, int64_t count,
                            const float *updates);
void elements_f32_add_axis1(float *out, int64_t height, int64_t width, const int64_t *indices, int64_t count,
                            const float *updates);
void nd_rows_f64_max(double *out, int64_t height, int64_t width, const int64_t *indices, int64_t count,
                     const double *updates);
void nd_elements_i32_mul(int32_t *out, int64_t height, int64_t width, const int64_t *indices, int64_t count,
                         const int32_t *updates);
void elements_f16_add(uint16_t *out, int64_t size, const int64_t *indices, int64_t count, const uint16_t *updates);
void elements_f16_mul(uint16_t *out, int64_t size, const int64_t *indices, int64_t count, const uint16_t *updates);

/* An index counts from the end if it is negative. */
static int64_t from_start(int64_t index, int64_t size)
{
    return index < 0 ? index + size : index;
}

/* `indices` and `updates` are count x width. */
void elements_f32_add_axis0(float *out, int64_t height, int64_t width, const int64_t *indices, int64_t count,
                            const float *updates)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < width; j++) {
            const int64_t row = from_start(indices[i * width + j], height);
            out[row * width + j] = out[row * width + j] + updates[i * width + j];
        }
}

/* `indices` and `updates` are height x count. */
void elements_f32_add_axis1(float *out, int64_t height, int64_t width, const int64_t *indices, int64_t count,
                            const float *updates)
{
    for (int64_t i = 0; i < height; i++)
        for (int64_t j = 0; j < count; j++) {
            const int64_t column = from_start(indices[i * count + j], width);
            out[i * width + column] = out[i * width + column] + updates[i * count + j];
        }
}

/* `indices` is count x 1, `updates` count x width. A NaN on either side stays; of equal numbers the old one. */
void nd_rows_f64_max(double *out, int64_t height, int64_t width, const int64_t *indices, int64_t count,
                     const double *updates)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < width; j++) {
            double *old = out + from_start(indices[i], height) * width + j;
            const double update = updates[i * width + j];
            if (!isnan(*old) && (isnan(update) || update > *old))
                *old = update;
        }
}

/* `indices` is count x 2. The product is taken modulo 2^32. */
void nd_elements_i32_mul(int32_t *out, int64_t height, int64_t width, const int64_t *indices, int64_t count,
                         const int32_t *updates)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = from_start(indices[2 * i], height), column = from_start(indices[2 * i + 1], width);
        int32_t *old = out + row * width + column;
        const uint64_t product = (uint64_t)(int64_t)*old * (uint64_t)(int64_t)updates[i];
        const uint32_t low = (uint32_t)(product % 4294967296u);
        *old = low < 2147483648u ? (int32_t)low : (int32_t)((int64_t)low - 4294967296);
    }
}

/* The exact value of a half: sign, five bits of exponent, ten of fraction. */
static double value_of(uint16_t half)
{
    const int negative = half >> 15, exponent = half >> 10 & 31, fraction = half & 1023;
    double size;
    if (exponent == 31)
        size = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        size = ldexp(fraction, -24);
    else
        size = ldexp(1024 + fraction, exponent - 25);
    return negative ? -size : size;
}

/* The half nearest to a number, of two the one with an even last bit. Sums and products of halves are exact doubles. */
static uint16_t nearest_half(double number)
{
    const uint16_t sign = signbit(number) ? 0x8000 : 0;
    const double size = fabs(number);
    uint16_t low = 0, high = 0x7c00; /* value of low <= size < value of high, were infinity 65536 */
    if (isnan(number))
        return 0x7e00;
    if (size >= 65536)
        return sign | 0x7c00;
    while (high - low > 1) {
        const uint16_t middle = (uint16_t)((low + high) / 2);
        if (value_of(middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const double below = size - value_of(low), above = (high == 0x7c00 ? 65536 : value_of(high)) - size;
    return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

void elements_f16_add(uint16_t *out, int64_t size, const int64_t *indices, int64_t count, const uint16_t *updates)
{
    for (int64_t i = 0; i < count; i++) {
        uint16_t *old = out + from_start(indices[i], size);
        *old = nearest_half(value_of(*old) + value_of(updates[i]));
    }
}

void elements_f16_mul(uint16_t *out, int64_t size, const int64_t *indices, int64_t count, const uint16_t *updates)
{
    for (int64_t i = 0; i < count; i++) {
        uint16_t *old = out + from_start(indices[i], size);
        *old = nearest_half(value_of(*old) * value_of(updates[i]));
    }
}
