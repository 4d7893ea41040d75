/* Rows while they are searched, and the projections of rows behind an item. */

#ifndef DPMINE_TABLE_H
#define DPMINE_TABLE_H

#include "maps.h"

enum { AHEAD = 16 }; /* occurrences whose rows are asked for before they are read: they lie anywhere */

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
    int32_t *codes;   /* the catalogue codes of the later items that were numbered */
    int32_t *supports; /* their supports */
    int32_t *prefix;  /* the catalogue codes of the prefix */
    Room bits;        /* a projection as bitmaps */
    int64_t instructions;
} Scratch;

/* The arrays of a projection while it is written. */
typedef struct {
    int64_t *starts, *item_starts, *place_of, *free;
    int32_t *labels, *items, *units, *row_of;
} Arrays;

static inline int64_t greater(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

/* Count, for every item behind `item` in some row, the units of such rows; the number of items met. */
int64_t count_later(const Table *table, int64_t item, Scratch *scratch);

/* Number the items met that reach the threshold, with their codes and supports, and bring the counts to rest.

   Returns how many they are. `forget_numbers` brings the numbers to rest. */
int64_t number_frequent(const Table *table, int64_t met, Scratch *scratch, int64_t lowest);
void forget_numbers(int64_t met, Scratch *scratch);

/* What follows `item` in its rows: the rests with at least `more` of the `codes` items that were numbered. */
bool project_behind(const Table *table, int64_t item, int64_t more, int64_t codes, const Scratch *scratch, Arrays *to,
                    Table *into);

/* The places of the items of a projection. */
void add_places(Arrays *to, Table *into);

/* Whether pairs are counted faster by intersecting bitmaps than by walking through the rows. */
bool is_dense(const Table *table);

/* The rows as bitmaps, each a multiple of `width` words from the first; NULL without memory. */
uint64_t *bits_of(const Table *table, Room *room);

/* The share of the items before `item`: their occurrences, a rough forecast of the work. */
static inline double occurrences_before(const Table *table, int64_t item)
{
    return (double)table->item_starts[item] / (double)greater(1, table->item_starts[table->codes]);
}

/* Rows come from `rank_rows`, which looks at every number; here it is enough that they are whole. */
bool are_whole(const Rows *rows, int64_t first, int64_t end);
Table table_of(const Rows *rows);

/* Working space for a number of items, and prefixes of `size`; false without memory. */
bool new_scratch(int64_t codes, int64_t size, Scratch *scratch);
void end_scratch(Scratch *scratch);

#endif
