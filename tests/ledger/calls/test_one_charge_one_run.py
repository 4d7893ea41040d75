"""A charge covers one run, with what it was made for; and no result is written over a ledger."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpmine_cli.main import run

import dpmine

if TYPE_CHECKING:
    from pathlib import Path

X = np.random.default_rng(1).normal(size=(50, 2))
Y = X[:, 0] > 0


@pytest.fixture
def ledger(tmp_path: Path) -> dpmine.Ledger:
    book = dpmine.Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    book.grant("shop", epsilon=2, delta=1e-6)
    return book


def test_a_charge_covers_one_fit(ledger: dpmine.Ledger) -> None:
    model = dpmine.PrivateLogisticRegression(lambdas=[0.1], epsilon="0.1", ledger=ledger, dataset="shop")
    charge = model.charge()
    model.fit_charged(X, Y, charge)
    with pytest.raises(dpmine.BadParameter, match="covers one run"):
        model.fit_charged(X, Y, charge)
    assert ledger.budget("shop").spent.epsilon == Fraction(1, 10)


def test_a_charge_covers_its_own_parameters(ledger: dpmine.Ledger) -> None:
    model = dpmine.PrivateLogisticRegression(lambdas=[0.1], epsilon="0.1", ledger=ledger, dataset="shop")
    charge = model.charge()
    with pytest.raises(dpmine.BadParameter, match="covers one run"):
        model.set_params(epsilon=50).fit_charged(X, Y, charge)


def test_a_reader_is_charged_for_its_own_unit(ledger: dpmine.Ledger) -> None:
    table = pa.table({"who": [1, 1, 2], "what": ["a", "b", "a"]})
    found = dpmine.top_itemset(
        table.to_reader(), size=1, unit="who", item="what", ledger=ledger, dataset="shop", epsilon=1
    )
    assert ledger.budget("shop").unit == found.guarantee.unit == "who"


@pytest.mark.parametrize("name", ["b.db", "b.db-wal"])
def test_no_result_is_written_over_a_ledger(
    ledger: dpmine.Ledger, tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"who": [1, 1, 2], "what": ["a", "b", "a"]}), tmp_path / "sales.parquet")
    url, target = f"sqlite:///{tmp_path / 'b.db'}", str(tmp_path / name)
    sales = ["top-itemset", str(tmp_path / "sales.parquet"), "--unit", "who", "--item", "what"]
    assert run([*sales, "--ledger", url, "--dataset", "shop", "-o", target]) == 2
    assert run(["ledger", "export", "--ledger", url, "-o", target]) == 2
    assert "database" in capfd.readouterr().err
    assert ledger.verify() == 1
