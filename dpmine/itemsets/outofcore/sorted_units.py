"""Lines that are sorted by unit, cut between units: no temporary file is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array, integers, integers_or, is_text
from dpmine.itemsets.ingest.cells import long_cells
from dpmine.itemsets.ingest.grouping import grouped
from dpmine.itemsets.outofcore.streams import ITEM_COLUMN, basket_columns, unit_columns
from dpmine.itemsets.transactions.memory import LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from dpmine.itemsets.ingest.layouts import Plan
    from dpmine.itemsets.transactions.baskets import Baskets

_ONE_UNIT = "One unit's data alone do not fit into the memory limit: raise memory (--memory)."


class NotSorted(Exception):
    """The lines are not in the order of their units."""


def group(lines: pa.Table, plan: Plan, labels: pa.Array | None = None) -> Baskets:
    """The baskets of lines that hold whole units; `labels` are those of the item codes (default: the codes)."""
    codes = integer_array(np.arange(_code_count(lines) if labels is None else len(labels)))
    units, own = unit_columns(plan), basket_columns(plan)
    cells = long_cells(lines, unit=units, basket=own, item=ITEM_COLUMN, catalogue=codes)
    return replace(grouped(cells, plan.unit_name), labels=codes if labels is None else labels)


def recoded(lines: pa.Table, places: NDArray[np.int32]) -> pa.Table:
    """The lines with item code places[c] for code c."""
    codes = np.append(places, np.int32(-1))[integers(lines.column(ITEM_COLUMN))]  # −1, no item, is the last place
    column = pa.chunked_array([integer_array(codes.astype(np.int64)).cast(pa.int32())])
    return lines.set_column(lines.schema.get_field_index(ITEM_COLUMN), ITEM_COLUMN, column)


def whole_units(lines: Iterable[pa.Table], plan: Plan, limit: int) -> Iterator[pa.Table]:
    """The same lines in tables that hold whole units; all but the last unit of each table follows at once.

    Raises NotSorted at the first unit that comes after a greater one, and BadParameter where the lines of one unit
    take more than `limit` bytes.
    """
    names = unit_columns(plan)
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


def _code_count(lines: pa.Table) -> int:
    return int(integers(lines.column(ITEM_COLUMN)).max(initial=0)) + 1


def _last_unit(lines: pa.Table, names: tuple[str, ...]) -> int:
    """Where the last unit starts; raises NotSorted."""
    less = np.zeros(max(0, lines.num_rows - 1), np.bool_)
    equal = ~less
    for name in names:
        below, same = _compared(lines.column(name))
        less |= equal & below
        equal &= same
    if not np.all(less | equal):
        raise NotSorted
    starts = np.flatnonzero(less)
    return int(starts[-1]) + 1 if len(starts) else 0


def _compared(column: pa.ChunkedArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which entries are below the next one, and which equal it."""
    if is_text(column.type):
        pairs = column[:-1], column[1:]
        return _flags(pc.less(*pairs)), _flags(pc.equal(*pairs))
    numbers = integers(column)
    return numbers[:-1] < numbers[1:], numbers[:-1] == numbers[1:]


def _flags(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    return integers_or(0, column).astype(np.bool_)
