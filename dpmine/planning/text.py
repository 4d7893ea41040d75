"""A plan as text."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from dpmine.selection.laws.profile import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.planning.results import Need, Plan, Row

_SHAPES = (Shape.POWER_LAW, Shape.NEAR_TIES, Shape.ALONE)
_LEGEND = (
    "power law: supports fall off as in real baskets; near ties: ten runners-up with 9/10 of the best support;\n"
    "alone: nobody has any other itemset; proved: enough whatever the others look like. (* recommended)"
)


def plan_text(plan: Plan) -> str:
    """What is asked, the leads needed, the inverse question where it was asked, bounds and the recommendation."""
    parts = [_question(plan), _leads(plan), _LEGEND]
    if plan.gap is not None:
        parts += [
            f"With a lead of {plan.gap}: success probability, and the least ε for {plan.success:g}",
            _inverse(plan),
        ]
    return "\n\n".join([*parts, _impossible(plan), plan.recommendation.reason])


def _question(plan: Plan) -> str:
    low, high = plan.sizes
    sizes = f"{low}" if low == high else f"{low} to {high}"
    catalogue = "unknown items" if plan.candidates is None else f"{plan.catalogue_size:,} items of a public catalogue"
    relation = str(plan.neighbors).replace("_", "-")
    return (
        f"Top itemset of size {sizes} from {catalogue}; ε = {plan.epsilon}, δ = {float(plan.delta):g}, {relation}.\n"
        f"Lead over the second, in {_unit(plan)}, for success with probability {plan.success:g}:"
    )


def _unit(plan: Plan) -> str:
    return "units" if plan.units is None else f"units (of {plan.units:,})"


def _leads(plan: Plan) -> str:
    rows = [
        [_name(plan, row), *(_lead(row.need(shape)) for shape in _SHAPES), f"{ceil(row.proved_gap):,}"]
        for row in plan.rows
    ]
    return _table(["mechanism", *map(_title, _SHAPES), "proved"], rows)


def _lead(need: Need) -> str:
    if need.gap_share is None or need.support_share is None:
        return f"{need.gap:,}"
    return f"{need.gap:,} (too few units)" if need.support_share > 1 else f"{need.gap:,} ({need.gap_share:.2%})"


def _inverse(plan: Plan) -> str:
    rows = [[_name(plan, row), *(_odds(row.need(shape)) for shape in _SHAPES)] for row in plan.rows]
    return _table(["mechanism", *map(_title, _SHAPES)], rows)


def _odds(need: Need) -> str:
    epsilon = "none" if need.least_epsilon is None else f"{float(need.least_epsilon):g}"
    return f"{need.success_at_gap:.3f} (ε {epsilon})"


def _impossible(plan: Plan) -> str:
    if plan.pure_lower_bound is None:
        pure = "with δ = 0 at any lead, as nobody knows the candidates"
    else:
        pure = f"with δ = 0 below {plan.pure_lower_bound:,.1f}"
    return (
        "No mechanism finds a winner that stands alone more often than not with this δ below a lead of "
        f"{plan.approximate_lower_bound:,.1f}, {pure}."
    )


def _name(plan: Plan, row: Row) -> str:
    return f"{row.mechanism} *" if row.mechanism == plan.recommendation.mechanism else row.mechanism


def _title(shape: Shape) -> str:
    return str(shape).replace("_", " ")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            _cell(cell, width, place) for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    )


def _cell(cell: str, width: int, place: int) -> str:
    """Names to the left, figures to the right."""
    return cell.rjust(width) if place else cell.ljust(width)
