"""Privacy levels to try, as short decimal numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.rounding import decimal_above

if TYPE_CHECKING:
    from collections.abc import Sequence

DIGITS = 6
"""Significant digits of a level: what is charged can be read."""


def geometric_levels(first: Fraction, last: Fraction, steps: int) -> tuple[Fraction, ...]:
    """At most `steps` increasing levels from about `first` to `last`, each a fixed ratio above the one before.

    Requires: 0 < first, 0 < last. With `first` at or above `last` there is one level.
    """
    if steps == 1 or first >= last:
        return (last,)
    powers = np.geomspace(float(first), float(last), steps)[:-1]
    levels = sorted({decimal_above(Fraction(float(power)), DIGITS) for power in powers})
    return (*(level for level in levels if level < last), last)


def require_increasing(epsilons: Sequence[Fraction]) -> None:
    """BadParameter unless 0 < ε_1 < … < ε_T, T ≥ 1."""
    if not epsilons or epsilons[0] <= 0 or any(b <= a for a, b in pairwise(epsilons)):
        raise BadParameter("epsilons must be numbers above 0, each larger than the one before.")
