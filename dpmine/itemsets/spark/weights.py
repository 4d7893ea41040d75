"""What items and pairs get of all units on a cluster: each unit gives weights that fall with how many it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.io.arrow import integer_array, integers
from dpmine.itemsets.spark.inputs import ITEM
from dpmine.itemsets.spark.session import functions, replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession

    from dpmine.itemsets.spark.inputs import SparkRows

WEIGHT = "weight"
UNREADABLE = (
    "Spark failed while it read the data: see that the files are whole and of one schema, that the columns can be read "
    "by themselves, and that the executors have memory and disk left (see their logs)."
)


def items_held(items: DataFrame, rows: SparkRows, limit: int) -> DataFrame:
    """A row for each of the `limit` items, at most, that a unit keeps: the columns of the unit, `item`, `rank`.

    `items` are the rows with the items' `rank` and `hash`.
    """
    once = items if rows.rows_are_units else items.distinct()
    held = once.groupBy(*rows.units, ITEM, "rank", "hash").agg(functions.count("*").alias("baskets"))
    lot = functions.xxhash64(functions.bit_xor("hash").over(_window(rows.units)), "hash")
    best = functions.row_number().over(_window(rows.units).orderBy(functions.desc("baskets"), "lot"))
    return held.withColumn("lot", lot).withColumn("place", best).where(functions.col("place") <= limit)


def pairs_held(coded: DataFrame, rows: SparkRows) -> DataFrame:
    """A row for each pair that a unit supports: the columns of the unit, `rank`, and `later`, the larger rank."""
    once = coded if rows.rows_are_units else coded.distinct()  # or a row that is repeated n times is joined n² times
    later = once.withColumnRenamed("rank", "later")
    both = once.join(later, list(rows.keys)).where(functions.col("rank") < functions.col("later"))
    return both.select(*rows.units, "rank", "later").distinct()


def weighted(held: DataFrame, units: Sequence[str], weights: NDArray[np.int64], session: SparkSession) -> DataFrame:
    """With a column `weight`: weights[n − 1] in each of the n rows of a unit."""
    numbers = integer_array(np.arange(1, len(weights) + 1)).cast(pa.int32())
    with replacing():
        known = session.createDataFrame(pa.table({"of": numbers, WEIGHT: integer_array(weights)}))
    count = functions.count("*").over(_window(units))
    return held.withColumn("of", count.cast("int")).join(functions.broadcast(known), "of")


def added_up(held: DataFrame, places: list[str], total: Column, size: int) -> NDArray[np.int64]:
    """int64[size, …], one axis for each of the columns `places`: what is added up over the rows of each place."""
    with replacing(UNREADABLE):
        found = held.groupBy(*places).agg(total.alias("total")).toArrow()
    sums = np.zeros([size] * len(places), np.int64)
    sums[tuple(integers(found.column(place)) for place in places)] = integers(found.column("total"))
    return sums


def _window(units: Sequence[str]) -> Any:
    """The rows of a unit."""
    from pyspark.sql import Window

    return Window.partitionBy(*units)
