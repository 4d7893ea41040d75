"""What a plan says, as text, JSON and a picture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpmine.planning.text import plan_text
from dpmine.privacy import rounded_up
from dpmine.selection.laws.profile import Shape

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from dpmine.privacy import Neighbors
    from dpmine.selection.recommend import Recommendation


@dataclass(frozen=True, slots=True)
class Need:
    """What one mechanism needs where the supports have one shape.

    Attributes:
        shape: what the itemsets below the best look like.
        gap: the smallest lead of the best support over the second, in units, for success with the wanted probability.
        support: the support of the best itemset at that lead, in units.
        gap_share: `gap` as a share of the units; None where their number was not given.
        support_share: the same for `support`; above 1, so many units do not exist.
        success_at_gap: the probability of success at the gap that was asked about; None where none was.
        least_epsilon: the least ε (to two digits) with which that gap suffices; None where none was asked about, or no
            ε up to 1000 helps.
    """

    shape: Shape
    gap: int
    support: int
    gap_share: float | None
    support_share: float | None
    success_at_gap: float | None
    least_epsilon: Fraction | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "shape": str(self.shape),
            "gap": self.gap,
            "support": self.support,
            "gap_share": self.gap_share,
            "support_share": self.support_share,
            "success_at_gap": self.success_at_gap,
            "least_epsilon": None if self.least_epsilon is None else rounded_up(self.least_epsilon),
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One mechanism.

    Attributes:
        mechanism: its name.
        delta: the δ that it charges; 0 for pure mechanisms.
        proved_gap: a lead that is proved to suffice whatever the other supports look like.
        needs: the leads that its exact law asks for, one for each shape.
    """

    mechanism: str
    delta: Fraction
    proved_gap: float
    needs: tuple[Need, ...]

    def need(self, shape: Shape) -> Need:
        """What is needed where the supports have this shape."""
        return next(need for need in self.needs if need.shape is shape)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "mechanism": self.mechanism,
            "delta": rounded_up(self.delta),
            "proved_gap": self.proved_gap,
            "needs": [need.to_dict() for need in self.needs],
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be expected of a private top itemset. Everything here follows from public parameters.

    Attributes:
        sizes: the smallest and the largest size of the itemsets.
        catalogue_size: how many items the public catalogue has; None where there is none.
        candidates: how many itemsets it allows; None where there is no catalogue.
        units: the public number of privacy units, or None.
        epsilon: ε.
        delta: δ.
        neighbors: the relation.
        gap: the lead, in units, that was asked about, or None.
        success: the probability of success that is wanted.
        rows: the mechanisms, the one with the smallest lead first.
        pure_lower_bound: no mechanism with δ = 0 finds a lone winner of smaller lead with probability above 1/2; None
            where no lead suffices, because the universe is unknown.
        approximate_lower_bound: the same for mechanisms with this δ.
        recommendation: the mechanism that "auto" takes, and why.
    """

    sizes: tuple[int, int]
    catalogue_size: int | None
    candidates: int | None
    units: int | None
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    gap: int | None
    success: float
    rows: tuple[Row, ...]
    pure_lower_bound: float | None
    approximate_lower_bound: float
    recommendation: Recommendation

    def row(self, mechanism: str) -> Row:
        """The row of that mechanism; KeyError where it cannot be used with these parameters."""
        return {row.mechanism: row for row in self.rows}[mechanism]

    def to_dict(self) -> dict[str, Any]:
        """A plain form for JSON."""
        return {
            "sizes": list(self.sizes),
            "catalogue_size": self.catalogue_size,
            "candidates": self.candidates,
            "units": self.units,
            "epsilon": rounded_up(self.epsilon),
            "delta": rounded_up(self.delta),
            "neighbors": str(self.neighbors),
            "gap": self.gap,
            "success": self.success,
            "mechanisms": [row.to_dict() for row in self.rows],
            "lower_bounds": {"pure": self.pure_lower_bound, "approximate": self.approximate_lower_bound},
            "recommended": {"mechanism": self.recommendation.mechanism, "reason": self.recommendation.reason},
        }

    def to_json(self) -> str:
        """One JSON object, on one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def plot(self, path: str | Path, *, shape: Shape = Shape.POWER_LAW) -> None:
        """Write a picture (.svg or .png) of the success probability of every mechanism against the gap.

        Raises BadParameter for another suffix, UnreadableFile where nothing can be written.
        """
        from dpmine.planning.plot import plot_plan

        plot_plan(self, path, shape)

    def __str__(self) -> str:
        return plan_text(self)
