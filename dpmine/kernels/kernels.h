/* What the kernels share: arrays as Python hands them over, the declaration of a kernel, and what a kernel returns.

   A kernel is a pure function of its arguments. It runs without the interpreter's lock, in several threads at once; it
   keeps nothing between two calls. It returns a number >= 0, or one of the two failures below. */

#ifndef DPMINE_KERNELS_H
#define DPMINE_KERNELS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    NO_MEMORY = -1,
    MISFIT = -2, /* the arrays do not fit together: a fault of the caller; what was written is void */
};

/* Numbers of itemsets stop growing here, as COUNT_LIMIT in Python: far from the end of 64 bits. */
#define COUNT_LIMIT (INT64_C(1) << 61)

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define INLINE static inline __attribute__((always_inline))

_Static_assert(sizeof(void *) == sizeof(int64_t), "Python hands every field over as 64 bits");

/* Arrays: contiguous, of one type. Those called Out are written to. */
#define ARRAY(name, type)                                                                                              \
    typedef struct {                                                                                                   \
        const type *at;                                                                                                \
        int64_t length;                                                                                                \
    } name;                                                                                                            \
    typedef struct {                                                                                                   \
        type *at;                                                                                                      \
        int64_t length;                                                                                                \
    } name##Out;

ARRAY(Bytes, uint8_t)
ARRAY(Int32s, int32_t)
ARRAY(Int64s, int64_t)
ARRAY(Uint64s, uint64_t)
ARRAY(Doubles, double)

/* A kernel, its arguments as fields of `a`. Python reads the declaration from the library: there is no second one to
   keep in step. Every field is an int64_t, an array, or one of the records below. No array holds the arguments
   themselves, so that loops need not read them anew behind every number that they write. */
#define KERNEL(name, ...)                                                                                              \
    typedef struct {                                                                                                   \
        __VA_ARGS__                                                                                                    \
    } name##_arguments;                                                                                                \
    EXPORT const char dpmine_##name##_arguments[] = #__VA_ARGS__;                                                      \
    EXPORT int64_t dpmine_##name(const name##_arguments *restrict a);                                                           \
    EXPORT int64_t dpmine_##name(const name##_arguments *restrict a)

/* A record of arguments; one of the files says RECORDS, and exports the declarations. */
#if defined(RECORDS)
#define DECLARATION(name, text) EXPORT const char dpmine_##name##_fields[] = text;
#else
#define DECLARATION(name, text)
#endif
#define RECORD(name, ...)                                                                                              \
    typedef struct {                                                                                                   \
        __VA_ARGS__                                                                                                    \
    } name;                                                                                                            \
    DECLARATION(name, #__VA_ARGS__)

/* See dpmine/itemsets/counting/arrays.py for these records. */
RECORD(Rows, Int32s labels; Int32s items; Int64s starts; Int32s units; Int64s item_starts; Int32s row_of;
       Int64s place_of;)

RECORD(Bitmaps, Int32s labels; Uint64s words; int64_t width; Int32s pairs;)

RECORD(Sink, int64_t lowest; int64_t highest; int64_t skip; Int64sOut histogram; Int32sOut itemsets;
       Int64sOut supports; Int64sOut found; Int64sOut alone; Int64sOut wanted; Int32sOut crowd;)

RECORD(Lists, int64_t lowest; int64_t smallest; int64_t largest; int64_t deepest; Int32sOut codes; Int64sOut ends;
       Int64sOut supports; Int64sOut used; Int64sOut path;)

RECORD(Watch, Int64s stop; DoublesOut done;)

/* Whether rows first ... end - 1 are stretches of an array of `length` entries, one behind the other. */
INLINE bool are_rows(Int64s starts, int64_t first, int64_t end, int64_t length)
{
    if (first < 0 || first > end || end >= starts.length || starts.at[first] < 0 || starts.at[end] > length)
        return false;
    bool ascending = true;
    for (int64_t row = first; row < end; row++)
        ascending &= starts.at[row] <= starts.at[row + 1];
    return ascending;
}

/* Whether numbers first ... end - 1 are places in an array of `length` entries. */
INLINE bool are_places(Int32s numbers, int64_t first, int64_t end, int64_t length)
{
    uint32_t greatest = 0;
    for (int64_t k = first; k < end; k++) {
        uint32_t number = (uint32_t)numbers.at[k];
        greatest = number > greatest ? number : greatest;
    }
    return first == end || greatest < length;
}

/* Whether rows first ... end - 1 hold places in an array of `length` entries. */
INLINE bool are_rows_of_places(Int64s starts, int64_t first, int64_t end, Int32s items, int64_t length)
{
    return are_rows(starts, first, end, items.length) && are_places(items, starts.at[first], starts.at[end], length);
}

/* Memory that grows to what is asked for; what it held is lost then. */
typedef struct {
    void *at;
    size_t size;
} Room;

INLINE void *room_for(Room *room, size_t size)
{
    if (room->size < size || room->at == NULL) {
        free(room->at);
        room->at = malloc(size + size / 4 + 64);
        room->size = room->at == NULL ? 0 : size + size / 4;
    }
    return room->at;
}

/* Sort n items; false without memory. `spare` serves several calls: free what it holds in the end. */
bool sort_items(int32_t *items, int64_t n, Room *spare);

/* What a processor can do beyond the baseline, in ascending order: `portable` loops run everywhere. */
enum { PORTABLE, AVX2, AVX512 };
#define AVX2_TARGET "avx2"
#define AVX512_TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq"

/* The best of these that this processor has, up to `most`. */
int64_t instructions(int64_t most);

#endif
