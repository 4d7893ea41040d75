"""pandas data frames as sources of columns: types from the frame where it declares them, else from the values."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData, require_memory
from dpmine.io.python_values import item_array, object_array, valid_text
from dpmine.io.source import BATCH_ROWS, FOREIGN_ERRORS, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_PLAIN_KINDS = "biuM"  # numpy kinds whose Arrow type is known without looking at the values


class PandasSource(Source):
    """The columns of a data frame, its index left out, converted as they are needed.

    Column labels may be integers, as item labels of a one-hot frame are; columns are then named by their text. The
    column `lists` is one of lists, if it holds objects.
    """

    repeatable = True

    def __init__(self, frame: Any, lists: str | None = None) -> None:
        if frame.columns.nlevels > 1:
            raise BadData("The data frame's columns have several levels: flatten them to one name a column.")
        self._frame, self._lists = frame, lists
        self._converted: dict[str, pa.ChunkedArray] = {}

    @property
    def rows(self) -> int:
        """Rows of the frame."""
        return len(self._frame)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column labels as texts, in order."""
        return tuple(map(str, self._labels))

    @cached_property
    def _labels(self) -> list[Any]:
        return self._frame.columns.tolist()  # type: ignore[no-any-return]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def _kinds(self) -> list[Any]:
        return list(self._frame.dtypes)

    @cached_property
    def _plain_types(self) -> dict[Any, pa.DataType]:
        """Arrow's types of those kinds of the columns that need no look at the values."""
        plain = {kind for kind in set(self._kinds) if isinstance(kind, np.dtype) and kind.kind in _PLAIN_KINDS}
        return {kind: pa.from_numpy_dtype(kind) for kind in plain}

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a column; BadData where its values have several."""
        known = self._plain_types.get(self._kinds[self._positions[name]])
        return self._column(name).type if known is None else known

    def untyped(self, names: Sequence[str]) -> list[str]:
        """Those of the columns whose type the frame does not declare apart from the values: objects and categories."""
        kinds = {name: self._kinds[self._positions[name]] for name in names}
        return [name for name, kind in kinds.items() if kind == np.dtype(object) or hasattr(kind, "categories")]

    def labels(self, names: Sequence[str]) -> pa.Array:
        """The column labels, integers kept; BadData where they are neither all integers nor all texts."""
        if self._are_all(names):
            return self._all_labels
        return _frame_labels([self._labels[self._positions[name]] for name in names])

    @cached_property
    def _all_labels(self) -> pa.Array:
        return _frame_labels(self._labels)

    def are_boolean(self, names: Sequence[str]) -> bool:
        """Whether all these columns hold booleans."""
        return self._kinds_of(names) == {np.dtype(np.bool_)} or super().are_boolean(names)

    def are_plain(self, names: Sequence[str]) -> bool:
        """Whether these columns are all booleans, or all integers of one width, that numpy holds: no value is null."""
        kinds = self._kinds_of(names)
        return len(kinds) == 1 and all(isinstance(kind, np.dtype) and kind.kind in "biu" for kind in kinds)

    def _kinds_of(self, names: Sequence[str]) -> set[Any]:
        return set(self._kinds if self._are_all(names) else [self._kinds[self._positions[name]] for name in names])

    def _are_all(self, names: Sequence[str]) -> bool:
        """Whether these are all columns, which then need not be looked up one by one."""
        return names == self.names

    def values(self, names: Sequence[str], first: int, end: int) -> NDArray[Any]:
        """A matrix of the rows from `first` to `end` and these columns, which `are_plain`; a view where that is one."""
        matrix: NDArray[Any] = self._frame.iloc[first:end, self._places(names)].to_numpy()
        return matrix

    def _places(self, names: Sequence[str]) -> slice | list[int]:
        """Where the columns stand: a slice of a frame need not be copied."""
        if self._are_all(names):
            return slice(None)
        places = [self._positions[name] for name in names]
        is_range = places == list(range(places[0], places[0] + len(places)))
        return slice(places[0], places[-1] + 1) if is_range else places

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - as they are
        """The named columns."""
        table = pa.table({name: self._column(name) for name in names})
        return iter(table.to_batches(max_chunksize=BATCH_ROWS))

    def _column(self, name: str) -> pa.ChunkedArray:
        if name not in self._converted:
            self._converted[name] = _arrow_column(
                self._frame.iloc[:, self._positions[name]], name, lists=name == self._lists
            )
        return self._converted[name]


def _frame_labels(labels: list[Any]) -> pa.Array:
    return item_array(labels, "The data frame's column labels")


def _arrow_column(series: Any, name: str, *, lists: bool) -> pa.ChunkedArray:
    """The series in Arrow; what is declared to be objects becomes lists, booleans or single values of Python."""
    if hasattr(series.dtype, "fill_value"):
        series = series.sparse.to_dense()
    if object in (series.dtype, getattr(getattr(series.dtype, "categories", None), "dtype", None)):
        return pa.chunked_array([object_array(series.astype(object).to_numpy().tolist(), lists=lists)])
    try:
        column = _arrow_array(series)
    except FOREIGN_ERRORS as error:
        require_memory(error)
        raise BadData(
            f"Column {name!r} has a type that Arrow does not know: convert it first, for example with "
            "astype('Int64') or astype(str)."
        ) from None
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _arrow_array(series: Any) -> Any:
    """The series in Arrow, with U+FFFD for what is no Unicode in its texts."""
    try:
        return pa.array(series, from_pandas=True)
    except UnicodeError:
        valid = series.map(valid_text, na_action="ignore").astype(series.dtype)
        return pa.array(valid, from_pandas=True)
