"""Guarantees in few words."""

from __future__ import annotations

from fractions import Fraction

from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors

REPLACE, ADD = Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE


def promise(
    epsilon: str | Fraction, delta: str | Fraction = "0", neighbors: Neighbors = REPLACE, unit: str = "customer"
) -> Guarantee:
    return Guarantee(Fraction(epsilon), Fraction(delta), neighbors, unit)


def at_most(epsilon: str | Fraction, delta: str | Fraction = "0", unit: str = "customer") -> ExPostGuarantee:
    most = Fraction(epsilon)
    return ExPostGuarantee(most, Fraction(delta), REPLACE, unit, ex_post_epsilon=most)
