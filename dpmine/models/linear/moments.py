"""Noisy sufficient statistics: XᵀX and Xᵀt of bounded rows and targets, released together in one vector of noise.

The vector holds the means of xxᵀ (off-diagonal entries once, times √2) and of xt, for rows ‖x‖ ≤ 1 and targets
|t| ≤ 1. It moves by at most 3/(√2 n) in L2 when one row and its target are replaced. All that is computed from the
release is post-processing. Proof: docs/proofs/models/noisy_moments.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpmine.models.linear.losses import additions, in_blocks
from dpmine.models.linear.sensitivities import accumulated, up

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats
    from dpmine.models.linear.noise import VectorNoise

_MOVED = up(3.0 * math.sqrt(0.5))
"""More than 3/√2: what one of n rows moves n times the exact vector by."""
_FINE = 20  # bits of the grid below the scale of the noise
_RELIEF = 16.0  # a relieved intercept has this part of the ridge


def moment_count(columns: int) -> int:
    """The length p(p + 3)/2 of the vector for p columns."""
    return columns * (columns + 3) // 2


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """The mechanism, and what is public about it: n rows of p columns, of which one unit has `rows`.

    Attributes:
        noise: the distribution of the noise, with its δ.
        size: n ≥ 1.
        columns: p ≥ 1, a constant column included.
        epsilon: ε, for all rows of one unit together.
        rows: M ≥ 1, the most rows of one unit.
    """

    noise: VectorNoise
    size: int
    columns: int
    epsilon: Fraction
    rows: int = 1

    @property
    def scale(self) -> Fraction:
        """κ of the noise: M rows move the computed vector by at most s = M(3/√2/n + 2γ), and κ = s/A."""
        rounding = accumulated(2 * additions(self.size) + 8)
        moved = Fraction(up(_MOVED / self.size)) + Fraction(up(2.0 * rounding))
        return self.rows * moved / self.noise.output_rate(self.epsilon)

    @property
    def level(self) -> float:
        """The mean length of the symmetric noise matrix by its spectral norm, about: √(2p) standard deviations."""
        count = moment_count(self.columns)
        deviation = float(self.scale) * self.noise.length(count) / math.sqrt(count)
        return deviation * math.sqrt(2.0 * self.columns)

    def release(self, rows: Floats, targets: Floats, *, bits: BitSource) -> Moments:
        """The statistics of rows, shape (n, p), and targets, shape (n,), with noise; (ε, δ)-private for one unit."""
        exact = _moments(rows, targets).vector
        grid = Fraction(2) ** (math.frexp(float(self.scale))[1] - _FINE)
        released = self.noise.draw(len(exact), bits=bits).rounded_sum(exact, self.scale, grid)
        return Moments.of(released, self.columns)


@dataclass(frozen=True, eq=False, slots=True)
class Moments:
    """The mean of xxᵀ, shape (p, p), and that of xt, shape (p,); exact, or with noise."""

    gram: Floats
    cross: Floats

    @classmethod
    def of(cls, vector: Floats, columns: int) -> Moments:
        """Out of what `vector` gives."""
        above = np.triu_indices(columns, 1)
        gram = np.diag(vector[:columns])
        gram[above] = vector[columns:-columns] * math.sqrt(0.5)
        return cls(gram + gram.T - np.diag(vector[:columns]), vector[-columns:])

    @property
    def vector(self) -> Floats:
        """The diagonal, √2 times what is above it, and the entries of Xᵀt: as long as both matrices together."""
        above = self.gram[np.triu_indices(len(self.gram), 1)]
        return np.concatenate([np.diag(self.gram), above * math.sqrt(2.0), self.cross])

    def ridge(self, regularization: float, *, relieved: bool) -> Floats:
        """The minimiser of ½wᵀGw − qᵀw + (λ/2)‖w‖², shape (p,), for the nearest G without negative eigenvalues.

        `relieved`: the last weight, of a constant column, has a sixteenth of λ.
        """
        values, vectors = np.linalg.eigh(self.gram)
        ridges = np.full(len(values), regularization)
        if relieved:
            ridges[-1] /= _RELIEF
        bounded = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return np.asarray(np.linalg.lstsq(bounded + np.diag(ridges), self.cross, rcond=None)[0])


def _moments(rows: Floats, targets: Floats) -> Moments:
    """Of the data, summed in blocks of about √n rows so that rounding grows with √n, not with n."""
    columns = rows.shape[1]
    gram, cross = np.zeros((columns, columns)), np.zeros(columns)
    for block in in_blocks(len(rows)):
        gram += rows[block].T @ rows[block]
        cross += rows[block].T @ targets[block]
    return Moments(gram / len(rows), cross / len(rows))
