"""What mlxtend's users call, counted by dpmine: fpgrowth, apriori, hmine and fpmax; and mlxtend's association_rules.

NOT private: exact supports of one-hot frames.

    from dpmine.frequent_patterns import fpgrowth   # instead of mlxtend.frequent_patterns

takes the same frames and parameters and returns the same columns and types. The private answer of the same frame is
one line more: `dpmine.top_itemsets(df, k=10, one_hot=True)`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from mlxtend.frequent_patterns import association_rules

from dpmine.errors import BadData, BadParameter
from dpmine.io.arrow import integer_array
from dpmine.itemsets.counting.flags import FlagMaps
from dpmine.itemsets.counting.lists import order_of
from dpmine.itemsets.counting.miner import BasketsInMemory
from dpmine.itemsets.exact_supports import frozensets
from dpmine.itemsets.transactions.interface import starts_of
from dpmine.itemsets.transactions.lists import ItemsetLists, ListRoom, taken
from dpmine.itemsets.transactions.memory import MemoryBudget
from dpmine.options.explained import explained_by
from dpmine.parameters import least_count

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from dpmine.itemsets.counting.flags import FlagMiner
    from dpmine.itemsets.transactions.interface import SupportSource

__all__ = ["apriori", "association_rules", "fpgrowth", "fpmax", "hmine"]

_MISSING = "NaN values are not permitted in the DataFrame when null_values=False."
_ALLOWED = "The allowed values for a DataFrame are True, False, 0, 1{}: convert the columns that hold others."
_FEWER = "raise min_support, give max_len, or write Parquet with dpmine supports"
_AT_ONCE = 2**26  # bytes of packed rows that are compared at a time


def fpgrowth(
    df: pd.DataFrame,
    min_support: float = 0.5,
    null_values: bool = False,
    use_colnames: bool = False,
    max_len: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """All itemsets of a one-hot frame with a support of at least `min_support`. NOT private.

    Args:
        df: one row per transaction, one column per item, of True and False or 0 and 1; pandas' sparse columns, too.
        min_support: least share of the rows, in (0, 1].
        null_values: whether entries may be missing. The support of an itemset is then the share of the rows that miss
            none of its items. It is looked for only if rows that hold or miss each of its items are a share of at least
            `min_support` of all rows.
        use_colnames: whether itemsets hold column names instead of positions.
        max_len: the most items of an itemset; None: all sizes.
        verbose: above 0, the number of itemsets of each size is printed.

    Returns a frame with the columns support (float64) and itemsets (frozensets): by size, then by columns.
    Raises BadParameter and BadData, which are ValueErrors. No message quotes an entry. Itemsets that would take more
    than half of the machine's memory are rejected before they become Python objects.

    Example:
        >>> import pandas as pd
        >>> from dpmine.frequent_patterns import fpgrowth
        >>> df = pd.DataFrame({"bread": [1, 1, 0], "milk": [1, 1, 1]}, dtype=bool)
        >>> fpgrowth(df, min_support=0.6, use_colnames=True).support.round(2).tolist()
        [0.67, 1.0, 0.67]

    See Also:
        dpmine.top_itemsets: the best itemsets, chosen with differential privacy.
    """
    return _frequent(df, min_support, max_len, _teller(verbose), names=use_colnames, gaps=null_values)


@explained_by(fpgrowth.__doc__)
def apriori(
    df: pd.DataFrame,
    min_support: float = 0.5,
    use_colnames: bool = False,
    max_len: int | None = None,
    verbose: int = 0,
    low_memory: bool = False,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """All itemsets of a one-hot frame with a support of at least `min_support`. NOT private.

    Args:
        low_memory: accepted, and changes nothing.
        n_jobs: accepted, and changes nothing.

    The result, and what is raised, are as from `fpgrowth`; itemsets are counted in the same way.

    Example:
        >>> import pandas as pd
        >>> from dpmine.frequent_patterns import apriori
        >>> apriori(pd.DataFrame([[1, 1], [1, 0]]), min_support=0.5, max_len=1).support.tolist()
        [1.0, 0.5]

    See Also:
        fpgrowth: the same without the two parameters.
    """

    def told(size: int, count: int) -> None:
        if verbose and size > 1:
            print(f"\rProcessing {count * (size + 1)} combinations | Sampling itemset size {size}", end="")

    found = _frequent(df, min_support, max_len, told, names=use_colnames)
    if verbose:
        print()
    return found


@explained_by(fpgrowth.__doc__)
def hmine(
    df: pd.DataFrame,
    min_support: float = 0.5,
    use_colnames: bool = False,
    max_len: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """All itemsets of a one-hot frame with a support of at least `min_support`. NOT private.

    The result, and what is raised, are as from `fpgrowth`; itemsets are counted in the same way.

    Example:
        >>> import pandas as pd
        >>> from dpmine.frequent_patterns import hmine
        >>> hmine(pd.DataFrame([[1, 1], [1, 0]]), min_support=0.6).support.tolist()
        [1.0]

    See Also:
        fpgrowth: the same with one parameter more.
    """
    return _frequent(df, min_support, max_len, _teller(verbose), names=use_colnames)


@explained_by(fpgrowth.__doc__)
def fpmax(
    df: pd.DataFrame,
    min_support: float = 0.5,
    null_values: bool = False,
    use_colnames: bool = False,
    max_len: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """The maximal itemsets of a one-hot frame: no superset has a support of at least `min_support`. NOT private.

    Args:
        max_len: leaves out the maximal itemsets that have more items; None: lists all.

    Where entries are missing, an itemset is maximal if no superset is looked for. The columns, the order, and what is
    raised are as from `fpgrowth`.

    Example:
        >>> import pandas as pd
        >>> from dpmine.frequent_patterns import fpmax
        >>> fpmax(pd.DataFrame([[1, 1], [1, 0]]), min_support=0.5).itemsets.tolist()
        [frozenset({0, 1})]

    See Also:
        fpgrowth: all itemsets.
    """
    return _frequent(df, min_support, max_len, _teller(verbose), names=use_colnames, gaps=null_values, maximal=True)


def _teller(verbose: int) -> Callable[[int, int], None]:
    """What says how many itemsets there are of a size."""

    def told(size: int, count: int) -> None:
        if verbose:
            print(f"\r{count} itemset(s) of size {size}")

    return told


def _frequent(
    df: pd.DataFrame,
    min_support: float,
    max_len: int | None,
    told: Callable[[int, int], None],
    *,
    names: bool,
    gaps: bool = False,
    maximal: bool = False,
) -> pd.DataFrame:
    import pandas as pd

    if not 0.0 < min_support <= 1.0:
        raise BadParameter(f"`min_support` must be a positive number within the interval `(0, 1]`. Got {min_support}.")
    least, lists, shares = float(min_support), ItemsetLists.of([]), np.zeros(0)
    if df.size:
        cells = _Cells.with_gaps(df, least) if gaps else _Cells.of(df, least)
        lists, shares = _by_size(cells, least, max_len or df.shape[1], maximal=maximal)
        for size, count in enumerate(np.bincount(lists.sizes).tolist()[1:], start=1):
            told(size, count)
    columns = df.columns.tolist() if names else list(range(df.shape[1]))
    itemsets = frozensets(lists, np.arange(len(shares)), columns)
    return pd.DataFrame({"support": shares, "itemsets": itemsets}, copy=False)


class _Cells(NamedTuple):
    """What a frame holds of the items that are frequent alone.

    Attributes:
        rows: the frame's number of rows.
        items: int32[N], the frequent columns, increasing.
        supports: float64[N], the share of each.
        miner: of the rows; item c is column items[c].
        room: bytes that lists of itemsets may take.
        gaps: matrices of the items and of the known entries, packed by rows; None where no entry is missing.
    """

    rows: int
    items: NDArray[np.int32]
    supports: NDArray[np.float64]
    miner: FlagMiner | SupportSource
    room: int
    gaps: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None = None

    @classmethod
    def of(cls, df: pd.DataFrame, least: float) -> _Cells:
        """Those of a frame in which nothing is missing. Raises BadData."""
        columns = _sparse(df) if _is_sparse(df) else _flags(df)
        maps = FlagMaps.of(columns) if isinstance(columns, np.ndarray) else None
        counts = np.asarray(columns.sum(axis=1)).ravel() if maps is None else maps.supports
        supports = counts / len(df)
        frequent = np.flatnonzero(supports >= least)
        return cls(len(df), frequent.astype(np.int32), supports[frequent], *_mined(columns, maps, frequent))

    @classmethod
    def with_gaps(cls, df: pd.DataFrame, least: float) -> _Cells:
        """Those of a frame whose entries may be missing: the baskets hold these, too. Raises BadData."""
        frame: Any = df
        dense = frame.sparse.to_dense() if _is_sparse(df) else df
        missing = dense.isna().to_numpy().T
        held = _checked(dense.to_numpy().T, missing) & ~missing
        known = len(df) - missing.sum(axis=1)
        supports = np.divide(held.sum(axis=1), known, out=np.zeros(len(held)), where=known > 0)
        frequent = np.flatnonzero(supports >= least)
        packed = np.packbits(held[frequent], axis=1), np.packbits(~missing[frequent], axis=1)
        maybe = held | missing
        mined = _mined(maybe, FlagMaps.of(maybe), frequent)
        return cls(len(df), frequent.astype(np.int32), supports[frequent], *mined, packed)

    def shares(self, found: ItemsetLists) -> NDArray[np.float64]:
        """The support of each itemset, as a share. Requires: sizes never decrease."""
        if self.gaps is None:
            shares: NDArray[np.float64] = found.supports / self.rows
            return shares
        counts = np.bincount(found.sizes)
        stretches = np.split(found.codes, np.cumsum(counts * np.arange(len(counts)))[:-1])
        parts = [part.reshape(-1, size) for size, part in enumerate(stretches[1:], start=1)]
        held, known = (
            np.concatenate([np.zeros(0, np.int64), *(_rows_with_all(packed, part) for part in parts)])
            for packed in self.gaps
        )
        return np.asarray(np.divide(held, known, out=np.zeros(len(held)), where=known > 0), np.float64)


def _mined(columns: Any, maps: FlagMaps | None, frequent: NDArray[np.int64]) -> tuple[FlagMiner | SupportSource, int]:
    """A miner of the frequent columns, and the room beside it; `maps`: of all columns, where they are not sparse."""
    budget = MemoryBudget.of(None)
    if maps is not None and maps.is_fast(frequent):
        return maps.miner(frequent), budget.whole
    baskets = _baskets(columns[frequent])
    return baskets.miner(), baskets.room_for_lists(budget)


def _baskets(columns: Any) -> BasketsInMemory:
    """The rows that hold one of the items; `columns` has a row for each item, and may be sparse."""
    rows: Any = columns.T.tocsr() if hasattr(columns, "tocsr") else np.ascontiguousarray(columns.T)
    if hasattr(columns, "tocsr"):
        rows.sort_indices()
        lengths, items = np.diff(rows.indptr).astype(np.int64), rows.indices.astype(np.int32)
    else:
        lengths = np.count_nonzero(rows, axis=1).astype(np.int64)
        items = (np.flatnonzero(rows) % max(1, rows.shape[1])).astype(np.int32)
    lengths = lengths[lengths > 0]
    units = np.arange(len(lengths) + 1, dtype=np.int64)
    labels = integer_array(np.arange(rows.shape[1]))
    return BasketsInMemory(labels, items, starts_of(lengths), units, "row", rows.shape[0] - len(lengths))


def _by_size(cells: _Cells, least: float, longest: int, *, maximal: bool) -> tuple[ItemsetLists, NDArray[np.float64]]:
    """The itemsets by size, then by columns, and their shares."""
    room = ListRoom(cells.room, longest, _FEWER, as_objects=True)
    miner, sizes, threshold = cells.miner, (1, longest), least_count(Fraction(least), cells.rows)
    found = miner.closed(sizes, threshold, room, maximal=True) if maximal else miner.lists(sizes, threshold, room)
    found = taken(found, order_of(found, np.zeros(len(found.supports), np.int64)))
    shares = cells.shares(found)
    if not (reached := shares >= least).all():
        found, shares = taken(found, np.flatnonzero(reached)), shares[reached]
    return found._replace(codes=cells.items[found.codes]), shares


def _is_sparse(df: Any) -> bool:
    """Whether all columns are. To ask the first one before saves a tenth of the time of a small frame."""
    import pandas as pd

    return isinstance(df.dtypes.iloc[0], pd.SparseDtype) and hasattr(df, "sparse")


def _flags(df: pd.DataFrame) -> NDArray[np.bool_]:
    """The entries of a dense frame as booleans, a row for each column: as pandas mostly holds them."""
    values = df.to_numpy().T
    if values.dtype == np.bool_:
        return values
    missing = df.isna().to_numpy().T
    if missing.any():
        raise BadData(_MISSING)
    return _checked(values, missing)


def _checked(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which entries are 1; BadData unless all are 0 or 1, or missing."""
    ones = values == 1
    if not ((values == 0) | ones | missing).all():
        raise BadData(_ALLOWED.format(", NaN" if missing.any() else ""))
    return np.asarray(ones, np.bool_)


def _sparse(df: Any) -> Any:
    """The entries of a sparse frame in compressed rows without zeros, a row for each column."""
    if any(kind.fill_value != 0 for kind in df.dtypes):
        return _flags(df.sparse.to_dense())
    matrix = df.sparse.to_coo().T.tocsr().astype(np.float64)
    if np.isnan(matrix.data).any():
        raise BadData(_MISSING)
    _checked(matrix.data, np.zeros(len(matrix.data), np.bool_))
    matrix.eliminate_zeros()
    return matrix


def _rows_with_all(packed: NDArray[np.uint8], items: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many rows have all items of each itemset."""
    step = max(1, _AT_ONCE // max(1, packed.shape[1] * items.shape[1]))
    counts = [
        np.bitwise_count(np.bitwise_and.reduce(packed[items[first : first + step]], axis=1)).sum(axis=1, dtype=np.int64)
        for first in range(0, len(items), step)
    ]
    return np.concatenate([np.zeros(0, np.int64), *counts])
