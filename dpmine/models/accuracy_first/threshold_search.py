"""Hypotheses of falling noise, and the search that goes through them until one is near enough to the best.

Each hypothesis is a function of noisy values, so it is charged what these are charged. Proofs:
docs/proofs/models/excess_risk.md (sensitivities), docs/proofs/models/noise_reduction.md (the charge for a prefix).

The search is interactive AboveThreshold: a query q_t(D) is of sensitivity 1, and may depend on what was released before
it. One noise ρ is drawn for the threshold, and a fresh one ν_t for each query. The first t with q_t + ν_t ≥ W + ρ is
accepted. Comparisons are exact.
Source: Ligett et al. 2017, Algorithm 2 and Lemma 2.8. Proof: docs/proofs/models/above_threshold.md.

Hypotheses of noisy covariances minimise a quadratic over a Euclidean ball. This is the trust-region problem: minimise
½ θᵀAθ − bᵀθ over ‖θ‖₂ ≤ R, for A symmetric and possibly indefinite. θ is a minimiser exactly when some μ ≥ 0 has
(A + μI)θ = b, A + μI ⪰ 0 and μ(R − ‖θ‖) = 0.
In the basis of A's eigenvectors ‖θ(μ)‖² is a sum of p fractions, so that one eigendecomposition settles every case.
Source: Conn, Gould & Toint 2000, Trust-Region Methods, Theorem 7.2.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import islice, pairwise
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import (
    Constant,
    ExponentialNoise,
    Formula,
    Noise,
    Real,
    above,
    decimal_above,
    draw,
    exact_ball,
    less_than,
    logarithm,
)
from dpmine.models.accuracy_first.noise_reduction import BrownianLoss, brownian_reduction, noise_reduction
from dpmine.models.accuracy_first.objectives import Objective, RidgeObjective
from dpmine.models.linear.sensitivities import ROUNDOFF, project, up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats


_GRID_BITS = 20  # below the deviation of the least noise


class Method(StrEnum):
    """What the noise is on."""

    COVARIANCE = "covariance"
    """Laplace noise on XᵀX and Xᵀy; ridge regression only."""
    OUTPUT = "output"
    """Laplace noise on the minimiser."""
    BROWNIAN = "brownian"
    """Brownian noise on the minimiser: (ε, δ), and less noise for many features."""


def falling_noise(
    objective: Objective, method: Method, epsilons: Sequence[Fraction], delta: Fraction, *, bits: BitSource
) -> Iterator[Floats]:
    """The hypotheses of a method; the first t are charged ε_t, and where the method takes a δ, that once.

    Raises BadParameter for covariances of anything but ridge regression.
    """
    if method is Method.BROWNIAN:
        return brownian_hypotheses(objective, epsilons, delta, bits=bits)
    if method is Method.OUTPUT:
        return output_hypotheses(objective, epsilons, bits=bits)
    if not isinstance(objective, RidgeObjective):
        raise BadParameter("method must be 'output' or 'brownian': covariances only make a ridge regression.")
    return covariance_hypotheses(objective, epsilons, bits=bits)


def covariance_hypotheses(
    objective: RidgeObjective, epsilons: Sequence[Fraction], *, bits: BitSource
) -> Iterator[Floats]:
    """Exact minimisers over the ball of the risk with noisy XᵀX and Xᵀy in place of the true ones, shape (p,) each.

    Privacy: the first t are ε_t-private. An entry above the diagonal stands for two, so it is doubled before the noise
    and halved after. The L1 norm stays that of all entries, half as many are noisy, and their noise is half as large.
    Source: Ligett et al. 2017, Theorem 3.1 and Algorithm 3, who have noise of its own on either of the two.
    """
    bounds, sensitivity = objective.bounds, Fraction(objective.bounds.statistics)
    rows, columns = np.triu_indices(bounds.dimension)
    weights = np.where(rows == columns, 1.0, 2.0)
    values = np.concatenate([objective.gram[rows, columns] * weights, objective.correlations])
    places = np.empty(objective.gram.shape, dtype=np.intp)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    shares = 1.0 / (weights * bounds.size)
    for noisy in noise_reduction(values, sensitivity, epsilons, bits=bits):
        matrix = (noisy[: len(rows)] * shares)[places]
        matrix.flat[:: bounds.dimension + 1] += bounds.ridge
        yield minimise_over_ball(matrix, noisy[len(rows) :] / bounds.size, bounds.radius).point


def output_hypotheses(objective: Objective, epsilons: Sequence[Fraction], *, bits: BitSource) -> Iterator[Floats]:
    """The minimiser under falling Laplace noise, projected on the ball, shape (p,) each.

    Privacy: the first t are ε_t-private. Source: Ligett et al. 2017, Theorem 3.3, with Algorithm 1.
    """
    bounds = objective.bounds
    sensitivity = Fraction(up(math.sqrt(bounds.dimension) * bounds.distance))
    return projected(noise_reduction(objective.minimiser, sensitivity, epsilons, bits=bits), bounds.radius)


def brownian_hypotheses(
    objective: Objective, epsilons: Sequence[Fraction], delta: Fraction, *, bits: BitSource
) -> Iterator[Floats]:
    """The minimiser under falling Brownian noise, projected on the ball, shape (p,) each.

    Privacy: the first t are charged ε_t, and δ once for all of them.
    Proof: docs/proofs/models/brownian_noise_reduction.md.
    Raises BadParameter for levels that are too close together.
    """
    bounds = objective.bounds
    loss = BrownianLoss.tuned(Fraction(bounds.distance), delta, epsilons[-1] / 2)
    times = [loss.time_for(epsilon) for epsilon in epsilons]
    if any(late >= soon for soon, late in pairwise(times)):
        raise BadParameter("epsilons are too close together for Brownian noise: leave a ratio of 1.0001 between them.")
    grid = Fraction(2) ** (math.frexp(math.sqrt(float(times[-1])))[1] - _GRID_BITS)
    return projected(brownian_reduction(objective.minimiser, times, grid, bits=bits), bounds.radius)


def projected(vectors: Iterable[Floats], radius: float) -> Iterator[Floats]:
    """Each on the ball of that radius."""
    return (project(vector, radius) for vector in vectors)


DIGITS = 6
"""Significant digits of a privacy level: what is charged can be read."""
_BITS = 128
_LARGEST_BATCH = 32  # hypotheses whose risks are computed at a time


@dataclass(frozen=True, slots=True)
class ThresholdTest:
    """The public numbers of a test: is a query, in units of its sensitivity, at least 0?

    Attributes:
        threshold: W.
        once: the distribution of ρ.
        each: the distribution of ν_t.
        charge: ε_0, of accepting a query, beyond what the queries are made of.
        charge_of_none: of accepting none, at most ε_0.
    """

    threshold: Fraction
    once: Noise
    each: Noise
    charge: Fraction
    charge_of_none: Fraction


def first_above(test: ThresholdTest, queries: Iterable[Fraction], *, bits: BitSource) -> int | None:
    """The place of the first query that is accepted, from 0; None where all are rejected.

    Requires: queries of sensitivity 1, each a function of the data and of what the earlier queries were made of.
    Law: the first t with q_t + ν_t ≥ W + ρ. Queries are taken from the iterable one by one, none after the accepted.
    """
    bar = _shifted(test.threshold, draw(test.once, bits=bits))
    for place, query in enumerate(queries):
        if less_than(bar, _shifted(query, draw(test.each, bits=bits)), bits=bits):
            return place
    return None


def exponential_test(slack: Fraction, *, tests: int, failure: Fraction) -> ThresholdTest:
    """ρ ~ Exp(mean 1/ε_a), ν_t ~ Exp(mean 2/ε_b), W = (2/ε_b)·ln(T/(γ(1 + ε_b/(2ε_a)))).

    Accepting a query below 0 has probability ≤ γ = `failure`, and with probability ≥ 1 − γ the first query of at least
    `slack`, if not an earlier one, is accepted. Accepting one is charged ε_0 = ε_a + ε_b, accepting none ε_a.
    Requires: slack > 0 in units of sensitivity, T = `tests` ≥ 1, 0 < γ < 1.
    """
    log_miss = float(above(lambda: -logarithm(failure), _BITS))
    log_false = math.log(tests) + log_miss
    ratio = math.sqrt(2.0 * log_false / log_miss)
    for _ in range(8):  # the logarithm gets smaller with the ratio that it decides; an even step ends above its root
        ratio = math.sqrt(2.0 * max(log_false - math.log1p(ratio / 2.0), log_miss / 8.0) / log_miss)
    first = decimal_above(Fraction(up(log_miss + ratio * log_miss)) / slack, DIGITS)
    second = decimal_above(Fraction(ratio) * first, DIGITS)
    scale = 2 / second
    odds = tests / (failure * (1 + second / (2 * first)))
    threshold = max(Fraction(0), above(lambda: exact_ball(scale) * logarithm(odds), _BITS))
    return ThresholdTest(threshold, ExponentialNoise(1 / first), ExponentialNoise(scale), first + second, first)


def _shifted(start: Fraction, noise: Real) -> Real:
    return Formula(add, Constant(start), noise)


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """Where a search ended.

    Attributes:
        step: of the accepted hypothesis, from 0; None when none was accepted.
        weights: the accepted hypothesis, otherwise the last one.
        charge: ex-post privacy loss of the step and of all hypotheses up to it.
    """

    step: int | None
    weights: Floats
    charge: Fraction


def search(
    hypotheses: Iterable[Floats],
    epsilons: Sequence[Fraction],
    queries: Callable[[Floats], list[Fraction]],
    test: ThresholdTest,
    *,
    bits: BitSource,
) -> SearchOutcome:
    """The first hypothesis that the test accepts, for ε_0 + ε_t; or the last, for the charge of accepting none + ε_T.

    Requires: the first t hypotheses are ε_t-private; each lies in the ball where `queries`, of hypotheses of shape
    (k, p), have sensitivity 1. Source: Ligett et al. 2017, Algorithm 3 and Lemma 2.8.
    """
    seen: list[Floats] = []

    def answers() -> Iterator[Fraction]:
        for batch in _batches(hypotheses):
            seen.extend(batch)
            yield from queries(np.array(batch))

    step = first_above(test, answers(), bits=bits)
    if step is None:
        return SearchOutcome(None, seen[-1], test.charge_of_none + epsilons[-1])
    return SearchOutcome(step, seen[step], test.charge + epsilons[step])


def _batches(hypotheses: Iterable[Floats]) -> Iterator[list[Floats]]:
    """1, 2, 4, … at a time: few are computed in vain when one of the first will do."""
    rest, size = iter(hypotheses), 1
    while batch := list(islice(rest, size)):
        yield batch
        size = min(2 * size, _LARGEST_BATCH)


_LARGEST = 1e150
_SMALLEST_EXPONENT = -500  # smaller numbers, and zeros, are scaled as if they were 2^−500
_TINY = 2.0**-900  # of an entry, beside norms of at least ½: too small to change the objective
_CLIMBS = 200  # Newton steps in the basis of eigenvectors, of which 10 are many


@dataclass(frozen=True, slots=True)
class BallMinimum:
    """Where a quadratic is least over a ball."""

    point: Floats
    """θ, shape (p,); its computed norm is at most the radius."""
    multiplier: float
    """μ ≥ 0, in the units of the matrix; 0 where the ball does not bind."""


def minimise_over_ball(matrix: Floats, vector: Floats, radius: float) -> BallMinimum:
    """Argmin ½ θᵀAθ − bᵀθ over ‖θ‖₂ ≤ R, for A = `matrix` (p, p), b = `vector` (p,) and R = `radius`.

    Requires: A symmetric (one triangle is read); ‖A‖_F, ‖b‖₂ and R at most 1e150; R at least 1e-150.
    The objective is within a small multiple of p·2^−53·R(R‖A‖₂ + ‖b‖₂) of the least. If the minimiser is not unique:
    in the hard case, the largest entry of the bottom eigenvector that is added is positive. Where A ⪰ 0 is singular and
    the ball does not bind, the point is the shortest.
    Raises BadParameter for shapes that do not fit, numbers that are not finite or beyond these limits.
    """
    if vector.ndim != 1 or not len(vector) or matrix.shape != (len(vector), len(vector)):
        raise BadParameter("matrix must be square, with as many rows as vector has entries, and not empty.")
    with np.errstate(over="ignore"):
        norms = float(np.linalg.norm(matrix)), float(np.linalg.norm(vector))
    if not 1.0 / _LARGEST <= radius <= _LARGEST or not all(norm <= _LARGEST for norm in norms):
        raise BadParameter(
            "matrix, vector and radius must be finite, of norm at most 1e150, and radius at least 1e-150."
        )
    length = _exponent(radius)  # scaling by powers of two is exact
    force = max(length + _exponent(norms[0]), _exponent(norms[1]))
    unit = 2.0 ** (force - length)
    point, multiplier = _by_eigenvalues(matrix / unit, vector * 2.0**-force, math.ldexp(radius, -length))
    return BallMinimum(_within(point, math.ldexp(radius, -length)) * 2.0**length, multiplier * unit)


def _exponent(size: float) -> int:
    return max(math.frexp(size)[1], _SMALLEST_EXPONENT) if size else _SMALLEST_EXPONENT


def _within(point: Floats, radius: float) -> Floats:
    """`point`, shortened where its computed norm is above the radius."""
    norm = math.sqrt(point @ point)
    while norm > radius:
        point = point * min(radius / norm, 1.0 - ROUNDOFF)
        norm = math.sqrt(point @ point)
    return point


def _by_eigenvalues(matrix: Floats, vector: Floats, radius: float) -> tuple[Floats, float]:
    """θ and μ, the hard case included, where R is in [½, 1) and the norms of A and b are below 1, one at least ½.

    What rounding of the eigenvectors may have made of zeros is zero: entries of b, and a bottom eigenvalue. So are
    entries whose quotients by R would lose digits below the smallest normal float.
    """
    values, vectors = np.linalg.eigh(matrix)
    noise = 4.0 * len(values) * ROUNDOFF
    entries = vectors.T @ vector
    entries[np.abs(entries) <= max(noise * float(np.abs(entries).max()), _TINY)] = 0.0
    bottom = float(values[0]) if abs(values[0]) > noise * float(np.abs(values).max()) else 0.0
    spacings = values - values[0]
    smallest_shift = max(bottom, 0.0)
    point = _divided(entries, spacings + smallest_shift)
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(point))
    multiplier = max(0.0, -bottom)
    if norm > radius:
        root = _root(entries, spacings, radius, smallest_shift)
        point, multiplier = _divided(entries, spacings + root), max(0.0, root - float(values[0]))
    elif bottom < 0.0:
        sign = vectors[np.abs(vectors[:, 0]).argmax(), 0]
        point[0] = math.copysign(math.sqrt((radius - norm) * (radius + norm)), sign)
    return vectors @ point, multiplier


def _divided(entries: Floats, divisors: Floats) -> Floats:
    """`entries`/`divisors`, with 0/0 = 0 and c/0 = ∞, as for quotients beyond all floats."""
    quotients = np.full_like(entries, math.inf)
    with np.errstate(over="ignore"):
        np.divide(entries, divisors, out=quotients, where=divisors > 0.0)
    quotients[entries == 0.0] = 0.0
    return quotients


def _root(entries: Floats, spacings: Floats, radius: float, smallest: float) -> float:
    """The s > `smallest` at which `entries / (spacings + s)` has the norm R, by Newton's method from the left.

    Requires: the norm is above R at `smallest`. Starts where the largest single term is R, or at `smallest`.
    """
    root = max(smallest, float((np.abs(entries) / radius - spacings).max()))
    for _ in range(_CLIMBS):
        terms = _divided(entries, spacings + root)
        norm = float(np.linalg.norm(terms))
        step = norm * norm / float(terms @ _divided(terms, spacings + root)) * (norm - radius) / radius
        if not root + step > root * (1.0 + 2.0 * ROUNDOFF):
            break
        root += step
    return root
