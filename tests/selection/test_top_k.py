"""Choosing k candidates: laws against enumerated rounds, budgets, and what is refused."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.adversary import Descent, LazyUniverse
from support.cases import every
from support.effort import examples
from support.mechanisms import APPROXIMATE, PURE
from support.numpy_bits import NumpyBits
from support.oracles import top_k as top_k_laws
from support.oracles.mechanisms import chi_square_p, tally
from support.oracles.top_k import LAPLACE, Domain

from dpmine.errors import BadParameter, NotPrivate
from dpmine.exact.bits import SystemBits
from dpmine.privacy import Neighbors
from dpmine.selection.composition import approximate_rounds, bounded_range_rounds, pure_rounds
from dpmine.selection.mechanisms.limited_domain import LimitedDomain
from dpmine.selection.mechanisms.report_noisy_max import Exponential, MaxOfLaplaces
from dpmine.selection.recommend import MECHANISMS, recommend
from dpmine.selection.top_k import HALF, LimitedDomainTopK, OneShot, Peeling, build_top_k, share_right, support_needed
from dpmine.selection.universes.dense import Dense, Levels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpmine.selection.top_k import TopK

REPLACE, ADD = Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE
LEAD_SENSITIVITY = {REPLACE: 2, ADD: 1}
RELATIONS = pytest.mark.parametrize("neighbors", [REPLACE, ADD])
ERROR = 1e-9
"""The nominal error of each comparison with a law."""
TRUTH = {"a": 5, "b": 4, "c": 4, "d": 2, "e": 1, "f": 0}
NONE = Fraction(0)


def build(name: str, count: int, **changes: Any) -> TopK:
    options = {"options": {"max_items_per_unit": 4}} if name == "bounded_growth" else {}
    given = {"epsilon": 1, "delta": "1e-6", "neighbors": REPLACE, "candidates": None, **options, **changes}
    budget = {parameter: Fraction(given[parameter]) for parameter in ("epsilon", "delta")}
    return build_top_k(name, count=count, not_private=name == "exact", **(given | budget))


def lazy(truth: Mapping[str, int] = TRUTH, padding: int = 0, descent: Descent = Descent.CRAWL) -> LazyUniverse[str]:
    return LazyUniverse(truth, least=0, descent=descent, padding=padding)


def named(law: Mapping[tuple[int | None, ...], float], names: Sequence[str | None]) -> dict[tuple[str, ...], float]:
    """Lists of names; a place that a dummy took is left out."""
    lists: dict[tuple[str, ...], float] = defaultdict(float)
    for chosen, mass in law.items():
        labels = (names[i] for i in chosen if i is not None)
        lists[tuple(label for label in labels if label is not None)] += mass
    return dict(lists)


def assert_lists(top_k: TopK, universe: Any, law: Mapping[tuple[str, ...], float], draws: int = 500) -> None:
    seen = tally(lambda: top_k.choose(universe, bits=SystemBits()), draws)
    assert abs(sum(law.values()) - 1) < 1e-9
    assert chi_square_p(seen, law) > ERROR


# One shot


@RELATIONS
@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_one_shot_of_one_is_the_exponential_mechanism(epsilon: str, neighbors: Neighbors) -> None:
    """Not in law alone: out of the same bits comes the same candidate, and the budget is the same."""
    one = OneShot.of(1, Fraction(epsilon), NONE, neighbors)
    same = Exponential(Fraction(epsilon), NONE, neighbors)
    assert one.mechanism == same
    assert (one.epsilon, one.delta) == (same.epsilon, NONE)
    for seed in range(60):
        assert one.choose(lazy(), bits=NumpyBits(seed)) == (same.choose(lazy(), bits=NumpyBits(seed)),)


@pytest.mark.statistical
@RELATIONS
@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_law_of_one_shot_of_one(epsilon: str, neighbors: Neighbors) -> None:
    """Chi^2 at a nominal 1e-9 per case."""
    one = OneShot.of(1, Fraction(epsilon), NONE, neighbors)
    rate = float(Fraction(epsilon)) / LEAD_SENSITIVITY[neighbors]
    assert_lists(one, lazy(), named(top_k_laws.peeled_exponential(list(TRUTH.values()), 1, rate), list(TRUTH)))


@pytest.mark.statistical
@RELATIONS
@every("count", [2, 3])
@every("delta", [0, Fraction(1, 10)])
def test_one_shot_is_the_rounds_it_says(delta: Fraction, count: int, neighbors: Neighbors) -> None:
    """Chi^2 at a nominal 1e-9 per case."""
    top_k = OneShot.of(count, Fraction(2), Fraction(delta), neighbors)
    rate = float(top_k.round_epsilon) / LEAD_SENSITIVITY[neighbors]
    assert top_k.round_epsilon == bounded_range_rounds(count, Fraction(2), Fraction(delta)).round_epsilon
    assert_lists(top_k, lazy(), named(top_k_laws.peeled_exponential(list(TRUTH.values()), count, rate), list(TRUTH)))


@pytest.mark.statistical
def test_one_shot_leaves_out_the_places_of_dummies() -> None:
    """Chi^2 at a nominal 1e-9."""
    top_k = OneShot.of(2, Fraction(3), NONE, REPLACE)
    names = ["0", "1", "2", None, None, None]
    law = named(top_k_laws.peeled_exponential([4, 1, 0, 0, 0, 0], 2, 0.75), names)
    assert () in law
    universe = Dense([4, 1, 0], padding=3)
    seen = tally(lambda: tuple(str(i) for i in top_k.choose(universe, bits=SystemBits())), 500)
    assert chi_square_p(seen, law) > ERROR


@every("name", PURE)
@every("count", [6, 9])
def test_pure_mechanisms_list_everybody(name: str, count: int) -> None:
    top_k = build(name, count, delta=0)
    for _ in range(10):
        assert sorted(top_k.choose(lazy(), bits=SystemBits())) == sorted(TRUTH)


@every("name", [*PURE, "exact"])
def test_of_nobody_nobody_is_chosen(name: str) -> None:
    assert build(name, 3).choose(LazyUniverse({}, least=0, descent=Descent.CRAWL), bits=SystemBits()) == ()
    assert build(name, 3).choose(Levels([], padding=5), bits=SystemBits()) == ()


# Limited domain


@RELATIONS
@every("kbar", [1, 3, 100])
@every("delta", [Fraction(1, 100), Fraction(1, 2)])
def test_limited_domain_of_one_is_the_mechanism(delta: Fraction, kbar: int, neighbors: Neighbors) -> None:
    """At the same (ε, δ), even where a large δ would allow one round more than ε."""
    one = LimitedDomainTopK.of(1, Fraction(2), delta, neighbors, kbar)
    same = LimitedDomain(Fraction(2), delta, neighbors, kbar)
    assert one.mechanism == same
    truth = {"a": 30, "b": 29, "c": 4}
    for seed in range(60):
        single = same.choose(lazy(truth, 9), bits=NumpyBits(seed))
        assert one.choose(lazy(truth, 9), bits=NumpyBits(seed)) == (() if single is None else (single,))


DOMAINS: dict[str, tuple[dict[str, int], int]] = {
    "a cut between levels": ({"a": 9, "b": 7, "c": 3, "d": 1}, 3),
    "all kept": ({"a": 9, "b": 8, "c": 3}, 5),
    "dummies kept": ({"a": 6, "b": 2}, 4),
    "bottom is likely": ({"a": 5, "b": 4, "c": 4}, 1),
}


@pytest.mark.statistical
@RELATIONS
@every("descent", Descent)
@every("name", DOMAINS)
def test_limited_domain_against_enumeration(name: str, descent: Descent, neighbors: Neighbors) -> None:
    """⊥ ends the list, and a dummy takes a place, of which nothing is told. Chi^2 at a nominal 1e-9 per case."""
    truth, kbar = DOMAINS[name]
    count = min(2, kbar)
    top_k = LimitedDomainTopK.of(count, Fraction(4), Fraction(1, 2), neighbors, kbar)
    domain = Domain(kbar, count, float(top_k.round_epsilon), float(top_k.leaving_delta), LEAD_SENSITIVITY[neighbors])
    candidates = [*truth.values(), *[top_k_laws.DUMMY] * (kbar + 1)]
    law = named(top_k_laws.limited_domain(candidates, domain), list(truth))
    assert_lists(top_k, lazy(truth, kbar + 9, descent), law, draws=300)


@pytest.mark.statistical
def test_a_level_that_is_cut_is_drawn_as_a_whole() -> None:
    """Two of three equal candidates are kept: which, is a uniform choice each time. Against plain arithmetic.

    Chi^2 at a nominal 1e-9.
    """
    truth = {"a": 8, "b": 6, "c": 6, "d": 6}
    top_k = LimitedDomainTopK.of(2, Fraction(4), Fraction(1, 2), ADD, 3)
    rate, delta = float(top_k.round_epsilon), float(top_k.leaving_delta)
    best, equal, end = exp(8 * rate), exp(6 * rate), exp(rate * 7) * 3 / delta
    total = best + 2 * equal + end
    law: dict[tuple[str, ...], float] = {(): end / total, ("a",): best / total * end / (total - best)}
    for one in "bcd":
        first = 2 * equal / total / 3
        law["a", one] = best / total * 2 * equal / (total - best) / 3
        law[one, "a"] = first * best / (total - equal)
        law[one,] = first * end / (total - equal)
        law |= {(one, two): first * equal / (total - equal) / 2 for two in "bcd" if two != one}
    assert_lists(top_k, lazy(truth, 9), law, draws=900)


@pytest.mark.parametrize(("count", "kbar"), [(2, 1), (10, 9)])
def test_more_wanted_than_kept_is_refused(count: int, kbar: int) -> None:
    with pytest.raises(BadParameter, match="kbar must be at least"):
        build("limited_domain", count, options={"kbar": kbar})
    assert build("limited_domain", count, options={"kbar": count}).count == count


# Peeling


@pytest.mark.statistical
@RELATIONS
@pytest.mark.parametrize("delta", [0, Fraction(1, 10)])
def test_peeled_laplaces_against_quadrature(delta: Fraction, neighbors: Neighbors) -> None:
    """Chi^2 at a nominal 1e-9 per case."""
    top_k = Peeling.of(2, MaxOfLaplaces(Fraction(3), NONE, neighbors), Fraction(delta))
    rate = float(top_k.once.epsilon) / LEAD_SENSITIVITY[neighbors]
    law = named(top_k_laws.peeled_noisy_max([float(score) for score in TRUTH.values()], 2, rate, LAPLACE), list(TRUTH))
    assert_lists(top_k, lazy(), law, draws=400)


MARGINS = [name for name in APPROXIMATE if name != "limited_domain"]


@pytest.mark.statistical
@pytest.mark.parametrize("name", MARGINS)
def test_two_rounds_of_an_approximate_mechanism(name: str) -> None:
    """By the mechanism's own exact law, round by round; a round in which nothing stands out changes nothing.

    Chi^2 at a nominal 1e-9 per case.
    """
    truth = {"a": 34, "b": 33, "c": 10}
    top_k = build(name, 2, epsilon=3, delta=Fraction(1, 2), neighbors=ADD)
    law: dict[tuple[str, ...], float] = defaultdict(float)
    for first, mass in once(top_k, truth).items():
        left = {key: score for key, score in truth.items() if key != first}
        for second, share in once(top_k, left).items():
            law[tuple(found for found in (first, second) if found is not None)] += mass * share
    assert_lists(top_k, lazy(truth, 2**128), law, draws=250)


def once(top_k: TopK, truth: Mapping[str, int]) -> dict[str | None, float]:
    from dpmine.selection.distributions.profile import Profile

    scores = sorted(set(truth.values()), reverse=True)
    counts = tuple([*truth.values()].count(score) for score in scores)
    law = top_k.mechanism.distribution(Profile(tuple(map(float, scores)), counts, 2**128))
    masses = dict(zip(scores, (mass / n for mass, n in zip(law.masses, counts, strict=True)), strict=True))
    return {**{key: float(masses[score]) for key, score in truth.items()}, None: law.nothing}


@every("name", MECHANISMS)
@every("descent", Descent)
def test_candidates_are_different_and_known(name: str, descent: Descent) -> None:
    truth = {f"item {i}": 3 * i // 2 + 40 for i in range(12)}
    for epsilon in ("1/10", "30", "900"):
        top_k = build(name, 7, epsilon=epsilon)
        padding = 0 if top_k.needs_catalogue else 2**128
        chosen = top_k.choose(lazy(truth, padding, descent), bits=SystemBits())
        assert len(set(chosen)) == len(chosen) <= 7
        assert set(chosen) <= set(truth)
        assert len(chosen) == 7 or not top_k.needs_catalogue


@every("name", APPROXIMATE)
def test_fewer_where_fewer_stand_out(name: str) -> None:
    """Of an unknown universe no more than occur are chosen, and never one that does not."""
    truth = {"a": 900, "b": 600, "c": 300}
    top_k = build(name, 8, epsilon=900)
    assert top_k.choose(lazy(truth, 2**128), bits=SystemBits()) == ("a", "b", "c")
    assert top_k.choose(lazy({}, 2**128), bits=SystemBits()) == ()
    assert build(name, 8, epsilon="1/100").choose(lazy({"a": 2, "b": 1}, 2**128), bits=SystemBits()) == ()


def test_exact_lists_the_best() -> None:
    assert build("exact", 9).choose(lazy({"a": 3, "b": 2, "c": 1}, 9), bits=SystemBits()) == ("a", "b", "c")
    assert sorted(build("exact", 9).choose(lazy(), bits=SystemBits())) == sorted(TRUTH)
    assert not build("exact", 2).guarantee().private
    with pytest.raises(NotPrivate, match="not_private"):
        build_top_k("exact", count=2, epsilon=Fraction(1), delta=NONE, neighbors=REPLACE, candidates=None)


@every("name", [*MECHANISMS, "auto"])
def test_huge_universes(name: str) -> None:
    universe = Levels([(10**6, 2), (10**5, 1), (3, 10**9), (0, 10**30)])
    top_k = build(name, 5, epsilon=900, candidates=universe.size)
    chosen = top_k.choose(universe, bits=SystemBits())
    assert {(0, 0), (0, 1), (1, 0)} >= set(chosen[:3])
    assert len(set(chosen)) == len(chosen)
    assert len(chosen) == 5 or not (top_k.needs_catalogue or name == "exact")


def test_more_places_than_a_machine_word_can_count() -> None:
    peeled = Peeling.of(10**30, MaxOfLaplaces(Fraction(10**30), NONE, REPLACE), NONE)
    for kind in (OneShot(10**30, Fraction(1), NONE, REPLACE, Fraction(1)), peeled):
        assert sorted(kind.choose(lazy(), bits=SystemBits())) == sorted(TRUTH)


# Budgets

COUNTS = st.integers(1, 30)
EPSILONS = st.fractions(Fraction(1, 100), 50, max_denominator=1000)
DELTAS = st.sampled_from([Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 3), Fraction(99, 100)])


@settings(max_examples=examples(40))
@given(st.sampled_from(PURE), COUNTS, EPSILONS, st.sampled_from([REPLACE, ADD]))
def test_pure_mechanisms_charge_no_delta_that_they_may_not(
    name: str, count: int, epsilon: Fraction, neighbors: Neighbors
) -> None:
    top_k = build(name, count, epsilon=epsilon, delta=0, neighbors=neighbors)
    guarantee = top_k.guarantee()
    assert (guarantee.epsilon, guarantee.delta, guarantee.neighbors, guarantee.private) == (
        epsilon,
        NONE,
        neighbors,
        True,
    )
    assert top_k.mechanism.epsilon == epsilon / count
    assert top_k.mechanism.delta == 0


@settings(max_examples=examples(40))
@given(st.sampled_from(PURE), COUNTS, EPSILONS, DELTAS)
def test_pure_mechanisms_charge_delta_where_it_buys_something(
    name: str, count: int, epsilon: Fraction, delta: Fraction
) -> None:
    top_k = build(name, count, epsilon=epsilon, delta=delta)
    expected = (bounded_range_rounds if name == "exponential" else pure_rounds)(count, epsilon, delta)
    assert top_k.guarantee().epsilon == epsilon
    assert top_k.guarantee().delta in {0, delta}
    if count == 1:
        assert (top_k.mechanism.epsilon, top_k.delta) == (epsilon, NONE)
    else:
        assert (top_k.mechanism.epsilon, top_k.delta) == (expected.round_epsilon, expected.delta)
        assert (top_k.delta > 0) == (top_k.mechanism.epsilon > epsilon / count)


@settings(max_examples=examples(60))
@given(st.sampled_from(APPROXIMATE), COUNTS, EPSILONS, DELTAS)
def test_approximate_mechanisms_charge_exactly_what_was_given(
    name: str, count: int, epsilon: Fraction, delta: Fraction
) -> None:
    top_k = build(name, count, epsilon=epsilon, delta=delta)
    assert (top_k.guarantee().epsilon, top_k.guarantee().delta) == (epsilon, delta)
    assert top_k.mechanism.name == top_k.name == name
    if count == 1:
        assert (top_k.mechanism.epsilon, top_k.mechanism.delta) == (epsilon, delta)
    if isinstance(top_k, LimitedDomainTopK):
        rounds = bounded_range_rounds(count, epsilon, delta / 2 if count > 1 else NONE)
        assert top_k.leaving_delta + rounds.delta == delta
        assert (top_k.mechanism.epsilon, top_k.mechanism.delta) == (rounds.round_epsilon, top_k.leaving_delta)
    else:
        rounds = approximate_rounds(count, epsilon, delta)
        assert (top_k.mechanism.epsilon, top_k.mechanism.delta) == (rounds.round_epsilon, rounds.round_delta)


@every("name", [*PURE, *APPROXIMATE])
def test_the_phrase_tells_the_number_of_rounds_and_their_budget(name: str) -> None:
    top_k = build(name, 4, epsilon=2)
    assert top_k.rounds().startswith("4 rounds of ")
    assert "ε = 0.5" in top_k.rounds()
    assert ("δ" in top_k.rounds()) == (name in APPROXIMATE)
    assert build(name, 1, epsilon=2).rounds().startswith("1 round of ")


# "auto"


@RELATIONS
@every("candidates", [None, 3, 10**12])
@every("epsilon", ["1/10", 2])
def test_auto_of_one_is_the_recommendation(candidates: int | None, epsilon: Any, neighbors: Neighbors) -> None:
    parameters: dict[str, Any] = {"epsilon": epsilon, "delta": "1e-6", "neighbors": neighbors, "candidates": candidates}
    chosen, built = recommend(**parameters), build("auto", 1, **parameters)
    assert (built.name, built.reason) == (chosen.mechanism, chosen.reason)


@RELATIONS
@every("delta", ["1e-6", 0])
@every("candidates", [20, 10**12])
def test_auto_of_more_takes_the_smaller_lead(candidates: int, delta: Any, neighbors: Neighbors) -> None:
    built = build("auto", 5, delta=delta, neighbors=neighbors, candidates=candidates)
    ways = ["exponential", *(["limited_domain"] if Fraction(delta) else [])]
    leads = {name: build(name, 5, delta=delta, neighbors=neighbors).lead(candidates) for name in ways}
    assert built.name == min(leads, key=lambda name: leads[name])
    assert built.name in built.reason
    assert "5" in built.reason
    assert built.delta == (0 if built.name == "exponential" else Fraction(delta))


def test_auto_of_more_without_a_catalogue() -> None:
    assert build("auto", 5).name == "limited_domain"
    with pytest.raises(BadParameter, match="delta must be above 0 where there is no public list"):
        build("auto", 5, delta=0)


WRONG_OPTIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "kbar": ("exponential", {"options": {"kbar": 9}}, "has no option kbar"),
    "cut": ("limited_domain", {"options": {"max_items_per_unit": 9}}, "has no option max_items_per_unit"),
    "auto": ("auto", {"options": {"max_items_per_unit": 9}}, "has no option max_items_per_unit"),
    "no cut": ("bounded_growth", {"options": {}}, "give max_items_per_unit"),
    "no such mechanism": ("median", {}, "mechanism must be one of: auto, "),
    **{f"no delta for {name}": (name, {"delta": "0"}, "delta must") for name in APPROXIMATE},
}


@every("case", WRONG_OPTIONS)
def test_wrong_options(case: str) -> None:
    name, options, message = WRONG_OPTIONS[case]
    with pytest.raises(BadParameter, match=message) as failure:
        build(name, 3, **options)
    assert "\n" not in str(failure.value)


# What is expected of a list


def test_the_support_needed_is_the_least_with_half_of_the_list_right() -> None:
    for k, scale, candidates in [(1, 2.0, 10**6), (20, 20.3, 8_280_415), (50, 5.0, 6_000), (3, 1.0, 3)]:
        needed = support_needed(k, scale, candidates)
        assert share_right(k, scale, candidates, needed) >= HALF
        assert needed == 1 or share_right(k, scale, candidates, needed - 1) < HALF
