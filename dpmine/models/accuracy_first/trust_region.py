"""The trust-region problem: minimise ½ θᵀAθ − bᵀθ over ‖θ‖₂ ≤ R, for A symmetric and possibly indefinite.

Hypotheses of noisy covariances solve it. θ is a minimiser exactly when some μ ≥ 0 has (A + μI)θ = b, A + μI ⪰ 0 and
μ(R − ‖θ‖) = 0. In the basis of A's eigenvectors ‖θ(μ)‖² is a sum of p fractions, so that one eigendecomposition settles
every case.
Source: Conn, Gould & Toint 2000, Trust-Region Methods, Theorem 7.2.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.linear.sensitivities import ROUNDOFF

if TYPE_CHECKING:
    from dpmine.models.entries import Floats

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
