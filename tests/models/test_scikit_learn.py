"""Estimators as scikit-learn's own checks see them; those of the histogram are in `histogram/test_scikit_learn.py`."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

import dpmine

NOISE = "two fits have noise of their own, so they do not predict the same"
NO_ERROR = "an error would disclose that some target is missing or infinite"
NOT_THEIRS = "its y has other labels than the three that are named, which count as the first"
BOTH_WAYS = "trains on two classes as well, and wants one column of decisions for them"
COMMON = {
    "check_fit_idempotent": NOISE,
    "check_supervised_y_2d": NOISE,
    "check_dtype_object": "wants numpy's TypeError, whose text quotes the entry; ours is a ValueError without it",
}
CLASSIFIER = {**COMMON, "check_classifier_data_not_an_array": NOISE}
LINEAR = {
    **CLASSIFIER,
    "check_class_weight_classifiers": "weighs classes without naming them: which labels occur is not public",
}
REGRESSOR = {
    **COMMON,
    "check_regressor_data_not_an_array": NOISE,
    "check_regressors_int": NOISE,
    "check_supervised_y_no_nan": NO_ERROR,
}
THREE_CLASSES = {
    **LINEAR,
    **dict.fromkeys(("check_classifiers_one_label", "check_classifiers_regression_target"), NOT_THEIRS),
    "check_supervised_y_no_nan": NOT_THEIRS,
    "check_classifiers_classes": "its y holds texts, and the named classes are numbers",
    **dict.fromkeys(("check_classifiers_train", "check_decision_proba_consistency"), BOTH_WAYS),
    **dict.fromkeys(("check_estimator_sparse_array", "check_estimator_sparse_matrix"), "has four classes"),
}
EASY: dict[str, Any] = {  # tiny data sets reach the target: failures of the test are as likely as 1e-12
    "excess_risk": 1,
    "regularization": 1,
    "failure_probability": "1e-12",
    "epsilon_max": 10**6,
    "steps": 20,
}
MODELS: dict[str, tuple[Any, dict[str, str]]] = {
    "logistic": (dpmine.PrivateLogisticRegression(), LINEAR),
    "svc": (dpmine.PrivateHuberSVC(), LINEAR),
    "three classes": (dpmine.PrivateLogisticRegression(classes=[0, 1, 2]), THREE_CLASSES),
    "ridge": (dpmine.PrivateRidge(target_bounds=(-100, 100)), REGRESSOR),
    "accuracy first, ridge": (dpmine.AccuracyFirstRidge(**EASY), REGRESSOR),
    "accuracy first, logistic": (dpmine.AccuracyFirstLogistic(**EASY), CLASSIFIER),
    "stumps": (dpmine.HypothesisSelector("stumps", lower=-10, upper=10), CLASSIFIER),
    # the other learners reject the few rows of most checks, because nothing could be guaranteed
    "learner": (dpmine.PrivateLearner("stumps", learner="label_private", lower=-10, upper=10), CLASSIFIER),
    "declared": (dpmine.Declared(GaussianNB(), epsilon=1), {}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("name", MODELS)
def test_scikit_learn_accepts_it(name: str) -> None:
    model, exceptions = MODELS[name]
    check_estimator(model, expected_failed_checks=exceptions)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_a_search() -> None:
    search = dpmine.PrivateSearchCV(dpmine.PrivateLogisticRegression(), {"lambdas": [0.01, 1]}, runs=2)
    exceptions = {**CLASSIFIER, "check_complex_data": "y is checked before X is read, and is a column there"}
    check_estimator(search, expected_failed_checks=exceptions)
