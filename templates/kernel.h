/* What the sources of scattergen's kernels share. Programs that call kernels need scattergen.h alone. */
#ifndef SCATTERGEN_KERNEL_H
#define SCATTERGEN_KERNEL_H

#include "scattergen.h"

/* How a kernel's source names the one object that it exports: `scattergen_kernel` in a library of its
 * own, `scattergen_<name>` (SCATTERGEN_AHEAD_OF_TIME) where many kernels share a library. */
#ifdef SCATTERGEN_AHEAD_OF_TIME
#define SCATTERGEN_EXPORT(name) SCATTERGEN_VISIBLE const struct scattergen_kernel scattergen_##name
#else
#define SCATTERGEN_EXPORT(name) SCATTERGEN_VISIBLE const struct scattergen_kernel scattergen_kernel
#endif

#define SCATTERGEN_VISIBLE __attribute__((visibility("default")))

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

enum { LINE = 64 }; /* bytes of a line of the caches */

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The address of element n of an array, which may lie anywhere: what is fetched ahead may be past the end, where a
 * pointer must not go. */
#define SCATTERGEN_AT(array, n) ((const void *)((uintptr_t)(array) + (uintptr_t)(n) * sizeof *(array)))

#endif
