"""Columns of bytes that hold text, as Impala and Hadoop write them to Parquet without a mark: read as declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from dpmine.errors import BadData
from dpmine.io.arrow import as_bytes, as_text_type, type_name, with_dictionaries
from dpmine.io.source import Source, WrappedSource, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


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
