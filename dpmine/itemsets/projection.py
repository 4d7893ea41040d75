"""Baskets with only some of the items, as a smaller catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.itemsets.baskets import Baskets


def projected(baskets: Baskets, codes: Sequence[int]) -> Baskets:
    """The baskets with only these items, `codes` increasing; item number i of the new catalogue is codes[i].

    The support of an itemset of these items stays what it was.
    """
    old = np.array(codes, np.int32)
    new_code = np.full(baskets.catalogue_size, -1, np.int32)
    new_code[old] = np.arange(len(old), dtype=np.int32)
    left = baskets.keeping(new_code[baskets.items] >= 0)
    return replace(left, labels=baskets.labels.take(old.tolist()), items=new_code[left.items])
