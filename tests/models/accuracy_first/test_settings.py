"""Public parameters: what is rejected, before any data are looked at, and what they come to."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.accuracy_first.lines import noisy_line, two_classes
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.errors import BadParameter
from dpmine.models.accuracy_first.estimators import AccuracyFirstLogistic, AccuracyFirstRidge
from dpmine.models.accuracy_first.noise_reduction import require_increasing
from dpmine.models.accuracy_first.objectives import LogisticBounds, RidgeBounds
from dpmine.models.accuracy_first.settings import SearchTerms, geometric_levels
from dpmine.models.accuracy_first.threshold_search import search

if TYPE_CHECKING:
    from collections.abc import Sequence


GIVEN: dict[str, Any] = {"excess_risk": 0.05, "regularization": 0.1, "epsilon_max": 100}
KINDS: list[Any] = [(AccuracyFirstRidge, noisy_line), (AccuracyFirstLogistic, two_classes)]

LIST = "epsilons must be a list of increasing privacy levels"
BAD_PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"excess_risk": None}, "excess_risk must be given: the excess risk to reach"),
    ({"excess_risk": 0}, "excess_risk must be greater than 0"),
    ({"excess_risk": float("nan")}, "excess_risk must be a finite number"),
    ({"excess_risk": True}, "excess_risk must be an exact number"),
    ({"regularization": None}, "regularization must be given"),
    ({"regularization": 0}, "regularization must be greater than 0"),
    ({"regularization": 1e100}, "regularization is too large for this x_bound"),
    ({"regularization": 1, "x_bound": 1e-30}, "regularization is too large for this x_bound"),
    ({"failure_probability": 0}, "failure_probability must lie strictly"),
    ({"epsilon_max": 0}, "epsilon_max must be greater than 0"),
    ({"epsilon_max": None}, "epsilon_max must be an exact number"),
    ({"x_bound": None}, "x_bound must be given: a public bound on the L1 norm"),
    ({"x_bound": 0}, "x_bound must be greater than 0"),
    ({"method": "input"}, "method must be 'covariance' or 'output' or 'brownian'"),
    ({"delta": 0}, "delta must lie strictly"),
    ({"delta": 0, "method": "brownian"}, "delta must lie strictly"),
    ({"steps": 0}, "steps must be a whole number of at least 1"),
    ({"steps": 10**12}, "steps must be at most 100000"),
    ({"epsilons": []}, "numbers above 0, each larger"),
    ({"epsilons": [1, 1]}, "numbers above 0, each larger"),
    ({"epsilons": [1, 3, 2]}, "numbers above 0, each larger"),
    ({"epsilons": [0, 1]}, "epsilons must be greater than 0"),
    ({"epsilons": [1, None]}, "epsilons must be an exact number"),
    ({"epsilons": "1,2"}, LIST),
    ({"epsilons": b"\x01\x02"}, LIST),
    ({"epsilons": np.array(1.0)}, LIST),
    ({"epsilons": iter([1, 2])}, LIST),
    ({"epsilons": {1, 2}}, LIST),
    ({"slack": 0}, "slack must be greater than 0"),
    ({"neighbors": "add_remove"}, "needs neighbors='replace_one'"),
    ({"neighbors": "any"}, "neighbors must be"),
    ({"fit_intercept": 1}, "fit_intercept must be True or False"),
    ({"keep_last": "yes"}, "keep_last must be True or False"),
]
OF_RIDGE: list[tuple[dict[str, Any], str]] = [
    ({"y_bound": None}, r"y_bound must be given: a public bound on \|y\|"),
    ({"y_bound": 0}, "y_bound must be greater than 0"),
]
OF_LOGISTIC = [({"method": "covariance"}, "covariances do not make a logistic regression")]
CASES = [
    *[(kind, *case) for kind, _ in KINDS for case in BAD_PARAMETERS],
    *[(AccuracyFirstRidge, *case) for case in OF_RIDGE],
    *[(AccuracyFirstLogistic, *case) for case in OF_LOGISTIC],
]


class Unseen:
    """Data of which the shape alone may be looked at."""

    shape = None

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"looked at the data: {name}")


@every(("kind", "parameters", "hint"), CASES)
def test_bad_parameters_are_rejected_before_data_are_seen(kind: Any, parameters: dict[str, Any], hint: str) -> None:
    estimator = kind(**{**GIVEN, **parameters})
    for attempt in (estimator.require_parameters, lambda: estimator.fit(Unseen(), Unseen())):
        with pytest.raises(BadParameter, match=hint) as caught:
            attempt()
        assert "\n" not in str(caught.value)


def test_logistic_regression_has_no_bound_on_its_classes() -> None:
    with pytest.raises(TypeError):
        AccuracyFirstLogistic(y_bound=1)


TOO_HARD: list[tuple[dict[str, Any], str]] = [
    (
        {"excess_risk": 1e-4},
        r"^excess_risk is out of reach: testing for it takes ε = \S+ alone, and epsilon_max is 100\. ",
    ),
    (
        {"excess_risk": 1e-4},
        r" Start from 0\.\d+, or take more rows, a larger regularization or a smaller x_bound, which ",
    ),
    (
        {"epsilon_max": "1e-3"},
        r"epsilon_max is 0\.001\. No useful target is in reach \(weights of 0 are within 0\.\d+\): ",
    ),
    ({"slack": 1e-4}, "out of reach"),
    ({"excess_risk": 1e-30}, r"excess_risk is lost in rounding: take one far above \d\S*e-1\d\.$"),
    ({"regularization": 1e-17}, "lost in rounding|too small for"),
    ({"epsilons": [1, 100]}, r"beyond epsilon_max: end at \d+\.\d+, or raise epsilon_max"),
    ({"epsilons": ["1e-90", 1]}, "start at a larger one"),
]


@every(("kind", "data"), KINDS)
@every(("parameters", "hint"), TOO_HARD)
def test_what_cannot_be_reached_is_said_by_public_numbers(
    kind: Any, data: Any, parameters: dict[str, Any], hint: str
) -> None:
    """The same words whatever the data are, as long as there are as many rows and columns."""
    said = set()
    for seed in range(3):
        with pytest.raises(BadParameter, match=hint) as caught:
            kind(**{**GIVEN, "method": "output", **parameters})._fit(*data(300, seed), bits=NumpyBits(seed))
        said.add(str(caught.value))
    assert len(said) == 1
    assert "\n" not in said.pop()


@every(("kind", "data"), KINDS)
def test_the_advice_is_enough(kind: Any, data: Any) -> None:
    """The number that the message names leaves room for hypotheses; a bit less than half of it, none."""
    estimator = kind(**{**GIVEN, "excess_risk": 1e-4})
    with pytest.raises(BadParameter) as caught:
        estimator.fit(*data(300))
    enough = float(str(caught.value).split("Start from ")[1].split(",")[0])
    fitted = estimator.set_params(excess_risk=enough).fit(*data(300))
    assert fitted.guarantee_.ex_post_epsilon <= 100
    with pytest.raises(BadParameter, match="out of reach"):
        estimator.set_params(excess_risk=0.49 * enough).fit(*data(300))


@pytest.mark.parametrize(("kind", "data"), KINDS)
def test_advice_that_would_be_of_no_use_is_not_given(kind: Any, data: Any) -> None:
    """Where twice the break-even is beyond what weights of 0 reach, y_bound²/2 or ln 2, in the user's units."""
    trivial, bound = (math.log(2), {}) if kind is AccuracyFirstLogistic else (4.5, {"y_bound": 3})
    estimator = kind(**{**GIVEN, **bound, "excess_risk": trivial / 50})
    estimator.set_params(epsilon_max=1000).fit(*data(300))
    charge = estimator._settings().terms(_bounds(estimator, 300)).test.charge
    for share, useful in ((Fraction(1, 20), True), (Fraction(1, 30), False)):
        with pytest.raises(BadParameter) as caught:
            estimator.set_params(epsilon_max=charge * share).fit(*data(300))
        assert ("Start from" in str(caught.value)) == useful
        assert (f"weights of 0 are within {trivial:.4g}" in str(caught.value)) != useful


def _bounds(estimator: Any, size: int) -> Any:
    settings = estimator._settings()
    kind = RidgeBounds if isinstance(estimator, AccuracyFirstRidge) else LogisticBounds
    return kind(size, 3, settings.ridge)


@pytest.mark.parametrize(("kind", "data"), KINDS)
def test_a_target_that_weights_of_0_reach_is_noted(kind: Any, data: Any) -> None:
    trivial, bound = (math.log(2), {}) if kind is AccuracyFirstLogistic else (4.5, {"y_bound": 3})
    for share in (0.9, 1.1):
        fitted = kind(**{**GIVEN, **bound, "excess_risk": share * trivial}).fit(*data(300))
        noted = [note for note in fitted.guarantee_.notes if "the target asks for less" in note]
        assert len(noted) == (share > 1)
        assert all(f"weights of 0 are within {trivial:.4g} of the best" in note for note in noted)


def test_the_advice_for_levels_is_enough() -> None:
    estimator = AccuracyFirstRidge(**GIVEN, epsilons=[1, 100])
    with pytest.raises(BadParameter) as caught:
        estimator.fit(*noisy_line(300))
    room = float(str(caught.value).split("end at ")[1].split(",")[0])
    estimator.set_params(epsilons=[1, room - 1e-3]).fit(*noisy_line(300))


EXTREME = st.sampled_from(["1e-100", "1e-40", "1e-9", "0.01", 1, "1e9", "1e40", "1e100"])


@given(EXTREME, EXTREME, EXTREME, EXTREME, EXTREME, st.sampled_from(["covariance", "output", "brownian"]))
def test_extreme_numbers_fit_or_are_rejected(risk: Any, ridge: Any, most: Any, x: Any, y: Any, method: str) -> None:
    """No other error, no warning of overflow."""
    parameters = {"excess_risk": risk, "regularization": ridge, "epsilon_max": most, "x_bound": x, "steps": 4}
    features, targets = noisy_line(20)
    attempts: list[tuple[Any, Any]] = [(AccuracyFirstRidge(**parameters, y_bound=y, method=method), targets)]
    if method != "covariance":
        attempts.append((AccuracyFirstLogistic(**parameters, method=method), np.sign(targets)))
    for estimator, answers in attempts:
        try:
            fitted = estimator._fit(features, answers, bits=NumpyBits(0))
        except BadParameter:
            continue
        assert fitted.guarantee_.ex_post_epsilon <= fitted.guarantee_.epsilon


def terms_of(size: int = 2000, **parameters: Any) -> SearchTerms:
    settings = AccuracyFirstRidge(**{**GIVEN, **parameters})._settings()
    return settings.terms(RidgeBounds(size, 3, settings.ridge))


def test_levels_are_geometric_and_end_where_the_budget_does() -> None:
    terms = terms_of(steps=200)
    assert terms.epsilons[-1] + terms.test.charge == 100
    assert float(terms.epsilons[0]) == pytest.approx(1 / 2000, rel=1e-5)
    ratios = [float(b / a) for a, b in zip(terms.epsilons, terms.epsilons[1:], strict=False)]
    assert len(terms.epsilons) == 200
    assert max(ratios) / min(ratios) < 1.001
    assert float(terms_of(size=5, excess_risk=1).epsilons[0]) == pytest.approx(
        float(terms_of(size=5, excess_risk=1).epsilons[-1]) / 1000, rel=1e-5
    )


def test_levels_that_are_given_are_taken() -> None:
    for levels in ([1, 2, "7/2"], np.array([1.0, 2.0, 3.5]), (1, 2, 3.5)):
        assert list(terms_of(epsilons=levels).epsilons) == [1, 2, 3.5]
    assert list(terms_of(epsilons=range(1, 4)).epsilons) == [1, 2, 3]


def test_a_test_is_charged_for_the_levels_there_are() -> None:
    """Their number enters its charge, whoever counted them."""
    listed = terms_of(epsilons=[Fraction(1 + k, 100) for k in range(50)], steps=1000)
    assert listed.test.charge == terms_of(steps=50).test.charge < terms_of(steps=1000).test.charge


def test_what_makes_tests_cheaper() -> None:
    charge = terms_of().test.charge
    assert terms_of(size=4000).test.charge < 0.51 * charge
    assert terms_of(excess_risk=0.1).test.charge < 0.51 * charge
    assert terms_of(regularization=0.4).test.charge < charge
    assert terms_of(slack="1/2").test.charge > 1.9 * charge
    assert terms_of(failure_probability=0.01).test.charge > charge


def test_charges_are_those_of_the_largest_sensitivity() -> None:
    """Less than a formula for Δ = (B + 1)²/n and a ball of radius B = 1/(2√λ), and not much less."""
    unit = (0.5 / 0.1**0.5 + 1) ** 2 / 2000 / 0.05
    roots = (2 * math.log(50 / 0.1)) ** 0.5 + math.log(10) ** 0.5
    for slack in (1, 0.5):
        sharp = float(terms_of(slack=slack, steps=50).test.charge)
        assert 0.7 * roots**2 * unit < slack * sharp < roots**2 * unit


def test_short_hypotheses_are_less_sensitive() -> None:
    radius = RidgeBounds(2000, 3, 0.1).radius
    short, long = terms_of().sensitivities(np.array([0.0, radius]))
    assert short < long
    assert long == pytest.approx((radius + 1) ** 2 / 2000, rel=1e-6)


@every(("kind", "data"), KINDS)
@every("method", ["output", "brownian"])
def test_the_terms_are_the_same_for_all_data_of_a_shape(
    kind: Any, data: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def noted(hypotheses: Any, epsilons: Any, queries: Any, test: Any, *, bits: Any) -> Any:
        seen.append((epsilons, test))
        return search(hypotheses, epsilons, queries, test, bits=bits)

    monkeypatch.setattr("dpmine.models.accuracy_first.estimators.search", noted)
    for seed in range(3):
        features, answers = data(300, seed)
        kind(**GIVEN, method=method, steps=20).fit(features * 10**seed, answers)
    assert seen[0] == seen[1] == seen[2]


def test_units_enter_the_terms_as_they_should() -> None:
    """In the unit ball: λ/c² and R/h², with c and h a trifle above the bounds."""
    wide = AccuracyFirstRidge(excess_risk=8, regularization=4, x_bound=2, y_bound=4)._settings()
    assert wide.ridge == pytest.approx(1, rel=1e-8)
    assert wide.ridge <= 1
    assert float(wide.units.risk(wide.excess_risk)) == pytest.approx(1 / 2, rel=1e-8)
    assert wide.units.risk(wide.excess_risk) <= Fraction(1, 2)
    constant = AccuracyFirstRidge(excess_risk=8, regularization=4, x_bound=2, fit_intercept=True)._settings()
    assert constant.ridge == pytest.approx(1 / 4, rel=1e-8)
    of_classes = AccuracyFirstLogistic(excess_risk="1/2", regularization=1)._settings()
    assert of_classes.units.risk(of_classes.excess_risk) == Fraction(1, 2)
    assert LogisticBounds(10, 2, of_classes.ridge).radius == pytest.approx(0.5277, abs=1e-4)


POSITIVE = st.fractions(min_value=Fraction(1, 10**9), max_value=10**6)


@given(POSITIVE, POSITIVE, st.integers(1, 300))
def test_geometric_levels(first: Fraction, last: Fraction, steps: int) -> None:
    """Increasing, at most so many, the last exact, the others short decimals that are not below `first`."""
    levels: Sequence[Fraction] = geometric_levels(first, last, steps)
    require_increasing(levels)
    assert 1 <= len(levels) <= steps
    assert levels[-1] == last
    if len(levels) > 1:
        assert levels[0] >= first * (1 - Fraction(1, 10**12))
    for level in levels[:-1]:
        digits = f"{float(level):.5e}"
        assert Fraction(digits) == level
