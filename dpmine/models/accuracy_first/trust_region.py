"""The exact minimiser of a quadratic over a Euclidean ball: the trust-region problem.

θ minimises ½ θᵀAθ − bᵀθ over ‖θ‖₂ ≤ R, A symmetric and possibly indefinite, exactly when some μ ≥ 0 has
(A + μI)θ = b, A + μI ⪰ 0 and μ(R − ‖θ‖) = 0 (Conn, Gould & Toint 2000, Trust-Region Methods, Theorem 7.2.1).
‖θ(μ)‖ falls as μ grows and 1/‖θ(μ)‖ is concave, so Newton's method on 1/R − 1/‖θ(μ)‖ never lands to the right of the
root, and from the left it climbs to it. It needs one Cholesky factor a step (Moré & Sorensen 1983, section 3); here it
bounds μ from below, and a step that also fits the second derivative is taken inside the bounds. The answer is accepted
only where A + μI is certainly regular. Otherwise, and that includes the hard case, one eigendecomposition settles it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from dpmine.models.supervised import Floats

_LARGEST = 1e150
_SMALLEST_EXPONENT = -500  # smaller numbers, and zeros, are scaled as if they were 2^−500
_FACTORS = 30  # the most Cholesky factors before the eigendecomposition, which costs as much and more
_REGULAR = 2.0**-24  # least eigenvalue of the scaled A + μI below which its factor is not trusted
_NEAR = 2.0**-8  # Newton steps that move the point by less, relatively, need no new factor
_SOLVES = 7  # with the old factor, each of which gains a factor of about _NEAR or more
_CLIMBS = 200  # Newton steps in the basis of eigenvectors, of which 10 are many
_SLACK = 2.0**-20  # of Newton's step, for rounding
_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, slots=True)
class BallMinimum:
    """Where a quadratic is least over a ball."""

    point: Floats
    """θ, shape (p,); its computed norm is at most the radius."""
    multiplier: float
    """μ ≥ 0, in the units of the matrix; 0 where the ball does not bind."""


@dataclass(frozen=True, slots=True)
class _Scaled:
    """The problem in units where R is in [½, 1) and the norms of A and b are below 1, one of them at least ½."""

    matrix: Floats
    vector: Floats
    radius: float
    spread: float
    """‖A‖_F."""


def minimise_over_ball(matrix: Floats, vector: Floats, radius: float, *, start: float = 0.0) -> BallMinimum:
    """Argmin ½ θᵀAθ − bᵀθ over ‖θ‖₂ ≤ R, for A = `matrix` (p, p), b = `vector` (p,) and R = `radius`.

    Requires: A symmetric (one triangle is read); ‖A‖_F, ‖b‖₂ and R at most 1e150; R at least 1e-150.
    `start` guesses μ, as a neighbouring problem's multiplier does: it saves time and moves the answer by rounding only.
    The objective is within a small multiple of p·2^−53·R(R‖A‖₂ + ‖b‖₂) of the least. Minimisers that are not unique: in
    the hard case the largest entry of the bottom eigenvector that is added is positive; where A ⪰ 0 is singular and
    the ball does not bind, the point is the shortest.
    Raises BadParameter for shapes that do not fit, numbers that are not finite or beyond these limits.
    Source: Moré & Sorensen 1983, Computing a Trust Region Step.
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
    scaled = _Scaled(matrix / unit, vector * 2.0**-force, math.ldexp(radius, -length), norms[0] / unit)
    point, multiplier = _by_factors(scaled, start / unit) or _by_eigenvalues(scaled)
    return BallMinimum(_within(point, scaled.radius) * 2.0**length, multiplier * unit)


def _exponent(size: float) -> int:
    return max(math.frexp(size)[1], _SMALLEST_EXPONENT) if size else _SMALLEST_EXPONENT


def _within(point: Floats, radius: float) -> Floats:
    """`point`, shortened where its computed norm is above the radius."""
    norm = math.sqrt(point @ point)
    while norm > radius:
        point = point * min(radius / norm, 1.0 - _ROUNDOFF)
        norm = math.sqrt(point @ point)
    return point


class _Shifted:
    """A + μI for one μ after the other, in one buffer."""

    def __init__(self, matrix: Floats) -> None:
        from scipy.linalg import lapack

        self._factorise, self._solve = lapack.dpotrf, lapack.dpotrs
        self._matrix = matrix
        self._buffer = np.empty_like(matrix)
        self._diagonal = self._buffer.reshape(-1)[:: len(matrix) + 1]

    def definite(self, shift: float) -> bool:
        """Whether A + μI for μ = `shift` has a Cholesky factor, none of its pivots tiny; later solutions use it."""
        self._buffer[...] = self._matrix
        self._diagonal += shift
        failed = self._factorise(self._buffer.T, lower=1, clean=0, overwrite_a=1)[1]
        return not failed and bool(self._diagonal.min() > _REGULAR)

    def solve(self, vector: Floats) -> Floats:
        """(A + μI)⁻¹ `vector`."""
        solution: Floats = self._solve(self._buffer.T, vector, lower=1)[0]
        return solution


def _by_factors(scaled: _Scaled, start: float) -> tuple[Floats, float] | None:
    """θ and μ from Cholesky factors; None where they do not settle, or settle where A + μI is nearly singular."""
    shifted = _Shifted(scaled.matrix)
    bracket = _Bracket.of(scaled)
    shift = bracket.inside(start)
    for _ in range(_FACTORS):
        if not shifted.definite(shift):
            shift = bracket.climb(shift)
            continue
        point = shifted.solve(scaled.vector)
        slope = shifted.solve(point)
        move = _Move.of(point, slope, scaled.radius)
        found = (point, 0.0) if shift == 0.0 and move.newton <= 0.0 else _finish(shifted, point, slope, scaled, move)
        if found is not None and shift + found[1] >= 0.0:
            point, step = found
            regular = step >= _REGULAR or shifted.definite(shift + step - _REGULAR)
            return (point, shift + step) if regular else None
        shift = bracket.follow(shift, move)
    return None


@dataclass(frozen=True, slots=True)
class _Move:
    """Two steps of μ towards ‖θ(μ)‖ = R: one that stays to the left of it, and a better one."""

    newton: float
    better: float
    relative: float
    """How far the point moves with the better one, relative to its norm, to first order."""

    @classmethod
    def of(cls, point: Floats, slope: Floats, radius: float) -> _Move:
        """From θ and −θ', by N = ‖θ(μ)‖²: N' = 2⟨θ, θ'⟩ and N'' = 6‖θ'‖².

        Newton's step is the root of the tangent of 1/√N, which is concave (Moré & Sorensen 1983, equation 3.11).
        The other is the root of c/(d + Δ)² + e, which agrees with N to second order: the nearest pole, and the rest.
        """
        size, along, square = float(point @ point), float(point @ slope), float(slope @ slope)
        if not (along > 0.0 and square > 0.0):
            return cls(-math.inf, -math.inf, math.inf)
        newton = size / along * (math.sqrt(size) / radius - 1.0)
        rest = radius * radius - size + along * (along / square)
        pole = along / square
        better = pole * (math.sqrt(along * pole / rest) - 1.0) if rest > 0.0 else newton
        return cls(newton, better, abs(better) * math.sqrt(square / size))


def _finish(
    shifted: _Shifted, start: Floats, slope: Floats, scaled: _Scaled, move: _Move
) -> tuple[Floats, float] | None:
    """The θ(μ + Δ) of norm R, and Δ, with the factor at μ; None where that would be slow.

    `start` is θ(μ), `slope` is −θ'(μ). From the right to the left: θ = θ(μ) − Δ(A + μI)⁻¹θ, Δ so that the norm is R.
    """
    if move.relative > _NEAR:
        return None
    point = start
    excess = float(start @ start) - scaled.radius * scaled.radius
    for _ in range(_SOLVES):
        along, square = float(start @ slope), float(slope @ slope)
        step = excess / (along + math.sqrt(max(along * along - square * excess, 0.0)))
        last, point = point, start - step * slope
        if float(np.abs(point - last).max()) <= 4.0 * _ROUNDOFF * scaled.radius:
            return point, step
        slope = shifted.solve(point)
    return None


@dataclass(slots=True)
class _Bracket:
    """Where μ is: above `low`, or at 0 if `low` is negative, and at most `high`."""

    low: float
    high: float
    climbed: float = 2.0**-8
    """How far, relatively, the last failed factor made μ climb, over 4."""

    @classmethod
    def of(cls, scaled: _Scaled) -> _Bracket:
        """‖b‖/R ∓ ‖A‖, with a margin for rounding; Moré & Sorensen 1983, section 3."""
        spread = scaled.spread * 1.0001
        pull = math.sqrt(scaled.vector @ scaled.vector) / scaled.radius
        return cls(pull * 0.9999 - spread if pull > 2.0 * spread else -1.0, pull * 1.0001 + spread)

    def inside(self, start: float) -> float:
        """The guess, moved into the bracket."""
        return max(self.low, 0.0) if math.isnan(start) else min(max(start, self.low, 0.0), self.high)

    def climb(self, shift: float) -> float:
        """The next μ after one at which A + μI is not positive definite."""
        self.low = shift
        self.climbed *= 4.0
        wanted = shift + self.climbed * max(shift, 2.0**-4 * self.high)
        return wanted if wanted < self.high else self._middle()

    def follow(self, shift: float, move: _Move) -> float:
        """The next μ after one at which A + μI is positive definite."""
        self.low = max(self.low, shift + move.newton - _SLACK * abs(move.newton))
        if move.newton <= 0.0:
            self.high = shift
        wanted = max(shift + move.better, 0.0)
        return wanted if self.low < wanted < self.high else self._middle()

    def _middle(self) -> float:
        return max(math.sqrt(max(self.low, 0.0) * self.high), self.low + 0.01 * (self.high - self.low))


def _by_eigenvalues(scaled: _Scaled) -> tuple[Floats, float]:
    """θ and μ in the basis of eigenvectors, where ‖θ(μ)‖² is a sum of p fractions; the hard case included.

    What rounding of the eigenvectors may have made of zeros is zero: entries of b, and a bottom eigenvalue.
    """
    values, vectors = np.linalg.eigh(scaled.matrix)
    noise = 4.0 * len(values) * _ROUNDOFF
    entries = vectors.T @ scaled.vector
    entries[np.abs(entries) <= noise * np.abs(entries).max(initial=0.0)] = 0.0
    bottom = float(values[0]) if abs(values[0]) > noise * float(np.abs(values).max()) else 0.0
    gaps = values - values[0]
    least = max(bottom, 0.0)
    point = _divided(entries, gaps + least)
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(point))
    multiplier = max(0.0, -bottom)
    if norm > scaled.radius:
        root = _root(entries, gaps, scaled.radius, least)
        point, multiplier = _divided(entries, gaps + root), max(0.0, root - float(values[0]))
    elif bottom < 0.0:
        sign = vectors[np.abs(vectors[:, 0]).argmax(), 0]
        point[0] = math.copysign(math.sqrt((scaled.radius - norm) * (scaled.radius + norm)), sign)
    return vectors @ point, multiplier


def _divided(entries: Floats, gaps: Floats) -> Floats:
    """entries/gaps, with 0/0 = 0 and c/0 = ∞, as for quotients beyond all floats."""
    quotients = np.full_like(entries, math.inf)
    with np.errstate(over="ignore"):
        np.divide(entries, gaps, out=quotients, where=gaps > 0.0)
    quotients[entries == 0.0] = 0.0
    return quotients


def _root(entries: Floats, gaps: Floats, radius: float, least: float) -> float:
    """The s > `least` at which ‖entries/(gaps + s)‖ = R, by Newton's method from the left, where it only climbs.

    Requires: the norm is above R at `least`. Starts where the largest single term is R, or at `least`.
    """
    root = max(least, float((np.abs(entries) / radius - gaps).max()))
    for _ in range(_CLIMBS):
        terms = _divided(entries, gaps + root)
        norm = float(np.linalg.norm(terms))
        step = norm * norm / float(terms @ _divided(terms, gaps + root)) * (norm - radius) / radius
        if not root + step > root * (1.0 + 2.0 * _ROUNDOFF):
            break
        root += step
    return root
