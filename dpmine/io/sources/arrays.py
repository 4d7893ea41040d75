"""One-hot matrices of numpy and scipy, whose columns the user names: each row is a basket of what is above 0 in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData, BadParameter
from dpmine.io.python_values import item_array
from dpmine.io.source import BASKETS_COLUMN, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_CELLS = 2**24  # that are looked at together
_NUMBERS = "biuf"  # numpy's kinds


def open_matrix(data: Any, names: Sequence[object]) -> MatrixSource:
    """The rows of a matrix as lists of the names. Raises BadParameter for other data, BadData for other names."""
    is_sparse = hasattr(type(data), "tocsr")
    if not (is_sparse or isinstance(data, np.ndarray)):
        raise BadParameter("items=[names] is for matrices of numpy and scipy: name one column, `item='COL'`.")
    if data.ndim != 2 or data.dtype.kind not in _NUMBERS:
        raise BadData("A one-hot matrix has two dimensions, and holds booleans or numbers: convert it first.")
    if len(set(names)) != data.shape[1] or len(names) != data.shape[1]:
        raise BadData(f"items must have a different name for each of the {data.shape[1]} columns of the matrix.")
    return MatrixSource(_canonical(data) if is_sparse else data, item_array(names, "The names in items"))


def _canonical(data: Any) -> Any:
    """A sparse matrix by rows, each cell once; the one that is given stays as it is."""
    matrix = data.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


@dataclass(frozen=True, eq=False)
class MatrixSource(Source):
    """One column of lists.

    Attributes:
        matrix: of numpy, or of scipy by rows.
        items: the names of its columns.
    """

    matrix: Any
    items: pa.Array
    names = (BASKETS_COLUMN,)
    repeatable = True
    header_hint: str | None = None

    @property
    def rows(self) -> int:
        """Of the matrix."""
        return int(self.matrix.shape[0])

    def type_of(self, name: str) -> pa.DataType:  # noqa: ARG002 - there is one column
        """Lists of names."""
        return pa.list_(pa.dictionary(pa.int32(), self.items.type))

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - lists
        """The rows, piece by piece."""
        step = max(1, _MOST_CELLS // max(1, len(self.items)))
        for first in range(0, self.rows, step):
            part = self.matrix[first : first + step]
            rows, columns = (part > 0).nonzero()
            order = np.argsort(rows, kind="stable")
            offsets = np.zeros(part.shape[0] + 1, np.int32)
            np.cumsum(np.bincount(rows, minlength=part.shape[0]), out=offsets[1:])
            items = pa.DictionaryArray.from_arrays(pa.array(columns[order].astype(np.int32)), self.items)
            lists = pa.ListArray.from_arrays(pa.array(offsets), items)
            yield pa.RecordBatch.from_arrays([lists], names=[BASKETS_COLUMN])
