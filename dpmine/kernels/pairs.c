/* The supports of all pairs of few items: a square of counters, at [earlier item, later item] that of the pair. */

#include "kernels.h"

static bool is_square(int64_t length, int64_t items)
{
    return items >= 0 && items < (INT64_C(1) << 31) && length == items * items;
}

/* Units with one row each: add the pairs of the rows first ... end - 1. */
KERNEL(count_pairs, Int32s items; Int64s starts; int64_t first; int64_t end; int64_t numbers; Int32sOut counts;)
{
    if (!is_square(a->counts.length, a->numbers) ||
        !are_rows_of_places(a->starts, a->first, a->end, a->items, a->numbers))
        return MISFIT;
    const int32_t *restrict items = a->items.at;
    for (int64_t row = a->first; row < a->end; row++) {
        int64_t end = a->starts.at[row + 1];
        for (int64_t place = a->starts.at[row]; place < end; place++) {
            int32_t *restrict counts = a->counts.at + items[place] * a->numbers;
            for (int64_t later = place + 1; later < end; later++)
                counts[(uint32_t)items[later]]++;
        }
    }
    return 0;
}

/* Units with several rows: each counts once. `last`: -1 in every cell. */
KERNEL(count_unit_pairs, Int32s items; Int64s starts; Int32s units; int64_t first; int64_t end; int64_t numbers;
       Int32sOut last; Int32sOut counts;)
{
    if (!is_square(a->counts.length, a->numbers) || a->last.length != a->counts.length ||
        a->starts.length != a->units.length + 1 ||
        !are_rows_of_places(a->starts, a->first, a->end, a->items, a->numbers))
        return MISFIT;
    const int32_t *restrict items = a->items.at;
    for (int64_t row = a->first; row < a->end; row++) {
        int64_t end = a->starts.at[row + 1];
        int32_t unit = a->units.at[row];
        for (int64_t place = a->starts.at[row]; place < end; place++) {
            int32_t *restrict counts = a->counts.at + items[place] * a->numbers;
            int32_t *restrict last = a->last.at + items[place] * a->numbers;
            for (int64_t later = place + 1; later < end; later++) {
                uint32_t item = (uint32_t)items[later];
                counts[item] += last[item] != unit;
                last[item] = unit;
            }
        }
    }
    return 0;
}

/* Add to `partners`, for each item, how many pairs with support >= lowest it is in. */
KERNEL(partners_of, Int32s counts; int64_t lowest; Int64sOut partners;)
{
    int64_t items = a->partners.length;
    if (!is_square(a->counts.length, items))
        return MISFIT;
    for (int64_t item = 0; item < items; item++)
        for (int64_t later = item + 1; later < items; later++)
            if (a->counts.at[item * items + later] >= a->lowest) {
                a->partners.at[item]++;
                a->partners.at[later]++;
            }
    return 0;
}

/* How many pairs have a support >= lowest. */
KERNEL(frequent_pairs, Int32s counts; int64_t lowest;)
{
    int64_t found = 0;
    for (int64_t cell = 0; cell < a->counts.length; cell++)
        found += a->counts.at[cell] >= a->lowest;
    return found;
}

/* The pairs with support >= lowest as codes, and their supports; there are as many as there is room for. */
KERNEL(listed_pairs, Int32s counts; Int32s labels; int64_t lowest; Int32sOut pairs; Int64sOut supports;)
{
    int64_t items = a->labels.length, filled = 0;
    if (!is_square(a->counts.length, items) || a->pairs.length != 2 * a->supports.length)
        return MISFIT;
    for (int64_t item = 0; item < items; item++)
        for (int64_t later = item + 1; later < items; later++) {
            int32_t count = a->counts.at[item * items + later];
            if (count < a->lowest)
                continue;
            if (filled == a->supports.length)
                return MISFIT;
            a->pairs.at[2 * filled] = a->labels.at[item];
            a->pairs.at[2 * filled + 1] = a->labels.at[later];
            a->supports.at[filled++] = count;
        }
    return filled;
}

/* Add to `levels` how many pairs have each support >= lowest >= 1. */
KERNEL(levels_of_pairs, Int32s counts; int64_t lowest; Int64sOut levels;)
{
    for (int64_t cell = 0; cell < a->counts.length; cell++) {
        int32_t count = a->counts.at[cell];
        if (count < a->lowest)
            continue;
        if (count < 0 || count >= a->levels.length)
            return MISFIT;
        a->levels.at[count]++;
    }
    return 0;
}
