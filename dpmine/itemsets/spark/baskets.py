"""Transactions that stay on a Spark cluster: here are only the items' labels and supports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array, integers, integers_or, is_text
from dpmine.itemsets.ingest.catalogue import narrow
from dpmine.itemsets.ingest.read import declared, declared_type
from dpmine.itemsets.spark.engine import is_spark_frame, paths_of
from dpmine.itemsets.spark.kept import Kept
from dpmine.itemsets.spark.session import replacing, spark_session
from dpmine.itemsets.spark.source import ITEM, TABLE, SparkSource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpmine.io.columns import Columns
    from dpmine.itemsets.ingest.layouts import Plan
    from dpmine.itemsets.spark.source import SparkRows

BROADCAST_ITEMS = 1_000_000
"""Items that are sent to every executor; more are joined by a shuffle, unless Spark knows better."""
_UNREADABLE = (
    "Spark failed while it read the data: see that the files are whole and of one schema, that the columns can be read "
    "by themselves, and that the executors have memory and disk left (their logs tell)."
)


@dataclass(frozen=True, eq=False)
class SparkBaskets:
    """Baskets on a cluster.

    Attributes:
        labels: as in Baskets.
        item_supports: int64[N], number of units of each item.
        unit: as in Baskets.
        rows: of the items of `labels`, and perhaps of others.
        session: of Spark.
        kept: what the cluster keeps for these baskets; whoever read them releases it.
    """

    labels: pa.Array
    item_supports: NDArray[np.int64]
    unit: str
    rows: SparkRows
    session: Any
    kept: Kept

    @property
    def catalogue_size(self) -> int:
        """N, the number of items, bought or not."""
        return len(self.labels)

    @cached_property
    def total_units(self) -> int:
        """Number of privacy units, those whose baskets are all empty included. Private. A pass over the data."""
        with replacing(_UNREADABLE):
            rows = self.rows.frame if self.rows.owners is None else self.rows.owners
            return int(rows.select(*self.rows.units).distinct().count())

    def among(self, codes: Sequence[int]) -> SparkBaskets:
        """The baskets with only these items, `codes` increasing; item i of the new catalogue is codes[i]."""
        some = list(codes)
        return replace(self, labels=self.labels.take(some), item_supports=self.item_supports[some])

    def items_frame(self, codes: Sequence[int] | NDArray[np.int64]) -> Any:
        """A frame of items (`item`) and their places in `codes` (`rank`)."""
        labels = self.labels.take(integer_array(np.asarray(codes, np.int64)))
        ranks = integer_array(np.arange(len(labels))).cast(pa.int32())
        with replacing():
            return self.session.createDataFrame(pa.table({ITEM: labels, "rank": ranks}))

    def coded(self, codes: Sequence[int] | NDArray[np.int64]) -> Any:
        """The rows of these items: keys and `rank`, the item's place in `codes`."""
        found = self.rows.frame.join(_small(self.items_frame(codes), len(codes)), ITEM)
        return found.select(*self.rows.keys, "rank")


@dataclass(frozen=True, eq=False)
class SparkRead:
    """What was read: as `out_of_core_read.Read`."""

    transactions: SparkBaskets
    item_type: pa.DataType | None


def read_spark(
    data: Any,
    columns: Columns,
    *,
    memory: int,
    catalogue: pa.Array | None = None,
    planned: Callable[[Plan], None] | None = None,
) -> SparkRead:
    """The baskets in a Spark frame or in what Spark reads at some paths; one pass counts the items.

    `planned` gets the layout once it is known from the columns, before any row is read. Raises
    BadParameter (no Spark, a stream), BadData or UnreadableFile, none of which quotes Spark.
    """
    if is_spark_frame(data):
        with replacing():
            session, endless = data.sparkSession, data.isStreaming
        if endless:
            raise BadParameter("A stream has no end: give a frame of what has arrived, or the files that hold it.")
        source = SparkSource.of_frame(data)
    else:
        session = spark_session(memory)
        source = SparkSource.of_paths(session, paths_of(data))
    plan = source.plan(columns)
    known = declared(catalogue, source.source, plan)
    if planned is not None:
        planned(plan)
    rows, kept = source.rows(plan, known), Kept(session)
    try:
        if not _are_files(data):  # it may differ each time it is computed, and all counts must be of the same rows
            owners = None if rows.owners is None else kept.keep(rows.owners)
            rows = replace(rows, frame=kept.keep(rows.frame), owners=owners)
        labels, supports = _items(rows, known, session)
    except BaseException:
        kept.release_all()
        raise
    return SparkRead(
        SparkBaskets(labels, supports, plan.unit_name, rows, session, kept), declared_type(known, rows.kind)
    )


def _are_files(data: Any) -> bool:
    return not is_spark_frame(data) and not any(path.startswith(TABLE) for path in paths_of(data))


def _items(rows: SparkRows, known: pa.Array | None, session: Any) -> tuple[pa.Array, NDArray[np.int64]]:
    """The labels, sorted, and the number of units of each."""
    from pyspark.sql import functions

    frame = rows.frame
    if known is not None:
        with replacing():
            listed = session.createDataFrame(pa.table({ITEM: known}))
        frame = frame.join(_small(listed, len(known)), ITEM, "left_semi")
    if not rows.rows_are_units:
        frame = frame.select(*rows.units, ITEM).distinct()
    with replacing(_UNREADABLE):
        found = frame.groupBy(ITEM).agg(functions.count("*").alias("support")).toArrow()
    items, counts = found.column(ITEM).combine_chunks(), integers(found.column("support"))
    if is_text(items.type):
        items = items.cast(pa.large_string())
    if known is None:
        order = pc.sort_indices(items)
        return narrow(items.take(order)), counts[integers(pa.chunked_array([order.cast(pa.int64())]))]
    supports = np.zeros(len(known), np.int64)
    supports[integers_or(-1, pc.index_in(items, value_set=known.cast(items.type)))] = counts
    return narrow(known), supports


def _small(items: Any, number: int) -> Any:
    """A frame of so many items, sent to every executor where they are few enough."""
    from pyspark.sql import functions

    return functions.broadcast(items) if number <= BROADCAST_ITEMS else items
