"""Supports of itemsets that are released with noise: their share of the budget, whole numbers, intervals.

Every support gets independent noise, as `dpmine.itemsets.release.noise` says. After that nothing looks at data.
Proof: docs/proofs/noisy_supports.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, TypeAlias

from dpmine.errors import BadParameter
from dpmine.itemsets.release.noise import LEVEL, DiscreteGaussian, DiscreteLaplace, narrower
from dpmine.ledger.budget import Accounting, Amount
from dpmine.parameters import named
from dpmine.privacy import Zcdp, decimal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    import pyarrow as pa

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.transactions.interface import SupportSource, Transactions
    from dpmine.markup import Document
    from dpmine.privacy import Guarantee

Item: TypeAlias = Any
"""As it is released: integers or texts. Those of one result are mostly of one type, which only the data say."""
Itemset: TypeAlias = frozenset[Item]
Interval: TypeAlias = tuple[int, int]

LARGEST_SUPPORT = 2**63 - 1
"""Units are counted in 64 bits: no support is larger."""
MOST_ITEMS = 12
"""Of an itemset whose subsets are all listed: it has 4095 of them and 523,250 rules."""
_IN_ONE_BASKET = object()
"""Beside an itemset: its support in one basket falls along inclusion below those of the unions."""


class Consistency(StrEnum):
    """What is done to noisy supports before they are released; it uses no privacy budget."""

    AS_DRAWN = "as_drawn"
    """Negative values are raised to 0; a superset's value may exceed that of its subset."""
    MONOTONE = "monotone"
    """Never negative, and never above that of a subset: what association rules need."""


@dataclass(frozen=True, slots=True)
class SupportRelease:
    """Noisy supports of itemsets.

    Attributes:
        itemsets: as they were given.
        values: their noisy supports, in units, 0 where noise made one negative: no true support is below.
        intervals: for each the least and the largest true support that is plausible, both included; holds the value.
        noise: the noise of the values, which says what they use of the budget together.
        consistency: whether the values were made to agree with each other.
        level: a probability. As drawn, each interval holds its true support with at least this probability; monotone,
            all of them together do, those of `unions` included. It is about all values, before any are left out for
            being small.
        unions: where asked for, the same of the units' unions: how many units have all items of an itemset in whatever
            baskets. Those of single items are the values here.
    """

    itemsets: tuple[Itemset, ...]
    values: tuple[int, ...]
    intervals: tuple[Interval, ...]
    noise: SupportNoise
    consistency: Consistency
    level: Fraction = LEVEL
    unions: SupportRelease | None = None

    @property
    def by_itemset(self) -> dict[Itemset, tuple[int, Interval]]:
        """The value and the interval of each."""
        return dict(zip(self.itemsets, zip(self.values, self.intervals, strict=True), strict=True))

    def reaching(self, itemsets: Sequence[Itemset], least: int | None) -> tuple[Itemset, ...]:
        """Those of `itemsets` whose value is at least `least`; for None, those whose interval does not reach 0."""
        known = self.by_itemset
        return tuple(each for each in itemsets if _reaches(*known[each], least))

    def of_parts(self, itemsets: Sequence[Itemset]) -> SupportRelease:
        """What was released of `itemsets`, some of these, and of their subsets."""
        wanted = set(with_subsets(itemsets) if self.consistency is Consistency.MONOTONE else itemsets)
        kept = self.only([itemset for itemset in self.itemsets if itemset in wanted])
        return replace(kept, unions=self.unions and self.unions.of_parts(itemsets))

    def only(self, itemsets: Sequence[Itemset]) -> SupportRelease:
        """What was released of `itemsets`, some of these, in their order; without unions."""
        known = self.by_itemset
        values, intervals = tuple(known[each][0] for each in itemsets), tuple(known[each][1] for each in itemsets)
        return replace(self, itemsets=tuple(itemsets), values=values, intervals=intervals, unions=None)


@dataclass(frozen=True, slots=True)
class BudgetSplit:
    """How a run's budget is split.

    Attributes:
        selection: the share of choosing the itemsets.
        supports: the noise of their supports, which gives the share of these; None where none are released.
        total: both together: a sum of ε and δ for Laplace noise, of ρ for Gaussian noise.
        rounds: how the selection's part is divided, in words.
    """

    selection: Amount
    supports: SupportNoise | None
    total: Amount
    rounds: str

    @classmethod
    def of(cls, choice: Guarantee, rounds: str, *, epsilon: Fraction, delta: Fraction, most: int) -> BudgetSplit:
        """Supports at `epsilon` beside the choice (0 for none), `most` counts at most; δ is that of the whole run.

        Which noise they get is decided here, before any data are read: by what is narrower for the most counts.
        Gaussian noise gets the ρ that the selection leaves of the whole run's (ε, δ).
        """
        cost = choice.zcdp
        selection = Amount(choice.epsilon, choice.delta, cost.rho, cost.delta)
        if not epsilon:
            return cls(selection, None, selection, rounds)
        laplace = DiscreteLaplace(epsilon)
        gaussian = DiscreteGaussian.within(choice.epsilon + epsilon, delta, cost) if choice.private else None
        noise = narrower(laplace, gaussian, most)
        both = cost + noise.zcdp
        basic = (selection.epsilon + epsilon, selection.delta if noise is laplace else delta)
        return cls(selection, noise, Amount(*basic, both.rho, both.delta), rounds)

    def guarantee(self, choice: Guarantee) -> Guarantee:
        """That of the whole run, of which `choice` is the first part."""
        total = self.total
        spent = Zcdp(total.rho, total.approximate_delta)
        return replace(choice, epsilon=total.epsilon, delta=total.delta, concentrated=spent)

    def to_dict(self) -> Document:
        """JSON-ready."""
        selection = self.selection.to_dict()
        return {"selection": selection, "supports": self.supports and self.supports.to_dict(), "rounds": self.rounds}

    def __str__(self) -> str:
        if self.supports is None:
            return f"selection: {self.rounds}"
        return f"selection {self.selection.shown(Accounting.BASIC, decimal)} ({self.rounds}); supports {self.supports}"


def released_counts(
    chosen: Sequence[Itemset],
    codes: Mapping[Item, int],
    baskets: Transactions,
    miner: SupportSource,
    *,
    noise: SupportNoise,
    subsets: bool,
    unions: bool,
    bits: BitSource,
) -> SupportRelease:
    """Noisy supports of the chosen itemsets.

    Args:
        chosen: public by now; each occurs once.
        codes: of all their items.
        baskets: what is counted.
        miner: of the baskets.
        noise: of every count.
        subsets: whether all subsets are counted, too, and made to agree.
        unions: whether units are counted, too, that have the items in whatever baskets.
        bits: where the noise comes from.
    """
    itemsets = with_subsets(chosen) if subsets else tuple(chosen)
    coded = [sorted(codes[item] for item in itemset) for itemset in itemsets]
    return release(
        itemsets,
        miner.supports(coded),
        unions=_union_supports(baskets, coded, sorted(codes.values())) if unions else None,
        noise=noise,
        consistency=Consistency.MONOTONE if subsets else Consistency.AS_DRAWN,
        bits=bits,
    )


def _union_supports(baskets: Transactions, itemsets: Sequence[Sequence[int]], items: Sequence[int]) -> list[int]:
    """How many units have all items of each itemset of two and more, in whatever baskets; of no others than `items`."""
    if not items:
        return []
    miner = baskets.projected(items).unions().miner()
    place = {code: number for number, code in enumerate(items)}
    return miner.supports([[place[code] for code in itemset] for itemset in itemsets if len(itemset) > 1])


def release(
    itemsets: Sequence[Itemset],
    supports: Sequence[int],
    *,
    unions: Sequence[int] | None = None,
    noise: SupportNoise,
    consistency: Consistency = Consistency.AS_DRAWN,
    bits: BitSource,
) -> SupportRelease:
    """Noisy supports with their intervals, as private as the noise says, under replace_one and add_remove.

    Requires: the itemsets are public by now, each occurs once, and `supports` are their true supports, in units and in
    the same order. `unions` are those of the units' unions, of the itemsets of two items and more. They are further
    counts: all get noise for as many as there are together. Values and ends of intervals fit into 64 bits.
    Raises BadParameter where there are not as many supports as itemsets, or an itemset occurs twice.
    """
    kind = named(Consistency, "consistency", consistency)
    given = tuple(itemsets)
    larger = [] if unions is None else [itemset for itemset in given if len(itemset) > 1]
    counts = [*supports, *(unions or ())]
    if len(given) != len(supports) or len(set(given)) != len(given) or len(counts) != len(given) + len(larger):
        raise BadParameter("supports must be one for each itemset, and every itemset must be given once.")
    values = tuple(map(_cut, noisy(counts, noise, bits=bits)))
    if not given:
        nothing = SupportRelease((), (), (), noise, kind)
        return nothing if unions is None else replace(nothing, unions=nothing)
    if kind is Consistency.MONOTONE:
        ordered = given if unions is None else (*map(_below_unions, given), *larger)
        values, width = consistent(ordered, values), noise.simultaneous_half_width(len(counts))
    else:
        width = noise.half_width(len(counts))
    rows = [(max(0, value), _interval(value, width)) for value in values]

    def released(rows: Iterable[tuple[int, Interval]]) -> SupportRelease:
        kept, intervals = zip(*rows, strict=True)
        return SupportRelease(given, kept, intervals, noise, kind)

    alone = released(rows[: len(given)])
    if unions is None:
        return alone
    of_unions = dict(zip(given, rows, strict=False)) | dict(zip(larger, rows[len(given) :], strict=True))
    return replace(alone, unions=released(of_unions.values()))


def _below_unions(itemset: Itemset) -> Itemset:
    """What stands for an itemset in one basket where the itemset itself stands for a union; of one item both are."""
    return itemset if len(itemset) == 1 else itemset | {_IN_ONE_BASKET}


def noisy(supports: Sequence[int], noise: SupportNoise, *, bits: BitSource) -> tuple[int, ...]:
    """Every support plus independent noise. Requires: one unit changes every support by at most 1."""
    return tuple(int(support) + noise.draw(len(supports), bits=bits) for support in supports)


def consistent(itemsets: Sequence[Itemset], values: Sequence[int]) -> tuple[int, ...]:
    """The values, moved so that none is negative and none is above that of a subset among `itemsets`.

    Midway, rounded down, between the least value of the given subsets and the largest of the given supersets, negative
    values counted as 0. The largest error does not grow, and what agrees already is not moved.
    Requires: distinct itemsets, in the order of the values.
    """
    lifted = [max(0, value) for value in values]
    least, largest = lifted.copy(), lifted.copy()
    for subset, superset in _inclusions(itemsets):
        least[superset] = min(least[superset], lifted[subset])
        largest[subset] = max(largest[subset], lifted[superset])
    return tuple((low + high) // 2 for low, high in zip(least, largest, strict=True))


def with_subsets(itemsets: Sequence[Itemset]) -> tuple[Itemset, ...]:
    """All non-empty subsets of the itemsets, themselves included, each once: by size, then by their sorted items.

    Requires: items that are integers or texts. Raises BadParameter for an itemset of more than `MOST_ITEMS` items.
    """
    if any(len(itemset) > MOST_ITEMS for itemset in itemsets):
        raise BadParameter(f"size must be at most {MOST_ITEMS} where the supports of all subsets are released.")
    found = {frozenset(part) for itemset in itemsets for part in _parts(itemset, len(itemset))}
    return tuple(sorted(found, key=lambda subset: (len(subset), sort_key(subset))))


def most_counts(itemsets: int, size: int, *, subsets: bool, unions: bool = False) -> int:
    """How many counts `itemsets` of at most `size` items have noise for, at most.

    With all their subsets where these are wanted; `unions` adds those of the units' unions, but for single items.
    """
    each = 2**size - 1 if subsets else 1
    return itemsets * (each + (each - size if unions else 0))


def _reaches(value: int, interval: Interval, least: int | None) -> bool:
    return interval[0] > 0 if least is None else value >= least


def _cut(value: int) -> int:
    """To 64 bits: that brings no value farther from a support."""
    return max(-LARGEST_SUPPORT, min(value, LARGEST_SUPPORT))


def _interval(value: int, width: int) -> Interval:
    return max(0, value - width), max(0, _cut(value + width))


def _inclusions(itemsets: Sequence[Itemset]) -> Iterator[tuple[int, int]]:
    """The places of all pairs of given itemsets, the first one a proper subset of the second."""
    places = {itemset: place for place, itemset in enumerate(itemsets)}
    for superset, place in places.items():
        candidates = _parts(superset, len(superset) - 1) if 2 ** len(superset) <= len(places) else iter(places)
        for candidate in candidates:
            subset = frozenset(candidate)
            if subset in places and subset < superset:
                yield places[subset], place


def _parts(itemset: Itemset, largest: int) -> Iterator[tuple[Item, ...]]:
    """The non-empty parts of an itemset, of up to `largest` items."""
    return chain.from_iterable(combinations(itemset, size) for size in range(1, largest + 1))


def in_order(items: Iterable[Item]) -> list[Item]:
    """Items sorted, integers before texts."""
    return sorted(items, key=_place)


def sort_key(itemset: Itemset) -> list[tuple[bool, Item]]:
    """What itemsets are sorted by: their items in order."""
    return sorted(map(_place, itemset))


def _place(item: Item) -> tuple[bool, Item]:
    return isinstance(item, str), item


def item_lists(itemsets: Sequence[Itemset], item_type: str) -> pa.Array:
    """The itemsets as lists of items of one type: as declared; else texts, unless all items are integers."""
    import pyarrow as pa

    integers = all(isinstance(item, int) for itemset in itemsets for item in itemset) and any(itemsets)
    kind = pa.type_for_alias(item_type or ("int64" if integers else "string"))
    lists = map(in_order, itemsets)
    return pa.array([each if pa.types.is_integer(kind) else list(map(str, each)) for each in lists], pa.list_(kind))
