"""Disjoint groups of units compared: which itemsets stand out in each, and what share of every group has them.

`dpmine report` runs it for jobs of the kind "compare". Proof: docs/proofs/comparison.md.
"""

from __future__ import annotations

from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.io.arrow import is_text
from dpmine.io.python_values import items_at
from dpmine.itemsets.ingest.layouts import item_type, plan_layout
from dpmine.itemsets.read import open_transactions, read_transactions
from dpmine.itemsets.release.comparison import Comparison, GroupCounts
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace, narrower
from dpmine.itemsets.release.supports import LARGEST_SUPPORT, BudgetSplit
from dpmine.itemsets.request.query import Request, delta_of
from dpmine.itemsets.top import answer
from dpmine.itemsets.transactions.memory import parse_memory
from dpmine.parameters import positive
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from dpmine.io.source import Columns
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.release.supports import Itemset
    from dpmine.itemsets.request.query import Query
    from dpmine.itemsets.transactions.interface import LoadedTransactions, Transactions

_COUNTS = Fraction(1, 2)
"""Of ε, for the counts, where itemsets are chosen first."""
_MOST_GIVEN = 1000


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What is asked of each group, checked before any data are read.

    Attributes:
        listing: what chooses the itemsets of a group; None where they are given.
        given: the itemsets that are given; none where they are chosen.
        noise: of the counts of a group.
        guarantee: of what is released of one group, before the unit is known.
        sizes: of the groups, by name, where they are public; else they are counted, too.
    """

    listing: Request | None
    given: tuple[Itemset, ...]
    noise: SupportNoise
    guarantee: Guarantee
    sizes: Mapping[str, int]

    @classmethod
    def of(
        cls,
        query: Query,
        groups: Collection[str],
        itemsets: Sequence[Sequence[str | int]] = (),
        sizes: Mapping[str, int] | None = None,
    ) -> ComparisonRequest:
        """Of disjoint groups, by their names; `itemsets` are public, none where each group is to choose its own.

        `sizes` are public numbers of units, of every group; None where they are to be counted. Raises BadParameter,
        also for the relation replace_one: a replaced unit may leave its group for another one.
        """
        if Neighbors.parse(query.neighbors) is not Neighbors.ADD_REMOVE:
            raise BadParameter(
                'A comparison needs neighbors = "add-remove" (in [budget]): a replaced unit may leave its part '
                "and enter another, and the budgets of both would have to add up."
            )
        epsilon, delta = positive("epsilon", query.epsilon), delta_of(query.delta)
        known = _sizes(sizes, groups)
        counted = 0 if known else 1
        if given := _distinct(itemsets):
            gaussian = DiscreteGaussian.within(epsilon, delta)
            noise = narrower(DiscreteLaplace(epsilon), gaussian, len(given) + counted)
            spent = Fraction(0) if isinstance(noise, DiscreteLaplace) else delta
            alone = Guarantee(epsilon, spent, Neighbors.ADD_REMOVE, concentrated=noise.zcdp)
            return cls(None, given, noise, alone, known)
        listing = Request.of(replace(query, epsilon=epsilon * (1 - _COUNTS)))
        choice, most = listing.guarantee, len(groups) * listing.terms.count + counted
        split = BudgetSplit.of(choice, listing.way.rounds(), epsilon=epsilon * _COUNTS, delta=delta, most=most)
        if split.supports is None:
            raise BadParameter("A comparison counts with a part of epsilon: give one above 0.")
        return cls(listing, (), split.supports, split.guarantee(choice), known)

    @property
    def mechanism(self) -> str:
        """What chooses the itemsets."""
        return "given" if self.listing is None else self.listing.way.name

    def require_readable(self, groups: Mapping[str, object], columns: Columns, *, memory: int | str | None) -> None:
        """What can be known before any data are read, and so before a charge.

        Raises as `read_transactions`, and BadParameter for given itemsets with items of another type than the data's.
        """
        limit = memory_of_each(memory, len(groups))
        for data in groups.values():
            source = open_transactions(data, columns)
            self._require_type(item_type(source, plan_layout(source, columns)))
            with suppress(_NotRead):
                read_transactions(data, columns, catalogue=self._catalogue, memory=limit, before_rows=_not_read)

    def compare(
        self,
        groups: Mapping[str, object],
        columns: Columns,
        *,
        memory: int | str | None,
        progress: Callable[[float], None],
        guarantee: Guarantee,
    ) -> Comparison:
        """Read the groups, each by its name, choose the itemsets of each, and count all of them in every group.

        Requires: `require_readable` found nothing, and every group was charged. `guarantee` is that of the unit. Raises
        as `read_transactions`.
        """
        limit = memory_of_each(memory, len(groups))
        done = 0

        def shown(share: float) -> None:
            progress((done + share) / len(groups))

        with ExitStack() as kept:
            loaded: dict[str, LoadedTransactions] = {}
            for name, data in groups.items():
                read = read_transactions(data, columns, catalogue=self._catalogue, progress=shown, memory=limit)
                loaded[name] = kept.enter_context(closing(read))
                done += 1
            itemsets = self.given or self._chosen(loaded.values())
            counts = (self._counts(name, each.transactions, itemsets) for name, each in loaded.items())
            return Comparison(itemsets, tuple(counts), self.noise, self.mechanism, guarantee)

    @property
    def _catalogue(self) -> pa.Array | None:
        return None if self.listing is None else self.listing.catalogue

    def _require_type(self, kind: pa.DataType) -> None:
        """BadParameter where integers meet texts: such an itemset would have the support 0."""
        named = (
            (int, pa.types.is_integer(kind), "integers", "without quotes"),
            (str, is_text(kind), "texts", "in quotes"),
        )
        for wanted, is_kind, what, how in named:
            if is_kind and any(type(item) is not wanted for itemset in self.given for item in itemset):
                raise BadParameter(f"The data's items are {what}: write those of itemsets as {what}, {how}.")

    def _chosen(self, groups: Iterable[LoadedTransactions]) -> tuple[Itemset, ...]:
        """What any group chooses, in the order of the groups."""
        if self.listing is None:
            return ()
        listed = (answer(self.listing, each, charged=True).itemsets for each in groups)
        return tuple(dict.fromkeys(itemset for itemsets in listed for itemset in itemsets))

    def _counts(self, name: str, transactions: Transactions, itemsets: Sequence[Itemset]) -> GroupCounts:
        exact = [transactions.total_units, *exact_supports(transactions, itemsets)]
        return GroupCounts.drawn(name, exact, self.noise, size=self.sizes.get(name), bits=SystemBits())


class _NotRead(Exception):
    """Ends a call that was to check what it would read."""


def _not_read(_plan: LayoutPlan) -> NoReturn:
    raise _NotRead


def memory_of_each(memory: int | str | None, groups: int) -> int:
    """Bytes for each of the groups, which are all held at once. Raises BadParameter where that is too little."""
    return parse_memory(parse_memory(memory) // groups)


def exact_supports(transactions: Transactions, itemsets: Sequence[Itemset]) -> list[int]:
    """The supports of itemsets; 0 for one with an item that is not there. Private."""
    size = transactions.catalogue_size
    codes = dict(zip(items_at(transactions.labels, range(size)), range(size), strict=True))
    present = {each: [codes[item] for item in each] for each in itemsets if codes.keys() >= each}
    if not present:
        return [0] * len(itemsets)
    found = dict(zip(present, transactions.miner().supports(list(present.values())), strict=True))
    return [found.get(each, 0) for each in itemsets]


def _distinct(itemsets: Sequence[Sequence[str | int]]) -> tuple[Itemset, ...]:
    """The itemsets as sets; BadParameter where one is none, or is there twice."""
    hint = 'itemsets must be a list of different lists of items, such as [["bread", "milk"], ["tea"]]'
    if not isinstance(itemsets, list | tuple) or len(itemsets) > _MOST_GIVEN:
        raise BadParameter(f"{hint}; {_MOST_GIVEN:,} at most.")
    for itemset in itemsets:
        is_list = isinstance(itemset, list | tuple) and itemset
        if not is_list or not all(type(item) in {str, int} for item in itemset) or len(set(itemset)) < len(itemset):
            raise BadParameter(f"{hint}.")
    distinct = tuple(dict.fromkeys(map(frozenset, itemsets)))
    if len(distinct) < len(itemsets):
        raise BadParameter(f"{hint}.")
    return distinct


def _sizes(sizes: Mapping[str, int] | None, groups: Collection[str]) -> Mapping[str, int]:
    """Those of all groups, or none; BadParameter for anything else."""
    if sizes is None:
        return {}
    is_table = isinstance(sizes, dict) and sizes.keys() == {*groups}
    if not is_table or not all(type(size) is int and 0 < size <= LARGEST_SUPPORT for size in sizes.values()):
        raise BadParameter("sizes must give the number of units of each of the parts, such as {north = 5000, …}.")
    return sizes
