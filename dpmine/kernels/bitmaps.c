/* The search for itemsets, through bitmaps: for each item a bit a row, intersected 64 rows and more at a time. */

#include "maps.h"

INLINE int64_t common(const uint64_t *left, const uint64_t *right, int64_t width)
{
    int64_t rows = 0;
    for (int64_t k = 0; k < width; k++)
        rows += __builtin_popcountll(left[k] & right[k]);
    return rows;
}

INLINE int64_t intersect(const uint64_t *restrict left, const uint64_t *restrict right, uint64_t *restrict into,
                         int64_t width)
{
    int64_t rows = 0;
    for (int64_t k = 0; k < width; k++) {
        uint64_t both = left[k] & right[k];
        into[k] = both;
        rows += __builtin_popcountll(both);
    }
    return rows;
}

/* The last two items: first items `first` ... `end` - 1, and every item behind them. */
INLINE void map_pairs(Maps maps, int64_t first, int64_t end, int32_t *prefix, int64_t size, const Sink *sink,
                      const Watch *watch, Common *common_here)
{
    for (int64_t item = first; item < end && !is_over(sink, watch); item++) {
        int64_t found = sink->found.at[0];
        prefix[size - 2] = maps.labels[item];
        const uint64_t *mine = maps.words + item * maps.width;
        for (int64_t later = item + 1; later < maps.items; later++) {
            int64_t support = common_here(mine, maps.words + later * maps.width, maps.width);
            found += accept(sink, found, prefix, size, maps.labels[later], support);
        }
        sink->found.at[0] = found;
    }
}

/* The rows that hold `item`: the items behind it that are frequent there; how many they are. */
INLINE int64_t behind(Maps maps, int64_t item, int64_t lowest, Level *next, Intersect *intersect_here)
{
    int64_t kept = 0;
    const uint64_t *mine = maps.words + item * maps.width;
    uint64_t *words = next->words.at;
    int32_t *labels = next->labels.at, *supports = next->supports.at;
    for (int64_t later = item + 1; later < maps.items; later++) {
        if (maps.pairs != NULL && maps.pairs[item * maps.items + later] < lowest)
            continue;
        const uint64_t *theirs = maps.words + later * maps.width;
        int64_t support = intersect_here(mine, theirs, words + kept * maps.width, maps.width);
        labels[kept] = maps.labels[later];
        supports[kept] = (int32_t)support;
        kept += support >= lowest;
    }
    return kept;
}

/* The loops, compiled for what a processor can do. */
typedef struct {
    void (*pairs)(Maps, int64_t, int64_t, int32_t *, int64_t, const Sink *, const Watch *);
    int64_t (*behind)(Maps, int64_t, int64_t, Level *);
    WordLoops words;
} Loops;

#define DEFINE_LOOPS(name, attribute, common_here, intersect_here)                                                     \
    attribute static void map_pairs_##name(Maps maps, int64_t first, int64_t end, int32_t *prefix, int64_t size,       \
                                           const Sink *sink, const Watch *watch)                                       \
    {                                                                                                                  \
        map_pairs(maps, first, end, prefix, size, sink, watch, common_here);                                           \
    }                                                                                                                  \
    attribute static int64_t behind_##name(Maps maps, int64_t item, int64_t lowest, Level *next)                       \
    {                                                                                                                  \
        return behind(maps, item, lowest, next, intersect_here);                                                       \
    }                                                                                                                  \
    attribute static int64_t words_common_##name(const uint64_t *left, const uint64_t *right, int64_t width)           \
    {                                                                                                                  \
        return common_here(left, right, width);                                                                        \
    }                                                                                                                  \
    attribute static int64_t words_both_##name(const uint64_t *restrict left, const uint64_t *restrict right,          \
                                               uint64_t *restrict into, int64_t width)                                 \
    {                                                                                                                  \
        return intersect_here(left, right, into, width);                                                               \
    }

DEFINE_LOOPS(portable, , common, intersect)

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANES = 4 }; /* words of a register */

#define FOR_AVX2 __attribute__((target(AVX2_TARGET), always_inline)) static inline

/* The ones of four words, which AVX2 has no instruction for: from a table of those of four bits. */
FOR_AVX2 __m256i ones(__m256i words)
{
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);
    __m256i below = _mm256_shuffle_epi8(table, _mm256_and_si256(words, low));
    __m256i above = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(words, 4), low));
    return _mm256_sad_epu8(_mm256_add_epi8(below, above), _mm256_setzero_si256());
}

FOR_AVX2 int64_t total(__m256i counts)
{
    int64_t lanes[LANES];
    _mm256_storeu_si256((__m256i *)lanes, counts);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

FOR_AVX2 __m256i both_of(const uint64_t *left, const uint64_t *right)
{
    return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)left), _mm256_loadu_si256((const __m256i *)right));
}

FOR_AVX2 int64_t common_avx2(const uint64_t *left, const uint64_t *right, int64_t width)
{
    __m256i counts = _mm256_setzero_si256();
    int64_t k = 0;
    for (; k + LANES <= width; k += LANES)
        counts = _mm256_add_epi64(counts, ones(both_of(left + k, right + k)));
    return total(counts) + common(left + k, right + k, width - k);
}

FOR_AVX2 int64_t intersect_avx2(const uint64_t *restrict left, const uint64_t *restrict right,
                                uint64_t *restrict into, int64_t width)
{
    __m256i counts = _mm256_setzero_si256();
    int64_t k = 0;
    for (; k + LANES <= width; k += LANES) {
        __m256i both = both_of(left + k, right + k);
        _mm256_storeu_si256((__m256i *)(into + k), both);
        counts = _mm256_add_epi64(counts, ones(both));
    }
    return total(counts) + intersect(left + k, right + k, into + k, width - k);
}

DEFINE_LOOPS(avx2, __attribute__((target(AVX2_TARGET))), common_avx2, intersect_avx2)
DEFINE_LOOPS(avx512, __attribute__((target(AVX512_TARGET))), common, intersect)

static const Loops LOOPS[] = {
    [PORTABLE] = {map_pairs_portable, behind_portable, {words_common_portable, words_both_portable}},
    [AVX2] = {map_pairs_avx2, behind_avx2, {words_common_avx2, words_both_avx2}},
    [AVX512] = {map_pairs_avx512, behind_avx512, {words_common_avx512, words_both_avx512}},
};
#else
static const Loops LOOPS[] = {[PORTABLE] = {map_pairs_portable, behind_portable, {words_common_portable, words_both_portable}}};
#endif

WordLoops word_loops(int64_t most)
{
    return LOOPS[instructions(most)].words;
}

int64_t go_on(const Maps *maps, int64_t item, int64_t lowest, int64_t most, Level *next)
{
    int64_t others = maps->items - item - 1, kept = others;
    for (int64_t later = item + 1; maps->pairs != NULL && later < maps->items; later++)
        kept -= maps->pairs[item * maps->items + later] < lowest;
    size_t cells = (size_t)others * sizeof(int32_t);
    if (!room_for(&next->words, (size_t)(kept * maps->width) * sizeof(uint64_t)) || !room_for(&next->labels, cells) ||
        !room_for(&next->supports, cells))
        return NO_MEMORY;
    kept = LOOPS[instructions(most)].behind(*maps, item, lowest, next);
    next->maps = (Maps){next->labels.at, next->words.at, kept, maps->width, NULL};
    return kept;
}

void end_level(Level *level)
{
    free(level->words.at);
    free(level->labels.at);
    free(level->supports.at);
}

/* Whether what follows `item`, `more` of the items of `behind`, needs no search. */
static bool needs_none(const Maps *maps, int64_t item, const Maps *behind, int64_t more, const int32_t *prefix,
                       int64_t size, const Sink *sink)
{
    const uint64_t *mine = maps->words + item * maps->width;
    if (behind->items < more)
        return true;
    if (common(mine, mine, maps->width) != 1)
        return false;
    if (sink->alone.length == 0)
        return all_alone(sink, behind->items, more);
    int32_t *codes = count_crowd(sink, prefix, size, more, behind->items);
    if (codes != NULL) {
        codes[0] = maps->labels[item];
        memcpy(codes + 1, behind->labels, (size_t)behind->items * sizeof *codes);
    }
    return true;
}

static int64_t search_levels(Level *levels, int64_t *following, int64_t end, int64_t known, int64_t size,
                             int32_t *prefix, const Sink *sink, const Watch *watch, int64_t most)
{
    for (int64_t depth = known; depth >= known;) {
        const Maps *maps = &levels[depth].maps;
        int64_t more = size - depth, item = following[depth], last = depth == known ? end : maps->items;
        if (more == 2)
            LOOPS[instructions(most)].pairs(*maps, item, last, prefix, size, sink, watch);
        if (more == 2 || item == last || is_over(sink, watch)) {
            depth--;
            continue;
        }
        following[depth]++;
        Level *next = &levels[depth + 1];
        if (depth < WATCHED_DEPTH)
            next->share = go_into(levels[depth].share, pairs_before(maps, item), pairs_before(maps, item + 1), watch);
        if (go_on(maps, item, sink->lowest, most, next) < 0)
            return NO_MEMORY;
        if (needs_none(maps, item, &next->maps, more - 1, prefix, size, sink))
            continue;
        prefix[depth++] = maps->labels[item];
        following[depth] = 0;
    }
    return 0;
}

int64_t search_below(Maps maps, int64_t first, int64_t end, int64_t known, int64_t size, int32_t *prefix,
                     const Sink *sink, const Watch *watch, Share share, int64_t most)
{
    Level *levels = calloc((size_t)size, sizeof *levels);
    int64_t *following = calloc((size_t)size, sizeof *following), failure = NO_MEMORY;
    if (levels != NULL && following != NULL) {
        levels[known].maps = maps;
        levels[known].share = share;
        following[known] = first;
        failure = search_levels(levels, following, end, known, size, prefix, sink, watch, most);
    }
    for (int64_t depth = 0; levels != NULL && depth < size; depth++)
        end_level(&levels[depth]);
    free(levels);
    free(following);
    return failure;
}

/* Hand to `sink`, in lexicographic order, the itemsets of `size` items whose first item is in [first, end). */
KERNEL(search_maps, Bitmaps maps; int64_t first; int64_t end; int64_t size; Sink sink; Watch watch;
       int64_t instructions;)
{
    int64_t items = a->maps.labels.length, pairs = a->maps.pairs.length;
    if (a->first < 0 || a->first > a->end || a->end > items || a->maps.width < 0 ||
        a->maps.words.length / (a->maps.width + (a->maps.width == 0)) < items || (pairs != 0 && pairs != items * items) ||
        !is_sink(&a->sink, a->size) || !is_watch(&a->watch))
        return MISFIT;
    int32_t *prefix = malloc((size_t)a->size * sizeof *prefix);
    if (prefix == NULL)
        return NO_MEMORY;
    Maps maps = {a->maps.labels.at, a->maps.words.at, items, a->maps.width, pairs ? a->maps.pairs.at : NULL};
    Share share = {-pairs_before(&maps, a->first), 1};
    int64_t failure = search_below(maps, a->first, a->end, 0, a->size, prefix, &a->sink, &a->watch, share, a->instructions);
    go_into(share, pairs_before(&maps, a->end), 1, &a->watch);
    free(prefix);
    return failure;
}

/* Set the bits of some items: that of row r of item i is bit r of the words from offsets[i] on. */
KERNEL(set_bits, Int32s items; Int64s starts; Int64s offsets; Uint64sOut words;)
{
    int64_t rows = a->starts.length - 1, width = (rows + 63) / 64;
    if (!are_rows_of_places(a->starts, 0, rows, a->items, a->offsets.length))
        return MISFIT;
    for (int64_t item = 0; item < a->offsets.length; item++)
        if (a->offsets.at[item] < 0 || a->offsets.at[item] + width > a->words.length)
            return MISFIT;
    for (int64_t row = 0; row < rows; row++) {
        uint64_t bit = UINT64_C(1) << (row & 63);
        for (int64_t place = a->starts.at[row]; place < a->starts.at[row + 1]; place++)
            a->words.at[a->offsets.at[a->items.at[place]] + (row >> 6)] |= bit;
    }
    return 0;
}

/* One-hot cells as bitmaps: of 64 rows and 8 columns at a time. */

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
