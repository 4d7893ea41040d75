/* One-hot cells as bitmaps: of 64 rows and 8 columns at a time. */

#include "kernels.h"

enum { BYTES = 8, ROWS = 64 }; /* of a word */

/* Eight cells as bits, the first one lowest; any byte that is not 0 is true. */
INLINE uint64_t bits_of_cells(const uint8_t *cells)
{
    uint64_t word;
    memcpy(&word, cells, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word |= word >> 4;
    word |= word >> 2;
    word |= word >> 1;
    return ((word & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080)) >> 56;
}

/* The 8 x 8 bits of a word on their side (Warren, Hacker's Delight, 7-3). */
INLINE uint64_t turned(uint64_t bits)
{
    uint64_t swapped = (bits ^ (bits >> 7)) & UINT64_C(0x00aa00aa00aa00aa);
    bits ^= swapped ^ (swapped << 7);
    swapped = (bits ^ (bits >> 14)) & UINT64_C(0x0000cccc0000cccc);
    bits ^= swapped ^ (swapped << 14);
    swapped = (bits ^ (bits >> 28)) & UINT64_C(0x00000000f0f0f0f0);
    return bits ^ swapped ^ (swapped << 28);
}

/* Up to 64 rows of 8 columns, the rows `stride` cells apart, into a word for each of these columns. */
static void pack_square(const uint8_t *cells, int64_t rows, int64_t stride, uint64_t *into, int64_t width)
{
    uint64_t words[BYTES] = {0};
    for (int64_t first = 0; first < rows; first += BYTES) {
        uint64_t bits = 0;
        for (int64_t row = first; row < rows && row < first + BYTES; row++)
            bits |= bits_of_cells(cells + row * stride) << (BYTES * (row - first));
        bits = turned(bits);
        for (int64_t column = 0; column < BYTES; column++)
            words[column] |= ((bits >> (BYTES * column)) & 0xff) << first;
    }
    for (int64_t column = 0; column < BYTES; column++)
        into[column * width] = words[column];
}

/* The same of any number of rows and columns, cell by cell. */
static void pack_rest(const uint8_t *cells, int64_t rows, int64_t columns, int64_t stride, int64_t step, uint64_t *into,
                      int64_t width)
{
    for (int64_t column = 0; column < columns; column++) {
        uint64_t word = 0;
        for (int64_t row = 0; row < rows; row++)
            word |= (uint64_t)(cells[row * stride + column * step] != 0) << row;
        into[column * width] = word;
    }
}

static void pack_rows(const uint8_t *cells, int64_t rows, int64_t columns, uint64_t *words, int64_t width)
{
    for (int64_t first = 0; first < rows; first += ROWS) {
        int64_t count = rows - first < ROWS ? rows - first : ROWS, column = 0;
        const uint8_t *block = cells + first * columns;
        for (; column + BYTES <= columns; column += BYTES)
            pack_square(block + column, count, columns, words + column * width + first / ROWS, width);
        pack_rest(block + column, count, columns - column, columns, 1, words + column * width + first / ROWS, width);
    }
}

static void pack_columns(const uint8_t *cells, int64_t rows, int64_t columns, uint64_t *words, int64_t width)
{
    for (int64_t column = 0; column < columns; column++)
        for (int64_t first = 0; first < rows; first += ROWS) {
            const uint8_t *from = cells + column * rows + first;
            uint64_t *into = words + column * width + first / ROWS;
            if (rows - first < ROWS) {
                pack_rest(from, rows - first, 1, 1, 0, into, width);
                continue;
            }
            uint64_t word = 0;
            for (int64_t row = 0; row < ROWS; row += BYTES)
                word |= bits_of_cells(from + row) << row;
            *into = word;
        }
}

/* For each column a bit a row, and how many cells are true. `by_rows`: row r holds cells[r * columns ...]. Else column c
   holds cells[c * rows ...]. */
KERNEL(pack_flags, Bytes cells; int64_t rows; int64_t columns; int64_t by_rows; Uint64sOut words; Int64sOut counts;)
{
    int64_t rows = a->rows, columns = a->columns, width = rows / ROWS + (rows % ROWS != 0);
    if (rows < 0 || columns < 0 || (columns > 0 && rows > INT64_MAX / ROWS / columns) ||
        a->cells.length != rows * columns || a->words.length != width * columns || a->counts.length != columns)
        return MISFIT;
    if (a->by_rows)
        pack_rows(a->cells.at, rows, columns, a->words.at, width);
    else
        pack_columns(a->cells.at, rows, columns, a->words.at, width);
    for (int64_t column = 0; column < columns; column++) {
        a->counts.at[column] = 0;
        for (int64_t k = column * width; k < (column + 1) * width; k++)
            a->counts.at[column] += __builtin_popcountll(a->words.at[k]);
    }
    return 0;
}
