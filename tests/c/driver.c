/* Calls kernels as a file says, each array in a block of its own that ends where its last element does.
 *
 *   driver FILE    the file's layout is that of tests/driver.py; exit status 1 if a kernel was wrong
 */
#define _POSIX_C_SOURCE 200112L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scattergen.h"

enum { NAME = 128, TITLE = 256 };

/* An array's memory: `first` is its first element, not always at the lowest address. */
typedef struct {
    int64_t size;
    char *memory, *low, *first;
} block;

static void *allocate(size_t size)
{
    void *found = NULL;
    if (posix_memalign(&found, 64, size) != 0) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return found;
}

static void read_exactly(FILE *file, void *to, int64_t size)
{
    if (size && fread(to, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "the file is too short\n");
        exit(2);
    }
}

static int64_t read_number(FILE *file)
{
    int64_t number;
    read_exactly(file, &number, sizeof number);
    return number;
}

/* A negative size stands for no array at all. */
static block read_block(FILE *file)
{
    block b = {.size = read_number(file)};
    const int64_t lead = read_number(file), offset = read_number(file);
    if (b.size < 0)
        return b;
    b.memory = allocate((size_t)(lead + b.size));
    b.low = b.memory + lead;
    b.first = b.low + offset;
    read_exactly(file, b.low, b.size);
    return b;
}

static const struct scattergen_kernel *find(const char *name)
{
    for (int64_t i = 0; i < scattergen_kernel_count; i++)
        if (strcmp(scattergen_kernels[i]->name, name) == 0)
            return scattergen_kernels[i];
    fprintf(stderr, "no kernel %s\n", name);
    exit(2);
}

/* Make one call; 1 if its outcome is not the expected one. */
static int run(FILE *file)
{
    char name[NAME], title[TITLE];
    read_exactly(file, name, sizeof name);
    read_exactly(file, title, sizeof title);
    const int32_t threads = (int32_t)read_number(file);
    const int64_t bad = read_number(file), numbers = read_number(file);
    int64_t *layout = allocate((size_t)numbers * sizeof *layout);
    read_exactly(file, layout, numbers * (int64_t)sizeof *layout);
    block out = read_block(file), data = read_block(file), indices = read_block(file), updates = read_block(file);
    block want = read_block(file);

    const struct scattergen_kernel *kernel = find(name);
    const int64_t size = kernel->scratch_bytes(layout, threads);
    char *scratch = size ? allocate((size_t)size) : NULL;
    if (scratch)
        memset(scratch, 0xa5, (size_t)size);
    const int64_t checked = kernel->check(indices.first, layout, threads);
    const int64_t status =
        kernel->run(out.first, data.first, indices.first, updates.first, layout, scratch, threads);
    int wrong = 0;
    if (checked < -1 || status < -1 || (checked >= 0) != bad || (status >= 0) != bad) {
        fprintf(stderr, "%s, %d threads: check gives %lld, run %lld\n", title, (int)threads, (long long)checked,
                (long long)status);
        wrong = 1;
    } else if (!bad && memcmp(out.low, want.low, (size_t)out.size) != 0) {
        fprintf(stderr, "%s, %d threads: wrong result\n", title, (int)threads);
        wrong = 1;
    }
    free(scratch);
    free(layout);
    free(out.memory);
    free(data.memory);
    free(indices.memory);
    free(updates.memory);
    free(want.memory);
    return wrong;
}

int main(int count, char **words)
{
    FILE *file = count == 2 ? fopen(words[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: driver FILE\n");
        return 2;
    }
    const int64_t calls = read_number(file);
    int64_t wrong = 0;
    for (int64_t i = 0; i < calls; i++)
        wrong += run(file);
    fclose(file);
    printf("%lld calls, %lld wrong\n", (long long)calls, (long long)wrong);
    return wrong != 0;
}
