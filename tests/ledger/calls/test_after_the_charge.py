"""A charge covers one run, with what it was made for; and what a fit, a picture or a history leaves after it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpmine_cli.main import run
from sklearn.base import clone

import dpmine
from dpmine.errors import UnreadableFile
from dpmine.io import atomic as pictures
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from pathlib import Path


def test_a_fit_that_is_rejected_by_its_type_keeps_the_earlier_one_and_charges_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'b.db'}"
    dpmine.Ledger(url).grant("shop", epsilon=2)
    model = dpmine.PrivateHistogram(bins=[4], lower=0, upper=1, ledger=url, dataset="shop")
    model.fit(np.linspace(0, 1, 500))
    with pytest.raises(dpmine.BadData):
        model.fit(np.array(["x"]))
    assert model.density_ is not None
    assert dpmine.Ledger(url).budget("shop").spent.epsilon == 1


def test_unusable_column_labels_are_found_before_the_charge(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'b.db'}"
    dpmine.Ledger(url).grant("shop", epsilon=2, delta=1e-5)
    mixed = pd.DataFrame({1: [True, False], "a": [True, True]})
    with pytest.raises(dpmine.BadData, match="column labels"):
        dpmine.top_itemset(mixed, size=1, ledger=url, dataset="shop")
    assert dpmine.Ledger(url).budget("shop").spent.epsilon == 0


@pytest.mark.parametrize(
    "model",
    [
        dpmine.PrivateHuberSVC(lambdas="1e-9", huber="0.001", method="output"),
        dpmine.PrivateHuberSVC(lambdas=["1e-9", 1], huber="0.001", method="output"),
        dpmine.PrivateLearner("stumps", lower=-1, upper=1, accuracy="0.001"),
        dpmine.PrivateSearchCV(dpmine.PrivateHuberSVC(huber="0.001", method="output"), {"lambdas": [1, "1e-9"]}),
    ],
)
def test_what_public_numbers_rule_out_is_not_charged(model: Any, tmp_path: Path) -> None:
    """A λ with which the solver may take too long for so many rows, and fewer rows than an error bound takes."""
    url = f"sqlite:///{tmp_path / 'b.db'}"
    dpmine.Ledger(url).grant("shop", epsilon=2, delta=1e-5)
    rows = np.random.default_rng(1).uniform(-1, 1, (20_000, 2))
    with pytest.raises(dpmine.DpmineError, match=r"too small for|records"):
        clone(model).set_params(ledger=url, dataset="shop").fit(rows, rows[:, 0] > 0)
    assert dpmine.Ledger(url).budget("shop").spent.epsilon == 0


def test_histories_show_what_there_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'b.db'}"
    ledger = dpmine.Ledger(url)
    ledger.grant("shop", epsilon=2, parts="by_index")
    command = ["ledger", "history", "--ledger", url, "--dataset", "shop"]
    assert run(command) == 0
    assert capfd.readouterr().out.splitlines()[0].split("\t")[2:] == ["grant", "ε = 2, δ = 0", ""]
    guarantee = dpmine.ExPostGuarantee(
        Fraction(1), Fraction(0), Neighbors.REPLACE_ONE, "row", ex_post_epsilon=Fraction(1)
    )
    ledger.settle(ledger.charge("shop/north", guarantee, job="search"), "1/2")
    assert run(command) == 0
    lines = [line.split("\t")[4:] for line in capfd.readouterr().out.splitlines()]
    assert lines == [
        ["part -", "unit -", "reservation -", ""],
        ["part north", "unit row", "reservation -", "search"],
        ["part north", "unit row", "reservation 2", ""],
    ]


@pytest.mark.parametrize("changed", ["neighbors", "unit"])
def test_another_relation_or_unit_is_status_2(tmp_path: Path, capfd: pytest.CaptureFixture[str], changed: str) -> None:
    url = f"sqlite:///{tmp_path / 'b.db'}"
    relation, unit = ("add_remove", None) if changed == "neighbors" else ("replace_one", "customer")
    dpmine.Ledger(url).grant("shop", epsilon=2, neighbors=relation, unit=unit)
    pq.write_table(pa.table({"a": [0.1] * 50}), tmp_path / "p.parquet")
    job = ["histogram", str(tmp_path / "p.parquet"), "--column", "a", "--lower", "0", "--upper", "1", "--bins", "4"]
    out = tmp_path / "out.json"
    assert run([*job, "--ledger", url, "--dataset", "shop", "-o", str(out)]) == 2
    assert capfd.readouterr().err.startswith("dpmine: error: 'shop' ")
    assert not out.exists()
    assert dpmine.Ledger(url).budget("shop").entries == 1


def test_a_picture_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.svg"
    pictures.write_picture(pictures.new_figure(1, 1), target, "one")
    before = target.read_bytes()

    def full(_handle: int) -> None:
        raise OSError

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnreadableFile):
        pictures.write_picture(pictures.new_figure(2, 2), target, "two")
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


def test_a_charge_does_not_trust_a_history_that_was_cut(tmp_path: Path) -> None:
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.grant("shop", epsilon=1)
    guarantee = Guarantee(Fraction(1), Fraction(0), Neighbors.REPLACE_ONE)
    ledger.charge("shop", guarantee, job="")
    with closing(sqlite3.connect(tmp_path / "b.db")) as connection, connection:
        connection.execute("DELETE FROM dpmine_history WHERE number = 2")
    for book in (ledger, dpmine.Ledger(f"sqlite:///{tmp_path / 'b.db'}")):
        with pytest.raises(dpmine.BadLedger, match="not those of its history"):
            book.charge("shop", guarantee, job="")


X = np.random.default_rng(1).normal(size=(50, 2))
Y = X[:, 0] > 0


@pytest.fixture
def ledger(tmp_path: Path) -> dpmine.Ledger:
    book = dpmine.Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    book.grant("shop", epsilon=2, delta=1e-6)
    return book


def test_a_charge_covers_one_fit(ledger: dpmine.Ledger) -> None:
    model = dpmine.PrivateLogisticRegression(
        lambdas=[0.1], epsilon="0.1", classes=[False, True], ledger=ledger, dataset="shop"
    )
    charge = model.charge()
    model.fit_charged(X, Y, charge)
    with pytest.raises(dpmine.BadParameter, match="covers one run"):
        model.fit_charged(X, Y, charge)
    assert ledger.budget("shop").spent.epsilon == Fraction(1, 10)


def test_a_charge_covers_its_own_parameters(ledger: dpmine.Ledger) -> None:
    model = dpmine.PrivateLogisticRegression(
        lambdas=[0.1], epsilon="0.1", classes=[False, True], ledger=ledger, dataset="shop"
    )
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
