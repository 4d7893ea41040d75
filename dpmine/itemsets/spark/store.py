"""Baskets on the cluster as sorted arrays of ranks: what all searches read.

A basket is the array of the ranks of its items, frequent items first, so that the items above a threshold are the front
of it. Baskets too long for one task, or of units with too many of them, are marked: they are counted in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.io.arrow import integers
from dpmine.itemsets.spark.session import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.spark.baskets import SparkBaskets
    from dpmine.itemsets.spark.depth import Ranks

LONG_BASKET = 1024
"""Items from which on a basket is counted in blocks; also the square root of the pairs from which on a unit is."""


@dataclass(frozen=True, eq=False)
class Store:
    """Baskets of at least two items out of those with a support of at least `threshold`.

    Attributes:
        frame: units (none where a unit has one basket), `items` (array of int, increasing) and `heavy`.
        units: its columns that name the unit.
        threshold: as above.
        depth: how many ranks that are.
    """

    frame: Any
    units: tuple[str, ...]
    threshold: int
    depth: int

    @classmethod
    def of(cls, baskets: SparkBaskets, ranks: Ranks, threshold: int) -> Store:
        """Kept by the cluster once something was counted in it; a unit's baskets lie in one partition."""
        from pyspark.sql import functions

        depth, rows = ranks.above(threshold), baskets.rows
        grouped = baskets.coded(ranks.codes[:depth]).groupBy(*rows.keys)
        arrays = grouped.agg(functions.sort_array(functions.collect_set("rank")).alias("items"))
        arrays = arrays.where(functions.size("items") > 1)
        if not rows.baskets:
            frame = arrays.select("items", (functions.size("items") >= LONG_BASKET).alias("heavy"))
            return cls(baskets.kept.keep(frame), (), threshold, depth)
        return cls(baskets.kept.keep(_by_unit(arrays, rows.units)), rows.units, threshold, depth)

    def containing(self, ranks: Sequence[int]) -> int:
        """The number of units with a basket that holds all these items."""
        from pyspark.sql import functions

        found = self.frame
        for rank in ranks:
            found = found.where(functions.array_contains("items", functions.lit(int(rank))))
        with replacing():
            return int((found.select(*self.units).distinct() if self.units else found).count())

    def work(self, size: int) -> Work:
        """What counting itemsets of `size` items costs, item by item; one pass over the store."""
        from pyspark.sql import functions

        places = self.frame.select("heavy", functions.posexplode("items").alias("place", "rank"))
        ways = functions.lit(1.0)
        for taken in range(size - 1):  # place! / (place − size + 1)! / (size − 1)!, and 0 for a low place
            ways *= functions.greatest(functions.col("place") - taken, functions.lit(0)) / (taken + 1)
        summed = places.groupBy("rank").agg(
            functions.sum(ways).alias("work"), functions.count("*").alias("rows"), functions.max("heavy").alias("heavy")
        )
        with replacing():
            found = summed.select("rank", "work", "rows", functions.col("heavy").cast("int")).toArrow()
        costs = np.zeros(self.depth)
        costs[integers(found.column("rank"))] = np.array(found.column("work").to_pylist(), np.float64)
        rows = integers(found.column("rows"))
        return Work(costs, int(rows.sum()), bool(integers(found.column("heavy")).max(initial=0)))


@dataclass(frozen=True, eq=False)
class Work:
    """What a search in a store costs.

    Attributes:
        of_rank: float64[depth], occurrences of itemsets whose rarest item has this rank.
        stored: occurrences of items in the store.
        heavy: whether anything must be counted in blocks.
    """

    of_rank: NDArray[np.float64]
    stored: int
    heavy: bool


def _by_unit(arrays: Any, units: Sequence[str]) -> Any:
    """All baskets of a unit in one partition: no itemset needs to travel to be counted once a unit."""
    from pyspark.sql import Window, functions

    placed = arrays.repartition(*units)
    length = functions.size("items").cast("double")
    weight = functions.sum(length * length).over(Window.partitionBy(*units))
    return placed.select(*units, "items", (weight >= float(LONG_BASKET) ** 2).alias("heavy"))
