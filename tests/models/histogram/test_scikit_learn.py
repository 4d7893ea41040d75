"""The histogram as scikit-learn sees it."""

from __future__ import annotations

import pickle
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator
from support.cases import every

from dpmine import BadData
from dpmine.models.histogram.estimator import PrivateHistogram

X = np.random.default_rng(7).beta(2, 5, 5000)


class OfTheFirstColumns(PrivateHistogram):
    """The checks have data of one to ten columns, of which this takes the first, as many as a record has numbers.

    What has no columns is passed on.
    """

    def fit(self, x: Any, y: object = None, units: Any = None) -> Self:
        return super().fit(self._first(x), y, units)

    def score_samples(self, X: Any) -> Any:
        return super().score_samples(self._first(X))

    def _first(self, x: Any) -> Any:
        count = self.search().space.features
        if hasattr(x, "iloc"):
            return x.iloc[:, :count]
        return x[:, :count] if isinstance(x, np.ndarray) and x.ndim == 2 else x


_MORE_COLUMNS = "its data have more columns than a record has numbers: test_columns_are_those_of_the_fit is the same"
_BOTH = {
    "check_n_features_in_after_fitting": _MORE_COLUMNS,
    "check_dtype_object": "wants numpy's TypeError, whose text quotes the entry; ours is a ValueError without it",
}
MODELS: dict[str, tuple[PrivateHistogram, dict[str, str]]] = {
    "interval": (
        OfTheFirstColumns(bins=[4], lower=-3, upper=3),
        {
            **_BOTH,
            "check_n_features_in": _MORE_COLUMNS,
            "check_fit1d": "numbers without columns are this estimator's natural input",
        },
    ),
    "chosen": (
        OfTheFirstColumns(bins=[2, 4], lower=-3, upper=3, epsilon=90),
        {
            **_BOTH,
            "check_n_features_in": _MORE_COLUMNS,
            "check_fit1d": "numbers without columns are this estimator's natural input",
            "check_fit2d_1sample": "one record cannot train and validate: the message says how many it takes",
        },
    ),
    "rectangle": (OfTheFirstColumns(bins=[4], lower=(-3, -3), upper=3), _BOTH),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("name", MODELS)
def test_scikit_learn_accepts_it(name: str) -> None:
    """Every exception is one that fails: a check that has come to pass must leave the list."""
    model, exceptions = MODELS[name]
    found = check_estimator(model, expected_failed_checks=exceptions)
    assert {result["check_name"] for result in found if result["status"] == "xfail"} == set(exceptions)
    assert sum(result["status"] == "passed" for result in found) >= 30


def test_columns_are_those_of_the_fit() -> None:
    line = PrivateHistogram(bins=[4], lower=0, upper=1)
    plane = PrivateHistogram(bins=[4], lower=(0, 0), upper=1)
    assert not hasattr(line, "n_features_in_")
    pairs = np.column_stack([X, X])
    assert (line.fit(X).n_features_in_, plane.fit(pairs).n_features_in_) == (1, 2)
    for model, other in ((line, pairs), (plane, X[:, np.newaxis]), (plane, X)):
        with pytest.raises(BadData, match="number"):
            model.score_samples(other)
    named = pd.DataFrame(pairs, columns=["a", "b"])
    assert plane.fit(named).feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(BadData, match="feature names should match"):
        plane.score_samples(named[["b", "a"]])
    assert not hasattr(plane.fit(pairs), "feature_names_in_")


def test_scores_are_log_densities() -> None:
    model = PrivateHistogram(bins=[4], lower=0, upper=2, epsilon=10**6).fit([0.1] * 3 + [1.9])
    found = model.score_samples([0.2, 1.8, 0.7, -0.1, np.nan])
    assert found[[0, 1, 3, 4]] == pytest.approx([np.log(1.5), np.log(0.5), -np.inf, np.nan], rel=1e-4, nan_ok=True)
    assert found[2] < -10  # an empty bin: all that it may have is noise
    assert model.score([[0.2], [1.8]]) == pytest.approx(np.log(0.75), rel=1e-4)
    assert model.score([0.2, 0.7]) < -4
    assert model.score([0.2, -0.1]) == -np.inf


def test_a_fitted_one_is_chosen_by_its_likelihood() -> None:
    """In cross-validation and at the end of a pipeline: more records of the peak are more likely under more bins."""
    coarse, fine = (PrivateHistogram(bins=[bins], lower=0, upper=1, epsilon=10**4) for bins in (2, 16))
    peak = np.clip(0.3 + 0.05 * np.random.default_rng(1).normal(size=2000), 0.2, 0.4)
    means = [cross_val_score(model, peak[:, np.newaxis]).mean() for model in (coarse, fine)]
    assert means[1] > means[0] + 100
    doubled = make_pipeline(FunctionTransformer(lambda x: x / 2), clone(fine)).fit(2 * peak[:, np.newaxis])
    assert doubled.score_samples(np.array([[0.6]])) == pytest.approx(fine.fit(peak).score_samples([0.3]), rel=0.01)


@every("lower", [0, (0, 0)])
def test_pickles_keep_what_was_learnt(lower: Any) -> None:
    records = X if lower == 0 else np.column_stack([X, X])
    model = PrivateHistogram(bins=[4, 8], lower=lower, upper=1, epsilon=50).fit(records)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.density_, model.density_)
    assert again.guarantee_ == model.guarantee_
    assert again.score(records) == model.score(records)
