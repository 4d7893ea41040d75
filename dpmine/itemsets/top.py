"""The main job: read transactions, count supports exactly, choose the top itemsets privately."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dpmine.exact.bits import SystemBits
from dpmine.io.source import ColumnNames, Columns, Cuts
from dpmine.itemsets.read import charge_with_notices, read_transactions
from dpmine.itemsets.release.supports import released_counts
from dpmine.itemsets.request.advice import advice, counts_of_unions, doubt, long_search, small_supports
from dpmine.itemsets.request.query import Query, Request
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import Chosen
from dpmine.ledger.charging import Account
from dpmine.options.explained import OF_LISTS, OF_TRANSACTIONS, explained_by
from dpmine.options.names import AUTO, LOCAL
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpmine.io.input import Data
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.release.results import TopItemsets
    from dpmine.itemsets.release.supports import Itemset, SupportRelease
    from dpmine.itemsets.transactions.interface import LoadedTransactions, SupportSource, Transactions
    from dpmine.ledger.ledger import Ledger
    from dpmine.parameters import Number, Sizes
    from dpmine.privacy import Guarantee


@explained_by(OF_TRANSACTIONS, OF_LISTS)
def top_itemset(
    data: Data,
    *,
    size: Sizes = 2,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    mechanism: str = AUTO,
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
    release_support: Number | str | None = None,
    rules: bool = False,
    lift_of: str | None = None,
    min_support: Number | None = None,
    units: int | None = None,
    kbar: int | None = None,
    max_items_per_unit: int | None = None,
    not_private: bool = False,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    memory: int | str | None = None,
    engine: str = LOCAL,
    progress: Callable[[float], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> TopItemsets:
    """The itemset that the most privacy units have in one basket, chosen with differential privacy.

    Args:
        size: items in the itemset: 2, or a range "2-3". Those of 6 items and more can take hours to count where long
            baskets have much in common. An interrupt ends the search at any time.
        epsilon: ε > 0, read exactly (0.1 is one tenth).
        delta: δ in [0, 1), used by approximate mechanisms, and for supports where Gaussian noise is narrower.
        catalogue: the public list of all items: a path (text or one-column Parquet), a sequence or an Arrow array.
            "from-data": the items seen; NOT private, and the guarantee says so. None: unknown.
        release_support: ε for noisy supports of what is chosen, which adds to the budget. "auto": `epsilon` is the
            budget of both together, and is split. None: no supports.
        rules: whether the supports of all subsets of what is chosen are released, too: `TopItemsets.rules` then makes
            association rules of them, without a further charge. They have lift where a unit has one basket: without
            `basket`, all that a unit has is one.
        lift_of: "units" gives rules lift, leverage and conviction where a unit has several baskets, too: over all items
            that a unit has in any of them. It needs `rules` and `units`. The counts of units that this takes are
            released in the same budget, so all supports are noisier. Where a unit has one basket, it changes nothing.
        min_support: the least noisy support that is listed: a count of units, or a share of `units` (0.02, "2%"). 0
            lists all that was chosen. None: of released supports those whose interval does not reach 0.
        units: a public number of units, only to turn supports into shares, and a share in `min_support` into a count.
        kbar: how many candidates `limited_domain` and `limited_domain_permute_and_flip` keep, or how many items
            `items_first` does; public.
        max_items_per_unit: for `bounded_growth`, which needs it: every unit's data are cut to this number of items
            (its most frequent ones) before anything is counted. For "discover" and "best_first": how many of its items
            a unit may name while items are found (default 50); all of them count in supports.
        not_private: opts in to the mechanism "exact".

    Raises BadParameter, BadData, UnreadableFile, NotPrivate or BudgetExceeded. All parameters are checked before any
    data are read.

    Example:
        >>> import dpmine
        >>> baskets = [["bread", "milk"], ["bread", "milk", "tea"]] * 1000
        >>> found = dpmine.top_itemset(baskets, mechanism="large_margin", epsilon=1, delta=1e-6)
        >>> print(found.guarantee)
        ε = 1, δ = 1e-06 per row, neighbours replace-one

    See Also:
        top_itemsets: the best k itemsets.
        itemset_supports: exact supports, not private.
    """
    others = {name: value for name, value in locals().items() if name != "data"}  # all arguments, and nothing else yet
    return top_itemsets(data, 1, **others)


@explained_by(top_itemset.__doc__, OF_TRANSACTIONS)
def top_itemsets(
    data: Data,
    k: int = 10,
    *,
    size: Sizes = 2,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    mechanism: str = AUTO,
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
    release_support: Number | str | None = None,
    rules: bool = False,
    lift_of: str | None = None,
    min_support: Number | None = None,
    units: int | None = None,
    kbar: int | None = None,
    max_items_per_unit: int | None = None,
    not_private: bool = False,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    memory: int | str | None = None,
    engine: str = LOCAL,
    progress: Callable[[float], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> TopItemsets:
    """The k itemsets that the most privacy units have in one basket, best first; fewer if no more are found.

    Args:
        k: how many itemsets, at most 100,000. A public catalogue must have as many.
        epsilon: ε > 0 of all k together.
        delta: δ in [0, 1) of all k together.

    Raises BadParameter, BadData, UnreadableFile, NotPrivate or BudgetExceeded, as `top_itemset` does.

    The exponential and the limited-domain mechanism choose all in one shot. Every other mechanism for one choice is run
    k times, each time on what is left. For lists "auto" takes a way that measurements speak for, by public
    parameters; its reason is in a notice. docs/decide/choosing.md has the rule. A pure mechanism uses δ too where that
    allows smaller noise, unless δ is 0.

    Example:
        >>> import dpmine
        >>> baskets = [["bread", "milk"], ["bread", "milk", "tea"]] * 1000
        >>> found = dpmine.top_itemsets(baskets, 3, mechanism="exponential", catalogue=["bread", "milk", "tea"])
        >>> len(found), found.guarantee.epsilon
        (3, Fraction(1, 1))

    See Also:
        top_itemset: the best itemset alone.
        itemset_supports: exact supports, not private.

    Source: Durfee & Rogers 2019 (one shot). Proof: docs/proofs/selection/composition.md.
    """
    columns = Columns.of(unit, basket, item, items, one_hot, attributes, missing, cut)
    query = Query(
        k=k,
        size=size,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        neighbors=neighbors,
        catalogue=catalogue,
        release_support=release_support,
        rules=rules,
        lift_of=lift_of,
        min_support=min_support,
        units=units,
        kbar=kbar,
        max_items_per_unit=max_items_per_unit,
        not_private=not_private,
    )
    request, account = Request.of(query), Account.of(ledger, dataset)
    charge = partial(_charge_with_notices, request, account, notice, doubtful := doubt(request))
    loaded = read_transactions(
        data, columns, catalogue=request.catalogue, progress=progress, memory=memory, before_rows=charge, engine=engine
    )
    from dpmine.itemsets.counting.rows import showing

    with closing(loaded), showing(progress):
        return replace(answer(request, loaded, charged=account.ledger is not None), doubt=doubtful)


def _charge_with_notices(
    request: Request, account: Account, notice: Callable[[str], None] | None, doubtful: str, plan: LayoutPlan
) -> None:
    """Once the layout is known and before any data are read: say what is to be known, and charge the account."""
    if notice is not None:
        several = bool(plan.basket_columns)
        for text in filter(None, [long_search(request), counts_of_unions(request, several_baskets=several)]):
            notice(text)
    job, reason = f"top-itemset {request.way.name}", request.way.reason
    charge_with_notices(plan, notice, account, request.guarantee, job=job, doubt=doubtful, reason=reason)


def answer(request: Request, loaded: LoadedTransactions, *, charged: bool) -> TopItemsets:
    """What the way chooses of the transactions, and noisy supports where they are wanted."""
    from dpmine.io.python_values import items_at

    cut, baskets, guarantee = request.cut, loaded.transactions, request.guarantee
    if cut is not None:
        baskets = baskets.truncated(cut)
        guarantee = guarantee.noting(f"every unit was cut to {cut} items before counting")
    miner = baskets.miner()
    chosen = _chosen(request, miner, baskets, several_baskets=loaded.several_baskets)
    codes = sorted({code for itemset in chosen.itemsets for code in itemset})
    names = dict(zip(codes, items_at(baskets.labels, codes), strict=True))
    itemsets = tuple(frozenset(names[code] for code in itemset) for itemset in chosen.itemsets)
    supports = chosen.supports
    if request.split.supports is not None:
        supports = released_counts(
            itemsets,
            {item: code for code, item in names.items()},
            baskets,
            miner,
            noise=request.split.supports,
            subsets=request.query.rules,
            unions=request.unions and loaded.several_baskets,
            bits=SystemBits(),
        )
    return _listed(request, guarantee.for_unit(baskets.unit), itemsets, supports, loaded, charged=charged)


def _listed(
    request: Request,
    guarantee: Guarantee,
    itemsets: tuple[Itemset, ...],
    supports: SupportRelease | None,
    loaded: LoadedTransactions,
    *,
    charged: bool,
) -> TopItemsets:
    """The answer to a request: without itemsets whose released supports are too small, unless it asks for them."""
    from dpmine.itemsets.release.results import TopItemsets, type_name

    listed = itemsets if supports is None or request.lists_all else supports.reaching(itemsets, request.min_support)
    what_helps = ""
    if itemsets and not listed:
        what_helps = small_supports(len(itemsets), charged=charged)
    elif len(itemsets) < request.way.count:
        what_helps = advice(request, charged=charged)
    has_parts = request.way.count > 1 or request.split.supports is not None
    return TopItemsets(
        listed,
        request.terms.sizes,
        request.terms.mechanism,
        request.way.name,
        guarantee,
        what_helps,
        supports and supports.of_parts(listed),
        request.units,
        request.split if has_parts else None,
        type_name(loaded.item_type),
        len(itemsets) - len(listed),
        loaded.several_baskets,
    )


def _chosen(request: Request, miner: SupportSource, baskets: Transactions, *, several_baskets: bool) -> Chosen:
    """The chosen itemsets as codes, best first."""
    smallest, largest = request.terms.sizes
    possible = range(smallest, min(largest, baskets.catalogue_size) + 1)
    # Whether the data have items at all is private: what releases supports releases none of them then, by itself.
    if not possible and not request.way.releases_supports:
        return Chosen(())
    universe = ItemsetUniverse(
        miner,
        possible,
        catalogue_is_public=request.terms.has_catalogue,
        transactions=baskets,
        several_baskets=several_baskets,
    )
    return request.way.choose(universe, bits=SystemBits())
