/* Counts over finite classes of hypotheses. */

#include "kernels.h"

/* Residues modulo `prime` < 2^31: at v - least, the sum of sizes_i * sizes_j over i < j with gains_j - gains_i = v.

   `sizes` are residues themselves, `lowest` and `highest` the ends of the gains; `seen` has a zero for each gain in
   between, `found` one for each v of least ... most. A record costs no more than the differences within reach of it.
   Both go on from a call for earlier records. */
KERNEL(pairs_by_difference, Int64s gains; Uint64s sizes; int64_t least; int64_t most; int64_t lowest; int64_t highest;
       int64_t prime; Uint64sOut seen; Uint64sOut found;)
{
    if (a->sizes.length != a->gains.length || a->prime < 1 || a->highest - a->lowest != a->seen.length - 1 ||
        a->most - a->least != a->found.length - 1)
        return MISFIT;
    uint64_t prime = (uint64_t)a->prime, *seen = a->seen.at, *found = a->found.at;
    for (int64_t place = 0; place < a->gains.length; place++) {
        int64_t gain = a->gains.at[place];
        if (gain < a->lowest || gain > a->highest)
            return MISFIT;
        int64_t reach = a->most < gain - a->lowest ? a->most : gain - a->lowest;
        int64_t nearest = a->least > gain - a->highest ? a->least : gain - a->highest;
        for (int64_t difference = nearest; difference <= reach; difference++) {
            uint64_t before = seen[gain - difference - a->lowest];
            if (before)
                found[difference - a->least] = (found[difference - a->least] + a->sizes.at[place] * before) % prime;
        }
        seen[gain - a->lowest] = (seen[gain - a->lowest] + a->sizes.at[place]) % prime;
    }
    return 0;
}

enum { AXES = 6 };

/* How many points have a product > 0 with a weight vector, and how many < 0. The products are exact. */
INLINE void count_signs(const double *restrict weights, const double *restrict columns, int64_t points, int64_t *above,
                        int64_t *below)
{
    int64_t more = 0, less = 0;
    for (int64_t i = 0; i < points; i++) {
        double product = 0;
        for (int axis = 0; axis < AXES; axis++)
            product += weights[axis] * columns[axis * points + i];
        more += product > 0;
        less += product < 0;
    }
    *above = more;
    *below = less;
}

typedef void Signs(Doubles weights, const double *columns, int64_t points, int64_t *above, int64_t *below);

#define DEFINE_SIGNS(name, attribute)                                                                                  \
    attribute static void signs_##name(Doubles weights, const double *columns, int64_t points, int64_t *above,         \
                                       int64_t *below)                                                                 \
    {                                                                                                                  \
        for (int64_t row = 0; row < weights.length / AXES; row++)                                                      \
            count_signs(weights.at + row * AXES, columns, points, above + row, below + row);                           \
    }

DEFINE_SIGNS(portable, )
#if defined(__x86_64__)
DEFINE_SIGNS(avx2, __attribute__((target(AVX2_TARGET))))
DEFINE_SIGNS(avx512, __attribute__((target(AVX512_TARGET))))
static Signs *const SIGNS[] = {[PORTABLE] = signs_portable, [AVX2] = signs_avx2, [AVX512] = signs_avx512};
#else
static Signs *const SIGNS[] = {[PORTABLE] = signs_portable};
#endif

/* One pass over the points a weight vector: `weights` are k rows of six, `columns` six of `points`. */
KERNEL(signs, Doubles weights; Doubles columns; Int64sOut above; Int64sOut below; int64_t instructions;)
{
    int64_t vectors = a->above.length;
    if (a->weights.length != AXES * vectors || a->below.length != vectors || a->columns.length % AXES != 0)
        return MISFIT;
    SIGNS[instructions(a->instructions)](a->weights, a->columns.at, a->columns.length / AXES, a->above.at, a->below.at);
    return 0;
}
