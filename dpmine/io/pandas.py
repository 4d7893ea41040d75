"""A pandas frame as a source of columns, converted column by column as they are needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData, require_memory
from dpmine.io.python_values import are_baskets, basket_lists, item_array, value_array
from dpmine.io.source import FOREIGN_ERRORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.io.source import Progress

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
    """The series in Arrow; what is declared to be objects becomes lists, booleans or single values of Python."""
    if hasattr(series.dtype, "fill_value"):
        series = series.sparse.to_dense()
    if series.dtype == object and not _are_flags(series):
        values = series.to_numpy().tolist()
        return pa.chunked_array([basket_lists(values) if are_baskets(values) else value_array(values)])
    try:
        column = pa.array(series, from_pandas=True)
    except FOREIGN_ERRORS as error:
        require_memory(error)
        raise BadData(
            f"Column {name!r} has a type that Arrow does not know: convert it first, for example with "
            "astype('Int64') or astype(str)."
        ) from None
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _are_flags(series: Any) -> bool:
    """Whether all objects are True, False or missing, as in a one-hot frame with gaps."""
    present = series.dropna()
    return len(present) > 0 and all(isinstance(value, bool | np.bool_) for value in present)
