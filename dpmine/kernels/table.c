/* Rows while they are searched: counts of what follows an item, and the rests of the rows behind it. */

#include "table.h"

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
        int64_t ahead = occurrence + AHEAD < end ? occurrence + AHEAD : occurrence;
        __builtin_prefetch(table->items + table->place_of[ahead] + 1);
        __builtin_prefetch(table->starts + table->row_of[ahead] + 1);
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

int64_t count_later(const Table *table, int64_t item, Scratch *scratch)
{
    int64_t first = table->item_starts[item], end = table->item_starts[item + 1];
    return table->single ? count_rows_later(table, first, end, scratch)
                         : count_units_later(table, first, end, scratch);
}

int64_t number_frequent(const Table *table, int64_t met, Scratch *scratch, int64_t lowest)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < met; k++) {
        int32_t later = scratch->touched[k], support = scratch->counts[later];
        if (support >= lowest) {
            scratch->numbers[later] = (int32_t)kept;
            scratch->codes[kept] = table->labels[later];
            scratch->supports[kept++] = support;
        }
        scratch->counts[later] = 0;
        scratch->last[later] = -1;
    }
    return kept;
}

void forget_numbers(int64_t met, Scratch *scratch)
{
    for (int64_t k = 0; k < met; k++)
        scratch->numbers[scratch->touched[k]] = -1;
}

/* Bytes for arrays of these lengths, each at a multiple of 8. */
static size_t bytes(int64_t numbers32, int64_t numbers64)
{
    return (size_t)(numbers32 + 8) * sizeof(int32_t) + (size_t)(numbers64 + 8) * sizeof(int64_t);
}

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

void add_places(Arrays *to, Table *into)
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

bool project_behind(const Table *table, int64_t item, int64_t more, int64_t codes, const Scratch *scratch, Arrays *to,
                    Table *into)
{
    int64_t first = table->item_starts[item], rows = table->item_starts[item + 1] - first, span = 1;
    for (int64_t occurrence = first; occurrence < first + rows; occurrence++)
        span += table->starts[table->row_of[occurrence] + 1] - table->place_of[occurrence] - 1;
    if (!make_room(&into->room, rows, span, codes, to))
        return false;
    memcpy(to->labels, scratch->codes, (size_t)codes * sizeof *to->labels);
    into->rows = 0;
    into->codes = codes;
    if (codes >= more)
        project(table, item, more, scratch->numbers, to, into);
    into->labels = to->labels, into->items = to->items, into->units = to->units, into->row_of = to->row_of;
    into->starts = to->starts, into->item_starts = to->item_starts, into->place_of = to->place_of;
    return true;
}

/* Both forecasts were measured, in ns. */
bool is_dense(const Table *table)
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

uint64_t *bits_of(const Table *table, Room *room)
{
    int64_t width = (table->rows + 63) / 64;
    size_t size = (size_t)(table->codes * width) * sizeof(uint64_t);
    uint64_t *words = room_for(room, size);
    if (words == NULL)
        return NULL;
    memset(words, 0, size);
    for (int64_t row = 0; row < table->rows; row++)
        for (int64_t place = table->starts[row]; place < table->starts[row + 1]; place++)
            words[table->items[place] * width + (row >> 6)] |= UINT64_C(1) << (row & 63);
    return words;
}

bool are_whole(const Rows *rows, int64_t first, int64_t end)
{
    int64_t codes = rows->labels.length, count = rows->units.length, length = rows->items.length;
    return first >= 0 && first <= end && end <= codes && rows->starts.length == count + 1 &&
           rows->item_starts.length == codes + 1 && rows->row_of.length == length && rows->place_of.length == length &&
           rows->starts.at[count] == length && rows->item_starts.at[codes] == length;
}

Table table_of(const Rows *rows)
{
    int64_t count = rows->units.length;
    return (Table){rows->labels.at, rows->items.at, rows->units.at, rows->row_of.at, rows->starts.at,
                   rows->item_starts.at, rows->place_of.at, rows->labels.length, count,
                   count == 0 || rows->units.at[count - 1] + 1 == count, {0, 1}, {0}};
}

bool new_scratch(int64_t codes, int64_t size, Scratch *scratch)
{
    size_t cells = (size_t)codes * sizeof(int32_t);
    *scratch = (Scratch){
        .counts = calloc((size_t)codes + 1, sizeof(int32_t)),
        .last = malloc(cells + 1),
        .numbers = malloc(cells + 1),
        .touched = malloc(cells + sizeof(int32_t)),
        .codes = malloc(cells + 1),
        .supports = malloc(cells + 1),
        .prefix = malloc((size_t)size * sizeof(int32_t)),
    };
    if (!scratch->counts || !scratch->last || !scratch->numbers || !scratch->touched || !scratch->codes ||
        !scratch->supports || !scratch->prefix)
        return false;
    memset(scratch->last, 0xff, cells);
    memset(scratch->numbers, 0xff, cells);
    return true;
}

void end_scratch(Scratch *scratch)
{
    free(scratch->counts);
    free(scratch->last);
    free(scratch->numbers);
    free(scratch->touched);
    free(scratch->codes);
    free(scratch->supports);
    free(scratch->prefix);
    free(scratch->bits.at);
}

