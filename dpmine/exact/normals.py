"""Standard normal reals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine.exact.reals import Formula, Real, StandardExponential, Uniform

if TYPE_CHECKING:
    from dpmine.exact.balls import Ball
    from dpmine.exact.bits import BitSource


def standard_normals(count: int, *, bits: BitSource) -> list[Real]:
    """Independent standard normal reals, in pairs. Source: Box & Muller 1958."""
    normals: list[Real] = []
    while len(normals) < count:
        radius, angle = Formula(_radius, StandardExponential(bits=bits)), Uniform(bits=bits)
        normals += [Formula(_cosine, radius, angle), Formula(_sine, radius, angle)]
    return normals[:count]


def _radius(half_square: Ball) -> Ball:
    return (2 * half_square).sqrt()


def _cosine(radius: Ball, angle: Ball) -> Ball:
    return radius * (2 * angle).cos_pi()


def _sine(radius: Ball, angle: Ball) -> Ball:
    return radius * (2 * angle).sin_pi()
