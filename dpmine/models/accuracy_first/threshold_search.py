"""The search that goes through hypotheses of falling noise until one is near enough to the best.

It is interactive AboveThreshold: a query q_t(D) is of sensitivity 1, and may depend on what was released before it. One
noise ρ is drawn for the threshold, and a fresh one ν_t for each query. The first t with q_t + ν_t ≥ W + ρ is accepted.
Comparisons are exact.
Source: Ligett et al. 2017, Algorithm 2 and Lemma 2.8. Proof: docs/proofs/models/above_threshold.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from dpmine.exact.reals import (
    Constant,
    ExponentialNoise,
    Formula,
    Noise,
    Real,
    above,
    decimal_above,
    draw,
    exact_ball,
    less_than,
    logarithm,
)
from dpmine.models.linear.sensitivities import up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats


DIGITS = 6
"""Significant digits of a privacy level: what is charged can be read."""
_BITS = 128
_LARGEST_BATCH = 32  # hypotheses whose risks are computed at a time


@dataclass(frozen=True, slots=True)
class ThresholdTest:
    """The public numbers of a test: is a query, in units of its sensitivity, at least 0?

    Attributes:
        threshold: W.
        once: the distribution of ρ.
        each: the distribution of ν_t.
        charge: ε_0, of accepting a query, beyond what the queries are made of.
        charge_of_none: of accepting none, at most ε_0.
    """

    threshold: Fraction
    once: Noise
    each: Noise
    charge: Fraction
    charge_of_none: Fraction


def first_above(test: ThresholdTest, queries: Iterable[Fraction], *, bits: BitSource) -> int | None:
    """The place of the first query that is accepted, from 0; None where all are rejected.

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
    `slack`, if not an earlier one, is accepted. Accepting one is charged ε_0 = ε_a + ε_b, accepting none ε_a.
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


def _shifted(start: Fraction, noise: Real) -> Real:
    return Formula(add, Constant(start), noise)


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """Where a search ended.

    Attributes:
        step: of the accepted hypothesis, from 0; None when none was accepted.
        weights: the accepted hypothesis, otherwise the last one.
        charge: ex-post privacy loss of the step and of all hypotheses up to it.
    """

    step: int | None
    weights: Floats
    charge: Fraction


def search(
    hypotheses: Iterable[Floats],
    epsilons: Sequence[Fraction],
    queries: Callable[[Floats], list[Fraction]],
    test: ThresholdTest,
    *,
    bits: BitSource,
) -> SearchOutcome:
    """The first hypothesis that the test accepts, for ε_0 + ε_t; or the last, for the charge of accepting none + ε_T.

    Requires: the first t hypotheses are ε_t-private; each lies in the ball where `queries`, of hypotheses of shape
    (k, p), have sensitivity 1. Source: Ligett et al. 2017, Algorithm 3 and Lemma 2.8.
    """
    seen: list[Floats] = []

    def answers() -> Iterator[Fraction]:
        for batch in _batches(hypotheses):
            seen.extend(batch)
            yield from queries(np.array(batch))

    step = first_above(test, answers(), bits=bits)
    if step is None:
        return SearchOutcome(None, seen[-1], test.charge_of_none + epsilons[-1])
    return SearchOutcome(step, seen[step], test.charge + epsilons[step])


def _batches(hypotheses: Iterable[Floats]) -> Iterator[list[Floats]]:
    """1, 2, 4, … at a time: few are computed in vain when one of the first will do."""
    rest, size = iter(hypotheses), 1
    while batch := list(islice(rest, size)):
        yield batch
        size = min(2 * size, _LARGEST_BATCH)
