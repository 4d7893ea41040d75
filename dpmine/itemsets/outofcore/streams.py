"""One pass over all baskets as a stream of lines: tables of keys and item codes, a line per basket and item, no nulls.

However the data hold baskets, their lines look the same. The key columns are u0, u1, … of the unit and b0, … of the
basket inside the unit. `item` (int32) is a code that is the same for equal items in all tables of the stream. It is −1
for none: units whose baskets are empty have lines, too. A census counts the lines, and keeps them while they fit into
memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from dpmine.errors import BadParameter
from dpmine.io.arrow import (
    integer_array,
    integers,
    integers_or,
    is_mixed,
    is_text,
    plain,
    truths,
    with_used_values,
    without_long_texts,
)
from dpmine.io.python_values import plain_labels
from dpmine.itemsets.counting.miner import BasketsInMemory
from dpmine.itemsets.counting.rows import at_most, item_supports
from dpmine.itemsets.ingest.encode import MOST_ITEMS, coded, extent, is_ascending, narrow, sort_rows
from dpmine.itemsets.ingest.layouts import Layout
from dpmine.itemsets.ingest.lines import Cells, batch_cost, grouped, lines_in
from dpmine.itemsets.transactions.interface import starts_of
from dpmine.itemsets.transactions.memory import ITEM, LINE, RESIDENT_BASKET, RESIDENT_LINE, catalogue_cost
from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from dpmine.io.source import Source
    from dpmine.itemsets.ingest.encode import Codes
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.transactions.interface import Baskets


class ItemCodes:
    """Codes of items: positions in a catalogue; without one in the order of the first meeting."""

    def __init__(self, catalogue: pa.Array | None, limit: int) -> None:
        """Items that were met may take `limit` bytes."""
        self.catalogue = catalogue
        self._limit = limit
        self._met: pa.Array | None = None

    def recoded(self, items: NDArray[np.int32], labels: pa.Array) -> NDArray[np.int32]:
        """The codes of items given as positions among labels, new ones for labels that were not met before.

        −1, no item, stays. With a catalogue, labels are those of the catalogue. BadParameter where there are too many.
        """
        if self.catalogue is not None:
            return items
        wide = labels.cast(pa.large_string()) if is_text(labels.type) else labels
        met = wide[:0] if self._met is None else self._met
        codes = integers_or(-1, pc.index_in(wide, value_set=met)).copy()
        new = np.flatnonzero(codes < 0)
        codes[new] = np.arange(len(met), len(met) + len(new))
        self._met = pa.concat_arrays([met, wide.take(integer_array(new))]) if len(new) else met
        if catalogue_cost(self._met) > self._limit or len(self._met) > MOST_ITEMS:
            raise BadParameter(
                "The different items alone do not fit into the memory limit: raise `memory`, or give a "
                "catalogue of the items that matter."
            )
        return np.append(codes, -1).astype(np.int32).take(items)

    def final(self) -> tuple[pa.Array, NDArray[np.int32]]:
        """The labels sorted, and the position among them of every code."""
        if self.catalogue is not None:
            return self.catalogue, same_codes(len(self.catalogue))
        if self._met is None:
            return pa.nulls(0, pa.string()), same_codes(0)
        order = pc.sort_indices(self._met)
        places = np.empty(len(order), np.int32)
        places[integers(pa.chunked_array([order]))] = same_codes(len(order))
        return narrow(plain_labels(self._met.take(order))), places


def same_codes(count: int) -> NDArray[np.int32]:
    """The places of codes that are final already."""
    return np.arange(count, dtype=np.int32)


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(eq=False)
class Census:
    """What is counted of partitions, under codes that may still grow in number. Private.

    Attributes:
        supports: int64[N], the units that hold each item.
        occurrences: int64[N], the baskets that hold each item.
        units: number of units, those whose baskets are all empty included.
        baskets: number of baskets.
    """

    supports: NDArray[np.int64] = field(default_factory=_none)
    occurrences: NDArray[np.int64] = field(default_factory=_none)
    units: int = 0
    baskets: int = 0

    def add(self, part: Baskets) -> None:
        """Count the units of a partition, which has none of the others'."""
        with at_most(1):  # threads would take longer to start than to count a part
            supports = item_supports(part)
        one_each = part.one_basket_each
        occurrences = supports if one_each else np.bincount(part.items, minlength=part.catalogue_size)
        self.supports = _sum(self.supports, supports)
        self.occurrences = _sum(self.occurrences, occurrences)
        self.units += part.total_units
        self.baskets += part.basket_count

    def recoded(self, places: NDArray[np.int32]) -> Census:
        """The census with the item of code c at places[c]."""
        supports, occurrences = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
        supports[places[: len(self.supports)]] = self.supports
        occurrences[places[: len(self.occurrences)]] = self.occurrences
        return Census(supports, occurrences, self.units, self.baskets)


def _sum(before: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of counts, the shorter ones continued by 0."""
    if len(before) < len(more):
        before, more = more.astype(np.int64), before  # a copy
    before[: len(more)] += more
    return before


class PackedBaskets(NamedTuple):
    """The baskets of some units in as few bytes as they take: items, and the lengths of baskets and of units."""

    items: NDArray[np.int32]
    basket_lengths: NDArray[np.int32]
    unit_lengths: NDArray[np.int32]
    empty_units: int

    @classmethod
    def of(cls, part: Baskets) -> PackedBaskets:
        """Those of a partition."""
        baskets, units = (np.diff(starts).astype(np.int32) for starts in (part.basket_starts, part.unit_starts))
        return cls(part.items, baskets, units, part.empty_units)


class Gathered:
    """The baskets of one part of the units after the other, as long as they take no more than `limit` bytes."""

    def __init__(self, limit: float = math.inf) -> None:
        self._limit = limit
        self._parts: list[PackedBaskets] = []
        self._cost = 0

    def add(self, part: Baskets) -> list[PackedBaskets]:
        """Keep the baskets of some units; what does not fit is given back, with all that was kept before."""
        self._cost += RESIDENT_LINE * len(part.items) + RESIDENT_BASKET * part.basket_count
        self._parts.append(PackedBaskets.of(part))
        return self.given_up() if self._cost > self._limit else []

    def given_up(self) -> list[PackedBaskets]:
        """All that are kept, which are not kept any more."""
        parts, self._parts = self._parts, []
        return parts

    def fit(self, labels: pa.Array) -> bool:
        """Whether all of them are kept, and will fit with these labels."""
        return self._cost + ITEM * len(labels) <= self._limit

    def baskets(self, labels: pa.Array, places: NDArray[np.int32], unit: str) -> BasketsInMemory:
        """Those that are kept, with item places[c] for code c; lets the parts go."""
        empty_units = sum(part.empty_units for part in self._parts)
        starts = starts_of(*(part.basket_lengths for part in self._parts))
        owned = starts_of(*(part.unit_lengths for part in self._parts))
        items = np.empty(int(starts[-1]), np.int32)
        filled = 0
        self._parts.reverse()
        while self._parts:
            part = self._parts.pop()
            np.take(places, part.items, out=items[filled : filled + len(part.items)], mode="clip")  # unchecked
            filled += len(part.items)
        sort_rows(items, starts)
        return BasketsInMemory(labels, items, starts, owned, unit, empty_units)


ITEM_COLUMN = "item"


_TABLE = 32_000_000  # bytes while the rows are coded and grouped
_MOST_TABLES = 16  # that one unit's rows can fill


def chunks(batches: Iterable[pa.RecordBatch], plan: LayoutPlan, limit: int) -> Iterator[pa.Table]:
    """The rows in tables that take about `limit` bytes while they are coded and grouped, or are a single row.

    Tables are small where the limit is large: arrays of a few megabytes stay in caches, and their memory is used again.
    A unit that fills many tables is looked through with each of them, so they are no smaller than a share of the limit.
    """
    limit = max(limit // _MOST_TABLES, min(limit, _TABLE))
    taken: list[pa.RecordBatch] = []
    cost = 0
    for batch in batches:
        for part in _split(batch, plan, limit):
            if taken and cost + batch_cost(part, plan) > limit:
                yield pa.Table.from_batches(taken)
                taken, cost = [], 0
                pa.default_memory_pool().release_unused()  # Arrow would keep it
            taken.append(part)
            cost += batch_cost(part, plan)
    if taken:
        yield pa.Table.from_batches(taken)


def lines_of(tables: Iterable[pa.Table], source: Source, plan: LayoutPlan, codes: ItemCodes) -> Iterator[pa.Table]:
    """The lines of tables of the plan's columns. Rows are numbered on, where each is a basket."""
    first = 0
    for table in tables:
        keys = [_plain_key(table.column(name)) for name in plan.keys]
        keyed = np.ones(table.num_rows, np.bool_)
        for key in keys:
            if key.null_count:
                keyed &= truths(pc.is_valid(key))
        rows, items, labels = lines_in(table, source, plan, codes.catalogue, keyed)
        if plan.layout is not Layout.LONG:
            rows, items = _one_each(rows, items)
            keys.append(pa.chunked_array([integer_array(np.arange(first, first + table.num_rows))]))
        if len(items) < table.num_rows or plan.layout is not Layout.LONG:
            places = integer_array(np.arange(table.num_rows)[rows])
            keys = [key.take(places) for key in keys]
        columns = [*keys, _item_column(codes.recoded(items, labels))]
        yield pa.table(columns, names=[*plan.unit_columns, *plan.basket_columns, ITEM_COLUMN])
        first += table.num_rows


def _item_column(items: NDArray[np.int32]) -> pa.ChunkedArray:
    return pa.chunked_array([integer_array(items)])


def _split(batch: pa.RecordBatch, plan: LayoutPlan, limit: int) -> Iterator[pa.RecordBatch]:
    if batch.num_rows <= 1 or batch_cost(batch, plan) <= limit:
        if batch.num_rows:
            yield batch
        return
    half = batch.num_rows // 2
    for part in (batch.slice(0, half), batch.slice(half)):
        yield from _split(with_used_values(part), plan, limit)


def _plain_key(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = plain(column.type)
    column = column.cast(kind)
    return without_long_texts(column.cast(pa.large_string())) if is_text(kind) or is_mixed(kind) else column


def _one_each(rows: Codes, items: NDArray[np.int32]) -> tuple[Codes, NDArray[np.int32]]:
    """The lines that have an item, and one for each row that has none in any of its lines; in the order of the rows."""
    keep = items >= 0
    if keep.all() and is_ascending(rows):
        return rows, items
    empty = np.setdiff1d(rows, rows[keep])
    lines = np.concatenate([rows[keep], empty])
    order = np.argsort(lines, kind="stable")
    return lines[order], np.concatenate([items[keep], np.full(len(empty), -1, np.int32)])[order]


_ONE_UNIT = "One unit's data alone do not fit into the memory limit: raise `memory`."


class NotSorted(Exception):
    """The lines are not in the order of their units."""


def baskets_in(lines: pa.Table, plan: LayoutPlan, labels: pa.Array | None = None) -> Baskets:
    """The baskets of lines that hold whole units; `labels` are those of the item codes (default: the codes)."""
    *keys, items = (lines.column(name) for name in lines.column_names)
    codes = integers(items).astype(np.int32)
    if labels is None:
        labels = integer_array(np.arange(codes.max(initial=-1) + 1))
    return grouped(Cells.of([coded(key) for key in keys], codes, plan), labels, plan.unit_name)


def recoded(lines: pa.Table, places: NDArray[np.int32]) -> pa.Table:
    """The lines with item code places[c] for code c."""
    codes = np.append(places, np.int32(-1))[integers(lines.column(ITEM_COLUMN))]  # −1, no item, is the last place
    return lines.set_column(lines.num_columns - 1, ITEM_COLUMN, _item_column(codes))


def whole_units(lines: Iterable[pa.Table], plan: LayoutPlan, limit: int) -> Iterator[pa.Table]:
    """The same lines in tables that hold whole units; all but the last unit of each table follows at once.

    Raises NotSorted at the first unit that comes after a greater one, and BadParameter where the lines of one unit
    take more than `limit` bytes.
    """
    names = plan.unit_columns
    rest: pa.Table | None = None
    for table in lines:
        joined = table if rest is None else pa.concat_tables([rest, table])
        end = _last_unit(joined, names)
        if end:
            yield joined.slice(0, end)
        rest = joined.slice(end)
        if require_room(rest, limit) and end:
            rest = rest.take(integer_array(np.arange(rest.num_rows)))  # lets the rest of the table go
    if rest is not None and rest.num_rows:
        yield rest


def require_room(lines: pa.Table, limit: int) -> int:
    """Bytes that the lines of one unit take; BadParameter where these are more than `limit`."""
    cost = cost_of(lines)
    if cost > limit:
        raise BadParameter(_ONE_UNIT)
    return cost


def cost_of(lines: pa.Table) -> int:
    """Bytes that lines take while they are grouped."""
    return int(lines.nbytes) + LINE * int(lines.num_columns) * int(lines.num_rows)


def _last_unit(lines: pa.Table, names: tuple[str, ...]) -> int:
    """Where the last unit starts; raises NotSorted."""
    if not lines.num_rows:  # perhaps keys without any value, which Arrow does not compare
        return 0
    if len(names) == 1 and pa.types.is_signed_integer(lines.schema.field(names[0]).type):
        units = integers(lines.column(names[0]))
        if not extent(units)[2]:
            raise NotSorted
        return int(np.searchsorted(units, units[-1]))
    less = np.zeros(lines.num_rows - 1, np.bool_)
    equal = ~less
    for name in names:
        pairs = lines.column(name)[:-1], lines.column(name)[1:]
        less |= equal & truths(pc.less(*pairs))
        equal &= truths(pc.equal(*pairs))
    if not np.all(less | equal):
        raise NotSorted
    starts = np.flatnonzero(less)
    return int(starts[-1]) + 1 if len(starts) else 0
