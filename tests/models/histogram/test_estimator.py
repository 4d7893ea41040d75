from __future__ import annotations

import json
import pickle
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine import BadData, Neighbors, law
from dpmine.models.histogram.bin_search import least_records
from dpmine.models.histogram.density import Density
from dpmine.models.histogram.estimator import PrivateHistogram
from dpmine.models.histogram.training import (
    Axis,
    Bounds,
    Grid,
    HistogramTraining,
    Records,
    density_score,
    records_needed,
    stabilities,
)
from dpmine.models.validation.procedure import train_size_of
from dpmine.models.validation.terms import Sensitivities, allowed, comparable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.models.histogram.bin_search import BinSearch


CANARY = 918273.5
X = np.random.default_rng(7).beta(2, 5, 5000)


def _records(values: Any) -> Records:
    return Records.of(np.asarray(values, np.float64)[:, np.newaxis])


def _model(**changes: Any) -> PrivateHistogram:
    return PrivateHistogram(**{"bins": [4, 8, 16], "lower": 0, "upper": 1, **changes})


def test_the_shape_of_what_is_learnt() -> None:
    model = _model().fit(X)
    bins = len(model.density_)
    assert bins in {4, 8, 16}
    assert model.bin_width_ == 1 / bins
    assert model.edges_ == pytest.approx(np.linspace(0, 1, bins + 1))
    assert model.counts_.shape == (bins,)
    assert (model.counts_ >= 0).all()
    assert float((model.density_ * model.bin_width_).sum()) == pytest.approx(1)
    assert model.density_ == pytest.approx(model.counts_ / model.counts_.sum() / model.bin_width_)


def test_guarantee() -> None:
    guarantee = _model(epsilon=0.1, delta="1e-9", bins=[2, 4]).fit(X).guarantee_
    assert (guarantee.epsilon, guarantee.delta) == (Fraction(1, 10), Fraction(1, 10**9))
    assert (guarantee.neighbors, guarantee.unit, guarantee.private) == (Neighbors.REPLACE_ONE, "row", True)
    assert any("nearest bound" in note for note in guarantee.notes)


@every("delta", ["1e-6", 0])
def test_one_candidate_takes_the_whole_budget_for_training_and_no_delta(delta: object) -> None:
    model = _model(bins=[4], epsilon=2, delta=delta).fit(X[:3])
    assert (model.guarantee_.epsilon, model.guarantee_.delta) == (Fraction(2), Fraction(0))
    assert model.result_.mechanism is None
    bits = NumpyBits(1)
    noise = HistogramTraining().draw(Grid((Axis(Bounds.of(0, 1), 4),)), Fraction(2), bits=NumpyBits(1))
    model = _model(bins=[4], epsilon=2)._fit(X, None, bits=bits)
    counts = np.histogram(X, np.linspace(0, 1, 5))[0]
    assert model.counts_ == pytest.approx(np.maximum(0, counts + np.array(noise) / 2**20))


@every("mechanism", allowed())
def test_every_chooser_keeps_to_the_budget(mechanism: str) -> None:
    model = _model(mechanism=mechanism).fit(X)
    assert (model.guarantee_.epsilon, model.guarantee_.delta) == (Fraction(1), Fraction(1, 10**6))
    assert model.result_.mechanism == mechanism


def test_a_silent_chooser_means_the_fewest_bins() -> None:
    model = _model(mechanism="stable_maximiser", bins=[16, 8, 4], selection_share="1e-6").fit(X)
    assert len(model.density_) == 4


def test_the_last_training_sees_all_records() -> None:
    model = _model(train_share=0.3, epsilon=50).fit(X)
    assert float(model.counts_.sum()) == pytest.approx(5000, abs=20)


def test_structure_is_found_when_there_is_enough_of_it() -> None:
    """A comb of 16 teeth: with 16 bins it shows, with 4 or 2 it does not."""
    comb = (np.random.default_rng(1).integers(0, 8, 40_000) * 2 + 0.5) / 16
    assert len(_model(bins=[2, 4, 16], epsilon=5).fit(comb).density_) == 16


def test_flat_data_take_the_fewest_bins() -> None:
    """More bins add noise only: the law gives the fewest a probability of 0.99, and the bits are fixed."""
    flat = np.random.default_rng(1).random(100_000)
    assert len(_model(bins=[2, 5000], epsilon=4)._fit(flat, None, bits=NumpyBits(2)).density_) == 2


def test_bounds_other_than_the_unit_interval_are_mapped() -> None:
    """The same draws, data and bounds moved and stretched: the same counts."""
    here = _model()._fit(X, None, bits=NumpyBits(4))
    there = _model(lower=-8, upper=8)._fit(X * 16 - 8, None, bits=NumpyBits(4))
    assert there.counts_.tolist() == here.counts_.tolist()
    assert there.bin_width_ == 16 * here.bin_width_
    assert there.density_ == pytest.approx(here.density_ / 16)


def test_values_outside_and_missing_ones_are_put_at_the_bounds() -> None:
    x = np.concatenate([np.full(3000, -5.0), np.full(2000, np.inf), np.full(1000, np.nan)])
    model = _model(bins=[2, 4], epsilon=20).fit(x)
    assert float(model.counts_[0]) == pytest.approx(4000, abs=20)
    assert float(model.counts_[-1]) == pytest.approx(2000, abs=20)


def test_no_record_changes_the_laws_beyond_the_budget() -> None:
    """The law of the chosen index with the training's noise fixed, over neighbours built to move scores the most."""
    bins, alpha = (2, 8, 32), Fraction(1, 2)
    size, held_out = 600, 600
    stable = stabilities(bins, records=size, alpha=alpha, failure=Fraction(1, 10**6))
    grids = [Grid((Axis(Bounds.of(0, 1), count),)) for count in bins]
    noise = [(0,) * count for count in bins]
    low, high = np.full(size, 0.01), np.full(held_out, 0.99)
    train = np.where(np.arange(size) == 0, 0.99, low)
    checked = np.where(np.arange(held_out) == 0, 0.01, high)
    losses = {}
    for kind in Sensitivities:
        for share in (Fraction(1), Fraction(1, 16)):
            laws = [
                _index_law(grids, noise, pair, [share * s.sensitivity(size, held_out) for s in stable], kind)
                for pair in [(low, high), (train, high), (low, checked)]
            ]
            losses[kind, share] = max(float(np.abs(np.log(laws[0]) - np.log(other)).max()) for other in laws[1:])
    for kind in Sensitivities:
        assert losses[kind, Fraction(1)] <= 0.5
        assert losses[kind, Fraction(1, 16)] > 0.5  # a broken twin: a sixteenth of the sensitivity


def _index_law(grids: Any, noise: Any, data: Any, steps: list[Fraction], kind: Sensitivities) -> Any:
    models = [
        HistogramTraining().fit(_records(data[0]), grid, Fraction(1, 2), draw)
        for grid, draw in zip(grids, noise, strict=True)
    ]
    scores = [density_score(model, _records(data[1])) for model in models]
    found = comparable(scores, steps, epsilon=Fraction(1, 2), kind=kind)
    return law(list(found.scores), epsilon="1/2", mechanism="max_of_exponentials", sensitivity=found.sensitivity).pmf


@every("share", ["0.5", "1/3", "0.9"])
def test_too_few_records_are_rejected_with_the_number_needed(share: str) -> None:
    needed = records_needed((4, 8, 16), alpha=Fraction(1, 2), failure=Fraction(1, 10**6))
    total = least_records(needed, Fraction(share))
    assert train_size_of(total, share) >= needed > train_size_of(total - 1, share)
    model = _model(train_share=share)
    with pytest.raises(BadData, match=f"at least {total}[.]"):
        model.fit(X[: total - 1])
    model.fit(X[:total])


@pytest.mark.parametrize("bins", [[4], [4, 8]])
def test_no_records_at_all(bins: list[int]) -> None:
    with pytest.raises(BadData):
        _model(bins=bins).fit([])


def test_messages_hold_no_data() -> None:
    unusable: list[Any] = [[str(CANARY)], [[CANARY, 1]], [CANARY, "a"]]
    for x in unusable:
        with pytest.raises(BadData) as caught:
            _model().fit(x)
        assert "918273" not in str(caught.value)
    model = _model().fit([CANARY] * 5000)
    shown = f"{model!r} {model.result_} {model.result_.to_json()}"
    assert "918273" not in shown


def test_a_tiny_budget_can_be_sampled_from() -> None:
    model = _model(bins=[4], epsilon=1e-20)._fit(X, None, bits=NumpyBits(1))
    assert model.counts_.max() > 2**43  # beyond the words that bins are drawn with
    drawn = model.sample(50)
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert (model.pdf(drawn) > 0).all()


@every("use", [lambda m: m.pdf([0]), lambda m: m.sample(3), lambda m: m.plot(), lambda m: m.edges_])
def test_before_the_fit_there_is_a_clear_error(use: Callable[[PrivateHistogram], object]) -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        use(_model())
    assert not hasattr(_model(), "density_")
    use(_model(bins=[2]).fit(X))


def test_a_single_entry_that_is_no_number_is_missing() -> None:
    """The type of the data is public, that of an object among them is not."""
    column = np.array([*X.tolist(), None], dtype=object)
    odd: Any
    for odd in (None, "0.5", [0.5], {}, 1j):
        column[-1] = odd
        assert _model().fit(column).guarantee_.private
        assert _model().fit(column.tolist()).guarantee_.private


def test_results_as_text_and_json() -> None:
    result = _model().fit(X).result_
    document = json.loads(result.to_json())
    assert document["bins"] == len(document["density"]) == len(document["edges"]) - 1
    assert document["candidates"] == [4, 8, 16]
    assert document["mechanism"] == "max_of_exponentials"
    assert document["guarantee"]["private"] is True
    lines = str(result).splitlines()
    assert len(lines) == result.bins + 2
    assert "ε = 1" in lines[-2]


def search(**options: Any) -> BinSearch:
    return PrivateHistogram(**{"lower": 0, "upper": 1, "delta": 0, **options}).search()


@pytest.mark.parametrize(
    ("asked", "alpha"),
    [
        ({"bins": [20], "epsilon": "0.15"}, 0.15),  # all of ε
        ({"bins": [4, 8], "epsilon": 1, "delta": 1e-6, "selection_share": "0.25"}, 0.75),
    ],
)
def test_it_is_the_least_whole_number_with_its_level(asked: dict[str, Any], alpha: float) -> None:
    error = search(**asked).count_error
    outside = [exp(-t * alpha / 2) for t in (error, error - 1)]  # of Laplace noise of scale 2/α
    assert outside[0] <= 0.05 < outside[1]


def test_rows_of_a_unit_share_its_budget() -> None:
    one = PrivateHistogram(bins=[20], lower=0, upper=1, epsilon=1, delta=0)
    assert one.search(1).count_error == 6
    assert one.search(3).count_error == 18


@pytest.mark.statistical
def test_released_counts_keep_to_it() -> None:
    """4,000 bins without records: half of 5 % are beyond it, because negative counts are raised to 0.

    False alarms: 10^−6.
    """
    found = search(bins=[4000], epsilon=1)
    density = found.density(np.zeros(10), bits=NumpyBits(7))
    assert isinstance(density, Density)
    beyond = int((density.counts[1:] > found.count_error).sum())
    expected = exp(-found.count_error / 2) / 2
    assert stats.binomtest(beyond, 3999, expected).pvalue > 1e-6
    assert stats.binomtest(beyond, 3999, expected * 2).pvalue < 1e-6


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
