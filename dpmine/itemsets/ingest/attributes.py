"""Tables of attributes as lists, batch by batch: of each row the items `column=value` of all its attributes.

Which columns are attributes, and where numbers are cut, is public. Each value is read by itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData
from dpmine.io.arrow import (
    integers_or,
    is_mixed,
    is_text,
    plain,
    text_array,
    type_name,
    valid_texts,
)
from dpmine.io.python_values import as_texts
from dpmine.io.source import ATTRIBUTES_COLUMN, WrappedSource
from dpmine.io.sources.text_columns import typed
from dpmine.itemsets.ingest.column_names import require_names, role_of
from dpmine.itemsets.ingest.plain_values import has_form, written_values
from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.io.attributes import Attributes
    from dpmine.io.source import Columns, Source

    Codes = NDArray[np.int64]

_MOST_CELLS = 2**22  # that are coded together
_ITEMS = pa.dictionary(pa.int32(), pa.large_string())


def attributes_in(source: Source, columns: Columns, given: Attributes) -> AttributeLists:
    """The attributes of a table as one column of lists. Reads no rows.

    Raises BadData for attributes that do not exist, have no items, or may have the same ones.
    """
    named = (*columns.unit, *given.names, *dict(given.cuts))
    times, hint = Counter(source.names), source.header_hint
    where = hint or "among the columns"
    if missing := [name for name in named if name not in times]:
        from dpmine.io.sources.periods import unlike_header

        checked = f".{unlike_header(missing[0], source.names)}" if hint else ": check the names."
        raise BadData(f"There is no column {missing[0]!r} {where}{checked}")
    names = given.names or tuple(name for name in source.names if name not in columns.unit)
    if not names or {*names} & {*columns.unit}:
        raise BadData("No column is left for the attributes: those of the privacy unit are none.")
    if foreign := [name for name, _ in given.cuts if name not in names]:
        raise BadData(f"`cut` names {foreign[0]!r}, which is no attribute: name it in `attributes`, too.")
    if hint is not None:
        require_names(names, hint, is_header=bool(named))
    if repeated := [name for name in (*columns.unit, *names) if times[name] > 1]:
        raise BadData(f"Several columns are called {repeated[0]!r}: give each its own name.")
    source = source.as_numbers([name for name, _ in given.cuts])
    for name in names:
        _check_type(name, source.type_of(name), is_cut=name in dict(given.cuts))
    _require_apart(names, given)
    return AttributeLists(source, columns.unit, names, given)


def _check_type(name: str, kind: pa.DataType, *, is_cut: bool) -> None:
    """BadData for a column that can be no attribute."""
    values = plain(kind)
    is_number = pa.types.is_integer(values) or pa.types.is_floating(values) or (is_cut and pa.types.is_decimal(values))
    if is_cut and not is_number:
        raise BadData(f"`cut` needs numbers, and column {name!r} has the type {type_name(kind)}: cast it first.")
    if not is_cut and pa.types.is_floating(values):
        raise BadData(
            f"Column {name!r} has real numbers, of which each would be an item of its own: cut them at public points, "
            f"`cut={f'{name}=18,30,50'!r}`, or leave the column out of `attributes`."
        )
    is_value = is_text(values) or has_form(values) or is_mixed(values) or pa.types.is_null(values)
    if not (is_number or is_value):
        raise BadData(
            f"Column {name!r} has the type {type_name(kind)}, and attributes are texts, integers, booleans, dates, "
            "timestamps or decimals: cast it first, or leave it out of `attributes`."
        )


def _require_apart(names: Sequence[str], given: Attributes) -> None:
    """BadData where items of two columns could be the same text, whatever the values are."""
    intervals = [item for name in names for item in given.items_of(name)]
    free = {name for name in names if not given.items_of(name)}
    texts = [*(name for name in names if name in free), *intervals]
    begins = (text[:place] in free for text in texts for place, character in enumerate(text) if character == "=")
    if any(begins) or len({*intervals}) < len(intervals):
        raise BadData("Items of two attributes could have the same name, because of a sign =, < or >: rename columns.")


@dataclass(frozen=True, eq=False)
class AttributeLists(WrappedSource):
    """The keys of a table of attributes, and for each row the list of its items.

    Attributes:
        keys: columns that name units.
        attributes: the columns of attributes.
        given: what else the user says of them.
    """

    keys: tuple[str, ...]
    attributes: tuple[str, ...]
    given: Attributes

    @property
    def names(self) -> tuple[str, ...]:
        """The keys and the column of lists."""
        return (*self.keys, ATTRIBUTES_COLUMN)

    @property
    def objects(self) -> frozenset[str]:
        """None: each value is one item, and that is what was asked for."""
        return frozenset()

    def _needed(self, names: Sequence[str]) -> list[str]:  # noqa: ARG002 - all
        return [*self.keys, *self.attributes]

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a key, or of the lists."""
        return pa.list_(_ITEMS) if name == ATTRIBUTES_COLUMN else super().type_of(name)

    def cautions(self, names: Sequence[str]) -> tuple[str, ...]:
        """See `Source.cautions`."""
        keys = [name for name in self.attributes if role_of(name) == "unit"] if not self.given.names else []
        shown = repr(keys[0]) if keys and self.header_hint is None else "a column"
        said = f"{shown} is named like a key, and its values are items: name it as unit, or name the attributes"
        return (*([said] if keys else []), *super().cautions(names))

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The keys and the lists; raises what the table's batches raise."""
        step = max(1, _MOST_CELLS // len(self.attributes))
        for batch in self.inner.batches(self._needed(names), whole=whole):
            for first in range(0, batch.num_rows, step):
                columns = batch.slice(first, step).columns
                lists = self._lists(columns[len(self.keys) :])
                parts = dict(zip(self.names, [*columns[: len(self.keys)], lists], strict=True))
                yield pa.RecordBatch.from_pydict({name: parts[name] for name in names})

    def _lists(self, columns: list[pa.Array]) -> pa.ListArray:
        """The items of each row, in the order of the columns."""
        rows, first, labels = len(columns[0]), 0, []
        cells = np.empty((rows, len(columns)), np.int32)
        for place, (name, column) in enumerate(zip(self.attributes, columns, strict=True)):
            codes, items = self._intervals(name, column) if name in self._points else self._values(name, column)
            cells[:, place] = np.where(codes < 0, -1, codes + first)
            first += len(items)
            labels.append(items)
        offsets = np.zeros(rows + 1, np.int32)
        np.cumsum((cells >= 0).sum(axis=1), out=offsets[1:])
        items = pa.DictionaryArray.from_arrays(pa.array(cells[cells >= 0]), pa.concat_arrays(labels))
        return pa.ListArray.from_arrays(pa.array(offsets), items)

    @cached_property
    def _points(self) -> dict[str, NDArray[np.float64]]:
        return {name: np.array(list(map(float, points))) for name, points in self.given.cuts}

    @cached_property
    def _missing(self) -> pa.Array:
        return text_array(self.given.missing)

    def _intervals(self, name: str, column: pa.Array) -> tuple[Codes, pa.Array]:
        """Of each row the number of its item, −1 for none; and the items."""
        texts = typed(self._missing.cast(pa.string()), pa.float64()).drop_null()
        numbers = _decoded(column).cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        codes: Any = np.searchsorted(self._points[name], numbers, side="right")
        codes[np.isnan(numbers) | np.isin(numbers, texts.to_numpy())] = -1
        return codes, text_array(self.given.items_of(name))

    def _values(self, name: str, column: pa.Array) -> tuple[Codes, pa.Array]:
        """The same of values as they are written, without blanks around them; an empty text is none."""
        encoded = column if pa.types.is_dictionary(column.type) else _plain_text(column).dictionary_encode()
        values = _plain_text(encoded.dictionary)
        written = written_values(values) if has_form(values.type) else as_texts(values)
        texts = pc.utf8_trim_whitespace(valid_texts(written))
        is_none = pc.or_(pc.equal(texts, ""), pc.is_in(texts, value_set=self._missing))
        kept = pc.if_else(is_none, pa.nulls(1, texts.type)[0], texts).dictionary_encode()
        codes = np.append(integers_or(-1, kept.indices), -1)[integers_or(-1, encoded.indices)]
        begin, nothing = text_array([f"{name}=", ""])
        return codes, pc.binary_join_element_wise(begin, kept.dictionary, nothing)


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _plain_text(column: pa.Array) -> pa.Array:
    """Texts as large_string: of views, Arrow makes no dictionaries."""
    return column.cast(pa.large_string()) if is_text(column.type) else column
