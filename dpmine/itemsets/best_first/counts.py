"""Noisy counts of whatever itemsets are asked for, one after the other, and the supports that they estimate.

The empty itemset is held by every unit: its support is the number n of units. It is asked for like any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from dpmine.itemsets.transactions.lists import CodedItemset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpmine.itemsets.best_first.holdings import Holdings

Term: TypeAlias = tuple[CodedItemset, float]
"""An itemset that is counted, and the weight of its count."""

EVERYBODY: CodedItemset = ()


class ExactCounts(NamedTuple):
    """The counts of one kind, without noise. Private.

    Attributes:
        count: of an itemset.
        hidden: how many units a support may have beside those that were counted; None where there are none.
        whole: how many counts, the first ones, leave no unit out, whatever the data.
    """

    count: Callable[[CodedItemset], int]
    hidden: Callable[[], int] | None = None
    whole: int = 0


class CountKind(ABC):
    """What is counted of an itemset: adding a unit, or putting one in another's place, moves it by 1 at most."""

    @abstractmethod
    def exact(self, holdings: Holdings) -> ExactCounts:
        """The counts, without noise."""

    @abstractmethod
    def terms(self, itemset: CodedItemset) -> list[Term]:
        """The support of the itemset as a sum of weighted counts."""

    def reach(self, itemset: CodedItemset, error_of: Callable[[CodedItemset], int]) -> float:
        """How far the estimate is off at most, by the largest errors of the counts that it is made of."""
        return sum(abs(weight) * error_of(part) for part, weight in self.terms(itemset))


class Plain(CountKind):
    """The support itself. Under both relations, for units of any number of baskets."""

    def exact(self, holdings: Holdings) -> ExactCounts:
        """f(s)."""
        return ExactCounts(holdings.support)

    def terms(self, itemset: CodedItemset) -> list[Term]:
        """One."""
        return [(itemset, 1.0)]


@dataclass(frozen=True, slots=True)
class Capped(Plain):
    """The support, to which a unit adds `most` times at most, in the order of the counts.

    Over any number of counts, one unit moves them by `most` in all (add-remove), or by twice as much (replace-one).
    """

    most: int

    def exact(self, holdings: Holdings) -> ExactCounts:
        """Of the units that counted fewer than `most` times before: of all, before that many counts."""
        capped = holdings.capped(self.most)
        return ExactCounts(capped.support, lambda: capped.spent, self.most)


class Centred(CountKind):
    """2 f(s) − n: a unit adds 1 if it holds the itemset, else −1. Under add-remove, for units of several baskets."""

    def exact(self, holdings: Holdings) -> ExactCounts:
        """2 f(s) − n."""
        return ExactCounts(lambda itemset: 2 * holdings.support(itemset) - holdings.units)

    def terms(self, itemset: CodedItemset) -> list[Term]:
        """f(s) = (count + n)/2."""
        return [(itemset, 0.5), (EVERYBODY, 0.5)]


class Signed(CountKind):
    """Σ (−1)^|s ∩ x| over the baskets x: a unit adds 1 or −1. Under add-remove, for units of one basket each."""

    def exact(self, holdings: Holdings) -> ExactCounts:
        """The number of units, less twice that of those with an odd number of the items."""
        return ExactCounts(lambda itemset: holdings.units - 2 * holdings.odd(itemset))

    def terms(self, itemset: CodedItemset) -> list[Term]:
        """2^{−|s|} Σ (−1)^|t| over the parts t of s, the empty one included."""
        weight = 0.5 ** len(itemset)
        return [(part, weight * (-1) ** len(part)) for part in parts_of(itemset)]


class Odd(CountKind):
    """Units with an odd number of the itemset's items. Under replace-one, for units of one basket each."""

    def exact(self, holdings: Holdings) -> ExactCounts:
        """Of the empty itemset, the number of units."""
        return ExactCounts(lambda itemset: holdings.odd(itemset) if itemset else holdings.units)

    def terms(self, itemset: CodedItemset) -> list[Term]:
        """2^{1 − |s|} Σ (−1)^{|t| + 1} over the parts t of s but the empty one."""
        if not itemset:
            return [(EVERYBODY, 1.0)]
        weight = -(2 * 0.5 ** len(itemset))
        return [(part, weight * (-1) ** len(part)) for part in parts_of(itemset) if part]


class Measure(NamedTuple):
    """What else says something of a count.

    Attributes:
        value: the count, by this measure.
        variance: its mean squared error, about.
    """

    value: float
    variance: float


@dataclass(eq=False)
class Answers:
    """The noisy counts of one itemset.

    Attributes:
        total: their sum.
        times: how many there are.
        variance: of the noise of each.
        beside: another measure; None where there is none.
    """

    variance: float
    total: float = 0
    times: int = 0
    beside: Measure | None = None

    @property
    def mean(self) -> float:
        """What they say together, and what the other measure says, by their precision."""
        alone = self.total / self.times
        return alone if self.beside is None else alone + self._share * (self.beside.value - alone)

    @property
    def mean_variance(self) -> float:
        """Of the mean."""
        return self.variance / self.times * (1 - self._share)

    @property
    def _share(self) -> float:
        """Of the other measure, in the mean."""
        own = self.variance / self.times
        return 0.0 if self.beside is None else own / (own + self.beside.variance)


@dataclass(eq=False)
class Counts:
    """Counts that were asked for, each with fresh noise, and what they estimate.

    Attributes:
        kind: what is counted.
        exact: the counts without noise. Private.
        noise: draws that of one count.
        variance: of the noise.
        left: how many more counts the budget allows.
        answers: of each itemset that was counted, and of what is known of the number of units.
    """

    kind: CountKind
    exact: Callable[[CodedItemset], int]
    noise: Callable[[], int]
    variance: float
    left: int
    answers: dict[CodedItemset, Answers] = field(default_factory=dict)

    def ask(self, itemset: CodedItemset) -> None:
        """Count once more. Requires: `left` > 0."""
        self.left -= 1
        answers = self.answers.setdefault(itemset, Answers(self.variance))
        answers.total += self.exact(itemset) + self.noise()
        answers.times += 1

    def support(self, itemset: CodedItemset) -> float:
        """The estimate. Requires: all of `kind.terms` were counted."""
        return sum(weight * self.answers[part].mean for part, weight in self.kind.terms(itemset))

    def counted(self, itemset: CodedItemset) -> float:
        """The estimate by counts alone, whose noise is known."""
        answers = ((self.answers[part], weight) for part, weight in self.kind.terms(itemset))
        return sum(weight * each.total / each.times for each, weight in answers)

    def deviation(self, itemset: CodedItemset) -> float:
        """The standard deviation of the estimate."""
        terms = self.kind.terms(itemset)
        return sqrt(sum(self.answers[part].mean_variance * weight**2 for part, weight in terms))


def parts_of(itemset: CodedItemset) -> Iterator[CodedItemset]:
    """All parts, from the empty one to the itemset itself."""
    return chain.from_iterable(combinations(itemset, size) for size in range(len(itemset) + 1))
