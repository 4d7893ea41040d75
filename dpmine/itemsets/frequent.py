"""Frequent itemsets: all of some support, or the best k of any size, with supports and intervals, privately."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.io.source import ColumnNames, Columns
from dpmine.itemsets.release.frequent import FrequentItemsets
from dpmine.itemsets.release.results import type_name
from dpmine.itemsets.release.rules import number_of_units
from dpmine.itemsets.release.supports import LARGEST_SUPPORT
from dpmine.itemsets.request.query import delta_of, is_from_data, public_items
from dpmine.itemsets.transactions.memory import parse_memory
from dpmine.itemsets.ways.best_first import LARGEST_SIZE, MOST_PLACES, AdaptiveCounts, released
from dpmine.itemsets.ways.way import ListTerms
from dpmine.ledger.charging import Account
from dpmine.options.names import LOCAL
from dpmine.parameters import count_or_share, least_count, positive, whole
from dpmine.privacy import Guarantee, Neighbors
from dpmine.selection.advice import with_charge

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.release.supports import SupportRelease
    from dpmine.itemsets.transactions.interface import LoadedTransactions
    from dpmine.itemsets.ways.best_first import CountedItemsets
    from dpmine.ledger.ledger import Ledger
    from dpmine.parameters import Number


def frequent_itemsets(
    data: object,
    min_support: Number | None = None,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    *,
    k: int | None = None,
    max_size: int | None = None,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
    unit: ColumnNames = None,
    basket: ColumnNames = None,
    item: str | None = None,
    items: str | None = None,
    one_hot: bool = False,
    catalogue: object = None,
    units: int | None = None,
    max_items_per_unit: int | None = None,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    memory: int | str | None = None,
    engine: str = LOCAL,
    progress: Callable[[float], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> FrequentItemsets:
    """The itemsets of any size that enough privacy units have in one basket, with supports, within (ε, δ).

    What is raised is that of `top_itemset`, which says more of the arguments that both have.

    Args:
        data: a path or several, a table, frame or stream, or a sequence of baskets.
        min_support: the least noisy support that is listed: a count of units (600), or a share of them (0.02, "2%").
        epsilon: ε > 0 of the whole run, supports included.
        delta: δ in [0, 1) of the whole run. Half of it is for items that are not public. 0 needs a `catalogue`, and
            gives pure ε: all noise is then Laplace noise.
        k: how many itemsets are wanted, in place of `min_support`.
        max_size: the most items of an itemset, up to 12; None for 12.
        neighbors: "replace_one" or "add_remove".
        unit: column(s) that name the privacy unit, the person to protect.
        basket: column(s) that distinguish the baskets of one unit.
        item: column of the items, or of lists of them.
        items: column of lists of items.
        one_hot: one item per column.
        catalogue: the public list of all items; None: unknown.
        units: a public number of units, to which shares refer. None: it is counted with noise, within the budget.
        max_items_per_unit: how many of its items a unit may weigh while items are found; all count in supports.
        ledger: a `dpmine.Ledger` or its URL, charged before any data are read.
        dataset: the data set's name in the ledger.
        memory: the most to use, in bytes or as text such as "4GB".
        engine: "local" or "spark".
        progress: called with the share that is done of reading.
        notice: called before data are read, with what is to be known of the run. None: warnings in its place.

    Example:
        >>> import dpmine
        >>> baskets = [["bread", "milk"], ["bread", "milk", "tea"]] * 2000
        >>> found = dpmine.frequent_itemsets(baskets, 3000, epsilon=5)
        >>> sorted(map(sorted, found))
        [['bread'], ['bread', 'milk'], ['milk']]
        >>> found.to_pandas().columns.tolist()
        ['support', 'itemsets', 'count', 'low', 'high', 'certain']

    See Also:
        top_itemsets: itemsets of given sizes by any mechanism.

    Proof: docs/proofs/best_first.md.
    """
    columns, limit = Columns.of(unit=unit, basket=basket, item=item, items=items, one_hot=one_hot), parse_memory(memory)
    known = _catalogue(catalogue)
    size = _max_size(max_size, known)
    terms = ListTerms(
        1 if k is None else whole("`k`", k),
        positive("epsilon", epsilon),
        _delta(delta, known),
        Neighbors.parse(neighbors),
        (1, size),
        None if known is None else len(known),
        max_items_per_unit=max_items_per_unit,
    )
    request = _Request.of(terms, min_support, k, units)
    account = Account.of(ledger, dataset)
    from dpmine.itemsets.read import announced, read_transactions

    def planned(plan: LayoutPlan) -> None:
        charged = request.guarantee.for_unit(plan.unit_name)
        announced(plan, notice, lambda: account.charge(charged, job="frequent-itemsets"))

    loaded = read_transactions(
        data, columns, catalogue=known, progress=progress, memory=limit, planned=planned, engine=engine
    )
    with closing(loaded):
        return request.answer(loaded, charged=account.ledger is not None)


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked for, checked before any data are read.

    Attributes:
        counting: all stages.
        guarantee: that of the run, before the unit is known.
        support: the least support: a count, or a share of the units; None for the best k.
        units: their public number.
    """

    counting: AdaptiveCounts
    guarantee: Guarantee
    support: int | Fraction | None
    units: int | None

    @classmethod
    def of(cls, terms: ListTerms, min_support: Number | None, k: int | None, units: int | None) -> _Request:
        """Raises BadParameter."""
        if (min_support is None) is (k is None):
            raise BadParameter("Give either min_support (`min_support=0.02`) or the number of itemsets (`k=100`).")
        if terms.count > (most := min(MOST_PLACES, terms.candidates or MOST_PLACES)):
            raise BadParameter(f"`k` must be at most {most:,}, and no more than a catalogue has itemsets.")
        number = None if units is None else number_of_units(units)
        support = None if min_support is None else count_or_share("min_support", min_support)
        if isinstance(support, Fraction) and number is not None:
            support = least_count(support, number)
        if isinstance(support, int) and support > LARGEST_SUPPORT:
            raise BadParameter("min_support is more than any number of units: give a smaller count, or a share.")
        counting = AdaptiveCounts.of(terms, k, support or 0)
        if isinstance(support, int) and support < (least := counting.least_support()):
            raise BadParameter(
                f"min_support {support:,} is small beside the noise at this epsilon: give at least {least:,}, "
                "or a larger epsilon."
            )
        guarantee = Guarantee(terms.epsilon, terms.delta, terms.neighbors, concentrated=counting.zcdp)
        return cls(counting, guarantee, support, number)

    def answer(self, loaded: LoadedTransactions, *, charged: bool) -> FrequentItemsets:
        """What is counted of the transactions; everything after that is post-processing."""
        transactions = loaded.transactions
        counted = self.counting.count(transactions, several_baskets=loaded.several_baskets, bits=SystemBits())
        supports = released(counted, transactions)
        units = counted.units if self.units is None else (self.units, (self.units, self.units))
        threshold = None if self.support is None else _count_of(self.support, units[0])
        listed = _best(supports, threshold or 1, self.counting.k)
        return FrequentItemsets(
            listed,
            self._certain(listed, units[1][1]),
            threshold,
            units,
            self.units is not None,
            len(supports.itemsets),
            sum(len(itemset) == 1 for itemset in supports.itemsets),
            self.counting.sizes[1],
            _complete_above(counted, supports, listed),
            self.guarantee.for_unit(transactions.unit),
            self._advice(listed, threshold, charged=charged),
            type_name(loaded.item_type),
            loaded.several_baskets,
        )

    def _certain(self, listed: SupportRelease, most_units: int) -> tuple[bool, ...] | None:
        """Whether each surely has the support: a share even of the largest plausible number of units."""
        if self.support is None:
            return None
        least = _count_of(self.support, most_units)
        return tuple(low >= least for low, _ in listed.intervals)

    def _advice(self, listed: SupportRelease, threshold: int | None, *, charged: bool) -> str:
        """Why the list is empty, or not to be trusted. By released numbers and parameters alone."""
        least = self.counting.least_support()
        if threshold is not None and threshold < least:
            text = f"The threshold, {threshold:,}, is small beside the noise at this epsilon: {least:,} units would do."
        elif not listed.itemsets and self.counting.delta:
            text = self.counting.discovery.shortage()
        else:
            return ""
        return text if listed.itemsets else with_charge(text, charged=charged)


def _best(supports: SupportRelease, least: int, k: int | None) -> SupportRelease:
    """Those of the least support, at most k, best first: a subset comes before what contains it, so all are there."""
    values = dict(zip(supports.itemsets, supports.values, strict=True))
    ranked = sorted(supports.reaching(supports.itemsets, least), key=lambda itemset: (-values[itemset], len(itemset)))
    return supports.only(ranked[:k])


def _complete_above(counted: CountedItemsets, supports: SupportRelease, listed: SupportRelease) -> int | None:
    """The largest support that an itemset of counted items may have that was not counted, or is not listed."""
    if counted.complete_above is None:
        return None
    shown, rows = set(listed.itemsets), zip(supports.itemsets, supports.intervals, strict=True)
    return max(counted.complete_above, *(high for itemset, (_, high) in rows if itemset not in shown), 0)


def _count_of(support: int | Fraction, units: int) -> int:
    return support if isinstance(support, int) else least_count(support, units)


def _max_size(wanted: int | None, catalogue: pa.Array | None) -> int:
    """At most 12, and no more than the items of a public catalogue."""
    items = LARGEST_SIZE if catalogue is None else len(catalogue)
    if wanted is None:
        return min(LARGEST_SIZE, items)
    if (size := whole("max_size", wanted)) > LARGEST_SIZE:
        raise BadParameter(f"max_size must be at most {LARGEST_SIZE}: all subsets of an itemset are counted.")
    if size > items:
        raise BadParameter(f"max_size must not exceed the {items} items of the catalogue: give at most that.")
    return size


def _delta(given: Number, catalogue: pa.Array | None) -> Fraction:
    """Raises BadParameter for 0 where items are not public: one unit's own items would show."""
    delta = delta_of(given)
    if not delta and catalogue is None:
        raise BadParameter(
            "Items that are not public are found with a delta above 0: give it (`delta=1e-6`), or the public list of "
            "all items (`catalogue=FILE`)."
        )
    return delta


def _catalogue(given: object) -> pa.Array | None:
    if is_from_data(given):
        raise BadParameter(
            "frequent_itemsets finds the items privately: leave the catalogue out, or give a public one."
        )
    return public_items(given)
