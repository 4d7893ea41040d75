/* The search for itemsets, through rows.

   Itemsets are grown item by item, each one in exactly one way: the items of a row stand in one fixed order, rare items
   first, and a prefix is extended by items that come later in the rows that contain it (occurrence delivery). Rare first
   keeps the projections short, and makes thresholds free: all items after a frequent item are frequent. Rests that are
   dense in their items are turned into bitmaps and intersected. */

#include "sink.h"

/* Rows while they are searched. */
typedef struct {
    const int32_t *labels, *items, *units, *row_of;
    const int64_t *starts, *item_starts, *place_of;
    int64_t codes, rows; /* item numbers are below `codes` */
    bool single;         /* one row a unit */
    Share share;
    Room room;           /* where they stand, if they are a projection */
} Table;

/* Working space, one cell an item; between two prefixes it is as it was at the start. */
typedef struct {
    int32_t *counts;  /* units counted for each later item: 0 at rest */
    int32_t *last;    /* the unit last counted for each later item: -1 at rest */
    int32_t *numbers; /* the number of each item in the projection under construction: -1 at rest */
    int32_t *touched; /* the later items met, in the order of their first meeting; one cell more */
    int32_t *prefix;  /* the catalogue codes of the prefix */
    Room bits;        /* a projection as bitmaps */
    int64_t instructions;
} Scratch;

static int64_t greater(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

/* Units with several rows: each counts once. */
static int64_t count_units_later(const Table *table, int64_t first, int64_t end, Scratch *scratch)
{
    int32_t *restrict counts = scratch->counts, *restrict last = scratch->last, *restrict touched = scratch->touched;
    int64_t met = 0;
    for (int64_t occurrence = first; occurrence < end; occurrence++) {
        int32_t row = table->row_of[occurrence], unit = table->units[row];
        const int32_t *restrict item = table->items + table->place_of[occurrence] + 1;
        for (const int32_t *stop = table->items + table->starts[row + 1]; item < stop; item++) {
            uint32_t later = (uint32_t)*item;
            if (last[later] == unit)
                continue;
            touched[met] = (int32_t)later;
            met += last[later] < 0;
            last[later] = unit;
            counts[later]++;
        }
    }
    return met;
}

/* Units with one row each. */
static int64_t count_rows_later(const Table *table, int64_t first, int64_t end, Scratch *scratch)
{
    int32_t *restrict counts = scratch->counts, *restrict touched = scratch->touched;
    int64_t met = 0;
    for (int64_t occurrence = first; occurrence < end; occurrence++) {
        const int32_t *restrict item = table->items + table->place_of[occurrence] + 1;
        for (const int32_t *stop = table->items + table->starts[table->row_of[occurrence] + 1]; item < stop; item++) {
            uint32_t later = (uint32_t)*item;
            touched[met] = (int32_t)later;
            met += counts[later] == 0;
            counts[later]++;
        }
    }
    return met;
}

/* Count, for every item behind `item` in some row, the units of such rows; the number of items met. */
static int64_t count_later(const Table *table, int64_t item, Scratch *scratch)
{
    int64_t first = table->item_starts[item], end = table->item_starts[item + 1];
    return table->single ? count_rows_later(table, first, end, scratch)
                         : count_units_later(table, first, end, scratch);
}

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

/* Number the items met that reach the threshold, bring the counts to rest; how many they are. */
static int64_t number_frequent(const Table *table, int64_t met, Scratch *scratch, int64_t lowest, int32_t *labels)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < met; k++) {
        int32_t later = scratch->touched[k];
        if (scratch->counts[later] >= lowest) {
            scratch->numbers[later] = (int32_t)kept;
            labels[kept++] = table->labels[later];
        }
        scratch->counts[later] = 0;
        scratch->last[later] = -1;
    }
    return kept;
}

/* Bytes for arrays of these lengths, each at a multiple of 8. */
static size_t bytes(int64_t numbers32, int64_t numbers64)
{
    return (size_t)(numbers32 + 8) * sizeof(int32_t) + (size_t)(numbers64 + 8) * sizeof(int64_t);
}

/* The arrays of a projection while it is written. */
typedef struct {
    int64_t *starts, *item_starts, *place_of, *free;
    int32_t *labels, *items, *units, *row_of;
} Arrays;

/* Room in `to` for the rests of `rows` rows with `span` items, `codes` of them different. */
static bool make_room(Room *room, int64_t rows, int64_t span, int64_t codes, Arrays *to)
{
    int64_t *numbers = room_for(room, bytes(codes + 2 * span + rows, rows + 2 * codes + 3 + span));
    if (numbers == NULL)
        return false;
    to->starts = numbers;
    to->item_starts = to->starts + rows + 1;
    to->free = to->item_starts + codes + 1;
    to->place_of = to->free + codes + 1;
    to->labels = (int32_t *)(to->place_of + span);
    to->units = to->labels + codes;
    to->items = to->units + rows;
    to->row_of = to->items + span;
    return true;
}

/* The rests of the rows behind `item`: numbered items only, and only rests with at least `more` of them. */
static void project(const Table *table, int64_t item, int64_t more, const int32_t *restrict numbers, Arrays *to,
                    Table *into)
{
    int32_t *restrict items = to->items;
    int64_t kept = 0, owners = 0, owner = -1, filled = 0;
    to->starts[0] = 0;
    for (int64_t occurrence = table->item_starts[item]; occurrence < table->item_starts[item + 1]; occurrence++) {
        int32_t row = table->row_of[occurrence];
        const int32_t *restrict place = table->items + table->place_of[occurrence] + 1;
        for (const int32_t *stop = table->items + table->starts[row + 1]; place < stop; place++) {
            int32_t number = numbers[(uint32_t)*place];
            items[filled] = number; /* overwritten when it is none: faster than an unforeseeable branch */
            filled += number >= 0;
        }
        if (filled - to->starts[kept] < more) {
            filled = to->starts[kept];
            continue;
        }
        owners += table->units[row] != owner;
        owner = table->units[row];
        to->units[kept++] = (int32_t)(owners - 1);
        to->starts[kept] = filled;
    }
    into->rows = kept;
    into->single = kept == owners;
}

/* The places of the items of a projection. */
static void add_places(Arrays *to, Table *into)
{
    int64_t *restrict free = to->free, *restrict starts = to->item_starts;
    memset(free, 0, (size_t)(into->codes + 1) * sizeof *free);
    for (int64_t place = 0; place < to->starts[into->rows]; place++)
        free[to->items[place]]++;
    starts[0] = 0;
    for (int64_t code = 0; code < into->codes; code++) {
        starts[code + 1] = starts[code] + free[code];
        free[code] = starts[code];
    }
    for (int64_t row = 0; row < into->rows; row++)
        for (int64_t place = to->starts[row]; place < to->starts[row + 1]; place++) {
            int64_t occurrence = free[to->items[place]]++;
            to->row_of[occurrence] = (int32_t)row;
            to->place_of[occurrence] = place;
        }
}

/* What can follow `item`: the rests of its rows with at least `more` of the items that are frequent there. */
static bool project_behind(const Table *table, int64_t item, int64_t more, Scratch *scratch, int64_t lowest, Arrays *to,
                           Table *into)
{
    int64_t met = count_later(table, item, scratch), first = table->item_starts[item];
    int64_t rows = table->item_starts[item + 1] - first, span = 1;
    for (int64_t occurrence = first; occurrence < first + rows; occurrence++)
        span += table->starts[table->row_of[occurrence] + 1] - table->place_of[occurrence] - 1;
    if (!make_room(&into->room, rows, span, met, to))
        return false;
    into->rows = 0;
    into->codes = number_frequent(table, met, scratch, lowest, to->labels);
    if (into->codes >= more)
        project(table, item, more, scratch->numbers, to, into);
    for (int64_t k = 0; k < met; k++)
        scratch->numbers[scratch->touched[k]] = -1;
    into->labels = to->labels, into->items = to->items, into->units = to->units, into->row_of = to->row_of;
    into->starts = to->starts, into->item_starts = to->item_starts, into->place_of = to->place_of;
    return true;
}

/* Whether pairs are counted faster by intersecting bitmaps than by walking through the rows (measured, in ns). */
static bool is_dense(const Table *table)
{
    if (!table->single)
        return false;
    int64_t walked = 9 * table->starts[table->rows];
    for (int64_t row = 0; row < table->rows; row++) {
        int64_t length = table->starts[row + 1] - table->starts[row];
        walked += 3 * (length * (length - 1) / 2);
    }
    int64_t pairs = table->codes * (table->codes - 1) / 2, width = (table->rows + 63) / 64;
    return (double)pairs * (2 + 0.15 * (double)width) < (double)walked;
}

/* Search a dense projection as bitmaps. */
static int64_t search_as_bitmaps(const Table *table, int64_t known, int64_t size, Scratch *scratch, const Sink *sink,
                                 const Watch *watch)
{
    int64_t width = (table->rows + 63) / 64;
    size_t size_of_words = (size_t)(table->codes * width) * sizeof(uint64_t);
    uint64_t *words = room_for(&scratch->bits, size_of_words);
    if (words == NULL)
        return NO_MEMORY;
    memset(words, 0, size_of_words);
    for (int64_t row = 0; row < table->rows; row++)
        for (int64_t place = table->starts[row]; place < table->starts[row + 1]; place++)
            words[table->items[place] * width + (row >> 6)] |= UINT64_C(1) << (row & 63);
    Maps maps = {table->labels, words, table->codes, width, NULL};
    return search_below(maps, 0, table->codes, known, size, scratch->prefix, sink, watch, table->share,
                        scratch->instructions);
}

/* The share of the items before `item`: their occurrences, a rough forecast of the work. */
static double before(const Table *table, int64_t item)
{
    return (double)table->item_starts[item] / (double)greater(1, table->item_starts[table->codes]);
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
            behind->share = go_into(table->share, before(table, item), before(table, item + 1), watch);
        if (!project_behind(table, item, more - 1, scratch, sink->lowest, &arrays, behind))
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

static Scratch new_scratch(int64_t codes, int64_t size)
{
    size_t cells = (size_t)codes * sizeof(int32_t);
    Scratch scratch = {
        .counts = calloc((size_t)codes + 1, sizeof(int32_t)),
        .last = malloc(cells + 1),
        .numbers = malloc(cells + 1),
        .touched = malloc(cells + sizeof(int32_t)),
        .prefix = malloc((size_t)size * sizeof(int32_t)),
    };
    if (scratch.last != NULL)
        memset(scratch.last, 0xff, cells);
    if (scratch.numbers != NULL)
        memset(scratch.numbers, 0xff, cells);
    return scratch;
}

static bool has_memory(const Scratch *scratch)
{
    return scratch->counts && scratch->last && scratch->numbers && scratch->touched && scratch->prefix;
}

static void end_scratch(Scratch *scratch)
{
    free(scratch->counts);
    free(scratch->last);
    free(scratch->numbers);
    free(scratch->touched);
    free(scratch->prefix);
    free(scratch->bits.at);
}

/* Rows come from `rank_rows`, which looks at every number; here it is enough that they are whole. */
static bool fit(const Rows *rows, int64_t first, int64_t end, int64_t size, const Sink *sink)
{
    int64_t codes = rows->labels.length, count = rows->units.length, length = rows->items.length;
    return first >= 0 && first <= end && end <= codes && rows->starts.length == count + 1 &&
           rows->item_starts.length == codes + 1 && rows->row_of.length == length && rows->place_of.length == length &&
           rows->starts.at[count] == length && rows->item_starts.at[codes] == length &&
           is_sink(sink, size);
}

/* Hand to `sink` every itemset of `size` >= 2 items whose first item in the order of the rows is in [first, end).

   Order: by first item; below, by first meeting; it depends on the rows and on `sink.lowest` alone. */
KERNEL(search, Rows rows; int64_t first; int64_t end; int64_t size; Sink sink; Watch watch; int64_t instructions;)
{
    const Rows *rows = &a->rows;
    if (!fit(rows, a->first, a->end, a->size, &a->sink) || !is_watch(&a->watch))
        return MISFIT;
    int64_t codes = rows->labels.length, count = rows->units.length, failure = NO_MEMORY;
    Scratch scratch = new_scratch(codes, a->size);
    Table *tables = calloc((size_t)a->size, sizeof *tables);
    int64_t *following = calloc((size_t)a->size, sizeof *following);
    if (has_memory(&scratch) && tables != NULL && following != NULL) {
        following[0] = a->first;
        scratch.instructions = a->instructions;
        tables[0] = (Table){rows->labels.at,      rows->items.at,    rows->units.at, rows->row_of.at, rows->starts.at,
                            rows->item_starts.at, rows->place_of.at, codes,          count,
                            count == 0 || rows->units.at[count - 1] + 1 == count,    {0, 1}, {0}};
        tables[0].share.begun = -before(&tables[0], a->first);
        failure = search(tables, following, a->end, &scratch, a->size, &a->sink, &a->watch);
        go_into(tables[0].share, before(&tables[0], a->end), 1, &a->watch);
    }
    for (int64_t depth = 0; tables != NULL && depth < a->size; depth++)
        free(tables[depth].room.at);
    free(tables);
    free(following);
    end_scratch(&scratch);
    return failure;
}
