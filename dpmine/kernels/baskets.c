/* Baskets: the supports of their items, and their rows in other numbers. */

#include "kernels.h"

/* Add the occurrences of every item to `counts`. */
KERNEL(count_items, Int32s items; Int64sOut counts;)
{
    for (int64_t place = 0; place < a->items.length; place++) {
        uint32_t item = (uint32_t)a->items.at[place];
        if (item >= a->counts.length)
            return MISFIT;
        a->counts.at[item]++;
    }
    return 0;
}

/* Add to `supports`, for every item, the number of units with a row that holds it. `last`: -1 for every item. */
KERNEL(count_units, Int32s items; Int64s starts; Int32s units; Int32sOut last; Int64sOut supports;)
{
    int64_t rows = a->units.length;
    if (a->starts.length != rows + 1 || a->last.length != a->supports.length ||
        !are_rows(a->starts, 0, rows, a->items.length))
        return MISFIT;
    for (int64_t row = 0; row < rows; row++) {
        int32_t unit = a->units.at[row];
        for (int64_t place = a->starts.at[row]; place < a->starts.at[row + 1]; place++) {
            uint32_t item = (uint32_t)a->items.at[place];
            if (item >= a->last.length)
                return MISFIT;
            if (a->last.at[item] != unit) {
                a->last.at[item] = unit;
                a->supports.at[item]++;
            }
        }
    }
    return 0;
}

/* The rows first ... end - 1 in other numbers, without the items numbered -1: items, ends of rows, and units.

   Rows that keep fewer than two items are left out: they hold no itemset that is searched for. Returns how many rows
   are left. */
KERNEL(restrict_rows, Int32s items; Int64s starts; Int32s units; int64_t first; int64_t end; Int32s number_of;
       Int32sOut kept; Int64sOut ends; Int32sOut owners;)
{
    int64_t first = a->first, end = a->end;
    if (a->starts.length != a->units.length + 1 ||
        !are_rows_of_places(a->starts, first, end, a->items, a->number_of.length) ||
        a->kept.length <= a->starts.at[end] - a->starts.at[first] || a->ends.length != end - first ||
        a->owners.length != end - first)
        return MISFIT;
    const int32_t *restrict number_of = a->number_of.at;
    int32_t *restrict kept = a->kept.at;
    int64_t rows = 0, filled = 0;
    for (int64_t row = first; row < end; row++) {
        int64_t begun = filled, last = a->starts.at[row + 1];
        for (int64_t place = a->starts.at[row]; place < last; place++) {
            int32_t number = number_of[(uint32_t)a->items.at[place]];
            kept[filled] = number; /* overwritten when it is none: faster than an unforeseeable branch */
            filled += number >= 0;
        }
        if (filled - begun < 2) {
            filled = begun;
            continue;
        }
        a->ends.at[rows] = filled;
        a->owners.at[rows++] = a->units.at[row];
    }
    return rows;
}

/* Rewrite the rows first ... end - 1 as increasing ranks: `into`, with `row_of` and `place_of` of every occurrence.

   The occurrences of the item of rank k in these rows are numbers free[k], free[k] + 1, ...; `free` holds their ends
   afterwards. `ends` has room for a number a row. Linear time: the rows are transposed and transposed back, which sorts
   them. */
KERNEL(rank_rows, Int32s items; Int64s starts; Int32s rank_of; int64_t first; int64_t end; Int64s item_starts;
       Int64sOut free; Int64sOut ends; Int32sOut into; Int32sOut row_of; Int64sOut place_of;)
{
    int64_t first = a->first, end = a->end, length = a->items.length;
    if (a->into.length != length || a->row_of.length != length || a->place_of.length != length ||
        a->item_starts.length != a->free.length || a->ends.length != end - first ||
        !are_rows_of_places(a->starts, first, end, a->items, a->rank_of.length) ||
        !are_places(a->rank_of, 0, a->rank_of.length, a->free.length))
        return MISFIT;
    memcpy(a->free.at, a->item_starts.at, (size_t)a->free.length * sizeof *a->free.at);
    for (int64_t row = first; row < end; row++)
        for (int64_t place = a->starts.at[row]; place < a->starts.at[row + 1]; place++) {
            int64_t occurrence = a->free.at[a->rank_of.at[a->items.at[place]]]++;
            if ((uint64_t)occurrence >= (uint64_t)length)
                return MISFIT;
            a->row_of.at[occurrence] = (int32_t)row;
        }
    memcpy(a->ends.at, a->starts.at + first, (size_t)(end - first) * sizeof *a->ends.at);
    for (int64_t rank = 0; rank < a->item_starts.length; rank++)
        for (int64_t occurrence = a->item_starts.at[rank]; occurrence < a->free.at[rank]; occurrence++) {
            int64_t row = a->row_of.at[occurrence] - first;
            if ((uint64_t)row >= (uint64_t)a->ends.length || a->ends.at[row] >= a->starts.at[first + row + 1])
                return MISFIT; /* two items share an occurrence */
            int64_t place = a->ends.at[row]++;
            if (place > a->starts.at[first + row] && a->into.at[place - 1] == rank)
                return MISFIT; /* an item twice in a row */
            a->into.at[place] = (int32_t)rank;
            a->place_of.at[occurrence] = place;
        }
    return 0;
}

/* The first place in [begin, end) whose item is not below the wanted one. */
static int64_t place_of(const int32_t *items, int64_t begin, int64_t end, int32_t wanted)
{
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (items[middle] < wanted)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* How many units have a stretch items[begins[k] ... ends[k] - 1], k = 0, 1, ..., with all of `wanted` in it.

   Stretches and `wanted` strictly increase; units[k], the owner, never decreases. */
KERNEL(units_containing, Int32s items; Int64s begins; Int64s ends; Int32s units; Int32s wanted;)
{
    if (a->begins.length != a->units.length || a->ends.length != a->units.length)
        return MISFIT;
    int64_t support = 0, last = -1;
    for (int64_t k = 0; k < a->units.length; k++) {
        int64_t place = a->begins.at[k], end = a->ends.at[k];
        if (place < 0 || end > a->items.length)
            return MISFIT;
        bool held = a->units.at[k] != last;
        for (int64_t i = 0; i < a->wanted.length && held; i++) {
            place = place_of(a->items.at, place, end, a->wanted.at[i]);
            held = place < end && a->items.at[place] == a->wanted.at[i];
        }
        if (held) {
            last = a->units.at[k];
            support++;
        }
    }
    return support;
}
