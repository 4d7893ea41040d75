"""How much of the sampling a test run does."""

from __future__ import annotations

import os
from enum import Enum
from fractions import Fraction

SEED = os.environ.get("DPMINE_TEST_SEED", "0")
"""Another seed is another run: many of them show which tests rely on luck."""
SHARE = Fraction(os.environ.get("DPMINE_TEST_DRAWS", "1"))
"""Of the draws that the longest statistical tests take: `DPMINE_TEST_DRAWS=1/4` for a shorter run."""
_LEAST = 1000


class Profile(Enum):
    """How many cases and examples are tried: `DPMINE_TEST_PROFILE`, by default quick, and full where `CI=true`."""

    QUICK = "quick"
    FULL = "full"


PROFILE = Profile(os.environ.get("DPMINE_TEST_PROFILE") or ("full" if os.environ.get("CI") == "true" else "quick"))


def draws(full: int) -> int:
    """The number of draws where `full` is that of a whole run."""
    return max(_LEAST, int(full * SHARE))


def examples(full: int, profile: Profile = PROFILE) -> int:
    """The number of examples where `full` is that of a full run: a quarter in a quick one, but five at least."""
    return full if profile is Profile.FULL else min(full, max(5, full // 4))
