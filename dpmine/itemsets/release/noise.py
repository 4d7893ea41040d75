"""Noise for supports that are released together: discrete Laplace by ε or discrete Gaussian by ρ, and how far it goes.

One privacy unit changes each of m supports by at most 1, under both relations: their vector has L1 sensitivity m and
L2 sensitivity √m. So Laplace noise grows like m, Gaussian noise like √m, from a larger start.
Proof: docs/proofs/noisy_supports.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, isqrt, log, sqrt
from typing import TYPE_CHECKING, Self

from dpmine.exact.noise import discrete_gaussian, discrete_laplace_of_scale
from dpmine.exact.reals import above, below, decimal_below, exact_ball, working_precision
from dpmine.later import flint
from dpmine.ledger.budget import Accounting, Amount
from dpmine.parameters import exact_share, whole
from dpmine.privacy import Zcdp, decimal
from dpmine.selection.recommend import least
from dpmine.zcdp import rho_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.exact.bits import BitSource
    from dpmine.exact.reals import Ball
    from dpmine.markup import Document
    from dpmine.parameters import Number


_NOTHING = Zcdp(Fraction(0))
LEVEL = Fraction(95, 100)
"""How probable it is, at least, that an interval holds the true support."""
_FIRST_BITS = 128
_RHO_DIGITS = 12
_ROUND_DIGITS = 6  # of a round's ε, a decimal number
_SUMMED = 4096  # numbers whose probabilities are added up; beyond them, integrals bound the tail closely enough


@dataclass(frozen=True, slots=True)
class SupportNoise(ABC):
    """Independent noise of one distribution on each of `count` supports, and what it uses of the budget in total."""

    @property
    @abstractmethod
    def zcdp(self) -> Zcdp:
        """What the noisy supports use under zCDP."""

    @abstractmethod
    def part(self, share: Fraction) -> Self:
        """The noise that uses this share of the budget."""

    @abstractmethod
    def variance(self, count: int) -> Fraction:
        """At most this, for the noise of one of `count` supports."""

    @abstractmethod
    def draw(self, count: int, *, bits: BitSource) -> int:
        """The noise of one of `count` supports."""

    @abstractmethod
    def describe(self, count: int) -> str:
        """The distribution of one noise, in words."""

    @abstractmethod
    def to_dict(self) -> Document:
        """JSON-ready: the name of the noise, and what all supports use together."""

    def half_width(self, count: int, level: Number = LEVEL) -> int:
        """A whole t ≥ 0 with Pr[|X| ≤ t] ≥ `level`, certified, for X the noise of one of `count` supports, in units.

        The least t; Gaussian noise beyond 4096 may get one that is larger by 1.
        Raises BadParameter for a count below 1, or a level that is not strictly between 0 and 1.
        """
        return self._half_width(whole("count", count), exact_share("level", level), together=1)

    def simultaneous_half_width(self, count: int, level: Number = LEVEL) -> int:
        """A whole t ≥ 0 with Pr[all of `count` independent noises within ±t] ≥ `level`, in units; as above."""
        return self._half_width(whole("count", count), exact_share("level", level), together=count)

    @abstractmethod
    def exponential_rounds(self, count: int) -> Fraction:
        """ε_0 of `count` rounds of the exponential mechanism, one after the other, that use the budget in its place."""

    @abstractmethod
    def sum_half_width(self, count: int, terms: int, level: Fraction) -> int:
        """A whole t ≥ 0 with Pr[|X_1 + … + X_m| ≤ t] ≥ `level`, certified, for m = `terms` independent noises.

        By Chernoff's bound 2 e^{−r(t + 1)} E[e^{rX}]^m, which holds for every rate r, or a closer one.
        """

    @abstractmethod
    def _half_width(self, count: int, level: Fraction, *, together: int) -> int:
        """A t for which `together` noises, each of one of `count` supports, are within ±t with probability `level`."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(SupportNoise):
    """Pr[x] ∝ e^{−ε|x|/m} for m supports: ε-private.

    Source: Ghosh, Roughgarden & Sundararajan 2012 (the distribution); Canonne, Kamath & Steinke 2020, algorithm 2 (the
    draw).
    """

    epsilon: Fraction

    @property
    def zcdp(self) -> Zcdp:
        """ε²/2."""
        return Zcdp.implied(self.epsilon, Fraction(0))

    def part(self, share: Fraction) -> Self:
        """By that share of ε."""
        return replace(self, epsilon=self.epsilon * share)

    def variance(self, count: int) -> Fraction:
        """2m²/ε²: that of Laplace noise, which is a little larger than that of whole numbers."""
        return 2 * (l1_sensitivity(count) / self.epsilon) ** 2

    def draw(self, count: int, *, bits: BitSource) -> int:
        """Of scale m/ε."""
        return discrete_laplace_of_scale(l1_sensitivity(count) / self.epsilon, bits=bits)

    def exponential_rounds(self, count: int) -> Fraction:
        """ε/k."""
        return self.epsilon / count

    def sum_half_width(self, count: int, terms: int, level: Fraction) -> int:
        """For E[e^{rX}] = (1 − q)²/((1 − q e^r)(1 − q e^{−r})) with q = e^{−ε/m}; r is about the best."""
        rate, large = self.epsilon / count, log(2 / (1 - level))
        tilt = rate * Fraction(sqrt(large / (large + terms)))

        def formula() -> Ball:
            moment = 2 * _one_less(rate).log() - _one_less(rate - tilt).log() - _one_less(rate + tilt).log()
            return (terms * moment - exact_ball((1 - level) / 2).log()) / exact_ball(tilt)

        return _ceiling(formula) - 1

    def __str__(self) -> str:
        return Amount(self.epsilon).shown(Accounting.BASIC, decimal)

    def to_dict(self) -> Document:
        """(ε, 0)."""
        return {"noise": "laplace", **Amount(self.epsilon).to_dict("epsilon", "delta")}

    def describe(self, count: int) -> str:
        """With the scale."""
        return f"discrete Laplace noise of scale {decimal(count / self.epsilon)}"

    def _half_width(self, count: int, level: Fraction, *, together: int) -> int:
        """Pr[|X| > t] = 2 q^{t+1}/(1 + q) for q = e^{−ε/m}: at most β where t + 1 ≥ ln(2/((1 + q) β))/(ε/m)."""
        rate = self.epsilon / count

        def formula() -> Ball:
            base = (exact_ball(2) / (1 + (-exact_ball(rate)).exp())).log()
            return (base - _outside(level, together).log()) / exact_ball(rate)

        return _ceiling(formula) - 1


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(SupportNoise):
    """Pr[x] ∝ e^{−ρx²/m} for m supports, that is σ² = m/(2ρ): ρ-zCDP.

    Source: Canonne, Kamath & Steinke 2020, Theorem 4 (privacy) and algorithm 3 (the draw).
    """

    rho: Fraction

    @classmethod
    def within(cls, epsilon: Fraction, delta: Fraction, beside: Zcdp = _NOTHING) -> Self | None:
        """For the ρ of (ε, δ), or what is left of it `beside` another release; None where nothing is."""
        if beside.delta >= delta:
            return None
        rho = rho_at(epsilon, delta - beside.delta) - beside.rho
        return cls(decimal_below(rho, _RHO_DIGITS)) if rho > 0 else None

    @property
    def zcdp(self) -> Zcdp:
        """ρ."""
        return Zcdp(self.rho)

    def part(self, share: Fraction) -> Self:
        """By that share of ρ."""
        return replace(self, rho=self.rho * share)

    def variance(self, count: int) -> Fraction:
        """σ² = m/(2ρ)."""
        return squared_l2_sensitivity(count) / (2 * self.rho)

    def draw(self, count: int, *, bits: BitSource) -> int:
        """Of variance parameter σ²."""
        return discrete_gaussian(self.variance(count), bits=bits)

    def exponential_rounds(self, count: int) -> Fraction:
        """√(8ρ/k), rounded down: a round is ε_0²/8-zCDP."""
        root = below(lambda: exact_ball(8 * self.rho / count).sqrt(), _FIRST_BITS)
        return decimal_below(root, _ROUND_DIGITS)

    def sum_half_width(self, count: int, terms: int, level: Fraction) -> int:
        """For E[e^{rX}] ≤ e^{r²σ²/2}: the best r gives √(2mσ² ln(2/β)).

        Where σ ≥ 1, X is no more likely to be large than G + 1, for Gaussian G (docs/proofs/discovery.md, section 2).
        Whichever is less.
        """
        twice = 2 * terms * self.variance(count)

        def chernoff() -> Ball:
            return (-exact_ball(twice) * exact_ball((1 - level) / 2).log()).sqrt()

        def gauss() -> Ball:
            return terms + exact_ball(twice).sqrt() * exact_ball(1 - level).erfcinv()

        return min(map(_ceiling, [chernoff, gauss] if self.variance(count) >= 1 else [chernoff])) - 1

    def __str__(self) -> str:
        return "Gaussian noise, at what the selection leaves"

    def to_dict(self) -> Document:
        """ρ."""
        return {"noise": "gaussian", **Amount(rho=self.rho).to_dict("rho")}

    def describe(self, count: int) -> str:
        """With σ, about."""
        return f"discrete Gaussian noise, σ about {float(self.variance(count)) ** 0.5:.3g}"

    def _half_width(self, count: int, level: Fraction, *, together: int) -> int:
        """By bisection of the certified tail: an undecided comparison counts as a no."""
        tail = GaussianTail(self.variance(count))

        def suffices(width: int) -> bool:
            with working_precision(_FIRST_BITS):
                return bool(tail.beyond(width) <= _outside(level, together))

        return least(suffices, start=0)


@dataclass(frozen=True, slots=True)
class GaussianTail:
    """Pr[|X| > w] for the discrete Gaussian of parameter σ² = `variance`, in balls of the working precision."""

    variance: Fraction

    def beyond(self, width: int) -> Ball:
        """Pr[|X| > width], for a whole width ≥ 0; beyond 4096 an upper bound, close for widths above σ."""
        if width <= _SUMMED:
            return 1 - self._within(width) / self._total()
        sigma = exact_ball(2 * self.variance).sqrt()
        start = exact_ball(width if width**2 < self.variance else width + Fraction(1, 2))
        return (start / sigma).erfc() * sigma * flint.arb.pi().sqrt() / self._total()

    def _within(self, width: int) -> Ball:
        """Σ e^{−x²/(2σ²)} over |x| ≤ width: each term is made of the one before it."""
        rate = exact_ball(1 / (2 * self.variance))
        shrink, square = (-2 * rate).exp(), (-rate).exp()  # of the ratio of neighbours; the first ratio
        total, term = exact_ball(0), exact_ball(1)
        for _ in range(width):
            term *= square
            square *= shrink
            total += term
        return 1 + 2 * total

    def _total(self) -> Ball:
        """The sum over all whole numbers, of whichever of Poisson's two forms converges fast."""
        twice = 2 * self.variance
        if twice < 1:
            return self._theta(exact_ball(1 / twice))
        spread = exact_ball(twice)
        return (flint.arb.pi() * spread).sqrt() * self._theta(flint.arb.pi() ** 2 * spread)

    @staticmethod
    def _theta(rate: Ball) -> Ball:
        """1 + 2 Σ e^{−rate·k²}, for rate ≥ 1: what is left out is below 4 e^{−rate·(K+1)²}.

        Not by powers of e^{−rate}: where that is a ball around 0, they are not numbers.
        """
        total, last = exact_ball(1), isqrt(2 * _FIRST_BITS) + 1
        for k in range(1, last + 1):
            total += 2 * (-rate * (k * k)).exp()
        return total + flint.arb(0, 1) * 4 * (-rate * (last + 1) ** 2).exp()


def l1_sensitivity(count: int) -> Fraction:
    """How far one unit moves a vector of `count` supports, in all: by 1 each, under replace_one and add_remove."""
    return Fraction(count)


def squared_l2_sensitivity(count: int) -> Fraction:
    """The same in squares: a sum of `count` numbers of at most 1."""
    return Fraction(count)


def level_of_one(releases: int) -> Fraction:
    """With what probability the intervals of each of W `releases` must hold, for all to hold with `LEVEL`.

    (1 − β/W)^W ≥ 1 − β, by Bernoulli's inequality: each release has noise of its own, whatever was released before.
    """
    return 1 - (1 - LEVEL) / releases


def narrower(laplace: DiscreteLaplace, gaussian: DiscreteGaussian | None, count: int) -> SupportNoise:
    """Whichever noise keeps `count` supports within the narrower joint interval; Laplace where they are equal.

    By public parameters alone: none is looked at twice, and no result is.
    """
    if gaussian is None or laplace.simultaneous_half_width(count) <= gaussian.simultaneous_half_width(count):
        return laplace
    return gaussian


def _outside(level: Fraction, together: int) -> Ball:
    """β = 1 − level^{1/together}, without a loss of digits where it is small."""
    return -((-exact_ball(1 - level)).log1p() / together).expm1()


def _one_less(exponent: Fraction) -> Ball:
    """1 − e^{−x}, without a loss of digits where x is small."""
    return -(-exact_ball(exponent)).expm1()


def _ceiling(formula: Callable[[], Ball]) -> int:
    """The least whole number that is not below a real number; that must not be whole itself."""
    bits = _FIRST_BITS
    while True:
        with suppress(OverflowError):  # so few digits that a logarithm's ball contained 0
            low, high = ceil(below(formula, bits)), ceil(above(formula, bits))
            if low == high:
                return high
        bits *= 2
