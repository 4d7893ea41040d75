"""Columns that are written as text, or as bytes without a mark for it: they are read as public types say.

A type found from the values, or an error for a value that does not fit, would depend on single rows. So such a value
is null. Impala and Hadoop write text to Parquet as bytes without a mark.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from dpmine.errors import BadData
from dpmine.io.arrow import as_bytes, as_text_type, first_types, text_array, type_name, with_dictionaries
from dpmine.io.dates import moments
from dpmine.io.source import Source, WrappedSource, quoted
from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from dpmine.io.unfit import Unfit

_TEXT = pa.string()
_FLAG = pa.int8()
_WHOLE = r"^-?[0-9]{1,18}$"
_REAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?$"
_NOT_POSITIVE = r"^(-.*|[+]?[0.]+([eE].*)?)$"
_TRUTHS = "true", "t", "yes", "y"
_FALSITIES = "false", "f", "no", "n"
_CONVERTED = (
    "a value of a text column that does not fit its type counts as missing, and a row without a key is ignored: check "
    "the format on a public sample (dates are written 2026-11-23, or as `types='day=date:%d.%m.%Y'` says)"
)


@dataclass(frozen=True, eq=False)
class TextSource(Source):
    """Columns of text, and those types of them that were declared or asked for.

    Attributes:
        header: the columns' names, in order.
        declared: types by column.
        texts: gives the named columns as string.
        header_hint: see `Source.header_hint`: the names are data where a header is missing.
        repeatable: whether they can be had again.
        asked: types of columns that the caller needs as numbers, where none is declared.
        decimal: the decimal point of numbers.
        notices: on the columns: see `Source.cautions`.
        read_share: the share that is read by now, of what can be measured before: bytes, as a number of rows would be
            secret.
        texts_handling: `texts` for what is to be done with rows that do not fit; None where there are none.
        missing: columns that not all files have.
        formats: how dates and timestamps are written, by column, as `dates.pattern_of` gives it.
    """

    header: tuple[str, ...]
    declared: Mapping[str, pa.DataType]
    texts: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    header_hint: str | None = None
    repeatable: bool = True
    asked: Mapping[str, pa.DataType] = field(default_factory=dict)
    rows: int | None = None
    decimal: str = "."
    notices: tuple[str, ...] = ()
    read_share: Callable[[], float | None] = lambda: None
    texts_handling: Callable[[Unfit], Callable[[Sequence[str]], Iterator[pa.RecordBatch]]] | None = None
    missing: Collection[str] = ()
    formats: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return self.header

    def type_of(self, name: str) -> pa.DataType:
        """What is declared, or asked for, or text; BadData, before any row is read, where a file has no such column."""
        if name in self.missing:
            raise BadData("A column that is asked for is missing in some of the files: leave out those without it.")
        return self.declared.get(name) or self.asked.get(name) or _TEXT

    def share(self, done: int) -> float | None:  # noqa: ARG002 - rows are not counted
        """See `Source.share`."""
        return self.read_share()

    def as_numbers(self, names: Sequence[str]) -> Self:
        """See `Source.as_numbers`."""
        return replace(self, asked={**self.asked, **dict.fromkeys(names, pa.float64())})

    def as_flags(self, names: Sequence[str]) -> Self:
        """See `Source.as_flags`."""
        return replace(self, asked={**self.asked, **dict.fromkeys(names, _FLAG)})

    def handling(self, unfit: Unfit) -> Self:
        """See `Source.handling`."""
        return replace(self, texts=self.texts_handling(unfit)) if self.texts_handling else self

    def cautions(self, names: Sequence[str]) -> tuple[str, ...]:
        """See `Source.cautions`; one is the same wherever text is read as another type, whatever the data hold."""
        return (*self.notices, _CONVERTED) if any(self.type_of(name) != _TEXT for name in names) else self.notices

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns in their types; null where a value does not fit.

        Read as a whole, texts come as dictionaries: they take less memory, and as much time.
        """
        kinds = {name: self.type_of(name) for name in names}
        for batch in self.texts(names):
            columns = [
                typed(batch.column(name), kind, self.decimal, self.formats.get(name, ""))
                for name, kind in kinds.items()
            ]
            table = pa.RecordBatch.from_arrays(columns, names=list(names))
            yield with_dictionaries(table) if whole else table


def require_declared(names: Sequence[str], declared: Mapping[str, pa.DataType], header_hint: str) -> None:
    """BadData for a type that is declared for a column that does not exist."""
    known = first_types(pa.schema([(name, _TEXT) for name in names]))
    if unknown := [name for name in declared if name not in known]:
        raise BadData(f"`types` name a column {unknown[0]!r} that does not exist {header_hint}.")


def typed(texts: pa.Array, kind: pa.DataType, decimal: str = ".", written: str = "") -> pa.Array:
    """The texts as values of a type; null where one does not fit. `written`: how dates are, see `dates.pattern_of`."""
    if kind == _TEXT:
        return texts
    values = pc.ascii_trim_whitespace(texts)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return moments(values, kind, written)
    if decimal != ".":
        points = pc.replace_substring(values, ".", "x")  # no number: 1.234,5 is not read, as 1,234.5 is not
        values = pc.replace_substring(points, decimal, ".")
    if kind == _FLAG:
        return _flags(values)
    # Always: what is null must not depend on the other values of a batch.
    return _matching(values, _WHOLE if pa.types.is_integer(kind) else _REAL).cast(kind)


def _flags(values: pa.Array) -> pa.Array:
    """1 for numbers above 0, as in columns of integers, and for words of truth; 0 for the others; else null."""
    lower = pc.ascii_lower(values)
    is_number = pc.match_substring_regex(values, _REAL)
    is_set = pc.or_(
        pc.is_in(lower, value_set=text_array(_TRUTHS).cast(_TEXT)),
        pc.and_(is_number, pc.invert(pc.match_substring_regex(values, _NOT_POSITIVE))),
    )
    is_known = pc.or_(pc.or_(is_set, is_number), pc.is_in(lower, value_set=text_array(_FALSITIES).cast(_TEXT)))
    return pc.if_else(is_known, is_set, pa.nulls(1, pa.bool_())[0]).cast(_FLAG)


def _matching(values: pa.Array, pattern: str) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(values, pattern), values, pa.nulls(1, _TEXT)[0])


def with_texts(source: Source, declared: Iterable[str]) -> Source:
    """The source with these columns as text. Raises BadData for columns that do not exist, or hold no bytes."""
    names = tuple(declared)
    if missing := [name for name in names if name not in source.names]:
        raise BadData(f"`types` name columns that do not exist: {quoted(missing)}. Check the names.")
    for name in names:
        kind = source.type_of(name)
        if as_text_type(kind) == kind:
            raise BadData(f"`types` declare {name!r} as text, and its type is {type_name(kind)}: leave it out.")
    return DeclaredTexts(source, frozenset(names))


@dataclass(frozen=True, eq=False)
class DeclaredTexts(WrappedSource):
    """Another source, some of whose columns of bytes are text.

    Attributes:
        texts: which ones. Bytes that are no UTF-8 are handled as in other columns of text.
    """

    texts: frozenset[str]

    def type_of(self, name: str) -> pa.DataType:
        """Text for columns that are declared."""
        kind = self.inner.type_of(name)
        return as_text_type(kind) if name in self.texts else kind

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns; their bytes are not copied."""
        for batch in self.inner.batches(names, whole=whole):
            columns = [
                _viewed(column) if name in self.texts else column
                for name, column in zip(names, batch.columns, strict=True)
            ]
            table = pa.RecordBatch.from_arrays(columns, names=list(names))
            yield with_dictionaries(table) if whole else table


def _viewed(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _viewed(column.dictionary))
    text = as_text_type(column.type)
    return column.cast(as_bytes(text)).view(text)
