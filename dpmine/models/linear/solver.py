"""Minimise a regularised, tilted mean loss, with a bound on how far from the minimiser the answer is.

J(w) = (Λ/2)‖w‖² + (1/n) Σ ℓ(y_i wᵀx_i) + bᵀw. The guarantee of both perturbations covers a public tolerance τ. The
answer w, projected on a public ball of radius W, must be within τ/Λ of the projected minimiser. Newton's method usually
gets there, and `certified` proves it from the gradient, rounding included. Where it does not, `descend` runs a public
number of steps whose error bound needs no certificate. How long a run takes depends on the data.
Proof: docs/proofs/models/objective_perturbation.md, section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.linear.losses import THINNING, Examples, Loss, additions
from dpmine.models.linear.sensitivities import RELATIVE_ERROR, ROUNDOFF, accumulated, norm_above, up

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from dpmine.models.entries import Floats

_STEPS = 300
_FAST = 0.25  # a step that leaves more of the gradient than this wants a fresh Hessian
_LONGEST = 2.0**20  # of Newton steps, along one line
_HALVINGS = 50
_FEWEST = 500  # rows of the smallest sample
MOST_WORK = 10.0**12
"""The most multiplications, steps·n·d, that `descend` may take: 40 minutes at the 4·10⁸ a second of one core."""
_OVERHEAD = 7000  # of a step, in multiplications: what 17 μs are


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The public goal of a training: every number is a function of n, d, the loss, λ and the budget.

    Attributes:
        ridge: Λ > 0, the smallest of the ridges.
        stiffness: the largest of the ridges.
        dimension: d, or a little more where a margin takes more operations than a product of d terms.
        radius: W, the ball that answers are projected on.
        tolerance: τ; projected answers are within τ/Λ of the projected minimiser.
        fixed: rounding of a gradient anywhere.
        slope: rounding of a gradient for each unit of ‖w‖.
    """

    ridge: float
    stiffness: float
    dimension: int
    radius: float
    tolerance: float
    fixed: float
    slope: float

    @classmethod
    def of(
        cls,
        loss: Loss,
        *,
        size: int,
        dimension: int,
        ridge: float,
        radius: float,
        stiffness: float | None = None,
        advice: str = "take larger lambdas, or fewer features",
    ) -> Accuracy:
        """τ = 16(fixed + 2W·slope): room for the solver, and for the rounding of the projection.

        `size` is n, `dimension` d. Raises BadParameter where rounding may hide descent.
        """
        c, stiff = float(loss.smoothness), max(ridge, stiffness or ridge)
        chained = dimension + loss.chain
        tilt = RELATIVE_ERROR + 16.0 * ROUNDOFF
        fixed = 1.01 * (loss.rounding + 16.0 * ROUNDOFF * (1.0 + 2.0 * c) + 1.01 * accumulated(additions(size)) + tilt)
        slope = 1.01 * ((c + stiff) * accumulated(chained + 8) + stiff * tilt)
        if slope > ridge / 85.0:
            raise BadParameter(f"λ = {ridge:g} is lost in rounding: {advice}.")
        return cls(ridge, stiff, chained, radius, up(16.0 * (fixed + 2.0 * radius * slope)), fixed, slope)

    def steepest(self, loss: Loss) -> float:
        """L: no Hessian is larger."""
        return up(float(loss.smoothness) + self.stiffness)

    def contraction(self, loss: Loss) -> float:
        """α, a little below √(Λ/L): a step of `descend` leaves a share 1 − α of its potential."""
        return math.sqrt(self.ridge / self.steepest(loss)) * (1.0 - 2.0**-40)

    def rounding(self, norm: float) -> float:
        """Bound on ‖computed − exact gradient‖ at a point of that norm, where ‖b‖ ≤ 1 + stiffness·norm."""
        return self.fixed + self.slope * norm


@dataclass(frozen=True, slots=True)
class Problem:
    """What is minimised.

    Attributes:
        examples: the data.
        loss: ℓ.
        ridges: Λ_j > 0, one a coordinate.
        tilt: b; an exact vector within `RELATIVE_ERROR`·‖b‖ + a few roundings of it is what the minimiser is of.
    """

    examples: Examples
    loss: Loss
    ridges: Floats
    tilt: Floats

    def gradient(self, weights: Floats) -> Floats:
        """∇J(w), rounded as `Accuracy.rounding` allows for."""
        slopes = self.examples.weighed(self.loss.derivative(self.examples.signed @ weights))
        return self.examples.weighted_mean(slopes) + self.ridges * weights + self.tilt

    def approached(self, target: float) -> Floats:
        """Where Newton's method ends: a gradient at most `target` long, or no step that helps.

        It starts where the same method ends on a thin sample of the rows, taken again and again down to a small one.
        """
        return _newton(self, target)[0]

    def inverse_hessian(self, weights: Floats) -> Floats:
        """The inverse of ∇²J(w); for directions only, so its rounding is of no concern."""
        signed = self.examples.signed
        bends = self.examples.weighed(self.loss.curvature(signed @ weights))
        scaled = signed * np.sqrt(bends)[:, np.newaxis]
        return inverted(scaled.T @ scaled / self.examples.size, self.ridges)

    def inverse_bound(self) -> Floats:
        """The inverse of the bound c·Gram + ΛI of all Hessians, whose Gram matrix candidates share."""
        return inverted(float(self.loss.smoothness) * self.examples.gram, self.ridges)


def inverted(curvature: Floats, ridges: Floats) -> Floats:
    """(`curvature` + diag(`ridges`))⁻¹, shape (d, d).

    Where rounding leaves nothing to invert, steepest descent has to do: whatever comes of it is certified.
    """
    try:
        return np.asarray(np.linalg.inv(curvature + np.diag(ridges)), np.float64)
    except np.linalg.LinAlgError:
        return np.diag(1.0 / ridges)


def minimise(problem: Problem, accuracy: Accuracy) -> Floats:
    """A point within τ/Λ of the minimiser, both projected on the ball of radius W.

    Which method found it depends on the data, so it is not disclosed: the guarantee covers both.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # a warning would depend on the data
        weights = problem.approached(accuracy.tolerance / 16.0)
        if certified(problem, weights, accuracy):
            return weights
        return descend(problem, accuracy, steps=descent_steps(problem.loss, accuracy))


def certified(problem: Problem, weights: Floats, accuracy: Accuracy) -> bool:
    """Whether the gradient proves that `weights` is as close as `minimise` guarantees.

    A gradient of norm g means a distance of at most g/Λ; projection on the ball shrinks it by 2W/‖w‖ far outside.
    """
    if not np.isfinite(weights).all():
        return False
    norm = norm_above(weights)
    error = gradient_bound(problem, weights, accuracy)
    allowed = accuracy.tolerance * 7.0 / 8.0  # the rest is for the rounding of the projection
    if norm <= 2.0 * accuracy.radius:
        return error <= allowed
    return error <= accuracy.ridge * norm / 4.0 and error * up(2.0 * accuracy.radius / norm) <= allowed


def gradient_bound(problem: Problem, weights: Floats, accuracy: Accuracy) -> float:
    """A bound on the exact ‖∇J(weights)‖ for the exact b, rounding included."""
    excess = max(0.0, norm_above(problem.tilt) - 1.0)  # beyond what `rounding` takes ‖b‖ to be; 0 near the minimiser
    excess = max(0.0, excess - accuracy.stiffness * float(np.linalg.norm(weights)))
    rounding = accuracy.rounding(norm_above(weights)) + (RELATIVE_ERROR + 16.0 * ROUNDOFF) * up(excess)
    return up(norm_above(problem.gradient(weights)) + rounding)


def _newton(problem: Problem, target: float) -> tuple[Floats, Floats]:
    """The point, and the inverse Hessian last used.

    A Hessian takes as long as several gradients, so one is kept for as long as it serves, the sample's to begin with,
    and every step that was taken sharpens it.
    """
    weights, inverse = _start(problem)
    gradient, fresh = problem.gradient(weights), False
    for _ in range(_STEPS):
        norm = np.linalg.norm(gradient)
        if not norm > target:
            break
        step = inverse @ gradient
        slope = problem.gradient(weights - step)
        shrunk = np.linalg.norm(slope) / norm
        if shrunk <= _FAST:
            inverse = _sharpened(inverse, step, gradient - slope)
            weights, gradient, fresh = weights - step, slope, False
            continue
        if fresh:
            moved = weights - _lowest(problem, weights, step) * step
            if np.array_equal(moved, weights):
                break
            weights, gradient = moved, problem.gradient(moved)
        elif shrunk < 1.0:
            weights, gradient = weights - step, slope
        inverse, fresh = problem.inverse_hessian(weights), True
    return weights, inverse


def _sharpened(inverse: Floats, step: Floats, change: Floats) -> Floats:
    """The inverse Hessian nearest to `inverse` that maps the gradient's `change` to `step`.

    Source: Broyden, Fletcher, Goldfarb & Shanno 1970.
    """
    curvature = float(step @ change)
    if not curvature > 0.0:
        return inverse
    image = inverse @ change
    outer = np.outer(image, step) / curvature
    return inverse - outer - outer.T + np.outer(step, step) * ((1.0 + change @ image / curvature) / curvature)


def _start(problem: Problem) -> tuple[Floats, Floats]:
    """Where the method ends on every sixteenth row, solved as well as a sample is worth; or 0, for few rows."""
    examples = problem.examples
    if examples.size < THINNING * max(_FEWEST, 8 * examples.dimension):
        return np.zeros(examples.dimension), problem.inverse_bound()
    sample = examples.thinned
    return _newton(Problem(sample, problem.loss, problem.ridges, problem.tilt), 0.1 / math.sqrt(sample.size))


def _lowest(problem: Problem, weights: Floats, step: Floats) -> float:
    """The t ≥ 0 where J(weights − t·step) is lowest, by bisection on its derivative in t, which increases.

    Margins are linear in t, so a trial takes n operations. With exact line searches Newton's method needs few steps
    for piecewise quadratic losses, however narrow their pieces. Source: Keerthi & DeCoste 2005.
    """
    signed = problem.examples.signed
    margins, change = signed @ weights, signed @ step
    pulled = problem.examples.weighed(change)
    level = float(step @ (problem.ridges * weights + problem.tilt))
    bend = float(step @ (problem.ridges * step))

    def falls(t: float) -> bool:
        return float(np.mean(problem.loss.derivative(margins - t * change) * pulled)) + level - t * bend > 0.0

    return turning_point(falls)


def turning_point(falls: Callable[[float], bool]) -> float:
    """The t ≥ 0 up to which a convex function of t falls, by bisection on whether it does at t."""
    low, high = 0.0, 1.0
    while falls(high) and high < _LONGEST:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low


def descent_steps(loss: Loss, accuracy: Accuracy) -> int:
    """How many steps of `descend` reach the tolerance, for every data set and every b: a public number.

    t steps leave √(L/Λ + 1)·W·e^{−0.45αt} ≤ τ/(16Λ).
    """
    start = 16.0 * accuracy.radius * accuracy.ridge * math.sqrt(accuracy.steepest(loss) / accuracy.ridge + 1.0)
    needed = math.log(max(1.0, start / accuracy.tolerance))
    return 1 + math.ceil(needed / (0.45 * accuracy.contraction(loss)) * (1.0 + 1e-9))


def descend(problem: Problem, accuracy: Accuracy, *, steps: int) -> Floats:
    """Accelerated gradient descent from 0. Source: Nesterov 2004, section 2.2.1; with rounding in the proof note."""
    steepest, alpha = accuracy.steepest(problem.loss), accuracy.contraction(problem.loss)
    weights = ahead = np.zeros(problem.examples.dimension)
    for _ in range(steps):
        between = (weights + alpha * ahead) / (1.0 + alpha)
        gradient = problem.gradient(between)
        weights = between - gradient / steepest
        ahead = (1.0 - alpha) * ahead + alpha * between - (alpha / accuracy.ridge) * gradient
    return weights


def require_short(
    loss: Loss,
    accuracy: Accuracy,
    size: int,
    *,
    parameter: Fraction,
    advice: str = "Take larger lambdas, a larger huber, or fewer columns.",
) -> None:
    """BadParameter where `descend` would run too long, by public numbers only: whether it runs depends on the data."""
    steps, dimension = descent_steps(loss, accuracy), accuracy.dimension
    if steps * (size * dimension + _OVERHEAD) > MOST_WORK:
        raise BadParameter(
            f"λ = {float(parameter):g} is too small for {size} rows of {dimension} columns: the solver may need "
            f"{steps} steps, whose time one row must not decide. {advice}"
        )


def solver_note(loss: Loss, accuracy: Accuracy) -> str:
    """The same whatever the data hold: which of the two methods ran would disclose something of them."""
    return (
        f"the guarantee covers a solver tolerance of {accuracy.tolerance:.1e}: where Newton's method is not certified "
        f"to reach it, {descent_steps(loss, accuracy)} steps of gradient descent, proved to, replace it; how long it "
        "takes is not covered"
    )
