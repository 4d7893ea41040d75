"""Guarantees in few words."""

from __future__ import annotations

from fractions import Fraction

from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors, Zcdp

REPLACE, ADD = Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE


def guarantee(
    epsilon: str | Fraction, delta: str | Fraction = "0", neighbors: Neighbors = REPLACE, unit: str = "customer"
) -> Guarantee:
    return Guarantee(Fraction(epsilon), Fraction(delta), neighbors, unit)


def at_most(epsilon: str | Fraction, delta: str | Fraction = "0", unit: str = "customer") -> ExPostGuarantee:
    most = Fraction(epsilon)
    return ExPostGuarantee(most, Fraction(delta), REPLACE, unit, ex_post_epsilon=most)


def bounded_range(epsilon: str | Fraction, delta: str | Fraction = "0", unit: str = "customer") -> Guarantee:
    """As the exponential mechanism's: ε²/8."""
    loss, exact_delta = Fraction(epsilon), Fraction(delta)
    return Guarantee(loss, exact_delta, REPLACE, unit, concentrated=Zcdp(loss**2 / 8, exact_delta))
