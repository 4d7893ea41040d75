"""Itemsets of the stored baskets, counted by the cluster.

Itemsets are written from the rarest item to the most frequent one: columns a0, a1, … of falling ranks. The *parent* of
an itemset is itself without its last, most frequent item. A search over a range of parents' supports finds every
itemset with a parent in that range, whatever its own support; as every itemset has one parent, ranges that do not
overlap count nothing twice, and nothing is counted again when the threshold falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpmine.itemsets.spark.session import replacing

if TYPE_CHECKING:
    from dpmine.itemsets.spark.store import Store

BLOCK = 64
"""Places of a long basket that one row of its blocks stands for."""
SUPPORT = "support"
_TASKS = 200  # Spark's own default


@dataclass(frozen=True, eq=False)
class Search:
    """Which itemsets are counted.

    Attributes:
        size: their number of items, at least 2.
        first: the lowest rank of a0 for pairs; 0 for larger itemsets, whose parents say more.
        end: one more than the highest rank of a0.
        parents: frames with the columns a0, … of smaller itemsets, one after the other of 2, 3, … items: a row goes on
            only where its first items are in them. Empty for pairs.
    """

    size: int
    first: int
    end: int
    parents: tuple[Any, ...]


def itemset_columns(size: int) -> list[str]:
    """The names of the columns of the items."""
    return [f"a{place}" for place in range(size)]


def counted(store: Store, search: Search, *, heavy: bool, session: Any) -> Any:
    """The itemsets of a search and their supports: a frame with a0, …, `support`."""
    from pyspark.sql import functions

    light = _found(store, search, _places(store.frame.where(~functions.col("heavy")) if heavy else store.frame, store))
    if heavy:
        blocks = _blocks(store.frame.where("heavy"), store, session)
        light = light.unionByName(_found(store, search, blocks))
    return light.groupBy(*itemset_columns(search.size)).agg(functions.count("*").alias(SUPPORT))


def _found(store: Store, search: Search, places: Any) -> Any:
    """One row a unit and itemset, from rows of a basket and a place (`place`, a0) in it."""
    from pyspark.sql import functions

    rank = functions.col("a0")
    rows = places.where((rank >= search.first) & (rank < search.end) & (functions.col("place") >= search.size - 1))
    for taken in range(1, search.size):
        if taken > 1:
            rows = rows.join(search.parents[taken - 2], itemset_columns(taken), "left_semi")
        rows = _extended(rows, store.units, taken, last=taken == search.size - 1)
    # All baskets of a unit are in the store's one partition, or all in blocks: no unit is counted in both.
    return rows.distinct() if store.units else rows


def _extended(rows: Any, units: tuple[str, ...], taken: int, *, last: bool) -> Any:
    """Every row once for each more frequent item of its basket, which becomes the next column."""
    from pyspark.sql import functions

    known, name = [*units, *itemset_columns(taken)], f"a{taken}"
    front = functions.slice("items", functions.lit(1), functions.col("place"))
    if last:
        return rows.select(*known, functions.explode(front).alias(name))
    return rows.select(*known, "items", functions.posexplode(front).alias("place", name))


def _places(baskets: Any, store: Store) -> Any:
    from pyspark.sql import functions

    return baskets.select(*store.units, "items", functions.posexplode("items").alias("place", "a0"))


def _blocks(baskets: Any, store: Store, session: Any) -> Any:
    """The places of long baskets, dealt out over all tasks: a block of them at a time, with the basket's items."""
    from pyspark.sql import functions

    start = functions.sequence(functions.lit(0), functions.size("items") - 1, functions.lit(BLOCK))
    blocks = baskets.select(*store.units, "items", functions.explode(start).alias("start"))
    with replacing():
        asked = str(session.conf.get("spark.sql.shuffle.partitions"))
    tasks = int(asked) if asked.isdigit() else _TASKS  # some clusters say "auto"
    dealt = blocks.repartition(tasks, "start", functions.xxhash64("items"))
    places = functions.slice("items", functions.col("start") + 1, functions.lit(BLOCK))
    found = dealt.select(*store.units, "items", "start", functions.posexplode(places).alias("inside", "a0"))
    return found.select(*store.units, "items", (functions.col("start") + functions.col("inside")).alias("place"), "a0")
