"""Exact supports by the local engine's kernels on the executors, as `Miner` gives them.

The cluster keeps blocks: each holds the baskets of some units, and all baskets of each. No unit is in two blocks, so
the support of an itemset is the sum of its supports in the blocks.

*Pairs.* Let t be the threshold, P the number of blocks and l = ⌈t / P⌉. Suppose that the support of a pair is at least
t. Then its support in some block is at least t / P, and so at least l, an integer. So only pairs that some block has l
times are candidates. Let s be the sum over the c blocks that report the pair. Each of the others has it l − 1 times at
most. So its support is at most s + (P − c)(l − 1). Where this is below t, the pair is dropped. What is left is counted
exactly in all blocks. With l = 1 every block that has the pair reports it, so s is the support already.

*Larger itemsets.* An itemset that reaches t has only subsets that reach t. So those of r items are candidates for which
all subsets of r − 1 items reach t (Agrawal & Srikant 1994). They are counted exactly in all blocks.

A deeper threshold neither reports nor counts an itemset again. Where candidates become too many for one process, SQL
counts that size (`SparkMiner`): it needs no list of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array, integers
from dpmine.itemsets.counting.listed import ListedItemsets
from dpmine.itemsets.counting.miner import ordered
from dpmine.itemsets.spark import blocks as on_executors
from dpmine.itemsets.spark.files import FOOTERS, ReadPlan, RowGroups, column_names, read_footers, read_lines
from dpmine.itemsets.spark.inputs import ITEM
from dpmine.itemsets.spark.session import UNREADABLE, functions, replacing
from dpmine.itemsets.spark.supports import require_room
from dpmine.itemsets.transactions.interface import COUNT_LIMIT, SupportSource, tallied
from dpmine.itemsets.transactions.lists import Itemsets

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from dpmine.itemsets.spark.files import ColumnsToRead
    from dpmine.itemsets.spark.inputs import SparkRows
    from dpmine.itemsets.spark.session import KeptFrames
    from dpmine.itemsets.spark.supports import SparkMiner

_MOST_CANDIDATES = 4_000_000  # that are listed in this process and sent to every task
_FOOTER_TASKS = 200
_ADDED_UP, _MOST_ADDING = 4, 200  # blocks whose patterns a task adds up, and such tasks
_FEWEST_LINES = 1 << 17  # of a block: smaller ones take longer to start than to count
_ONE_UNIT = (
    "Too many rows of one unit meet in one task: take a smaller unit where the guarantee allows it (a receipt instead "
    "of a shop), or cut units down in the data."
)


class _TooManyCandidates(Exception):
    """More candidates than this process lists."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """The baskets of all units, in blocks that the cluster keeps.

    Attributes:
        frame: as `blocks.BLOCK`, a row a block.
        number: of blocks.
        counts: the items and their supports: `item`, `support`.
        units: how many there are; None where some may be in no block.
    """

    frame: DataFrame
    number: int
    counts: pa.Table
    units: int | None

    @classmethod
    def of(cls, rows: SparkRows, kept: KeptFrames, session: SparkSession) -> Blocks:
        """The blocks of rows: a pass over the data to count them, one to pack them. Raises BadParameter, BadData."""
        with replacing(UNREADABLE):
            lines = int(rows.counted.count())
        found = rows.frame.select(*rows.keys, ITEM)
        return cls._kept(found, rows, kept, _block_count(lines, session))

    @classmethod
    def of_files(
        cls, wanted: ColumnsToRead, groups: RowGroups, rows: SparkRows, kept: KeptFrames, session: SparkSession
    ) -> Blocks:
        """The blocks of the same rows, which the executors read themselves: one pass. Raises BadParameter, BadData."""
        count = _block_count(int(groups.entries.sum()), session)
        reading = ReadPlan(wanted, groups, groups.split(count))
        with replacing():
            tasks = session.range(0, len(reading.tasks), 1, len(reading.tasks))
        return cls._kept(tasks, rows, kept, count, partial(read_lines, reading=reading))

    @classmethod
    def _kept(cls, source: DataFrame, rows: SparkRows, kept: KeptFrames, count: int, *reading: Any) -> Blocks:
        """Of lines that `source` holds, or that `reading` makes of it."""
        types = dict(rows.frame.dtypes)
        packed = on_executors.COUNTED + types[ITEM]
        if rows.rows_are_units:  # whose lines follow one another: nothing has to move
            packing = partial(on_executors.packed_rows, lines=on_executors.BLOCK_LINES)
            frame = kept.keep(_mapped(source, packed, *reading, packing))
        else:
            texts, units = [types[name] == "string" for name in (*rows.keys, ITEM)], len(rows.units)
            packing = partial(on_executors.packed, texts=texts, units=units, numbered=rows.owners is not None)
            frame = kept.keep(_mapped(_dealt(source, texts, units, count, *reading), packed, packing))
        measured = functions.count("lines"), functions.max("lines"), functions.sum("owners")
        with replacing(UNREADABLE):
            found = frame.groupBy(ITEM).agg(functions.sum("support").alias("support"), *measured).toArrow()
        is_item = pc.is_valid(found.column(ITEM))
        number, longest, units = (pc.sum(each).as_py() or 0 for each in found.filter(pc.invert(is_item)).columns[2:])
        if longest > on_executors.MOST_LINES:
            raise BadParameter(_ONE_UNIT)
        frame = frame.where(functions.col("lines").isNotNull()).select(*column_names(on_executors.BLOCK))
        return cls(frame, number, found.filter(is_item), units if rows.owners is None else None)

    def unions(self, kept: KeptFrames) -> Blocks:
        """The same with one basket for each unit: see `Transactions.unions`."""
        return replace(self, frame=kept.keep(_mapped(self.frame, on_executors.BLOCK, on_executors.unions)))

    def item_weights(self, labels: pa.Array, weights: NDArray[np.int64]) -> DataFrame:
        """A frame of the items' places in `labels` and what units give them: `rank`, `weight`, once for each block."""
        weighing = partial(on_executors.item_weights, labels=labels, weights=weights)
        return _mapped(self.frame, on_executors.WEIGHTS, weighing)

    def patterns(self, labels: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
        """What units hold of the items `labels`, and how many units hold just that: see `blocks.unit_patterns`."""
        texts, tasks = on_executors.PATTERN_TEXTS, max(1, min(self.number // _ADDED_UP, _MOST_ADDING))
        dealt = _dealt(self.frame, texts, 1, tasks, partial(on_executors.unit_patterns, labels=labels))
        added = _mapped(dealt, on_executors.dealt_columns(texts), on_executors.added_up)
        with replacing(UNREADABLE):
            found = on_executors.joined(added.toArrow().to_batches(), texts)
        return found[0], np.asarray(found[1])

    def pairs(self, labels: pa.Array, known: ListedItemsets, threshold: int) -> tuple[NDArray[np.int64], bool]:
        """The pairs, as places in `labels`, that may reach the threshold, without the known ones: int64[k, 3].

        The last column is what the blocks that report a pair add up to: its support, where the second result says so.
        Raises _TooManyCandidates.
        """
        block_threshold = -(-threshold // max(1, self.number))
        reported = partial(on_executors.block_pairs, labels=labels, known=known, lowest=block_threshold)
        pairs = _mapped(self.frame, on_executors.PAIRS, reported).groupBy("a0", "a1")
        summed = pairs.agg(functions.sum("support").alias("support"), functions.count("*").alias("blocks"))
        upper_bound = functions.col("support") + (self.number - functions.col("blocks")) * (block_threshold - 1)
        candidates = summed.where((upper_bound >= threshold) | (functions.col("a0") == on_executors.TOO_MANY))
        with replacing(UNREADABLE):
            found = candidates.select("a0", "a1", "support").limit(_MOST_CANDIDATES + 1).toArrow()
        table = np.column_stack([integers(column) for column in found.columns])
        if len(table) > _MOST_CANDIDATES or (table[:, 0] == on_executors.TOO_MANY).any():
            raise _TooManyCandidates
        return table, block_threshold == 1

    def supports(self, labels: pa.Array, listed: ListedItemsets) -> NDArray[np.int64]:
        """int64[k]: the supports of listed itemsets, whose items are places in `labels`."""
        counts = np.zeros(len(listed), np.int64)
        if not len(listed):
            return counts
        counting = partial(on_executors.listed_supports, labels=labels, listed=listed)
        summed = _mapped(self.frame, on_executors.SUPPORTS, counting).groupBy("number").agg(functions.sum("support"))
        with replacing(UNREADABLE):
            found = summed.toArrow()
        counts[integers(found.column(0))] = integers(found.column(1))
        return counts


def _block_count(lines: int, session: SparkSession) -> int:
    """As many as the cluster shuffles to, if blocks do not become too small or too large."""
    with replacing():
        shuffle_partitions = str(session.conf.get("spark.sql.shuffle.partitions"))
    wanted = min(int(shuffle_partitions) if shuffle_partitions.isdigit() else 200, -(-lines // _FEWEST_LINES))
    return max(1, wanted, -(-lines // on_executors.BLOCK_LINES))


def row_groups(files: Sequence[str], wanted: ColumnsToRead, session: SparkSession) -> RowGroups | None:
    """The row groups of files, as the executors find them; None where one of these cannot read a file as Spark does."""
    count = min(len(files), _FOOTER_TASKS)
    reading = partial(read_footers, files=files, wanted=wanted, tasks=count)
    with replacing(UNREADABLE):
        found = _mapped(session.range(0, count, 1, count), FOOTERS, reading).orderBy("file", "row_group").toArrow()
    if not len(found) or not pc.all(found.column("fits")).as_py():
        return None
    return RowGroups(tuple(files), *map(integers, found.columns[:-1]))


def _dealt(source: DataFrame, texts: Sequence[bool], units: int, count: int, *reading: Any) -> DataFrame:
    """The lines of a unit meet in one of `count` partitions; `source` holds them, or `reading` makes them of it."""
    dealing = partial(on_executors.dealt, units=units, sent_to=on_executors.destinations(count))
    dealt = _mapped(source, on_executors.dealt_columns(texts), *reading, dealing)
    return dealt.repartition(count, "destination")


def _mapped(frame: DataFrame, columns: str, *steps: Any) -> DataFrame:
    """What the executors make of the frame's partitions, in Arrow's batches, step by step."""
    with replacing():
        return frame.mapInArrow(partial(on_executors.in_worker, steps=steps), columns)


@dataclass(frozen=True, eq=False)
class _Known:
    """The itemsets of one size that were counted.

    Attributes:
        threshold: all itemsets with at least this support are among them.
        listed: as codes.
        supports: int64[k].
    """

    threshold: int
    listed: ListedItemsets
    supports: NDArray[np.int64]

    def frequent(self, threshold: int) -> ListedItemsets:
        """Those that reach a threshold."""
        return ListedItemsets(self.listed.rows[self.supports >= threshold], self.listed.items)

    def merged_with(self, threshold: int, more: ListedItemsets, supports: NDArray[np.int64]) -> _Known:
        """With others, none of them known before."""
        rows = np.concatenate([self.listed.rows, more.rows])
        order = np.lexsort(rows.T[::-1])
        merged = ListedItemsets(rows[order], self.listed.items)
        return _Known(threshold, merged, np.concatenate([self.supports, supports])[order])


class NativeMiner(SupportSource):
    """Exact supports of the itemsets of baskets on a cluster, counted by dpmine's kernels on the executors.

    Raises BadData where a job fails, without Spark's words. May be used by several threads, one after the other.
    """

    def __init__(self, labels: pa.Array, blocks: Blocks, by_sql: SparkMiner) -> None:
        """`by_sql` counts the sizes with too many candidates; it does nothing before."""
        self.item_supports: NDArray[np.int64] = by_sql.item_supports
        self._labels = labels
        self._blocks = blocks
        self._by_sql = by_sql
        self._sizes_by_sql: set[int] = set()
        self._counted: dict[int, _Known] = {}
        self._one_by_one = RLock()

    @property
    def resident_threshold(self) -> int:
        """One more than the largest support of all: every search takes a job."""
        return self._by_sql.resident_threshold

    def _itemsets(self, size: int, threshold: int, memory_limit: int | None) -> Itemsets:
        known = self._known(size, threshold)
        if known is None:
            return self._by_sql.itemsets(size, threshold, memory_limit=memory_limit)
        wanted = known.supports >= threshold
        require_room(int(np.count_nonzero(wanted)), size, memory_limit)
        return Itemsets(*ordered(known.listed.rows[wanted], known.supports[wanted]))

    def _histogram(self, size: int, threshold: int) -> Counter[int]:
        known = self._known(size, threshold)
        if known is None:
            return self._by_sql.histogram(size, threshold)
        return tallied(known.supports[known.supports >= threshold])

    def _nth(self, size: int, support: int, n: int) -> Sequence[int] | None:
        known = self._known(size, support)
        if known is None:
            return self._by_sql.nth(size, support, n)
        places = np.flatnonzero(known.supports == support)
        found: list[int] = known.listed.rows[places[n]].tolist() if n < len(places) else []
        return found or None

    def _support(self, codes: NDArray[np.int32]) -> int:
        """Takes a job, unless the itemset was counted before."""
        row = codes[None, :]
        with self._one_by_one:
            known = self._counted.get(len(codes))
            place = -1 if known is None else int(known.listed.places(row)[0])
            if known is not None and place >= 0:
                return int(known.supports[place])
            with self._by_sql.watched():
                return int(self._supports(ListedItemsets(row, len(self._labels)))[0])

    def _known(self, size: int, threshold: int) -> _Known | None:
        """All itemsets of `size` ≥ 2 items down to the threshold; None where SQL counts them."""
        with self._one_by_one:
            nothing = _Known(threshold, self._no_itemsets(size), np.zeros(0, np.int64))
            if np.count_nonzero(self.item_supports >= threshold) < size:
                return nothing
            known = None
            if self._sizes_by_sql & set(range(2, size + 1)):
                return None
            try:
                for smaller in range(2, size + 1):
                    known = self._counted_to(smaller, threshold, known)
                    if not (known.supports >= threshold).any():
                        return known if smaller == size else nothing
            except _TooManyCandidates:
                self._sizes_by_sql.add(size)
                return None
            return known

    def _counted_to(self, size: int, threshold: int, smaller: _Known | None) -> _Known:
        """All itemsets of `size` items down to the threshold, counted as far as they were not before."""
        known = self._counted.get(size) or _Known(COUNT_LIMIT, self._no_itemsets(size), np.zeros(0, np.int64))
        if known.threshold <= threshold:
            return known
        with self._by_sql.watched():
            if smaller is None:
                more, supports = self._pairs(known, threshold)
            else:
                more = self._candidates(known, smaller.frequent(threshold))
                supports = self._supports(more)
        self._counted[size] = known.merged_with(threshold, more, supports)
        return self._counted[size]

    def _pairs(self, known: _Known, threshold: int) -> tuple[ListedItemsets, NDArray[np.int64]]:
        """The pairs that may reach the threshold, as far as they are not known, and their supports."""
        codes = np.flatnonzero(self.item_supports >= threshold).astype(np.int32)
        number_of_code = np.full(len(self._labels), -1, np.int32)
        number_of_code[codes] = np.arange(len(codes))
        known_pairs = number_of_code[known.listed.rows]
        known_pairs = known_pairs[(known_pairs >= 0).all(axis=1)]
        labels = self._labels.take(integer_array(codes.astype(np.int64)))
        found, exact = self._blocks.pairs(labels, ListedItemsets(known_pairs, len(codes)), threshold)
        found = found[np.lexsort((found[:, 1], found[:, 0]))]
        listed = ListedItemsets(codes[found[:, :2]], len(self._labels))
        return listed, found[:, 2] if exact else self._supports(listed)

    def _candidates(self, known: _Known, smaller: ListedItemsets) -> ListedItemsets:
        """Unknown itemsets of one item more that have frequent subsets only. Raises _TooManyCandidates."""
        if smaller.joins() > _MOST_CANDIDATES:
            raise _TooManyCandidates
        found = smaller.candidates()
        return ListedItemsets(found.rows[known.listed.places(found.rows) < 0], found.items)

    def _supports(self, listed: ListedItemsets) -> NDArray[np.int64]:
        codes = np.unique(listed.rows)
        rows = np.searchsorted(codes, listed.rows).astype(np.int32)
        labels = self._labels.take(integer_array(codes.astype(np.int64)))
        return self._blocks.supports(labels, ListedItemsets(rows, len(codes)))

    def _no_itemsets(self, size: int) -> ListedItemsets:
        return ListedItemsets(np.zeros((0, size), np.int32), len(self._labels))
