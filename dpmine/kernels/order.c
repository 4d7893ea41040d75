/* Itemsets in order: each becomes one number, and these are sorted digit by digit. Then: which have supersets. */

#include "kernels.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS }; /* 2048 counters fit into the innermost cache */

/* The codes that occur, increasing, into `present`, and for every code its place there. `numbers` holds zeros.

   Returns how many codes occur. */
KERNEL(number_codes, Int32s items; Int32sOut present; Int64sOut numbers;)
{
    if (a->present.length != a->numbers.length)
        return MISFIT;
    for (int64_t place = 0; place < a->items.length; place++) {
        uint32_t code = (uint32_t)a->items.at[place];
        if (code >= a->numbers.length)
            return MISFIT;
        a->numbers.at[code] = 1;
    }
    int64_t found = 0;
    for (int64_t code = 0; code < a->numbers.length; code++)
        if (a->numbers.at[code]) {
            a->present.at[found] = (int32_t)code;
            a->numbers.at[code] = found++;
        }
    return found;
}

/* Append to each key the numbers of the codes of its itemset, `bits` each. */
KERNEL(packed, Int32s items; int64_t size; Int64s numbers; int64_t bits; Int64sOut keys;)
{
    if (a->size < 0 || a->bits < 0 || a->bits > 32 || a->items.length != a->size * a->keys.length ||
        !are_places(a->items, 0, a->items.length, a->numbers.length))
        return MISFIT;
    const int32_t *item = a->items.at;
    for (int64_t row = 0; row < a->keys.length; row++) {
        uint64_t key = (uint64_t)a->keys.at[row];
        for (int64_t column = 0; column < a->size; column++)
            key = (key << a->bits) | (uint64_t)a->numbers.at[*item++];
        a->keys.at[row] = (int64_t)key;
    }
    return 0;
}

/* Move the keys to the places that one digit gives them. */
static void sort_by_digit(const int64_t *restrict keys, int64_t *restrict to, int64_t length, int64_t shift)
{
    int64_t free[DIGITS] = {0}, before = 0;
    for (int64_t place = 0; place < length; place++)
        free[(keys[place] >> shift) & (DIGITS - 1)]++;
    for (int64_t digit = 0; digit < DIGITS; digit++) {
        int64_t count = free[digit];
        free[digit] = before;
        before += count;
    }
    for (int64_t place = 0; place < length; place++)
        to[free[(keys[place] >> shift) & (DIGITS - 1)]++] = keys[place];
}

/* Sort keys of `bits` bits. Both arrays are written over; returns 1 if the sorted keys are in `spare`, else 0. */
KERNEL(sorted, Int64sOut keys; Int64sOut spare; int64_t bits;)
{
    if (a->spare.length != a->keys.length || a->bits < 0 || a->bits > 63)
        return MISFIT;
    int64_t *from = a->keys.at, *to = a->spare.at;
    for (int64_t shift = 0; shift < a->bits; shift += DIGIT_BITS) {
        sort_by_digit(from, to, a->keys.length, shift);
        int64_t *sorted = to;
        to = from;
        from = sorted;
    }
    return from == a->spare.at && a->keys.length > 0;
}

/* The itemsets whose numbers stand in the last size * bits bits of the keys. */
KERNEL(unpacked, Int64s keys; int64_t size; Int32s present; int64_t bits; Int32sOut items;)
{
    if (a->size < 0 || a->bits < 0 || a->bits > 32 || a->items.length != a->size * a->keys.length)
        return MISFIT;
    int64_t mask = (INT64_C(1) << a->bits) - 1;
    for (int64_t row = 0; row < a->keys.length; row++) {
        int64_t key = a->keys.at[row];
        for (int64_t column = a->size - 1; column >= 0; column--) {
            int64_t number = key & mask;
            if (number >= a->present.length)
                return MISFIT;
            a->items.at[row * a->size + column] = a->present.at[number];
            key >>= a->bits;
        }
    }
    return 0;
}

/* Itemsets of several sizes: row k is codes[starts[k] ... starts[k + 1] - 1]. */
typedef struct {
    const int32_t *codes;
    const int64_t *starts;
    Int64s numbers; /* of the codes */
    int64_t bits;   /* that a number has in a key; 0: a key has a bit for each */
    int64_t whole;  /* as many items are in a key; some rows are longer */
} Flat;

/* The first items of a row as one number, and its place. */
typedef struct {
    uint64_t key;
    int64_t place;
} Entry;

enum { FEW = 8 }; /* entries that are sorted by insertion */

enum { MOST_BITS = 64 };

/* Of up to 64 items every one has a bit: of two rows of one size, that with the first item they differ in comes first. */
static Flat flat_of(Int32s codes, Int64s starts, Int64s numbers, int64_t items)
{
    int64_t bits = 1;
    while (items > INT64_C(1) << bits)
        bits++;
    return items <= MOST_BITS ? (Flat){codes.at, starts.at, numbers, 0, INT64_MAX}
                              : (Flat){codes.at, starts.at, numbers, bits, MOST_BITS / bits};
}

static Entry entry_of(const Flat *rows, int64_t place)
{
    int64_t begin = rows->starts[place], size = rows->starts[place + 1] - begin, shift = MOST_BITS;
    Entry entry = {0, place};
    for (int64_t k = 0; k < size && k < rows->whole; k++) {
        uint64_t number = (uint64_t)rows->numbers.at[rows->codes[begin + k]];
        if (rows->bits == 0)
            entry.key |= UINT64_C(1) << (MOST_BITS - 1 - number);
        else
            entry.key |= number << (shift -= rows->bits);
    }
    entry.key = rows->bits == 0 ? ~entry.key : entry.key;
    return entry;
}

/* Whether one row precedes another one of the same size and with the same key. */
static bool precedes_behind(int64_t left, int64_t right, const Flat *rows)
{
    const int32_t *a = rows->codes + rows->starts[left], *b = rows->codes + rows->starts[right];
    int64_t size = rows->starts[left + 1] - rows->starts[left], k = rows->whole;
    int64_t other = rows->starts[right + 1] - rows->starts[right];
    size = size < other ? size : other; /* of one size, says the caller */
    while (k < size && a[k] == b[k])
        k++;
    return k < size && a[k] < b[k];
}

INLINE bool precedes(Entry left, Entry right, const Flat *rows)
{
    return left.key < right.key || (left.key == right.key && precedes_behind(left.place, right.place, rows));
}

static void insert_entries(Entry *entries, int64_t length, const Flat *rows)
{
    for (int64_t k = 1; k < length; k++) {
        Entry entry = entries[k];
        int64_t place = k;
        for (; place > 0 && precedes(entry, entries[place - 1], rows); place--)
            entries[place] = entries[place - 1];
        entries[place] = entry;
    }
}

/* Merge sort; where both halves follow each other, as often in the order of a search, they stay. */
static void sort_entries(Entry *entries, Entry *spare, int64_t length, const Flat *rows)
{
    for (int64_t first = 0; first < length; first += FEW)
        insert_entries(entries + first, length - first < FEW ? length - first : FEW, rows);
    for (int64_t run = FEW; run < length; run *= 2)
        for (int64_t first = 0; first + run < length; first += 2 * run) {
            int64_t middle = first + run, end = middle + run < length ? middle + run : length;
            if (!precedes(entries[middle], entries[middle - 1], rows))
                continue;
            memcpy(spare, entries + first, (size_t)run * sizeof *spare);
            int64_t left = 0, right = middle, place = first;
            while (left < run && right < end) {
                bool later = precedes(entries[right], spare[left], rows);
                entries[place++] = later ? entries[right] : spare[left];
                right += later;
                left += !later;
            }
            memcpy(entries + place, spare + left, (size_t)(run - left) * sizeof *spare);
        }
}

/* Where the rows of each rank begin when the larger ones come first; false where a number is too large. */
static bool begin_groups(const Flat *rows, Int64s ranks, int64_t *begins, int64_t levels)
{
    memset(begins, 0, (size_t)levels * sizeof *begins);
    for (int64_t row = 0; row < ranks.length; row++) {
        int64_t begin = rows->starts[row], end = rows->starts[row + 1];
        if (ranks.at[row] < 0 || ranks.at[row] >= levels ||
            !are_places((Int32s){rows->codes, end}, begin, end, rows->numbers.length))
            return false;
        begins[levels - 1 - ranks.at[row]]++;
    }
    for (int64_t level = 0, before = 0; level < levels; level++) {
        int64_t count = begins[level];
        begins[level] = before;
        before += count;
    }
    return true;
}

static bool are_numbers(Int64s numbers, int64_t items)
{
    bool fit = items >= 0 && items <= INT64_C(1) << 31;
    for (int64_t code = 0; code < numbers.length; code++)
        fit &= numbers.at[code] >= 0 && numbers.at[code] <= items - (items > 0);
    return fit;
}

/* Put the rows in groups by decreasing rank: an entry is a key and the place of its row; `ends` says where each group
   ends. The codes of `items` items have numbers in the same order. */
KERNEL(group_rows, Int32s codes; Int64s starts; Int64s ranks; Int64s numbers; int64_t items; Int64sOut ends;
       Int64sOut entries;)
{
    int64_t length = a->ranks.length, levels = a->ends.length;
    if (a->starts.length != length + 1 || a->entries.length != 2 * length ||
        !are_numbers(a->numbers, a->items) || !are_rows(a->starts, 0, length, a->codes.length))
        return MISFIT;
    Flat rows = flat_of(a->codes, a->starts, a->numbers, a->items);
    if (!begin_groups(&rows, a->ranks, a->ends.at, levels))
        return MISFIT;
    Entry *entries = (Entry *)a->entries.at;
    for (int64_t row = 0; row < length; row++)
        entries[a->ends.at[levels - 1 - a->ranks.at[row]]++] = entry_of(&rows, row);
    return 0;
}

/* Sort the entries of the groups first ... end - 1 by the items of their rows, which are of one size in each. */
KERNEL(sort_groups, Int32s codes; Int64s starts; Int64s numbers; int64_t items; Int64s ends; int64_t first; int64_t end;
       Int64sOut entries;)
{
    int64_t rows = a->starts.length - 1, longest = 0, begin = 0;
    if (rows < 0 || !are_numbers(a->numbers, a->items) || a->first < 0 || a->first > a->end || a->end > a->ends.length ||
        (a->first > 0 && (begin = a->ends.at[a->first - 1]) < 0))
        return MISFIT;
    Flat flat = flat_of(a->codes, a->starts, a->numbers, a->items);
    if (flat.bits > 0 && !are_rows(a->starts, 0, rows, a->codes.length)) /* else keys hold all, and no row is read */
        return MISFIT;
    Entry *entries = (Entry *)a->entries.at;
    for (int64_t level = a->first, place = begin; level < a->end; place = a->ends.at[level++]) {
        int64_t count = a->ends.at[level] - place;
        if (count < 0 || a->ends.at[level] > a->entries.length / 2)
            return MISFIT;
        longest = count > longest ? count : longest;
        for (int64_t entry = place; entry < place + count; entry++)
            if (entries[entry].place < 0 || entries[entry].place >= rows)
                return MISFIT;
    }
    Entry *spare = malloc((size_t)(longest + 1) * sizeof *spare);
    if (spare == NULL)
        return NO_MEMORY;
    for (int64_t level = a->first; level < a->end; begin = a->ends.at[level++])
        sort_entries(entries + begin, spare, a->ends.at[level] - begin, &flat);
    free(spare);
    return 0;
}

enum { AHEAD = 16 }; /* rows that are asked for before they are read: they lie anywhere */

/* Where the rows order[0], order[1], ... start when they are copied one behind the other, and where the last one ends.

   Returns how many codes they have. */
KERNEL(place_rows, Int64s starts; Int64s order; Int64sOut starts_of_copies;)
{
    int64_t rows = a->starts.length - 1, copied = a->order.length, filled = 0;
    if (a->starts_of_copies.length != copied + 1)
        return MISFIT;
    a->starts_of_copies.at[0] = 0;
    for (int64_t k = 0; k < copied; k++) {
        int64_t row = a->order.at[k];
        if (row < 0 || row >= rows)
            return MISFIT;
        __builtin_prefetch(a->starts.at + a->order.at[k + AHEAD < copied ? k + AHEAD : k]);
        a->starts_of_copies.at[k + 1] = filled += a->starts.at[row + 1] - a->starts.at[row];
    }
    return filled;
}

static bool are_places_of(Int64s order, int64_t rows)
{
    bool fit = true;
    for (int64_t k = 0; k < order.length; k++)
        fit &= order.at[k] >= 0 && order.at[k] < rows;
    return fit;
}

/* Copy the rows order[0], order[1], ..., with their supports, to where `place_rows` says. */
KERNEL(copy_rows, Int32s codes; Int64s starts; Int64s supports; Int64s order; Int64s starts_of_copies;
       Int64sOut supports_of_copies; Int32sOut into;)
{
    int64_t rows = a->supports.length, copied = a->order.length;
    if (a->starts.length != rows + 1 || a->supports_of_copies.length != copied ||
        !are_rows(a->starts_of_copies, 0, copied, a->into.length) || !are_places_of(a->order, rows))
        return MISFIT;
    for (int64_t k = 0; k < copied; k++) {
        int64_t ahead = a->order.at[k + AHEAD < copied ? k + AHEAD : k];
        int64_t later = a->order.at[k + 2 * AHEAD < copied ? k + 2 * AHEAD : k];
        __builtin_prefetch(a->starts.at + later);
        __builtin_prefetch(a->supports.at + later);
        __builtin_prefetch(a->codes.at + a->starts.at[ahead]);
        int64_t begin = a->starts.at[a->order.at[k]], place = a->starts_of_copies.at[k];
        int64_t size = a->starts_of_copies.at[k + 1] - place;
        if (begin < 0 || size > a->codes.length - begin)
            return MISFIT;
        for (int64_t item = 0; item < size; item++)
            a->into.at[place + item] = a->codes.at[begin + item];
        a->supports_of_copies.at[k] = a->supports.at[a->order.at[k]];
    }
    return 0;
}

/* Which itemsets of a list have a superset with one item more there: from each, all subsets with one item less are
   looked up by their hash. */

enum { HAS_SUPERSET = 1, HAS_EQUAL_SUPERSET = 2 }; /* equal: of the same support */

/* Rows by their hash: a slot holds a row's number + 1 below, and some bits of its hash above; 0 is empty. */
typedef struct {
    uint64_t *slots;
    uint64_t mask;
    Int32s codes;
    Int64s starts;
} Table;

enum { ROW_BITS = 40 };
static const uint64_t ROW = (UINT64_C(1) << ROW_BITS) - 1;

/* One of 2^64 numbers for each code (the finaliser of splitmix64); a row's hash is the sum of those of its codes. */
static uint64_t number_of(int32_t code)
{
    uint64_t value = ((uint64_t)(uint32_t)code + 1) * UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static uint64_t hash_of(const Table *table, int64_t row)
{
    uint64_t hash = 0;
    for (int64_t place = table->starts.at[row]; place < table->starts.at[row + 1]; place++)
        hash += number_of(table->codes.at[place]);
    return hash;
}

static void enter(Table *table, int64_t row)
{
    uint64_t hash = hash_of(table, row), slot = hash & table->mask;
    while (table->slots[slot] != 0)
        slot = (slot + 1) & table->mask;
    table->slots[slot] = (hash & ~ROW) | (uint64_t)(row + 1);
}

/* Whether `row` is `whole` without its item number `left_out`. */
static bool is_rest(const Table *table, int64_t row, int64_t whole, int64_t left_out)
{
    const int32_t *rest = table->codes.at + table->starts.at[row], *all = table->codes.at + table->starts.at[whole];
    int64_t size = table->starts.at[whole + 1] - table->starts.at[whole] - 1;
    return table->starts.at[row + 1] - table->starts.at[row] == size &&
           memcmp(rest, all, (size_t)left_out * sizeof *rest) == 0 &&
           memcmp(rest + left_out, all + left_out + 1, (size_t)(size - left_out) * sizeof *rest) == 0;
}

/* The row that is `whole`, whose hash is given, without one of its items; -1 where there is none. */
static int64_t look_up(const Table *table, int64_t whole, uint64_t hash, int64_t left_out)
{
    hash -= number_of(table->codes.at[table->starts.at[whole] + left_out]);
    for (uint64_t slot = hash & table->mask; table->slots[slot] != 0; slot = (slot + 1) & table->mask) {
        int64_t row = (int64_t)(table->slots[slot] & ROW) - 1;
        if (((table->slots[slot] ^ hash) & ~ROW) == 0 && is_rest(table, row, whole, left_out))
            return row;
    }
    return -1;
}

/* Set the flags of every row that has a superset with one item more. Rows differ, codes increase in each. */
KERNEL(mark_supersets, Int32s codes; Int64s starts; Int64s supports; BytesOut flags;)
{
    int64_t rows = a->supports.length;
    if (a->starts.length != rows + 1 || a->flags.length != rows || rows >= (int64_t)ROW ||
        !are_rows(a->starts, 0, rows, a->codes.length))
        return MISFIT;
    uint64_t length = 2;
    while (length < 2 * (uint64_t)rows)
        length *= 2;
    Table table = {calloc(length, sizeof *table.slots), length - 1, a->codes, a->starts};
    if (table.slots == NULL)
        return NO_MEMORY;
    for (int64_t row = 0; row < rows; row++)
        enter(&table, row);
    for (int64_t row = 0; row < rows; row++) {
        uint64_t hash = hash_of(&table, row);
        for (int64_t item = 0; item < a->starts.at[row + 1] - a->starts.at[row]; item++) {
            int64_t rest = look_up(&table, row, hash, item);
            if (rest >= 0)
                a->flags.at[rest] |= HAS_SUPERSET | (a->supports.at[rest] == a->supports.at[row] ? HAS_EQUAL_SUPERSET : 0);
        }
    }
    free(table.slots);
    return 0;
}
