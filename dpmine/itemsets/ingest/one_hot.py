"""One-hot tables as lists, batch by batch: for each row, the numbers of the columns that are true, or above 0.

A table may have 100,000 columns. Work per column takes longer than work per value. So the columns of a batch become one
array at once, and no later step meets them again. `dpmine.itemsets.read` puts it between a source and what reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from dpmine.io.arrow import integer_array, integers, is_boolean, joined
from dpmine.io.source import WrappedSource
from dpmine.io.sources.frame import PandasSource
from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.io.source import Source
    from dpmine.itemsets.ingest.layouts import LayoutPlan

    Cells: TypeAlias = NDArray[np.int64]
    """Column · rows + row of the cells that are set, ascending."""


_LISTS = ""
"""The column of lists: no key is called so."""
_MOST_ROWS = 2**16  # rows of 16 bits are sorted digit by digit
_MOST_CELLS = 2**24  # of a frame that are looked at together: what lies scattered is copied


def as_lists(source: Source, plan: LayoutPlan) -> tuple[Source, LayoutPlan]:
    """The source and the plan of a one-hot layout, with one column of lists in place of the items' columns."""
    return OneHotLists(source, plan.keys, plan.items), replace(plan, items=(_LISTS,))


@dataclass(frozen=True, eq=False)
class OneHotLists(WrappedSource):
    """The keys of a one-hot table, and for each row the list of the columns that are set.

    Attributes:
        keys: columns that name units.
        items: the one-hot columns; the lists hold their places here.
    """

    keys: tuple[str, ...]
    items: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The keys and the column of lists."""
        return (*self.keys, _LISTS)

    def _needed(self, names: Sequence[str]) -> list[str]:  # noqa: ARG002 - all
        return [*self.keys, *self.items]

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a key, or of the lists."""
        return pa.large_list(pa.int64()) if name == _LISTS else super().type_of(name)

    def labels(self, names: Sequence[str]) -> pa.Array:  # noqa: ARG002 - there is one column of items
        """The items that the numbers in the lists stand for."""
        return self._labels

    @cached_property
    def _labels(self) -> pa.Array:
        return self.inner.labels(self.items)

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The keys and the lists; raises what the table's batches raise."""
        if isinstance(self.inner, PandasSource) and self.inner.are_plain(self.items):
            yield from self._of_frame(self.inner)
            return
        for batch in self.inner.batches(self._needed(names), whole=whole):
            for first in range(0, batch.num_rows, _MOST_ROWS):
                columns = batch.slice(first, _MOST_ROWS).columns
                keys, flags = columns[: len(self.keys)], columns[len(self.keys) :]
                yield self._batch(keys, _cells(flags), len(flags[0]))

    def _of_frame(self, frame: PandasSource) -> Iterator[pa.RecordBatch]:
        """The batches of a frame whose one-hot columns numpy holds: these never become columns of Arrow."""
        step = min(_MOST_ROWS, max(1, _MOST_CELLS // len(self.items)))
        keys = frame.read(self.keys, lambda _: None) if self.keys else None
        for first in range(0, frame.rows, step):
            flags = frame.values(self.items, first, first + step)
            part = keys.slice(first, step).combine_chunks().to_batches()[0].columns if keys is not None else []
            yield self._batch(part, np.flatnonzero(flags.T > 0), len(flags))

    def _batch(self, keys: list[pa.Array], cells: Cells, rows: int) -> pa.RecordBatch:
        columns, row_of = np.divmod(cells, max(1, rows))
        order = np.argsort(row_of.astype(np.uint16), kind="stable")
        starts = np.zeros(rows + 1, np.int64)
        np.cumsum(np.bincount(row_of, minlength=rows), out=starts[1:])
        lists = pa.LargeListArray.from_arrays(integer_array(starts), integer_array(columns[order]))
        return pa.RecordBatch.from_arrays([*keys, lists], names=list(self.names))


def _cells(columns: list[pa.Array]) -> Cells:
    """The cells that are set in columns of the same length: true, or numbers above 0; null is neither."""
    rows, first, found = len(columns[0]), 0, []
    for _, group in groupby(columns, key=lambda column: column.type):
        alike = list(group)
        values = pa.concat_arrays(alike)
        together = pc.indices_nonzero(
            values if is_boolean(values.type) else pc.greater(values, pa.scalar(0, values.type))
        )
        found.append(integers(pa.chunked_array([together])) + first * rows)
        first += len(alike)
    return joined(found)
