"""Interactive AboveThreshold: the first of many queries that is large enough, for the price of a few.

A query q_t(D) is of sensitivity 1, and may depend on what was released before it. One noise ρ is drawn for the
threshold and a fresh one ν_t for each query; the first t with q_t + ν_t ≥ W + ρ is accepted. Comparisons are exact.
Source: Ligett et al. 2017, Algorithm 2 and Lemma 2.8. Proof: docs/proofs/models/above_threshold.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.exact.decisions import less_than
from dpmine.exact.noise import ExponentialNoise, LaplaceNoise, draw
from dpmine.exact.reals import Constant, Formula, exact_ball, logarithm
from dpmine.exact.rounding import above, decimal_above
from dpmine.models.accuracy_first.levels import DIGITS
from dpmine.models.linear.sensitivities import up

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpmine.exact.bits import BitSource
    from dpmine.exact.noise import Noise
    from dpmine.exact.reals import Ball, Real

_BITS = 128


@dataclass(frozen=True, slots=True)
class ThresholdTest:
    """The public numbers of a test: is a query, in units of its sensitivity, at least 0?

    Attributes:
        threshold: W.
        once: law of ρ.
        each: law of ν_t.
        price: ε_0, of accepting a query, beyond what the queries are made of.
        price_of_none: of accepting none, at most ε_0.
    """

    threshold: Fraction
    once: Noise
    each: Noise
    price: Fraction
    price_of_none: Fraction


def first_above(test: ThresholdTest, queries: Iterable[Fraction], *, bits: BitSource) -> int | None:
    """The place of the first query that is accepted, from 0; None when all are refused.

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
    `slack`, if not an earlier one, is accepted. Accepting costs ε_0 = ε_a + ε_b, accepting none ε_a.
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


def laplace_test(target: Fraction, *, tests: int, failure: Fraction) -> ThresholdTest:
    """ρ ~ Lap(2/ε_0), ν_t ~ Lap(4/ε_0), W = α/2, ε_0 = 16 ln(2T/γ)/α, for a `target` α in units of sensitivity.

    Accepting a query below 0 has probability ≤ γ = `failure`; accepting costs ε_0, accepting none ε_0/2.
    Source: Ligett et al. 2017, Algorithm 3.
    """
    price = decimal_above(above(lambda: 16 * logarithm(2 * tests / failure), _BITS) / target, DIGITS)
    return ThresholdTest(target / 2, LaplaceNoise(2 / price), LaplaceNoise(4 / price), price, price / 2)


def _shifted(start: Fraction, noise: Real) -> Real:
    def total(fixed: Ball, random: Ball) -> Ball:
        return fixed + random

    return Formula(total, Constant(start), noise)
