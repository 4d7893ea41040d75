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
