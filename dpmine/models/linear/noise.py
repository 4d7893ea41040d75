"""The noise vectors of the two perturbations: their distributions, how they are drawn, and how long they are.

A vector R is a tuple of exact reals, each known as closely as asked for. Floating point enters in one place only,
`NoiseVector.floats`, which says by how much; that bound goes into the solver's tolerance, which the guarantee covers.
What is released is `NoiseVector.rounded_sum`: the exact real sum, rounded to a public grid, which is post-processing of
the continuous mechanism. `dpmine.models.linear.perturbations` adds the vectors.
Proofs: docs/proofs/models/objective_perturbation.md, docs/proofs/models/gaussian_perturbation.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial, reduce
from math import exp, inf, lgamma, sqrt
from operator import add, mul
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dpmine.exact.reals import (
    GUARD_BITS,
    Ball,
    Formula,
    Real,
    StandardExponential,
    exact_ball,
    floor,
    standard_normals,
    working_precision,
)
from dpmine.gaussian import profile, ratio_at
from dpmine.later import flint
from dpmine.models.linear.sensitivities import RELATIVE_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats
    from dpmine.zcdp import RenyiBounds

_FARTHEST = Fraction(1_733, 1_000)
"""Above √3: how many standard deviations away a privacy loss of ε' must be for the theorem of the tilt."""
_SLOPES = 32  # trials of the share of a bend that is charged
_RENYI_BITS, _NARROW = 128, 2.0**-24  # of the balls, and of the search for a rate
RADIUS_FAILURE = Fraction(1, 2**40)
"""How rarely the noise leaves the ball that weights are projected on: a matter of accuracy, not of privacy."""
_CELLS = 100_000  # of a mixture; its tail is bounded from above, by at most one cell
_NARROW_RADIUS = 2.0**-20  # of the search for a quantile
_REST = Fraction(1, 1024)  # of δ: for losses of a record that does not pull on the gradient


class NoiseVector:
    """One draw of R ∈ ℝ^d: the same numbers however often they are asked for."""

    def __init__(self, coordinates: tuple[Real, ...], *, bits: BitSource) -> None:
        """Requires: at least one coordinate. Bits are read where more digits are needed."""
        self._bits = bits
        self.coordinates = coordinates

    def floats(self) -> tuple[Floats, float]:
        """The coordinates as float64, and a bound on the distance to the exact R: at most `RELATIVE_ERROR` ‖floats‖."""
        widths = self._bits.widths()
        while True:
            width = next(widths)
            with working_precision(width + GUARD_BITS):
                balls = [coordinate.ball(width) for coordinate in self.coordinates]
            middles = np.array([float(ball.mid()) for ball in balls])
            norm = float(np.linalg.norm(middles))
            error = 2.0 * sum(float(ball.rad()) for ball in balls) + 2.0**-52 * norm
            if error <= RELATIVE_ERROR * norm:
                return middles, error

    def rounded_sum(self, origin: Floats, scale: Fraction, grid: Fraction) -> Floats:
        """`origin` + `scale`·R, each coordinate rounded exactly to the nearest multiple of `grid` (a power of two)."""
        half = Fraction(1, 2)  # the floor of a number plus 1/2 is the nearest whole number
        sums = [
            floor(Formula(partial(_affine, Fraction(float(start)) / grid + half, scale / grid), noise), bits=self._bits)
            for start, noise in zip(origin, self.coordinates, strict=True)
        ]
        return np.array([float(whole * grid) for whole in sums])


class Tilt(NamedTuple):
    """The noise in an objective, and its share of ε.

    Attributes:
        epsilon: α', what is left of ε for the change of the gradient.
        rate: A; the tilt is (2/(nA))R.
    """

    epsilon: Fraction
    rate: Fraction


class VectorNoise(ABC):
    """A distribution of noise vectors, and how much of it a budget needs; hashable, equal when it is the same one."""

    __slots__ = ()
    name: ClassVar[str]
    """The name users know it by."""
    notes: ClassVar[tuple[str, ...]] = ()
    """What a guarantee says of it."""

    @property
    @abstractmethod
    def delta(self) -> Fraction:
        """The δ that one release spends."""

    @abstractmethod
    def draw(self, dimension: int, *, bits: BitSource) -> NoiseVector:
        """One vector R of that many coordinates, at least 1."""

    @abstractmethod
    def quantile(self, dimension: int, failure: Fraction) -> float:
        """An r with P(‖R‖ > r) ≤ `failure`, for 0 < failure < 1: a quantile, rounded up."""

    @abstractmethod
    def coordinate_quantile(self, dimension: int, failure: float) -> float:
        """An r with P(|R_1| > r) ≤ `failure`, for one coordinate of R, rounded up: about the least."""

    @abstractmethod
    def length(self, dimension: int) -> float:
        """E‖R‖, in floats: for rules of accuracy."""

    @abstractmethod
    def output_rate(self, epsilon: Fraction) -> Fraction:
        """The largest A for which v + (Δ/A)R is (ε, δ)-private, where one example moves v by at most Δ."""

    @abstractmethod
    def tilt(self, epsilon: Fraction, determinant: Fraction, leverage: Fraction | None = None) -> Tilt:
        """The noise of the tilt that ε and the noise's δ allow, after the determinant of the Hessian.

        `determinant` bounds the logarithm by which one example changes the determinant. `leverage`, where given, is a
        k: an example whose loss has the slope −a changes the determinant by a factor of at most 1 + ka(1 − a).
        """

    def rho(self, _epsilon: Fraction) -> Fraction | None:
        """ρ of output perturbation under zCDP; None for no more than what is guaranteed besides implies."""
        return None


@dataclass(frozen=True, slots=True)
class GammaNoise(VectorNoise):
    """Density proportional to e^{−‖r‖₂}: pure privacy.

    The norm is Gamma(d, 1), a sum of d standard exponentials; the direction is uniform, that of d normal variables.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithms 1 and 2.
    """

    name: ClassVar[str] = "gamma"

    @property
    def delta(self) -> Fraction:
        """None."""
        return Fraction(0)

    def draw(self, dimension: int, *, bits: BitSource) -> NoiseVector:
        """Normal coordinates, stretched to the norm."""
        norm = Formula(_sum, *[StandardExponential(bits=bits) for _ in range(dimension)])
        normals = standard_normals(dimension, bits=bits)
        stretch = Formula(_stretch, norm, *normals)
        return NoiseVector(tuple(Formula(mul, normal, stretch) for normal in normals), bits=bits)

    def quantile(self, dimension: int, failure: Fraction) -> float:
        """The quantile of Gamma(d, 1)."""
        return _norm_quantile(Fraction(dimension), failure, 1)

    def coordinate_quantile(self, dimension: int, failure: float) -> float:
        """That of a mixture of normal variables."""
        return _gamma_coordinate(dimension, failure)

    def length(self, dimension: int) -> float:
        """The mean of Gamma(d, 1), which is d."""
        return float(dimension)

    def output_rate(self, epsilon: Fraction) -> Fraction:
        """A = ε: the density changes by a factor of at most e^{A‖v − v'‖/Δ}."""
        return epsilon

    def tilt(self, epsilon: Fraction, determinant: Fraction, leverage: Fraction | None = None) -> Tilt:  # noqa: ARG002
        """A = α' = ε − `determinant`, likewise."""
        return Tilt(epsilon - determinant, epsilon - determinant)


class _NormalNoise(VectorNoise):
    """Independent standard normal coordinates: noise of length √d, not d."""

    __slots__ = ()
    name: ClassVar[str] = "gaussian"
    notes: ClassVar[tuple[str, ...]] = ("Gaussian noise, which spends δ; noise='gamma' spends none",)

    def draw(self, dimension: int, *, bits: BitSource) -> NoiseVector:
        """Normal coordinates."""
        return NoiseVector(tuple(standard_normals(dimension, bits=bits)), bits=bits)

    def quantile(self, dimension: int, failure: Fraction) -> float:
        """The quantile of the chi distribution: ‖R‖²/2 is Gamma(d/2, 1)."""
        return _norm_quantile(Fraction(dimension, 2), failure, 2)

    def coordinate_quantile(self, dimension: int, failure: float) -> float:  # noqa: ARG002 - they are independent
        """That of the normal distribution."""
        from scipy.special import ndtri

        return float(-ndtri(failure / 2.0)) * (1.0 + _NARROW_RADIUS)

    def length(self, dimension: int) -> float:
        """√2 Γ((d + 1)/2)/Γ(d/2), about √d."""
        return sqrt(2.0) * exp(lgamma((dimension + 1) / 2.0) - lgamma(dimension / 2.0))


@dataclass(frozen=True, slots=True)
class GaussianNoise(_NormalNoise):
    """Normal noise for (ε, δ)-privacy, sized by privacy profiles.

    Source: Balle & Wang 2018 (output); Kifer, Smith & Thakurta 2012 and Redberg, Koskela & Wang 2023 (objective).
    Proof: docs/proofs/models/gaussian_perturbation.md.

    Attributes:
        delta: δ in (0, 1).
    """

    delta: Fraction = field()  # or the property of the base would be its default

    def output_rate(self, epsilon: Fraction) -> Fraction:
        """Of the Gaussian mechanism's exact privacy profile."""
        return ratio_at(epsilon, self.delta)

    def tilt(self, epsilon: Fraction, determinant: Fraction, leverage: Fraction | None = None) -> Tilt:
        """A of the same profile, which bounds that of the tilt where α'/A − A/2 ≥ √3.

        With a `leverage` k, every t in [1/2, 1] is a bound, too. Then k(1 − t)² is charged instead of the determinant,
        if the profile at (ε − kt², A/2) is within a small part of δ. The largest such t is charged the least.
        """
        for step in range(_SLOPES // 2):
            if leverage is None:
                break
            t = 1 - Fraction(step, _SLOPES)
            charged, other = leverage * (1 - t) ** 2, epsilon - leverage * t**2
            if charged >= determinant:
                break
            if other <= 0:
                continue
            rate = ratio_at(epsilon - charged, self.delta * (1 - _REST), _FARTHEST)
            if profile(other, rate / 2) <= self.delta * _REST:
                return Tilt(epsilon - charged, rate)
        return Tilt(epsilon - determinant, ratio_at(epsilon - determinant, self.delta, _FARTHEST))

    def rho(self, epsilon: Fraction) -> Fraction | None:
        """A²/2."""
        return self.output_rate(epsilon) ** 2 / 2


@dataclass(frozen=True, slots=True)
class RenyiNoise(_NormalNoise):
    """Normal noise for Rényi divergences of at most ξ + ρα at a few orders, in the place of (ε, δ).

    ε stands for the smallest of these bounds: what is missing of it was spent on something that counts at all orders.
    Proof: docs/proofs/models/gaussian_perturbation.md, section 6.

    Attributes:
        bounds: what a training keeps to.
    """

    bounds: RenyiBounds

    @property
    def delta(self) -> Fraction:
        """None: it belongs to what the bounds imply."""
        return Fraction(0)

    def output_rate(self, epsilon: Fraction) -> Fraction:
        """The divergence of order α is αA²/2."""
        return _renyi_rate(self.bounds, self.bounds.least - epsilon, _gaussian_divergence)

    def tilt(self, epsilon: Fraction, determinant: Fraction, leverage: Fraction | None = None) -> Tilt:  # noqa: ARG002
        """The divergence of order α is `determinant` + αA²/2 + ln(Φ(x) + e^{−x²/2}/2)/(α − 1), x = (α − 1)A."""
        spent = self.bounds.least - epsilon + determinant
        return Tilt(epsilon - determinant, _renyi_rate(self.bounds, spent, _tilt_divergence))


@lru_cache(maxsize=4096)
def _renyi_rate(bounds: RenyiBounds, spent: Fraction, divergence: Callable[[Fraction, Fraction], Ball]) -> Fraction:
    """About the largest A whose divergences, and what is spent beside them, are certainly within the bounds.

    Requires: `spent` is less than the smallest of them.
    """

    def allowed(rate: float) -> bool:
        with working_precision(_RENYI_BITS):
            return all(
                bool(divergence(order, Fraction(rate)) <= exact_ball(bounds.at(order) - spent))
                for order in bounds.orders
            )

    low, high = 0.0, 1.0
    while allowed(high):
        low, high = high, 2.0 * high
    while not low or high - low > low * _NARROW:
        middle = (low + high) / 2.0
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return Fraction(low)


def _gaussian_divergence(order: Fraction, rate: Fraction) -> Ball:
    return exact_ball(order * rate**2 / 2)


def _tilt_divergence(order: Fraction, rate: Fraction) -> Ball:
    away = exact_ball((order - 1) * rate)
    likely = 1 - (away / flint.arb(2).sqrt()).erfc() / 2
    more = (likely + (-away * away / 2).exp() / 2).log() / exact_ball(order - 1)
    return _gaussian_divergence(order, rate) + more


def _affine(shift: Fraction, factor: Fraction, noise: Ball) -> Ball:
    return exact_ball(shift) + exact_ball(factor) * noise


def _sum(*parts: Ball) -> Ball:
    return reduce(add, parts)


def _stretch(norm: Ball, *normals: Ball) -> Ball:
    """What the normals are multiplied by to have that norm."""
    return norm / _sum(*[normal * normal for normal in normals]).sqrt()


@lru_cache(maxsize=1024)
def _norm_quantile(shape: Fraction, failure: Fraction, power: int) -> float:
    """The least r found with P(G > r^power/power) ≤ `failure` for G of the distribution Gamma(shape, 1), rounded up.

    By bisection on the regularised upper incomplete gamma function in ball arithmetic.
    """
    with working_precision(192):
        target, order = exact_ball(failure), exact_ball(shape)

        def suffices(radius: float) -> bool:
            return bool((flint.arb(radius) ** power / power).gamma_upper(order, regularized=True) < target)

        return _least(suffices)


@lru_cache(maxsize=64)
def _gamma_coordinate(dimension: int, failure: float) -> float:
    """An r with P(|R_1| > r) ≤ `failure` for gamma noise.

    A vector of density e^{−‖r‖} in d dimensions is √V times a normal one, where V has the distribution
    Gamma((d + 1)/2, 2). Both have the characteristic function (1 + ‖s‖²)^{−(d+1)/2}.
    So P(|R_1| > r) = E erfc(r/√(2V)), an increasing function of V.
    """
    from scipy.special import erfc, gammaincinv

    ends = np.sqrt(4.0 * gammaincinv((dimension + 1) / 2.0, np.arange(1, _CELLS + 1) / _CELLS))  # √(2V), the last is ∞

    def suffices(radius: float) -> bool:
        return float(erfc(radius / ends).mean()) <= failure

    farthest = GammaNoise().quantile(dimension, RADIUS_FAILURE)  # far beyond what the cells can distinguish
    return _least(suffices, farthest)


def _least(suffices: Callable[[float], bool], farthest: float = inf) -> float:
    """About the least radius that suffices, rounded up; nothing is asked of those beyond the `farthest`."""
    low, high = 0.0, 1.0
    while not suffices(high) and high < farthest:
        high *= 2.0
    while high - low > high * _NARROW_RADIUS:
        middle = (low + high) / 2.0
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
