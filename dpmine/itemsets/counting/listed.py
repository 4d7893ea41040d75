"""Listed itemsets: which of them are candidates for a larger size, and the exact supports of all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.counting.rows import restrict_rows
from dpmine.itemsets.transactions.interface import distinct_codes
from dpmine.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.transactions.interface import Baskets

_count_listed = kernel("count_listed")


@dataclass(frozen=True, eq=False)
class ListedItemsets:
    """Itemsets of one size as a tree.

    Attributes:
        rows: int32[k, r], r ≥ 2, in lexicographic order, none twice; item codes increase in a row.
        items: all codes are below it.
    """

    rows: NDArray[np.int32]
    items: int

    @classmethod
    def of(cls, rows: NDArray[np.int32], items: int) -> ListedItemsets:
        """Of different itemsets in any order."""
        return cls(rows[np.lexsort(rows.T[::-1])] if len(rows) else rows, items)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def _keys(self) -> list[NDArray[np.int64]]:
        """For each level the nodes, as parent · items + item, increasing: below 2^62."""
        levels, parent = [], np.zeros(len(self.rows), np.int64)
        for column in self.rows.T:
            level, parent = np.unique(parent * self.items + column, return_inverse=True)
            levels.append(level)
        return levels

    def places(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """int64[n]: the row here of each of some itemsets of this size, −1 where it is none of these."""
        node, is_listed = np.zeros(len(rows), np.int64), np.full(len(rows), len(self) > 0)
        if len(self):
            for keys, column in zip(self._keys, rows.T, strict=True):
                wanted_keys = node * self.items + column
                node = np.minimum(np.searchsorted(keys, wanted_keys), len(keys) - 1)
                is_listed &= keys[node] == wanted_keys
        node[~is_listed] = -1
        return node

    def joins(self) -> int:
        """How many pairs of these differ in the last item alone: at least as many as there are candidates."""
        _, group_sizes = np.unique(self._prefix_numbers(), return_counts=True)
        return int((group_sizes * (group_sizes - 1) // 2).sum())

    def candidates(self) -> ListedItemsets:
        """The itemsets of one item more all of whose subsets of this size are among these.

        Requires: room for `joins()` of them. Source: Agrawal & Srikant 1994, apriori-gen.
        """
        groups = self._prefix_numbers()
        later = np.searchsorted(groups, groups, side="right") - np.arange(len(groups)) - 1
        first = np.repeat(np.arange(len(groups)), later)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
        joined = np.column_stack([self.rows[first], self.rows[second, -1]]).astype(np.int32)
        for left_out in range(joined.shape[1] - 2):  # without one of the last two it is one of those that were joined
            joined = joined[self.places(np.delete(joined, left_out, axis=1)) >= 0]
        return ListedItemsets(joined, self.items)

    def _prefix_numbers(self) -> NDArray[np.int64]:
        """int64[k]: equal for itemsets that differ in the last item alone; never decreasing."""
        changed = np.any(self.rows[1:, :-1] != self.rows[:-1, :-1], axis=1)
        return np.concatenate([np.zeros(min(1, len(self)), np.int64), np.cumsum(changed)])

    def supports_in(self, baskets: Baskets, number_of: NDArray[np.int32]) -> NDArray[np.int64]:
        """int64[k]: the support of each; number_of[c] is the code here of the baskets' item c, or −1.

        Requires: `number_of` increases where it is not −1.
        """
        counts = np.zeros(len(self), np.int64)
        if not len(self):
            return counts
        all_baskets = (0, baskets.basket_count)
        kept, starts, owners = restrict_rows(
            baskets.items, baskets.basket_starts, baskets.unit_numbers(), all_baskets, number_of
        )
        _count_listed(kept, starts, owners, *self._tree, np.full(len(self), -1, np.int32), counts)
        return counts

    @cached_property
    def _tree(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """`root_of`, `nodes` and `children` of the kernel."""
        keys = self._keys
        root_of = np.full(self.items, -1, np.int32)
        root_of[keys[0]] = np.arange(len(keys[0]))
        nodes = np.concatenate([level % self.items for level in keys]).astype(np.int32)
        level_starts = np.cumsum([0, *map(len, keys)])
        parents = [level // self.items + start for level, start in zip(keys[1:], level_starts.tolist(), strict=False)]
        node_numbers = np.arange(len(nodes) + 1)
        children = len(keys[0]) + np.searchsorted(np.concatenate(parents), node_numbers)
        return root_of, nodes, children.astype(np.int64)


def listed_supports(
    itemsets: Sequence[Sequence[int]], item_supports: NDArray[np.int64], parts: Iterable[Baskets]
) -> list[int]:
    """The support of each itemset, of any sizes, in parts that share no unit; takes one pass over them.

    `item_supports` are those of the catalogue's items in all parts. BadParameter for codes outside the catalogue.
    """
    wanted = [distinct_codes(itemset, len(item_supports)) for itemset in itemsets]
    supports = np.array([item_supports[codes].min() for codes in wanted], np.int64)  # of single items, and none at all
    sizes = np.array([len(codes) if least else 1 for codes, least in zip(wanted, supports, strict=True)], np.int64)
    larger = np.flatnonzero(sizes > 1)
    if not len(larger):
        return list(map(int, supports))
    items = np.unique(np.concatenate([wanted[number] for number in larger]))
    number_of = np.full(len(item_supports), -1, np.int32)
    number_of[items] = np.arange(len(items), dtype=np.int32)
    groups = []
    for size in np.unique(sizes[larger]).tolist():
        places = np.flatnonzero(sizes == size)
        rows, row_of = np.unique(number_of[[wanted[place] for place in places]], axis=0, return_inverse=True)
        groups.append((places, ListedItemsets(rows, len(items)), row_of.ravel()))
    supports[larger] = 0
    for part in parts:
        for places, listed, row_of in groups:
            supports[places] += listed.supports_in(part, number_of)[row_of]
    return list(map(int, supports))
