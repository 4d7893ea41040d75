"""Some rows of a source, chosen by what each row holds: by a public condition, or by days of a window."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from dpmine.errors import BadParameter
from dpmine.io.arrow import is_text, without_views
from dpmine.io.source import Source, WrappedSource
from dpmine.io.sources.row_expressions import RowExpressions, parsed_condition
from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.io.sources.row_expressions import Statement, Tree

_LEFT_OUT = (
    "a row is left out where the condition does not hold, and where a value that it needs is missing or does not fit; "
    "the guarantee is for a condition that was chosen without a look at the data"
)
_ORDERED = (
    "the condition orders column {!r} as text, in which 10 comes before 9: to compare numbers, declare them (of CSV "
    "files `types='COL=float64'`), or use TRY_CAST(COL AS DOUBLE)"
)


_ORDERS = {
    *(f"COMPARE_{side}THAN{more}" for side in ("LESS", "GREATER") for more in ("", "OREQUALTO")),
    *("COMPARE_BETWEEN", "COMPARE_NOT_BETWEEN"),
}


def filtered(batch: pa.RecordBatch, keep: pa.Array) -> pa.RecordBatch:
    """The rows that are kept."""
    columns = [column.cast(without_views(column.type)).filter(keep) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@dataclass(frozen=True, eq=False)
class SomeRows(WrappedSource):
    """Some rows of another source.

    Attributes:
        hidden: columns that nothing but the choice of rows is needed of: they are no items.
    """

    hidden: frozenset[str]
    rows = None
    """Not known: the share of them that is read would show how many there are."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(name for name in self.inner.names if name not in self.hidden)

    def type_of(self, name: str) -> pa.DataType:
        """See `Source.type_of`; views are copied."""
        return without_views(super().type_of(name))

    def share(self, done: int) -> float | None:
        """Not by rows: see `rows`."""
        return super().share(done) if self.inner.rows is None else None


@dataclass(frozen=True, eq=False)
class RowsWhere(SomeRows):
    """The rows where a public condition holds.

    Attributes:
        condition: it alone, checked against the types of the columns.
        notices: on what it may not mean, by the types of the columns and its own words.
    """

    condition: RowExpressions
    notices: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Source, condition: Tree) -> Self:
        """All columns of these rows. Raises BadParameter and BadData, before any row is read."""
        checked = RowExpressions.of([condition], source)
        if checked.types != (pa.bool_(),):
            raise BadParameter("`where` must be true or false for a row, such as `where=\"status != 'C'\"`.")
        return cls(source, frozenset(), checked, tuple(map(_ORDERED.format, _texts_as_numbers(condition, source))))

    def cautions(self, names: Sequence[str]) -> tuple[str, ...]:
        """See `Source.cautions`; that rows are left out is said whatever rows there are."""
        return (_LEFT_OUT, *self.notices, *super().cautions(names))

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns of the rows where the condition is true."""
        read = self.inner.batches(self._needed(names), whole=whole)
        for batch, computed in self.condition.values(read):
            keep = pc.fill_null(computed.column(0).combine_chunks(), False)
            yield filtered(batch.select(list(names)), keep)

    def _needed(self, names: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*names, *self.condition.kinds]))


def where(source: Source, condition: str, *, alone: bool, kept: Sequence[str]) -> Source:
    """The rows of a source where a condition holds. Raises BadParameter and BadData, before any row is read.

    With `alone`, columns that the condition names are left out, but those `kept`: every other one would be an item.
    """
    rows = RowsWhere.of(source, parsed_condition(condition))
    return replace(rows, hidden=frozenset(rows.condition.kinds) - {*kept}) if alone else rows


@dataclass(frozen=True, eq=False)
class ChosenColumns(WrappedSource):
    """Columns of another source under names of their own, and expressions on the columns of each row.

    Attributes:
        chosen: the expressions by name, in order.
    """

    chosen: tuple[tuple[str, Tree], ...]

    def __post_init__(self) -> None:
        self._checked  # noqa: B018 - they must be expressions for these types of columns

    @cached_property
    def _checked(self) -> RowExpressions:
        """Of all of them: a column that is not there is an error, too, where it stands alone."""
        return RowExpressions.of([tree for _, tree in self.chosen], self.inner)

    @cached_property
    def _renamed(self) -> dict[str, str]:
        """The columns that are chosen as they are, by their new names."""
        return {name: tree["column_names"][0] for name, tree in self.chosen if tree["class"] == "COLUMN_REF"}

    @property
    def names(self) -> tuple[str, ...]:
        """The chosen names, in order."""
        return tuple(name for name, _ in self.chosen)

    def type_of(self, name: str) -> pa.DataType:
        """The column's own type, or the one that DuckDB gives the expression."""
        if name in self._renamed:
            return self.inner.type_of(self._renamed[name])
        return self._checked.types[self.names.index(name)]

    def as_numbers(self, names: Sequence[str]) -> ChosenColumns:
        """See `Source.as_numbers`."""
        return ChosenColumns(self.inner.as_numbers(self._own(names)), self.chosen)

    def as_flags(self, names: Sequence[str]) -> ChosenColumns:
        """See `Source.as_flags`."""
        return ChosenColumns(self.inner.as_flags(self._own(names)), self.chosen)

    def _own(self, names: Sequence[str]) -> list[str]:
        return [self._renamed[name] for name in names if name in self._renamed]

    def _needed(self, names: Sequence[str]) -> list[str]:
        own = self._own(names)
        return list(dict.fromkeys(own if len(own) == len(names) else [*own, *self._checked.kinds]))

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns; null where an expression cannot be computed."""
        needed, places = self._needed(names), {name: place for place, name in enumerate(self.names)}
        read = self.inner.batches(needed, whole=whole)
        if all(name in self._renamed for name in names):
            for batch in read:
                own = [batch.column(self._renamed[name]) for name in names]
                yield pa.RecordBatch.from_arrays(own, names=list(names))
            return
        for batch, computed in self._checked.values(read):
            columns = [
                batch.column(self._renamed[name])
                if name in self._renamed
                else computed.column(places[name]).combine_chunks()
                for name in names
            ]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))


def selected(source: Source, statement: Statement) -> Source:
    """What a statement asks for, of the columns of its file. Raises BadParameter and BadData."""
    if statement.condition is not None:
        source = RowsWhere.of(source, statement.condition)
    return source if statement.chosen is None else ChosenColumns(source, statement.chosen)


def _texts_as_numbers(tree: Any, source: Source) -> list[str]:
    """The columns of text that an expression orders by a text that is a number, each once."""
    if isinstance(tree, list):
        return list(dict.fromkeys(name for each in tree for name in _texts_as_numbers(each, source)))
    if not isinstance(tree, dict):
        return []
    if tree.get("type") not in _ORDERS:
        return _texts_as_numbers(list(tree.values()), source)
    sides = [tree[side] for side in ("left", "right", "input", "lower", "upper") if side in tree]
    names = [side["column_names"][-1] for side in sides if side["class"] == "COLUMN_REF"]
    constants = [side for side in sides if side["class"] == "CONSTANT"]
    return [name for name in names if any(map(_is_number, constants)) and is_text(source.type_of(name))]


def _is_number(constant: Tree) -> bool:
    """Whether a text in quotes reads as a number; DuckDB before 2.0 has it in another place."""
    literal, value = constant.get("literal", {}), constant.get("value", {})
    text = literal.get("text") if literal.get("kind") == "STRING" else value.get("value")
    if not literal and value.get("type", {}).get("id") != "VARCHAR":
        return False
    try:
        return math.isfinite(float(text))
    except (TypeError, ValueError):
        return False
