/* Itemsets of several sizes from one search: what holds a prefix is looked up once, whatever sizes follow.

   What a call finds goes into arrays of a given length. Where the next itemsets do not fit, the call ends, and `path`
   says where: the next call looks up the same prefixes again, a few projections, and goes on from there. */

#include "maps.h"
#include "table.h"

enum { DONE, FULL, TOO_MANY }; /* too many: an itemset has more items than `deepest`, and so too many subsets */

/* What follows a prefix: rows or bitmaps. */
typedef struct {
    bool mapped;
    Table table;
    Level level;
    Share share;
} Stage;

typedef struct {
    const Lists *to;
    const Watch *watch;
    int64_t instructions;
    Stage *stages;      /* one for each item of a prefix, and that before the first */
    int64_t *following; /* of every stage, the item that is looked at */
    Scratch scratch;
} Walk;

/* Items that are frequent behind a prefix, as catalogue codes. */
typedef struct {
    const int32_t *codes, *supports;
    int64_t count;
} Found;

static int64_t items_of(const Stage *stage)
{
    return stage->mapped ? stage->level.maps.items : stage->table.codes;
}

static int32_t code_of(const Stage *stage, int64_t item)
{
    return (stage->mapped ? stage->level.maps.labels : stage->table.labels)[item];
}

static double before(const Stage *stage, int64_t item)
{
    return stage->mapped ? pairs_before(&stage->level.maps, item) : occurrences_before(&stage->table, item);
}

/* Put `code` among the `known` codes of the prefix, which increase; or take it out again. */
static void put(int32_t *prefix, int64_t known, int32_t code)
{
    for (; known > 0 && prefix[known - 1] > code; known--)
        prefix[known] = prefix[known - 1];
    prefix[known] = code;
}

static void take_out(int32_t *prefix, int64_t known, int32_t code)
{
    int64_t place = 0;
    while (prefix[place] != code)
        place++;
    memmove(prefix + place, prefix + place + 1, (size_t)(known - place - 1) * sizeof *prefix);
}

/* Write down the prefix of `known` items with each of those found; false where there is not enough room. */
static bool write_down(const Lists *to, const int32_t *restrict prefix, int64_t known, Found found)
{
    int64_t size = known + 1, written = to->used.at[0], filled = to->used.at[1];
    if (size < to->smallest || size > to->largest)
        return true;
    if (found.count > to->supports.length - written || found.count > (to->codes.length - filled) / size)
        return false;
    for (int64_t k = 0; k < found.count; k++, written++, filled += size) {
        int32_t *restrict row = to->codes.at + filled, code = found.codes[k];
        int64_t place = 0;
        for (int64_t depth = 0; depth < known; depth++) {
            row[depth + (prefix[depth] > code)] = prefix[depth];
            place += prefix[depth] < code;
        }
        row[place] = code;
        to->ends.at[written] = filled + size;
        to->supports.at[written] = found.supports[k];
    }
    to->used.at[0] = written;
    to->used.at[1] = filled;
    return true;
}

/* Whether it is worth while to look behind an item with `count` others: `depth` is that of its stage. */
static bool goes_deeper(const Lists *to, int64_t depth, int64_t count)
{
    return depth + 2 < to->largest && count >= greater(2, to->smallest - depth - 1);
}

/* What follows `item` in the rows; `deeper`: whether the next stage was made of it. Less than DONE is a failure. */
static int64_t look_in_rows(Walk *walk, int64_t depth, int64_t item, bool again, bool *deeper)
{
    Stage *here = &walk->stages[depth], *next = here + 1;
    const Table *table = &here->table;
    Scratch *scratch = &walk->scratch;
    int64_t met = count_later(table, item, scratch), state = DONE;
    Found found = {scratch->codes, scratch->supports, number_frequent(table, met, scratch, walk->to->lowest)};
    if (found.count > 0 && depth + 2 > walk->to->deepest)
        state = TOO_MANY;
    else if (!again && !write_down(walk->to, scratch->prefix, depth + 1, found))
        state = FULL;
    Arrays arrays;
    *deeper = state == DONE && goes_deeper(walk->to, depth, found.count);
    if (*deeper) {
        int64_t more = greater(2, walk->to->smallest - depth - 1);
        if (!project_behind(table, item, more, found.count, scratch, &arrays, &next->table))
            state = NO_MEMORY;
        else if (next->table.rows < walk->to->lowest)
            *deeper = false;
        else if ((next->mapped = is_dense(&next->table))) {
            uint64_t *words = bits_of(&next->table, &next->level.words);
            next->level.maps = (Maps){next->table.labels, words, found.count, (next->table.rows + 63) / 64, NULL};
            state = words == NULL ? NO_MEMORY : DONE;
        } else
            add_places(&arrays, &next->table);
    }
    forget_numbers(met, scratch);
    return state;
}

/* The same in bitmaps. */
static int64_t look_in_maps(Walk *walk, int64_t depth, int64_t item, bool again, bool *deeper)
{
    const Lists *to = walk->to;
    Stage *here = &walk->stages[depth], *next = here + 1;
    int64_t count = go_on(&here->level.maps, item, to->lowest, walk->instructions, &next->level);
    if (count < 0)
        return count;
    if (count > 0 && depth + 2 > to->deepest)
        return TOO_MANY;
    Found found = {next->level.labels.at, next->level.supports.at, count};
    if (!again && !write_down(to, walk->scratch.prefix, depth + 1, found))
        return FULL;
    next->mapped = true;
    *deeper = goes_deeper(to, depth, count);
    return DONE;
}

/* Look at what follows an item: write it down, unless that was done, and make the next stage of it. */
static int64_t look(Walk *walk, int64_t depth, int64_t item, bool again, bool *deeper)
{
    Stage *here = &walk->stages[depth], *next = here + 1;
    if (!here->mapped && here->table.item_starts[item + 1] - here->table.item_starts[item] < walk->to->lowest)
        return DONE;
    put(walk->scratch.prefix, depth, code_of(here, item));
    if (depth > 0 && depth < WATCHED_DEPTH) {
        double items = (double)items_of(here);
        next->share = go_into(here->share, (double)item / items, (double)(item + 1) / items, walk->watch);
    }
    int64_t state = here->mapped ? look_in_maps(walk, depth, item, again, deeper)
                                 : look_in_rows(walk, depth, item, again, deeper);
    if (!*deeper)
        take_out(walk->scratch.prefix, depth + 1, code_of(here, item));
    return state;
}

/* All itemsets with the first item `following[0]`, from where `path` says on. */
static int64_t walk_behind(Walk *walk)
{
    int64_t *following = walk->following, first = following[0], known = walk->to->path.at[0], depth = 0;
    while (depth >= 0) {
        Stage *here = &walk->stages[depth];
        int64_t items = depth == 0 ? first + 1 : items_of(here), item = following[depth];
        if (item >= items || __atomic_load_n(walk->watch->stop.at, __ATOMIC_RELAXED) == 0) {
            if (--depth >= 0)
                take_out(walk->scratch.prefix, depth + 1, code_of(&walk->stages[depth], following[depth]++));
            continue;
        }
        bool again = depth < known - 1, deeper = false;
        int64_t state = look(walk, depth, item, again, &deeper);
        if (state != DONE) {
            walk->to->path.at[0] = depth + 1;
            return state;
        }
        known = again ? known : 0;
        if (!deeper)
            following[depth]++;
        else if (++depth >= known)
            following[depth] = 0;
    }
    return DONE;
}

/* One first item after the other, shared with other threads through `next`. */
static int64_t walk_on(Walk *walk, Int64sOut next, int64_t end)
{
    int64_t *known = walk->to->path.at;
    double done = walk->watch->done.at[0];
    for (;;) {
        if (known[0] == 0 && (walk->following[0] = __atomic_fetch_add(next.at, 1, __ATOMIC_RELAXED)) >= end)
            return DONE;
        double begun = before(&walk->stages[0], walk->following[0]);
        Share share = {done, before(&walk->stages[0], walk->following[0] + 1) - begun};
        walk->stages[1].share = share;
        int64_t state = walk_behind(walk);
        go_into(share, state == DONE, 0, walk->watch);
        if (state != DONE)
            return state;
        known[0] = 0;
        done += share.width;
    }
}

static bool are_lists(const Lists *to, const Watch *watch, Int64sOut next, int64_t end, int64_t codes)
{
    return watch->stop.length == 1 && watch->done.length == 1 && next.length == 1 && next.at[0] >= 0 && end <= codes &&
           to->lowest >= 1 && to->smallest >= 2 && to->deepest >= 2 && to->path.length == to->deepest + 1 &&
           to->ends.length == to->supports.length && to->used.length == 2 && to->used.at[0] >= 0 &&
           to->used.at[1] >= 0 && to->path.at[0] >= 0 && to->path.at[0] <= to->deepest;
}

/* With working space, and the first stage as it is given. */
static int64_t walk_from(Stage first, const Lists *to, const Watch *watch, Int64sOut next, int64_t end, int64_t most)
{
    Walk walk = {to, watch, instructions(most), calloc((size_t)to->deepest + 1, sizeof *walk.stages), to->path.at + 1, {0}};
    int64_t failure = NO_MEMORY;
    if (new_scratch(first.mapped ? 0 : items_of(&first), to->deepest + 1, &walk.scratch) && walk.stages != NULL) {
        walk.stages[0] = first;
        failure = walk_on(&walk, next, end);
    }
    for (int64_t depth = 1; walk.stages != NULL && depth <= to->deepest; depth++) {
        free(walk.stages[depth].table.room.at);
        end_level(&walk.stages[depth].level);
    }
    free(walk.stages);
    end_scratch(&walk.scratch);
    return failure;
}

/* Write down the itemsets of smallest ... largest items whose first item is one that `next` counts up to `end` - 1. */
KERNEL(list_rows, Rows rows; Lists lists; Watch watch; Int64sOut next; int64_t end; int64_t instructions;)
{
    if (!are_whole(&a->rows, 0, a->end) || !are_lists(&a->lists, &a->watch, a->next, a->end, a->rows.labels.length))
        return MISFIT;
    return walk_from((Stage){.table = table_of(&a->rows)}, &a->lists, &a->watch, a->next, a->end, a->instructions);
}

KERNEL(list_maps, Bitmaps maps; Lists lists; Watch watch; Int64sOut next; int64_t end; int64_t instructions;)
{
    int64_t items = a->maps.labels.length, pairs = a->maps.pairs.length;
    if (a->maps.width < 0 || a->maps.words.length / (a->maps.width + (a->maps.width == 0)) < items ||
        (pairs != 0 && pairs != items * items) || !are_lists(&a->lists, &a->watch, a->next, a->end, items))
        return MISFIT;
    Maps maps = {a->maps.labels.at, a->maps.words.at, items, a->maps.width, pairs ? a->maps.pairs.at : NULL};
    return walk_from((Stage){.mapped = true, .level.maps = maps}, &a->lists, &a->watch, a->next, a->end, a->instructions);
}
