/* Cells: pairs of a basket and an item, in any order, and the baskets that they make. */

#include "kernels.h"

enum { SHORT = 32 }; /* items up to which insertion sorts fastest */

static void insert(int32_t *items, int64_t n)
{
    for (int64_t place = 1; place < n; place++) {
        int32_t item = items[place];
        int64_t hole = place;
        for (; hole > 0 && items[hole - 1] > item; hole--)
            items[hole] = items[hole - 1];
        items[hole] = item;
    }
}

static void merge(const int32_t *left, const int32_t *right, const int32_t *end, int32_t *into)
{
    const int32_t *middle = right;
    while (left < middle && right < end) {
        bool later = *right < *left;
        *into++ = later ? *right : *left;
        right += later;
        left += !later;
    }
    memcpy(into, left, (size_t)(middle - left) * sizeof *into);
    memcpy(into + (middle - left), right, (size_t)(end - right) * sizeof *into);
}

bool sort_items(int32_t *items, int64_t n, Room *spare)
{
    if (n <= SHORT) {
        insert(items, n);
        return true;
    }
    int32_t *from = items, *to = room_for(spare, (size_t)n * sizeof *items);
    if (to == NULL)
        return false;
    for (int64_t start = 0; start < n; start += SHORT)
        insert(items + start, n - start < SHORT ? n - start : SHORT);
    for (int64_t run = SHORT; run < n; run *= 2) {
        for (int64_t start = 0; start < n; start += 2 * run) {
            int64_t middle = n - start < run ? n : start + run;
            int64_t end = n - start < 2 * run ? n : start + 2 * run;
            merge(from + start, from + middle, from + end, to + start);
        }
        int32_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != items)
        memcpy(items, from, (size_t)n * sizeof *items);
    return true;
}

/* The least and the largest number into `range`; whether none is below the one before it. */
KERNEL(extent, Int64s numbers; Int64sOut range;)
{
    if (a->numbers.length < 1 || a->range.length != 2)
        return MISFIT;
    const int64_t *numbers = a->numbers.at;
    int64_t low = numbers[0], high = low, descents = 0;
    for (int64_t place = 1; place < a->numbers.length; place++) {
        int64_t number = numbers[place];
        low = number < low ? number : low;
        high = number > high ? number : high;
        descents |= number < numbers[place - 1];
    }
    a->range.at[0] = low;
    a->range.at[1] = high;
    return descents == 0;
}

/* Set seen[code] to 1 for every code; -1 stands for none. */
KERNEL(occurring, Int64s codes; BytesOut seen;)
{
    for (int64_t place = 0; place < a->codes.length; place++) {
        int64_t code = a->codes.at[place];
        if (code < 0)
            continue;
        if (code >= a->seen.length)
            return MISFIT;
        a->seen.at[code] = 1;
    }
    return 0;
}

/* numbers[code + 1] for each code >= -1. */
KERNEL(recoded, Int64s codes; Int32s numbers; Int32sOut recoded;)
{
    if (a->recoded.length != a->codes.length)
        return MISFIT;
    for (int64_t place = 0; place < a->codes.length; place++) {
        uint64_t number = (uint64_t)(a->codes.at[place] + 1);
        if (number >= (uint64_t)a->numbers.length)
            return MISFIT;
        a->recoded.at[place] = a->numbers.at[number];
    }
    return 0;
}

/* The baskets of cells that come by basket, then by item, none twice: their names, and where each starts and ends.

   Returns how many baskets there are; 0 where the cells come in another order. */
KERNEL(in_order, Int64s baskets; Int32s items; Int64sOut names; Int64sOut starts;)
{
    int64_t found = 0, before = INT64_MIN, room = a->names.length;
    int32_t item_before = INT32_MIN;
    if (a->baskets.length != a->items.length || a->starts.length != room || room < 1)
        return MISFIT;
    for (int64_t place = 0; place < a->items.length; place++) {
        int64_t basket = a->baskets.at[place];
        int32_t item = a->items.at[place];
        bool is_new = place == 0 || basket != before;
        if (found >= room)
            return MISFIT;
        if (!((basket > before) | (item > item_before)) | (basket < before)) /* one jump, which is foreseen */
            return 0;
        a->names.at[found] = basket; /* written over unless it is new */
        a->starts.at[found] = place;
        found += is_new;
        before = basket;
        item_before = item;
    }
    if (found >= room)
        return MISFIT;
    a->starts.at[found] = a->items.length;
    return found;
}

/* Sort items[first ... end - 1] and move them to `to` <= first, each once; the end there, or NO_MEMORY. */
static int64_t tidied(int32_t *items, int64_t first, int64_t end, int64_t to, Room *spare)
{
    if (!sort_items(items + first, end - first, spare))
        return NO_MEMORY;
    for (int64_t place = first, start = to; place < end; place++)
        if (to == start || items[place] != items[to - 1])
            items[to++] = items[place];
    return to;
}

/* Place each cell in its basket: `ends` receives the end of every basket in `placed`. */
static bool place(Int64s baskets, Int32s items, Int64sOut ends, int32_t *placed)
{
    int64_t count = ends.length - 1;
    memset(ends.at, 0, (size_t)ends.length * sizeof *ends.at);
    for (int64_t cell = 0; cell < baskets.length; cell++) {
        if ((uint64_t)baskets.at[cell] >= (uint64_t)count)
            return false;
        ends.at[baskets.at[cell] + 1]++;
    }
    for (int64_t basket = 0; basket < count; basket++)
        ends.at[basket + 1] += ends.at[basket];
    for (int64_t cell = 0; cell < items.length; cell++)
        placed[ends.at[baskets.at[cell]]++] = items.at[cell];
    return true;
}

/* The names of the baskets that have cells, ascending, the starts of their items, and these, sorted, each once.

   `ends` has room for a number a basket, and one more. Returns the number of names. One pass places the cells; then
   only baskets that are out of order are sorted. */
KERNEL(arranged, Int64s baskets; Int32s items; Int64sOut ends; Int64sOut names; Int64sOut starts; Int32sOut placed;)
{
    int64_t count = a->ends.length - 1, cells = a->items.length;
    if (a->baskets.length != cells || a->placed.length != cells || count < 0 ||
        a->names.length != (count < cells ? count : cells) || a->starts.length != a->names.length + 1 ||
        !place(a->baskets, a->items, a->ends, a->placed.at))
        return MISFIT;
    Room spare = {0};
    int64_t found = 0, kept = 0, first = 0;
    a->starts.at[0] = 0;
    for (int64_t basket = 0; basket < count && kept >= 0; basket++) {
        int64_t end = a->ends.at[basket];
        if (end > first) {
            kept = tidied(a->placed.at, first, end, kept, &spare);
            a->names.at[found++] = basket;
            a->starts.at[found] = kept;
        }
        first = end;
    }
    free(spare.at);
    return kept < 0 ? kept : found;
}

/* Sort the items of each row in place. */
KERNEL(sort_rows, Int32sOut items; Int64s starts;)
{
    int64_t rows = a->starts.length - 1;
    if (!are_rows(a->starts, 0, rows, a->items.length))
        return MISFIT;
    Room spare = {0};
    bool sorted = true;
    for (int64_t row = 0; row < rows && sorted; row++)
        sorted = sort_items(a->items.at + a->starts.at[row], a->starts.at[row + 1] - a->starts.at[row], &spare);
    free(spare.at);
    return sorted ? 0 : NO_MEMORY;
}
