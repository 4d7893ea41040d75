"""Classifiers on tables: Parquet files, Arrow, pandas and whatever else `dpmine.tables` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dpmine.errors import BadData, BadParameter
from dpmine.tables import read_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

Kind = TypeVar("Kind", bound=Any)
"""Classifiers in scikit-learn's style."""


def fit_table(
    classifier: Kind,
    data: Any,
    *,
    label: str,
    features: Sequence[str],
    progress: Callable[[float], None] | None = None,
) -> Kind:
    """The classifier, trained on the named columns of a table; it remembers their names.

    Raises BadParameter for no features, repeated ones, or the label among them; BadData and UnreadableFile as
    `read_columns`; else as `fit`.
    """
    _require_apart(features, label)
    columns = read_columns(data, features, labels=[label], progress=progress)
    if not len(columns[label]):
        raise BadData("The file has no rows: training needs rows of both classes.")
    classifier.fit(_frame(columns, features), columns[label])
    classifier.label_ = label
    return classifier


def predict_table(classifier: Any, data: Any, *, progress: Callable[[float], None] | None = None) -> pa.Table:
    """One row a row: `prediction`, and where the classifier has them `probability`, that of the later class.

    Requires: a classifier with named features. The guarantee protects the rows it was trained on, not these.
    Raises BadData for columns that are missing or not numbers.
    """
    import pyarrow as pa

    names = getattr(classifier, "feature_names_in_", None)
    if names is None:
        raise BadData("The model has no names of features: train it on a table, or with named columns.")
    frame = _frame(read_columns(data, list(names), progress=progress), list(names))
    if not len(frame):  # which scikit-learn's conventions refuse
        return predict_table(classifier, pa.table({name: [0.0] for name in names})).slice(0, 0)
    found = {"prediction": pa.array(classifier.predict(frame).tolist())}
    if hasattr(classifier, "predict_proba"):
        found["probability"] = pa.array(classifier.predict_proba(frame)[:, 1])
    return pa.table(found)


def _frame(columns: dict[str, Any], names: Sequence[str]) -> Any:
    import pandas as pd

    return pd.DataFrame({name: columns[name] for name in names}, copy=False)


def _require_apart(features: Sequence[str], label: str) -> None:
    if not features:
        raise BadParameter("Name at least one feature (--features a,b,c).")
    if len(set(features)) < len(features):
        raise BadParameter("A feature is named twice: name each column once.")
    if label in features:
        raise BadParameter(f"The label '{label}' is among the features: it cannot predict itself.")
