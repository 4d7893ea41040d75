"""Hypotheses of falling noise: each is a function of noisy values, so it is charged what these are charged.

Proofs: docs/proofs/models/excess_risk.md (sensitivities), docs/proofs/models/noise_reduction.md (the charge for a
prefix).
"""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.accuracy_first.noise_reduction import BrownianLoss, brownian_reduction, noise_reduction
from dpmine.models.accuracy_first.objectives import Objective, RidgeObjective
from dpmine.models.accuracy_first.trust_region import minimise_over_ball
from dpmine.models.linear.sensitivities import project, up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
