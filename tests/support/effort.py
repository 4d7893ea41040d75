"""How much of the sampling a test run does."""

from __future__ import annotations

import os
from fractions import Fraction

SHARE = Fraction(os.environ.get("DPMINE_TEST_DRAWS", "1"))
"""Of the draws that the longest statistical tests take; continuous integration, whose time is short, takes a part."""
_LEAST = 1000


def draws(full: int) -> int:
    """The number of draws where `full` is that of a whole run."""
    return max(_LEAST, int(full * SHARE))
