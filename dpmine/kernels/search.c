/* The search for itemsets, through rows.

   Itemsets are grown item by item, each one in exactly one way: the items of a row stand in one fixed order, rare items
   first, and a prefix is extended by items that come later in the rows that contain it (occurrence delivery). Rare first
   keeps the projections short, and makes thresholds free: all items after a frequent item are frequent. Rests that are
   dense in their items are turned into bitmaps and intersected. */

#include "table.h"

/* Hand the itemsets prefix + later item to the sink, and bring the working space to rest. */
static void take(const Table *table, int64_t met, Scratch *scratch, int64_t size, const Sink *sink)
{
    int64_t found = sink->found.at[0];
    for (int64_t k = 0; k < met; k++) {
        int32_t later = scratch->touched[k], support = scratch->counts[later];
        scratch->counts[later] = 0;
        scratch->last[later] = -1;
        found += accept(sink, found, scratch->prefix, size, table->labels[later], support);
    }
    sink->found.at[0] = found;
}

/* Whether the itemsets that go on with `item`, and `more` others, need no search: too few rows hold it, or one. */
static bool passed_over(const Table *table, int64_t item, int64_t more, const int32_t *prefix, int64_t size,
                        const Sink *sink)
{
    int64_t first = table->item_starts[item], rows = table->item_starts[item + 1] - first;
    if (rows != 1 || sink->lowest > 1)
        return rows < greater(1, sink->lowest);
    int64_t place = table->place_of[first], rest = table->starts[table->row_of[first] + 1] - place - 1;
    if (sink->alone.length == 0 || rest < more)
        return all_alone(sink, rest, more);
    int32_t *codes = count_crowd(sink, prefix, size, more, rest);
    for (int64_t k = 0; codes != NULL && k <= rest; k++)
        codes[k] = table->labels[table->items[place + k]];
    return true;
}

/* The last two items: first items `first` ... `end` - 1, and every item behind them. */
static void search_pairs(const Table *table, int64_t first, int64_t end, Scratch *scratch, int64_t size,
                         const Sink *sink, const Watch *watch)
{
    for (int64_t item = first; item < end && !is_over(sink, watch); item++) {
        if (passed_over(table, item, 1, scratch->prefix, size, sink))
            continue;
        scratch->prefix[size - 2] = table->labels[item];
        take(table, count_later(table, item, scratch), scratch, size, sink);
    }
}

/* Search a dense projection as bitmaps. */
static int64_t search_as_bitmaps(const Table *table, int64_t known, int64_t size, Scratch *scratch, const Sink *sink,
                                 const Watch *watch)
{
    uint64_t *words = bits_of(table, &scratch->bits);
    if (words == NULL)
        return NO_MEMORY;
    Maps maps = {table->labels, words, table->codes, (table->rows + 63) / 64, NULL};
    return search_below(maps, 0, table->codes, known, size, scratch->prefix, sink, watch, table->share,
                        scratch->instructions);
}

/* As `dpmine_search`, with working space: one table and one place to go on from for each item of a prefix. */
static int64_t search(Table *tables, int64_t *following, int64_t end, Scratch *scratch, int64_t size, const Sink *sink,
                      const Watch *watch)
{
    for (int64_t depth = 0; depth >= 0;) {
        Table *table = &tables[depth];
        int64_t more = size - depth, item = following[depth], last = depth == 0 ? end : table->codes;
        if (more == 2)
            search_pairs(table, item, last, scratch, size, sink, watch);
        if (more == 2 || item == last || is_over(sink, watch)) {
            depth--;
            continue;
        }
        following[depth]++;
        if (passed_over(table, item, more - 1, scratch->prefix, size, sink))
            continue;
        scratch->prefix[depth] = table->labels[item];
        Arrays arrays;
        Table *behind = &tables[depth + 1];
        if (depth < WATCHED_DEPTH)
            behind->share = go_into(table->share, occurrences_before(table, item), occurrences_before(table, item + 1), watch);
        int64_t met = count_later(table, item, scratch), kept = number_frequent(table, met, scratch, sink->lowest);
        bool has_room = project_behind(table, item, more - 1, kept, scratch, &arrays, behind);
        forget_numbers(met, scratch);
        if (!has_room)
            return NO_MEMORY;
        if (behind->rows < greater(1, sink->lowest))
            continue;
        if (is_dense(behind)) {
            int64_t failure = search_as_bitmaps(behind, depth + 1, size, scratch, sink, watch);
            if (failure)
                return failure;
        } else {
            add_places(&arrays, behind);
            following[++depth] = 0;
        }
    }
    return 0;
}

/* Hand to `sink` every itemset of `size` >= 2 items whose first item in the order of the rows is in [first, end).

   Order: by first item; below, by first meeting; it depends on the rows and on `sink.lowest` alone. */
KERNEL(search, Rows rows; int64_t first; int64_t end; int64_t size; Sink sink; Watch watch; int64_t instructions;)
{
    const Rows *rows = &a->rows;
    if (!are_whole(rows, a->first, a->end) || !is_sink(&a->sink, a->size) || !is_watch(&a->watch))
        return MISFIT;
    int64_t failure = NO_MEMORY;
    Scratch scratch;
    bool has_scratch = new_scratch(rows->labels.length, a->size, &scratch);
    Table *tables = calloc((size_t)a->size, sizeof *tables);
    int64_t *following = calloc((size_t)a->size, sizeof *following);
    if (has_scratch && tables != NULL && following != NULL) {
        following[0] = a->first;
        scratch.instructions = a->instructions;
        tables[0] = table_of(rows);
        tables[0].share.begun = -occurrences_before(&tables[0], a->first);
        failure = search(tables, following, a->end, &scratch, a->size, &a->sink, &a->watch);
        go_into(tables[0].share, occurrences_before(&tables[0], a->end), 1, &a->watch);
    }
    for (int64_t depth = 0; tables != NULL && depth < a->size; depth++)
        free(tables[depth].room.at);
    free(tables);
    free(following);
    end_scratch(&scratch);
    return failure;
}
