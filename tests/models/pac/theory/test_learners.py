"""The three learners: what they draw from, with which law, when they reject, and what they say they guarantee."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every
from support.goodness import assert_sampled_law
from support.numpy_bits import NumpyBits

from dpmine import BadData, BadParameter
from dpmine.models.pac.hypothesis import Hypothesis, Records
from dpmine.models.pac.theory.families import Family, IntervalFamily, StumpFamily, ThresholdFamily
from dpmine.models.pac.theory.learners import (
    LABEL_ONLY,
    LABEL_UNIT,
    Learner,
    learn,
    mechanism_for,
    plan_cover,
    plan_label_cover,
    too_fine,
)
from dpmine.models.pac.theory.sample_complexity import Setting, Target, records_for_cover, records_for_labels
from dpmine.models.pac.theory.separator_family import SeparatorFamily
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import Profile

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource

ANYTHING = Target.of(epsilon="0.5", accuracy="0.8", failure="0.5")
"""A target that few records reach, so that laws are spread out."""
FAMILIES: list[Any] = [
    ThresholdFamily.of(0, 1),
    IntervalFamily.of(0, 1),
    StumpFamily.of([0, 0], [1, 1]),
    SeparatorFamily.of(2, resolution=3),
]
SETTINGS = list(Setting)


def _records(family: Family, count: int, seed: int) -> Records:
    generator = np.random.default_rng(seed)
    features = generator.random((count, family.columns))
    if family.name == "separators":
        features = features * 2 - 1
    return Records(features, (features[:, 0] > 0.4) ^ (generator.random(count) < 0.3))


def _candidates(hypotheses: Any) -> list[Hypothesis]:
    """All hypotheses of a small class, by what its universe can hold."""
    name, size = type(hypotheses).__name__, hypotheses.size
    if name == "Thresholds":
        return [hypotheses.hypothesis((0, place, _sides()[0])) for place in range(size)]
    if name == "Stumps":
        places = [(column, place) for column, grid in enumerate(hypotheses.grids) for place in range(grid.points)]
        return [hypotheses.hypothesis((*place, side)) for place in places for side in _sides()]
    if name == "Intervals":
        points = hypotheses.grid.points
        return [hypotheses.hypothesis((low, high)) for high in range(points + 1) for low in range(high)]
    return [hypotheses.hypothesis(index) for index in range(size)]


def _sides() -> list[Any]:
    from dpmine.models.pac.thresholds import CutSide

    return list(CutSide)


def _enumerated(hypotheses: Any, records: Records, epsilon: Fraction) -> dict[Any, float]:
    """P ∝ exp(−ε errors/2), hypothesis by hypothesis."""
    members = _candidates(hypotheses)
    assert len(members) == hypotheses.size
    errors = [int((member.predict(records.features) != records.positive).sum()) for member in members]
    weights = [exp(-float(epsilon) * (count - min(errors)) / 2) for count in errors]
    law: dict[Any, float] = {}
    for member, weight in zip(members, weights, strict=True):
        law[member] = law.get(member, 0) + weight / sum(weights)
    return law


def _level_masses(hypotheses: Any, records: Records, target: Target) -> dict[int, float]:
    levels = hypotheses.universe(records).head(0)
    profile = Profile(tuple(float(level.score) for level in levels), tuple(level.count for level in levels), 0)
    masses = mechanism_for(target).distribution(profile).masses
    return {int(level.score): float(mass) for level, mass in zip(levels, masses, strict=True)}


def _by_score(law: dict[Any, float], records: Records) -> dict[int, float]:
    found: dict[int, float] = {}
    for member, probability in law.items():
        score = int((member.predict(records.features) == records.positive).sum())
        found[score] = found.get(score, 0) + probability
    return found


def _fewest(family: Family, target: Target, setting: Setting) -> int:
    return records_for_cover(target, family.cover_size(target.radius(1, setting)), setting)


@every("setting", SETTINGS)
@every("family", FAMILIES)
def test_the_law_of_a_plan_is_the_enumerated_one(family: Family, setting: Setting) -> None:
    count = _fewest(family, ANYTHING, setting)
    records = _records(family, count, seed=1)
    cover = plan_cover(count, family, ANYTHING, setting).hypotheses
    wanted = _by_score(_enumerated(cover, records, ANYTHING.epsilon), records)
    assert _level_masses(cover, records, ANYTHING) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


@every("family", FAMILIES)
def test_the_law_of_a_label_plan_is_the_enumerated_one(family: Family) -> None:
    records = _records(family, 30, seed=2)
    cover = plan_label_cover(records.features, family, ANYTHING).hypotheses
    wanted = _by_score(_enumerated(cover, records, ANYTHING.epsilon), records)
    assert _level_masses(cover, records, ANYTHING) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("learner", [Learner.PRIVATE, Learner.REALIZABLE])
@pytest.mark.parametrize("family", [FAMILIES[0], FAMILIES[2]], ids=lambda family: family.name)
def test_draws_follow_the_law(learner: Learner, family: Family) -> None:
    """False-alarm rate 1e-6 a case."""
    target = Target.of(epsilon="0.05", accuracy="0.8", failure="0.5")
    count = _fewest(family, target, learner.setting)
    records = _records(family, count, seed=3)
    law = _enumerated(plan_cover(count, family, target, learner.setting).hypotheses, records, target.epsilon)

    def draw(bits: BitSource) -> Any:
        return learn(records, family, target, learner, bits=bits).hypothesis

    assert_sampled_law(draw, law, draws=800)


@pytest.mark.statistical
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_label_private_draws_follow_the_law(family: Family) -> None:
    """False-alarm rate 1e-6 a case."""
    records = _records(family, 30, seed=4)
    law = _enumerated(plan_label_cover(records.features, family, ANYTHING).hypotheses, records, ANYTHING.epsilon)

    def draw(bits: BitSource) -> Any:
        return learn(records, family, ANYTHING, Learner.LABEL_PRIVATE, bits=bits).hypothesis

    assert_sampled_law(draw, law, draws=800)


@every("setting", SETTINGS)
@every("target", [ANYTHING, Target.of(epsilon=1, accuracy="0.3", failure="0.05")])
@every("family", FAMILIES)
def test_too_few_records_are_rejected_with_the_number_needed(family: Family, target: Target, setting: Setting) -> None:
    needed = _fewest(family, target, setting)
    with pytest.raises(BadData, match=f"At least {needed} records"):
        plan_cover(needed - 1, family, target, setting)
    guarantee = plan_cover(needed, family, target, setting).error_bound
    assert guarantee.smoothness is not None
    assert guarantee.smoothness >= 1


@pytest.mark.parametrize("learner", [Learner.PRIVATE, Learner.REALIZABLE])
def test_learners_reject_as_their_plans_do(learner: Learner) -> None:
    family = FAMILIES[0]
    needed = _fewest(family, ANYTHING, learner.setting)
    with pytest.raises(BadData, match=f"At least {needed} "):
        learn(_records(family, needed - 1, seed=0), family, ANYTHING, learner, bits=NumpyBits(0))
    learn(_records(family, needed, seed=0), family, ANYTHING, learner, bits=NumpyBits(0))


@every("setting", SETTINGS)
@every("family", FAMILIES)
@every("times", [1, Fraction(11, 10), 2])
def test_the_smoothness_is_the_largest_that_the_records_allow(
    family: Family, setting: Setting, times: Fraction
) -> None:
    target = Target.of(epsilon=1, accuracy="0.3", failure="0.05")
    records = int(times * _fewest(family, target, setting))
    guarantee = plan_cover(records, family, target, setting).error_bound
    smoothness = guarantee.smoothness
    assert smoothness is not None
    assert guarantee.radius == target.accuracy / (setting.fineness * smoothness)
    assert guarantee.cover_size <= family.cover_size(guarantee.radius)
    assert records_for_cover(target, guarantee.cover_size, setting) <= records
    smaller = guarantee.radius / (1 + Fraction(1, 10**5))
    at_the_limit = smaller < family.finest
    assert at_the_limit or records_for_cover(target, family.cover_size(smaller), setting) > records


def test_a_plan_needs_no_data() -> None:
    """Figures 1 and 2: the same cover for every data set of that size."""
    family = FAMILIES[0]
    first, second = (plan_cover(3000, family, ANYTHING, Setting.AGNOSTIC) for _ in range(2))
    assert first == second


def test_the_learnt_hypothesis_is_as_good_as_guaranteed() -> None:
    """Labels are x ≥ 0.37, a tenth of them flipped; x has density 2 on half of the interval (κ = 2)."""
    family = ThresholdFamily.of(0, 1)
    target = Target.of(epsilon=1, accuracy="0.1", failure="0.05")
    generator = np.random.default_rng(7)
    features = generator.random((8000, 1)) / 2 + 0.25
    records = Records(features, (features[:, 0] >= 0.37) ^ (generator.random(8000) < 0.1))
    for seed in range(5):
        result = learn(records, family, target, bits=NumpyBits(seed))
        assert result.error_bound.smoothness is not None
        assert result.error_bound.smoothness >= 2
        place = float(result.hypothesis.parameters()["threshold"])
        assert 0.8 * 2 * abs(min(max(place, 0.25), 0.75) - 0.37) <= target.accuracy


def test_the_guarantees() -> None:
    family, target = FAMILIES[0], ANYTHING
    records = _records(family, 2000, seed=5)
    for learner in (Learner.PRIVATE, Learner.REALIZABLE):
        result = learn(records, family, target, learner, bits=NumpyBits(1))
        assert (result.guarantee.epsilon, result.guarantee.delta) == (Fraction(1, 2), Fraction(0))
        assert (result.guarantee.unit, result.guarantee.neighbors) == ("row", Neighbors.REPLACE_ONE)
        assert result.guarantee.notes[0].endswith("the number of records is public")
        assert len(result.guarantee.notes) == 1
        assert "times as likely as under the reference" in str(result.error_bound)
        assert result.error_bound.accuracy == target.accuracy
    labels = learn(records, family, target, Learner.LABEL_PRIVATE, bits=NumpyBits(1))
    assert (labels.guarantee.epsilon, labels.guarantee.delta) == (Fraction(1, 2), Fraction(0))
    assert (labels.guarantee.unit, labels.guarantee.neighbors) == (LABEL_UNIT, Neighbors.REPLACE_ONE)
    assert labels.guarantee.notes == (LABEL_ONLY,)
    assert LABEL_ONLY.startswith("LABEL PRIVACY ONLY: ")
    assert labels.error_bound.accuracy is None
    assert labels.error_bound.smoothness is None
    assert "Nothing is guaranteed about other rows" in str(labels.error_bound)


@pytest.mark.parametrize("learner", list(Learner))
def test_requests_that_cannot_be_met_are_rejected(learner: Learner) -> None:
    family = FAMILIES[0]
    bits = NumpyBits(0)
    with pytest.raises(BadParameter, match="need 2 features"):
        learn(_records(family, 2000, seed=6), FAMILIES[2], ANYTHING, learner, bits=bits)
    with pytest.raises(BadData, match="t least"):
        learn(_records(family, 0, seed=0), family, ANYTHING, learner, bits=bits)


def test_covers_that_would_be_too_large_are_rejected() -> None:
    family = SeparatorFamily.of(6)
    target = Target.of(epsilon=1, accuracy="0.2", failure="0.05")
    with pytest.raises(BadParameter, match="accuracy must be at least") as caught:
        plan_cover(10**6, family, target, Setting.AGNOSTIC)
    least = re.search(r"at least (0\.\d+)", str(caught.value))
    assert least is not None
    enough = Target.of(epsilon=1, accuracy=least[1], failure="0.05")
    assert plan_cover(10**6, family, enough, Setting.AGNOSTIC).error_bound.cover_size == 9**6 - 7**6
    with pytest.raises(BadParameter, match="take fewer features"):
        plan_cover(10**6, family, target, Setting.REALIZABLE)


@every("family", [*FAMILIES, SeparatorFamily.of(6)])
@every("setting", SETTINGS)
@every("accuracy", ["0.9", "0.01", "1e-30"])
@every("smoothness", [1, Fraction(7, 3), 10**4, 10**40])
def test_what_is_said_to_help_against_too_fine_covers_does(
    family: Family, setting: Setting, accuracy: str, smoothness: Fraction
) -> None:
    target = Target.of(epsilon=1, accuracy=accuracy, failure="0.05")
    reason = too_fine(family, target, setting, smoothness)
    assert (reason is None) == (target.radius(smoothness, setting) >= family.finest)
    if reason is None:
        return
    number = re.search(r"at (?:least|most) ([-+.e\d]+)\.$", reason)
    if "accuracy must" in reason and number:
        eased = Target.of(epsilon=1, accuracy=number[1], failure="0.05")
        assert too_fine(family, eased, setting, smoothness) is None
    elif "smoothness must" in reason and number:
        assert too_fine(family, target, setting, Fraction(number[1])) is None
    elif "larger accuracy" in reason:
        assert too_fine(family, Target.of(epsilon=1, accuracy="0.99", failure="0.05"), setting) is None
    else:
        assert reason.endswith("take fewer features.")
        assert setting.fineness * family.finest >= Fraction(99, 100)


@every("family", FAMILIES)
def test_one_label_moves_every_score_by_one(family: Family) -> None:
    """Neighbours under label privacy draw from the same cover, with scores that differ by exactly 1."""
    records = _records(family, 25, seed=8)
    flipped = records.positive.copy()
    flipped[4] = not flipped[4]
    cover = plan_label_cover(records.features, family, ANYTHING).hypotheses
    for index in range(cover.size):
        answers = cover.hypothesis(index).predict(records.features)
        scores = [int((answers == labels).sum()) for labels in (records.positive, flipped)]
        assert abs(scores[0] - scores[1]) == 1


def test_features_are_not_protected_under_label_privacy() -> None:
    """Another x changes what can be drawn at all: no ε holds for such data sets."""
    features = np.linspace(0, 1, 20)[:, None]
    moved = features.copy()
    moved[3] = 0.777
    target = Target.of(epsilon=1, accuracy="0.1", failure="0.05")
    covers = [
        {str(cover.hypothesis(index)) for index in range(cover.size)}
        for cover in (plan_label_cover(rows, FAMILIES[0], target).hypotheses for rows in (features, moved))
    ]
    assert covers[0] != covers[1]


@every("family", FAMILIES)
@every("best_error", [0, Fraction(1, 5)])
def test_label_private_promises_need_records(family: Family, best_error: Fraction) -> None:
    """The number in the reason is enough, whether all rows are alike or all are different."""
    target = Target.of(epsilon=1, accuracy="0.4", failure="0.1")
    with pytest.raises(BadData, match="are enough") as caught:
        plan_label_cover(_records(family, 5, seed=9).features, family, target, best_error)
    enough = int(re.findall(r"(\d+) are enough", str(caught.value))[0])
    different, alike = _records(family, enough, seed=9).features, np.full((enough, family.columns), 0.5)
    for rows in (different, alike):
        planned = plan_label_cover(rows, family, target, best_error)
        assert planned.error_bound.accuracy == target.accuracy
        assert records_for_labels(target, family.vc, best_error, planned.hypotheses.size) <= enough
        assert family.sampled in planned.error_bound.text
    fewest = records_for_labels(target, family.vc, best_error, 1)
    with pytest.raises(BadData, match="are enough"):
        plan_label_cover(alike[: fewest - 1], family, target, best_error)


def test_best_errors_are_shares() -> None:
    with pytest.raises(BadParameter, match="best_error"):
        plan_label_cover(np.zeros((3, 1)), FAMILIES[0], ANYTHING, 1)


def test_the_guarantee_about_the_rows_holds() -> None:
    """Errors beyond the fewest, added up over the law: the mass beyond the bound is at most δ."""
    target = Target.of(epsilon="0.5", accuracy="0.2", failure="0.1")
    family = FAMILIES[0]
    records = _records(family, 120, seed=10)
    planned = plan_label_cover(records.features, family, target)
    lost = int(re.findall(r"and (\d+) more", planned.error_bound.text)[0])
    cuts = [*records.features[:, 0].tolist(), 2.0]
    best = max(int(((records.features[:, 0] >= cut) == records.positive).sum()) for cut in cuts)
    law = _by_score(_enumerated(planned.hypotheses, records, target.epsilon), records)
    allowed = best - target.accuracy / 4 * 120 - lost
    assert sum(mass for score, mass in law.items() if score < allowed) <= target.failure
    assert max(law) >= best - target.accuracy / 4 * 120
