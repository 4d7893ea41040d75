"""The most likely mistakes in Python, and what answers each, word for word: what happened, and what to write next."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpmine
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Callable

VISITS = {"customer": [1, 1, 2, 2], "product": ["a", "b", "a", "b"], "price": [1.0, 2.0, 3.0, 4.0]}
ROWS, NUMBERS, LABELS = np.ones((4, 2)), np.ones(4), ["no", "yes", "no", "yes"]
SINGLE: Any = np.float32(1)
EIGHT: Any = 8
TEXT: Any = "5000"

MISTAKES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: dpmine.top_itemset(pl.LazyFrame(VISITS), unit="custmer", item="product"),
        ("There is no column 'custmer' among the columns 'customer', 'product', 'price'. Did you mean 'customer'?"),
    ),
    (
        lambda: dpmine.top_itemset(pd.DataFrame(VISITS, dtype=object), unit="customer", item="product", units=TEXT),
        "units must be a whole number of at least 1.",
    ),
    (
        lambda: dpmine.top_itemset(pl.DataFrame(VISITS), unit="customer", item="price"),
        (
            "Column 'price' has items of the type double: items are integers, texts or a dictionary of those. "
            "Cast the column first (floats that are whole numbers to int64)."
        ),
    ),
    (
        lambda: dpmine.top_itemset(VISITS),
        (
            "data must not be a dict: give a path or a list of paths, a pyarrow Table, RecordBatchReader or "
            "Dataset, a pandas or polars frame, a dpmine.Input, or a sequence of baskets."
        ),
    ),
    (
        lambda: dpmine.top_itemset(pd.DataFrame(VISITS)["product"]),
        "A Series is not a table of columns with names: give a data frame, such as series.to_frame().",
    ),
    (
        lambda: dpmine.top_itemset(pd.DataFrame(VISITS), unit="customer", item="product", epsilon=SINGLE),
        "epsilon must be an exact number such as 0.1, '1e-6' or '1/3', not a float32.",
    ),
    (lambda: dpmine.top_itemset([["a", "b"]], neighbors="bounded"), "neighbors must be 'replace_one' or 'add_remove'."),
    (
        lambda: dpmine.top_itemsets([["a", "b"]], release_support="yes"),
        "release_support must be a finite number such as 0.1, 1e-6 or 1/3, or auto.",
    ),
    (
        lambda: dpmine.select([3, 1], epsilon=1, mechanism="permute_and_flip"),
        f"mechanism must be one of: auto, {', '.join(MECHANISMS)}. Did you mean 'max_of_exponentials'?",
    ),
    (
        lambda: dpmine.select([3, 1], epsilon=1, mechanism="max-of-exponential"),
        f"mechanism must be one of: auto, {', '.join(MECHANISMS)}. Did you mean 'max_of_exponentials'?",
    ),
    (
        lambda: dpmine.PrivateHistogram(bins=EIGHT, lower=0, upper=1).fit(NUMBERS),
        "bins must be a list of whole numbers, such as [4, 8, 16].",
    ),
    (
        lambda: dpmine.PrivateHistogram(bins=[8], lower=0, upper=1).fit(pd.Series(list("abcd"), dtype="str")),
        (
            "Features must be numbers, and texts, categories and dates are none: encode categories as numbers first, "
            "one 0/1 column per category (pandas.get_dummies with a public list)."
        ),
    ),
    (
        lambda: dpmine.PrivateLogisticRegression(feature_bounds=(1, 0)).fit(ROWS, LABELS),
        "`feature_bounds` must have every lower bound below its upper one, as 0 and 1.",
    ),
    (
        lambda: dpmine.PrivateLogisticRegression().fit(pd.DataFrame(VISITS)[["product"]], LABELS),
        (
            "Features must be numbers, and texts, categories and dates are none: encode categories as numbers first, "
            "one 0/1 column per category (pandas.get_dummies with a public list)."
        ),
    ),
    (
        lambda: dpmine.PrivateLogisticRegression().fit(ROWS, LABELS, units="customer"),
        (
            "units must have one dimension and hold integers, texts or dates, one privacy unit per row: give the "
            "column itself, such as units=visits['patient']."
        ),
    ),
    (
        lambda: dpmine.PrivateRidge().fit(ROWS, NUMBERS),
        (
            "target_bounds must be a public lower and upper bound on y, such as 0 and 100 (`target_bounds=(0, 100)`), "
            "the lower below the upper, and both between 1e-100 and 1e100 in absolute value."
        ),
    ),
    (
        lambda: dpmine.AccuracyFirstLogistic().fit(ROWS, LABELS),
        "excess_risk must be given: the excess risk to reach, such as excess_risk=0.1.",
    ),
    (
        lambda: dpmine.HypothesisSelector(hypotheses="stumps").fit(ROWS, LABELS),
        "Give lower and upper, the public bounds of the features (`lower=0` `upper=100`).",
    ),
    (
        lambda: dpmine.Ledger("budget.db"),
        "ledger must be a URL such as sqlite:///budget.db.",
    ),
    (
        lambda: dpmine.plan(epsilon="10%"),
        "epsilon must be a finite number such as 0.1, 1e-6 or 1/3. For 1 % give 0.01.",
    ),
]


@pytest.mark.filterwarnings("ignore::dpmine.LayoutWarning")
def test_likely_mistakes_are_answered_with_what_to_write_next() -> None:
    for mistake, message in MISTAKES:
        with pytest.raises(dpmine.DpmineError, match=f"^{re.escape(message)}$"):
            mistake()
