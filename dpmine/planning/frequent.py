"""How many supports a budget counts and how exactly, for all frequent itemsets: before any data are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmine.itemsets.request.frequent import FrequentQuery, FrequentRequest
from dpmine.parameters import public_count
from dpmine.planning.results import JsonObject, Planned
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from dpmine.itemsets.request.frequent import Forecast
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee


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
        >>> planned.forecast.threshold, planned.forecast.precision.counts > 100
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
