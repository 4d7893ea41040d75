"""The planner: what every mechanism needs and achieves, from public parameters alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, comb
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.itemsets.universe import Sizes, parse_sizes
from dpmine.parameters import Number, positive, probability, whole
from dpmine.planning.results import Need, Plan, Row
from dpmine.planning.theorems import approximate_lower_bound, proved_gap, pure_lower_bound
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.registry import usable
from dpmine.selection.recommend import (
    DELTAS,
    EPSILONS,
    SUCCESS,
    least,
    least_gap,
    recommend,
    succeeds,
    success_probability,
)
from dpmine.selection.stylised import Shape, stylised

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.selection.mechanisms.base import Mechanism

MOST_SURE = Fraction(999_999, 1_000_000)
"""The largest success probability that the laws in float64 are asked about."""
_DECADES = 7
"""Of ε, from the smallest that is planned with."""


def plan(
    *,
    size: Sizes = 2,
    catalogue_size: int | None = None,
    units: int | None = None,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
    gap: int | None = None,
    success: Number = SUCCESS,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """What can be expected of a private top itemset, without touching any data.

    Args:
        size: items in the itemset: 2, or a range "2-3".
        catalogue_size: how many items the public catalogue has; None where there is no such list.
        units: a public number of privacy units: leads are then given as shares, too.
        epsilon: ε in [10^−4, 1000], read exactly.
        delta: δ in [10^−100, 1 − 10^−6].
        neighbors: "replace_one" or "add_remove".
        gap: a lead of the best support over the second, in units: how likely is success then, and with which ε?
        success: the probability of finding the best itemset that is wanted, at most 0.999999.
        progress: told the share of the work done, 0 to 1.

    Raises BadParameter for unusable parameters.
    """
    sizes = parse_sizes(size)
    question = _Question(
        candidates=_candidates(sizes, catalogue_size),
        units=None if units is None else whole("units", units),
        epsilon=_inside("epsilon", positive("epsilon", epsilon), EPSILONS),
        delta=_inside("delta", probability("delta", delta), DELTAS),
        neighbors=Neighbors.parse(neighbors),
        gap=None if gap is None else whole("gap", gap),
        success=float(_inside("success", probability("success", success), (Fraction(0), MOST_SURE))),
    )
    question.check()
    return question.answer(sizes, catalogue_size, progress or _ignore)


@dataclass(frozen=True, slots=True)
class _Question:
    """The parameters of a plan, read and checked."""

    candidates: int | None
    units: int | None
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    gap: int | None
    success: float

    def check(self) -> None:
        """Raises BadParameter where parameters contradict each other."""
        if self.units is not None and self.gap is not None and self.gap > self.units:
            raise BadParameter("gap must not exceed units: no itemset has more support than there are units.")

    def answer(self, sizes: tuple[int, int], catalogue_size: int | None, progress: Callable[[float], None]) -> Plan:
        """The plan, the mechanism with the smallest lead under a power law first."""
        rows = []
        mechanisms = usable(self.epsilon, self.delta, self.neighbors, candidates=self.candidates)
        for done, mechanism in enumerate(mechanisms):
            progress(done / len(mechanisms))
            rows.append(self.row(mechanism))
        epsilon, delta = float(self.epsilon), float(self.delta)
        return Plan(
            sizes=sizes,
            catalogue_size=catalogue_size,
            candidates=self.candidates,
            units=self.units,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=self.neighbors,
            gap=self.gap,
            success=self.success,
            rows=tuple(sorted(rows, key=lambda row: row.need(Shape.POWER_LAW).gap)),
            pure_lower_bound=pure_lower_bound(epsilon=epsilon, candidates=self.candidates),
            approximate_lower_bound=approximate_lower_bound(
                epsilon=epsilon, delta=delta, candidates=self.candidates, neighbors=self.neighbors, units=self.units
            ),
            recommendation=recommend(
                epsilon=self.epsilon, delta=self.delta, neighbors=self.neighbors, candidates=self.candidates
            ),
        )

    def row(self, mechanism: Mechanism) -> Row:
        """What one mechanism needs."""
        needs = tuple(self.need(mechanism, shape) for shape in Shape)
        proved = proved_gap(mechanism, self.candidates, 1 - self.success)
        return Row(mechanism.name, mechanism.delta, proved, needs)

    def need(self, mechanism: Mechanism, shape: Shape) -> Need:
        """What one mechanism needs where the supports have this shape."""
        gap = least_gap(mechanism, shape, self.candidates, self.success)
        support = ceil(round(shape.top * gap, 6))
        return Need(
            shape,
            gap,
            support,
            gap_share=None if self.units is None else gap / self.units,
            support_share=None if self.units is None else support / self.units,
            success_at_gap=None if self.gap is None else self.odds(mechanism, shape, self.gap),
            least_epsilon=None if self.gap is None else self.least_epsilon(mechanism, shape, self.gap),
        )

    def odds(self, mechanism: Mechanism, shape: Shape, gap: float) -> float:
        """The probability of success at this gap."""
        return success_probability(mechanism, stylised(shape, gap, self.candidates))

    def least_epsilon(self, mechanism: Mechanism, shape: Shape, gap: int) -> Fraction | None:
        """The least ε, to two digits, at which this gap suffices; None where none up to 1000 does."""
        profile = stylised(shape, gap, self.candidates)

        def passes(place: int) -> bool:
            return succeeds(replace(mechanism, epsilon=_epsilon(place)), profile, self.success)

        last = 90 * _DECADES
        return _epsilon(least(passes, start=0, end=last)) if passes(last) else None


def _epsilon(place: int) -> Fraction:
    """The numbers with two digits, in increasing order from the least ε on."""
    decade, step = divmod(place, 90)
    return EPSILONS[0] * Fraction(10**decade) * Fraction(10 + step, 10)


def _candidates(sizes: tuple[int, int], catalogue_size: int | None) -> int | None:
    if catalogue_size is None:
        return None
    if whole("catalogue_size", catalogue_size) < sizes[1]:
        raise BadParameter("size must not exceed catalogue_size: no itemset has more items than the catalogue.")
    return sum(comb(catalogue_size, size) for size in range(sizes[0], sizes[1] + 1))


def _inside(name: str, value: Fraction, bounds: tuple[Fraction, Fraction]) -> Fraction:
    if not bounds[0] <= value <= bounds[1]:
        raise BadParameter(f"{name} must lie between {float(bounds[0]):g} and {float(bounds[1]):.6g} for a plan.")
    return value


def _ignore(_share: float) -> None:
    """Progress that nobody follows."""
