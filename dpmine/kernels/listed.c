/* The supports of listed itemsets, which are a tree: a node is an item, and the way to it from a root an itemset. */

#include "kernels.h"

enum { SHORT = 8 }; /* stretches that are looked through one by one */

/* The first place in [begin, end) whose number is not below the wanted one. */
INLINE int64_t place_of(const int32_t *numbers, int64_t begin, int64_t end, int32_t wanted)
{
    while (end - begin > SHORT) {
        int64_t middle = begin + (end - begin) / 2;
        if (numbers[middle] < wanted)
            begin = middle + 1;
        else
            end = middle;
    }
    while (begin < end && numbers[begin] < wanted)
        begin++;
    return begin;
}

typedef struct {
    const int32_t *items;
    Int32s nodes;
    Int64s children;
    int64_t leaves; /* the first leaf: the nodes of the last items come last */
    int32_t unit;
    int32_t *last;
    int64_t *counts;
} Walk;

/* Count the leaves below the nodes low ... high - 1 whose items are all in the stretch place ... end - 1 of a row.

   Children come behind their parents, and items behind their place: so it ends. */
static void walk(const Walk *w, int64_t low, int64_t high, int64_t place, int64_t end)
{
    while (low < high && place < end) {
        int32_t item = w->items[place];
        low = place_of(w->nodes.at, low, high, item);
        if (low == high)
            return;
        if (w->nodes.at[low] != item) {
            place = place_of(w->items, place, end, w->nodes.at[low]);
            continue;
        }
        place++;
        if (low < w->leaves) {
            walk(w, w->children.at[low], w->children.at[low + 1], place, end);
        } else {
            w->counts[low - w->leaves] += w->last[low - w->leaves] != w->unit;
            w->last[low - w->leaves] = w->unit;
        }
        low++;
    }
}

/* Add to `counts`, for every leaf, the units with a row that holds all items on the way to it.

   Rows increase; `units`, their owners, never decrease. `nodes` holds the items of the tree, level after level, the
   children of a node one after the other, increasing: those of node v are children[v] ... children[v + 1] - 1. Leaves
   have none, and come last. root_of[i] is the root of item i, or -1. `last`: -1 for every leaf. */
KERNEL(count_listed, Int32s items; Int64s starts; Int32s units; Int32s root_of; Int32s nodes; Int64s children;
       Int32sOut last; Int64sOut counts;)
{
    int64_t rows = a->units.length, leaves = a->nodes.length - a->counts.length;
    if (leaves < 0 || a->last.length != a->counts.length || a->starts.length != rows + 1 ||
        a->children.length != a->nodes.length + 1 ||
        !are_rows_of_places(a->starts, 0, rows, a->items, a->root_of.length) ||
        !are_rows(a->children, 0, a->nodes.length, a->nodes.length))
        return MISFIT;
    for (int64_t node = 0; node < leaves; node++)
        if (a->children.at[node] <= node)
            return MISFIT;
    for (int64_t item = 0; item < a->root_of.length; item++)
        if (a->root_of.at[item] < -1 || a->root_of.at[item] >= leaves)
            return MISFIT;
    Walk w = {a->items.at, a->nodes, a->children, leaves, 0, a->last.at, a->counts.at};
    for (int64_t row = 0; row < rows; row++) {
        int64_t end = a->starts.at[row + 1];
        w.unit = a->units.at[row];
        for (int64_t place = a->starts.at[row]; place < end; place++) {
            int32_t root = a->root_of.at[(uint32_t)a->items.at[place]];
            if (root >= 0)
                walk(&w, a->children.at[root], a->children.at[root + 1], place + 1, end);
        }
    }
    return 0;
}
