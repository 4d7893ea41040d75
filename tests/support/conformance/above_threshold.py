"""What holds of every interactive AboveThreshold: its law by quadrature, its charge on worst pairs, its guarantees."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from scipy import integrate, stats

from dpmine.exact.reals import ExponentialNoise, LaplaceNoise
from dpmine.models.accuracy_first.threshold_search import first_above
from support.numpy_bits import NumpyBits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpmine.exact.reals import Noise
    from dpmine.models.accuracy_first.threshold_search import ThresholdTest

    Make: TypeAlias = Callable[..., ThresholdTest]

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

FALSE_ALARM = 1e-7
ACCURACY = 1e-9  # of the quadrature, relative to 1
TENTH = Fraction(1, 10)
COUNTS = (1, 5, 100)
FAILURES = [Fraction(1, 2), TENTH, Fraction(1, 1000)]
LAWS = {ExponentialNoise: stats.expon, LaplaceNoise: stats.laplace}
VECTORS = [[0.0], [5.0], [-3.0, 4.0], [8.0, 0.0, 3.0], [2.0, -6.0, 9.0, 9.0], [1.5, 0.0, -2.0, 6.0, 11.0]]


def frozen(noise: Noise) -> Any:
    """The same law, as scipy has it."""
    return LAWS[type(noise)](scale=float(noise.scale))


def stops(test: ThresholdTest, queries: Sequence[float], *, halved: bool = False) -> Array:
    """Pr[stop at t] for every t, and at last Pr[none], by quadrature over ρ; with ν of half the scale if asked to."""
    once, each, bar = frozen(test.once), frozen(test.each), float(test.threshold)
    if halved:
        each = LAWS[type(test.each)](scale=float(test.each.scale) / 2)
    values = np.array(queries, dtype=float)
    rho, weights = nodes(test, [0.0, *(values - bar)])
    margins = bar + rho[:, np.newaxis] - values
    nothing = np.ones((len(rho), 1))
    rejected = np.concatenate([nothing, np.cumprod(each.cdf(margins), axis=1)], axis=1)
    accepted = np.concatenate([each.sf(margins), nothing], axis=1)
    return np.asarray((weights * once.pdf(rho)) @ (rejected * accepted))


def nodes(test: ThresholdTest, corners: Sequence[float]) -> tuple[Array, Array]:
    """Gauss's nodes and weights for ρ on short pieces between the corners of the integrand."""
    width = 100 * float(test.once.scale)
    ends = {-width * (type(test.once) is LaplaceNoise), width}
    ends |= {corner for corner in corners if min(ends) < corner < max(ends)}
    step = 2 * float(min(test.once.scale, test.each.scale))
    cuts = [np.linspace(a, b, 1 + math.ceil((b - a) / step)) for a, b in pairwise(sorted(ends))]
    lows, highs = np.concatenate([cut[:-1] for cut in cuts]), np.concatenate([cut[1:] for cut in cuts])
    points, shares = np.polynomial.legendre.leggauss(16)
    half = (highs - lows)[:, np.newaxis] / 2
    return (lows[:, np.newaxis] + half * (1 + points)).ravel(), (half * shares).ravel()


def redrawn_stops(test: ThresholdTest, queries: Sequence[float]) -> Array:
    """The law of a broken twin that draws ρ anew for every query."""
    accepted = np.array([stops(test, [query])[0] for query in queries])
    rejected = np.concatenate([[1.0], np.cumprod(1.0 - accepted)])
    return np.asarray(rejected * np.concatenate([accepted, [1.0]]))


def charges(test: ThresholdTest, count: int) -> Array:
    return np.array([float(test.charge)] * count + [float(test.charge_of_none)])


def excess_loss(test: ThresholdTest, law: Array, other: Array) -> float:
    """The largest |ln ratio| − charge over all outcomes that quadrature resolves."""
    seen = np.minimum(law, other) > 1e-200
    ratio = np.abs(np.log(law[seen]) - np.log(other[seen]))
    return float((ratio - charges(test, len(law) - 1)[seen]).max())


def attained(test: ThresholdTest, queries: list[float], changed: list[float]) -> tuple[float, float]:
    """Shares of the charge of accepting the last query, and of the charge of none, that a pair reaches."""
    ratio = np.abs(np.log(stops(test, queries)) - np.log(stops(test, changed))) / charges(test, len(queries))
    return float(ratio[-2]), float(ratio[-1])


def pvalue(counts: Array, law: Array) -> float:
    """Of the most surprising count, times how many there are."""
    total = int(counts.sum())
    return min(
        float(stats.binomtest(int(count), total, min(1.0, float(share))).pvalue)
        for count, share in zip(counts, law, strict=True)
    ) * len(counts)


def quadrature_adds_up_and_knows_one_query(make: Make) -> None:
    test = make(Fraction(20), tests=5, failure=TENTH)
    for queries in VECTORS:
        assert stops(test, queries).sum() == pytest.approx(1.0, abs=ACCURACY)
    integrand = frozen(test.once), frozen(test.each), float(test.threshold)
    value = integrate.quad(
        lambda rho: integrand[0].pdf(rho) * integrand[1].sf(integrand[2] + rho - 3.0),
        -40,
        40,
        points=[0.0, 3.0 - integrand[2]],
        epsabs=1e-12,
        limit=200,
    )[0]
    assert stops(test, [3.0])[0] == pytest.approx(value, abs=ACCURACY)


def no_pair_is_charged_too_little(make: Make) -> None:
    test = make(Fraction(20), tests=3, failure=TENTH)
    for queries in ([4.0], [7.0, 2.0], [16.0, 8.0, 1.0]):
        law = stops(test, queries)
        for shift in product([-1.0, 0.0, 1.0], repeat=len(queries)):
            other = stops(test, [query + move for query, move in zip(queries, shift, strict=True)])
            assert excess_loss(test, law, other) <= 1e-9


def no_random_pair_is_charged_too_little(make: Make) -> None:
    generator, test = np.random.default_rng(5), make(Fraction(20), tests=5, failure=TENTH)
    for _ in range(60):
        queries = generator.uniform(-5, 25, size=5)
        other = queries + generator.choice([-1.0, -0.3, 0.0, 1.0], size=5)
        assert excess_loss(test, stops(test, queries.tolist()), stops(test, other.tolist())) <= 1e-9


def a_threshold_drawn_again_for_every_query_loses_more(make: Make) -> None:
    test = make(Fraction(20), tests=5, failure=TENTH)
    queries = [float(test.threshold) + 8.0] * 5
    law, other = redrawn_stops(test, queries), redrawn_stops(test, [query + 1 for query in queries])
    assert math.log(law[-1] / other[-1]) > 1.5 * float(test.charge_of_none)
    accepted = [*queries[:4], 0.0]
    law, other = redrawn_stops(test, accepted), redrawn_stops(test, [*(q + 1 for q in queries[:4]), -1.0])
    assert math.log(law[4] / other[4]) > 1.2 * float(test.charge)


def half_the_noise_on_queries_loses_more(make: Make) -> None:
    test = make(Fraction(20), tests=5, failure=TENTH)
    high = float(test.threshold) + 10.0
    queries, changed = [high] * 4 + [-10.0], [high + 1.0] * 4 + [-11.0]
    ratio = math.log(stops(test, queries, halved=True)[4] / stops(test, changed, halved=True)[4])
    assert ratio > 1.2 * float(test.charge)
    assert math.log(stops(test, queries)[4] / stops(test, changed)[4]) <= float(test.charge) + 1e-9


def false_acceptance(make: Make, count: int, failure: Fraction) -> float:
    """The supremum over queries below 0 of the probability that one of them is accepted."""
    return float(stops(make(Fraction(30), tests=count, failure=failure), [0.0] * count)[:-1].sum())


def queries_below_zero_are_seldom_accepted(make: Make) -> None:
    for count, failure in product(COUNTS, FAILURES):
        assert false_acceptance(make, count, failure) <= float(failure) + ACCURACY


def a_query_of_the_slack_stops_the_search(make: Make) -> None:
    for count, failure in product(COUNTS, FAILURES):
        test = make(Fraction(30), tests=count, failure=failure)
        rejected = stops(test, [-1e6] * (count - 1) + [30.0])[-1]
        assert rejected <= float(failure) + ACCURACY


def no_query_is_taken_after_the_accepted_one(make: Make) -> None:
    test, taken = make(Fraction(20), tests=5, failure=TENTH), []

    def queries() -> Iterator[Fraction]:
        for place, query in enumerate([-(10**6), -(10**6), 10**6, 10**6]):
            taken.append(place)
            yield Fraction(query)

    assert first_above(test, queries(), bits=NumpyBits(1)) == 2
    assert taken == [0, 1, 2]


def none_is_accepted_where_all_are_far_below(make: Make) -> None:
    test = make(Fraction(20), tests=3, failure=TENTH)
    assert first_above(test, [Fraction(-(10**6))] * 3, bits=NumpyBits(2)) is None
    assert first_above(test, [], bits=NumpyBits(3)) is None


def check_law(make: Make, queries: list[float]) -> None:
    """Of the place of the accepted query, by 2000 draws."""
    test, draws = make(Fraction(12), tests=5, failure=Fraction(1, 4)), 2000
    bits, exact = NumpyBits(2017 + len(queries)), [Fraction(query) for query in queries]
    counts = np.zeros(len(queries) + 1)
    for _ in range(draws):
        place = first_above(test, exact, bits=bits)
        counts[len(queries) if place is None else place] += 1
    wanted = stops(test, queries)
    assert pvalue(counts, wanted) > FALSE_ALARM
    assert pvalue(counts, stops(test, [query - 3 for query in queries])) < FALSE_ALARM  # the test sees a shift of 3


CHECKS = [
    quadrature_adds_up_and_knows_one_query,
    no_pair_is_charged_too_little,
    no_random_pair_is_charged_too_little,
    a_threshold_drawn_again_for_every_query_loses_more,
    half_the_noise_on_queries_loses_more,
    queries_below_zero_are_seldom_accepted,
    a_query_of_the_slack_stops_the_search,
    no_query_is_taken_after_the_accepted_one,
    none_is_accepted_where_all_are_far_below,
]
"""Each a check of one test, made as `exponential_test` is."""
