"""Noisy supports of several windows, or of several groups, and how far two of them are apart.

They are released already, so this charges nothing. Proof: docs/proofs/noisy_supports.md, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.itemsets.release.noise import LEVEL, DiscreteGaussian, DiscreteLaplace, level_of_one
from dpmine.itemsets.release.supports import MOST_ITEMS, most_counts
from dpmine.reporting.document import Altered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.release.supports import Interval
    from dpmine.reporting.document import Document, Label


@dataclass(frozen=True, slots=True)
class KnownSupports:
    """The noisy supports of one result.

    Attributes:
        values: by itemset, in units, those of subsets too.
        intervals: hold all true supports together.
        level: the probability of that, at least.
    """

    values: Mapping[tuple[Label, ...], int]
    intervals: Mapping[tuple[Label, ...], Interval]
    level: Fraction

    @classmethod
    def of(cls, document: Document, results: int) -> KnownSupports:
        """Those of one of `results` independent results, whose intervals are wanted together.

        Noise that is the same for all supports gives intervals of any level: then those of all results hold together
        with probability 0.95. Supports that were counted one after the other come with joint intervals of 0.95.
        Raises Altered for a result that was changed by hand.
        """
        rows = document.parts("itemsets") + document.parts("subsets", [])
        released = {row.labels("items"): row for row in rows if row.has("noisy_support")}
        values = {items: row.whole("noisy_support") for items, row in released.items()}
        if not values:
            return cls({}, {}, Fraction(1))
        if (noise := _noise(document)) is not None:
            level = level_of_one(results)
            width = noise.simultaneous_half_width(_most_noises(document, len(values)), level)
            return cls(values, {items: (value - width, value + width) for items, value in values.items()}, level)
        if not (document.has("subsets") or "complete_above" in document.entries):
            raise Altered
        return cls(values, {items: row.pair("interval") for items, row in released.items()}, LEVEL)

    def margin(self, items: tuple[Label, ...]) -> int:
        """How far the true support is from the noisy one, at most."""
        (low, high), value = self.intervals[items], self.values[items]
        return max(value - low, high - value)


@dataclass(frozen=True, slots=True)
class Change:
    """One itemset in two windows, in units.

    Attributes:
        items: the itemset.
        before, now: its noisy supports.
        interval: holds the change of the true support, together with all others wherever all intervals of both hold.
    """

    items: tuple[Label, ...]
    before: int
    now: int
    interval: Interval

    @property
    def verdict(self) -> str:
        """What is certain at that level."""
        low, high = self.interval
        return "more" if low > 0 else "fewer" if high < 0 else "not clear"


def changes(before: KnownSupports, now: KnownSupports) -> tuple[Change, ...]:
    """The itemsets whose supports both results have, in the order of the later one."""
    found = []
    for items, (low, high) in now.intervals.items():
        if items in before.intervals:
            least, largest = before.intervals[items]
            found.append(Change(items, before.values[items], now.values[items], (low - largest, high - least)))
    return tuple(found)


def _most_noises(document: Document, known: int) -> int:
    """How many noises there were, at most.

    Those left out had noise, too. Of subsets these are at least as many as were released: the width only grows.
    """
    left_out, size, subsets = document.whole("left_out", 0), document.pair("sizes")[1], document.has("subsets")
    if left_out < 0 or size < 1 or (subsets and size > MOST_ITEMS):
        raise Altered
    unions = document.parts("unions", [])
    more = most_counts(left_out, size, subsets=subsets, unions=subsets and document.has("unions"))
    return known + len(unions) + more


def _noise(document: Document) -> SupportNoise | None:
    """The noise that all supports have; None where they were counted one after the other, or there are none."""
    if not (document.has("budget") and document.part("budget").has("supports")):
        return None
    noise = document.part("budget").part("supports")
    if noise.text("noise") == "gaussian":
        return DiscreteGaussian(noise.fraction("rho_exact"))
    return DiscreteLaplace(noise.fraction("epsilon_exact"))
