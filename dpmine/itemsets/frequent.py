"""Frequent itemsets: all of some support, or the best k of any size, with supports and intervals, privately."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from dpmine.exact.bits import SystemBits
from dpmine.io.source import ColumnNames, Columns, Cuts
from dpmine.itemsets.release.frequent import FrequentItemsets
from dpmine.itemsets.release.results import type_name
from dpmine.itemsets.request.frequent import FrequentQuery, FrequentRequest
from dpmine.itemsets.ways.adaptive_counts import released
from dpmine.ledger.charging import Account
from dpmine.ledger.dry_run import DryRun
from dpmine.options.explained import OF_TRANSACTIONS, explained_by
from dpmine.options.names import LOCAL
from dpmine.parameters import least_count
from dpmine.privacy import Neighbors
from dpmine.selection.advice import with_charge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from fractions import Fraction

    from dpmine.io.input import Data
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.release.supports import SupportRelease
    from dpmine.itemsets.transactions.interface import LoadedTransactions
    from dpmine.itemsets.ways.adaptive_counts import CountedItemsets
    from dpmine.ledger.ledger import Ledger
    from dpmine.parameters import Number


@explained_by(OF_TRANSACTIONS)
def frequent_itemsets(
    data: Data,
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
    items: str | Iterable[object] | None = None,
    one_hot: bool = False,
    attributes: bool | str | Iterable[str] | None = None,
    missing: str | Iterable[str] | None = None,
    cut: Cuts = None,
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

    Raises BadParameter, BadData, UnreadableFile or BudgetExceeded. All parameters are checked before any data are read.

    Args:
        min_support: the least noisy support that is listed: a count of units (600), or a share of them (0.02, "2%").
        epsilon: ε > 0 of the whole run, supports included.
        delta: δ in [0, 1) of the whole run. Half of it is for items that are not public. 0 needs a `catalogue`, and
            gives pure ε: all noise is then Laplace noise.
        k: how many itemsets are wanted, in place of `min_support`.
        max_size: the most items of an itemset, up to 12; None for 12.
        catalogue: the public list of all items; None: unknown.
        units: a public number of units, to which shares refer. None: it is counted with noise, within the budget.
        max_items_per_unit: how many of its items a unit may weigh while items are found; all count in supports.

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
    columns = Columns.of(unit, basket, item, items, one_hot, attributes, missing, cut)
    query = FrequentQuery(
        min_support=min_support,
        k=k,
        max_size=max_size,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        catalogue=catalogue,
        units=units,
        max_items_per_unit=max_items_per_unit,
    )
    request = FrequentRequest.of(query)
    account = Account.of(ledger, dataset)
    from dpmine.itemsets.read import charge_with_notices, read_transactions

    def charge(plan: LayoutPlan) -> None:
        try:
            charge_with_notices(plan, notice, account, request.guarantee, job="frequent-itemsets")
        except DryRun as done:
            raise replace(done, forecast=request.forecast(several_baskets=bool(plan.basket_columns))) from None

    loaded = read_transactions(
        data, columns, catalogue=request.catalogue, progress=progress, memory=memory, before_rows=charge, engine=engine
    )
    with closing(loaded):
        return _answer(request, loaded, charged=account.ledger is not None)


def _answer(request: FrequentRequest, loaded: LoadedTransactions, *, charged: bool) -> FrequentItemsets:
    """What is counted of the transactions; everything after that is post-processing."""
    transactions, counting = loaded.transactions, request.counting
    counted = counting.count(transactions, several_baskets=loaded.several_baskets, bits=SystemBits())
    supports = released(counted, transactions)
    units = counted.units if request.units is None else (request.units, (request.units, request.units))
    threshold = None if request.support is None else max(_count_of(request.support, units[0]), counting.least_support())
    listed = _best(supports, threshold or 1, counting.k)
    return FrequentItemsets(
        listed,
        _certain(request.support, listed, units[1][1], threshold or 0),
        threshold,
        units,
        request.units is not None,
        len(supports.itemsets),
        sum(len(itemset) == 1 for itemset in supports.itemsets),
        counting.sizes[1],
        _complete_above(counted, supports, listed),
        request.guarantee.for_unit(transactions.unit),
        _advice(request, listed, units[0], charged=charged),
        type_name(loaded.item_type),
        loaded.several_baskets,
    )


def _certain(
    support: int | Fraction | None, listed: SupportRelease, most_units: int, threshold: int
) -> tuple[bool, ...] | None:
    """Whether each surely has the support: a share even of the largest plausible number of units."""
    if support is None:
        return None
    least = max(_count_of(support, most_units), threshold)
    return tuple(low >= least for low, _ in listed.intervals)


def _advice(request: FrequentRequest, listed: SupportRelease, units: int, *, charged: bool) -> str:
    """Why the list is empty, or has another threshold. By released numbers and parameters alone."""
    counting = request.counting
    least = counting.least_support()
    if request.support is not None and (wanted := _count_of(request.support, units)) < least:
        text = f"That share is {wanted:,}, which noise hides at this epsilon: {least:,} units are taken in its place."
    elif not listed.itemsets and counting.delta:
        text = counting.discovery.shortage()
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
