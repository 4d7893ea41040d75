/* Itemsets in order: each becomes one number, and these are sorted digit by digit. */

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
    int64_t whole; /* items of a row that its key holds; rows are longer */
} Flat;

/* A row: its size and as many of its items as there is room for, and its place. */
typedef struct {
    uint64_t key;
    int64_t place;
} Entry;

enum { FEW = 12 }; /* entries that are sorted by insertion */

static bool precedes(Entry left, Entry right, const Flat *lists)
{
    if (left.key != right.key)
        return left.key < right.key;
    const int32_t *a = lists->codes + lists->starts[left.place], *b = lists->codes + lists->starts[right.place];
    int64_t size = lists->starts[left.place + 1] - lists->starts[left.place], k = lists->whole;
    while (k < size && a[k] == b[k])
        k++;
    return k < size && a[k] < b[k];
}

static void insert_entries(Entry *entries, int64_t length, const Flat *lists)
{
    for (int64_t k = 1; k < length; k++) {
        Entry entry = entries[k];
        int64_t place = k;
        for (; place > 0 && precedes(entry, entries[place - 1], lists); place--)
            entries[place] = entries[place - 1];
        entries[place] = entry;
    }
}

/* Merge sort; where both halves follow each other, as often in the order of a search, they stay. */
static void sort_entries(Entry *entries, Entry *spare, int64_t length, const Flat *lists)
{
    for (int64_t first = 0; first < length; first += FEW)
        insert_entries(entries + first, length - first < FEW ? length - first : FEW, lists);
    for (int64_t run = FEW; run < length; run *= 2)
        for (int64_t first = 0; first + run < length; first += 2 * run) {
            int64_t middle = first + run, end = middle + run < length ? middle + run : length;
            if (!precedes(entries[middle], entries[middle - 1], lists))
                continue;
            memcpy(spare, entries + first, (size_t)run * sizeof *spare);
            int64_t left = 0, right = middle, place = first;
            while (left < run && right < end)
                entries[place++] = precedes(entries[right], spare[left], lists) ? entries[right++] : spare[left++];
            memcpy(entries + place, spare + left, (size_t)(run - left) * sizeof *spare);
        }
}

/* The size of a row and its first items as one number, which grows with them. */
static uint64_t key_of(const Flat *lists, int64_t place, int64_t size_bits, int64_t bits)
{
    int64_t begin = lists->starts[place], size = lists->starts[place + 1] - begin;
    int64_t whole = size < lists->whole ? size : lists->whole, shift = 64 - size_bits;
    uint64_t key = size_bits == 0 ? 0 : (uint64_t)size << shift;
    for (int64_t k = 0; k < whole; k++)
        key |= (uint64_t)lists->codes[begin + k] << (shift -= bits);
    return key;
}

/* Where the rows of each support begin when the larger ones come first; false where a row does not fit. */
static bool begin_groups(const Flat *rows, Int64s supports, int64_t *begins, int64_t levels, int64_t size_bits,
                         int64_t bits)
{
    for (int64_t row = 0; row < supports.length; row++) {
        int64_t support = supports.at[row], begin = rows->starts[row], size = rows->starts[row + 1] - begin;
        if (support < 0 || support >= levels || size >> size_bits ||
            !are_places((Int32s){rows->codes, 0}, begin, begin + size, INT64_C(1) << bits))
            return false;
        begins[levels - 1 - support]++;
    }
    for (int64_t level = 0, before = 0; level < levels; level++) {
        int64_t count = begins[level];
        begins[level] = before;
        before += count;
    }
    return true;
}

/* The rows by decreasing support < levels, then by size, then by items. Sizes have `size_bits` bits, codes `bits`. */
KERNEL(order_rows, Int32s codes; Int64s starts; Int64s supports; int64_t levels; int64_t size_bits; int64_t bits;
       Int64sOut order;)
{
    int64_t length = a->supports.length;
    if (a->starts.length != length + 1 || a->order.length != length || !are_rows(a->starts, 0, length, a->codes.length) ||
        a->size_bits < 1 || a->size_bits > 32 || a->bits < 1 || a->bits > 31 || a->levels < 0 || a->levels > COUNT_LIMIT)
        return MISFIT;
    Flat rows = {a->codes.at, a->starts.at, (64 - a->size_bits) / a->bits};
    int64_t *begins = calloc((size_t)a->levels + 1, sizeof *begins), failure = NO_MEMORY;
    Entry *entries = malloc((size_t)(length + 1) * sizeof *entries), *spare = malloc((size_t)(length + 1) * sizeof *spare);
    if (begins != NULL && entries != NULL && spare != NULL) {
        failure = begin_groups(&rows, a->supports, begins, a->levels, a->size_bits, a->bits) ? 0 : MISFIT;
        for (int64_t row = 0; !failure && row < length; row++)
            entries[begins[a->levels - 1 - a->supports.at[row]]++] =
                (Entry){key_of(&rows, row, a->size_bits, a->bits), row};
        for (int64_t level = 0, first = 0; !failure && level < a->levels; first = begins[level++])
            sort_entries(entries + first, spare, begins[level] - first, &rows);
        for (int64_t place = 0; !failure && place < length; place++)
            a->order.at[place] = entries[place].place;
    }
    free(begins);
    free(entries);
    free(spare);
    return failure;
}

/* Copy the rows order[0], order[1], ... to offsets[0], offsets[1], ... */
KERNEL(copy_rows, Int32s codes; Int64s starts; Int64s order; Int64s offsets; Int32sOut into;)
{
    int64_t length = a->starts.length - 1, copied = a->order.length;
    if (a->offsets.length != copied + 1 || !are_rows(a->starts, 0, length, a->codes.length) ||
        !are_rows(a->offsets, 0, copied, a->into.length))
        return MISFIT;
    for (int64_t k = 0; k < copied; k++) {
        int64_t row = a->order.at[k], size = a->offsets.at[k + 1] - a->offsets.at[k];
        if (row < 0 || row >= length || a->starts.at[row + 1] - a->starts.at[row] != size)
            return MISFIT;
        const int32_t *from = a->codes.at + a->starts.at[row];
        int32_t *to = a->into.at + a->offsets.at[k];
        for (int64_t item = 0; item < size; item++)
            to[item] = from[item];
    }
    return 0;
}
