"""What every mechanism keeps to; a new one joins by its entry in MECHANISMS."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest
from support.adversary import Descent, LazyUniverse
from support.cases import every
from support.oracles.laws import limited_domain_permute_and_flip
from support.oracles.mechanisms import chi_square_p, exponential_max, laplace_max, softmax, tally
from support.tapes import assert_law

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import ExponentialNoise, GumbelNoise, LaplaceNoise
from dpmine.privacy import Neighbors
from dpmine.selection.advice import advice
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.mechanisms.limited_domain import LimitedDomainPermuteAndFlip
from dpmine.selection.mechanisms.mechanism import Mechanism, lead_sensitivity
from dpmine.selection.recommend import MECHANISMS, build_mechanism
from dpmine.selection.select import choose
from dpmine.selection.universes.dense import Dense, Levels

BITS = SystemBits()
EVERY = pytest.mark.parametrize("name", MECHANISMS)
UNKNOWN_UNIVERSE = [name for name, kind in MECHANISMS.items() if not kind.needs_catalogue]
FOR_UNKNOWN = pytest.mark.parametrize("name", UNKNOWN_UNIVERSE)
RELATIONS = pytest.mark.parametrize("neighbors", Neighbors)
ORACLES: dict[str, Any] = {
    "exponential": lambda scores, scale: softmax(scores, 1 / scale),
    "max_of_laplaces": laplace_max,
    "max_of_exponentials": exponential_max,
}
OPTIONS: dict[str, dict[str, Any]] = {"bounded_growth": {"max_items_per_unit": 3}}
LEAD_SENSITIVITY = {Neighbors.ADD_REMOVE: 1, Neighbors.REPLACE_ONE: 2}
ONLY_COUNTS = {"bounded_growth"}
NOT_NEGATIVE = {"bounded_growth", "limited_domain", "limited_domain_permute_and_flip"}


def make(name: str, *, epsilon: Any = 1, delta: Any = 1e-6, neighbors: Any = "replace_one") -> Mechanism:
    return build_mechanism(
        name,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        not_private=not MECHANISMS[name].private,
        **OPTIONS.get(name, {}),
    )


def run(mechanism: Mechanism, universe: Any, sensitivity: Fraction = Fraction(1)) -> Any:
    return choose(mechanism, universe, sensitivity=sensitivity, bits=BITS)


@EVERY
def test_a_mechanism_describes_itself(name: str) -> None:
    kind = MECHANISMS[name]
    assert kind.name == name
    assert name.isidentifier()
    assert kind.__doc__
    for candidates in (None, 0, 1, 10**30):
        assert advice(make(name), candidates).startswith(f"{name} needs")


@EVERY
@RELATIONS
def test_an_overwhelming_winner_wins(name: str, neighbors: Neighbors) -> None:
    mechanism = make(name, neighbors=neighbors)
    for sensitivity in (Fraction(1),) if name in ONLY_COUNTS else (Fraction(1), Fraction(3), Fraction(1, 10)):
        assert run(mechanism, Dense([3, 10**7, 5]), sensitivity) == 1


@FOR_UNKNOWN
def test_an_overwhelming_winner_wins_among_dummies(name: str) -> None:
    universe = Levels([(10**7, 1), (3, 10)], padding=2**128)
    assert run(make(name), universe) == (0, 0)


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - set(UNKNOWN_UNIVERSE)))
def test_padding_is_refused_where_every_candidate_must_be_public(name: str) -> None:
    with pytest.raises(BadParameter, match="public list"):
        run(make(name), Levels([(50, 1)], padding=3))


@FOR_UNKNOWN
def test_nothing_stands_out_among_dummies(name: str) -> None:
    assert run(make(name), Levels([], padding=2**128)) is None
    assert run(make(name), Levels([(0, 3)], padding=2**128)) is None


@EVERY
def test_a_single_candidate_is_chosen(name: str) -> None:
    """Its existence is public, so nothing has to be hidden."""
    assert run(make(name), Dense([5])) in {0, None}
    if MECHANISMS[name].needs_catalogue:
        assert run(make(name), Dense([5])) == 0


@pytest.mark.statistical
@EVERY
def test_candidates_of_equal_score_are_equally_likely(name: str) -> None:
    """Chi^2 at a nominal 1e-9 for each mechanism."""
    mechanism = make(name, epsilon=20, delta=0.3)
    seen = tally(lambda: run(mechanism, Dense([50, 50, 50, 50, 0])), 800)
    chosen = {winner: count for winner, count in seen.items() if winner is not None and winner < 4}
    assert chi_square_p(chosen, dict.fromkeys(range(4), 0.25)) > 1e-9


KEPT: dict[str, dict[str, int]] = {
    "tie at the edge": {"a": 4, "b": 3, "c": 3, "d": 3},
    "alone": {"a": 5},
    "near ties": {"a": 3, "b": 2, "c": 1},
}


def kept_law(truth: dict[str, int], kbar: int, neighbors: Neighbors) -> dict[str | None, float]:
    """At ε = 3, δ = 1/4, by the definition of permute-and-flip."""
    masses, nothing = limited_domain_permute_and_flip([*truth.values()], 3, 0.25, LEAD_SENSITIVITY[neighbors], kbar)
    return {**dict(zip(truth, masses, strict=True)), None: nothing}


def flip(kbar: int, neighbors: Neighbors) -> LimitedDomainPermuteAndFlip:
    return LimitedDomainPermuteAndFlip(Fraction(3), Fraction(1, 4), neighbors, kbar)


@RELATIONS
@every("descent", Descent, quick=2)
@every("truth", KEPT.values())
@every("kbar", [1, 2])
def test_permute_and_flip_among_the_best(
    truth: dict[str, int], kbar: int, descent: Descent, neighbors: Neighbors
) -> None:
    """By enumeration of bit tapes."""
    assert_law(
        lambda bits: flip(kbar, neighbors).choose(LazyUniverse(truth, least=0, descent=descent), bits=bits),
        kept_law(truth, kbar, neighbors),
        depth=11,
        undecided=0.65,
        runs=3_000,
    )


@pytest.mark.statistical
@RELATIONS
@every("descent", Descent)
@every("truth", KEPT.values())
@every("kbar", [1, 2, 4])
def test_draws_of_permute_and_flip_among_the_best(
    truth: dict[str, int], kbar: int, descent: Descent, neighbors: Neighbors
) -> None:
    """Chi^2 of 1,500 draws at a nominal 1e-9 for each of 54 cases."""
    universe = LazyUniverse(truth, least=0, descent=descent)
    seen = tally(lambda: flip(kbar, neighbors).choose(universe, bits=BITS), 1_500)
    assert chi_square_p(seen, kept_law(truth, kbar, neighbors)) > 1e-9


@EVERY
def test_lazy_universes_are_served(name: str) -> None:
    truth = {"apple": 3000, "pear": 4, "plum": 3}
    for descent in Descent:
        assert run(make(name), LazyUniverse(truth, least=0, descent=descent)) == "apple"
        if not MECHANISMS[name].needs_catalogue:
            assert run(make(name), LazyUniverse(truth, least=0, descent=descent, padding=2**128)) == "apple"


def usable(name: str, *choices: list[Any]) -> list[list[Any]]:
    """Those scores that the mechanism accepts."""
    counts = [scores for scores in choices if name not in ONLY_COUNTS or all(type(score) is int for score in scores)]
    return [scores for scores in counts if name not in NOT_NEGATIVE or min(scores) >= 0]


@pytest.mark.parametrize("name", sorted(NOT_NEGATIVE))
def test_negative_scores_are_refused_where_dummies_are_added(name: str) -> None:
    with pytest.raises(BadParameter):
        run(make(name), Dense([3, -1]))


@pytest.mark.parametrize("name", sorted(ONLY_COUNTS))
def test_fractions_are_refused_where_counts_are_needed(name: str) -> None:
    with pytest.raises(BadParameter):
        run(make(name), Dense([3, 1.5]))


@every("dummies", range(1, 4))
@every("name", [name for name, kind in MECHANISMS.items() if kind.approximate])
def test_few_dummies_do_not_make_a_small_lead_stand_out(name: str, dummies: int) -> None:
    """A lead of 1 over a candidate that ties on a neighbouring data set must not decide, however few dummies there are.

    A draw other than nothing has a chance of less than 1e-10, so false alarms have less than 1e-6 in all.
    """
    mechanism = make(name, delta=1e-12)
    universe = Levels([(5, 1), (4, 1)], padding=dummies)
    winners = {run(mechanism, universe) for _ in range(200)}
    assert winners == {None}


@EVERY
@every("epsilon", ["1e-9", "0.001", "1e6"])
@every("delta", ["1e-30", "0.5"])
def test_extreme_parameters(name: str, epsilon: str, delta: str) -> None:
    """Nothing crashes or runs on for ever, and the outcome is a candidate or nothing."""
    for neighbors in Neighbors:
        mechanism = make(name, epsilon=epsilon, delta=delta, neighbors=neighbors)
        for scores in usable(name, [0], [2**62, 0, 2**62 - 1], [0.5, -1e300, 1e-300], [Fraction(1, 10**30), 1]):
            assert run(mechanism, Dense(scores)) in {None, *range(len(scores))}
        for padding in (0, 2**128) if name in UNKNOWN_UNIVERSE else (0,):
            universe = Levels([(2**62, 1), (2**40, 7), (0, 10**30)], padding)
            winner = run(mechanism, universe)
            assert winner is None or winner[0] in {0, 1, 2}


@EVERY
def test_the_top_wins_at_a_huge_epsilon(name: str) -> None:
    mechanism = make(name, epsilon=10**6, delta=1e-30)
    assert run(mechanism, Levels([(100, 1), (80, 10**30)])) == (0, 0)
    if name in UNKNOWN_UNIVERSE:
        assert run(mechanism, Levels([(100, 1), (80, 10**30)], padding=2**128)) == (0, 0)


@EVERY
def test_eight_threads_at_once(name: str) -> None:
    mechanism = make(name)
    universe = Dense([0] * 50 + [10**5] + [3] * 50)

    def work(_: int) -> set[Any]:
        return {run(mechanism, universe) for _ in range(25)}

    with ThreadPoolExecutor(8) as pool:
        assert set.union(*pool.map(work, range(8))) == {50}


def test_scale_of_the_noise() -> None:
    """Two scores move apart by 2 in general, by 1 where all move together."""
    assert lead_sensitivity(Neighbors.REPLACE_ONE) == 2
    assert lead_sensitivity(Neighbors.ADD_REMOVE) == 1


@every(
    ("name", "noise"),
    [("exponential", GumbelNoise), ("max_of_laplaces", LaplaceNoise), ("max_of_exponentials", ExponentialNoise)],
)
@RELATIONS
def test_pure_mechanisms_use_their_noise(name: str, noise: Any, neighbors: Neighbors) -> None:
    mechanism: Any = make(name, epsilon="1/3", neighbors=neighbors)
    assert mechanism.noise() == noise(Fraction(3 if neighbors is Neighbors.ADD_REMOVE else 6))


@pytest.mark.statistical
@RELATIONS
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("sensitivity", [Fraction(1), Fraction(5, 2)])
def test_law_of_the_pure_mechanisms(name: str, neighbors: Neighbors, sensitivity: Fraction) -> None:
    """Chi^2 of 800 draws at a nominal 1e-9 for each of 12 cases."""
    scores = [6, 3, 3, 0, -2]
    mechanism = make(name, neighbors=neighbors)
    scale = (1 if neighbors is Neighbors.ADD_REMOVE else 2) * float(sensitivity)
    seen = tally(lambda: run(mechanism, Dense(scores), sensitivity), 800)
    assert chi_square_p(seen, dict(enumerate(ORACLES[name](scores, scale)))) > 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("name", ORACLES)
def test_law_of_the_pure_mechanisms_with_dummies(name: str) -> None:
    """Dummies are candidates of score 0; one that wins is nothing. Nominal 1e-9 each."""
    masses = ORACLES[name]([6, 3, 0, *[0] * 5], 2.0)
    expected = {(0, 0): masses[0], (1, 0): masses[1], (2, 0): masses[2], None: sum(masses[3:])}
    universe = Levels([(6, 1), (3, 1), (0, 1)], padding=5)
    mechanism = make(name)
    assert chi_square_p(tally(lambda: mechanism.choose(universe, bits=BITS), 800), expected) > 1e-9


def test_exact_is_exact() -> None:
    mechanism = make("exact")
    assert {run(mechanism, Dense([1, 3, 3])) for _ in range(60)} == {1, 2}
    assert run(mechanism, Levels([(0, 4)], padding=1)) is None


@every("name", [name for name, kind in MECHANISMS.items() if kind.proved_lead is not Mechanism.proved_lead])
def test_a_proved_lead_suffices(name: str) -> None:
    mechanism = make(name)
    profile = Profile((mechanism.proved_lead(1000, 0.05), 0.0), (1, 1000))
    assert mechanism.distribution(profile).masses[0] >= 0.95
