from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine import BadData, BadParameter, PrivateLearner
from dpmine.models.pac.theory.families import ThresholdFamily


def uniform(size: int, columns: int = 1, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.default_rng(seed).random((size, columns))
    return rows, rows[:, 0] >= 0.371


@every("learner", ["private", "realizable", "label_private"])
@every("hypotheses", ["thresholds", "intervals", "stumps"])
def test_it_learns(hypotheses: str, learner: str) -> None:
    x, y = uniform(20_000)
    model = PrivateLearner(hypotheses, learner=learner, accuracy="0.1", lower=0, upper=1)._fit(x, y, bits=NumpyBits(3))
    assert model.score(*uniform(5000, seed=2)) > 0.9
    assert model.guarantee_.epsilon == 1
    assert model.guarantee_.delta == 0
    assert ("LABEL PRIVACY ONLY" in " ".join(model.guarantee_.notes)) == (learner == "label_private")
    assert model.guarantee_.unit == ("label of a row" if learner == "label_private" else "row")
    assert str(model.error_bound_)


@pytest.mark.slow
def test_separators() -> None:
    x = np.random.default_rng(5).normal(size=(20_000, 2))
    y = x @ [2, -1] > 0
    model = PrivateLearner("separators", lower=-5, upper=5, accuracy="0.1")._fit(x, y, bits=NumpyBits(3))
    assert model.score(x, y) > 0.9


def test_a_family_of_ones_own_and_names_of_columns() -> None:
    import pandas as pd

    x, y = uniform(20_000)
    model = PrivateLearner(ThresholdFamily.of(0, 2, feature="age")).fit(x, y)
    assert str(model.hypothesis_).startswith("age >= ")
    model = PrivateLearner(lower=0, upper=1).fit(pd.DataFrame({"share": x[:, 0]}), y)
    assert str(model.hypothesis_).startswith("share >= ")


def test_too_few_rows_are_refused_with_the_number_that_is_enough() -> None:
    x, y = uniform(100)
    with pytest.raises(BadData, match=r"At least \d+ records") as caught:
        PrivateLearner(accuracy="0.05", lower=0, upper=1).fit(x, y)
    enough = int(str(caught.value).split()[2])
    assert PrivateLearner(accuracy="0.05", lower=0, upper=1).fit(*uniform(enough)).hypothesis_ is not None
    with pytest.raises(BadData, match=str(enough)):
        PrivateLearner(accuracy="0.05", lower=0, upper=1).fit(*uniform(enough - 1))


@every(
    ("parameters", "hint"),
    [
        ({"hypotheses": "conjunctions"}, "hypotheses must be one of: thresholds"),
        ({"learner": "best"}, "learner must be"),
        ({"best_error": "0.1"}, "label_private"),
        ({"accuracy": 0}, "accuracy"),
        ({"epsilon": 0}, "epsilon"),
        ({"failure": 1}, "failure"),
        ({"neighbors": "add_remove"}, "replace_one"),
        ({"lower": 1, "upper": 0}, "lower must be less"),
        ({"lower": None}, "Give lower and upper"),
        ({"lower": [0, 0]}, "thresholds are rules of one feature"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadParameter, match=hint):
        PrivateLearner(**{"lower": 0, "upper": 1, **parameters}).fit(*uniform(5000))
