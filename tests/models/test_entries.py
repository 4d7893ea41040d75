"""Entries of columns whose types hold what Python does not: each is read by itself, and none is an error."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.cases import every

from dpmine import BadData, Ledger, PrivateLogisticRegression
from dpmine.models.contribution import Units
from dpmine.models.entries import as_numbers, entry_by_entry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

USUAL = 30
FAR = [*[0, 1] * (USUAL // 2), 2**30, 2**30, 2**30 + 1]
"""Days since 1970; the last three are beyond Python's dates."""
NOT_UTF8 = pa.array([*[b"a", b"b"] * (USUAL // 2), b"\xff", b"\xff", b"\xfe"]).cast(pa.binary()).view(pa.string())


def _pandas(column: pa.Array) -> Any:
    return pd.Series(pd.arrays.ArrowExtensionArray(column))


COLUMNS: dict[str, Callable[[], Any]] = {
    "dates": lambda: pa.array(FAR, pa.date32()),
    "times": lambda: pa.array([day * 10**5 for day in FAR], pa.timestamp("s")),
    "spans": lambda: pa.array([day * 10**9 for day in FAR], pa.duration("s")),
    "texts": lambda: NOT_UTF8,
    "chunks": lambda: pa.chunked_array([NOT_UTF8[:3], NOT_UTF8[3:]]),
    "dates of pandas": lambda: _pandas(pa.array(FAR, pa.date32())),
    "texts of pandas": lambda: _pandas(NOT_UTF8),
    "dates of polars": lambda: pl.Series(FAR, dtype=pl.Int32).cast(pl.Date),
    "times of polars": lambda: pl.Series([day * 2**31 for day in FAR]).cast(pl.Datetime("ms")),
    "integers of polars": lambda: pl.Series([day + 2**100 for day in FAR], dtype=pl.Int128),
    "objects of polars": lambda: pl.Series(FAR, dtype=pl.Object),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_python_cannot_hold_is_a_unit_like_any_other(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    codes = Units.of(COLUMNS[name](), "day").codes
    assert codes.tolist() == [*[0, 1] * (USUAL // 2), 2, 2, 3]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", sorted(COLUMNS.keys() - {"spans"}))  # which are no labels
def test_what_python_cannot_hold_is_a_label_like_any_other(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    entries = entry_by_entry(COLUMNS[name]())
    rows = np.linspace(0, 1, len(FAR)).reshape(-1, 1)
    model = PrivateLogisticRegression(feature_bounds=(0, 1), classes=list(entries[:2]))
    assert model.fit(rows, COLUMNS[name](), units=COLUMNS[name]()).coef_.shape == (1, 1)
    assert capfd.readouterr().err == ""


class Uncertain:
    """A number that is too large, and cannot say on which side."""

    def __float__(self) -> float:
        raise OverflowError

    def __gt__(self, other: object) -> bool:
        raise RuntimeError


numbers.Real.register(Uncertain)


@every("form", [list, lambda rows: pd.DataFrame(rows, dtype=object)])
def test_a_number_that_cannot_be_compared_is_none(form: Callable[[Any], Any]) -> None:
    assert np.array_equal(as_numbers(form([[0.5], [Uncertain()]])), [[0.5], [np.nan]], equal_nan=True)


@pytest.mark.parametrize("kind", [pl.Int128, pl.List(pl.Int64)])
def test_types_of_polars_that_no_array_holds_are_rejected_before_the_charge(kind: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    Ledger(url).grant("people", epsilon=1)
    values = [[1], [2]] * 10 if isinstance(kind, pl.List) else [1, 2] * 10
    frame = pl.DataFrame({"x": pl.Series(values, dtype=kind)})
    model = PrivateLogisticRegression(feature_bounds=(0, 3), classes=[0, 1], ledger=url, dataset="people")
    with pytest.raises(BadData, match="Features must be numbers"):
        model.fit(frame, [0, 1] * 10)
    assert not Ledger(url).budget("people").spent.epsilon
