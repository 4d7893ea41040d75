"""Calls of the library as dry runs: checked as a run is, up to the charge, which is not made."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every

import dpmine
from dpmine.models.tables import fit_table

BASKETS = [["bread", "milk"]] * 20
FEATURES, LABELS = np.linspace(0, 1, 40).reshape(-1, 1), np.arange(40) % 2
MODEL: dict[str, Any] = {"feature_bounds": (0, 1), "lambdas": 0.1}


@pytest.fixture
def shop(tmp_path: Path) -> dpmine.Ledger:
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.grant("shop", epsilon=3, delta="1e-5")
    return ledger


@every(
    ("call", "arguments", "options"),
    [
        (dpmine.top_itemset, [BASKETS], {}),
        (dpmine.top_itemsets, [BASKETS, 3], {"release_support": "auto"}),
        (dpmine.discover_items, [BASKETS], {}),
        (dpmine.select, [[9, 1]], {"mechanism": "exponential", "epsilon": 1}),
    ],
)
def test_a_call_says_its_charge_and_makes_none(call: Any, arguments: Any, options: Any, tmp_path: Path) -> None:
    """With a ledger, its URL, or none."""
    url = f"sqlite:///{tmp_path}/budget.db"
    shop = dpmine.Ledger(url)
    shop.grant("shop", epsilon=3, delta="1e-5")
    assert dpmine.dry_run(call, *arguments, **options).left == ""
    for ledger in (shop, url):
        said = dpmine.dry_run(call, *arguments, **options, ledger=ledger, dataset="shop")
        assert said.guarantee.epsilon == 1
        assert said.left.startswith("ε = 2, δ = ")
        assert f"shop would have {said.left} left" in str(said)
    assert shop.budget("shop").entries == 1
    charged = call(*arguments, **options, ledger=shop, dataset="shop")
    assert charged.guarantee == said.guarantee
    assert shop.budget("shop").left_of("shop") == said.left


def test_an_estimator_stays_as_it_is(shop: dpmine.Ledger) -> None:
    places: list[dict[str, Any]] = [{}, {"ledger": shop, "dataset": "shop"}]
    for ledger in places:
        model = dpmine.PrivateLogisticRegression(**MODEL, **ledger)
        before = vars(model).copy()
        said = dpmine.dry_run(model.fit, FEATURES, LABELS)
        assert said.guarantee.epsilon == 1
        assert bool(said.left) is bool(ledger)
        assert vars(model) == before
    assert shop.budget("shop").entries == 1


def test_no_row_of_a_file_is_read(tmp_path: Path) -> None:
    """Of this file the footer alone can be read."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"who": [1, 2] * 50, "what": ["x", "y"] * 50}), path, compression="none")
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(b"PAR1" + b"\xff" * (len(content) - footer - 4) + content[-footer:])
    assert dpmine.dry_run(dpmine.top_itemset, path, unit="who", item="what").guarantee.unit == "who"
    assert dpmine.dry_run(partial(dpmine.top_itemset, unit="who"), path, item="what").guarantee.unit == "who"
    with pytest.raises(dpmine.DpmineError):
        dpmine.top_itemset(path, unit="who", item="what")


def test_what_a_run_rejects_is_rejected(shop: dpmine.Ledger) -> None:
    asked: dict[str, Any] = {"ledger": shop, "dataset": "shop"}
    with pytest.raises(dpmine.BudgetExceeded, match="short by"):
        dpmine.dry_run(dpmine.top_itemset, BASKETS, epsilon=4, **asked)
    with pytest.raises(dpmine.BadParameter, match="knows no data set 'barn'"):
        dpmine.dry_run(dpmine.top_itemset, BASKETS, ledger=shop, dataset="barn")
    with pytest.raises(dpmine.BadParameter, match="belong together"):
        dpmine.dry_run(dpmine.top_itemset, BASKETS, ledger=shop)
    with pytest.raises(dpmine.BadLedger, match="There is no ledger at"):
        dpmine.dry_run(dpmine.top_itemset, BASKETS, ledger="sqlite:///nowhere.db", dataset="shop")
    assert not Path("nowhere.db").exists()
    weekly = shop.once("week 1")
    assert dpmine.dry_run(dpmine.top_itemset, BASKETS, ledger=weekly, dataset="shop").left
    dpmine.top_itemset(BASKETS, ledger=weekly, dataset="shop")
    with pytest.raises(dpmine.AlreadyCharged, match="week 1"):
        dpmine.dry_run(dpmine.top_itemset, BASKETS, ledger=weekly, dataset="shop")


@every("call", [dpmine.itemset_supports, lambda ledger=None, dataset=None: None, fit_table])  # noqa: ARG005
def test_calls_that_charge_nothing_have_no_dry_run(call: Any) -> None:
    with pytest.raises(dpmine.BadParameter, match="dry_run is for calls that charge a ledger"):
        dpmine.dry_run(call)
