"""A public number of places for a private number of units: one unit more, less or replaced is one place replaced."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import chi2
from support.cases import every
from support.effort import examples
from support.numpy_bits import NumpyBits

from dpmine import (
    AccuracyFirstLogistic,
    AccuracyFirstRidge,
    HypothesisSelector,
    PrivateHistogram,
    PrivateHuberSVC,
    PrivateLogisticRegression,
    PrivateRidge,
)
from dpmine.auditing import epsilon_lower_bound
from dpmine.errors import BadParameter
from dpmine.models.contribution import Bounding, PrivateCount, Units
from dpmine.models.histogram.training import (
    GRID_BITS,
    Axis,
    Bounds,
    Grid,
    HistogramTraining,
    Records,
    density_score,
    stabilities_at_floor,
)
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.models.contribution import Places

ADD_REMOVE = Neighbors.ADD_REMOVE


def places_law(units: Sequence[str], places: int) -> dict[tuple[str, ...], Fraction]:
    """The oracle: all orders of the units and of the empty places that are left over, the first ones taken."""
    entries = [*units, *("-" for _ in range(places - len(units)))]
    orders = list(permutations(range(len(entries))))
    counts = Counter(tuple(entries[place] for place in order[:places]) for order in orders)
    return {taken: Fraction(count, len(orders)) for taken, count in counts.items()}


def drawn(units: Sequence[str], places: int, bits: NumpyBits) -> tuple[str, ...]:
    taken = Bounding(declared=places).places(len(units), bits=bits)
    return tuple("-" if row[0] < 0 else units[row[0]] for row in positions(taken))


def positions(places: Places) -> Any:
    assert places.positions is not None
    return places.positions


@pytest.mark.statistical
@every("units", ["", "a", "abc", "abcd"])
def test_the_law_of_the_places(units: str) -> None:
    """χ² against the enumeration, in 2,000 draws; false alarm 1e-6 each."""
    law, bits, draws = places_law(units, 3), NumpyBits(5), 2000
    found = Counter(drawn(units, 3, bits) for _ in range(draws))
    assert found.keys() <= law.keys()
    statistic = sum((found[taken] - draws * share) ** 2 / (draws * share) for taken, share in law.items())
    assert float(statistic) <= chi2.isf(1e-6, max(1, len(law) - 1))


def response_law(units: Sequence[str], places: int, size: Callable[[int], int]) -> dict[float, float]:
    """A mechanism that is ε = 1 private for one of its places: it keeps each place's answer with odds e, and says the
    share of yes among `size` places."""
    law: dict[float, float] = {}
    for taken, share in places_law(units, places).items():
        counts = {0: 1.0}
        for entry in taken:
            yes = exp(1) / (1 + exp(1)) if entry == "y" else 1 / (1 + exp(1))
            counts = {
                count: counts.get(count, 0.0) * (1 - yes) + counts.get(count - 1, 0.0) * yes
                for count in range(len(counts) + 1)
            }
        for count, chance in counts.items():
            said = count / size(len(units))
            law[said] = law.get(said, 0.0) + float(share) * chance
    return law


def loss(one: dict[float, float], other: dict[float, float]) -> float:
    return max(log(max(chance, 1e-300) / max(other.get(said, 0.0), 1e-300)) for said, chance in one.items())


NEIGHBOURS = [("yny", "yn"), ("yyn", "yy"), ("yny", "ynyy"), ("nnnn", "nnny"), ("y", ""), ("ynnyy", "ynny")]


@every("pair", NEIGHBOURS)
def test_one_unit_more_less_or_replaced_is_one_place(pair: tuple[str, str]) -> None:
    """Exactly, by enumeration of all orders: a private mechanism of 3 places is as private for the units."""
    laws = [response_law(units, 3, lambda _: 3) for units in pair]
    assert max(loss(*laws), loss(*laws[::-1])) <= 1 + 1e-9


def test_a_twin_that_divides_by_the_number_of_units_is_not_private() -> None:
    """The broken twin: the same places, and n used without being paid for. Its loss has no bound."""
    laws = [response_law(units, 3, lambda count: count) for units in ("yny", "yn")]
    assert max(loss(*laws), loss(*laws[::-1])) > 100


@every("seed", range(examples(4)))
def test_units_keep_their_rows_together(seed: int) -> None:
    codes = Units.of(np.repeat(np.arange(5), 3), "who")
    for places in (3, 9):
        taken = positions(Bounding(2, codes, places).places(15, bits=NumpyBits(seed)))
        assert taken.shape == (places, 2)
        owners = [set(row[row >= 0] // 3) for row in taken]
        assert sorted(map(len, owners)) == [0] * (places - min(5, places)) + [1] * min(5, places)
        kept = np.concatenate([row[row >= 0] for row in taken])
        assert len(set(kept.tolist())) == len(kept)


def classifier(**options: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(feature_bounds=(-1, 1), classes=[0, 1], **options)


ESTIMATORS: dict[str, Callable[..., Any]] = {
    "auto": classifier,
    "several": lambda **given: classifier(lambdas=[0.01, 0.1], **given),
    "output": lambda **given: classifier(method="output", noise="gaussian", **given),
    "softmax": lambda **given: PrivateLogisticRegression(feature_bounds=(-1, 1), classes=[0, 1, 2], **given),
    "huber": lambda **given: PrivateHuberSVC(feature_bounds=(-1, 1), classes=[0, 1], **given),
    "regress": lambda **given: PrivateRidge(feature_bounds=(-1, 1), target_bounds=(0, 1), **given),
    "ridge": lambda epsilon, **given: AccuracyFirstRidge(0.3, 0.1, epsilon_max=epsilon, **given),
    "logistic": lambda epsilon, **given: AccuracyFirstLogistic(0.3, 0.1, epsilon_max=epsilon, classes=[0, 1], **given),
}


@every("name", list(ESTIMATORS))
def test_all_that_is_public_is_the_same_however_many_units_there_are(name: str) -> None:
    """λ, intervals, notes and the charge are functions of the public number; no row at all is no error."""
    draw, said = np.random.default_rng(3), []
    for rows in (0, 1, 39, 40, 41, 90):
        X = draw.uniform(-1, 1, (rows, 2))
        units = np.arange(rows) // 2
        for given in ({}, {"rows_per_unit": 2}):
            model = ESTIMATORS[name](epsilon=50, **given).hiding_units(PrivateCount.of(ADD_REMOVE, 40))
            model.fit(X, (X[:, 0] > 0).astype(int), units if given else None)
            facts = model.guarantee_
            assert facts.neighbors is ADD_REMOVE
            assert "training has 40 places, a public number" in " ".join(facts.notes)
            public = (facts.epsilon, facts.delta, len(facts.notes), getattr(model, "regularization_", None))
            said.append((len(given), public, getattr(model, "lambda_", None) if name != "several" else None))
    assert len(set(said)) == 2


@pytest.mark.statistical
@every("places", [20, None])
def test_an_audit_of_training_with_places_and_of_its_twin(places: int | None) -> None:
    """λ and the sign of a coefficient: the twin, with n itself, tells 20 units from 19. False alarm 1e-6."""
    bits = NumpyBits(7)

    def run(rows: int) -> tuple[float, bool]:
        model = classifier(epsilon=1, method="output")
        X, y = np.ones((rows, 1)), np.ones(rows, np.int64)
        model._fit(X, y, bounding=Bounding(declared=places), bits=bits)
        return model.lambda_, float(model.coef_[0, 0]) > 0

    measured = epsilon_lower_bound(lambda: run(20), lambda: run(19), samples=100, confidence="0.999999")
    assert (measured > 1) is (places is None)


def score_of(values: Sequence[float], held: Sequence[float], bins: int, noise: tuple[int, ...], floor: int) -> Fraction:
    grid = Grid((Axis(Bounds.of(0, 1), bins),))
    model = HistogramTraining(floor).fit(records(values), grid, Fraction(1), noise)
    return density_score(model, Records.of(column(held), 5))


def column(values: Sequence[float]) -> Any:
    return np.asarray(values, np.float64).reshape(-1, 1)


def records(values: Sequence[float]) -> Records:
    return Records.of(column(values))


def moves(seed: int, floor: int, divisor: int) -> tuple[Fraction, Fraction]:
    """How far one place of the training part and one of the validation part move the score, over their bounds."""
    draw = np.random.default_rng(seed)
    bins = int(draw.integers(2, 6))
    noise = tuple(int(each) for each in np.rint(draw.laplace(size=bins) * draw.choice([0, 1, 4]) * 2**GRID_BITS))
    own = draw.choice([0.0, draw.random()], size=int(draw.integers(0, divisor))).tolist()
    held = draw.choice([0.0, draw.random()], size=int(draw.integers(0, 5))).tolist()
    extra = [float(draw.random())]
    one, more, swapped = (score_of(each, held, bins, noise, floor) for each in (own, own + extra, own[1:] + extra))
    validated = score_of(own, [*held, float(draw.random())][:5], bins, noise, floor)
    (bound,) = stabilities_at_floor([bins])
    trained = max(abs(one - more), abs(one - swapped) if own else Fraction(0)) / (bound.training / divisor)
    return trained, abs(one - validated) / (bound.validation / 5)


def test_one_place_moves_the_score_of_bins_by_no_more_than_its_bound() -> None:
    """With any number of places empty, none or all; and the bound is nearly reached."""
    found = [moves(seed, 6, 6) for seed in range(600)]
    assert max(trained for trained, _ in found) <= 1
    assert max(held for _, held in found) <= 1
    assert max(trained for trained, _ in found) > Fraction(2, 5)
    # one of one records, moved from a bin of its own to that of all validation records
    here, there = (score_of(values, [0.1] * 5, 2, (0, 0), 1) for values in ([0.9], [0.1]))
    assert abs(here - there) == 4


def test_a_twin_without_the_floor_is_beyond_the_bound() -> None:
    """The broken twin: shares of the few records that there are, with the stability of all places."""
    assert max(moves(seed, 0, 6)[0] for seed in range(200)) > 1


def test_a_choice_of_bins_spends_no_delta_and_counts_every_unit() -> None:
    x = np.concatenate([np.full(700, 0.1), np.full(100, 0.9)])
    model = PrivateHistogram(bins=[2, 10], lower=0, upper=1, epsilon=1000, delta=0)
    model.hiding_units(PrivateCount.of(ADD_REMOVE, 200, "the choice of bins")).fit(x)
    assert model.guarantee_.delta == 0
    assert len(model.counts_) == 10
    assert round(model.counts_.sum()) == 800
    assert "the choice of bins has 200 places, a public number" in " ".join(model.guarantee_.notes)


@every("units", [0, 1, -3, 1.5, "many", 2**31])
def test_unusable_numbers_of_places(units: object) -> None:
    with pytest.raises(BadParameter, match="units must be"):
        PrivateCount.of(ADD_REMOVE, units)


def test_what_does_not_fit_is_rejected_before_the_charge() -> None:
    model = classifier(rows_per_unit=1).hiding_units(PrivateCount.of(ADD_REMOVE, 2**30))
    with pytest.raises(BadParameter, match="units is too large"):
        model.require_parameters(["a", "b"])


def test_estimators_that_use_the_number_otherwise_cannot_hide_it() -> None:
    with pytest.raises(BadParameter, match="HypothesisSelector uses the number of units"):
        HypothesisSelector(classes=[0, 1]).hiding_units(PrivateCount.of(ADD_REMOVE, 5))
    with pytest.raises(BadParameter, match="which labels occur is private, too"):
        PrivateLogisticRegression().hiding_units(PrivateCount.of(ADD_REMOVE, 5))
    hiding = classifier().hiding_units(PrivateCount.of(ADD_REMOVE, 5)).set_params(classes=None)
    with pytest.raises(BadParameter, match="which labels occur is private, too"):
        hiding.fit(np.zeros((2, 1)), [0, 1])
