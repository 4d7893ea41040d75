"""Shells against counting, and the two guarantees against the exact laws of the mechanisms."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples

from dpmine import BadParameter, NotPrivate
from dpmine.io.atomic import new_figure
from dpmine.models.pac.conjunctions import Conjunctions
from dpmine.models.pac.hypothesis import Hypothesis, Records
from dpmine.models.pac.listed import Listed
from dpmine.models.pac.thresholds import PublicGrid, Thresholds
from dpmine.privacy import Neighbors
from dpmine.selection.select import law
from dpmine.selection.universes.dense import Dense, Levels
from experiments.shells import Shells, shells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.selection.universes.protocol import Universe

RECORDS = 40
NOBODY = Records(np.zeros((RECORDS, 1)), np.zeros(RECORDS, np.bool_))


@dataclass(frozen=True)
class Pretended:
    """A class whose universe is given."""

    scored: Universe[Any]
    name: str = "pretended"
    columns: int | None = None

    @property
    def size(self) -> int:
        return self.scored.size or 0

    def universe(self, records: Records) -> Universe[Any]:
        return self.scored

    def hypothesis(self, candidate: Any) -> Hypothesis:
        raise NotImplementedError


def margin(rank: float, epsilon: float, delta: float, eta: float) -> float:
    """γ* as published: T(ℓ) term by term, in records."""
    t = 6 * (1 + log(3 * rank / delta) / epsilon)
    threshold = 3 * log(1.5 / delta) + 6 * log(3 / delta) + 12 * log(3 * rank * (rank + 1) / delta)
    return 21 / epsilon * log(3 / eta) + threshold / epsilon + t


def near_by_trial(errors: Sequence[int], epsilon: float, delta: float, eta: float) -> int:
    """The least ℓ that has its margin, one ℓ after the other."""
    least = min(errors)
    for rank in range(1, len(errors) + 1):
        if sum(e <= least + margin(rank, epsilon, delta, eta) for e in errors) <= rank:
            return rank
    raise AssertionError


error_lists = st.lists(st.integers(0, RECORDS), min_size=1, max_size=30)
budgets = st.sampled_from([Fraction(1, 2), 1, 8, 40, 100, 400])
failures = st.sampled_from([Fraction(1, 100), Fraction(1, 20), Fraction(1, 2), Fraction(9, 10)])
deltas = st.sampled_from([Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 2)])


def shells_of(errors: Sequence[int], **options: Any) -> Shells:
    return shells(NOBODY, Pretended(Dense([RECORDS - e for e in errors])), **options)


@given(error_lists, budgets, deltas, failures)
@settings(max_examples=examples(150))
def test_sizes_and_margin_by_trial(errors: list[int], epsilon: Fraction, delta: Fraction, eta: Fraction) -> None:
    found = shells_of(errors, epsilon=epsilon, delta=delta, failure=eta)
    for excess in range(RECORDS + 2):
        assert found.within(excess) == sum(e <= min(errors) + excess for e in errors)
        assert found.within(excess + 0.5) == found.within(excess)
    assert found.within(-0.5) == 0
    assert (found.size, found.records, found.least_errors) == (len(errors), RECORDS, min(errors))
    exact = float(epsilon), float(delta), float(eta)
    assert found.near == near_by_trial(errors, *exact)
    assert found.margin == pytest.approx(margin(found.near, *exact), rel=1e-10)
    assert found.large_margin == pytest.approx(6 / exact[0] * log(2 * found.near / exact[2]))
    assert found.exponential == pytest.approx(2 / exact[0] * log(len(errors) / exact[2]))
    assert (found.better == "large_margin") == (8 * found.near**3 < eta**2 * len(errors))


@given(error_lists, budgets, deltas, failures, st.sampled_from(list(Neighbors)))
@settings(max_examples=examples(60))
def test_guarantees_are_kept_by_the_exact_laws(
    errors: list[int], epsilon: Fraction, delta: Fraction, eta: Fraction, neighbors: Neighbors
) -> None:
    found = shells_of(errors, epsilon=epsilon, delta=delta, failure=eta, neighbors=neighbors)
    excess = np.array(errors) - min(errors)
    for name, guarantee in (("large_margin", found.large_margin), ("exponential", found.exponential)):
        masses = law(
            [RECORDS - e for e in errors], epsilon=epsilon, delta=delta, neighbors=neighbors, mechanism=name
        ).pmf
        assert masses[excess <= guarantee].sum() >= float(1 - eta) - 1e-9
        reached = found.reached(name)
        assert reached is not None
        assert reached <= guarantee + 1e-9
        assert masses[excess <= reached].sum() >= float(1 - eta) - 1e-9
        assert masses[excess < reached].sum() <= float(1 - eta) + 1e-9


def test_the_margin_matters() -> None:
    """Without it (one candidate too many just inside) ℓ* grows, and with it the guarantee."""
    exact = 100.0, 0.01, 0.05
    inside = int(margin(1, *exact))
    assert shells_of([0, inside], epsilon=100, delta=0.01).near == 2
    assert shells_of([0, inside + 1], epsilon=100, delta=0.01).near == 1


def around_one_point(points: int) -> Shells:
    """600 negatives just below one half and 600 positives just above, on a grid of [0, 1]."""
    features = np.repeat([0.49995, 0.50005], 600)[:, np.newaxis]
    positive = np.repeat([False, True], 600)
    return shells(Records(features, positive), Thresholds(PublicGrid.of(0, 1, points), "x"))


def test_shells_win_on_a_coarse_grid() -> None:
    found = around_one_point(10_001)
    assert found.better == "large_margin"
    assert (found.near, found.sizes) == (1, (1, 10_001))
    assert found.large_margin == pytest.approx(6 * log(40))
    assert found.exponential == pytest.approx(2 * log(200_020))
    assert not found.is_empty


@pytest.mark.parametrize("points", [1_000_001, 10_000_001, 2**64])
def test_and_lose_once_it_is_refined(points: int) -> None:
    found = around_one_point(points)
    assert found.better == "exponential"
    assert found.near > around_one_point(10_001).near
    assert found.size == points


def test_a_wide_lead_among_many_conjunctions() -> None:
    """One conjunction is the rule, all others are far off: the margin is there, and the class is large."""
    generator = np.random.default_rng(1)
    features = (generator.random((8000, 30)) < 0.5).astype(np.float64)
    positive = (features[:, 3] > 0) & (features[:, 7] > 0)
    known = Conjunctions(tuple(f"f{i}" for i in range(30)), 3)
    found = shells(Records(features, positive), known)
    assert (found.near, found.within(0), found.least_errors) == (1, 1, 0)
    assert found.better == "large_margin"
    assert found.reached("large_margin") == found.reached("exponential") == 0


def test_a_class_made_of_records() -> None:
    generator = np.random.default_rng(3)
    records = Records(generator.random((60, 1)), generator.random(60) < 0.5)
    limits = generator.random(25).tolist()
    found = shells(records, Listed([lambda x, limit=limit: x[:, 0] > limit for limit in limits]))
    errors = [int(((records.features[:, 0] > limit) != records.positive).sum()) for limit in limits]
    assert [found.within(t) for t in range(61)] == [sum(e <= min(errors) + t for e in errors) for t in range(61)]
    assert found.hypotheses == "listed"


def test_add_remove_halves_what_the_exponential_mechanism_loses() -> None:
    replace, add = (shells_of([0] * 9, neighbors=relation) for relation in ("replace-one", "add_remove"))
    assert replace.exponential == 2 * add.exponential
    assert replace.large_margin == add.large_margin


def test_guarantees_that_say_nothing() -> None:
    assert shells_of([0, 3, 5]).is_empty
    assert "Neither says anything: no hypothesis has more than 5." in str(shells_of([0, 3, 5]))
    assert "Neither" not in str(shells_of([0, 3, 5], epsilon=400))
    assert shells_of([4]).is_empty


def test_the_worst_is_always_reached() -> None:
    """Rounding of a sum of masses to just below 1 must not read as nothing."""
    found = shells_of(list(range(30)), epsilon="1e-9", failure=1e-30)
    assert found.reached("exponential") == found.reached("max_of_exponentials") == 29


def test_what_is_reached_may_be_nothing() -> None:
    """A level so low that limited_domain mostly says nothing; other choices always choose."""
    found = shells_of([RECORDS, RECORDS])
    assert found.reached("limited_domain") is None
    assert found.reached("auto") == 0
    with pytest.raises(NotPrivate):
        found.reached("exact")
    with pytest.raises(BadParameter, match="mechanism must be one of"):
        found.reached("best")


def test_it_says_that_it_is_not_private() -> None:
    found = shells_of([2, 5, 5, 9], epsilon="1/2")
    assert "NOT private" in str(found)
    assert found.to_dict()["private"] is False
    assert "NOT private" in found.plot().get_title()
    assert json.loads(json.dumps(found.to_dict()))["shells"] == [
        {"excess": 0, "hypotheses": 1},
        {"excess": 3, "hypotheses": 3},
        {"excess": 7, "hypotheses": 4},
    ]


def test_as_text() -> None:
    lines = str(shells_of([2, 5, 5, 9], epsilon=400, delta=0.5)).splitlines()
    assert lines[:6] == [
        "Shells of pretended: 4 hypotheses, 40 records. NOT private.",
        "The best hypothesis has 2 errors. ε = 400, δ = 0.5, replace-one.",
        "  t  |H(t)|",
        "  0       1",
        "  3       3",
        "  7       4",
    ]
    assert lines[6].startswith("large_margin: at most 0.1 more errors with probability 0.95 (")
    assert lines[-1] == "The better guarantee: exponential."


def test_long_tables_are_cut() -> None:
    found = shells(NOBODY, Pretended(Levels([(score, 2**70) for score in range(1000, 0, -1)])))
    assert len(str(found).splitlines()) < 20
    assert f"  {1000 * 2**70}\n" in str(found)
    assert found.size == 1000 * 2**70


def test_picture_on_given_axes() -> None:
    axes = new_figure(4, 3).subplots()
    found = around_one_point(2**64)
    assert found.plot(axes) is axes
    curve, *guarantees = axes.get_lines()
    assert curve.get_ydata()[-1] == 2**64
    assert [line.get_xdata()[0] for line in guarantees] == [found.large_margin, found.exponential, found.margin]
    assert axes.get_yscale() == "log"
    axes.figure.canvas.draw()


@every(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon must be greater than 0"),
        ({"epsilon": "x"}, "epsilon must be a finite number"),
        ({"delta": 0}, "delta must lie strictly between 0 and 1"),
        ({"delta": 1}, "delta must lie strictly between 0 and 1"),
        ({"failure": 0}, "failure must lie strictly between 0 and 1"),
        ({"failure": 1.5}, "failure must lie strictly between 0 and 1"),
        ({"neighbors": "friends"}, "neighbors must be"),
    ],
)
def test_unusable_parameters(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        shells_of([1, 2], **options)
