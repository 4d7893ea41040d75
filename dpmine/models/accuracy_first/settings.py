"""The public parameters of a search, read and checked before any data, and what they come to for n rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import decimal_above
from dpmine.models.accuracy_first.noise_reduction import require_increasing
from dpmine.models.accuracy_first.threshold_search import DIGITS, SearchOutcome, ThresholdTest, exponential_test
from dpmine.models.linear.preprocessing import shortened
from dpmine.models.supervised import MISSING_NOTE
from dpmine.parameters import Number, positive, whole
from dpmine.privacy import ExPostGuarantee, Neighbors, float_above

if TYPE_CHECKING:
    from dpmine.models.accuracy_first.noisy_hypotheses import Method
    from dpmine.models.accuracy_first.objectives import Objective, RiskBounds
    from dpmine.models.contribution import SharedBudget
    from dpmine.models.entries import Floats


PUBLIC_ROWS = "This needs neighbors='replace_one': the number of rows enters every sensitivity, so it is public."
DEFAULT_STEPS = 100
"""More are finer, at more ε for tests; fewer may miss what would do (docs/explanation/measured/accuracy_first.md)."""
DEFAULT_SLACK = 1
_SMALLEST_SHARE = Fraction(1, 1000)  # of the largest level that the first one may be
_MOST_STEPS = 100_000  # more are a mistake: levels as near as that do not differ
_LARGEST_RIDGE = Fraction(10**50)  # beyond it bounds overflow


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """The public numbers of one search.

    Attributes:
        target: α, the excess risk that is asked for, in units of the scaled risk.
        test: whether α − excess is above 0.
        epsilons: ε_1 < … < ε_T, of the hypotheses.
        sensitivities: how far one record moves the excess risk of hypotheses of each norm.
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
            excesses = objective.excess_risks(hypotheses)
            return [
                (allowed - Fraction(float(excess))) / Fraction(float(width))
                for excess, width in zip(excesses, widths, strict=True)
            ]

        return answers


@dataclass(frozen=True, slots=True)
class AccuracySettings:
    """What a fit needs to know, apart from data: `AccuracyFirstRidge` makes it of its parameters."""

    excess_risk: Fraction
    regularization: Fraction
    failure: Fraction
    shared: SharedBudget
    """Of the records of one privacy unit; `epsilons` and all that a search comes to are those of one record."""
    delta: Fraction
    """δ of one record, 0 where the method spends none."""
    method: Method
    epsilons: tuple[Fraction, ...] | None
    steps: int
    slack: Fraction
    units: UnitBox

    def __post_init__(self) -> None:
        """BadParameter for λ and bounds that floats cannot hold together."""
        if self.units.regularization(self.regularization) > _LARGEST_RIDGE:
            raise BadParameter("regularization is too large for this x_bound: take a smaller one.")

    @property
    def ridge(self) -> float:
        """λ for scaled rows."""
        return float_above(self.units.regularization(self.regularization))

    def terms(self, bounds: RiskBounds) -> SearchTerms:
        """What a search on this number of rows comes to.

        Raises BadParameter, by public numbers alone, where the target is out of reach for epsilon_max.
        """
        target = self.units.risk(self.excess_risk)
        if 2 * Fraction(bounds.rounding) >= target:
            raise BadParameter(
                f"excess_risk is lost in rounding: take one far above {self._in_units(2.0 * bounds.rounding)}."
            )
        widest = float(bounds.sensitivities(np.array([bounds.radius]))[0])
        test = self.test_of((target - Fraction(bounds.rounding)) / Fraction(widest))
        room = self.shared.row_epsilon - test.charge
        self._require_room(room, test, bounds)
        return SearchTerms(target, test, self._levels(room, bounds.size), bounds.sensitivities)

    def guarantee(self) -> ExPostGuarantee:
        """The most that a search will charge for the unit."""
        return self._of_charge(self.shared.row_epsilon)

    def _of_charge(self, charge: Fraction, *notes: str) -> ExPostGuarantee:
        reserved = self.shared.row_epsilon
        of_record = ExPostGuarantee(reserved, self.delta, Neighbors.REPLACE_ONE, "row", ex_post_epsilon=charge)
        return self.shared.of_unit(of_record).noting(*notes)

    def realised(self, outcome: SearchOutcome, bounds: RiskBounds) -> ExPostGuarantee:
        """The realised privacy loss of the search, and what its result rests on."""
        clipped = f"rows are clipped to the public bound {float(self.units.x_bound):g} on their L1 norm"
        if self.units.y_bound is not None:
            clipped += f", targets to ±{float(self.units.y_bound):g}"
        notes = [self._test_note(outcome), clipped, MISSING_NOTE]
        if self.units.risk(self.excess_risk) >= Fraction(bounds.trivial):
            notes.append(
                f"weights of 0 are within {self._in_units(bounds.trivial)} of the best: the target asks for less"
            )
        return self._of_charge(outcome.charge, *notes)

    def _test_note(self, outcome: SearchOutcome) -> str:
        target, odds = f"{float(self.excess_risk):g}", f"{float(self.failure):g}"
        if outcome.step is None:
            return f"no hypothesis passed the test for an excess risk of {target}: nothing is known of the last one"
        return (
            f"the chance of accepting a model whose excess risk, on the clipped rows, is above {target} was at most "
            f"{odds}"
        )

    def test_of(self, allowed: Fraction) -> ThresholdTest:
        """The test of a target in units of the largest sensitivity."""
        return exponential_test(self.slack * allowed, tests=self.steps, failure=self.failure)

    def _in_units(self, risk: float) -> str:
        """A scaled risk in the user's units, for reading."""
        return f"{risk * float(self.units.y_unit) ** 2:.4g}"

    def _require_room(self, room: Fraction, test: ThresholdTest, bounds: RiskBounds) -> None:
        largest_level = Fraction(0) if self.epsilons is None else self.epsilons[-1]
        if room > 0 and room >= largest_level:
            return
        charge, reserved = float(test.charge * self.shared.rows), float(self.shared.epsilon)
        if room > 0:
            raise BadParameter(
                f"The largest of the epsilons and the test's {charge:.6g} are beyond epsilon_max: end at "
                f"{float(room * self.shared.rows):.6g}, or raise epsilon_max."
            )
        enough = 2.0 * float(self.units.risk(self.excess_risk)) * charge / reserved
        advice = f"Start from {self._in_units(enough)}, or"
        if enough >= bounds.trivial:
            advice = f"No useful target is in reach (weights of 0 are within {self._in_units(bounds.trivial)}):"
        raise BadParameter(
            f"excess_risk is out of reach: testing for it takes ε = {charge:.4g} alone, and epsilon_max is "
            f"{reserved:.4g}. {advice} take more rows, a larger regularization or a smaller x_bound, "
            "which lower the charge for testing."
        )

    def _levels(self, room: Fraction, size: int) -> tuple[Fraction, ...]:
        if self.epsilons is not None:
            return self.epsilons
        return geometric_levels(min(Fraction(1, size), room * _SMALLEST_SHARE), room, self.steps)


def geometric_levels(first: Fraction, last: Fraction, steps: int) -> tuple[Fraction, ...]:
    """At most `steps` increasing levels from about `first` to `last`, each a fixed ratio above the one before.

    Requires: 0 < first, 0 < last. With `first` at or above `last` there is one level.
    """
    if steps == 1 or first >= last:
        return (last,)
    powers = np.geomspace(float(first), float(last), steps)[:-1]
    levels = sorted({decimal_above(Fraction(float(power)), DIGITS) for power in powers})
    return (*(level for level in levels if level < last), last)


def given_number(name: str, value: Number | None, meaning: str) -> Fraction:
    """A positive number, read exactly. Raises BadParameter, with the meaning of one that is missing."""
    if value is None:
        raise BadParameter(f"{name} must be given: {meaning}, such as {name}=0.1.")
    return positive(name, value)


def whole_steps(steps: int) -> int:
    """The number of privacy levels. Raises BadParameter."""
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


_INSIDE = 1 - Fraction(1, 2**30)
"""Keeps the exact L1 norm of every computed row at most 1: rounding is far smaller, for up to millions of columns."""


@dataclass(frozen=True, slots=True)
class UnitBox:
    """x ↦ x/c and y ↦ y/h after clipping, or (x, r)/c with a constant column for an intercept; both public.

    Attributes:
        x_bound: r > 0, bound on ‖x‖₁; longer rows are shortened to it.
        y_bound: bound on |y|; None for classes, which have no unit.
        intercept: whether there is a constant column, of value r, in the user's units.
    """

    x_bound: Fraction
    y_bound: Fraction | None
    intercept: bool

    @property
    def x_unit(self) -> Fraction:
        """c: what x is divided by."""
        return self.x_bound * (1 + self.intercept) / _INSIDE

    @property
    def y_unit(self) -> Fraction:
        """h: what y is divided by."""
        return Fraction(1) if self.y_bound is None else self.y_bound / _INSIDE

    def regularization(self, given: Fraction) -> Fraction:
        """λ/c², so that (λ/2)‖w‖² means what the user meant."""
        return given / self.x_unit**2

    def risk(self, given: Fraction) -> Fraction:
        """A risk in the user's units, divided by h²."""
        return given / self.y_unit**2

    def rows(self, features: Floats, signs: Floats | None = None) -> Floats:
        """Rows of exact L1 norm at most 1, shape (n, p) or (n, p + 1), each times its sign where signs are given.

        Total: a row beyond the bound is shortened to it; one whose norm is too large for a float becomes 0. A row
        depends on that row alone.
        """
        share = float(_INSIDE / (1 + self.intercept))
        with np.errstate(over="ignore", under="ignore"):
            norms = np.abs(features).sum(axis=1)
            return shortened(features, norms, float(self.x_bound), share, signs, constant=self.intercept)

    def inside(self, features: Floats) -> Floats:
        """Rows shortened to the bound as `rows` does, in the user's units: a model decides on these."""
        bound = float(self.x_bound)
        with np.errstate(over="ignore", under="ignore"):
            norms = np.abs(features).sum(axis=1)
            return np.asarray(features * (bound / np.maximum(bound, norms))[:, np.newaxis])

    def targets(self, y: Floats) -> Floats:
        """Targets clipped to the bound, in [−1, 1]."""
        bound = float(self.y_unit * _INSIDE)
        return np.clip(y, -bound, bound) * float(_INSIDE) / bound

    def split(self, weights: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept that give rows within the bound, in the user's units, the same prediction."""
        inner = weights * float(self.y_unit / self.x_unit)
        return (inner[:-1], float(inner[-1] * float(self.x_bound))) if self.intercept else (inner, 0.0)
