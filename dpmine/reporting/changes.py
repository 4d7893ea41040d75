"""How noisy supports changed from one window to another: made of what was released, so it charges nothing.

Both windows have noise, so a change is known within the noise of both. Proof: docs/proofs/noisy_supports.md, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.itemsets.release.supports import most_counts

if TYPE_CHECKING:
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.reporting.document import Document, Label

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

    items: tuple[Label, ...]
    before: int
    now: int
    interval: tuple[int, int]

    @property
    def verdict(self) -> str:
        """What is certain at that level."""
        low, high = self.interval
        return "more" if low > 0 else "fewer" if high < 0 else "not clear"


def changes(before: Document, now: Document) -> tuple[Change, ...]:
    """The itemsets listed in the later of two results whose supports both released, in its order.

    Raises Altered for a result that was changed by hand.
    """
    widths = _width(before), _width(now)
    if None in widths:
        return ()
    width = sum(each for each in widths if each is not None)
    earlier = supports(before)
    compared = []
    for row in now.parts("itemsets"):
        items = row.labels("items")
        if items in earlier:
            support = row.whole("noisy_support")
            difference = support - earlier[items]
            compared.append(Change(items, earlier[items], support, (difference - width, difference + width)))
    return tuple(compared)


def supports(document: Document) -> dict[tuple[Label, ...], int]:
    """The noisy supports of a result by itemset, those of subsets too."""
    rows = document.parts("itemsets") + document.parts("subsets", [])
    return {row.labels("items"): row.whole("noisy_support") for row in rows if row.has("noisy_support")}


def _width(document: Document) -> int | None:
    """How far all noises of a result go at most, with probability 39/40; None for a result without supports."""
    noise = _noise(document)
    count = len(supports(document)) + len(document.parts("unions", []))
    if noise is None or not count:
        return None
    # Those left out had noise, too. Of subsets these are at least as many as were released: the width only grows.
    left_out, size = document.whole("left_out", 0), document.pair("sizes")[1]
    more = most_counts(left_out, size, subsets=document.has("subsets"), unions=document.has("unions"))
    return noise.simultaneous_half_width(count + more, EACH)


def _noise(document: Document) -> SupportNoise | None:
    if not (document.has("budget") and document.part("budget").has("supports")):
        return None
    noise = document.part("budget").part("supports")
    if noise.text("noise") == "gaussian":
        return DiscreteGaussian(noise.fraction("rho_exact"))
    return DiscreteLaplace(noise.fraction("epsilon_exact"))
