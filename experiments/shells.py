"""How many hypotheses are nearly as good as the best, and which mechanism gains by that. NOT private.

For public or synthetic data only: everything here is a plain function of the records, without any noise. The shell H(t)
holds the hypotheses with at most e_min + t errors. Proof of the two guarantees, with their constants:
docs/proofs/models/hypothesis_classes.md, section "Shells".
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import floor, log
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpmine.io.atomic import new_figure
from dpmine.parameters import Number, positive, probability
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.mechanisms.large_margin import LargeMargin
from dpmine.selection.mechanisms.mechanism import lead_sensitivity
from dpmine.selection.recommend import build_mechanism

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dpmine.models.pac.hypothesis import HypothesisClass, Records

C = TypeVar("C", bound="Hashable")

LARGE_MARGIN = "large_margin"
EXPONENTIAL = "exponential"

_ROUNDED_UP = 1 + 2.0**-40  # far more than the rounding of the few operations behind a margin
_LINES = 12  # of the table of shells
_COLOURS = ("#2a6f97", "#bc4749", "#6a994e")
_GRID = "#d9d9d9"


@dataclass(frozen=True, slots=True)
class Shells:
    """Sizes of the shells of a class on some records, and what two mechanisms guarantee there. NOT private.

    "Excess errors" are errors on these records beyond those of the best hypothesis.

    Attributes:
        hypotheses: what the class is called.
        size: |H|.
        records: m.
        least_errors: e_min, the errors of the best hypothesis.
        excesses: the t at which shells grow, increasing, the first 0.
        sizes: |H(t)| at these t, increasing, the last |H|.
        epsilon: ε of the mechanisms.
        delta: δ of large_margin.
        failure: η; each guarantee holds with probability at least 1 − η.
        neighbors: the relation; the exponential mechanism guarantees more under add_remove.
        near: ℓ*, the least ℓ with |H(γ*(ℓ))| ≤ ℓ; at most |H|.
        margin: γ*(ℓ*), in records.
        large_margin: (6/ε) ln(2ℓ*/η), the excess errors that large_margin guarantees.
        exponential: (2/ε) ln(|H|/η), or half of it under add_remove: what the exponential mechanism guarantees.
    """

    hypotheses: str
    size: int
    records: int
    least_errors: int
    excesses: tuple[int, ...]
    sizes: tuple[int, ...]
    epsilon: Fraction
    delta: Fraction
    failure: Fraction
    neighbors: Neighbors
    near: int
    margin: float
    large_margin: float
    exponential: float

    def within(self, excess: float) -> int:
        """|H(t)|: how many hypotheses have at most e_min + t errors; 0 for t < 0."""
        return _within(self.excesses, self.sizes, excess)

    @property
    def better(self) -> str:
        """The mechanism that guarantees fewer excess errors; "exponential", which needs no δ, in a tie."""
        return LARGE_MARGIN if self.large_margin < self.exponential else EXPONENTIAL

    @property
    def is_empty(self) -> bool:
        """Whether the better guarantee says nothing: no hypothesis of the class has more excess errors."""
        return min(self.large_margin, self.exponential) >= self.excesses[-1]

    def reached(self, mechanism: str) -> int | None:
        """The least t with Pr[excess errors ≤ t] ≥ 1 − η, by the exact law of a mechanism. NOT private.

        The guarantees hold for all records; this is what happens on these. None where the mechanism chooses nothing
        with a probability above η. In float64; where there are thousands of shells, margin mechanisms take seconds.
        Raises BadParameter and NotPrivate as `select` does.
        """
        chooser = build_mechanism(
            mechanism, epsilon=self.epsilon, delta=self.delta, neighbors=self.neighbors, candidates=self.size
        )
        scores = tuple(float(self.records - self.least_errors - excess) for excess in self.excesses)
        counts = tuple(after - before for before, after in pairwise((0, *self.sizes)))
        chosen = chooser.distribution(Profile(scores, counts))
        if chosen.nothing > self.failure:
            return None
        place = int(np.searchsorted(np.cumsum(chosen.masses), float(1 - self.failure)))
        return self.excesses[min(place, len(self.excesses) - 1)]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "private": False,
            "class": self.hypotheses,
            "size": self.size,
            "records": self.records,
            "least_errors": self.least_errors,
            "shells": [
                {"excess": excess, "hypotheses": size} for excess, size in zip(self.excesses, self.sizes, strict=True)
            ],
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "failure": float(self.failure),
            "neighbors": str(self.neighbors),
            "near": self.near,
            "margin": self.margin,
            "guarantees": {LARGE_MARGIN: self.large_margin, EXPONENTIAL: self.exponential},
            "better": self.better,
            "empty": self.is_empty,
        }

    def __str__(self) -> str:
        return "\n".join([*self._heading(), *self._table(), *self._guarantees()])

    def plot(self, ax: Any = None) -> Any:
        """|H(t)| by t with both guarantees and the margin, on new axes where none are given; the axes. NOT private."""
        axes = new_figure(8, 4.5).subplots() if ax is None else ax
        right = 1.3 * max(self.margin, self.large_margin, self.exponential)  # what is farther off decides nothing
        axes.step(
            [*self.excesses, max(right, self.excesses[-1])],
            [*map(float, self.sizes), float(self.size)],
            where="post",
            color=_COLOURS[0],
        )
        axes.axvline(self.large_margin, color=_COLOURS[1], label="large_margin guarantees")
        axes.axvline(self.exponential, color=_COLOURS[2], label="exponential guarantees")
        axes.axvline(
            self.margin, color=_COLOURS[1], linestyle="--", linewidth=1, label="margin that large_margin needs"
        )
        axes.set_yscale("log")
        axes.set_xlim(0, right)
        axes.set_xlabel("t, errors beyond the best hypothesis")
        axes.set_ylabel("hypotheses with at most e_min + t errors")
        axes.set_title(f"Shells of {self.hypotheses}: NOT private")
        axes.set_axisbelow(True)
        axes.grid(visible=True, color=_GRID, linewidth=0.6)
        axes.legend()
        return axes

    def _heading(self) -> list[str]:
        guarantee = f"ε = {self.epsilon}, δ = {float(self.delta):g}, {str(self.neighbors).replace('_', '-')}"
        return [
            f"Shells of {self.hypotheses}: {self.size} hypotheses, {self.records} records. NOT private.",
            f"The best hypothesis has {self.least_errors} errors. {guarantee}.",
        ]

    def _table(self) -> list[str]:
        """As many lines as are read at a glance, t growing ever faster."""
        places = np.unique(np.geomspace(1, len(self.excesses), _LINES).round().astype(int) - 1).tolist()
        rows = [(str(self.excesses[place]), str(self.sizes[place])) for place in places]
        left, right = (max(map(len, column)) for column in zip(("t", "|H(t)|"), *rows, strict=True))
        return [f"  {excess:>{left}}  {size:>{right}}" for excess, size in [("t", "|H(t)|"), *rows]]

    def _guarantees(self) -> list[str]:
        sure = f"with probability {float(1 - self.failure):g}"
        empty = [f"Neither says anything: no hypothesis has more than {self.excesses[-1]}."] if self.is_empty else []
        near = f"(hypotheses within its margin of {self.margin:.1f}: {self.near})"
        return [
            f"large_margin: at most {self.large_margin:.1f} more errors {sure} {near}",
            f"exponential:  at most {self.exponential:.1f} more errors {sure}",
            *empty,
            f"The better guarantee: {self.better}.",
        ]


def shells(
    records: Records,
    hypotheses: HypothesisClass[C],
    *,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    failure: Number = 0.05,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
) -> Shells:
    """The shells of a class on public or synthetic records. NOT private: the sizes are exact.

    Args:
        records: m ≥ 0 records, public or synthetic.
        hypotheses: a finite class.
        epsilon: ε > 0 of both mechanisms.
        delta: δ in (0, 1) of large_margin.
        failure: η in (0, 1), the probability with which a guarantee may fail.
        neighbors: "replace_one" or "add_remove".

    Raises BadParameter for numbers out of range. Source: Chaudhuri, Hsu & Song 2014, Corollary 2 and Theorem 3, with
    the constants written out and shells counted on the records.
    """
    relation = Neighbors.parse(neighbors)
    exact = positive("epsilon", epsilon), probability("delta", delta), probability("failure", failure)
    budget, delta, eta = map(float, exact)
    universe = hypotheses.universe(records)
    levels = universe.head(universe.least)
    best = levels[0].score
    excesses = tuple(int(best - level.score) for level in levels)
    sizes = tuple(accumulate(level.count for level in levels))
    margin = _margin(budget, delta, eta)
    near = _near(excesses, sizes, margin)
    return Shells(
        hypotheses=type(hypotheses).__name__.lower(),
        size=sizes[-1],
        records=len(records),
        least_errors=len(records) - int(best),
        excesses=excesses,
        sizes=sizes,
        epsilon=exact[0],
        delta=exact[1],
        failure=exact[2],
        neighbors=relation,
        near=near,
        margin=margin(near),
        large_margin=6 / budget * (log(2 * near) - log(eta)),
        exponential=float(lead_sensitivity(relation)) / budget * (log(sizes[-1]) - log(eta)),
    )


def _within(excesses: tuple[int, ...], sizes: tuple[int, ...], excess: float) -> int:
    """|H(t)|, for whole and other t."""
    place = bisect_right(excesses, floor(excess))
    return sizes[place - 1] if place else 0


def _margin(epsilon: float, delta: float, failure: float) -> Callable[[int], float]:
    """γ*(ℓ) = (21/ε) ln(3/η) + T(ℓ), rounded up."""
    search = LargeMargin(Fraction(epsilon), Fraction(delta), Neighbors.REPLACE_ONE).search()
    constant = 21 / epsilon * log(3 / failure)
    return lambda rank: _ROUNDED_UP * (constant + float(search.threshold(np.array([float(rank)]))[0]))


def _near(excesses: tuple[int, ...], sizes: tuple[int, ...], margin: Callable[[int], float]) -> int:
    """The least ℓ with |H(γ*(ℓ))| ≤ ℓ, by iteration from below.

    ℓ ↦ |H(γ*(ℓ))| increases, so no step goes beyond the least such ℓ, and where a step stands still it is reached; the
    values are sizes of shells, so there are at most as many steps as shells.
    """
    near, found = 0, sizes[0]
    while found > near:
        near, found = found, _within(excesses, sizes, margin(found))
    return near
