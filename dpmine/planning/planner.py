"""The planner: what every mechanism needs and achieves, and what is proved about it, from public parameters alone.

Theorems about accuracy are leads of the best candidate over the second, in sensitivities.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, comb, expm1, log
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.parameters import Number, Sizes, parse_sizes, positive, probability, whole
from dpmine.planning.results import Need, Plan, Row
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import (
    DELTAS,
    EPSILONS,
    SUCCESS,
    Shape,
    least,
    least_gap,
    recommend,
    stylised,
    succeeds,
    success_probability,
    usable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.selection.distributions.profile import Profile
    from dpmine.selection.mechanisms.mechanism import Mechanism


def pure_lower_bound(*, epsilon: float, candidates: int | None) -> float | None:
    """A lone winner with a smaller lead is missed with probability ≥ 1/2 by every ε-private mechanism.

    ln((K − 1)/2)/ε; None where the universe is unknown: no lead at all suffices. Holds on some data, and for mechanisms
    that treat all candidates alike on all; under both relations. Source: the large-margin paper, Proposition 1; the
    packing argument (m units make any of K candidates the winner) does not need its ε < 1.
    """
    return None if candidates is None else max(0.0, (log(max(2, candidates - 1)) - log(2)) / epsilon)


def approximate_lower_bound(
    *, epsilon: float, delta: float, candidates: int | None, neighbors: Neighbors, units: int | None = None
) -> float:
    """A lone winner with a smaller lead is missed with probability ≥ 1/2 by every (ε, δ)-private mechanism.

    min(n/2, ln((ℓ − 1)/2)/ε) for every ℓ ≤ K with δ ≤ (1 − e^−ε)/(2(ℓ − 1)), the largest one taken. Source: the
    large-margin paper, Theorem 1, for replace_one. Under add_remove the packing has to pass through data without the
    winner, which loses a factor of 2: ln(ℓ/4)/ε.
    """
    most = int(-expm1(-epsilon) / (2 * delta)) + 1
    near = most if candidates is None else min(most, candidates)
    room = near / 4 if neighbors is Neighbors.ADD_REMOVE else (near - 1) / 2
    bound = max(0.0, log(max(1.0, room)) / epsilon)
    return bound if units is None else min(bound, units / 2)


MOST_SURE = Fraction(999_999, 1_000_000)
"""The largest success probability that is computed from output distributions in float64."""
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
    """What can be expected of a private top itemset, without reading any data.

    Args:
        size: items in the itemset: 2, or a range "2-3".
        catalogue_size: how many items the public catalogue has; None where there is no such list.
        units: a public number of privacy units: leads are then given as shares, too.
        epsilon: ε in [10^−4, 1000], read exactly.
        delta: δ in [10^−100, 1 − 10^−6].
        neighbors: "replace_one" or "add_remove".
        gap: a lead of the best support over the second, in units: how likely is success then, and with which ε?
        success: the probability of finding the best itemset that is wanted, at most 0.999999.
        progress: called with the fraction done, from 0 to 1.

    Raises BadParameter for unusable parameters.

    Example:
        >>> planned = plan(size=2, catalogue_size=100, epsilon=1)
        >>> planned.candidates
        4950
        >>> planned.row("exponential").need(Shape.POWER_LAW).gap
        7

    See Also:
        dpmine.top_itemset: the release that is planned.
        dpmine.law: the probabilities for given scores.
    """
    sizes = parse_sizes(size)
    candidates, relation = _candidates(sizes, catalogue_size), Neighbors.parse(neighbors)
    budget = _inside("epsilon", positive("epsilon", epsilon), EPSILONS)
    exact_delta = _inside("delta", probability("delta", delta), DELTAS)
    population = None if units is None else whole("units", units)
    lead = None if gap is None else whole("gap", gap)
    wanted = _inside("success", probability("success", success), (Fraction(0), MOST_SURE))
    if population is not None and lead is not None and lead > population:
        raise BadParameter(
            "The lead to plan for exceeds `units`: no itemset has more support than there are units. "
            "Give a smaller `gap=…`."
        )
    asked = Plan(
        sizes=sizes,
        catalogue_size=catalogue_size,
        candidates=candidates,
        units=population,
        epsilon=budget,
        delta=exact_delta,
        neighbors=relation,
        gap=lead,
        success=float(wanted),
        rows=(),
        pure_lower_bound=pure_lower_bound(epsilon=float(budget), candidates=candidates),
        approximate_lower_bound=approximate_lower_bound(
            epsilon=float(budget), delta=float(exact_delta), candidates=candidates, neighbors=relation, units=population
        ),
        recommendation=recommend(epsilon=budget, delta=exact_delta, neighbors=relation, candidates=candidates),
    )
    rows = []
    mechanisms = usable(budget, exact_delta, relation, candidates=candidates)
    for done, mechanism in enumerate(mechanisms):
        if progress is not None:
            progress(done / len(mechanisms))
        needs = tuple(_need(asked, mechanism, shape) for shape in Shape)
        proved = max(0.0, mechanism.proved_lead(candidates or 1, 1 - asked.success))
        rows.append(Row(mechanism.name, mechanism.delta, proved, needs))
    return replace(asked, rows=tuple(sorted(rows, key=lambda row: row.need(Shape.POWER_LAW).gap)))


def _need(asked: Plan, mechanism: Mechanism, shape: Shape) -> Need:
    gap = least_gap(mechanism, shape, asked.candidates, asked.success)
    support = ceil(round(shape.top * gap, 6))
    profile = None if asked.gap is None else stylised(shape, asked.gap, asked.candidates)
    return Need(
        shape,
        gap,
        support,
        gap_share=None if asked.units is None else gap / asked.units,
        support_share=None if asked.units is None else support / asked.units,
        success_at_gap=None if profile is None else success_probability(mechanism, profile),
        least_epsilon=None if profile is None else _least_epsilon(mechanism, profile, asked.success),
    )


def _least_epsilon(mechanism: Mechanism, profile: Profile, success: float) -> Fraction | None:
    """The least ε, to two digits, with which the mechanism succeeds; None where none up to 1000 does."""

    def passes(place: int) -> bool:
        return succeeds(replace(mechanism, epsilon=_epsilon(place)), profile, success)

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
        raise BadParameter(
            "size must not exceed catalogue_size: no itemset has more items than the catalogue; give a smaller "
            "`size=…`."
        )
    return sum(comb(catalogue_size, size) for size in range(sizes[0], sizes[1] + 1))


def _inside(name: str, value: Fraction, bounds: tuple[Fraction, Fraction]) -> Fraction:
    if not bounds[0] <= value <= bounds[1]:
        raise BadParameter(f"{name} must lie between {float(bounds[0]):g} and {float(bounds[1]):.6g} for a plan.")
    return value
