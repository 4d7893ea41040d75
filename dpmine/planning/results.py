"""What a plan says, as text, JSON and a picture: success probability against the lead of the best itemset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpmine.io.atomic import new_figure, picture_target, write_picture
from dpmine.markup import ShownAsText, json_text
from dpmine.privacy import Neighbors, rounded_up
from dpmine.selection.recommend import Recommendation, Shape, stylised, success_probability, usable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes

    from dpmine.selection.mechanisms.mechanism import Mechanism


JsonObject: TypeAlias = dict[str, Any]
"""What `json.dumps` takes."""


def plain(value: Any) -> Any:
    """JSON-ready: dataclasses by their fields, fractions rounded up, enums as text."""
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, StrEnum):
        return str(value)
    return rounded_up(value) if isinstance(value, Fraction) else value


class Planned(ShownAsText, ABC):
    """What can be expected, as text (`str`), and as JSON."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> JsonObject:
        """A plain form for JSON."""

    def to_json(self) -> str:
        """One JSON object, on one line."""
        return json_text(self.to_dict())


@dataclass(frozen=True, slots=True)
class Need:
    """What one mechanism needs where the supports have one shape.

    Attributes:
        shape: what the itemsets below the best look like.
        gap: the smallest lead of the best support over the second, in units, for success with the wanted probability.
        support: the support of the best itemset at that lead, in units.
        gap_share: `gap` as a share of the units; None where their number was not given.
        support_share: the same for `support`; above 1, there are too few units.
        success_at_gap: the probability of success at the lead that was asked about; None where none was.
        least_epsilon: the least ε (to two digits) with which that lead suffices; None where none was asked about, or no
            ε up to 1000 helps.
    """

    shape: Shape
    gap: int
    support: int
    gap_share: float | None
    support_share: float | None
    success_at_gap: float | None
    least_epsilon: Fraction | None


@dataclass(frozen=True, slots=True)
class Row:
    """One mechanism.

    Attributes:
        mechanism: its name.
        delta: the δ that it charges; 0 for pure mechanisms.
        proved_gap: a lead that is proved to suffice whatever the other supports look like.
        needs: the leads that it needs by its exact output distribution, one for each shape.
    """

    mechanism: str
    delta: Fraction
    proved_gap: float
    needs: tuple[Need, ...]

    def need(self, shape: Shape) -> Need:
        """What is needed where the supports have this shape."""
        return next(need for need in self.needs if need.shape is shape)


@dataclass(frozen=True, slots=True)
class Plan(Planned):
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
        pure_lower_bound: no mechanism with δ = 0 finds a lone winner of smaller lead with probability above 1/2. None
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

    def to_dict(self) -> JsonObject:
        """A plain form for JSON."""
        document = plain(self)
        names = ("rows", "pure_lower_bound", "approximate_lower_bound", "recommendation")
        rows, pure, approximate, recommended = map(document.pop, names)
        bounds = {"pure": pure, "approximate": approximate}
        return {**document, "mechanisms": rows, "lower_bounds": bounds, "recommended": recommended}

    def plot(self, path: str | Path, *, shape: Shape = Shape.POWER_LAW) -> None:
        """Write a picture to `path` (.svg or .png): the success probability of every mechanism against the lead.

        `shape` is that of the supports. Raises BadParameter for another suffix, UnreadableFile where nothing can be
        written.
        """
        target = picture_target(path)
        figure = new_figure(8, 4.5)
        _draw(figure.subplots(), self, shape)
        write_picture(figure, target, "The probability that each mechanism finds the best itemset, by its lead")

    def __str__(self) -> str:
        parts = [_question(self), _table(self, _lead, proved=True), _LEGEND]
        if self.gap is not None:
            parts += [
                f"With a lead of {self.gap}: success probability, and the least ε for {self.success:g}",
                _table(self, _odds),
            ]
        return "\n\n".join([*parts, _impossible(self), self.recommendation.reason])


_SHAPES = (Shape.POWER_LAW, Shape.NEAR_TIES, Shape.ALONE)
_LEGEND = (
    "power law: supports fall off as in real baskets; near ties: ten runners-up with 9/10 of the best support;\n"
    "alone: no unit has any other itemset; proved: enough whatever the others look like. (* recommended)"
)


def _question(plan: Plan) -> str:
    low, high = plan.sizes
    sizes = f"{low}" if low == high else f"{low} to {high}"
    catalogue = "unknown items" if plan.candidates is None else f"{plan.catalogue_size:,} items of a public catalogue"
    relation = str(plan.neighbors).replace("_", "-")
    unit = "units" if plan.units is None else f"units (of {plan.units:,})"
    return (
        f"Top itemset of size {sizes} from {catalogue}; ε = {plan.epsilon}, δ = {float(plan.delta):g}, {relation}.\n"
        f"Lead over the second, in {unit}, for success with probability {plan.success:g}:"
    )


def _lead(need: Need) -> str:
    if need.gap_share is None or need.support_share is None:
        return f"{need.gap:,}"
    return f"{need.gap:,} (too few units)" if need.support_share > 1 else f"{need.gap:,} ({need.gap_share:.2%})"


def _odds(need: Need) -> str:
    epsilon = "none" if need.least_epsilon is None else f"{float(need.least_epsilon):g}"
    return f"{need.success_at_gap:.3f} (ε {epsilon})"


def _impossible(plan: Plan) -> str:
    pure = "at any lead, as the candidates are unknown"
    if plan.pure_lower_bound is not None:
        pure = f"below {plan.pure_lower_bound:,.1f}"
    return (
        "No mechanism finds a winner that stands alone more often than not with this δ below a lead of "
        f"{plan.approximate_lower_bound:,.1f}, with δ = 0 {pure}."
    )


def _table(plan: Plan, cell: Callable[[Need], str], *, proved: bool = False) -> str:
    """A cell for each mechanism and shape; names to the left, figures to the right."""
    rows = [["mechanism", *(str(shape).replace("_", " ") for shape in _SHAPES), "proved"]]
    for row in plan.rows:
        star = " *" if row.mechanism == plan.recommendation.mechanism else ""
        rows.append([row.mechanism + star, *(cell(row.need(shape)) for shape in _SHAPES), f"{ceil(row.proved_gap):,}"])
    names, *columns = zip(*rows, strict=True)
    shown = columns if proved else columns[:-1]
    padded = [
        [name.ljust(max(map(len, names))) for name in names],
        *([text.rjust(max(map(len, column))) for text in column] for column in shown),
    ]
    return "\n".join("  ".join(line).rstrip() for line in zip(*padded, strict=True))


_POINTS = 50
_CERTAIN = 1 - 1e-4  # from here on a curve is drawn as 1 without computing it


def _draw(axes: Axes, plan: Plan, shape: Shape) -> None:
    needed = [row.need(shape).gap for row in plan.rows]
    gaps = np.geomspace(max(0.5, min(needed) / 4), 1.3 * max(needed), _POINTS)
    for mechanism in usable(plan.epsilon, plan.delta, plan.neighbors, candidates=plan.candidates):
        style = "-" if mechanism.name == plan.recommendation.mechanism else "--"
        axes.plot(gaps, _curve(mechanism, shape, gaps.tolist(), plan.candidates), style, label=mechanism.name)
    if plan.gap is not None:
        axes.axvline(plan.gap, color="#999999", linewidth=1)
    axes.axhline(plan.success, color="#999999", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel(f"lead of the best itemset over the second, in units ({str(shape).replace('_', ' ')})")
    axes.set_ylabel("probability of finding the best")
    axes.set_title(f"ε = {plan.epsilon}, δ = {float(plan.delta):g}, {str(plan.neighbors).replace('_', '-')}")
    axes.legend()


def _curve(mechanism: Mechanism, shape: Shape, gaps: list[float], candidates: int | None) -> list[float]:
    """Success at increasing leads: it increases, so once it is certain it stays so."""
    curve: list[float] = []
    for gap in gaps:
        certain = bool(curve) and curve[-1] >= _CERTAIN
        curve.append(1.0 if certain else success_probability(mechanism, stylised(shape, gap, candidates)))
    return curve
