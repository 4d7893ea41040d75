/* Which itemsets of a list have a superset with one item more there: from each, all subsets with one item less are
   looked up by their hash. */

#include "kernels.h"

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
