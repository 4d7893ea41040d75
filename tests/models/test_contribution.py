"""Several rows per privacy unit: what is kept, what it costs, and that the bound is what the guarantee rests on."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import exp
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.stats import chi2
from support.cases import every
from support.numpy_bits import NumpyBits

import dpmine
from dpmine.auditing import epsilon_lower_bound
from dpmine.errors import BadData, BadParameter
from dpmine.models import contribution
from dpmine.models.contribution import Bounding, PrivacyUnit, SharedBudget, Units
from dpmine.models.tables import fit_table, read_columns
from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors

HUGE = 10**9
"""An ε at which noise is far below one row."""
DRAW = np.random.default_rng(11)
ROWS_OF_UNIT = DRAW.integers(1, 51, 60)
UNITS = np.repeat(np.arange(60), ROWS_OF_UNIT)[DRAW.permutation(ROWS_OF_UNIT.sum())]
NUMBERS = DRAW.uniform(0, 1, len(UNITS))
FEATURES = DRAW.normal(size=(len(UNITS), 2))
LABELS = FEATURES[:, 0] + 0.3 * DRAW.normal(size=len(UNITS)) > 0


def _positions(places: contribution.Places) -> Any:
    assert places.positions is not None
    return places.positions


def _places(units: Any, most: int, seed: int = 1) -> contribution.Places:
    codes = Units.of(units, "who")
    return Bounding(most, codes).places(len(codes.codes), bits=NumpyBits(seed))


@every("most", [1, 2, 7, 50, 60])
def test_a_unit_keeps_as_many_rows_as_it_may(most: int) -> None:
    """As a brute force over the units says; the first places are the filled ones."""
    positions = _positions(_places(UNITS, most))
    owners = [set(UNITS[row[row >= 0]]) for row in positions]
    assert sorted(owner for (owner,) in owners) == list(range(60))
    for row, (owner,) in zip(positions, owners, strict=True):
        kept = int((row >= 0).sum())
        assert kept == min(most, ROWS_OF_UNIT[owner])
        assert (row[:kept] >= 0).all()
        assert len(set(row[:kept])) == kept


@pytest.mark.statistical
def test_every_subset_of_a_units_rows_is_as_likely() -> None:
    """False alarm 1e-6 each: χ² on the kept pair of one unit, and on the order of the units, in 20,000 draws."""
    units = ["a", "b", "a", "a", "c", "a"]
    kept: Counter[Any] = Counter()
    order: Counter[Any] = Counter()
    bits, bounding = NumpyBits(3), Bounding(2, Units.of(units, "who"))
    for _ in range(20_000):
        rows = [tuple(sorted(set(row) - {-1})) for row in _positions(bounding.places(6, bits=bits)).tolist()]
        kept[next(row for row in rows if set(row) <= {0, 2, 3, 5})] += 1
        order[tuple(units[row[0]] for row in rows)] += 1
    for counts, kinds in ((kept, list(combinations([0, 2, 3, 5], 2))), (order, 6)):
        cells = kinds if isinstance(kinds, int) else len(kinds)
        assert len(counts) == cells
        statistic = sum((count - 20_000 / cells) ** 2 for count in counts.values()) / (20_000 / cells)
        assert statistic < chi2.isf(1e-6, cells - 1)


def test_rows_without_a_unit_are_dropped() -> None:
    assert sorted(_places(["a", None, "b", float("nan")], 1).rows().tolist()) == [0, 2]
    assert sorted(_places([1.0, float("nan"), 2.0], 1).rows().tolist()) == [0, 2]
    assert _places([None, None], 3).size == 0


@every(
    "units",
    [
        [3, 1, 3, 2],
        ["x", "y", "x", "z"],
        [dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 1, 1), dt.date(2026, 1, 3)],
        pd.Series([3, 1, 3, 2], index=[9, 9, 9, 9]),
        pd.Categorical(["x", "y", "x", "z"]),
        pa.array(["x", "y", "x", "z"]),
        np.array([3, 1, 3, 2], np.uint64) + np.uint64(2**63),
        [(1, "a"), 2, (1, "a"), None],
    ],
)
def test_units_of_every_type(units: Any) -> None:
    if isinstance(units, list) and isinstance(units[0], tuple):
        values = np.empty(4, object)
        values[:] = units
        units, last = values, False
    else:
        last = True
    codes = Units.of(units, "who").codes
    assert codes[0] == codes[2] != codes[1]
    assert codes[3] not in set(codes[:3])
    assert bool(codes[3] >= 0) is last


KEYS = [2**60 + place for place in range(100)]


@every(
    "units",
    [
        [*KEYS, 1.5],
        [*KEYS, -1, 2**63 + 1],
        [*KEYS, None],
        [*KEYS, "1"],
        pd.array([*KEYS, None], "Int64"),
        pd.Series([*KEYS, None], dtype="Int64"),
        pa.array([*KEYS, None]),
        pa.chunked_array([KEYS, [None]]),
        pl.Series([*KEYS, None]),
    ],
)
def test_no_key_changes_what_another_key_is(units: Any) -> None:
    """A fraction, a null or a text among large integers would round them, if one type were found for all."""
    assert len(set(Units.of(units, "who").codes[:100])) == 100


def test_a_text_that_reads_nan_is_a_unit() -> None:
    assert (Units.of(["nan", "a", float("nan")], "who").codes >= 0).tolist() == [True, True, False]
    assert (Units.of(np.ma.array([1, 2], mask=[False, True]), "who").codes >= 0).tolist() == [True, False]


def test_sparse_rows_have_units() -> None:
    model = dpmine.PrivateLogisticRegression(classes=[0, 1], feature_bounds=(0, 1))
    rows = csr_matrix([[0.5, 0], [0, 1], [1, 0], [0, 0]])
    assert model.fit(rows, [0, 1, 1, 0], units=[1, 1, 2, 3]).guarantee_.unit == "unit"
    with pytest.raises(BadData, match="one unit per row"):
        model.fit(rows, [0, 1, 1, 0], units=[1, 1, 2])


@every("units", [np.zeros((2, 1)), pd.DataFrame({"who": [1, 2]}), "ab", 5])
def test_what_names_no_unit_is_rejected_before_the_charge(units: Any, tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    dpmine.Ledger(url).grant("shop", epsilon=5)
    model = dpmine.PrivateHistogram(bins=[4], lower=0, upper=1, ledger=url, dataset="shop")
    with pytest.raises(BadData, match="units must have one dimension"):
        model.fit([0.5, 0.5], units=units)
    assert dpmine.Ledger(url).budget("shop").spent.epsilon == 0


class Unhashable(str):
    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError("secret")


@every("odd", [[1], {}, np.zeros(2), Unhashable("a"), pd.Series([1])])
@every("kind", [list, lambda units: pd.Series(units, dtype=object)])
def test_what_cannot_be_hashed_is_no_unit(odd: Any, kind: Any) -> None:
    """And does not change what the others are."""
    assert Units.of(kind(["a", odd, 1, "a", None, 2**70]), "who").codes.tolist() == [0, -1, 1, 0, -1, 2]


def test_several_columns_name_a_unit_together() -> None:
    shop, till = np.array([0, 0, 1, 1, -1, 0]), np.array([0, 1, 0, 1, 0, -1])
    codes = Units.of_keys([shop, till, np.zeros(6, np.int64)], "shop, till").codes
    assert len(set(codes[:4])) == 4
    assert codes[4] == codes[5] == -1


def test_lengths_must_agree_and_are_not_shown() -> None:
    with pytest.raises(BadData, match="inconsistent numbers of samples: give one unit per row") as raised:
        dpmine.PrivateHistogram(bins=[4], lower=0, upper=1).fit([0.5, 0.5], units=[1])
    assert not any(letter.isdigit() for letter in str(raised.value))


@pytest.mark.parametrize(
    "model",
    [
        dpmine.PrivateLogisticRegression(classes=[0, 1]),
        dpmine.PrivateLogisticRegression(classes=[0, 1, 2]),
        dpmine.PrivateRidge(target_bounds=(0, 1)),
        dpmine.AccuracyFirstRidge(excess_risk=1, regularization=1),
        dpmine.PrivateLearner("thresholds", lower=0, upper=1, classes=[0, 1]),
    ],
)
def test_no_unit_at_all_is_an_error_of_ours(model: Any) -> None:
    with pytest.raises(BadData):
        model.fit([[0.5], [0.6]], [0, 1], units=[None, None])


def test_a_rule_for_an_unknown_number_of_units_needs_none() -> None:
    """Under add_remove an error would show that there is none."""
    rule = dpmine.HypothesisSelector("thresholds", lower=0, upper=1, classes=[0, 1], neighbors="add_remove")
    assert rule.fit([[0.5], [0.6]], [0, 1], units=[None, None]).hypothesis_ is not None


def test_rows_without_a_unit_have_no_class() -> None:
    rule = dpmine.HypothesisSelector("thresholds", lower=0, upper=1)
    rule.fit([[0.5], [0.6], [0.1]], ["a", "b", "c"], units=[1, 2, None])
    assert rule.classes_.tolist() == ["a", "b"]


def test_what_a_rule_would_have_needed_is_in_rows() -> None:
    """With 100 rows per unit a lead is 100 times as large."""
    few, many = (
        dpmine.HypothesisSelector("thresholds", mechanism="stable_maximiser", lower=0, upper=1, rows_per_unit=rows)
        .fit([[0.5], [0.6]], [0, 1], units=[1, 2])
        .advice_
        for rows in (1, 100)
    )
    leads = [int(re.search(r"by about (\d+)", advice)[1]) for advice in (few, many)]  # type: ignore[index]
    assert leads[1] == pytest.approx(100 * leads[0], rel=0.05)


def test_a_unit_named_row_is_rejected() -> None:
    with pytest.raises(BadParameter, match="rename the column"):
        dpmine.PrivateHistogram(bins=[4], lower=0, upper=1).fit([0.5], units=pd.Series([1], name="row"))


def test_places_that_do_not_fit_into_memory_are_rejected_by_public_numbers() -> None:
    units = np.arange(30_000)
    with pytest.raises(BadParameter, match="rows_per_unit is too large"):
        dpmine.PrivateLogisticRegression(rows_per_unit=10_000).fit(np.ones((30_000, 4)), units % 2, units=units)
    places = _places(units, 10_000)
    assert _positions(places).shape == (30_000, 1)


@pytest.mark.parametrize("rows", [1, 3, 60])
def test_counts_of_a_histogram_are_those_of_the_kept_rows(rows: int) -> None:
    """Each unit has a value of its own, so that the noisy counts at a huge ε say how many rows of each were kept."""
    values = UNITS + 0.5
    model = dpmine.PrivateHistogram(bins=[60], lower=0, upper=60, epsilon=HUGE, rows_per_unit=rows)
    model.fit(values, units=UNITS)
    assert model.counts_ == pytest.approx(np.minimum(ROWS_OF_UNIT, rows), abs=1e-3)
    assert model.guarantee_.epsilon == HUGE


def test_a_searched_histogram_counts_all_kept_rows() -> None:
    units = np.repeat(np.arange(3000), np.resize([1, 2, 9], 3000))
    model = dpmine.PrivateHistogram(bins=[2, 4], lower=0, upper=1, epsilon=100, delta="0.01", rows_per_unit=2)
    model.fit(np.linspace(0, 1, len(units)), units=units)
    assert model.counts_.sum() == pytest.approx(1000 + 2000 + 2000, abs=1)


def _brute_force(features: Any, signs: Any, size: int, ridge: float) -> Any:
    """argmin (λ/2)‖w‖² + (1/size) Σ ln(1 + e^{−s xᵀw})."""

    def risk(w: Any) -> Any:
        return ridge / 2 * w @ w + np.logaddexp(0, -signs * (features @ w)).sum() / size

    return minimize(risk, np.zeros(features.shape[1]), tol=1e-14, method="BFGS", options={"gtol": 1e-9}).x


@pytest.mark.parametrize("rows", [3, 50])
def test_the_loss_of_a_classifier_is_the_mean_over_the_places(rows: int) -> None:
    """At a huge ε the weights are the minimiser of a brute force on the kept rows, n = units × rows."""
    kind = dpmine.PrivateLogisticRegression(
        lambdas="0.05", norm_bound=4, epsilon=HUGE, fit_intercept=False, rows_per_unit=rows, loss="logistic"
    )
    units, kept = Units.of(UNITS, "unit"), _places(UNITS, rows, seed=7).rows()
    kind._fit(FEATURES, LABELS, bounding=Bounding(rows, units), bits=NumpyBits(7))
    norms = np.maximum(4, np.linalg.norm(FEATURES, axis=1, keepdims=True))
    expected = _brute_force((FEATURES / norms)[kept], np.where(LABELS, 1, -1)[kept], 60 * rows, 0.05)
    assert np.ravel(kind.coef_) * 4 == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("rows", [1, 4])
def test_the_loss_of_ridge_regression_is_the_mean_over_the_places(rows: int) -> None:
    model = dpmine.AccuracyFirstRidge(
        excess_risk="1e-5", regularization="0.1", x_bound=10, y_bound=5, epsilon_max=HUGE, rows_per_unit=rows
    )
    targets = FEATURES @ [0.5, -0.25]
    units, kept = Units.of(UNITS, "unit"), _places(UNITS, rows, seed=5).rows()
    model._fit(FEATURES, targets, bounding=Bounding(rows, units), bits=NumpyBits(5))
    gram = FEATURES[kept].T @ FEATURES[kept] / (60 * rows) + 0.1 * np.eye(2)
    expected = np.linalg.solve(gram, FEATURES[kept].T @ targets[kept] / (60 * rows))
    assert model.coef_ == pytest.approx(expected, abs=5e-3)


def test_a_rule_is_chosen_by_the_kept_rows() -> None:
    """The busiest unit alone would choose another rule: with one row per unit it has one vote of sixty."""
    labels = np.where(UNITS[0] == UNITS, 0, 1)
    weights: dict[str, Any] = {"lower": 0, "upper": 2, "grid": 2, "epsilon": HUGE, "classes": [0, 1]}
    chosen = dpmine.HypothesisSelector("thresholds", rows_per_unit=2, **weights).fit(
        np.ones((len(UNITS), 1)), labels, units=UNITS
    )
    assert str(chosen.hypothesis_) == "x0 >= 0"


@every("epsilon", [Fraction(1, 100), Fraction(1), Fraction(20)])
@every("rows", [1, 2, 5, 100])
def test_the_budget_of_one_row_is_that_of_group_privacy(epsilon: Fraction, rows: int) -> None:
    shared = SharedBudget(epsilon, Fraction(1, 10**6), rows)
    assert shared.row_epsilon * rows == epsilon
    total = shared.row_delta * sum(Fraction(exp(float(j * shared.row_epsilon))) for j in range(rows))
    assert float(total) == pytest.approx(1e-6, rel=1e-9)


def test_group_privacy_of_guarantees() -> None:
    shared = SharedBudget(Fraction(1), Fraction(1, 10**6), 5)
    one = Guarantee(shared.row_epsilon, shared.row_delta, Neighbors.REPLACE_ONE, "row")
    assert (shared.of_unit(one).epsilon, shared.of_unit(one).delta) == (Fraction(1), Fraction(1, 10**6))
    assert SharedBudget(Fraction(1), Fraction(1, 10**6), 1).of_unit(one) is one
    charged = ExPostGuarantee(
        Fraction(1, 5), Fraction(0), Neighbors.REPLACE_ONE, "row", ex_post_epsilon=Fraction(1, 30)
    )
    assert shared.of_unit(charged) == ExPostGuarantee(
        Fraction(1), Fraction(0), Neighbors.REPLACE_ONE, "row", ex_post_epsilon=Fraction(1, 6)
    )


def test_a_delta_that_no_row_could_have_is_rejected() -> None:
    """Only where the mechanism spends one."""
    pure = dpmine.PrivateHistogram(bins=[4], lower=0, upper=1, epsilon=2000, rows_per_unit=2)
    assert pure.fit([0.5, 0.6], units=[1, 2]).guarantee_.epsilon == 2000
    searched = dpmine.PrivateHistogram(bins=[4, 8], lower=0, upper=1, epsilon=2000, rows_per_unit=2)
    with pytest.raises(BadParameter, match="With several rows per unit this needs a smaller epsilon"):
        searched.fit([0.5, 0.6], units=[1, 2])


def test_the_name_of_the_unit() -> None:
    named = PrivacyUnit.of("row", 2, "patient").protecting(Guarantee(Fraction(1), Fraction(0), Neighbors.REPLACE_ONE))
    assert str(named) == "ε = 1, δ = 0 per patient, neighbours replace-one"
    assert "at most 2 rows" in named.notes[0]
    assert PrivacyUnit.of("person", 1, "patient").name == "person"
    asserted = PrivacyUnit.of("person", 1, None).protecting(named)
    assert "per person (asserted: one row each)" in str(asserted)
    assert asserted.to_dict()["asserted"] == "one row each"


def test_several_rows_need_units() -> None:
    with pytest.raises(BadParameter, match=r"rows_per_unit needs the units: give fit\(\.\.\., units=\.\.\.\)"):
        dpmine.PrivateHistogram(bins=[4], lower=0, upper=1, rows_per_unit=2).fit([0.5])


def test_label_privacy_takes_no_units() -> None:
    learner = dpmine.PrivateLearner("thresholds", learner="label_private", lower=0, upper=1)
    with pytest.raises(BadParameter, match="leave them out with label_private"):
        learner.fit([[0.5]], [1], units=[1])


def test_one_column_of_a_table_may_be_given_as_a_text(tmp_path: Any) -> None:
    pq.write_table(pa.table({"who": [1, 2], "x": [0.1, 0.9], "y": [0, 1]}), tmp_path / "x.parquet")
    model = dpmine.HypothesisSelector("thresholds", lower=0, upper=1)
    assert fit_table(model, tmp_path / "x.parquet", label="y", features=["x"], units="who").guarantee_.unit == "who"
    with pytest.raises(BadParameter, match="named twice"):
        fit_table(model, tmp_path / "x.parquet", label="y", features=["x"], units=["who", "who"])


def test_columns_of_a_table_name_units(tmp_path: Any) -> None:
    """As the same values in memory do, whatever their type; a null in any of them drops the row."""
    table = pa.table(
        {
            "shop": pa.array(["a", "a", "b", None]).dictionary_encode(),
            "till": pa.array([7, None, 7, None], pa.timestamp("us")),
            "x": [1.0, 2.0, 3.0, 4.0],
            "y": [True, False, True, False],
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    read = read_columns(tmp_path / "x.parquet", ["x"], keys=["shop", "till"])
    assert read["shop"][0] == read["shop"][1] != read["shop"][2] >= 0 > read["shop"][3]
    assert read["till"][0] == read["till"][2] >= 0 > read["till"][1]
    model = dpmine.HypothesisSelector("thresholds", lower=0, upper=5, classes=[False, True])
    fit_table(model, tmp_path / "x.parquet", label="y", features=["x"], units=["shop", "till"])
    assert model.guarantee_.unit == "shop, till"
    with pytest.raises(BadParameter, match="names the privacy unit"):
        fit_table(model, tmp_path / "x.parquet", label="y", features=["x"], units=["x"])
    with pytest.raises(BadData, match="There is no column 'nonsense'"):
        fit_table(model, tmp_path / "x.parquet", label="y", features=["x"], units=["nonsense"])
    with pytest.raises(BadData, match="double"):
        read_columns(tmp_path / "x.parquet", ["y"], keys=["x"])


# An audit: one unit has 50 rows, all on one side or all on the other; 20 other units have one row each.
OTHERS = np.resize([0.25, 0.75], 20)
LONG_UNITS = np.concatenate([np.arange(20), np.full(50, 20)])
SAMPLES = 4000
"""Confidence 0.999999: a false alarm, or a twin that is not caught, is less likely than 1e-6."""


def _fitted(model: Any, x: Any, y: Any, bits: NumpyBits, *, units: bool, rows: int) -> Any:
    bounding = Bounding(rows, Units.of(LONG_UNITS, "unit")) if units else contribution.EVERY_ROW
    return model.set_params(rows_per_unit=rows)._fit(x, y, bounding=bounding, bits=bits)


def _histogram(side: float, bits: NumpyBits, **options: Any) -> Any:
    counts = _fitted(dpmine.PrivateHistogram(bins=[2], lower=0, upper=1), _on(side), None, bits, **options).counts_
    return bool(counts[0] > counts[1])


def _rule(side: float, bits: NumpyBits, **options: Any) -> Any:
    model = dpmine.HypothesisSelector("thresholds", lower=0, upper=1, grid=2, classes=[0, 1])
    return str(_fitted(model, np.full((70, 1), 0.5), (_on(side) > 0.5) * 1, bits, **options).hypothesis_)


def _classifier(side: float, bits: NumpyBits, **options: Any) -> Any:
    model = dpmine.PrivateLogisticRegression(lambdas=1, fit_intercept=False, classes=[0, 1])
    return bool(_fitted(model, np.ones((70, 1)), (_on(side) > 0.5) * 1, bits, **options).coef_[0, 0] > 0)


def _on(side: float) -> Any:
    return np.concatenate([OTHERS, np.full(50, side)])


def _measured(run: Any, **options: Any) -> float:
    bits = NumpyBits(2)
    sides = [lambda side=side: run(side, bits, **options) for side in (0.25, 0.75)]
    return epsilon_lower_bound(*sides, samples=SAMPLES, confidence="0.999999")


AUDITED = pytest.mark.parametrize("run", [_histogram, _rule, _classifier])


@pytest.mark.statistical
@AUDITED
@pytest.mark.parametrize("rows", [1, 4])
def test_a_bounded_unit_stays_within_the_claim(run: Any, rows: int) -> None:
    assert _measured(run, units=True, rows=rows) <= 1


@pytest.mark.statistical
@AUDITED
def test_a_twin_without_the_bound_is_refuted(run: Any) -> None:
    """Each row by itself at ε = 1, sold as a guarantee for the unit with 50 of them."""
    assert _measured(run, units=False, rows=1) > 1.5


@pytest.mark.statistical
@pytest.mark.parametrize("run", [_histogram, _classifier])
def test_a_twin_that_does_not_share_the_budget_is_refuted(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty rows are kept, and each is trained with the whole ε."""
    monkeypatch.setattr(SharedBudget, "row_epsilon", property(lambda shared: shared.epsilon))
    assert _measured(run, units=True, rows=50) > 1.5
