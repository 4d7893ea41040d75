"""Noise vectors: their distributions, and which kind a training takes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine import Ledger, PrivateHuberSVC, PrivateLogisticRegression, PrivateRidge
from dpmine.errors import BadLedger, BadParameter, BudgetExceeded
from dpmine.gaussian import ratio_at
from dpmine.ledger.budget import Amount
from dpmine.models.linear.estimators import load_classifier
from dpmine.models.linear.noise import GammaNoise, GaussianNoise, VectorNoise
from dpmine.models.linear.sensitivities import RELATIVE_ERROR
from dpmine.models.linear.training import LinearSettings
from dpmine.privacy import Guarantee, Neighbors, Zcdp

if TYPE_CHECKING:
    from pathlib import Path


FALSE_ALARM = 1e-7  # for each of the statistics below; seeds are fixed
LAWS: dict[str, tuple[VectorNoise, Any]] = {
    "gamma": (GammaNoise(), stats.gamma),
    "gaussian": (GaussianNoise(Fraction(1, 10**6)), stats.chi),
}
"""A noise, and the distribution of its norm by its dimension."""


def draws(noise: VectorNoise, dimension: int, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    bits = NumpyBits(2013 + dimension)
    return np.array([noise.draw(dimension, bits=bits).floats()[0] for _ in range(count)])


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_norms(law: str, dimension: int) -> None:
    noise, norm = LAWS[law]
    norms = np.linalg.norm(draws(noise, dimension, 6000), axis=1)
    assert stats.kstest(norms, norm(dimension).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(norms / 2, norm(dimension).cdf).pvalue < FALSE_ALARM  # the test sees half the noise


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_direction_is_uniform_and_independent_of_the_norm(law: str, dimension: int) -> None:
    sample = draws(LAWS[law][0], dimension, 6000)
    norms = np.linalg.norm(sample, axis=1)
    cosines = sample / norms[:, np.newaxis]
    share = stats.beta((dimension - 1) / 2, (dimension - 1) / 2, loc=-1, scale=2)
    for axis in [*np.eye(dimension), np.ones(dimension) / dimension**0.5]:
        assert stats.kstest(cosines @ axis, share.cdf).pvalue > FALSE_ALARM
    assert stats.spearmanr(norms, cosines[:, 0]).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_gaussian_coordinates_are_standard_normal() -> None:
    """Rotations too: every combination of length 1. Neighbouring coordinates come from one pair of Box and Muller."""
    sample = draws(GaussianNoise(Fraction(1, 10**6)), 3, 8000)
    for axis in [*np.eye(3), np.array([1, 1, 0]) / 2**0.5, np.array([0.6, 0, -0.8])]:
        assert stats.kstest(sample @ axis, stats.norm.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(sample[:, 0] / 2, stats.norm.cdf).pvalue < FALSE_ALARM
    assert stats.kstest((sample**2).sum(axis=1), stats.chi2(3).cdf).pvalue > FALSE_ALARM


@every("law", list(LAWS))
@every("dimension", [1, 3, 40])
def test_floats_are_close_to_the_exact_vector(law: str, dimension: int) -> None:
    noise = LAWS[law][0].draw(dimension, bits=NumpyBits(5))
    floats, error = noise.floats()
    finer = noise.rounded_sum(np.zeros(dimension), Fraction(1), Fraction(1, 2**45))
    distance = float(np.linalg.norm(floats - finer))
    assert distance <= error + dimension**0.5 * 2.0**-45
    assert error <= RELATIVE_ERROR * float(np.linalg.norm(floats))
    assert noise.floats()[0].tolist() == floats.tolist()


@every("law", list(LAWS))
def test_rounded_sum_is_the_nearest_multiple(law: str) -> None:
    noise = LAWS[law][0].draw(4, bits=NumpyBits(6))
    start, scale, grid = np.array([1.0, -2.5, 0.0, 1e6]), Fraction(1, 7), Fraction(1, 1024)
    released = noise.rounded_sum(start, scale, grid)
    wanted = start + noise.floats()[0] / 7
    assert np.abs(released - wanted).max() <= 2.0**-11 + 1e-9
    assert (released * 1024 == np.rint(released * 1024)).all()


@every("law", list(LAWS))
@every("dimension", [1, 11, 105, 2000])
@every("failure", [Fraction(1, 100), Fraction(1, 2**40)])
def test_quantile_is_rounded_up(law: str, dimension: int, failure: Fraction) -> None:
    noise, norm = LAWS[law]
    exact = float(norm(dimension).isf(float(failure)))
    assert exact * (1 - 1e-9) <= noise.quantile(dimension, failure) <= exact * (1 + 1e-5)


@every("law", list(LAWS))
@every("dimension", [1, 11, 2000])
def test_mean_length(law: str, dimension: int) -> None:
    noise, norm = LAWS[law]
    assert noise.length(dimension) == pytest.approx(float(norm(dimension).mean()), rel=1e-10)


DELTA = Fraction(1, 10**6)
FEW, MANY = 5, 40


def clouds(features: int, rows: int = 120) -> tuple[Any, Any]:
    generator = np.random.default_rng(3)
    found = generator.uniform(-1, 1, (rows, features))
    return found, found.sum(axis=1) > 0


def names(features: int) -> list[str]:
    return [f"x{column}" for column in range(features)]


def fitted(features: int, **parameters: Any) -> Any:
    units = parameters.pop("units", None)
    return PrivateLogisticRegression(feature_bounds=(-1, 1), **parameters).fit(*clouds(features), units=units)


@every("method", ["objective", "output"])
@every(("epsilon", "last_gamma"), [("0.3", 14), ("1", 17), ("3", 20)])
def test_auto_takes_the_shorter_noise(method: str, epsilon: str, last_gamma: int) -> None:
    """The numbers of weights in docs/how-to/classifiers.md; an intercept is one of them."""
    model = PrivateLogisticRegression(epsilon=epsilon, method=method)
    deltas = [model.guarantee(features=names(weights - 1)).delta for weights in (2, last_gamma, last_gamma + 1, 500)]
    assert deltas == [0, 0, DELTA, DELTA]


@every("kind", [PrivateLogisticRegression, PrivateHuberSVC])
@every("features", [FEW, MANY])
def test_what_is_fitted_is_what_was_guaranteed(kind: Any, features: int) -> None:
    model = kind(feature_bounds=(-1, 1))
    before = model.guarantee(features=names(features))
    after = model.fit(*clouds(features)).guarantee_
    assert after.delta == before.delta == (DELTA if features == MANY else 0)
    assert (after.epsilon, after.zcdp) == (before.epsilon, before.zcdp)
    assert any("Gaussian noise" in note for note in after.notes) == (features == MANY)


def test_before_the_number_of_features_is_known_the_guarantee_is_the_most() -> None:
    assert PrivateLogisticRegression().guarantee().delta == DELTA
    assert PrivateLogisticRegression(noise="gamma").guarantee().delta == 0
    rows, labels = clouds(FEW)
    listed = PrivateLogisticRegression(feature_bounds=(-1, 1)).fit(rows.tolist(), labels)  # as long as the first row
    assert listed.guarantee_.delta == 0


@every("kind", [PrivateLogisticRegression, PrivateRidge])
@every("method", ["objective", "output"])
def test_a_charge_made_before_the_features_are_known_covers_any_number(kind: Any, method: str) -> None:
    """In all that a ledger adds up: without δ, the noise of few weights has a larger ρ."""
    given: dict[str, Any] = {"target_bounds": (0, 1)} if kind is PrivateRidge else {"method": method, "classes": [0, 1]}
    for features in (FEW, MANY):
        model = kind(feature_bounds=(-1, 1), **given)
        charge = model.charge()
        spent = Amount.of(model.fit_charged(*clouds(features), charge).guarantee_)
        assert tuple(spent) == tuple(Amount.of(charge.guarantee))


def test_what_costs_more_than_its_charge_is_withheld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'l.db'}")
    ledger.grant("people", epsilon=3)
    model = PrivateLogisticRegression(feature_bounds=(-1, 1), ledger=ledger, dataset="people")
    before = model.guarantee(features=names(FEW))
    monkeypatch.setattr(LinearSettings, "guarantee", lambda *_: before)
    dearer = Guarantee(Fraction(2), Fraction(0), Neighbors.REPLACE_ONE, "row")
    monkeypatch.setattr(LinearSettings, "_guaranteed", lambda *_: dearer)
    with pytest.raises(BadLedger, match="more than was charged"):
        model.fit(*clouds(FEW))
    assert not hasattr(model, "coef_")


def test_a_charge_for_few_features_does_not_cover_many() -> None:
    model = PrivateLogisticRegression(feature_bounds=(-1, 1), classes=[0, 1])
    with pytest.raises(BadParameter, match="covers one run"):
        model.fit_charged(*clouds(MANY), model.charge(names(FEW)))


@every("features", [FEW, MANY])
def test_named_noise_is_taken(features: int) -> None:
    assert fitted(features, noise="gamma").guarantee_.delta == 0
    assert fitted(features, noise="gaussian").guarantee_.delta == DELTA


def test_unknown_noise_is_rejected() -> None:
    with pytest.raises(BadParameter, match="noise must be one of: auto, gamma, gaussian"):
        fitted(FEW, noise="laplace")


def test_objective_perturbation_has_no_rho_beyond_what_it_implies() -> None:
    assert fitted(MANY, noise="gaussian").guarantee_.zcdp == Zcdp(Fraction(1, 2), DELTA)


@every("rows", [1, 3])
def test_output_perturbation_has_a_rho(rows: int) -> None:
    """A²/2 of one row's budget, and rows² times that for a unit; far below ε²/2."""
    units = np.arange(120) // 2
    model = fitted(MANY, noise="gaussian", method="output", units=units, rows_per_unit=rows)
    each = model._settings(rows).shared
    assert model.guarantee_.zcdp == Zcdp(rows**2 * ratio_at(each.row_epsilon, each.row_delta) ** 2 / 2)
    assert model.guarantee_.rho < Fraction(1, 16)
    assert (model.guarantee_.epsilon, model.guarantee_.delta) == (1, DELTA)
    assert load_classifier(model.to_json()).guarantee_ == model.guarantee_


def test_a_search_adds_its_own_rho() -> None:
    model = fitted(MANY, noise="gaussian", method="output", lambdas=[1, 2])
    training = ratio_at(Fraction(9, 10), DELTA) ** 2 / 2
    assert model.guarantee_.zcdp == Zcdp(training + Fraction(1, 10) ** 2 / 2)


def test_an_approximate_choice_shares_delta_with_the_training() -> None:
    parameters: dict[str, Any] = {"lambdas": [1, 2], "mechanism": "large-margin"}
    model = PrivateLogisticRegression(noise="gaussian", **parameters)
    settings = model._settings(1, names(MANY))
    noise = settings.vector_noise
    assert noise == GaussianNoise(DELTA / 2)
    assert settings._search(noise).chooser().delta == DELTA / 2
    assert model.guarantee(features=names(MANY)).delta == DELTA
    assert fitted(MANY, noise="gaussian", **parameters).guarantee_.delta == DELTA
    pure = PrivateLogisticRegression(noise="gaussian", lambdas=[1, 2])._settings(1, names(MANY))
    assert pure.vector_noise == GaussianNoise(DELTA)


@every("method", ["objective", "output"])
def test_several_rows_of_a_unit_share_the_budget(method: str) -> None:
    guarantee = fitted(MANY, method=method, units=np.arange(120) // 4, rows_per_unit=4).guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (1, DELTA, "unit")


def test_where_no_delta_is_large_enough_auto_spends_none() -> None:
    model = PrivateLogisticRegression(epsilon=500, rows_per_unit=2, unit="customer")
    assert isinstance(model._settings(2, names(9000)).vector_noise, GammaNoise)
    with pytest.raises(BadParameter, match="smaller epsilon"):
        PrivateLogisticRegression(epsilon=500, noise="gaussian")._settings(2, names(9)).guarantee()


def test_the_regulariser_follows_the_noise() -> None:
    """λ is a tenth of the mean length of the noise over n, and all of it on the output."""
    rows = 120
    for method, share in (("objective", 0.1), ("output", 1.0)):
        gamma, gaussian = (fitted(MANY, noise=noise, method=method).lambda_ for noise in ("gamma", "gaussian"))
        assert gamma == pytest.approx(share * (MANY + 1) / rows)
        length = (MANY + 1) ** 0.5 * (1 - 1 / (4 * (MANY + 1)))  # of the chi distribution, to a part in 10^4
        assert gaussian == pytest.approx(share * length / float(ratio_at(Fraction(1), DELTA)) / rows, rel=1e-3)


def test_a_ledger_without_delta_takes_gamma_noise_only(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.grant("people", epsilon=3)
    with pytest.raises(BudgetExceeded):
        fitted(MANY, ledger=ledger, dataset="people")
    assert fitted(MANY, noise="gamma", ledger=ledger, dataset="people").guarantee_.delta == 0
    assert fitted(FEW, ledger=ledger, dataset="people").guarantee_.delta == 0


def test_gaussian_noise_learns() -> None:
    rows, labels = clouds(MANY, 4000)
    model = PrivateLogisticRegression(feature_bounds=(-1, 1), epsilon=3)
    assert model._fit(rows, labels, bits=NumpyBits(2)).score(rows, labels) > 0.85
