"""Two ways to reach a target without noise reduction, to compare it with: doubling the budget, and trusting a theorem.

Both use the objectives, the hypotheses and the exact randomness of the estimators, so that only the method differs.
Proof of every bound: docs/proofs/models/excess_risk.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import Constant, LaplaceNoise, above, decimal_above, draw, less_than, logarithm
from dpmine.models.accuracy_first.noise_reduction import noise_reduction, require_increasing
from dpmine.models.accuracy_first.noisy_hypotheses import Method, falling_noise
from dpmine.models.accuracy_first.objectives import LogisticBounds, RidgeBounds
from dpmine.models.accuracy_first.settings import AccuracySettings, SearchTerms
from dpmine.models.accuracy_first.threshold_search import DIGITS, SearchOutcome, ThresholdTest
from dpmine.models.linear.sensitivities import up
from dpmine.parameters import positive, probability

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.accuracy_first.objectives import Objective, RiskBounds
    from dpmine.models.entries import Floats
    from dpmine.parameters import Number

_BITS = 128
_NO_DELTA = Fraction(0)
_LEAST_ODDS = 2
"""Of K/(2γ): where even a coin would fail seldom enough, a test still costs something."""


class Variant(StrEnum):
    """Of the test, of the radius of the ball, and of the constants of a theorem."""

    SHARP = "sharp"
    """This project's: the same guarantee for less."""
    PAPER = "paper"
    """As in Ligett et al. 2017."""


class PaperRidgeBounds(RidgeBounds):
    """With the paper's ball, of radius √(1/λ)."""

    @cached_property
    def radius(self) -> float:
        """B."""
        return up(1.0 / math.sqrt(self.ridge))


class PaperLogisticBounds(LogisticBounds):
    """With the paper's ball, of radius √(2 ln 2/λ)."""

    @cached_property
    def radius(self) -> float:
        """B."""
        return up(math.sqrt(2.0 * math.log(2.0) / self.ridge))


class PaperSettings(AccuracySettings):
    """With the paper's test: Laplace noise, and one sensitivity for all hypotheses; `slack` does not matter."""

    @classmethod
    def like(cls, settings: AccuracySettings) -> PaperSettings:
        """The same settings, but for the test."""
        return cls(*(getattr(settings, field.name) for field in fields(settings)))

    def terms(self, bounds: RiskBounds) -> SearchTerms:
        """See `AccuracySettings`."""
        widest = float(bounds.sensitivities(np.array([bounds.radius]))[0])
        return replace(AccuracySettings.terms(self, bounds), sensitivities=lambda norms: np.full(len(norms), widest))

    def test_of(self, allowed: Fraction) -> ThresholdTest:
        """See `laplace_test`."""
        return laplace_test(allowed, tests=self.steps, failure=self.failure)


def laplace_test(target: Fraction, *, tests: int, failure: Fraction) -> ThresholdTest:
    """ρ ~ Lap(2/ε_0), ν_t ~ Lap(4/ε_0), W = α/2, ε_0 = 16 ln(2T/γ)/α, for a `target` α in units of sensitivity.

    Accepting a query below 0 has probability ≤ γ = `failure`; accepting costs ε_0, accepting none ε_0/2.
    Source: Ligett et al. 2017, Algorithm 3.
    """
    charge = decimal_above(above(lambda: 16 * logarithm(2 * tests / failure), _BITS) / target, DIGITS)
    return ThresholdTest(target / 2, LaplaceNoise(2 / charge), LaplaceNoise(4 / charge), charge, charge / 2)


@dataclass(frozen=True, slots=True)
class Doubling:
    """The public numbers of a search by doubling; made by `Doubling.of`.

    Attributes:
        epsilons: ε_1, 2ε_1, …, K of them, one for each fresh hypothesis.
        allowed: α less the rounding of a risk: a computed excess above it may stand for one above α.
        width: Δ, how far one record moves a computed excess of a hypothesis in the ball.
        charge: ε_test, of one test.
    """

    epsilons: tuple[Fraction, ...]
    allowed: Fraction
    width: Fraction
    charge: Fraction

    @classmethod
    def of(cls, bounds: RiskBounds, *, target: Number, failure: Number, epsilon_max: Number) -> Doubling:
        """ε_1 = 1/n, the last of the K levels is the first not below `epsilon_max`; ε_test = (2Δ/α) ln(max(K/(2γ), 2)).

        `target` is α, in units of the scaled risk; `failure` is γ, of which each test takes a share of 1/K.
        Raises BadParameter for numbers out of range, and for a target that is lost in rounding.
        """
        goal, odds = positive("target", target), probability("failure", failure)
        rounding = Fraction(bounds.rounding)
        if 2 * rounding >= goal:
            raise BadParameter("target is lost in rounding: take a larger one, or a larger regularization.")
        epsilons = doubled_levels(Fraction(1, bounds.size), positive("epsilon_max", epsilon_max))
        width = Fraction(float(bounds.sensitivities(np.array([bounds.radius]))[0]))
        allowed = goal - rounding
        tries = max(len(epsilons) / (2 * odds), Fraction(_LEAST_ODDS))
        charge = above(lambda: logarithm(tries), _BITS) * 2 * width / allowed
        return cls(epsilons, allowed, width, decimal_above(charge, DIGITS))

    def accepts(self, excess: Fraction, *, bits: BitSource) -> bool:
        """Whether excess + Lap(Δ/ε_test) ≤ α/2, decided exactly; of an excess above α with probability ≤ γ/K."""
        noise = draw(LaplaceNoise(self.width / self.charge), bits=bits)
        return less_than(noise, Constant(self.allowed / 2 - excess), bits=bits)

    def cost(self, steps: int) -> Fraction:
        """Σ (ε_j + ε_test) over the first `steps` levels: every hypothesis and every test is charged for."""
        return sum(self.epsilons[:steps], steps * self.charge)


def doubled_levels(first: Fraction, last: Fraction) -> tuple[Fraction, ...]:
    """ε, 2ε, 4ε, … from `first` > 0 up to the first that is not below `last`; at least one."""
    levels = [first]
    while levels[-1] < last:
        levels.append(2 * levels[-1])
    return tuple(levels)


def doubling(objective: Objective, method: Method, search: Doubling, *, bits: BitSource) -> SearchOutcome:
    """The first hypothesis that its test accepts, each with noise of its own; or the last one.

    Costs `search.cost(t)` where t hypotheses were tried: a sum, as each has noise of its own.
    Law: hypothesis j is accepted with probability F(α/2 − its excess), F of Lap(Δ/ε_test), if none was before. With
    probability at least 1 − γ, none whose excess is above α is accepted.
    Raises BadParameter for Brownian noise, whose δ would be paid at every level.
    Source: Ligett et al. 2017, section 4, the baseline "DoublingMethod"; every test is charged for here.
    """
    require_pure(method)
    require_increasing(search.epsilons)
    for steps, epsilon in enumerate(search.epsilons, start=1):
        weights = one_hypothesis(objective, method, epsilon, bits=bits)
        excess = Fraction(float(objective.excess_risks(weights[np.newaxis])[0]))
        if search.accepts(excess, bits=bits):
            return SearchOutcome(steps - 1, weights, search.cost(steps))
    return SearchOutcome(None, weights, search.cost(len(search.epsilons)))


@dataclass(frozen=True, slots=True)
class Untested:
    """A hypothesis that no test has seen: what is guaranteed of it is an expectation only."""

    weights: Floats
    """Shape (p,)."""
    charge: Fraction
    """ε, known beforehand."""


def from_theory(
    objective: Objective, method: Method, target: Number, *, constants: Variant = Variant.PAPER, bits: BitSource
) -> Untested:
    """One hypothesis, at the level at which a theorem guarantees the target on average; nothing is tested.

    Costs that level, `theory_level`. Raises BadParameter as that does.
    The sharp bound of outputs is for noise that is not projected on the ball, so there it is not.
    """
    epsilon = theory_level(objective.bounds, method, target, constants)
    free = method is Method.OUTPUT and constants is Variant.SHARP
    make = _noisy_minimiser if free else partial(one_hypothesis, method=method)
    return Untested(make(objective, epsilon=epsilon, bits=bits), epsilon)


def _noisy_minimiser(objective: Objective, *, epsilon: Fraction, bits: BitSource) -> Floats:
    bounds = objective.bounds
    sensitivity = Fraction(up(math.sqrt(bounds.dimension) * bounds.distance))
    return next(iter(noise_reduction(objective.minimiser, sensitivity, [epsilon], bits=bits)))


def one_hypothesis(objective: Objective, method: Method, epsilon: Fraction, *, bits: BitSource) -> Floats:
    """A hypothesis of a pure method for ε and nothing else, shape (p,)."""
    return next(iter(falling_noise(objective, method, [epsilon], _NO_DELTA, bits=bits)))


def theory_level(bounds: RiskBounds, method: Method, target: Number, constants: Variant = Variant.PAPER) -> Fraction:
    """The ε at which a bound a/ε + b/ε² on the expected excess risk is the target α, rounded up to six digits.

    Requires: λ ≤ 1. Raises BadParameter for Brownian noise, for α ≤ 0 and for covariances of anything but ridge.
    """
    require_pure(method)
    linear, square = expected_excess(bounds, method, constants)
    goal = float(positive("target", target))
    root = (linear + math.sqrt(linear * linear + 4.0 * goal * square)) / (2.0 * goal)
    return decimal_above(Fraction(up(root)), DIGITS)


def expected_excess(bounds: RiskBounds, method: Method, constants: Variant) -> tuple[float, float]:
    """(a, b) with E[L(θ) − L(θ*)] ≤ a/ε + b/ε² for a hypothesis at level ε, but for rounding to the lattice.

    PAPER, the published bounds, corrected. Covariance: a = 4√2(2√(p/λ) + p/λ)/n. Output: a = g√(2p)·S, b = pS², where
    losses have slope at most g in the ball, and S = 2√p·g/(nλ); g = 1 for logistic regression, B + 1 for ridge.
    SHARP, this project's, for the noise that is used here. Covariance: the noise at θ* averages 0, and that at θ is at
    most B²‖N‖_F/2 + B‖z‖, where N and z are the noise on XᵀX and Xᵀy. Output: the gradient at θ* is 0, and the mean of
    bᵀHb/2, H the Hessian, is half the trace of H times the variance of a coordinate of the noise b.
    Source: Ligett et al. 2017, Theorems 3.1 to 3.3.
    """
    if method is Method.COVARIANCE:
        if not isinstance(bounds, RidgeBounds):
            raise BadParameter("method must be 'output' or 'brownian': covariances only make a ridge regression.")
        return (_paper_covariance(bounds) if constants is Variant.PAPER else _sharp_covariance(bounds)), 0.0
    return _paper_output(bounds) if constants is Variant.PAPER else (0.0, _sharp_output(bounds))


def _paper_covariance(bounds: RidgeBounds) -> float:
    ratio = bounds.dimension / bounds.ridge
    return 4.0 * math.sqrt(2.0) * (2.0 * math.sqrt(ratio) + ratio) / bounds.size


def _sharp_covariance(bounds: RidgeBounds) -> float:
    """Entries have variance 2(4/ε)² on the diagonal of N and in z, and a quarter of it elsewhere in N."""
    columns, radius = bounds.dimension, bounds.radius
    matrix = bounds.statistics * math.sqrt(columns * (columns + 3) / 2.0)
    vector = bounds.statistics * math.sqrt(2.0 * columns)
    return (radius * radius * matrix / 2.0 + radius * vector) / bounds.size


def _paper_output(bounds: RiskBounds) -> tuple[float, float]:
    slope = bounds.radius + 1.0 if isinstance(bounds, RidgeBounds) else 1.0
    spread = 2.0 * math.sqrt(bounds.dimension) * slope / (bounds.size * bounds.ridge)
    return slope * math.sqrt(2.0 * bounds.dimension) * spread, bounds.dimension * spread * spread


def _sharp_output(bounds: RiskBounds) -> float:
    """The trace of H is ≤ c + pλ, where ℓ'' ≤ c and ‖x‖₂ ≤ 1; the variance is 2S²/ε², with S = √p·distance."""
    curvature = 1.0 if isinstance(bounds, RidgeBounds) else 0.25
    trace = curvature + bounds.dimension * bounds.ridge
    return trace * bounds.dimension * bounds.distance**2


def require_pure(method: Method) -> None:
    """BadParameter for Brownian noise."""
    if method is Method.BROWNIAN:
        raise BadParameter("method must be 'covariance' or 'output': at one level, Brownian noise has no advantage.")
