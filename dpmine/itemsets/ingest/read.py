"""Data of any kind and layout -> Baskets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from dpmine.io.arrow import is_integer, is_text
from dpmine.io.columns import Columns
from dpmine.io.open import open_source
from dpmine.io.python_values import plain_labels
from dpmine.itemsets.ingest.catalogue import matched, narrow, read_catalogue
from dpmine.itemsets.ingest.cells import list_cells, long_cells, one_hot_cells
from dpmine.itemsets.ingest.grouping import grouped
from dpmine.itemsets.ingest.layouts import Layout, Plan, item_type, plan_layout

if TYPE_CHECKING:
    import pyarrow as pa

    from dpmine.io.source import Progress, Source
    from dpmine.itemsets.ingest.cells import Cells
    from dpmine.itemsets.transactions.baskets import Baskets

__all__ = ["Columns", "Ingested", "Layout", "read_baskets", "read_catalogue"]

_READING = 0.9  # share of the time that reading takes, for the progress


@dataclass(frozen=True)
class Ingested:
    """What was read.

    Attributes:
        baskets: the transactions.
        layout: how the data held them.
        description: one line for the user on the layout and its columns, without data.
    """

    baskets: Baskets
    layout: Layout
    description: str


def read_baskets(
    data: object, columns: Columns, *, catalogue: pa.Array | None = None, progress: Progress | None = None
) -> Ingested:
    """The baskets in `data`: a path or several, a table, frame or stream of columns, or a sequence of baskets.

    A row with a null unit, basket or item is left out. Items outside `catalogue` are left out; so are baskets without
    any item, and their units where they have no other: `Baskets.empty_units` counts those. `catalogue` is what
    `read_catalogue` gives; without one the items that occur are the labels. `progress` is called with the fraction
    done, 0 to 1. Reads only the columns that are used.

    Raises UnreadableFile, BadData (columns, types, layout) and BadParameter (`data` of an unknown kind).
    """
    source = open_source(data, columns)
    plan = plan_layout(source, columns)
    known = declared(catalogue, source, plan)
    return read_plan(source, restricted(plan, source, known), catalogue=known, progress=progress)


def declared(catalogue: pa.Array | None, source: Source, plan: Plan) -> pa.Array | None:
    """The catalogue as items of the type that the columns have, before any are read; raises what `matched` raises."""
    return None if catalogue is None else matched(catalogue, item_type(source, plan))


def restricted(plan: Plan, source: Source, catalogue: pa.Array | None) -> Plan:
    """The plan with the one-hot columns that a catalogue, as `declared`, leaves; one stays, so that there are rows."""
    if plan.layout is not Layout.ONE_HOT or catalogue is None:
        return plan
    labels = source.labels(plan.items)
    wanted = pc.is_in(labels, value_set=catalogue.cast(labels.type)).to_pylist()
    items = tuple(name for name, keep in zip(plan.items, wanted, strict=True) if keep)
    return replace(plan, items=items or plan.items[:1])


def declared_type(catalogue: pa.Array | None, kind: pa.DataType) -> pa.DataType | None:
    """The type that released items have: the catalogue's, else that of the columns; None for Python values."""
    if catalogue is not None:
        return catalogue.type
    return kind if is_integer(kind) or is_text(kind) else None


def read_plan(
    source: Source, plan: Plan, *, catalogue: pa.Array | None = None, progress: Progress | None = None
) -> Ingested:
    """The baskets in a source whose layout is known, with a catalogue as `declared`; otherwise as `read_baskets`."""
    tell = progress or _ignore
    tell(0.0)
    cells = _read_cells(source, plan, catalogue, lambda share: tell(_READING * share))
    baskets = grouped(replace(cells, labels=narrow(plain_labels(cells.labels))), plan.unit_name)
    tell(1.0)
    return Ingested(baskets, plan.layout, plan.description)


def _read_cells(source: Source, plan: Plan, catalogue: pa.Array | None, tell: Progress) -> Cells:
    table = source.read((*plan.keys, *plan.items), tell)
    item = plan.items[0]
    if plan.layout is Layout.ONE_HOT:
        labels = source.labels(plan.items)
        return one_hot_cells(table, unit=plan.unit, items=plan.items, labels=labels, catalogue=catalogue)
    if plan.layout is Layout.LIST:
        return list_cells(table, unit=plan.unit, item=item, catalogue=catalogue)
    return long_cells(table, unit=plan.unit, basket=plan.basket, item=item, catalogue=catalogue)


def _ignore(_share: float) -> None:
    """Progress that nobody follows."""
