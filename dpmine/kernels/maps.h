/* Bitmaps while they are searched. */

#ifndef DPMINE_MAPS_H
#define DPMINE_MAPS_H

#include "sink.h"

/* For each item a bit a row. */
typedef struct {
    const int32_t *labels;
    const uint64_t *words;
    int64_t items, width;
    const int32_t *pairs; /* NULL where the supports of pairs were not counted */
} Maps;

/* Bitmaps of a prefix, in memory of their own, and the supports of their items. */
typedef struct {
    Maps maps;
    Share share;
    Room words, labels, supports;
} Level;

/* How many rows hold both items. */
typedef int64_t Common(const uint64_t *left, const uint64_t *right, int64_t width);

/* The rows that hold both items, and how many they are. */
typedef int64_t Intersect(const uint64_t *restrict left, const uint64_t *restrict right, uint64_t *restrict into,
                          int64_t width);

/* Both, as this processor does them best. */
typedef struct {
    Common *common;
    Intersect *intersect;
} WordLoops;

WordLoops word_loops(int64_t most);

/* What follows `item` and is frequent there into the next level. Returns how many items, or NO_MEMORY. */
int64_t go_on(const Maps *maps, int64_t item, int64_t lowest, int64_t instructions, Level *next);
void end_level(Level *level);

/* The share of the items before `item`: of the pairs that begin with them, a rough forecast of the work. */
static inline double pairs_before(const Maps *maps, int64_t item)
{
    double rest = 1 - (double)item / (double)(maps->items > 0 ? maps->items : 1);
    return 1 - rest * rest;
}

/* A search below `known` items of `prefix`: first items first ... end - 1. */
int64_t search_below(Maps maps, int64_t first, int64_t end, int64_t known, int64_t size, int32_t *prefix,
                     const Sink *sink, const Watch *watch, Share share, int64_t instructions);

#endif
