/* Closed and maximal itemsets, found without their subsets.

   A prefix is a closed itemset with the rows that hold it, a bit each. An item that goes on from it brings all others
   along that stand in the same rows. Where one of these was tried before, all that follows was found there, or will be
   by another thread: prefixes are left that an item *tried* before would extend without losing a row (Lucchese, Orlando
   and Perego 2006: DCI_Closed). So no itemset is compared with those that were found, and threads need not meet.

   Of maximal itemsets the same search is cut short: where a prefix and all that may follow it are part of a frequent
   itemset that this thread knows, nothing behind is maximal (Gouda and Zaki 2005: GenMax). Whether one is maximal is
   counted. */

#include "maps.h"
#include "table.h"

enum { DONE, FULL };

/* An item that may follow a prefix, and the rows that hold both. */
typedef struct {
    const uint64_t *words;
    int64_t number; /* as a bit of known itemsets */
    int32_t code, support;
} Candidate;

/* What follows a prefix. */
typedef struct {
    Room words, candidates, relevant;
    int64_t count, next; /* candidates, by support; the one that is looked at */
    int64_t size;        /* items of the prefix */
    int64_t tried;       /* items tried before that may extend it */
    int64_t known, since; /* itemsets that hold it: of `relevant`, and all from number `since` on */
} Branch;

/* Frequent itemsets of one thread: a bit for each number. Only what is maximal there is entered. */
typedef struct {
    uint64_t *words;
    int64_t count, room, width;
} Pool;

typedef struct {
    const Lists *to;
    const Watch *watch;
    WordLoops loops;
    bool maximal;
    int64_t width;           /* words of a bitmap */
    int64_t items;           /* the most that a prefix may have */
    Branch *room, *branches; /* as many, and one before the first item */
    const uint64_t **tried;  /* bitmaps of items that were tried before and may extend the prefix */
    int32_t *prefix;
    int64_t *numbers;        /* of the prefix */
    uint64_t *whole;         /* a prefix and all that may follow it */
    Pool pool;
    Room spare;
} Walk;

static const Candidate *candidates_of(const Branch *branch)
{
    return branch->candidates.at;
}

/* Whether no row of `rows` is outside of `others`. */
static bool are_within(const uint64_t *rows, const uint64_t *others, int64_t width)
{
    for (int64_t k = 0; k < width; k++)
        if (rows[k] & ~others[k])
            return false;
    return true;
}

static bool was_found(const Walk *walk, const uint64_t *rows, int64_t tried)
{
    for (int64_t k = tried - 1; k >= 0; k--)
        if (are_within(rows, walk->tried[k], walk->width))
            return true;
    return false;
}

/* Whether an item that was tried before makes a larger frequent itemset of the prefix with these rows. */
static bool is_extended(const Walk *walk, const uint64_t *rows, int64_t tried)
{
    for (int64_t k = tried - 1; k >= 0; k--)
        if (walk->loops.common(rows, walk->tried[k], walk->width) >= walk->to->lowest)
            return true;
    return false;
}

static bool has_number(const uint64_t *words, int64_t number)
{
    return words[number >> 6] >> (number & 63) & 1;
}

static void add_number(uint64_t *words, int64_t number)
{
    words[number >> 6] |= UINT64_C(1) << (number & 63);
}

/* Make an item part of a prefix that has `size` items. */
static void add(Walk *walk, Branch *here, int64_t size, Candidate item)
{
    walk->prefix[size] = item.code;
    walk->numbers[size] = item.number;
    here->size = size + 1;
}

/* Note the prefix as a known itemset; false without memory. */
static bool enter(Walk *walk, int64_t size)
{
    Pool *pool = &walk->pool;
    if (pool->count == pool->room) {
        int64_t room = 2 * pool->room + 64;
        uint64_t *words = realloc(pool->words, (size_t)(room * pool->width + 1) * sizeof *words);
        if (words == NULL)
            return false;
        pool->words = words;
        pool->room = room;
    }
    uint64_t *words = pool->words + pool->count++ * pool->width;
    memset(words, 0, (size_t)pool->width * sizeof *words);
    for (int64_t k = 0; k < size; k++)
        add_number(words, walk->numbers[k]);
    return true;
}

/* Take over from `before` the known itemsets with `number`; whether one of them holds `whole`. */
static bool find_known(const Walk *walk, const Branch *before, int64_t number, Branch *here)
{
    const Pool *pool = &walk->pool;
    const int64_t *relevant = before->relevant.at;
    int64_t *kept = here->relevant.at;
    here->known = 0;
    here->since = pool->count;
    for (int64_t k = 0; k < before->known + pool->count - before->since; k++) {
        int64_t known = k < before->known ? relevant[k] : before->since + k - before->known;
        const uint64_t *words = pool->words + known * pool->width;
        if (number >= 0 && !has_number(words, number))
            continue;
        if (are_within(walk->whole, words, pool->width))
            return true;
        kept[here->known++] = known;
    }
    return false;
}

/* Whether nothing behind the prefix is maximal, as far as this thread knows. -1: no memory. */
static int64_t is_known(Walk *walk, const Branch *before, int64_t number, Branch *here)
{
    int64_t most = before->known + walk->pool.count - before->since;
    if (!room_for(&here->relevant, (size_t)most * sizeof(int64_t)))
        return NO_MEMORY;
    memset(walk->whole, 0, (size_t)walk->pool.width * sizeof *walk->whole);
    for (int64_t k = 0; k < here->size; k++)
        add_number(walk->whole, walk->numbers[k]);
    for (int64_t k = 0; k < here->count; k++)
        add_number(walk->whole, candidates_of(here)[k].number);
    return find_known(walk, before, number, here);
}

/* Write the prefix down, if its size is one that is asked for. */
static int64_t write_down(Walk *walk, int64_t size, int64_t support)
{
    const Lists *to = walk->to;
    int64_t written = to->used.at[0], filled = to->used.at[1];
    if (size < to->smallest || size > to->largest)
        return DONE;
    if (written == to->supports.length || size > to->codes.length - filled)
        return FULL;
    memcpy(to->codes.at + filled, walk->prefix, (size_t)size * sizeof *walk->prefix);
    if (!sort_items(to->codes.at + filled, size, &walk->spare))
        return NO_MEMORY;
    to->ends.at[written] = filled + size;
    to->supports.at[written] = support;
    to->used.at[0] = written + 1;
    to->used.at[1] = filled + size;
    return DONE;
}

/* Make items that stand in all rows part of the prefix, and order the others by their supports. */
static void close_prefix(Walk *walk, Branch *here, int64_t support)
{
    Candidate *candidates = here->candidates.at;
    int64_t kept = 0;
    for (int64_t k = 0; k < here->count; k++) {
        Candidate candidate = candidates[k];
        if (candidate.support == support) {
            walk->numbers[here->size] = candidate.number;
            walk->prefix[here->size++] = candidate.code;
            continue;
        }
        int64_t place = kept++;
        for (; place > 0 && candidates[place - 1].support > candidate.support; place--)
            candidates[place] = candidates[place - 1];
        candidates[place] = candidate;
    }
    here->count = kept;
    here->next = 0;
}

/* Close the prefix of a new branch, write it down where it is one of those wanted, and see what may follow.

   `before` is the branch that it comes from, by the item `number` if that is >= 0. */
static int64_t settle(Walk *walk, const Branch *before, int64_t number, const uint64_t *rows, int64_t support,
                      Branch *here)
{
    close_prefix(walk, here, support);
    int64_t largest = walk->to->largest;
    if (!walk->maximal) {
        if (here->size >= largest)
            here->count = 0;
        return write_down(walk, here->size, support);
    }
    int64_t known = is_known(walk, before, number, here);
    if (known < 0)
        return known;
    bool is_leaf = here->count == 0;
    if (known || here->size > largest)
        here->count = 0;
    if (known || !is_leaf)
        return DONE;
    if (!enter(walk, here->size))
        return NO_MEMORY;
    return here->size > largest || is_extended(walk, rows, here->tried) ? DONE
                                                                         : write_down(walk, here->size, support);
}

/* Into the branch behind the next candidate of another one: those that are frequent there. False without memory. */
static bool go_behind(const Walk *walk, const Branch *here, Branch *next)
{
    const Candidate *from = candidates_of(here);
    int64_t item = here->next, others = here->count - item - 1, width = walk->width, kept = 0;
    if (!room_for(&next->words, (size_t)(others * width) * sizeof(uint64_t)) ||
        !room_for(&next->candidates, (size_t)others * sizeof(Candidate)))
        return false;
    uint64_t *words = next->words.at;
    Candidate *to = next->candidates.at;
    for (int64_t k = item + 1; k < here->count; k++) {
        int64_t support = walk->loops.intersect(from[item].words, from[k].words, words, width);
        if (support < walk->to->lowest)
            continue;
        to[kept++] = (Candidate){words, from[k].number, from[k].code, (int32_t)support};
        words += width;
    }
    next->count = kept;
    return true;
}

/* All that follows the first item, whose branch is there. */
static int64_t walk_behind(Walk *walk)
{
    for (int64_t depth = 0; depth >= 0 && __atomic_load_n(walk->watch->stop.at, __ATOMIC_RELAXED) != 0;) {
        Branch *here = &walk->branches[depth], *next = here + 1;
        if (here->next == here->count) {
            if (--depth >= 0)
                walk->tried[here[-1].tried++] = candidates_of(here - 1)[here[-1].next++].words;
            continue;
        }
        Candidate item = candidates_of(here)[here->next];
        if (was_found(walk, item.words, here->tried)) {
            here->next++;
            continue;
        }
        if (!go_behind(walk, here, next))
            return NO_MEMORY;
        add(walk, next, here->size, item);
        next->tried = here->tried;
        int64_t state = settle(walk, here, item.number, item.words, item.support, next);
        if (state != DONE)
            return state;
        depth++;
    }
    return DONE;
}

/* The branch of the first item in bitmaps; `found`: whether an item before it stands in all of its rows. */
static int64_t begin_in_maps(Walk *walk, const Maps *maps, int64_t first, int64_t support, bool *found)
{
    Branch *here = walk->branches;
    const uint64_t *rows = maps->words + first * maps->width;
    here->tried = 0;
    for (int64_t item = 0; item < first; item++) {
        const uint64_t *others = maps->words + item * maps->width;
        int64_t both = walk->loops.common(rows, others, maps->width);
        if ((*found = both == support))
            return DONE;
        if (both >= walk->to->lowest)
            walk->tried[here->tried++] = others;
    }
    Branch *all = walk->branches - 1;
    all->count = maps->items;
    all->next = first;
    if (!go_behind(walk, all, here))
        return NO_MEMORY;
    Candidate item = candidates_of(all)[first];
    add(walk, here, 0, item);
    return settle(walk, all, item.number, item.words, support, here);
}

/* The row of an occurrence of `item`; those of later occurrences are asked for. */
INLINE int64_t row_of(const Table *table, int64_t item, int64_t occurrence)
{
    int64_t end = table->item_starts[item + 1], ahead = occurrence + AHEAD < end ? occurrence + AHEAD : occurrence;
    __builtin_prefetch(table->items + table->place_of[ahead]);
    __builtin_prefetch(table->starts + table->row_of[ahead]);
    return table->row_of[occurrence];
}

/* Count the items that stand in rows with `first`, and number those that are frequent there: later ones from 0 on, and
   those before it behind them. Returns how many they are, `later` of them later ones; `found` as above. */
static int64_t number_beside(const Table *table, int64_t first, int64_t support, int64_t lowest, Scratch *scratch,
                             int64_t *later, bool *found)
{
    int64_t met = 0, frequent = 0;
    int32_t *touched = scratch->touched, *counts = scratch->counts;
    for (int64_t occurrence = table->item_starts[first]; occurrence < table->item_starts[first + 1]; occurrence++) {
        int64_t row = row_of(table, first, occurrence);
        for (int64_t place = table->starts[row]; place < table->starts[row + 1]; place++) {
            uint32_t item = (uint32_t)table->items[place];
            touched[met] = (int32_t)item;
            met += counts[item]++ == 0;
        }
    }
    *later = 0;
    *found = false;
    for (int64_t k = 0; k < met; k++) {
        int32_t item = touched[k], count = counts[item];
        counts[item] = 0;
        if (item == first || count < lowest)
            continue;
        *found |= item < first && count == support;
        scratch->supports[frequent] = count;
        scratch->codes[frequent++] = item;
        *later += item > first;
    }
    int64_t number = 0, before = *later;
    for (int64_t k = 0; k < frequent; k++)
        scratch->numbers[scratch->codes[k]] = (int32_t)(scratch->codes[k] > first ? number++ : before++);
    return frequent;
}

/* The rows of the first item as bitmaps of the numbered items. */
static void set_rows(const Table *table, int64_t first, const int32_t *numbers, uint64_t *words, int64_t width)
{
    int64_t begin = table->item_starts[first];
    for (int64_t occurrence = begin; occurrence < table->item_starts[first + 1]; occurrence++) {
        int64_t row = row_of(table, first, occurrence);
        uint64_t *own = words + ((occurrence - begin) >> 6), bit = UINT64_C(1) << ((occurrence - begin) & 63);
        for (int64_t k = table->starts[row]; k < table->starts[row + 1]; k++)
            own[numbers[(uint32_t)table->items[k]] * width] |= bit; /* into a bitmap of no use where it is none */
    }
}

/* The branch of the first item in rows. */
static int64_t begin_in_rows(Walk *walk, const Table *table, int64_t first, int64_t support, Scratch *scratch,
                             bool *found)
{
    Branch *here = walk->branches, *before = here - 1;
    int64_t later, frequent = number_beside(table, first, support, walk->to->lowest, scratch, &later, found);
    int64_t rows = table->item_starts[first + 1] - table->item_starts[first], width = (rows + 63) / 64;
    size_t size = (size_t)((frequent + 2) * width) * sizeof(uint64_t);
    *found |= walk->maximal && later == 0 && frequent > 0;
    uint64_t *words = *found ? NULL : room_for(&here->words, size);
    Candidate *candidates = room_for(&here->candidates, (size_t)later * sizeof *candidates);
    words = words == NULL ? NULL : words + width; /* behind one for number -1 */
    if (words != NULL && candidates != NULL) {
        memset(words, 0, (size_t)(frequent * width) * sizeof *words);
        memset(words + frequent * width, 0xff, (size_t)width * sizeof *words); /* of the first item itself */
        if (later > 0)
            set_rows(table, first, scratch->numbers, words, width);
    }
    here->count = later;
    here->tried = before->known = before->since = walk->pool.count = 0;
    for (int64_t k = 0; k < frequent; k++) {
        int32_t item = scratch->codes[k], number = scratch->numbers[item];
        scratch->numbers[item] = -1;
        if (words == NULL || candidates == NULL)
            continue;
        const uint64_t *own = words + number * width;
        if (item > first)
            candidates[number] = (Candidate){own, number, table->labels[item], scratch->supports[k]};
        else
            walk->tried[here->tried++] = own;
    }
    if (*found)
        return DONE;
    if (words == NULL || candidates == NULL)
        return NO_MEMORY;
    walk->width = width;
    walk->pool.width = (later + 64) / 64;
    Candidate item = {words + frequent * width, later, table->labels[first], 0};
    add(walk, here, 0, item);
    return settle(walk, before, later, item.words, support, here);
}

/* What the walks begin with: rows or bitmaps. */
typedef struct {
    const Table *table; /* or NULL */
    Maps maps;
    Scratch scratch;
    Int64s supports;
} Source;

static double before_of(const Source *from, int64_t item)
{
    return from->table == NULL ? pairs_before(&from->maps, item) : occurrences_before(from->table, item);
}

/* One first item after the other, shared with other threads through `next`.

   Where the arrays are full, what was found behind a first item is taken back, and `path` names it. */
static int64_t walk_on(Walk *walk, Source *from, Int64sOut next, int64_t end)
{
    int64_t *path = walk->to->path.at, *used = walk->to->used.at;
    double done = walk->watch->done.at[0];
    for (;;) {
        if (__atomic_load_n(walk->watch->stop.at, __ATOMIC_RELAXED) == 0 ||
            (path[0] == 0 && (path[1] = __atomic_fetch_add(next.at, 1, __ATOMIC_RELAXED)) >= end))
            return DONE;
        int64_t first = path[1], support = from->supports.at[first], written = used[0], filled = used[1];
        double begun = before_of(from, first);
        Share share = {done, before_of(from, first + 1) - begun};
        bool found = false;
        int64_t state = from->table == NULL
                            ? begin_in_maps(walk, &from->maps, first, support, &found)
                            : begin_in_rows(walk, from->table, first, support, &from->scratch, &found);
        if (state == DONE && !found)
            state = walk_behind(walk);
        path[0] = state == FULL;
        if (state != DONE) {
            used[0] = written;
            used[1] = filled;
            return state;
        }
        go_into(share, 1, 0, walk->watch);
        done += share.width;
    }
}

static void end_walk(Walk *walk)
{
    for (int64_t depth = 0; walk->room != NULL && depth < walk->items + 2; depth++) {
        free(walk->room[depth].words.at);
        free(walk->room[depth].candidates.at);
        free(walk->room[depth].relevant.at);
    }
    free(walk->room);
    free(walk->tried);
    free(walk->prefix);
    free(walk->numbers);
    free(walk->whole);
    free(walk->pool.words);
    free(walk->spare.at);
}

/* With working space: `items` there are, and `longest` at most in a prefix. */
static int64_t walk_from(Source *from, const Lists *to, const Watch *watch, Int64sOut next, int64_t end, int64_t items,
                         int64_t longest, bool maximal, int64_t most)
{
    size_t all = (size_t)items + 1, some = (size_t)longest + 2;
    Walk walk = {
        .to = to,
        .watch = watch,
        .loops = word_loops(most),
        .maximal = maximal,
        .width = from->maps.width,
        .items = longest + 1,
        .room = calloc(some + 1, sizeof *walk.room),
        .tried = calloc(all, sizeof *walk.tried),
        .prefix = calloc(some, sizeof *walk.prefix),
        .numbers = calloc(some, sizeof *walk.numbers),
        .whole = calloc(all / 64 + 1, sizeof *walk.whole),
        .pool.width = (items + 63) / 64,
    };
    int64_t failure = NO_MEMORY;
    bool has_scratch = new_scratch(from->table == NULL ? 0 : items, 1, &from->scratch);
    if (has_scratch && walk.room && walk.tried && walk.prefix && walk.numbers && walk.whole) {
        walk.branches = walk.room + 1;
        Candidate *candidates = room_for(&walk.room[0].candidates, (size_t)items * sizeof *candidates);
        for (int64_t item = 0; candidates != NULL && from->table == NULL && item < items; item++)
            candidates[item] = (Candidate){from->maps.words + item * from->maps.width, item, from->maps.labels[item], 0};
        failure = candidates == NULL ? NO_MEMORY : walk_on(&walk, from, next, end);
    }
    end_walk(&walk);
    end_scratch(&from->scratch);
    return failure;
}

static bool are_lists(const Lists *to, const Watch *watch, Int64sOut next, int64_t end, Int64s supports, int64_t items)
{
    return watch->stop.length == 1 && watch->done.length == 1 && next.length == 1 && next.at[0] >= 0 && end <= items &&
           supports.length == items && to->lowest >= 1 && to->path.length >= 2 && to->path.at[0] >= 0 &&
           to->path.at[0] <= 1 && to->ends.length == to->supports.length && to->used.length == 2 &&
           to->used.at[0] >= 0 && to->used.at[1] >= 0 &&
           (to->path.at[0] == 0 || (to->path.at[1] >= 0 && to->path.at[1] < end));
}

/* Write down the closed itemsets, or the maximal ones, of smallest ... largest items whose first item is one that `next`
   counts up to `end` - 1. `supports`: of the items. Requires: one row per unit. */
KERNEL(list_closed_rows, Rows rows; Int64s supports; Lists lists; Watch watch; Int64sOut next; int64_t end;
       int64_t maximal; int64_t instructions;)
{
    int64_t items = a->rows.labels.length, longest = 0;
    if (!are_whole(&a->rows, 0, a->end) || !are_lists(&a->lists, &a->watch, a->next, a->end, a->supports, items))
        return MISFIT;
    Table table = table_of(&a->rows);
    if (!table.single)
        return MISFIT;
    for (int64_t row = 0; row < table.rows; row++)
        longest = greater(longest, table.starts[row + 1] - table.starts[row]);
    Source from = {.table = &table, .supports = a->supports};
    return walk_from(&from, &a->lists, &a->watch, a->next, a->end, items, longest, a->maximal != 0, a->instructions);
}

KERNEL(list_closed_maps, Bitmaps maps; Int64s supports; Lists lists; Watch watch; Int64sOut next; int64_t end;
       int64_t maximal; int64_t instructions;)
{
    int64_t items = a->maps.labels.length;
    if (a->maps.width < 0 || a->maps.words.length / (a->maps.width + (a->maps.width == 0)) < items ||
        !are_lists(&a->lists, &a->watch, a->next, a->end, a->supports, items))
        return MISFIT;
    Source from = {.maps = {a->maps.labels.at, a->maps.words.at, items, a->maps.width, NULL}, .supports = a->supports};
    return walk_from(&from, &a->lists, &a->watch, a->next, a->end, items, items, a->maximal != 0, a->instructions);
}
