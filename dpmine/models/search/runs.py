"""How often a search trains, and what each run may spend: certified, rounded to be private.

The number of runs is drawn exactly. What it does to a privacy loss follows from its generating function.

Each run is private by itself, and only the best of K runs is released. Let f be the generating function of K. The best
is y with probability Q(y) f'(x). It is averaged over x between the probability that a run is worse than y and that it
is not better. So the total privacy loss is that of a run and what f' can change by.
Proof: docs/proofs/models/search.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import exp, expm1, log, log1p, sqrt
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.exact.reals import (
    GUARD_BITS,
    Ball,
    Uniform,
    above,
    below,
    decimal_below,
    exact_ball,
    logarithm,
    working_precision,
)
from dpmine.parameters import Number, exact_number, named, positive
from dpmine.privacy import ROW, Guarantee, Neighbors, Zcdp
from dpmine.zcdp import RenyiBounds, best_order, epsilon_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.exact.bits import BitSource

_BITS = 192
_DIGITS = 9  # of γ and μ, of a run's ε and ρ: decimal numbers
_MEAN_STEPS, _BUDGET_STEPS = 200, 60  # of bisections for γ and μ, and for a run's ε and ρ
_REMEMBERED = 256
_BASE = Fraction(1, 6)
"""Of ε: for what trainings spend at every Rényi order alike, such as the change of a determinant."""
_TOO_SMALL = "Each run would get nothing: epsilon is too small for this many runs, or delta too large. Give fewer runs."
MOST_RUNS = 10_000
"""The largest mean number of runs."""
_SHAPES = Fraction(-9, 10), 1000  # of η: nearer to −1, a mean of 10,000 asks for a γ that no float holds


class Stopping(ABC):
    """A distribution of the number of runs K ≥ 1 with Pr[K = k + 1] / Pr[K = k] rational."""

    @abstractmethod
    def first(self) -> Ball:
        """Pr[K = 1]."""

    @abstractmethod
    def growth(self, runs: int) -> Fraction:
        """Pr[K = k + 1] / Pr[K = k] at k = `runs`."""

    @abstractmethod
    def mean(self) -> Ball:
        """E[K] = f'(1), the largest value of f'."""

    @abstractmethod
    def log_change(self, epsilon: Fraction, delta: Fraction) -> Ball:
        """The largest ln f'(x)/f'(x') where runs are (ε, δ)-private; f'(x) and f'(x') belong to neighbours."""

    @abstractmethod
    def renyi_change(self, rho: Fraction) -> Ball:
        """What the best of K ρ-zCDP runs has beyond αρ + ln E[K]/(α − 1) in the Rényi divergence of order α."""

    def draw(self, *, bits: BitSource) -> int:
        """One K, by its exact distribution: the first k whose distribution function is above a uniform real."""
        uniform = Uniform(bits=bits)
        for width in bits.widths():
            with working_precision(width + GUARD_BITS):
                runs = self._place(uniform.ball(width))
            if runs is not None:
                return runs
        raise AssertionError("widths never end")  # pragma: no cover

    def _place(self, uniform: Ball) -> int | None:
        """The k, or None where the ball does not settle it."""
        total, mass = exact_ball(0), self.first()
        for runs in count(1):
            total += mass
            if uniform < total:
                return runs
            if not total < uniform:
                return None
            mass = mass * exact_ball(self.growth(runs))
        raise AssertionError("counting never ends")  # pragma: no cover

    def mean_above(self) -> Fraction:
        """E[K], rounded up."""
        return above(self.mean, _BITS)


@dataclass(frozen=True, slots=True)
class NegativeBinomial(Stopping):
    """Truncated negative binomial: Pr[K = k] ∝ (1 − γ)^k Γ(k + η)/k!, k ≥ 1.

    f'(x) is proportional to (1 − (1 − γ)x)^{−(η + 1)}. η = 1 is the geometric distribution, η = 0 the logarithmic one.
    Source: Papernot & Steinke 2022, Definition 1.

    Attributes:
        shape: η > −1.
        gamma: γ in (0, 1).
    """

    shape: Fraction
    gamma: Fraction

    def first(self) -> Ball:
        """η(1 − γ)/(γ^{−η} − 1), and (1 − γ)/ln(1/γ) for η = 0."""
        rest, steepness = exact_ball(1 - self.gamma), -logarithm(self.gamma)
        if not self.shape:
            return rest / steepness
        return exact_ball(self.shape) * rest / (exact_ball(self.shape) * steepness).expm1()

    def growth(self, runs: int) -> Fraction:
        """(1 − γ)(k + η)/(k + 1)."""
        return (1 - self.gamma) * (runs + self.shape) / (runs + 1)

    def mean(self) -> Ball:
        """Pr[K = 1] γ^{−(η + 1)}: f'(0) and f'(1) differ by that factor."""
        return self.first() * (-exact_ball(self.shape + 1) * logarithm(self.gamma)).exp()

    def log_change(self, epsilon: Fraction, delta: Fraction) -> Ball:
        """(η + 1) ln max((e^ε + γ + (1 − γ)δ)/(1 + γe^ε − (1 − γ)δ), 1 + (1 − γ)δ/γ)."""
        gamma, growth, lost = exact_ball(self.gamma), exact_ball(epsilon).exp(), exact_ball((1 - self.gamma) * delta)
        between = (growth + gamma + lost) / (1 + gamma * growth - lost)
        return exact_ball(self.shape + 1) * between.max(1 + lost / gamma).log()

    def renyi_order(self, rho: Fraction) -> Fraction:
        """About the best β ≥ 1 for `renyi_change`, which rests on the divergence of that order alone; any is valid."""
        return Fraction(max(1.0, sqrt(-log(self.gamma) / rho)))

    def renyi_change(self, rho: Fraction) -> Ball:
        """(η + 1)((β − 1)ρ + ln(1/γ)/β)."""
        other = self.renyi_order(rho)
        return exact_ball(self.shape + 1) * (exact_ball((other - 1) * rho) - logarithm(self.gamma) / exact_ball(other))

    @classmethod
    def of_mean(cls, runs: Fraction, shape: Fraction) -> NegativeBinomial:
        """γ for that mean > 1: exactly 1/mean where η = 1, else a decimal number near it. Every γ is private."""
        if shape == 1:
            return cls(shape, 1 / runs)
        eta = float(shape)

        def mean(steepness: float) -> float:
            first = steepness if not eta else -expm1(-eta * steepness) / eta
            return -expm1(-steepness) * exp(steepness) / first

        return cls(shape, _decimal(exp(-_root(mean, float(runs)))))


@dataclass(frozen=True, slots=True)
class TruncatedPoisson(Stopping):
    """Pr[K = k] ∝ μ^k/k!, k ≥ 1: a Poisson number that is not 0, so that there always is a result.

    f'(x) is proportional to e^{μx}, as for the Poisson distribution itself.
    Source: Papernot & Steinke 2022, Theorem 6, where K = 0 is allowed.

    Attributes:
        rate: μ > 0.
    """

    rate: Fraction

    def first(self) -> Ball:
        """μ/(e^μ − 1)."""
        return exact_ball(self.rate) / exact_ball(self.rate).expm1()

    def growth(self, runs: int) -> Fraction:
        """μ/(k + 1)."""
        return self.rate / (runs + 1)

    def mean(self) -> Ball:
        """μ/(1 − e^{−μ})."""
        return exact_ball(self.rate) / -exact_ball(-self.rate).expm1()

    def log_change(self, epsilon: Fraction, delta: Fraction) -> Ball:
        """μ(e^ε − 1 + 2δ)/(e^ε + 1): μ times the largest total variation distance."""
        growth = exact_ball(epsilon).exp()
        return exact_ball(self.rate) * (growth - 1 + exact_ball(2 * delta)) / (growth + 1)

    def renyi_change(self, rho: Fraction) -> Ball:
        """μ√(ρ/2): μ times what the total variation distance can be, by Pinsker's inequality."""
        return exact_ball(self.rate) * exact_ball(rho / 2).sqrt()

    @classmethod
    def of_mean(cls, runs: Fraction) -> TruncatedPoisson:
        """μ for that mean > 1, a decimal number near it. Every μ is private."""
        return cls(_decimal(_root(lambda rate: rate / -expm1(-rate), float(runs))))


class StoppingName(StrEnum):
    """The names of the distributions."""

    NEGATIVE_BINOMIAL = "negative_binomial"
    POISSON = "poisson"


def stopping_of(name: str, runs: Number, shape: Number) -> Stopping:
    """The distribution of that name with about that mean number of runs; `shape` is η, for negative_binomial.

    Raises BadParameter unless 1 < runs ≤ 10,000 and −0.9 ≤ η ≤ 1,000.
    """
    kind, mean, eta = named(StoppingName, "stopping", name), positive("runs", runs), exact_number("shape", shape)
    if not 1 < mean <= MOST_RUNS:
        raise BadParameter(f"runs must be greater than 1 and at most {MOST_RUNS:,}: the mean number of runs.")
    if not _SHAPES[0] <= eta <= _SHAPES[1]:
        raise BadParameter("shape must lie between -0.9 and 1,000.")
    return TruncatedPoisson.of_mean(mean) if kind is StoppingName.POISSON else NegativeBinomial.of_mean(mean, eta)


def _decimal(value: float) -> Fraction:
    return decimal_below(Fraction(value), _DIGITS)


def _root(increasing: Callable[[float], float], wanted: float) -> float:
    """About where an increasing function of a number > 0 has that value."""
    low, high = 1e-12, 1.0
    while increasing(high) < wanted:
        high *= 2
    for _ in range(_MEAN_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < wanted else (low, middle)
    return high


@dataclass(frozen=True, slots=True)
class RunBudget:
    """What each run may spend: (epsilon, delta), or ρ of zero-concentrated privacy where `rho` is given.

    With `bounds`, a training keeps to these, which imply (epsilon, delta), and its score has `rho`.
    A run is a training and its score. They see different units, so each of them may spend all of it.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    bounds: RenyiBounds | None = None

    def guarantee(self, whole: Guarantee) -> Guarantee:
        """That of one run, in a search that guarantees the `whole`: ρ is quoted at the δ of that."""
        if self.rho is None or self.bounds is not None:
            return replace(whole, epsilon=self.epsilon, delta=self.delta)
        return replace(whole, epsilon=epsilon_at(self.rho, whole.delta), concentrated=Zcdp(self.rho))

    def require_within(self, guaranteed: Guarantee) -> None:
        """Raises BadParameter where that guarantee is not at least what a run must have."""
        if not guaranteed.private or guaranteed.neighbors is not Neighbors.REPLACE_ONE or guaranteed.unit != ROW:
            raise BadParameter("Every candidate must be private for each row, all of it, under replace_one.")
        spends = "A candidate spends more than a run may"
        if self.rho is not None and self.bounds is None:
            if guaranteed.zcdp.delta or guaranteed.zcdp.rho > self.rho:
                raise BadParameter(f"{spends}: rho is {float(self.rho):.6g} for each run.")
            return
        if guaranteed.delta > self.delta:
            delta = f"{float(self.delta):.6g} for each run"
            raise BadParameter(f"A candidate needs a larger delta than a run has: {delta}.")
        if guaranteed.epsilon > self.epsilon:
            raise BadParameter(f"{spends}: epsilon is {float(self.epsilon):.6g} for each run.")


def total_epsilon(stopping: Stopping, run: RunBudget) -> Fraction:
    """The ε of the best of K runs that are (ε_0, δ_0)-private, rounded up; its δ is δ_0 E[K].

    Law: ε_0 + ln of the largest f'(x)/f'(x') that (ε_0, δ_0)-private runs allow; attained where δ_0 = 0.

    Example:
        >>> geometric = NegativeBinomial(Fraction(1), Fraction(1, 10))
        >>> float(total_epsilon(geometric, RunBudget(Fraction(1, 2))))
        1.312546...
    """
    return above(lambda: exact_ball(run.epsilon) + stopping.log_change(run.epsilon, run.delta), _BITS)


def renyi_epsilon(stopping: Stopping, rho: Fraction, delta: Fraction) -> Fraction:
    """An ε for which the best of K ρ-zCDP runs is (ε, δ)-private, rounded up.

    The least over Rényi orders α, found in floats, of
    αρ + change + (ln E[K] − ln(αδ))/(α − 1) + ln(1 − 1/α); every order is valid.
    """
    odds = stopping.mean_above() / delta
    order = _order(odds, rho)

    def bound() -> Ball:
        conversion = logarithm(odds / order) / exact_ball(order - 1) + logarithm(1 - 1 / order)
        return exact_ball(order * rho) + stopping.renyi_change(rho) + conversion

    return above(bound, _BITS)


def _order(odds: Fraction, rho: Fraction) -> Fraction:
    """About the best α for ρ; `odds` are E[K]/δ."""
    log_odds = log(odds.numerator) - log(odds.denominator)
    return best_order(lambda a, over: a * float(rho) + (log_odds - log(a)) / over - log1p(1 / over))


@lru_cache(_REMEMBERED)
def run_budget(stopping: Stopping, epsilon: Fraction, delta: Fraction) -> RunBudget:
    """The (ε_0, δ_0) of each run for (ε, δ) in total: δ_0 = δ/E[K], and the largest ε_0, rounded down.

    Requires: ε > 0, 0 ≤ δ < 1. Raises BadParameter where there is none.
    """
    share = below(lambda: exact_ball(delta) / stopping.mean(), _BITS) if delta else Fraction(0)
    run_epsilon = _largest(lambda run: total_epsilon(stopping, RunBudget(run, share)) <= epsilon, float(epsilon))
    return RunBudget(run_epsilon, share)


@lru_cache(_REMEMBERED)
def run_rho(stopping: Stopping, epsilon: Fraction, delta: Fraction) -> RunBudget:
    """The ρ of each run for (ε, δ) in total, 0 < δ < 1: the largest, rounded down.

    Raises BadParameter where there is none.
    """
    return RunBudget(rho=_largest(lambda rho: renyi_epsilon(stopping, rho, delta) <= epsilon, float(epsilon)))


@lru_cache(_REMEMBERED)
def run_bounds(stopping: Stopping, epsilon: Fraction, delta: Fraction) -> RunBudget | None:
    """Bounds on each run's divergences at the two orders that a total of (ε, δ) rests on, 0 < δ < 1.

    ξ counts once at the order α and (η + 1)(1 − 1/β) times at β, less than η + 2 times in all.
    None where the total rests on more orders. Raises BadParameter where ε is too small.
    """
    if not isinstance(stopping, NegativeBinomial):
        return None
    rho = _largest(lambda rho: renyi_epsilon(stopping, rho, delta) <= epsilon * (1 - _BASE), float(epsilon))
    orders = sorted({_order(stopping.mean_above() / delta, rho), stopping.renyi_order(rho)} - {1})
    bounds = RenyiBounds(epsilon * _BASE / (stopping.shape + 2), rho, tuple(orders))
    return RunBudget(bounds.epsilon_at(delta), delta, rho, bounds)


def _largest(allowed: Callable[[Fraction], bool], most: float) -> Fraction:
    """About the largest decimal number up to `most` that is certainly allowed."""
    low, high = 0.0, most
    for _ in range(_BUDGET_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(Fraction(middle)) else (low, middle)
    largest = decimal_below(Fraction(low), _DIGITS) if low else Fraction(0)
    if not largest or not allowed(largest):
        raise BadParameter(_TOO_SMALL)
    return largest
