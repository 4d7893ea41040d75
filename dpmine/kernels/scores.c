/* Scores in bands below the best one. */

#include <float.h>

#include "kernels.h"

enum { KEYS = 256, TABLES = 4, BLOCK = 4096 };

/* Several tables, so that equal keys in a row do not wait for each other's number. */
static void count_keys(const uint8_t *keys, int64_t n, int64_t (*tables)[KEYS])
{
    int64_t place = 0;
    for (; place + TABLES <= n; place += TABLES)
        for (int64_t table = 0; table < TABLES; table++)
            tables[table][keys[place + table]]++;
    for (; place < n; place++)
        tables[0][keys[place]]++;
}

/* The whole part of (best - score) * factor, from 0 to the number of the last band, into `keys`; how often each occurs.
   GAP is best - score, rounded once or less than that. */
#define BANDS(GAP)                                                                                                     \
    int64_t n = a->scores.length, last = a->counts.length - 1;                                                         \
    if (a->keys.length != n || a->factor.length != 1 || last < 0 || last >= KEYS)                                      \
        return MISFIT;                                                                                                 \
    double factor = a->factor.at[0], end = (double)last;                                                               \
    int64_t tables[TABLES][KEYS] = {{0}};                                                                              \
    for (int64_t start = 0; start < n; start += BLOCK) {                                                               \
        int64_t stop = n - start < BLOCK ? n : start + BLOCK;                                                          \
        for (int64_t place = start; place < stop; place++) {                                                           \
            double depth = (GAP)*factor;                                                                               \
            depth = depth < end ? depth : end;                                                                         \
            a->keys.at[place] = (uint8_t)(depth > 0 ? depth : 0);                                                      \
        }                                                                                                              \
        count_keys(a->keys.at + start, stop - start, tables);                                                          \
    }                                                                                                                  \
    for (int64_t key = 0; key <= last; key++)                                                                          \
        a->counts.at[key] = tables[0][key] + tables[1][key] + tables[2][key] + tables[3][key];                         \
    return 0;

/* At most the largest number, where the difference is a larger one. */
INLINE double distance(double best, double score)
{
    double gap = best - score;
    return gap < DBL_MAX ? gap : DBL_MAX;
}

KERNEL(bands_of_floats, Doubles scores; Doubles best; Doubles factor; BytesOut keys; Int64sOut counts;)
{
    if (a->best.length != 1)
        return MISFIT;
    double best = a->best.at[0];
    BANDS(distance(best, a->scores.at[place]))
}

/* Differences modulo 2^64 are those of the integers, whatever their signs. */
KERNEL(bands_of_integers, Int64s scores; Int64s best; Doubles factor; BytesOut keys; Int64sOut counts;)
{
    if (a->best.length != 1)
        return MISFIT;
    int64_t best = a->best.at[0];
    BANDS(a->scores.at[place] > best ? 0.0 : (double)((uint64_t)best - (uint64_t)a->scores.at[place]))
}
