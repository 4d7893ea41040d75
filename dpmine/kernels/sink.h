/* What becomes of the itemsets that a search finds. */

#ifndef DPMINE_SINK_H
#define DPMINE_SINK_H

#include "kernels.h"

/* Whether the arrays of a sink fit together, and the size of its itemsets. */
static inline bool is_sink(const Sink *sink, int64_t size)
{
    return size >= 2 && sink->lowest >= 1 && sink->itemsets.length == size * sink->supports.length &&
           sink->found.length == 1 && sink->wanted.length == 3 && sink->alone.length % size == 0 &&
           (sink->alone.length == 0 || sink->crowd.length >= size + sink->alone.length / size - 1);
}

static inline bool is_watch(const Watch *watch)
{
    return watch->stop.length == 1 && watch->done.length == 1;
}

/* Whether enough was found, or another thread wants the search to end. */
INLINE bool is_over(const Sink *sink, const Watch *watch)
{
    return sink->found.at[0] >= __atomic_load_n(watch->stop.at, __ATOMIC_RELAXED);
}

/* The share of a whole search that lies behind a prefix: it begins at `begun` in [0, 1] and is `width` wide. */
typedef struct {
    double begun, width;
} Share;

enum { WATCHED_DEPTH = 3 }; /* deeper, there are many prefixes, and each is little of the whole */

/* The part of a share from `before` to `after`, as parts of 1; all that is before it is done. */
INLINE Share go_into(Share share, double before, double after, const Watch *watch)
{
    Share part = {share.begun + share.width * before, share.width * (after - before)};
    __atomic_store(watch->done.at, &part.begun, __ATOMIC_RELAXED);
    return part;
}

/* Write the itemset prefix + code down, codes increasing. */
INLINE void write_itemset(const Sink *sink, int64_t slot, const int32_t *prefix, int64_t size, int32_t code,
                          int64_t support)
{
    sink->supports.at[slot] = support;
    int32_t *row = sink->itemsets.at + slot * size;
    for (int64_t depth = 0; depth < size; depth++) {
        int32_t new = depth == size - 1 ? code : prefix[depth];
        int64_t place = depth;
        for (; place > 0 && row[place - 1] > new; place--)
            row[place] = row[place - 1];
        row[place] = new;
    }
}

/* Account for the itemset number `found`; whether it is one that counts. */
INLINE bool accept(const Sink *sink, int64_t found, const int32_t *prefix, int64_t size, int32_t code, int64_t support)
{
    if (support < sink->lowest || support > sink->highest)
        return false;
    if (support < sink->histogram.length)
        sink->histogram.at[support]++;
    if (found >= sink->skip && found - sink->skip < sink->supports.length)
        write_itemset(sink, found - sink->skip, prefix, size, code, support);
    return true;
}

/* Count a crowd: the itemsets of a prefix, an item and `more` of the `rest` items behind it in one row. Where it is the
   one wanted, the search ends, and the codes of the prefix are written down: those of the row belong to the place
   returned, which is NULL otherwise. */
int32_t *count_crowd(const Sink *sink, const int32_t *prefix, int64_t size, int64_t more, int64_t rest);

/* Account for the C(rest, more) itemsets of one row, of support 1; false if some of them are to be written down. */
bool all_alone(const Sink *sink, int64_t rest, int64_t more);

#endif
