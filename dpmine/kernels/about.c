/* What the library says of itself. */

#include "kernels.h"

/* A hash of what it was compiled from: hatch_build.py computes it. */
EXPORT const char *dpmine_sources(void);
EXPORT const char *dpmine_sources(void)
{
    return KERNELS_SOURCES;
}

/* The instructions that its loops use on this processor. */
EXPORT const char *dpmine_instructions(void);
EXPORT const char *dpmine_instructions(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512dq") ? "AVX-512" : __builtin_cpu_supports("avx2") ? "AVX2" : "x86-64-v2";
#elif defined(__aarch64__)
    return "ARMv8";
#else
    return "portable C";
#endif
}
