"""Estimators on tables: Parquet files, Arrow, pandas and whatever else `dpmine.models.tables` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dpmine.errors import BadData, BadParameter
from dpmine.ledger.charging import ROW
from dpmine.models.contribution import Units
from dpmine.models.tables import read_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from dpmine.ledger.charging import Charge
    from dpmine.models.tables import NamedColumns

_WHOLE = "dpmine_whole"
Kind = TypeVar("Kind", bound=Any)
"""Estimators in scikit-learn's style."""


def fit_table(
    estimator: Kind,
    data: Any,
    *,
    label: str,
    features: Sequence[str],
    units: str | Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> Kind:
    """The estimator, trained on the named columns of a table; it remembers their names.

    `units` are the columns that name the privacy unit of a row together; without them each row is protected by itself.
    The label of a regressor is a column of numbers. Where the estimator has a ledger, it is charged once the columns
    are known to be there, before any value is read.

    Raises BadParameter for no features, repeated ones, or the label among them; BadData and UnreadableFile as
    `read_columns`; else as `fit`.
    """
    from sklearn.base import is_regressor

    _require_apart(features, label)
    units = [units] if isinstance(units, str) else units
    numbers, labels = ([*features, label], []) if is_regressor(estimator) else (features, [label])
    charges: list[Charge] = []

    def charge() -> None:
        charges.append(estimator.pay(features, units=unit_name(units)))

    any_label = getattr(estimator, "classes", None) is not None
    asserted = None if units or estimator.unit == ROW else estimator.unit
    columns = read_columns(
        data,
        numbers,
        labels=labels,
        keys=units,
        asserted=asserted,
        any_label=any_label,
        progress=progress,
        ready=charge,
    )
    if not len(columns[label]):
        raise BadData("The file has no rows, and training needs some.")
    estimator.fit_paid(_frame(columns, features), columns[label], charges[0], units_of(columns, units))
    estimator.label_ = label
    return estimator


def unit_name(units: Sequence[str]) -> str | None:
    """What the guarantee calls the unit that these columns name together; None for none.

    Raises BadParameter for columns that repeat.
    """
    if len(set(units)) < len(units):
        raise BadParameter("A column of the privacy unit is named twice: name each once.")
    return ", ".join(units) or None


def units_of(columns: dict[str, Any], units: Sequence[str]) -> Units | None:
    """The units of columns that were read as keys; None for none."""
    name = unit_name(units)
    return None if name is None else Units.of_keys([columns[unit] for unit in units], name)


def predict_table(estimator: Any, data: Any, *, progress: Callable[[float], None] | None = None) -> pa.Table:
    """One row a row: `prediction`, and where the classifier has them `probability`, that of the later class.

    Requires: an estimator with named features. The guarantee protects the rows it was trained on, not these.
    Raises BadData for columns that are missing or not numbers.
    """
    import pyarrow as pa

    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise BadData("The model has no names of features: train it on a table, or with named columns.")
    frame = _frame(read_columns(data, list(names), progress=progress), list(names))
    if not len(frame):  # which scikit-learn's conventions reject
        return predict_table(estimator, pa.table({name: [0.0] for name in names})).slice(0, 0)
    found = {"prediction": pa.array(estimator.predict(frame).tolist())}
    if hasattr(estimator, "predict_proba"):
        found["probability"] = pa.array(estimator.predict_proba(frame)[:, 1])
    return pa.table(found)


def whole_features(X: Any) -> tuple[str, ...]:
    """The columns of a frame made here whose type in the table was an integer type; none for other frames.

    The types of a user's frame are not used: pandas infers them from the values, so one row could change them.
    """
    return tuple(getattr(X, "attrs", {}).get(_WHOLE, ()))


def _frame(columns: NamedColumns, names: Sequence[str]) -> Any:
    import pandas as pd

    frame = pd.DataFrame({name: columns[name] for name in names}, copy=False)
    frame.attrs[_WHOLE] = [name for name in names if name in columns.whole]
    return frame


def _require_apart(features: Sequence[str], label: str) -> None:
    if not features:
        raise BadParameter("Name at least one feature (--features a,b,c).")
    if len(set(features)) < len(features):
        raise BadParameter("A feature is named twice: name each column once.")
    if label in features:
        raise BadParameter(f"The label '{label}' is among the features: it cannot predict itself.")
