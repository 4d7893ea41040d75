"""Baskets on a Spark cluster: what selection asks of them, and which miner counts their itemsets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.io.arrow import integer_array
from dpmine.itemsets.spark.inputs import ITEM, small
from dpmine.itemsets.spark.native import Blocks, NativeMiner
from dpmine.itemsets.spark.progress import watched
from dpmine.itemsets.spark.session import functions, replacing
from dpmine.itemsets.spark.supports import SparkMiner
from dpmine.itemsets.spark.weights import UNREADABLE, WEIGHT, added_up, items_held, pairs_held, weighted
from dpmine.itemsets.transactions.hashes import label_hashes
from dpmine.itemsets.transactions.interface import Transactions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from dpmine.io.source import Progress
    from dpmine.itemsets.spark.inputs import SparkRows
    from dpmine.itemsets.spark.session import Kept
    from dpmine.itemsets.transactions.interface import SupportSource


@dataclass(frozen=True, eq=False)
class SparkBaskets(Transactions):
    """Baskets on a cluster.

    Attributes:
        labels: as in Baskets.
        item_supports: int64[N], number of units of each item.
        unit: as in Baskets.
        rows: of the items of `labels`, and perhaps of others.
        session: of Spark.
        kept: what the cluster keeps for these baskets until they are closed.
        blocks: the baskets as the executors' dpmine counts in them; None where SQL counts.
        progress: called in each step with the share of its tasks that are done.
    """

    labels: pa.Array
    item_supports: NDArray[np.int64]
    unit: str
    rows: SparkRows
    session: SparkSession
    kept: Kept
    blocks: Blocks | None = None
    progress: Progress | None = None

    @cached_property
    def total_units(self) -> int:
        """See `Transactions`. A pass over the data."""
        with watched(self.session, self.progress), replacing(UNREADABLE):
            rows = self.rows.frame if self.rows.owners is None else self.rows.owners
            return int(rows.select(*self.rows.units).distinct().count())

    def miner(self) -> SupportSource:
        """See `Transactions`."""
        by_sql = SparkMiner(self)
        return by_sql if self.blocks is None else NativeMiner(self.labels, self.blocks, by_sql)

    def truncated(self, max_items_per_unit: int) -> SparkBaskets:
        """See `Transactions`. A pass over the data."""
        held = self._held(max_items_per_unit)
        units = self.rows.units
        frame = self.kept.keep(self.rows.frame.join(held.select(*units, ITEM), [*units, ITEM], "left_semi"))
        rows = replace(self.rows, frame=frame, counted=frame)
        with watched(self.session, self.progress):
            supports = added_up(held, ["rank"], functions.count("*"), len(self.labels))
            blocks = None if self.blocks is None else Blocks.of(rows, self.kept, self.session)
        return replace(self, item_supports=supports, rows=rows, blocks=blocks)

    def item_weights(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Transactions`. A pass over the data."""
        held = weighted(self._held(len(weights)), self.rows.units, weights, self.session)
        with watched(self.session, self.progress):
            return added_up(held, ["rank"], functions.sum(WEIGHT), len(self.labels))

    def pair_weights(self, codes: Sequence[int], weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Transactions`. A pass over the data."""
        held = weighted(pairs_held(self.coded(codes), self.rows), self.rows.units, weights, self.session)
        with watched(self.session, self.progress):
            return added_up(held, ["rank", "later"], functions.sum(WEIGHT), len(codes))

    def _held(self, limit: int) -> DataFrame:
        """A row for each of the `limit` items, at most, that a unit keeps: the columns of the unit, `item`, `rank`."""
        codes = np.arange(len(self.labels))
        hashes = integer_array(label_hashes(self.labels))
        with replacing():
            known = self.items_frame(codes, hash=hashes)
        return items_held(self.rows.frame.join(small(known, len(codes)), ITEM), self.rows, limit)

    def close(self) -> None:
        """The cluster need not keep anything for these transactions any more."""
        self.kept.release_all()

    def projected(self, codes: Sequence[int]) -> SparkBaskets:
        """See `Transactions`."""
        some = list(codes)
        return replace(self, labels=self.labels.take(some), item_supports=self.item_supports[some])

    def unions(self) -> SparkBaskets:
        """See `Transactions`. Without its names of baskets, a unit has one."""
        blocks = None if self.blocks is None else self.blocks.unions(self.kept)
        return replace(self, rows=replace(self.rows, baskets=()), blocks=blocks)

    def items_frame(self, codes: Sequence[int] | NDArray[np.int64], **more: Any) -> DataFrame:
        """A frame of items (`item`), their places in `codes` (`rank`), and `more` columns of theirs."""
        labels = self.labels.take(integer_array(np.asarray(codes, np.int64)))
        ranks = integer_array(np.arange(len(labels))).cast(pa.int32())
        with replacing():
            return self.session.createDataFrame(pa.table({ITEM: labels, "rank": ranks, **more}))

    def coded(self, codes: Sequence[int] | NDArray[np.int64]) -> DataFrame:
        """The rows of these items: keys and `rank`, the item's place in `codes`."""
        found = self.rows.frame.join(small(self.items_frame(codes), len(codes)), ITEM)
        return found.select(*self.rows.keys, "rank")
