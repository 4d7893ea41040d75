"""Every mechanism by its name; the name is also that of its file and of its proof note."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.selection.bounded_growth import BoundedGrowth
from dpmine.selection.exact import Exact
from dpmine.selection.exponential import Exponential
from dpmine.selection.large_margin import LargeMargin
from dpmine.selection.large_margin_tight import LargeMarginTight
from dpmine.selection.limited_domain import LimitedDomain
from dpmine.selection.max_of_exponentials import MaxOfExponentials
from dpmine.selection.max_of_laplaces import MaxOfLaplaces
from dpmine.selection.stable_maximiser import StableMaximiser

if TYPE_CHECKING:
    from dpmine.privacy import Neighbors
    from dpmine.selection.mechanism import Mechanism

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism
    for mechanism in (
        LargeMargin,
        LargeMarginTight,
        LimitedDomain,
        StableMaximiser,
        BoundedGrowth,
        Exponential,
        MaxOfExponentials,
        MaxOfLaplaces,
        Exact,
    )
}


def usable(
    epsilon: Fraction, delta: Fraction, neighbors: Neighbors, *, candidates: int | None, are_counts: bool = True
) -> list[Mechanism]:
    """The private mechanisms that need nothing but these parameters; pure ones hold δ = 0.

    `candidates` is the number of public candidates, None where there is no public list of them; `are_counts` says that
    scores are at least 0 whatever the data. Left out:
    bounded_growth, whose data must be truncated first, and with δ = 0 every mechanism that needs a δ.
    """
    kinds = [
        kind
        for kind in MECHANISMS.values()
        if kind.private and kind is not BoundedGrowth and (delta or not kind.approximate)
        if (candidates is not None or not kind.needs_catalogue) and (are_counts or not kind.needs_counts)
    ]
    return [kind(epsilon, delta if kind.approximate else Fraction(0), neighbors) for kind in kinds]
