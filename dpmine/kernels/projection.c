/* Out of core: what follows an item in the baskets that hold it, for many items at once; hashes of texts. */

#include "kernels.h"

/* Baskets of some units. */
typedef struct {
    Int32s items;
    Int64s starts, units;
} Part;

static bool fit(Part part, int64_t ranks)
{
    return part.starts.length == part.units.length + 1 &&
           are_rows_of_places(part.starts, 0, part.units.length, part.items, ranks);
}

/* The ranks of the items of a basket, sorted; NULL without memory. */
static const int32_t *ranks_of(Part part, int64_t basket, Int32s rank_of, Room *ranks, Room *spare)
{
    int64_t start = part.starts.at[basket], length = part.starts.at[basket + 1] - start;
    int32_t *found = room_for(ranks, (size_t)length * sizeof *found);
    for (int64_t k = 0; found != NULL && k < length; k++)
        found[k] = rank_of.at[part.items.at[start + k]];
    return found != NULL && sort_items(found, length, spare) ? found : NULL;
}

/* Add, for every rank, the baskets in which a higher rank follows, and how many follow in all of them. */
KERNEL(measure, Int32s items; Int64s starts; Int64s units; Int32s rank_of; Int64sOut rows; Int64sOut entries;)
{
    Part part = {a->items, a->starts, a->units};
    if (!fit(part, a->rank_of.length) || a->rows.length != a->rank_of.length || a->entries.length != a->rank_of.length ||
        !are_places(a->rank_of, 0, a->rank_of.length, a->rank_of.length))
        return MISFIT;
    Room room = {0}, spare = {0};
    bool enough = true;
    for (int64_t basket = 0; basket < a->units.length && enough; basket++) {
        const int32_t *ranks = ranks_of(part, basket, a->rank_of, &room, &spare);
        int64_t followers = a->starts.at[basket + 1] - a->starts.at[basket] - 1;
        enough = ranks != NULL;
        for (int64_t place = 0; enough && place < followers; place++) {
            a->rows.at[ranks[place]]++;
            a->entries.at[ranks[place]] += followers - place;
        }
    }
    free(room.at);
    free(spare.at);
    return enough ? 0 : NO_MEMORY;
}

/* What follows each of some ranks: a stretch of rows and of entries for every rank, with its next free places. */
typedef struct {
    Int64sOut free_row, free_entry, row_starts, row_units;
    Int32sOut entries;
} Stretches;

/* Write `length` ranks as a row of stretch `own`; false where there is no room for it. */
static bool write_row(const int32_t *ranks, int64_t length, int64_t unit, int64_t own, Stretches to)
{
    int64_t row = to.free_row.at[own]++, entry = to.free_entry.at[own];
    if (row < 0 || row >= to.row_units.length || entry < 0 || entry > to.entries.length - length)
        return false;
    to.row_starts.at[row] = entry;
    to.row_units.at[row] = unit;
    memcpy(to.entries.at + entry, ranks, (size_t)length * sizeof *ranks);
    to.free_entry.at[own] += length;
    return true;
}

/* Whether a basket has one of the ranks first ... first + count - 1. */
INLINE bool has_rank(Part part, int64_t basket, Int32s rank_of, int64_t first, int64_t count)
{
    bool has = false;
    for (int64_t place = part.starts.at[basket]; place < part.starts.at[basket + 1]; place++)
        has |= (uint64_t)(rank_of.at[part.items.at[place]] - first) < (uint64_t)count;
    return has;
}

/* Write what follows the rank first + k in the baskets into stretch k, for every stretch. */
KERNEL(deliver, Int32s items; Int64s starts; Int64s units; Int32s rank_of; int64_t first; Int64sOut free_row;
       Int64sOut free_entry; Int64sOut row_starts; Int64sOut row_units; Int32sOut entries;)
{
    Part part = {a->items, a->starts, a->units};
    Stretches to = {a->free_row, a->free_entry, a->row_starts, a->row_units, a->entries};
    if (!fit(part, a->rank_of.length) || to.free_entry.length != to.free_row.length || to.row_starts.length != to.row_units.length + 1)
        return MISFIT;
    Room room = {0}, spare = {0};
    int64_t failure = 0;
    for (int64_t basket = 0; basket < a->units.length && !failure; basket++) {
        if (!has_rank(part, basket, a->rank_of, a->first, to.free_row.length))
            continue; /* nothing to put in order */
        const int32_t *ranks = ranks_of(part, basket, a->rank_of, &room, &spare);
        int64_t followers = a->starts.at[basket + 1] - a->starts.at[basket] - 1;
        if (ranks == NULL)
            failure = NO_MEMORY;
        for (int64_t place = 0; !failure && place < followers; place++) {
            int64_t own = ranks[place] - a->first;
            if (own >= to.free_row.length)
                break;
            if (own >= 0 && !write_row(ranks + place + 1, followers - place, a->units.at[basket], own, to))
                failure = MISFIT;
        }
    }
    free(room.at);
    free(spare.at);
    return failure;
}

/* Number the pairs (stretch, rank) without gaps, in order, and put the numbers in the place of the ranks.

   Stretch k is entries[bounds[k] ... bounds[k + 1] - 1]; `number` holds -1 for every rank. `pairs` receives
   k * ranks + rank for every number; returns how many there are. */
KERNEL(renumber, Int32sOut entries; Int64s bounds; Int32sOut number; Int32sOut met; Int64sOut pairs;)
{
    int64_t ranks = a->number.length, stretches = a->bounds.length - 1, known = 0;
    if (a->pairs.length != a->entries.length || a->met.length != ranks ||
        !are_rows_of_places(a->bounds, 0, stretches, (Int32s){a->entries.at, a->entries.length}, ranks))
        return MISFIT;
    Room spare = {0};
    bool sorted = true;
    for (int64_t stretch = 0; stretch < stretches && sorted; stretch++) {
        int64_t found = 0;
        for (int64_t place = a->bounds.at[stretch]; place < a->bounds.at[stretch + 1]; place++) {
            int32_t rank = a->entries.at[place];
            if (a->number.at[rank] < 0) {
                a->number.at[rank] = 0;
                a->met.at[found++] = rank;
            }
        }
        sorted = sort_items(a->met.at, found, &spare);
        for (int64_t k = 0; k < found; k++) {
            a->pairs.at[known + k] = stretch * ranks + a->met.at[k];
            a->number.at[a->met.at[k]] = (int32_t)(known + k);
        }
        for (int64_t place = a->bounds.at[stretch]; place < a->bounds.at[stretch + 1]; place++)
            a->entries.at[place] = a->number.at[a->entries.at[place]];
        for (int64_t k = 0; k < found; k++)
            a->number.at[a->met.at[k]] = -1;
        known += found;
    }
    free(spare.at);
    return sorted ? known : NO_MEMORY;
}

/* The hash FNV-1a of each text content[starts[k] ... starts[k + 1] - 1]: equal texts have equal hashes. */
KERNEL(text_hashes, Bytes content; Int64s starts; Uint64sOut hashes;)
{
    int64_t texts = a->hashes.length;
    if (a->starts.length != texts + 1 || !are_rows(a->starts, 0, texts, a->content.length))
        return MISFIT;
    for (int64_t text = 0; text < texts; text++) {
        uint64_t value = UINT64_C(14695981039346656037);
        for (int64_t place = a->starts.at[text]; place < a->starts.at[text + 1]; place++)
            value = (value ^ a->content.at[place]) * UINT64_C(1099511628211);
        a->hashes.at[text] = value;
    }
    return 0;
}
