"""The audit of lists: honest ones reach their claim and keep it, broken ones are caught."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.oracles import top_k as top_k_laws

from dpmine.auditing import run as top_k
from dpmine.auditing.call import audit
from dpmine.auditing.pairs import Group, Pair, PairSide
from dpmine.auditing.run import audit_top_k
from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors
from dpmine.selection.top_k import LimitedDomainTopK, OneShot

if TYPE_CHECKING:
    from dpmine.selection.top_k import TopK

ONE, NONE, TINY, LARGE = Fraction(1), Fraction(0), Fraction(1, 10**6), Fraction(1, 10)
REPLACE = Neighbors.REPLACE_ONE


@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("count", [2, 3])
def test_lists_reach_what_they_claim(count: int, relation: Neighbors) -> None:
    """Where basic composition is the claim: in ε, and limited-domain top-k in δ, once for all places."""
    exponential = audit_top_k(OneShot.of(count, ONE, NONE, relation))
    assert exponential.holds
    assert exponential.measured_epsilon == pytest.approx(1, rel=1e-3)
    limited = audit_top_k(LimitedDomainTopK.of(count, ONE, TINY, relation, 4))
    assert limited.holds
    assert limited.measured_delta == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [TINY, LARGE])
def test_no_honest_list_is_accused(delta: Fraction) -> None:
    rows = audit(epsilon=ONE, delta=delta, lists=True).mechanisms
    assert len(rows) == 16
    assert all(row.holds for row in rows)
    assert all(row.measured_epsilon > 0.2 for row in rows)


BROKEN: dict[str, TopK] = {
    "the monotone form under replace_one": replace(OneShot.of(2, ONE, NONE, REPLACE), round_epsilon=ONE),
    "every round has all of ε": replace(OneShot.of(3, ONE, LARGE, REPLACE), round_epsilon=Fraction(2)),
    "the slack of another δ": replace(LimitedDomainTopK.of(2, ONE, TINY, REPLACE, 4), slack=Fraction(1, 10**5)),
    "k̄ candidates leave, one is covered": replace(LimitedDomainTopK.of(3, ONE, TINY, REPLACE, 4), slack=4 * TINY),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_lists_are_caught(name: str) -> None:
    assert not audit_top_k(BROKEN[name]).holds


@pytest.mark.parametrize("side", PairSide)
def test_masses_are_those_of_the_lists(side: PairSide) -> None:
    """Beside the oracle, which lists candidates one by one: summed over the members of groups."""
    pair = Pair((Group(3.0, 1, 1), Group(1.0, -1, 2), Group(2.0, 0, 1)))
    scores = [group.at(side) for group in pair.groups for _ in range(group.count)]
    owner = [number for number, group in enumerate(pair.groups) for _ in range(group.count)]
    way = OneShot.of(2, Fraction(2), NONE, REPLACE)
    law = top_k_laws.peeled_exponential(scores, 2, 0.5)
    expected: dict[tuple[int | None, ...], float] = {}
    for outcome, mass in law.items():
        names = tuple(None if i is None else owner[i] for i in outcome)
        expected[names] = expected.get(names, 0.0) + mass
    found = top_k._masses_of(way)(pair, side)
    assert np.sort(found[found > 0]) == pytest.approx(sorted(expected.values()), rel=1e-12)


@pytest.mark.parametrize("side", PairSide)
def test_masses_of_the_limited_domain(side: PairSide) -> None:
    """Beside the oracle, with dummies and ⊥; no ties, whose order is another there."""
    pair = Pair((Group(9.0, 1, 1), Group(30.0, -1, 1), Group(4.0, 0, 1)))
    way = LimitedDomainTopK.of(3, ONE, LARGE, REPLACE, 4)
    domain = top_k_laws.Domain(4, 3, float(way.round_epsilon), float(way.slack), 2)
    law = top_k_laws.limited_domain([*(group.at(side) for group in pair.groups), *[top_k_laws.DUMMY] * 5], domain)
    found = top_k._masses_of(way)(pair, side)
    assert found.sum() == pytest.approx(1)
    assert np.sort(found[found > 0]) == pytest.approx(sorted(law.values()), rel=1e-9)


def test_other_ways_have_no_law() -> None:
    with pytest.raises(BadParameter):
        audit_top_k(object())  # type: ignore[arg-type]
