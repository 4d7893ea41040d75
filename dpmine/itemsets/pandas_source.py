"""A pandas frame as a source of columns, converted column by column as they are needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpmine.errors import BadData, require_memory
from dpmine.itemsets.python_values import basket_lists, item_array
from dpmine.itemsets.source import FOREIGN_ERRORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.itemsets.source import Progress

_PLAIN_KINDS = "biuM"  # numpy kinds whose Arrow type is known without looking at the values


class PandasSource:
    """The columns of a data frame, its index left out.

    Column labels may be integers, as item labels of a one-hot frame are; columns are then named by their text.
    """

    def __init__(self, frame: Any) -> None:
        if frame.columns.nlevels > 1:
            raise BadData("The data frame's columns have several levels: flatten them to one name a column.")
        self._frame = frame
        self._converted: dict[str, pa.ChunkedArray] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column labels as texts, in order."""
        return tuple(map(str, self._frame.columns))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a column; BadData where its values have several."""
        kind = self._frame.dtypes.iloc[self._positions[name]]
        if getattr(kind, "kind", "") in _PLAIN_KINDS and hasattr(kind, "newbyteorder"):
            return pa.from_numpy_dtype(kind)
        return self._column(name).type

    def labels(self, names: Sequence[str]) -> pa.Array:
        """The column labels, integers kept; BadData where they are neither all integers nor all texts."""
        labels = [self._frame.columns[self._positions[name]] for name in names]
        return item_array(labels, "The data frame's column labels")

    def read(self, names: Sequence[str], progress: Progress) -> pa.Table:
        """The named columns."""
        table = pa.table({name: self._column(name) for name in names})
        progress(1.0)
        return table

    def _column(self, name: str) -> pa.ChunkedArray:
        if name not in self._converted:
            self._converted[name] = _arrow_column(self._frame.iloc[:, self._positions[name]], name)
        return self._converted[name]


def _arrow_column(series: Any, name: str) -> pa.ChunkedArray:
    """The series in Arrow; sets count as lists, and BadData stands for what Arrow cannot hold."""
    if hasattr(series.dtype, "fill_value"):
        series = series.sparse.to_dense()
    if series.dtype == object and _first(series, (set, frozenset)):
        return pa.chunked_array([basket_lists(list(series), f"The baskets of column {name!r}")])
    try:
        column = pa.array(series, from_pandas=True)
    except FOREIGN_ERRORS as error:
        require_memory(error)
        raise BadData(
            f"Column {name!r} holds values of several types, or of a type that Arrow does not know: "
            "convert it to one type first, for example with astype('Int64') or astype(str)."
        ) from None
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _first(series: Any, kinds: tuple[type, ...]) -> bool:
    return any(isinstance(value, kinds) for value in series.dropna().iloc[:1])
