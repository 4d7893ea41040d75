"""The joint law of k winners keeps what the rounds claim, reaches a good part of it, and broken twins are caught."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from support.cases import every
from support.mechanisms import made
from support.oracles import top_k as top_k_laws
from support.oracles.top_k import DUMMY, EXPONENTIAL, GUMBEL, LAPLACE, Domain, Law, Noise

from dpmine.privacy import Neighbors
from dpmine.selection.composition import Rounds, approximate_rounds, bounded_range_rounds, pure_rounds
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.mechanisms.report_noisy_max import MaxOfExponentials, MaxOfLaplaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from support.oracles.top_k import Candidate

    Budget: TypeAlias = Callable[[int, Fraction, Fraction], Rounds]
    NoisyLaw: TypeAlias = Callable[[Rounds, float, Noise], Callable[[Sequence[float]], Law]]
    DomainPair: TypeAlias = tuple[Sequence[Candidate], Sequence[Candidate]]

Scores: TypeAlias = list[float]
Pair: TypeAlias = tuple[Scores, Scores]
Claim: TypeAlias = tuple[int, str, str]
DomainClaim: TypeAlias = tuple[int, int, str, str, float]

REPLACE, ADD = Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE
MOVES = {REPLACE: (-1, 0, 1), ADD: (0, 1)}
LEAD_SENSITIVITY = {REPLACE: 2, ADD: 1}
ONE_RELATION_FIRST = pytest.mark.parametrize("relation", [REPLACE, pytest.param(ADD, marks=pytest.mark.slow)])
TWO_GROUPS = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (2, 3), (3, 2), (4, 1)]
THREE_GROUPS = [(1, 1, 3), (2, 1, 2), (3, 1, 1)]
CLAIMS = [(2, "1", "0"), (3, "2", "0"), (2, "0.5", "0.1"), (2, "1", "0.1"), (3, "1", "0.1"), (3, "1", "0.01")]
"""(k, ε, δ): basic composition, and where δ buys more."""
BETTER = [claim for claim in CLAIMS if Fraction(claim[2])]
DOMAIN_CLAIMS: list[DomainClaim] = [
    (2, 2, "1", "0", 1e-3),
    (3, 2, "1", "0", 0.05),
    (3, 3, "2", "0", 0.01),
    (2, 3, "1", "0", 0.01),
    (2, 2, "1", "0.1", 0.05),
    (3, 3, "1", "0.1", 0.01),
]
"""(k̄, k, ε, δ', δ_1)."""
ROUNDING = 1e-11


def structured(relation: Neighbors, epsilon: float) -> Iterator[Pair]:
    """Groups of candidates that have a score and a move in common, at gaps where laws of that ε change."""
    yield from groups(relation, TWO_GROUPS, (-2.0, -1.0, 0.0, 1.0, 2 / epsilon, 8 / epsilon, 40 / epsilon))
    yield from groups(relation, THREE_GROUPS, (-1.0, 0.0, 3 / epsilon))


def groups(relation: Neighbors, sizes: Sequence[Sequence[int]], gaps: Sequence[float]) -> Iterator[Pair]:
    """The last group has score 0, the others all gaps above it; all moves that are not the same for everybody."""
    for parts in sizes:
        for heights, moves in product(
            product(gaps, repeat=len(parts) - 1), product(MOVES[relation], repeat=len(parts))
        ):
            if len(set(moves)) > 1:
                before = spread((*heights, 0.0), parts)
                yield before, [score + move for score, move in zip(before, spread(moves, parts), strict=True)]


def spread(values: Sequence[float], parts: Sequence[int]) -> Scores:
    """One value for each member of each group."""
    return [float(value) for value, size in zip(values, parts, strict=True) for _ in range(size)]


def random_pairs(relation: Neighbors, epsilon: float, number: int = 60) -> Iterator[Pair]:
    """Real scores and real moves, the same every time."""
    chance = np.random.default_rng(20260101)
    low = min(MOVES[relation])
    for _ in range(number):
        size = int(chance.integers(2, 6))
        before = chance.normal(size=size) * chance.choice([0.5, 2, 10]) / epsilon
        yield before.tolist(), (before + chance.uniform(low, 1, size)).tolist()


def few(pairs: Iterable[Pair], every: int) -> Iterator[Pair]:
    """A part of the pairs, for laws that take long."""
    return (pair for number, pair in enumerate(pairs) if number % every == 0)


def reached(pairs: Iterable[Pair], law: Callable[[Sequence[float]], Law], rounds: Rounds) -> float:
    """The largest ε that a pair shows at the δ claimed, as a share of the ε claimed."""
    worst = 0.0
    for before, after in pairs:
        if len(before) >= rounds.count:
            worst = top_k_laws.epsilon_between(law(before), law(after), float(rounds.delta), worst)
    return worst / float(rounds.epsilon)


def budget(kind: Budget, claim: Claim) -> Rounds:
    count, epsilon, delta = claim
    return kind(count, Fraction(epsilon), Fraction(delta))


def exponential_rounds(rounds: Rounds, u: float) -> Callable[[Sequence[float]], Law]:
    rate = float(rounds.round_epsilon) / u
    return partial(top_k_laws.peeled_exponential, count=rounds.count, rate=rate)


def noisy_rounds(rounds: Rounds, u: float, noise: Noise) -> Callable[[Sequence[float]], Law]:
    rate = float(rounds.round_epsilon) / u
    return partial(top_k_laws.peeled_noisy_max, count=rounds.count, rate=rate, noise=noise)


def noise_once(rounds: Rounds, u: float, noise: Noise) -> Callable[[Sequence[float]], Law]:
    rate = float(rounds.round_epsilon) / u
    return partial(top_k_laws.one_shot, count=rounds.count, rate=rate, noise=noise)


def test_the_claims_are_of_both_kinds() -> None:
    for kind in (bounded_range_rounds, pure_rounds):
        assert {bool(budget(kind, claim).delta) for claim in CLAIMS} == {True, False}


@every("noise", [LAPLACE, EXPONENTIAL])
@every("scores", [[3.0, 2.5, 0.0], [1.0, 1.0, 1.0, 0.0], [9.0, -4.0], [40.0, 39.0, 0.0, 0.0]])
def test_one_winner_has_the_known_law(scores: Scores, noise: Noise) -> None:
    profile = Profile.of(scores)
    known = made(MaxOfLaplaces if noise is LAPLACE else MaxOfExponentials, 0.5).distribution(profile)
    found = top_k_laws.one_shot(scores, 1, 0.5, noise)
    for score, count, mass in zip(profile.scores, profile.counts, known.masses, strict=True):
        assert found[scores.index(score),] == pytest.approx(mass / count, rel=1e-9, abs=1e-13)


@every("delta", [0.0, 1e-6, 0.01, 0.2])
@every("scores", [[3.0, 2.5, 0.0], [1.0, 1.0, 1.0, 0.0], [9.0, -4.0]])
def test_the_epsilon_measured_belongs_to_its_delta(scores: Scores, delta: float) -> None:
    left, right = (top_k_laws.peeled_exponential(side, 2, 0.7) for side in (scores, [*scores[:-1], scores[-1] + 2]))
    epsilon = top_k_laws.epsilon_between(left, right, delta)
    if epsilon:
        assert top_k_laws.worst_delta(left, right, epsilon) == pytest.approx(delta, rel=1e-9, abs=1e-14)
        assert top_k_laws.worst_delta(left, right, epsilon - 1e-6) > delta
    else:
        assert top_k_laws.worst_delta(left, right, 0.0) <= delta


@every("count", [1, 2, 3])
@every("scores", [[3.0, 2.5, 0.0], [1.0, 1.0, 1.0, 0.0], [3.0, 1.5, 0.2, 0.0, -1.0]])
def test_one_shot_gumbel_noise_is_peeling(scores: Scores, count: int) -> None:
    once, rounds = top_k_laws.one_shot(scores, count, 0.7, GUMBEL), top_k_laws.peeled_exponential(scores, count, 0.7)
    assert once == pytest.approx(rounds, abs=1e-13)


def test_other_noise_is_not_peeling() -> None:
    for noise in (LAPLACE, EXPONENTIAL):
        once = top_k_laws.one_shot([2.0, 1.0, 0.0], 2, 1.0, noise)
        assert once != pytest.approx(top_k_laws.peeled_noisy_max([2.0, 1.0, 0.0], 2, 1.0, noise), abs=1e-3)


@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("claim", CLAIMS)
def test_exponential_rounds_keep_their_claim(claim: Claim, relation: Neighbors) -> None:
    rounds = budget(bounded_range_rounds, claim)
    pairs = [*structured(relation, float(rounds.round_epsilon)), *random_pairs(relation, float(rounds.round_epsilon))]
    assert 0.6 <= reached(pairs, exponential_rounds(rounds, LEAD_SENSITIVITY[relation]), rounds) <= 1 + ROUNDING


@ONE_RELATION_FIRST
@every(("noise", "least"), [(LAPLACE, 0.2), (EXPONENTIAL, 0.45)])
@every("claim", CLAIMS)
def test_noisy_maximum_rounds_keep_their_claim(claim: Claim, noise: Noise, least: float, relation: Neighbors) -> None:
    rounds = budget(pure_rounds, claim)
    epsilon = float(rounds.round_epsilon)
    pairs = [*few(structured(relation, epsilon), 8), *random_pairs(relation, epsilon, 5)]
    assert least <= reached(pairs, noisy_rounds(rounds, LEAD_SENSITIVITY[relation], noise), rounds) <= 1 + 1e-9


@every("kind", [pure_rounds, approximate_rounds])
@every("claim", [*BETTER, (7, "2", "1e-3")])
def test_the_worst_rounds_reach_the_optimal_claim(kind: Budget, claim: Claim) -> None:
    rounds = budget(kind, claim)
    assert 0.8 <= leaking(rounds, rounds.round_epsilon, rounds.round_delta) <= 1


def leaking(rounds: Rounds, epsilon: Fraction, delta: Fraction) -> float:
    """The share of the δ claimed that the most telling (ε, δ)-private rounds show."""
    no, yes = (top_k_laws.leaky_responses(rounds.count, float(epsilon), float(delta), bit) for bit in (0, 1))
    return top_k_laws.delta_between(no, yes, float(rounds.epsilon)) / float(rounds.delta)


@every("claim", DOMAIN_CLAIMS)
@ONE_RELATION_FIRST
def test_limited_domain_charges_its_delta_once(relation: Neighbors, claim: DomainClaim) -> None:
    """The claim is δ' + δ_1 for k winners; for basic composition δ' = 0, and all of it is reached."""
    rounds, domain = domain_of(claim, LEAD_SENSITIVITY[relation])
    share = domain_share(domain_pairs(relation, domain), limited(domain), rounds, domain)
    assert (0.3 if rounds.delta else 0.9) <= share <= 1 + ROUNDING


def limited(domain: Domain) -> Callable[[Sequence[Candidate]], Law]:
    return partial(top_k_laws.limited_domain, domain=domain)


def domain_of(claim: DomainClaim, u: float) -> tuple[Rounds, Domain]:
    kbar, places, epsilon, delta, leaving = claim
    rounds = bounded_range_rounds(places, Fraction(epsilon), Fraction(delta))
    return rounds, Domain(kbar, places, float(rounds.round_epsilon), leaving, u)


def domain_share(
    pairs: Iterable[DomainPair], law: Callable[[Sequence[Candidate]], Law], rounds: Rounds, domain: Domain
) -> float:
    """The worst δ at the claimed ε, as a share of δ' + δ_1."""
    worst = max(top_k_laws.worst_delta(law(left), law(right), float(rounds.epsilon)) for left, right in pairs)
    return worst / (float(rounds.delta) + domain.delta)


def domain_pairs(relation: Neighbors, domain: Domain) -> Iterator[DomainPair]:
    """Candidates that change places, and leaders about as high as ⊥, with dummies and without."""
    heights = (-2.0, -1.0, 0.0, 1.0, domain.lift, domain.lift + domain.u)
    dummies: list[Candidate] = [DUMMY] * (domain.kbar + 1)
    for before, after in groups(relation, [(1, 2), (2, 1), (2, 3), (3, 2), (3, 3), (1, 1, 3)], heights):
        if len(before) > domain.kbar:
            yield [*before], [*after]
        if min(*before, *after) >= 0 and len(before) < 5:
            yield [*before, *dummies], [*after, *dummies]
    for before, after in random_pairs(relation, 2 / domain.lift, 40):
        if min(*before, *after) >= 0:
            yield [*before, *dummies], [*after, *dummies]
        elif len(before) > domain.kbar:
            yield before, after


# What follows is broken, and is found out.


@every("law", [noise_once, noisy_rounds])
@every("noise", [LAPLACE, EXPONENTIAL])
def test_other_noise_is_not_bounded_range(law: NoisyLaw, noise: Noise) -> None:
    """One vector of Laplace noise sold as peeling, and private rounds as bounded-range ones. Gumbel noise is both."""
    rounds = budget(bounded_range_rounds, (2, "1", "0.03"))
    pairs = list(groups(REPLACE, [(2, 4)], (-1.0,)))
    assert reached(pairs, law(rounds, 2, noise), rounds) > 1.03
    assert 0.6 < reached(pairs, law(rounds, 2, GUMBEL), rounds) <= 1


@every("claim", CLAIMS)
def test_the_monotone_form_is_for_scores_that_move_together(claim: Claim) -> None:
    rounds = budget(bounded_range_rounds, claim)
    pairs = list(groups(REPLACE, TWO_GROUPS, (-1.0, 0.0, 8.0)))
    assert reached(pairs, exponential_rounds(rounds, 1), rounds) > 1.3


@every("claim", BETTER)
def test_private_rounds_are_not_bounded_range(claim: Claim) -> None:
    """Randomised response at the ε of bounded-range rounds: the optimal theorem is not conservative for it."""
    rounds = budget(bounded_range_rounds, claim)
    assert leaking(rounds, rounds.round_epsilon, Fraction(0)) > 2


@every("claim", BETTER)
def test_the_deltas_of_rounds_count(claim: Claim) -> None:
    """Approximate rounds, each with its share of δ, at the ε that pure rounds may spend."""
    rounds = budget(pure_rounds, claim)
    assert leaking(rounds, rounds.round_epsilon, rounds.delta / rounds.count) > 1.5


@every("claim", DOMAIN_CLAIMS)
@ONE_RELATION_FIRST
def test_limited_domain_needs_its_slack(relation: Neighbors, claim: DomainClaim) -> None:
    rounds, domain = domain_of(claim, LEAD_SENSITIVITY[relation])
    eager = domain._replace(slack=0.0)
    assert domain_share(domain_pairs(relation, eager), limited(eager), rounds, domain) > 4


@pytest.mark.parametrize("claim", DOMAIN_CLAIMS)
def test_limited_domain_needs_its_unit(claim: DomainClaim) -> None:
    """The monotone form under replace_one."""
    rounds, domain = domain_of(claim, 1)
    assert domain_share(domain_pairs(REPLACE, domain), limited(domain), rounds, domain) > 1.2


def test_separate_calls_charge_every_time() -> None:
    """k calls for one winner each need k δ_1, where one call for k winners needs δ_1."""
    rounds, domain = domain_of((3, 2, "1", "0", 0.05), 2)
    crossing = list(groups(REPLACE, [(5, 3)], (-2.0,)))
    assert 0.9 < domain_share(crossing, limited(domain), rounds, domain) <= 1
    calls = partial(top_k_laws.separate_calls, domain=domain)
    assert 1.8 < domain_share(crossing, calls, rounds, domain) <= 2
