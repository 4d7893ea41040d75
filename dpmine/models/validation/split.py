"""A public random split of records into a training and a validation part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.validation.words import random_order
from dpmine.parameters import Number, exact_share, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource


def train_size_of(records: int, train_share: Number) -> int:
    """How many of the records train: the share, rounded down, and at least one record on each side.

    Raises BadParameter unless 0 < share < 1 and there are at least 2 records (the number of records is public).
    """
    share = exact_share("train_share", train_share)
    if whole("records", records, least=0) < 2:
        raise BadParameter("Validation needs at least 2 records: one to train, one to validate.")
    return min(max(1, int(records * share)), records - 1)


def random_split(records: int, train_size: int, *, bits: BitSource) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the training and of the validation records: disjoint, together all, each in increasing order.

    Requires: 0 ≤ train_size ≤ records; each record belongs to a unit of its own.
    Law: a uniform subset of that size, whatever the records contain: a neighbour has the same record replaced on the
    same side, so the parts may lose their budgets side by side.
    """
    order = random_order(records, bits=bits)
    return np.sort(order[:train_size]), np.sort(order[train_size:])


def rows_of_units(units: NDArray[np.int64], each: int) -> NDArray[np.int64]:
    """Positions of the records of these units, where each unit has `each` consecutive ones."""
    return np.asarray((units[:, np.newaxis] * each + np.arange(each)).ravel())


def random_parts(records: int, parts: int, *, bits: BitSource) -> list[NDArray[np.int64]]:
    """The records in a uniform order, cut into `parts` ≥ 1 disjoint parts whose sizes differ by at most one."""
    order = random_order(records, bits=bits)
    return [np.sort(part) for part in np.array_split(order, whole("parts", parts))]
