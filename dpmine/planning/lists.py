"""Which way to choose a list of itemsets, and how large supports must be for it: before any data are read.

For all frequent itemsets: how many supports a budget counts, and how exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from dpmine.itemsets.request.frequent import FrequentQuery, FrequentRequest
from dpmine.itemsets.request.query import require_possible
from dpmine.itemsets.ways.way import ListTerms, build_way, rivals
from dpmine.itemsets.ways.weighted_pairs import PAIRS_IN_FULL
from dpmine.parameters import parse_sizes, positive, probability, public_count, whole
from dpmine.planning.results import JsonObject, Planned, plain
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.itemsets.request.frequent import Forecast
    from dpmine.parameters import Number, Sizes
    from dpmine.privacy import Guarantee


@dataclass(frozen=True, slots=True)
class ListRow:
    """One way to choose a list.

    Attributes:
        mechanism: its name.
        lead: how far the best must lead the others to be the ones listed with probability about 0.95, in units.
        right_from: the support of the best itemset, in units, from which on half of the list is expected to be right.
        rounds: how the budget is spent.
        weighted: whether pairs are usually weighted: `lead` and `right_from` are then in units that count in full.
    """

    mechanism: str
    lead: int
    right_from: int
    rounds: str
    weighted: bool


@dataclass(frozen=True, slots=True)
class ListPlan(Planned):
    """What can be expected of the best `k` itemsets. Everything here follows from public parameters.

    Attributes:
        k: how many itemsets.
        sizes: the smallest and the largest size of the itemsets.
        catalogue_size: how many items the public catalogue has; None where there is none.
        units: the public number of units, or None.
        epsilon: ε of the whole list.
        delta: δ of the whole list.
        neighbors: the relation.
        rows: the ways: what "auto" takes first, then those with the smallest needed support.
        recommended: what "auto" takes. Measurements decide that, so others may need less by the forecast.
    """

    k: int
    sizes: tuple[int, int]
    catalogue_size: int | None
    units: int | None
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    rows: tuple[ListRow, ...]
    recommended: str

    def to_dict(self) -> JsonObject:
        """A plain form for JSON."""
        document = plain(self)
        rows, recommended = document.pop("rows"), document.pop("recommended")
        return {**document, "mechanisms": rows, "recommended": recommended}

    def __str__(self) -> str:
        low, high = self.sizes
        sizes = f"{low}" if low == high else f"{low} to {high}"
        items = "unknown items" if self.catalogue_size is None else f"{self.catalogue_size:,} items of a catalogue"
        relation = str(self.neighbors).replace("_", "-")
        head = (
            f"The best {self.k:,} itemsets of size {sizes} from {items}; "
            f"ε = {self.epsilon}, δ = {float(self.delta):g}, {relation}. In units:"
        )
        table = [f"{'mechanism':<20}{'best support for half a list':>30}{'lead':>10}", *map(self._line, self.rows)]
        weights = [_WEIGHTS] if any(row.weighted for row in self.rows) else []
        return "\n".join([head, "", *table, "", _LEGEND, *weights])

    def _line(self, row: ListRow) -> str:
        name = f"{row.mechanism} *" if row.mechanism == self.recommended else row.mechanism
        share = "" if self.units is None else f" ({row.right_from / self.units:.1%})"
        return f"{name:<20}{f'{row.right_from:,}{share}':>30}{row.lead:>10,}"


_LEGEND = (
    "Best support for half a list: the support of the best itemset from which on half of the list is expected to be\n"
    "right, where supports fall off as in real baskets. Lead: over the other candidates, for the whole list. "
    "(* default)"
)


_WEIGHTS = (
    f"discover weighs pairs here: its numbers are of units that support at most {PAIRS_IN_FULL} pairs of the found "
    "items.\nOthers count less."
)


def plan_list(
    k: int,
    *,
    size: Sizes = 2,
    catalogue_size: int | None = None,
    units: int | None = None,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
) -> ListPlan:
    """What each way to choose the best k itemsets needs, and which one is the default.

    Args:
        k: how many itemsets, at least 2.
        size: items in an itemset: 2, or a range "2-3".
        catalogue_size: how many items the public catalogue has; None where there is no such list.
        units: a public number of privacy units: supports are then given as shares, too.
        epsilon: ε of the whole list.
        delta: δ of the whole list, above 0.
        neighbors: "replace_one" or "add_remove".

    Raises BadParameter for unusable parameters.

    Example:
        >>> planned = plan_list(20, epsilon=1)
        >>> planned.recommended, [row.mechanism for row in planned.rows]
        ('discover', ['discover', 'limited_domain'])

    See Also:
        dpmine.plan: for the best itemset alone.
    """
    count, sizes = whole("`k`", k, least=2), parse_sizes(size)
    terms = ListTerms(
        count,
        positive("epsilon", epsilon),
        probability("delta", delta),
        Neighbors.parse(neighbors),
        sizes,
        None if catalogue_size is None else public_count("catalogue_size", catalogue_size),
    )
    require_possible(terms)
    recommended = build_way(terms).name
    rows = [
        ListRow(way.name, ceil(way.lead()), way.right_from(), way.rounds(), way.weighs_pairs) for way in rivals(terms)
    ]
    return ListPlan(
        count,
        sizes,
        terms.catalogue_size,
        None if units is None else whole("units", units),
        terms.epsilon,
        terms.delta,
        terms.neighbors,
        tuple(sorted(rows, key=lambda row: (row.mechanism != recommended, row.right_from))),
        recommended,
    )


@dataclass(frozen=True, slots=True)
class FrequentPlan(Planned):
    """What can be expected of `frequent_itemsets` where units have one basket each.

    Attributes:
        forecast: what is counted, and how exactly.
        guarantee: of the run.
    """

    forecast: Forecast
    guarantee: Guarantee

    def to_dict(self) -> JsonObject:
        """A plain form for JSON."""
        return {**self.forecast.to_dict(), "guarantee": self.guarantee.to_dict()}

    def __str__(self) -> str:
        return f"{self.forecast}\n({self.guarantee})"


def plan_frequent(
    min_support: Number | None = None,
    *,
    k: int | None = None,
    max_size: int | None = None,
    catalogue_size: int | None = None,
    units: int | None = None,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
) -> FrequentPlan:
    """How many supports a run counts and how exactly, by public parameters alone.

    Args:
        min_support: the least noisy support that is listed: a count of units, or a share of `units`.
        k: how many itemsets are wanted, in place of `min_support`.
        max_size: the most items of an itemset, up to 12; None for 12.
        catalogue_size: how many items the public catalogue has; None where there is no such list.
        units: a public number of privacy units.
        epsilon: ε of the whole run.
        delta: δ of the whole run.
        neighbors: "replace_one" or "add_remove".

    Raises BadParameter for what `frequent_itemsets` would not take.

    Example:
        >>> planned = plan_frequent("2%", units=30000)
        >>> planned.forecast.threshold, planned.forecast.precisions.if_few.counts > 100
        (600, True)

    See Also:
        dpmine.frequent_itemsets: the run.
        plan_list: for itemsets of given sizes.
    """
    query = FrequentQuery(
        min_support=min_support, k=k, max_size=max_size, epsilon=epsilon, delta=delta, neighbors=neighbors, units=units
    )
    items = None if catalogue_size is None else public_count("catalogue_size", catalogue_size)
    request = FrequentRequest.of(query, items)
    return FrequentPlan(request.forecast(several_baskets=False), request.guarantee)
