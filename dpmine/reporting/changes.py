"""How noisy supports changed from one window to another: made of what was released, so it charges nothing.

Both windows have noise, so a change is known within the noise of both. Proof: docs/proofs/noisy_supports.md, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.itemsets.release.supports import most_counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpmine.itemsets.release.noise import SupportNoise

EACH = Fraction(39, 40)
"""How probable it is, at least, that all noises of one window are within its width: of both, (39/40)² > 0.95."""


@dataclass(frozen=True, slots=True)
class Change:
    """One itemset in two windows, in units.

    Attributes:
        items: the itemset.
        before, now: its noisy supports.
        interval: holds the change of the true support, for all itemsets together with probability 0.95 at least.
    """

    items: tuple[Any, ...]
    before: int
    now: int
    interval: tuple[int, int]

    @property
    def verdict(self) -> str:
        """What is certain at that level."""
        low, high = self.interval
        return "more" if low > 0 else "fewer" if high < 0 else "not clear"


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[Change, ...]:
    """The itemsets listed in the later of two results whose supports both released, in its order.

    The results are documents as stored. Raises LookupError, TypeError or ValueError for one that was changed by hand.
    """
    widths = _width(before), _width(now)
    if None in widths:
        return ()
    width = sum(each for each in widths if each is not None)
    earlier = supports(before)
    found = []
    for row in now["itemsets"]:
        items = tuple(row["items"])
        if items in earlier:
            difference = int(row["noisy_support"]) - earlier[items]
            interval = difference - width, difference + width
            found.append(Change(items, earlier[items], int(row["noisy_support"]), interval))
    return tuple(found)


def supports(document: Mapping[str, Any]) -> dict[tuple[Any, ...], int]:
    """The noisy supports of a result by itemset, those of subsets too."""
    rows = [*document["itemsets"], *document.get("subsets", [])]
    return {tuple(row["items"]): int(row["noisy_support"]) for row in rows if row["noisy_support"] is not None}


def _width(document: Mapping[str, Any]) -> int | None:
    """How far all noises of a result go at most, with probability 39/40; None for a result without supports."""
    noise = _noise((document.get("budget") or {}).get("supports"))
    count = len(supports(document)) + len(document.get("unions", []))
    if noise is None or not count:
        return None
    # Those left out had noise, too. Of subsets these are at least as many as were released: the width only grows.
    left_out, size = int(document.get("left_out", 0)), int(document["sizes"][1])
    more = most_counts(left_out, size, subsets="subsets" in document, unions="unions" in document)
    return noise.simultaneous_half_width(count + more, EACH)


def _noise(written: Mapping[str, Any] | None) -> SupportNoise | None:
    if written is None:
        return None
    if written["noise"] == "gaussian":
        return DiscreteGaussian(Fraction(written["rho_exact"]))
    return DiscreteLaplace(Fraction(written["epsilon_exact"]))
