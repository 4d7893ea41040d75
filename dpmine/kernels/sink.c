/* Where the itemsets go that a search finds: a histogram, a window that is written down, and crowds. */

#define RECORDS
#include "sink.h"

int32_t *count_crowd(const Sink *sink, const int32_t *prefix, int64_t size, int64_t more, int64_t rest)
{
    int64_t *wanted = sink->wanted.at, known = size - more - 1, longest = sink->alone.length / size - 1;
    if (rest > longest)
        return NULL; /* no row is that long, says who made the sink */
    sink->alone.at[more * (longest + 1) + rest]++;
    if (wanted[0] != more || wanted[1] != rest || --wanted[2] != -1)
        return NULL;
    memcpy(sink->crowd.at, prefix, (size_t)known * sizeof *prefix);
    sink->found.at[0] = COUNT_LIMIT; /* so the search is over */
    wanted[2] = -2;
    return sink->crowd.at + known;
}

/* C(n, k), or COUNT_LIMIT when that is smaller. */
static int64_t binomial(int64_t n, int64_t k)
{
    if (k > n)
        return 0;
    int64_t value = 1;
    for (int64_t j = 0; j < (k < n - k ? k : n - k); j++) {
        if (value > COUNT_LIMIT / (n > 1 ? n : 1))
            return COUNT_LIMIT;
        value = value * (n - j) / (j + 1);
    }
    return value;
}

static int64_t limited(int64_t count)
{
    return count < COUNT_LIMIT ? count : COUNT_LIMIT;
}

bool all_alone(const Sink *sink, int64_t rest, int64_t more)
{
    int64_t total = sink->highest >= 1 ? binomial(rest, more) : 0, found = sink->found.at[0];
    if (total == 0)
        return true;
    if (found + total > sink->skip && found - sink->skip < sink->supports.length)
        return false;
    sink->found.at[0] = limited(found + total);
    if (sink->histogram.length > 0)
        sink->histogram.at[1] = limited(sink->histogram.at[1] + total);
    return true;
}
