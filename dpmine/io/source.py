"""What a source of columns is, the columns that a user names, and sources in memory or made of other sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

import pyarrow as pa

from dpmine.errors import BadData, BadParameter, DpmineError, require_memory
from dpmine.io.arrow import MIXED, first_types, is_boolean, text_array, with_dictionaries
from dpmine.io.attributes import Attributes
from dpmine.io.python_values import basket_lists

if TYPE_CHECKING:
    from dpmine.io.unfit import Unfit

ColumnNames: TypeAlias = str | Iterable[str] | None
"""How a key is named by the user: one column, several (a composite key), or none."""
Cuts: TypeAlias = Mapping[str, Sequence[object]] | str | Iterable[str] | None
"""Points that cut columns of numbers, by column, or as texts such as "age=18,30"."""
ATTRIBUTES_COLUMN = "column=value"
"""The column of lists as which the attributes of a table are read."""


@dataclass(frozen=True)
class Columns:
    """The columns that the user named; what is left out is found in the schema.

    Raises BadParameter for combinations that contradict each other.
    """

    unit: tuple[str, ...] = ()
    basket: tuple[str, ...] = ()
    item: str | None = None
    items: str | None = None
    one_hot: bool = False
    attributes: Attributes | None = None
    labels: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        if self.attributes is not None and (self.one_hot or self.basket or (self.item or self.items) is not None):
            raise BadParameter(
                "The option attributes excludes item, items, basket and one_hot: each row is a basket, and its items "
                "are `column=value`."
            )
        if self.item is not None and self.items is not None:
            raise BadParameter(
                "The options item and items exclude each other: name the one column that holds the items."
            )
        if self.one_hot and self.named_item is not None:
            raise BadParameter(
                "The option one_hot excludes item and items: every column but the unit's is then an item. Leave one of "
                "them out."
            )
        if self.one_hot and self.basket:
            raise BadParameter("The option one_hot excludes basket: in a one-hot layout each row is a basket.")
        if self.basket and not self.unit:
            raise BadParameter(
                "The option basket needs unit, the privacy unit's column (`unit=COL`); to protect baskets, name "
                "theirs as unit."
            )
        if twice := sorted({name for name in self.named if self.named.count(name) > 1}):
            raise BadParameter(
                f"The column {quoted(twice)} is named twice among unit, basket and item: give each its own column."
            )

    @classmethod
    def of(  # noqa: PLR0917 - as the calls that have these arguments
        cls,
        unit: ColumnNames = None,
        basket: ColumnNames = None,
        item: str | None = None,
        items: str | Iterable[object] | None = None,
        one_hot: bool = False,  # noqa: FBT001, FBT002
        attributes: object = None,
        missing: object = None,
        cut: object = None,
    ) -> Columns:
        """The columns named by public arguments, or those of a matrix; BadParameter where a name is not a text."""
        labels = tuple(items) if isinstance(items, Iterable) and not isinstance(items, str) else ()
        return cls(
            unit=_names("unit", unit),
            basket=_names("basket", basket),
            item=_name("item", item),
            items=BASKETS_COLUMN if labels else _name("items", items),
            labels=labels,
            one_hot=one_hot,
            attributes=None if attributes is missing is cut is None else Attributes.of(attributes, missing, cut),
        )

    @property
    def named_item(self) -> str | None:
        """The column that holds the items, under whichever option."""
        if self.attributes is not None:
            return ATTRIBUTES_COLUMN
        return self.item if self.item is not None else self.items

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that was named."""
        item = () if self.named_item is None else (self.named_item,)
        return (*self.unit, *self.basket, *item)


def quoted(names: Iterable[str]) -> str:
    """Column names for a message, on one line whatever they contain."""
    return ", ".join(repr(name) for name in names)


def _names(option: str, value: ColumnNames) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (_text(option, value),)
    try:
        return tuple(_text(option, name) for name in value)
    except TypeError:
        raise BadParameter(f"The option {option} must be a column name or a sequence of them.") from None


def _name(option: str, value: object) -> str | None:
    return None if value is None else _text(option, value)


def _text(option: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadParameter(f"The option {option} must be a column name, a text that is not empty.")
    return value


Progress: TypeAlias = Callable[[float], None]
"""Called with the fraction of the reading that is done, 0 to 1: see `share_of`."""

FOREIGN_ERRORS = (pa.ArrowException, OSError, ValueError, TypeError, RuntimeError, LookupError)
"""What Arrow, pandas and producers of streams raise; their messages quote values and are never forwarded."""
BASKETS_COLUMN = "items"
"""The column of lists as which a sequence of baskets is read."""
BATCH_ROWS = 2**18


class Source(Protocol):
    """Columns that can be described before they are read, and read by name."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""

    @property
    def rows(self) -> int | None:
        """How many rows there are; None where that is not known before they are read."""

    @property
    def repeatable(self) -> bool:
        """Whether the columns can be read more than once."""

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a column; BadData where none fits all its values."""

    def are_boolean(self, names: Sequence[str]) -> bool:
        """Whether all these columns hold booleans; raises what `type_of` raises."""
        return all(is_boolean(self.type_of(name)) for name in names)

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns, batch by batch; `whole`: all are kept, so that texts may come as dictionaries.

        Raises BadData where the producer of the batches fails, UnreadableFile for files.
        """

    def labels(self, names: Sequence[str]) -> pa.Array:
        """The items that these columns stand for in a one-hot layout: by default their names."""
        return text_array(names)

    header_hint: str | None = None
    """Where the user finds the names of the columns, if messages must not quote them."""

    @property
    def objects(self) -> frozenset[str]:
        """The columns declared as Python objects: their values may be collections."""
        return frozenset()

    @property
    def calendar(self) -> frozenset[str]:
        """The columns that are calendar periods of others."""
        return frozenset()

    def require_room(self, names: Sequence[str], limit: int) -> None:  # noqa: ARG002 - most need none
        """UnreadableFile where reading these columns takes more than `limit` bytes at once, as far as that is known."""
        return

    def as_numbers(self, names: Sequence[str]) -> Source:  # noqa: ARG002 - columns have types
        """The source with these columns as numbers, where they are text."""
        return self

    def as_flags(self, names: Sequence[str]) -> Source:  # noqa: ARG002 - columns have types
        """The source with these columns as 0 and 1, where they are text."""
        return self

    def handling(self, unfit: Unfit) -> Source:  # noqa: ARG002 - most have no such rows
        """The source that does this with rows of text that do not fit: for results that are not private."""
        return self

    def cautions(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002 - of most there is nothing to say
        """Notices on these columns, without full stops: from types, options and queries, never the data."""
        return ()

    def share(self, done: int) -> float | None:
        """The share of the reading that is done once `done` rows are read, in whole per cents; None if not known."""
        return share_of(done, self.rows) if self.rows else None

    def read(self, names: Sequence[str], progress: Progress) -> pa.Table:
        """The named columns, all at once; progress is called after each batch where the share is known."""
        return collected(self.batches(names, whole=True), self, names, progress)


@dataclass(frozen=True)
class ArrowSource(Source):
    """Record batches with a schema: tables, readers, data sets and streams.

    Attributes:
        schema: of the batches.
        columns: gives the batches of the named columns, once if the source is not repeatable.
        rows: how many rows there will be, where that is known.
        repeatable: whether the batches can be had again.
        notices: on the columns: see `Source.cautions`.
        header_hint: see `Source.header_hint`.
    """

    schema: pa.Schema
    columns: Callable[[list[str]], Iterable[pa.RecordBatch]]
    rows: int | None = None
    repeatable: bool = False
    notices: tuple[str, ...] = ()
    header_hint: str | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(self.schema.names)

    @cached_property
    def _kinds(self) -> dict[str, pa.DataType]:
        return first_types(self.schema)

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a column."""
        return self._kinds[name]

    def cautions(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002 - of all columns the same
        """See `Source.cautions`."""
        return self.notices

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns; BadData where their producer fails, or leaves rows out.

        Read as a whole, texts come as dictionaries, which take less memory.
        """
        done = 0
        try:
            for batch in self.columns(list(names)):
                for first in range(0, batch.num_rows, BATCH_ROWS):
                    part = batch.slice(first, BATCH_ROWS)
                    yield with_dictionaries(part) if whole else part
                done += batch.num_rows
            if self.rows not in {None, done}:
                raise ValueError
        except DpmineError:
            raise
        except FOREIGN_ERRORS as error:
            require_memory(error)
            raise BadData(
                "The data's producer failed while its columns were read: read them by themselves first."
            ) from None


class BasketSource(Source):
    """Baskets in Python as one column of lists; they are not looked at before they are read."""

    names = (BASKETS_COLUMN,)
    rows: int | None = None
    repeatable = True

    def __init__(self, baskets: Iterable[object]) -> None:
        self._baskets = baskets

    def type_of(self, name: str) -> pa.DataType:  # noqa: ARG002 - there is one column
        """Lists of Python values."""
        return pa.large_list(MIXED)

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - as they are
        """The baskets, whatever they hold: see `basket_lists`."""
        return iter(self._table.to_batches(max_chunksize=BATCH_ROWS))

    @cached_property
    def _table(self) -> pa.Table:
        baskets = list(self._baskets)
        self.rows = len(baskets)
        return pa.table({BASKETS_COLUMN: basket_lists(baskets)})


@dataclass(frozen=True, eq=False)
class WrappedSource(Source):
    """Another source, seen differently.

    Attributes:
        inner: the other source.
    """

    inner: Source

    def _needed(self, names: Sequence[str]) -> list[str]:
        """The columns of the other source that these are read of."""
        return list(names)

    @property
    def names(self) -> tuple[str, ...]:
        """See `Source.names`."""
        return self.inner.names

    @property
    def calendar(self) -> frozenset[str]:
        """See `Source.calendar`."""
        return self.inner.calendar

    @property
    def rows(self) -> int | None:
        """See `Source.rows`."""
        return self.inner.rows

    @property
    def repeatable(self) -> bool:
        """See `Source.repeatable`."""
        return self.inner.repeatable

    @property
    def objects(self) -> frozenset[str]:
        """See `Source.objects`."""
        return self.inner.objects

    @property
    def header_hint(self) -> str | None:  # type: ignore[override]
        """See `Source.header_hint`."""
        return self.inner.header_hint

    def share(self, done: int) -> float | None:
        """See `Source.share`."""
        return self.inner.share(done)

    def type_of(self, name: str) -> pa.DataType:
        """See `Source.type_of`."""
        return self.inner.type_of(name)

    def labels(self, names: Sequence[str]) -> pa.Array:
        """See `Source.labels`."""
        return self.inner.labels(names)

    def as_numbers(self, names: Sequence[str]) -> Self:
        """See `Source.as_numbers`."""
        return replace(self, inner=self.inner.as_numbers(names))

    def as_flags(self, names: Sequence[str]) -> Self:
        """See `Source.as_flags`."""
        return replace(self, inner=self.inner.as_flags(names))

    def handling(self, unfit: Unfit) -> Self:
        """See `Source.handling`."""
        return replace(self, inner=self.inner.handling(unfit))

    def cautions(self, names: Sequence[str]) -> tuple[str, ...]:
        """See `Source.cautions`."""
        return self.inner.cautions(self._needed(names))

    def require_room(self, names: Sequence[str], limit: int) -> None:
        """See `Source.require_room`."""
        self.inner.require_room(self._needed(names), limit)


def collected(batches: Iterable[pa.RecordBatch], source: Source, names: Sequence[str], progress: Progress) -> pa.Table:
    """A table of all batches of these columns."""
    taken, kinds = list(followed(batches, source, progress)), ((name, source.type_of(name)) for name in names)
    return pa.Table.from_batches(taken) if taken else pa.schema(kinds).empty_table()


def followed(batches: Iterable[pa.RecordBatch], source: Source, progress: Progress) -> Iterator[pa.RecordBatch]:
    """The batches of a source, with `progress` called after each where the share that is read is known."""
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        if (share := source.share(done)) is not None:
            progress(share)


def share_of(done: int, total: int) -> float:
    """The share that is done, in whole per cent: an exact share would show how many rows there are."""
    return min(100, 100 * done // total) / 100
