/* What this processor can do: compiled is for all of a kind, and some loops for what only newer ones have. */

#include "kernels.h"

#if defined(__x86_64__)
static int64_t best(void)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq"))
        return AVX512;
    return __builtin_cpu_supports("avx2") ? AVX2 : PORTABLE;
}
#else
static int64_t best(void)
{
    return PORTABLE;
}
#endif

int64_t instructions(int64_t most)
{
    int64_t here = best();
    return most < 0 ? PORTABLE : most < here ? most : here;
}

/* The place in PORTABLE, AVX2, AVX512 of what is used here, up to `most`. */
KERNEL(instructions, int64_t most;)
{
    return instructions(a->most);
}
