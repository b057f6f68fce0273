/* docs/examples/scatter.c without a C library, which zig would take minutes to build for another machine. */
#include "scattergen_kernels.h"

enum { WRITE = 64, EXIT = 93 }; /* aarch64's numbers of the two system calls */

void *memcpy(void *restrict to, const void *restrict from, __SIZE_TYPE__ size)
{
    for (__SIZE_TYPE__ i = 0; i < size; i++)
        ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int value, __SIZE_TYPE__ size)
{
    for (__SIZE_TYPE__ i = 0; i < size; i++)
        ((char *)to)[i] = (char)value;
    return to;
}

int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static long system_call(long number, long a, long b, long c)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

static void print(const char *text, char end)
{
    long length = 0;
    while (text[length])
        length++;
    system_call(WRITE, 1, (long)text, length);
    system_call(WRITE, 1, (long)&end, 1);
}

static void print_number(int64_t number, char end)
{
    char digits[21] = {0}, *first = digits + 20;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    print(first, end);
}

void _start(void)
{
    const float data[] = {0, 1, 2, 3, 4, 5, 6, 7}, updates[] = {10, 20, 30, 40, 50, 60};
    const int64_t indices[] = {0, 0, -1, 3, 2, 3}, wrong[] = {0, 0, -1, 3, 4, 3};
    const int64_t layout[] = {2, 3, 4, 8, 4, 3, 3};
    const struct scattergen_kernel *kernel = scattergen_find("rows_f32_i64_add");
    float out[8];
    if (!kernel || kernel->check(wrong, layout, 1) != 4
        || kernel->run(out, data, indices, updates, layout, 0, 1) != -1)
        system_call(EXIT, 1, 0, 0);
    for (int i = 0; i < 8; i++)
        print_number((int64_t)out[i], i % 4 == 3 ? '\n' : ' ');
    for (int64_t i = 0; (kernel = scattergen_kernel_at(i)); i++)
        print(kernel->name, '\n');
    system_call(EXIT, 0, 0, 0);
}
