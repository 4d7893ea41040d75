"""The audit catches every broken mechanism and accuses no honest one, with structured pairs alone."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import pytest
from support import broken
from support.tapes import TapeBits

from dpmine.auditing.run import audit_mechanisms
from dpmine.auditing.worst_pairs import STRUCTURED, audit_stages, audit_whole
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from dpmine.auditing.audit_report import AuditRow
    from dpmine.selection.mechanisms.mechanism import Mechanism

NO_BITS = TapeBits(0, 0)
"""Structured pairs need no randomness: the results are the same every time."""
NAMES = [name for name, kind in MECHANISMS.items() if kind.private]
POINT = Fraction(1), Fraction(1, 10**6)
SLOW = pytest.mark.slow
"""The search among the margin mechanisms' pairs takes seconds."""
GRID = list(product([Fraction(1, 10), Fraction(10)], [Fraction(1, 10**10), Fraction(1, 100)]))


@lru_cache
def stages_of(mechanism: Mechanism) -> list[AuditRow]:
    """What the audit finds of each stage: several tests look at the same mechanisms."""
    return audit_stages(mechanism, effort=STRUCTURED, bits=NO_BITS)


def is_caught_quickly(mechanism: Mechanism) -> bool:
    """By its stages where it has some (their laws are cheap), by the whole otherwise."""
    if mechanism.stages():
        return not all(stage.holds for stage in stages_of(mechanism))
    return audit_whole(mechanism, effort=STRUCTURED, bits=NO_BITS).delta > mechanism.delta


@pytest.mark.parametrize(
    ("kind", "relation"),
    [
        pytest.param(kind, relation, marks=SLOW if kind.__name__.startswith(("Tight", "LargeMargin")) else ())
        for kind, relation in broken.CASES
    ],
)
def test_broken_mechanisms_are_caught(kind: type[Mechanism], relation: Neighbors) -> None:
    assert is_caught_quickly(broken.build(kind, relation, *POINT))


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW if "margin" in name else ()) for name in NAMES])
def test_honest_mechanisms_are_not_accused(name: str, relation: Neighbors) -> None:
    assert not any(is_caught_quickly(mechanism) for mechanism in honest(name, relation, *POINT))


def honest(name: str, relation: Neighbors, epsilon: Fraction, delta: Fraction) -> list[Mechanism]:
    return MECHANISMS[name].audit_variants(epsilon, delta if MECHANISMS[name].approximate else Fraction(0), relation)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        (broken.TightHalvedRho, "search"),
        (broken.TightHalvedNu, "search"),
        (broken.TightFirstShareEverywhere, "search"),
        (broken.TightGenerousFirst, "search"),
        (broken.TightEarlyStop, "early stop"),
        (broken.TightEagerDraw, "draw"),
        (broken.LargeMarginWithoutThreshold, "early stop"),
        (broken.LargeMarginEagerDraw, "draw"),
    ],
)
def test_the_stage_that_is_broken_is_named(kind: type[Mechanism], stage: str) -> None:
    findings = stages_of(broken.build(kind, Neighbors.REPLACE_ONE, *POINT))
    assert [finding.stage for finding in findings if not finding.holds] == [stage]


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbors)
def test_the_searches_budget_is_reached(relation: Neighbors) -> None:
    """The audit is sharp: the tight search shows all that its outcomes may cost, the other 1/2 or 1/4 of ε."""
    tight, loose = (stages_of(honest(name, relation, *POINT)[0])[0] for name in ("large_margin_tight", "large_margin"))
    assert tight.measured_epsilon == pytest.approx(tight.epsilon, rel=1e-6)
    assert loose.measured_epsilon == pytest.approx(0.5 if relation is Neighbors.REPLACE_ONE else 0.25, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("name", [name for name in NAMES if "margin" not in name])
def test_the_whole_claim_is_reached(name: str, relation: Neighbors) -> None:
    """Mechanisms of one piece are tight, in ε or in δ, and the structured pairs show it."""
    mechanism = honest(name, relation, *POINT)[0]
    found = audit_whole(mechanism, effort=STRUCTURED, bits=NO_BITS)
    reached = found.delta / float(mechanism.delta) if mechanism.delta else found.epsilon / float(mechanism.epsilon)
    assert reached == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("kind", broken.REPLACE_ONLY)
def test_the_others_are_private_where_counts_move_together(kind: type[Mechanism]) -> None:
    assert not is_caught_quickly(broken.build(kind, Neighbors.ADD_REMOVE, *POINT))


@pytest.mark.slow
@pytest.mark.parametrize("point", GRID)
@pytest.mark.parametrize(("kind", "relation"), broken.CASES)
def test_broken_mechanisms_are_caught_everywhere(
    kind: type[Mechanism], relation: Neighbors, point: tuple[Fraction, Fraction]
) -> None:
    assert is_caught_quickly(broken.build(kind, relation, *point))


@pytest.mark.slow
@pytest.mark.parametrize("point", GRID)
@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("name", NAMES)
def test_honest_mechanisms_are_accused_nowhere(
    name: str, relation: Neighbors, point: tuple[Fraction, Fraction]
) -> None:
    row = audit_mechanisms(honest(name, relation, *point), effort=STRUCTURED, bits=NO_BITS)
    assert row.holds
