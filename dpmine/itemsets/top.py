"""The main job: read transactions, count supports exactly, choose the top itemsets privately."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from dpmine.exact.bits import SystemBits
from dpmine.io.source import ColumnNames, Columns, Cuts
from dpmine.itemsets.read import announced, read_transactions
from dpmine.itemsets.release.supports import released_counts
from dpmine.itemsets.request.advice import advice, counts_of_unions, doubt, long_search, small_supports
from dpmine.itemsets.request.query import Query, Request
from dpmine.itemsets.transactions.memory import parse_memory
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import Chosen
from dpmine.ledger.charging import Account
from dpmine.options.names import AUTO, LOCAL
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.release.results import TopItemsets
    from dpmine.itemsets.release.supports import Itemset, SupportRelease
    from dpmine.itemsets.transactions.interface import LoadedTransactions, SupportSource, Transactions
    from dpmine.ledger.ledger import Ledger
    from dpmine.parameters import Number, Sizes
    from dpmine.privacy import Guarantee


def top_itemset(
    data: object,
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
        data: one of

            - a path, a list of paths, a directory, a glob or a URL of Parquet, CSV or Arrow; an `Input`
            - a pyarrow Table, RecordBatchReader or Dataset; anything with `__arrow_c_stream__` (duckdb)
            - a pandas, polars or Spark frame. A pandas column of objects holds lists if `items` names it, or if it is
              the only one and nothing is named
            - a sequence of baskets, or an iterator. An entry that is a list, tuple, set or another iterable is a basket
              of its items. Any other entry, such as a text, is a basket of one. A list of texts alone is one of paths.
              Arrays of numbers or texts, sparse matrices and series are rejected by their type.
        size: items in the itemset: 2, or a range "2-3". Those of 6 items and more can take hours to count where long
            baskets have much in common. An interrupt ends the search at any time.
        epsilon: ε > 0, read exactly (0.1 is one tenth).
        delta: δ in (0, 1), used by approximate mechanisms, and for supports where Gaussian noise is narrower.
        mechanism: a name out of `dpmine.selection.select.MECHANISMS`, or one of these:

            - "items_first": items are chosen first, then itemsets of these
            - "discover": the same without a catalogue; items that many units have are found first
            - "best_first": itemsets of all sizes are counted with noise, each chosen by the counts before;
              supports come with it
            - "auto": the one that needs the smallest lead at this ε, δ, relation and number of itemsets of the
              catalogue
        neighbors: "replace_one" (the number of units is public) or "add_remove".
        unit: column(s) that name the privacy unit, the person to protect.
        basket: column(s) that distinguish the baskets of one unit (long layout). Here and in `unit`, `day(at)`,
            `week(at)` and `month(at)` are calendar periods of a column `at` of dates or timestamps.
        item: column of the items; for the list layout the column of lists. In a pandas column of objects, each value is
            one item, and a collection is missing.
        items: column of lists. In a pandas column of objects, any other value is a basket of one. Of a matrix of numpy
            or scipy: the names of its columns.
        one_hot: one item per column; the columns hold booleans or integers, present above 0. In pandas columns of
            objects, anything else is absent.
        attributes: columns whose items are `column=value`; True: all but the unit's. Each row is a basket.
        missing: values of attributes that are no items, beside null: a text or several, such as "?".
        cut: public points that cut attributes of numbers: {"age": [18, 30]} for "age<18", "18<=age<30", "age>=30".
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
            (its most frequent ones) before anything is counted. For "discover": how many of its items a unit may name
            while items are found (default 50); all of them count in supports.
        not_private: opts in to the mechanism "exact".
        ledger: a `dpmine.Ledger` or its URL, charged before any data are read.
        dataset: the data set's name in the ledger.
        memory: the most to use, in bytes or as text such as "4GB" (default: half of the machine). Larger data are
            streamed, through temporary files where a unit's rows are scattered.
        engine: "local", or "spark": Spark then reads paths and counts supports; this needs the extra `spark`. Spark
            always counts a Spark DataFrame. The result has the same output distribution.
        progress: called with the share that is done, 0 to 1, of each step: of reading, then of each long search. On
            Spark it is called from another thread, with the share of the step's tasks.
        notice: called before data are read, with the layout in column names and why "auto" takes its mechanism. It also
            says whether counting may take long, and whether the result will mostly be noise. None: a `LayoutWarning`
            where the layout was found and not named, and an `AccuracyWarning`.

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


def top_itemsets(
    data: object,
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
        data: a path or several, a table, frame or stream, or a sequence of baskets. `top_itemset` says more of it, and
            of all other arguments that both have.
        k: how many itemsets, at most 100,000. A public catalogue must have as many.
        size: items in an itemset: 2, or a range "2-3".
        epsilon: ε > 0 of all k together.
        delta: δ in [0, 1) of all k together.
        mechanism: how they are chosen: a mechanism, "items_first", "discover", "best_first" or "auto".
        neighbors: "replace_one" or "add_remove".
        unit: column(s) that name the privacy unit, the person to protect.
        basket: column(s) that distinguish the baskets of one unit.
        item: column of the items, or of lists of them.
        items: column of lists of items; or the names of the columns of a one-hot matrix.
        one_hot: one item per column.
        attributes: the columns of a table whose values are items; True: all but the unit's.
        missing: values of attributes that are no items.
        cut: public points that cut attributes of numbers.
        catalogue: the public list of all items; "from-data" is not private. None: unknown.
        release_support: ε for noisy supports, which adds to the budget; "auto" splits `epsilon`. None: no supports.
        rules: whether the supports of all subsets are released, too, from which `TopItemsets.rules` makes rules.
        lift_of: "units" gives rules lift where a unit has several baskets, too. It needs `rules` and `units`.
        min_support: the least noisy support that is listed: a count, or a share of `units`.
        units: a public number of units, to turn supports into shares.
        kbar: how many candidates or items the mechanism keeps, where it has this option.
        max_items_per_unit: to which a unit's items are cut, or how many it may name while items are found.
        not_private: opts in to the mechanism "exact".
        ledger: a `dpmine.Ledger` or its URL, charged before any data are read.
        dataset: the data set's name in the ledger.
        memory: the most to use, in bytes or as text such as "4GB".
        engine: "local" or "spark".
        progress: called with the share that is done of each step.
        notice: called before data are read, with what is to be known of the run. None: warnings in its place.

    What is raised is that of `top_itemset`. The exponential and the limited-domain mechanism choose all in one shot.
    "items_first" and "discover" choose items, then itemsets of these in one shot. Every other mechanism is run k times,
    each time on what is left. With k > 1, "auto" means one of the first two: the one that needs the smaller lead, by
    public parameters. Without a catalogue it means "discover" from k = 10 on, with one mostly "items_first" from k = 50
    on. For all sizes from 1 on it means "best_first" from k = 10 on, whose supports come with the list. A pure
    mechanism uses δ too where that allows smaller noise, unless δ is 0.

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
    columns, limit = Columns.of(unit, basket, item, items, one_hot, attributes, missing, cut), parse_memory(memory)
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
    planned = _planned(request := Request.of(query), account := Account.of(ledger, dataset), notice)
    loaded = read_transactions(
        data, columns, catalogue=request.catalogue, progress=progress, memory=limit, planned=planned, engine=engine
    )
    from dpmine.itemsets.counting.rows import showing

    with closing(loaded), showing(progress):
        return answer(request, loaded, charged=account.ledger is not None)


def _planned(request: Request, account: Account, notice: Callable[[str], None] | None) -> Callable[[LayoutPlan], None]:
    """Called once the layout is known and before any data are read: report the layout and charge the account."""

    def planned(plan: LayoutPlan) -> None:
        def charge() -> None:
            if account.ledger is not None:
                account.charge(request.guarantee.for_unit(plan.unit_name), job=f"top-itemset {request.way.name}")

        several = bool(plan.basket_columns)
        if notice is not None:
            for text in filter(None, [long_search(request), counts_of_unions(request, several_baskets=several)]):
                notice(text)
        announced(plan, notice, charge, doubt=doubt(request), reason=request.way.reason)

    return planned


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
