/* What becomes of the itemsets that a search finds. */

#ifndef DPMINE_SINK_H
#define DPMINE_SINK_H

#include "kernels.h"

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
    if (sink->histogram.length > 0)
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
