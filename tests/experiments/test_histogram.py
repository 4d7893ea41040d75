"""The histograms of the paper, whose bounds are looser than the library's."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.models.histogram.training import records_lost, stabilities
from experiments.histogram import AsPublished, Cautious, Uniform, records_lost_as_published, stabilities_as_published

ALPHA = Fraction(1, 2)
DELTA = Fraction(1, 10**6)
X = np.random.default_rng(7).beta(2, 5, 5000)
OPTIONS: dict[str, Any] = {
    "bins": [4, 8, 16],
    "lower": 0,
    "upper": 1,
    "epsilon": 50,
    "delta": "1e-6",
    "mechanism": "max_of_exponentials",
    "selection_share": "0.5",
    "neighbors": "replace_one",
}


@every("kind", [Cautious, Uniform, AsPublished])
def test_the_papers_choices_keep_to_the_budget(kind: Any) -> None:
    """Theirs are looser bounds; the published procedure trains on its part of the records only."""
    found = kind.of(**OPTIONS, train_share="0.3").density(X, bits=NumpyBits(1))
    assert (found.guarantee.epsilon, found.guarantee.delta) == (50, Fraction(1, 10**6))
    assert float(found.counts.sum()) == pytest.approx(1500 if kind is AsPublished else 5000, abs=20)


@every("bins", [2, 4, 64, 1024])
def test_the_sharper_form_needs_fewer_records(bins: int) -> None:
    published = records_lost_as_published(bins, 5, alpha=ALPHA, failure=DELTA)
    assert float(published) == pytest.approx(2 * log(20e6) * sqrt(bins) / 0.5, abs=1e-2)
    assert records_lost(bins, 5, alpha=ALPHA, failure=DELTA) < published


def test_published_stabilities_by_hand() -> None:
    bins, records = (4, 16), 1000
    paper = stabilities_as_published(bins, records=records, alpha=ALPHA, failure=DELTA)
    nu = 2 * log(8e6) / (records * 0.5 * sqrt(1 / 16))
    assert [float(stable.training) for stable in paper] == pytest.approx([6 / ((1 - nu) / 16)] * 2, rel=1e-4)
    assert [stable.validation for stable in paper] == [32, 32]
    for stable in stabilities(bins, records=records, alpha=ALPHA, failure=DELTA):
        assert stable.training < paper[0].training
