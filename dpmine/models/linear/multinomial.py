"""Softmax regression of K > 2 classes as one training: its loss, its examples, its solver, and its Gaussian tilt.

The scores of a row x are B Vᵀx, with weights V of shape (d, K − 1). B, shape (K, K − 1), is a fixed orthonormal basis
of the scores that add up to 0. A constant added to all scores changes no probability, so no noise is spent on it. The
loss is κ(ln Σ_j e^{s_j} − s_y). κ is a little below 1/√2, so that its gradient is no longer than 1, as that of every
loss here. Weights are flattened row by row: the last K − 1 belong to the constant column, where there is one.
Proof: docs/proofs/models/multinomial_perturbation.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.gaussian import profile, ratio_at
from dpmine.models.linear.losses import THINNING, Examples, Loss, in_blocks
from dpmine.models.linear.noise import GaussianNoise, Tilt, VectorNoise
from dpmine.models.linear.sensitivities import ROUNDOFF
from dpmine.models.linear.solver import Problem, inverted, turning_point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.models.entries import Floats

_SCALE = (1.0 - 2.0**-30) * 0.5**0.5
"""κ: ‖(p − e_y)‖ ≤ √2, and rounding of the basis is far below 2^−30."""
_NEWTON_STEPS, _CONJUGATE_STEPS = 200, 250
_CLOSER = 0.9  # a step that leaves more of the gradient than this is searched along
_SHARES = 32  # trials of the share of δ that belongs to the farthest corners
_NEAR = Fraction(867, 1000)
"""Above √3/2: how far all but K − 1 corners are at most, as a share of A."""


@lru_cache(maxsize=64)
def basis(classes: int) -> Floats:
    """Helmert's: orthonormal columns that add up to 0; shape (K, K − 1)."""
    columns = np.triu(np.ones((classes, classes - 1)))
    columns[np.arange(1, classes), np.arange(classes - 1)] = -np.arange(1.0, classes)
    columns = columns / np.sqrt(np.arange(1.0, classes) * np.arange(2.0, classes + 1.0))
    columns.flags.writeable = False
    return columns


@dataclass(frozen=True, slots=True)
class MultinomialLoss(Loss):
    """κ(ln Σ_j e^{s_j} − s_y) of the scores s = B Vᵀx of K classes; its gradient by V is no longer than 1 for ‖x‖ ≤ 1.

    Not a function of one margin: `derivative` and `curvature` are those of `MultinomialProblem`.
    """

    name: ClassVar[str] = "logistic"
    classes: int
    """K ≥ 3."""

    @property
    def columns(self) -> int:
        """K − 1."""
        return self.classes - 1

    @property
    def smoothness(self) -> Fraction:
        """κ/2 rounded up: no eigenvalue of diag(p) − ppᵀ is above 1/2."""
        return Fraction(3536, 10_000)

    @property
    def bend(self) -> Fraction:
        """κ(1 − 1/K) rounded up: the trace of diag(p) − ppᵀ is 1 − ‖p‖²."""
        return Fraction(7072, 10_000) * (1 - Fraction(1, self.classes))

    @property
    def rounding(self) -> float:
        """A few units in the last place, and those of the sum of powers and of the product with the basis."""
        return (64.0 + 4.0 * self._product) * ROUNDOFF

    @property
    def chain(self) -> int:
        """Of the product with the basis and the subtraction of the largest score."""
        return 2 * self._product + 16

    @property
    def _product(self) -> int:
        """More than K√K: entries of the basis may all be of one sign to a bound on rounding."""
        return self.classes * (isqrt(self.classes) + 1)

    def derivative(self, margins: Floats) -> Floats:
        """Not of one margin."""
        raise NotImplementedError

    def curvature(self, margins: Floats) -> Floats:
        """Not of one margin."""
        raise NotImplementedError


class ClassExamples(Examples):
    """Rows x_i of exact norms ≤ 1, not signed, and the position of each row's class."""

    def __init__(
        self, rows: Floats, codes: NDArray[np.intp], classes: int, each: int = 1, weights: Floats | None = None
    ) -> None:
        """`rows`: shape (n, d); `codes`: shape (n,), in [0, K); `each` and `weights` as for `Examples`."""
        super().__init__(rows, each, weights)
        self.codes = codes
        self.classes = classes

    @property
    def dimension(self) -> int:
        """The number d(K − 1) of weights."""
        return int(self.signed.shape[1]) * (self.classes - 1)

    def take(self, rows: slice | NDArray[np.intp]) -> ClassExamples:
        """The examples at those positions."""
        weights = None if self.weights is None else self.weights[rows]
        return ClassExamples(self.signed[rows], self.codes[rows], self.classes, self.each, weights)

    @cached_property
    def thinned(self) -> ClassExamples:
        """As that of `Examples`."""
        return self.take(slice(None, None, THINNING))

    def shaped(self, weights: Floats) -> Floats:
        """The weights V, shape (d, K − 1)."""
        return weights.reshape(-1, self.classes - 1)

    def scores(self, weights: Floats) -> Floats:
        """B Vᵀx of every row, shape (n, K)."""
        return np.asarray((self.signed @ self.shaped(weights)) @ basis(self.classes).T)

    def margins(self, weights: Floats) -> Floats:
        """κ(s_y − max_{j ≠ y} s_j) of every row, shape (n,): 1-Lipschitz in V, as y wᵀx is in w."""
        scores = self.scores(weights)
        places = np.arange(self.size), self.codes
        own = scores[places]
        scores[places] = -np.inf
        return np.asarray((own - scores.max(axis=1)) * _SCALE)

    def probabilities(self, weights: Floats) -> Floats:
        """Of every class for every row, shape (n, K)."""
        return softmax(self.scores(weights))

    def mean_product(self, factors: Floats) -> Floats:
        """(1/n) Σ x_i factor_iᵀ, flattened, for factors of shape (n, K − 1); summed in blocks as `weighted_mean`."""
        total = np.zeros((self.signed.shape[1], self.classes - 1))
        for rows in in_blocks(self.size):
            total += self.signed[rows].T @ factors[rows]
        return np.asarray(total.ravel() / self.size)


def softmax(scores: Floats) -> Floats:
    """e^{s_j}/Σ e^{s_i} along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, slots=True)
class MultinomialProblem(Problem):
    """The tilted objective of softmax regression."""

    examples: ClassExamples

    def gradient(self, weights: Floats) -> Floats:
        """∇J(V), flattened, rounded as `Accuracy.rounding` allows for."""
        return self._gradient(self.examples.probabilities(weights), weights)

    def _gradient(self, chances: Floats, weights: Floats) -> Floats:
        """∇J(V) for the probabilities at V, which it writes over."""
        examples = self.examples
        chances[np.arange(examples.size), examples.codes] -= 1.0
        pulls = examples.weighed((chances @ basis(examples.classes)) * _SCALE)
        return examples.mean_product(pulls) + self.ridges * weights + self.tilt

    def approached(self, target: float) -> Floats:
        """Newton's method with conjugate gradients, until the gradient is at most `target` long or no step helps."""
        examples = self.examples
        weights = np.zeros(examples.dimension)
        if examples.size >= THINNING * max(500, 8 * examples.dimension):
            sample = examples.thinned
            weights = MultinomialProblem(sample, self.loss, self.ridges, self.tilt).approached(0.1 / sample.size**0.5)
        bound = self._bound()
        for _ in range(_NEWTON_STEPS):
            chances = examples.probabilities(weights)
            gradient = self._gradient(chances.copy(), weights)
            norm = float(np.linalg.norm(gradient))
            if not norm > target:
                break
            step = self._newton_step(chances, gradient, bound, least=max(0.1 * target, min(0.1, norm) * norm))
            moved = weights - step
            if not np.linalg.norm(self.gradient(moved)) <= _CLOSER * norm:
                moved = weights - self._lowest(weights, step) * step
            if np.array_equal(moved, weights):
                break
            weights = moved
        return weights

    def _bound(self) -> Floats:
        """The inverse of the bound κ/2·Gram + ridges of all Hessians, the same for each of the K − 1 columns."""
        ridges = self.examples.shaped(self.ridges)[:, 0]
        return inverted(float(self.loss.smoothness) * self.examples.gram, ridges)

    def _newton_step(self, chances: Floats, gradient: Floats, bound: Floats, least: float) -> Floats:
        """About H⁻¹·gradient, by conjugate gradients with the bound of H in front, to a residual of `least`."""
        shaped = self.examples.shaped
        step, rest = np.zeros_like(gradient), gradient.copy()
        ahead = front = (bound @ shaped(rest)).ravel()
        size = float(rest @ front)
        for _ in range(_CONJUGATE_STEPS):
            image = self._curved(chances, ahead)
            curvature = float(ahead @ image)
            if not curvature > 0.0:
                break
            step = step + (size / curvature) * ahead
            rest = rest - (size / curvature) * image
            if not np.linalg.norm(rest) > least:
                break
            front = (bound @ shaped(rest)).ravel()
            size, before = float(rest @ front), size
            ahead = front + (size / before) * ahead
        return step

    def _curved(self, chances: Floats, direction: Floats) -> Floats:
        """∇²J times the direction."""
        change = chances * self.examples.scores(direction)
        change -= chances * change.sum(axis=1, keepdims=True)
        bends = self.examples.weighed((change @ basis(self.examples.classes)) * _SCALE)
        bent = self.examples.mean_product(bends)
        return bent + self.ridges * direction

    def _lowest(self, weights: Floats, step: Floats) -> float:
        """The t ≥ 0 where J(V − t·step) is lowest, by bisection on its derivative in t, which increases."""

        def falls(t: float) -> bool:
            return float(self.gradient(weights - t * step) @ step) > 0.0

        return turning_point(falls)


@dataclass(frozen=True, slots=True)
class MultinomialGaussianNoise(GaussianNoise):
    """`GaussianNoise` for the multinomial loss: its tilt covers the corners of what one record may change.

    Attributes:
        classes: K ≥ 3.
    """

    classes: int = 3

    def tilt(self, epsilon: Fraction, determinant: Fraction, leverage: Fraction | None = None) -> Tilt:  # noqa: ARG002
        """About the largest A with (K−1)δ_A + (K−1)(K−2)δ_{0.867A} + 2(K−1)δ_{A/2} ≤ δ at ε' = ε − `determinant`."""
        rest, one = epsilon - determinant, self.classes - 1
        for step in range(1, _SHARES):
            share = 1 - Fraction(step, _SHARES)
            rate = ratio_at(rest, self.delta * share / one)
            nearer = one * (one - 1) * profile(rest, rate * _NEAR) + 2 * one * profile(rest, rate / 2)
            if nearer <= self.delta * (1 - share):
                return Tilt(rest, rate)
        return Tilt(rest, ratio_at(rest, self.delta / (self.classes**2 - 1)))


def noise_for(loss: Loss, noise: VectorNoise) -> VectorNoise:
    """The noise, as trainings with that loss need it."""
    if isinstance(loss, MultinomialLoss) and isinstance(noise, GaussianNoise):
        return MultinomialGaussianNoise(noise.delta, loss.classes)
    return noise


def problem_of(examples: Examples, loss: Loss, ridges: Floats, tilt: Floats) -> Problem:
    """What is minimised, by the kind of the examples."""
    if isinstance(examples, ClassExamples):
        return MultinomialProblem(examples, loss, ridges, tilt)
    return Problem(examples, loss, ridges, tilt)
