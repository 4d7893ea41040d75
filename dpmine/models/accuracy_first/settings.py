"""The public parameters of a search, read and checked before any data, and what they come to for n rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.accuracy_first.above_threshold import ThresholdTest, exponential_test, laplace_test
from dpmine.models.accuracy_first.levels import geometric_levels, require_increasing
from dpmine.models.accuracy_first.units import Units
from dpmine.models.accuracy_first.variants import Method, Variant
from dpmine.models.linear.sensitivities import float_above
from dpmine.models.supervised import MISSING_NOTE
from dpmine.parameters import named, positive, probability, truth, whole
from dpmine.privacy import ExPostGuarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.models.accuracy_first.objective import Bounds, Objective
    from dpmine.models.accuracy_first.search import Outcome
    from dpmine.models.supervised import Floats
    from dpmine.parameters import Number

DEFAULT_STEPS = 100
"""More are finer, and their tests cost more; fewer may jump over what would do (docs/explanation/experiments.md)."""
DEFAULT_SLACK = 1
_SMALLEST_SHARE = Fraction(1, 1000)  # of the largest level that the first one may be
_MOST_STEPS = 100_000  # more are a mistake: levels as near as that do not differ
_LARGEST_RIDGE = Fraction(10**50)  # beyond it bounds overflow


@dataclass(frozen=True, slots=True)
class Terms:
    """The public numbers of one search.

    Attributes:
        target: α, the excess risk that is asked for, in units of the scaled risk.
        test: whether α − excess is above 0.
        epsilons: ε_1 < … < ε_T, of the hypotheses.
        sensitivities: how far one record moves the gap of hypotheses of each norm.
    """

    target: Fraction
    test: ThresholdTest
    epsilons: tuple[Fraction, ...]
    sensitivities: Callable[[Floats], Floats]

    def queries(self, objective: Objective) -> Callable[[Floats], list[Fraction]]:
        """(α − excess risk)/Δ(θ) for every row θ: below 0 for every excess above α, whatever rounding does.

        Each is in units of its own sensitivity, which is public once the hypothesis is released.
        """
        allowed = self.target - Fraction(objective.bounds.rounding)

        def answers(hypotheses: Floats) -> list[Fraction]:
            widths = self.sensitivities(np.linalg.norm(hypotheses, axis=1))
            gaps = objective.gaps(hypotheses)
            return [
                (allowed + Fraction(float(gap))) / Fraction(float(width))
                for gap, width in zip(gaps, widths, strict=True)
            ]

        return answers


@dataclass(frozen=True, slots=True)
class Settings:
    """What a fit needs to know, apart from data; made by `Settings.of`."""

    excess_risk: Fraction
    regularization: Fraction
    failure: Fraction
    epsilon_max: Fraction
    delta: Fraction
    method: Method
    epsilons: tuple[Fraction, ...] | None
    steps: int
    slack: Fraction
    test: Variant
    radius: Variant
    units: Units
    rows: int = 1
    """Records of one privacy unit, which share its budget: `epsilon_max`, `epsilons` and `delta` are those of one."""

    @classmethod
    def of(
        cls,
        *,
        excess_risk: Number | None,
        regularization: Number | None,
        failure_probability: Number,
        epsilon_max: Number,
        x_bound: Number | None,
        y_bound: Number | None,
        method: str,
        methods: frozenset[Method],
        delta: Number,
        steps: int,
        epsilons: Sequence[Number] | None,
        slack: Number,
        test: str,
        radius: str,
        fit_intercept: bool,
        neighbors: str | Neighbors,
        rows: int = 1,
    ) -> Settings:
        """Every number read exactly. Raises BadParameter for unusable parameters."""
        _require_replace_one(neighbors)
        kind = named(Method, "method", method)
        if kind not in methods:
            raise BadParameter("method must be 'output' or 'brownian': covariances do not make a logistic regression.")
        levels, number = None if epsilons is None else given_levels(epsilons), _steps(steps)
        spent = probability("delta", delta)
        return cls(
            _given("excess_risk", excess_risk, "the excess risk to reach"),
            _given("regularization", regularization, "λ of the penalty (λ/2)‖w‖²"),
            probability("failure_probability", failure_probability),
            positive("epsilon_max", epsilon_max),
            spent if kind is Method.BROWNIAN else Fraction(0),
            kind,
            levels,
            number if levels is None else len(levels),
            positive("slack", slack),
            named(Variant, "test", test),
            named(Variant, "radius", radius),
            Units(
                _given("x_bound", x_bound, "a public bound on the L1 norm of a row"),
                None if y_bound is None else positive("y_bound", y_bound),
                truth("fit_intercept", fit_intercept),
            ),
            rows,
        )

    def __post_init__(self) -> None:
        """BadParameter for λ and bounds that floats cannot hold together."""
        if self.units.regularization(self.regularization) > _LARGEST_RIDGE:
            raise BadParameter("regularization is too large for this x_bound: take a smaller one.")

    def requested(self) -> dict[str, str]:
        """Target, λ and bounds as exact texts."""
        named = {
            "excess_risk": self.excess_risk,
            "regularization": self.regularization,
            "failure_probability": self.failure,
            "epsilon_max": self.epsilon_max,
            "x_bound": self.units.x_bound,
            "y_bound": self.units.y_bound,
        }
        return {name: str(value) for name, value in named.items() if value is not None}

    @property
    def ridge(self) -> float:
        """λ for scaled rows."""
        return float_above(self.units.regularization(self.regularization))

    def terms(self, bounds: Bounds) -> Terms:
        """What a search on so many rows comes to.

        Raises BadParameter, by public numbers alone, where the target is out of reach for epsilon_max.
        """
        target = self.units.risk(self.excess_risk)
        if 2 * Fraction(bounds.rounding) >= target:
            raise BadParameter(
                f"excess_risk is lost in rounding: take one far above {self._in_units(2.0 * bounds.rounding)}."
            )
        widest = float(bounds.sensitivities(np.array([bounds.radius]))[0])
        test = self._test((target - Fraction(bounds.rounding)) / Fraction(widest))
        room = self.epsilon_max - test.price
        self._require_room(room, test, bounds)
        if self.test is Variant.SHARP:
            return Terms(target, test, self._levels(room, bounds.size), bounds.sensitivities)
        return Terms(target, test, self._levels(room, bounds.size), lambda norms: np.full(len(norms), widest))

    def promise(self) -> ExPostGuarantee:
        """The most that a search will cost."""
        most = self.epsilon_max
        return ExPostGuarantee(most, self.delta, Neighbors.REPLACE_ONE, "row", ex_post_epsilon=most)

    def guarantee(self, outcome: Outcome, bounds: Bounds) -> ExPostGuarantee:
        """What the search cost, and what its result rests on."""
        clipped = f"rows are clipped to the public bound {float(self.units.x_bound):g} on their L1 norm"
        if self.units.y_bound is not None:
            clipped += f", targets to ±{float(self.units.y_bound):g}"
        notes = [
            self._promise(outcome),
            clipped,
            MISSING_NOTE,
        ]
        if self.units.risk(self.excess_risk) >= Fraction(bounds.trivial):
            notes.append(
                f"weights of 0 are within {self._in_units(bounds.trivial)} of the best: the target asks for less"
            )
        return replace(self.promise(), notes=tuple(notes), ex_post_epsilon=outcome.price)

    def _promise(self, outcome: Outcome) -> str:
        target, odds = f"{float(self.excess_risk):g}", f"{float(self.failure):g}"
        if outcome.step is None:
            return f"no hypothesis passed the test for an excess risk of {target}: nothing is promised of the last one"
        return (
            f"the chance of accepting a model whose excess risk, on the clipped rows, is above {target} was at most "
            f"{odds}"
        )

    def _test(self, allowed: Fraction) -> ThresholdTest:
        """The test of a target in units of the largest sensitivity."""
        if self.test is Variant.SHARP:
            return exponential_test(self.slack * allowed, tests=self.steps, failure=self.failure)
        return laplace_test(allowed, tests=self.steps, failure=self.failure)

    def _in_units(self, risk: float) -> str:
        """A scaled risk in the user's units, for reading."""
        return f"{risk * float(self.units.y_unit) ** 2:.4g}"

    def _require_room(self, room: Fraction, test: ThresholdTest, bounds: Bounds) -> None:
        least = Fraction(0) if self.epsilons is None else self.epsilons[-1]
        if room > 0 and room >= least:
            return
        cost, most = float(test.price * self.rows), float(self.epsilon_max * self.rows)
        if room > 0:
            raise BadParameter(
                f"The largest of the epsilons and the test's {cost:.6g} are beyond epsilon_max: end at "
                f"{float(room * self.rows):.6g}, or raise epsilon_max."
            )
        enough = 2.0 * float(self.units.risk(self.excess_risk)) * cost / most
        advice = f"Start from {self._in_units(enough)}, or"
        if enough >= bounds.trivial:
            advice = f"No useful target is in reach (weights of 0 are within {self._in_units(bounds.trivial)}):"
        raise BadParameter(
            f"excess_risk is out of reach: testing for it costs ε = {cost:.4g} alone, and epsilon_max is "
            f"{most:.4g}. {advice} take more rows, a larger regularization or a smaller x_bound, "
            "which make tests cheaper."
        )

    def _levels(self, room: Fraction, size: int) -> tuple[Fraction, ...]:
        if self.epsilons is not None:
            return self.epsilons
        return geometric_levels(min(Fraction(1, size), room * _SMALLEST_SHARE), room, self.steps)


def _given(name: str, value: Number | None, meaning: str) -> Fraction:
    if value is None:
        raise BadParameter(f"{name} must be given: {meaning}.")
    return positive(name, value)


def _steps(steps: int) -> int:
    number = whole("steps", steps)
    if number > _MOST_STEPS:
        raise BadParameter(f"steps must be at most {_MOST_STEPS}.")
    return number


def given_levels(epsilons: object) -> tuple[Fraction, ...]:
    """Out of a list, a tuple, a range or an array: parameters are read more than once, and an iterator cannot be."""
    listed: object = epsilons.tolist() if isinstance(epsilons, np.ndarray) else epsilons
    if isinstance(listed, str | bytes | bytearray) or not isinstance(listed, Sequence):
        raise BadParameter("epsilons must be a list of increasing privacy levels, or None.")
    levels = tuple(positive("epsilons", epsilon) for epsilon in listed)
    require_increasing(levels)
    return levels


def _require_replace_one(neighbors: str | Neighbors) -> None:
    if Neighbors.parse(neighbors) is not Neighbors.REPLACE_ONE:
        raise BadParameter(
            "This needs neighbors='replace_one': the number of rows enters every sensitivity, so it is public."
        )
