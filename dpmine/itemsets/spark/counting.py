"""How deep a search on the cluster goes, and the itemsets of the stored baskets that the cluster counts in it.

Items are ranked by decreasing support (ties by code), so the items above a threshold are the first ranks. An itemset
belongs to its rarest item. `work[k]` is the number of occurrences of itemsets that belong to the item of rank k. So the
work of any range of ranks is known before it is done.

Itemsets are written from the rarest item to the most frequent one: columns a0, a1, … of falling ranks. The *parent* of
an itemset is itself without its last, most frequent item. A search over a range of parents' supports finds every
itemset with a parent in that range, whatever its own support. Every itemset has one parent. So ranges that do not
overlap count nothing twice, and nothing is counted again when the threshold falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.io.arrow import integers
from dpmine.itemsets.spark.session import functions, replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from dpmine.itemsets.spark.inputs import SparkRows
    from dpmine.itemsets.spark.session import KeptFrames


BLOCK = 64
"""Places of a long basket that one row of its blocks stands for."""
SUPPORT = "support"
_TASKS = 200  # Spark's own default


@dataclass(frozen=True, eq=False)
class ParentSearch:
    """Which itemsets are counted.

    Attributes:
        size: their number of items, at least 2.
        first: the lowest rank of a0 for pairs; 0 for larger itemsets, whose parents say more.
        end: one more than the highest rank of a0.
        parents: frames with the columns a0, … of smaller itemsets: of 2 items, of 3 items, and so on. A row goes on
            only where its first items are in them. Empty for pairs.
    """

    size: int
    first: int
    end: int
    parents: tuple[Any, ...]


def itemset_columns(size: int) -> list[str]:
    """The names of the columns of the items."""
    return [f"a{place}" for place in range(size)]


def counted(store: BasketStore, search: ParentSearch, *, heavy: bool, session: SparkSession) -> DataFrame:
    """The itemsets of a search and their supports: a frame with a0, …, `support`."""
    light = _found(store, search, _places(store.frame.where(~functions.col("heavy")) if heavy else store.frame, store))
    if heavy:
        blocks = _blocks(store.frame.where("heavy"), store, session)
        light = light.unionByName(_found(store, search, blocks))
    return light.groupBy(*itemset_columns(search.size)).agg(functions.count("*").alias(SUPPORT))


def _found(store: BasketStore, search: ParentSearch, places: DataFrame) -> DataFrame:
    """One row a unit and itemset, from rows of a basket and a place (`place`, a0) in it."""
    rank = functions.col("a0")
    rows = places.where((rank >= search.first) & (rank < search.end) & (functions.col("place") >= search.size - 1))
    for taken in range(1, search.size):
        if taken > 1:
            rows = rows.join(search.parents[taken - 2], itemset_columns(taken), "left_semi")
        rows = _extended(rows, store.units, taken, last=taken == search.size - 1)
    # All baskets of a unit are in the store's one partition, or all in blocks: no unit is counted in both.
    return rows.distinct() if store.units else rows


def _extended(rows: DataFrame, units: tuple[str, ...], taken: int, *, last: bool) -> DataFrame:
    """Every row once for each more frequent item of its basket, which becomes the next column."""
    known, name = [*units, *itemset_columns(taken)], f"a{taken}"
    front = functions.slice("items", functions.lit(1), functions.col("place"))
    if last:
        return rows.select(*known, functions.explode(front).alias(name))
    return rows.select(*known, "items", functions.posexplode(front).alias("place", name))


def _places(baskets: DataFrame, store: BasketStore) -> DataFrame:
    return baskets.select(*store.units, "items", functions.posexplode("items").alias("place", "a0"))


def _blocks(baskets: DataFrame, store: BasketStore, session: SparkSession) -> DataFrame:
    """The places of long baskets, dealt out over all tasks: a block of them at a time, with the basket's items."""
    start = functions.sequence(functions.lit(0), functions.size("items") - 1, functions.lit(BLOCK))
    blocks = baskets.select(*store.units, "items", functions.explode(start).alias("start"))
    with replacing():
        asked = str(session.conf.get("spark.sql.shuffle.partitions"))
    tasks = int(asked) if asked.isdigit() else _TASKS  # some clusters say "auto"
    dealt = blocks.repartition(tasks, "start", functions.xxhash64("items"))
    places = functions.slice("items", functions.col("start") + 1, functions.lit(BLOCK))
    found = dealt.select(*store.units, "items", "start", functions.posexplode(places).alias("inside", "a0"))
    return found.select(*store.units, "items", (functions.col("start") + functions.col("inside")).alias("place"), "a0")


_STORED_DEEPER = 8  # by which the stored baskets go below the first threshold asked for: another pass takes long
_SMALL = 20_000_000  # occurrences of items that are stored whole, whatever is asked
_TIMES_THE_WORK = 2  # from the second search on as much again as was asked for is counted ahead, for what follows
_TIMES_THE_STORE = 2  # what counting ahead may take, in occurrences a stored occurrence: about a scan of the store
_FREE = 10_000_000  # occurrences that are counted ahead in any case: they take about as long as a job takes to start


@dataclass(frozen=True, eq=False)
class Ranks:
    """The items by decreasing support.

    Attributes:
        codes: int64[K], the code of each rank; only items that occur.
        supports: int64[K], not increasing.
    """

    codes: NDArray[np.int64]
    supports: NDArray[np.int64]

    @classmethod
    def of(cls, item_supports: NDArray[np.int64]) -> Ranks:
        """Ties by code."""
        order = np.argsort(-item_supports, kind="stable")
        order = order[: np.count_nonzero(item_supports)]
        return cls(order.astype(np.int64), item_supports[order])

    def above(self, threshold: int) -> int:
        """How many items have support ≥ `threshold`."""
        return int(np.searchsorted(-self.supports, -threshold, side="right"))

    def threshold(self, rank: int) -> int:
        """The lowest threshold at which only items of lower ranks than `rank` matter."""
        return int(self.supports[rank]) + 1 if rank < len(self.supports) else 1


def stored_threshold(ranks: Ranks, threshold: int) -> int:
    """The threshold down to which baskets are stored for a search at `threshold`."""
    if int(ranks.supports.sum()) <= _SMALL:
        return 1
    return max(1, threshold // _STORED_DEEPER)


def depth(ranks: Ranks, work: NDArray[np.float64], *, stored: int, known: int, asked: int) -> int:
    """The threshold ≤ `asked` down to which to count, where everything ≥ `known` was counted before.

    `work` is that of the ranks that are stored, `stored` their number of occurrences. Deeper than asked where that is
    nearly free; from the second search on more so, because a second search is often followed by a third.
    """
    first, needed = ranks.above(known), ranks.above(asked)
    done = np.concatenate([np.zeros(1), np.cumsum(work)])
    ahead = _TIMES_THE_WORK if first else 1
    budget = max(ahead * (done[needed] - done[first]), _TIMES_THE_STORE * stored, _FREE)
    furthest = int(np.searchsorted(done, done[first] + budget, side="right")) - 1
    return min(asked, ranks.threshold(max(furthest, needed)))


LONG_BASKET = 1024
"""Items from which on a basket is counted in blocks; also the square root of the pairs from which on a unit is."""


@dataclass(frozen=True, eq=False)
class BasketStore:
    """Baskets of at least two items out of those with a support of at least `threshold`.

    Attributes:
        frame: units (none where a unit has one basket), `items` (array of int, increasing) and `heavy`.
        units: its columns that name the unit.
        threshold: as above.
        depth: how many ranks that are.
    """

    frame: DataFrame
    units: tuple[str, ...]
    threshold: int
    depth: int

    @classmethod
    def of(cls, ranked: DataFrame, rows: SparkRows, kept: KeptFrames, *, threshold: int, depth: int) -> BasketStore:
        """Made of rows in ranks, which are `depth` at the threshold.

        KeptFrames by the cluster once something was counted in it; a unit's baskets lie in one partition.
        """
        arrays = ranked.groupBy(*rows.keys).agg(functions.sort_array(functions.collect_set("rank")).alias("items"))
        arrays = arrays.where(functions.size("items") > 1)
        if not rows.baskets:
            frame = arrays.select("items", (functions.size("items") >= LONG_BASKET).alias("heavy"))
            return cls(kept.keep(frame), (), threshold, depth)
        return cls(kept.keep(_by_unit(arrays, rows.units)), rows.units, threshold, depth)

    def containing(self, ranks: Sequence[int]) -> int:
        """The number of units with a basket that holds all these items."""
        found = self.frame
        for rank in ranks:
            found = found.where(functions.array_contains("items", functions.lit(int(rank))))
        with replacing():
            return int((found.select(*self.units).distinct() if self.units else found).count())

    def work(self, size: int) -> Work:
        """The work of counting itemsets of `size` items, item by item; one pass over the store."""
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
    """The work of a search in a store.

    Attributes:
        of_rank: float64[depth], occurrences of itemsets whose rarest item has this rank.
        stored: occurrences of items in the store.
        heavy: whether anything must be counted in blocks.
    """

    of_rank: NDArray[np.float64]
    stored: int
    heavy: bool


def _by_unit(arrays: DataFrame, units: Sequence[str]) -> DataFrame:
    """All baskets of a unit in one partition: no itemset needs to travel to be counted once a unit."""
    from pyspark.sql import Window

    placed = arrays.repartition(*units)
    length = functions.size("items").cast("double")
    weight = functions.sum(length * length).over(Window.partitionBy(*units))
    return placed.select(*units, "items", (weight >= float(LONG_BASKET) ** 2).alias("heavy"))
