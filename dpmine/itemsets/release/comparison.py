"""What a comparison of disjoint groups released: noisy supports of the same itemsets in each, and shares made of them.

Proof: docs/proofs/comparison.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import inf, nextafter
from typing import TYPE_CHECKING, NamedTuple

from dpmine.itemsets.release.noise import level_of_one
from dpmine.itemsets.release.supports import LARGEST_SUPPORT, in_order, item_lists, noisy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.release.supports import Itemset
    from dpmine.markup import Document
    from dpmine.privacy import Guarantee


class Estimate(NamedTuple):
    """A number, and what holds the true one: `low` to `high`."""

    value: Fraction
    low: Fraction
    high: Fraction

    def minus(self, other: Estimate) -> Estimate:
        """The difference of two numbers that are both known so."""
        return Estimate(self.value - other.value, self.low - other.high, self.high - other.low)

    def to_dict(self, name: str) -> Document:
        """JSON-ready; the interval is rounded outwards."""
        low, high = nextafter(float(self.low), -inf), nextafter(float(self.high), inf)
        return {name: float(self.value), "interval": [low, high]}


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Noisy counts of one group, 0 where noise made one negative.

    Attributes:
        name: of the group.
        units: the noisy number of its units, or a public one.
        supports: the noisy supports in it, in the order of the itemsets.
        size_is_public: whether the number of units is.
    """

    name: str
    units: int
    supports: tuple[int, ...]
    size_is_public: bool = False

    @classmethod
    def drawn(
        cls, name: str, exact: Sequence[int], noise: SupportNoise, *, size: int | None = None, bits: BitSource
    ) -> GroupCounts:
        """Of the exact number of units, and the exact supports after it; of these alone, if the size is public."""
        known = [] if size is None else [size]
        counts = (min(max(0, each), LARGEST_SUPPORT) for each in noisy(exact[len(known) :], noise, bits=bits))
        units, *supports = [*known, *counts]
        return cls(name, units, tuple(supports), size is not None)

    def interval(self, width: int) -> tuple[int, int]:
        """What holds the number of units, where noisy counts are within `width` of the true ones."""
        off = 0 if self.size_is_public else width
        return max(0, self.units - off), self.units + off

    def share(self, place: int, width: int) -> Estimate:
        """The share of units that have an itemset, where all counts are within `width` of the true ones.

        A group without units has the share 0 of everything.
        """
        support, (least, most) = self.supports[place], self.interval(width)
        high = min(Fraction(1), Fraction(support + width, least)) if least > 0 else Fraction(1)
        low = min(high, Fraction(max(0, support - width), max(1, most)))
        return Estimate(min(max(low, Fraction(support, max(1, self.units))), high), low, high)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same itemsets in disjoint groups.

    Attributes:
        itemsets: those that any group listed, or that were given; items are texts or integers.
        groups: their counts.
        noise: of every count of a group, the number of its units among them if it is not public.
        mechanism: what chose the itemsets; "given" where nothing did.
        guarantee: of everything, as each unit is in one group.
    """

    itemsets: tuple[Itemset, ...]
    groups: tuple[GroupCounts, ...]
    noise: SupportNoise
    mechanism: str
    guarantee: Guarantee

    @property
    def half_width(self) -> int:
        """How far a count is from the true one at most: all of them, of all groups, with probability 0.95."""
        counts = len(self.itemsets) + any(not group.size_is_public for group in self.groups)
        return self.noise.simultaneous_half_width(max(1, counts), level_of_one(len(self.groups)))

    def shares(self, place: int) -> tuple[Estimate, ...]:
        """Those of an itemset in each group. All shares and differences hold together with probability 0.95."""
        return tuple(group.share(place, self.half_width) for group in self.groups)

    def to_dict(self) -> Document:
        """JSON-ready."""
        from dpmine.version import __version__

        width = self.half_width
        return {
            "groups": [
                {"name": group.name, "units": group.units, "interval": list(group.interval(width))}
                for group in self.groups
            ],
            "itemsets": [
                {"items": in_order(itemset), "shares": self._shares(place), "differences": self._differences(place)}
                for place, itemset in enumerate(self.itemsets)
            ],
            "half_width": width,
            "noise": self.noise.to_dict(),
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "dpmine": __version__,
        }

    def to_arrow(self) -> pa.Table:
        """A pyarrow Table: items (list), group, noisy_support, share, low and high; a row for an itemset in a group."""
        import pyarrow as pa

        rows = list(self._rows())
        numbers = {
            name: pa.array([float(getattr(each, name)) for *_, each in rows], pa.float64()) for name in Estimate._fields
        }
        return pa.table(
            {
                "items": item_lists([itemset for itemset, *_ in rows], ""),
                "group": pa.array([group.name for _, group, *_ in rows], pa.string()),
                "noisy_support": pa.array([support for *_, support, _ in rows], pa.int64()),
                "share": numbers["value"],
                "low": numbers["low"],
                "high": numbers["high"],
            }
        )

    def _rows(self) -> Iterator[tuple[Itemset, GroupCounts, int, Estimate]]:
        for place, itemset in enumerate(self.itemsets):
            for group, share in zip(self.groups, self.shares(place), strict=True):
                yield itemset, group, group.supports[place], share

    def _shares(self, place: int) -> list[Document]:
        return [
            {"group": group.name, "noisy_support": group.supports[place], **share.to_dict("share")}
            for group, share in zip(self.groups, self.shares(place), strict=True)
        ]

    def _differences(self, place: int) -> list[Document]:
        """Of every two groups: the share in the first one minus that in the second one."""
        shares: Sequence[tuple[GroupCounts, Estimate]] = list(zip(self.groups, self.shares(place), strict=True))
        return [
            {"groups": [first.name, second.name], **one.minus(other).to_dict("difference")}
            for (first, one), (second, other) in combinations(shares, 2)
        ]
