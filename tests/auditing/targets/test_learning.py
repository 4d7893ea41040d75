"""Every estimator is audited, none shows more than it claims, and usual mistakes of callers are refuted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.gallery.learning import forms, shown

import dpmine
from dpmine.auditing import epsilon_lower_bound
from dpmine.models.private_estimator import PrivateEstimator

FORMS = forms()
QUICK = [
    "capped, objective, gamma",
    "Huber, output, Gaussian",
    "ridge, gamma",
    "histogram",
    "histogram, number of bins",
    "hypothesis",
    "label-private learner",
    "search, weight",
    "accuracy first, ridge, covariances",
    "search, score",
    "accuracy first, logistic",
]
"""One or two of each estimator; benchmarks/audit_learning.py has all forms, with more runs."""
NOT_AUDITED = {"Declared"}
"""It asserts the guarantee of an estimator of another library, and has none of its own."""
BRIEF: dict[str, Any] = {"pilot": 30, "confidence": "0.999999"}


def test_every_estimator_is_audited() -> None:
    """A new one belongs into support/gallery/learning.py."""
    public = {name for name in dpmine.__all__ if _learns(getattr(dpmine, name))}
    assert {form.estimator for form in FORMS.values()} == public - NOT_AUDITED
    assert {FORMS[name].estimator for name in QUICK} >= public - NOT_AUDITED


def _learns(public: Any) -> bool:
    return isinstance(public, type) and (issubclass(public, PrivateEstimator) or hasattr(public, "fit"))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", QUICK)
def test_no_estimator_shows_more_than_it_claims(name: str) -> None:
    """False-alarm rate: at most 1e-6 for each."""
    assert shown(FORMS[name], 100, **BRIEF) <= FORMS[name].claim[0]


def own_bounds(rows: Any) -> dpmine.PrivateHistogram:
    """A histogram between the smallest and the largest record: bounds of the data."""
    histogram = dpmine.PrivateHistogram(bins=[2], lower=min(rows), upper=max(rows), epsilon=3, delta=0)
    return histogram.fit(rows)


@pytest.mark.slow
@pytest.mark.statistical
def test_bounds_of_the_data_are_refuted() -> None:
    """The width of a bin says which side it is. It is missed with probability below 1e-9."""
    sides = [np.array([value, 0.2, *[0.5] * 30]) for value in (0.1, 0.9)]
    runs = [partial(lambda rows: own_bounds(rows).bin_width_, rows) for rows in sides]
    assert epsilon_lower_bound(*runs, samples=200) > 3


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore")
def test_forgotten_units_are_refuted() -> None:
    """Two rows of one unit, trained as two units at ε = 3 each. Their loss of nearly 6 is twice the claim."""
    broken = replace(FORMS["capped, two rows a unit"], make=FORMS["capped, objective, gamma"].make, units=())
    assert shown(broken, 1500, pilot=150, confidence="0.999") > 3
