"""Plans of learning: by hand, and against what the learners themselves accept."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pytest
from support.cases import every

from dpmine import BadParameter
from dpmine.models.pac.theory import learners
from dpmine.models.pac.theory.families import ThresholdFamily
from dpmine.models.pac.theory.sample_complexity import Setting
from dpmine.planning.learning import _family, plan_learning


def test_thresholds_by_hand() -> None:
    """A = 8 max(1/a², 1/(aε)); the cover of radius a/(4κ) has ⌈(1 + r)/(2r)⌉ thresholds."""
    plan = plan_learning("thresholds", accuracy="0.1", epsilon="0.5", failure="0.05", smoothness=10)
    radius = Fraction(1, 400)
    size = -(-(1 + radius) // (2 * radius))
    assert plan.private == pytest.approx(800 * log(4 * size / 0.05), abs=1)
    radius /= 4
    size = -(-(1 + radius) // (2 * radius))
    assert plan.realizable == pytest.approx(160 * log(4 * size / 0.05), abs=1)
    packing = ThresholdFamily.of(0, 1).cover_size(Fraction(1, 5))
    assert plan.too_few == int(log(packing - 1) / 0.5)


def test_more_is_needed_for_more() -> None:
    base = plan_learning("stumps", accuracy="0.1", dimension=5)
    assert base.private is not None
    assert base.realizable is not None
    for harder in ({"accuracy": "0.05"}, {"dimension": 50}, {"epsilon": "0.01"}, {"smoothness": 100}):
        more = plan_learning("stumps", **{"accuracy": "0.1", "dimension": 5, **harder}).private  # type: ignore[arg-type]
        assert more is not None
        assert more > base.private
    assert plan_learning("stumps", accuracy="0.1", dimension=5, best_error="0.3").labels > base.labels
    assert base.realizable < base.private


def test_label_privacy_is_called_by_its_name() -> None:
    assert "NOT full privacy" in str(plan_learning("intervals", accuracy="0.1"))
    assert "no number is enough" in str(plan_learning("thresholds", accuracy="0.1"))


CASES: list[tuple[str, int | None, str, int | str]] = [
    (learned, dimension, accuracy, smoothness)
    for learned, dimension in (
        ("thresholds", None),
        ("intervals", None),
        ("stumps", 3),
        ("separators", 2),
        ("separators", 4),
        ("separators", 6),
    )
    for accuracy in ("0.5", "0.2", "0.001")
    for smoothness in (1, "4.5", 1000, "1e30")
]


@every(("learned", "dimension", "accuracy", "smoothness"), CASES)
def test_learners_accept_every_number_and_keep_its_smoothness(
    learned: str, dimension: int | None, accuracy: str, smoothness: int | str
) -> None:
    planned = plan_learning(learned, dimension=dimension, accuracy=accuracy, smoothness=smoothness)
    family = _family(planned.learned, dimension)
    numbers = {Setting.AGNOSTIC: planned.private, Setting.REALIZABLE: planned.realizable}
    for setting, records in numbers.items():
        radius = planned.target.radius(planned.smoothness, setting)
        assert (records is None) == (radius < family.finest)
        if records is not None:
            found = learners.plan_cover(records, family, planned.target, setting).error_bound.smoothness
            assert found is not None
            assert found >= planned.smoothness * (1 - Fraction(1, 10**6))
    missing = sum(records is None for records in numbers.values())
    assert len(planned.notes) == missing == str(planned).count(f"{'none':>16}\n")
    assert (missing > 0) == ("too many to score" in str(planned))


@every(("learned", "dimension"), [("thresholds", None), ("intervals", None), ("separators", 2)])
@every("best_error", [0, "0.3"])
def test_the_label_private_learner_accepts_its_number(
    learned: str, dimension: int | None, best_error: int | str
) -> None:
    """On rows that are all different, where covers are large."""
    planned = plan_learning(learned, accuracy="0.4", dimension=dimension, best_error=best_error)
    family = _family(planned.learned, dimension)
    rows = np.random.default_rng(1).normal(size=(planned.labels, family.columns))
    assert (
        learners.plan_label_cover(rows, family, planned.target, best_error).error_bound.accuracy
        == planned.target.accuracy
    )


def test_numbers_that_no_learner_accepts_are_missing() -> None:
    """The theorem alone would ask for 934,138,722, and 16,605."""
    fine = plan_learning("separators", accuracy="0.001", dimension=6)
    assert fine.private is fine.realizable is fine.too_few is None
    assert json.loads(fine.to_json())["records"]["private"] is None
    assert "accuracy must be at least" in fine.notes[0]
    far = plan_learning("separators", accuracy="0.2", dimension=4, smoothness=1000)
    assert far.private is None
    assert "smoothness must be at most 4.53" in far.notes[0]


@pytest.mark.parametrize("learned", ["thresholds", "intervals"])
def test_data_too_far_from_the_reference(learned: str) -> None:
    planned = plan_learning(learned, accuracy="0.1", smoothness="1e100")
    assert planned.private is planned.realizable is None
    assert json.loads(planned.to_json())["smoothness"] == 1e100
    assert "1e+100-smooth" in str(planned)
    assert ("no number is enough" in str(planned)) == (learned == "thresholds")


def test_no_number_is_called_too_few_unless_it_is_one() -> None:
    """ln(P − 1)/ε < 1 for the packing of this a, at a large ε."""
    assert plan_learning("thresholds", accuracy="0.1", epsilon=100).too_few is None
    for accuracy in ("0.01", "0.05", "0.12", "0.2", "0.9"):
        for epsilon in ("0.01", "0.7", 1, 3, 10**6):
            planned = plan_learning("thresholds", accuracy=accuracy, epsilon=epsilon)
            assert planned.too_few is None or planned.too_few > 0
            assert (planned.too_few is None) == ("or fewer" not in str(planned))


@every("epsilon", ["1e-9", "1e-6", "1e-4", "0.001", 1, 1000])
@every("accuracy", ["0.9", "0.5"])
def test_shares_are_rounded_down(epsilon: str | int, accuracy: str) -> None:
    planned = plan_learning("thresholds", accuracy=accuracy, epsilon=epsilon)
    said = re.search(r"with probability (0\.\d\d) or more\.$", str(planned))
    assert said is not None
    assert planned.private is not None
    true = 1 - 1 / (5 + 3 * exp(-float(epsilon) * planned.private))
    assert Fraction(said[1]) <= true + 1e-12 < Fraction(said[1]) + Fraction(1, 100) + Fraction(1, 10**9)


def test_json() -> None:
    document = json.loads(plan_learning("separators", accuracy="0.25", dimension=2).to_json())
    assert document["class"] == "separators"
    assert set(document["records"]) == {"private", "realizable", "labels_only"}
    assert document["notes"] == []


@every(
    ("learned", "parameters", "hint"),
    [
        ("trees", {}, "learn must be"),
        ("thresholds", {"dimension": 2}, "one feature"),
        ("stumps", {}, "need dimension"),
        ("separators", {"dimension": 7}, "dimension"),
        ("thresholds", {"accuracy": 0}, "accuracy"),
        ("thresholds", {"accuracy": 1}, "accuracy"),
        ("thresholds", {"smoothness": 0.5}, "smoothness must be at least 1"),
        ("thresholds", {"smoothness": "1e101"}, "smoothness must be .* at most 1e100"),
        ("intervals", {"smoothness": "1e9000"}, "smoothness must be .* at most 1e100"),
        ("thresholds", {"failure": 0}, "failure"),
        ("thresholds", {"best_error": 1}, "best_error"),
        ("thresholds", {"epsilon": -1}, "epsilon"),
    ],
)
def test_bad_parameters(learned: str, parameters: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadParameter, match=hint):
        plan_learning(learned, **{"accuracy": "0.1", **parameters})
