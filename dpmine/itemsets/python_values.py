"""Python's own items and baskets as Arrow arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData
from dpmine.itemsets.arrow_arrays import integer_array, text_array


def item_array(items: Sequence[Any], owner: str) -> pa.Array:
    """Items as int64 or large_string; null type where there is no item.

    Raises BadData, speaking of `owner` (plural), where items are not all integers of 64 bits or all texts.
    """
    kinds = set(map(type, items))
    integers = {kind for kind in kinds if issubclass(kind, Integral)} - {bool}
    texts = {kind for kind in kinds if issubclass(kind, str)}
    if kinds - integers - texts:
        wrong = min(kind.__name__ for kind in kinds - integers - texts)
        raise BadData(f"{owner} hold items of the type {wrong}: items must be integers or texts.")
    if integers and texts:
        raise BadData(f"{owner} mix integers and texts: make all items one or the other.")
    if integers:
        return _integers(items, owner)
    return _texts(items, owner) if texts else pa.nulls(0)


def basket_lists(baskets: Sequence[Any], owner: str) -> pa.Array:
    """Python baskets as an Arrow list array; None among the items is left out, and for a basket an empty one.

    Raises BadData where a basket is no collection, or for its items as `item_array` does.
    """
    lists = [_basket(basket) for basket in baskets]
    starts = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(entries) for entries in lists], out=starts[1:])
    return pa.LargeListArray.from_arrays(integer_array(starts), item_array(list(chain.from_iterable(lists)), owner))


def _integers(items: Sequence[Any], owner: str) -> pa.Array:
    try:
        return integer_array(np.array([int(item) for item in items], np.int64))
    except OverflowError:
        raise BadData(f"{owner} hold integers beyond int64: recode them, or give them as texts.") from None


def _texts(items: Sequence[Any], owner: str) -> pa.Array:
    try:
        return text_array(items)
    except UnicodeError:
        raise BadData(f"{owner} hold texts that are not valid Unicode: clean them first.") from None


def _basket(basket: Any) -> list[Any]:
    if basket is None:
        return []
    if isinstance(basket, str | bytes | Mapping) or not isinstance(basket, Iterable):
        raise BadData(f"Each basket must be a list, tuple or set of items, not a {type(basket).__name__}.")
    return [item for item in basket if item is not None]
