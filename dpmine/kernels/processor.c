/* What the library was compiled from, and what this processor can do: some loops are compiled for newer ones, too.

   The processor is asked. The compilers' __builtin_cpu_supports says no to everything in what zig links. */

#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 14.3 and 15.2: the registers that the system
   saves (XCR0), and bits of EBX and ECX in leaf 7. */
enum { OSXSAVE = 1 << 27, YMM = 0x6, ZMM = 0xe6, HAS_AVX2 = 1 << 5 };
#define HAS_AVX512 (UINT32_C(1) << 16 | UINT32_C(1) << 17 | UINT32_C(1) << 30 | UINT32_C(1) << 31) /* F, DQ, BW, VL */
#define HAS_VPOPCNTDQ (UINT32_C(1) << 14)

static int64_t best(void)
{
    uint32_t a, b, c, d, saved, unused;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return PORTABLE;
    __asm__("xgetbv" : "=a"(saved), "=d"(unused) : "c"(0));
    if ((saved & ZMM) == ZMM && (b & HAS_AVX512) == HAS_AVX512 && (c & HAS_VPOPCNTDQ) && (b & HAS_AVX2))
        return AVX512;
    return (saved & YMM) == YMM && (b & HAS_AVX2) ? AVX2 : PORTABLE;
}
#else
static int64_t best(void)
{
    return PORTABLE;
}
#endif

int64_t instructions(int64_t most)
{
    static int64_t found = -1; /* asking takes microseconds in a virtual machine; threads that race write the same */
    int64_t here = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (here < 0)
        __atomic_store_n(&found, here = best(), __ATOMIC_RELAXED);
    return most < 0 ? PORTABLE : most < here ? most : here;
}

/* The place in PORTABLE, AVX2, AVX512 of what is used here, up to `most`. */
KERNEL(instructions, int64_t most;)
{
    return instructions(a->most);
}

/* A hash of what the library was compiled from, which hatch_build.py computes. */
EXPORT const char dpmine_sources[] = KERNELS_SOURCES;
