"""What the user is told before any data are read, and before anything is charged."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every

import dpmine
from dpmine.itemsets.request.advice import long_search
from dpmine.itemsets.request.query import Query, Request

if TYPE_CHECKING:
    from pathlib import Path

SALES = pa.table({"Item": ["a", "b", "a", "b"], "customer_id": [1, 1, 2, 2]})
NAMED = {"unit": "customer_id", "item": "Item"}
MANY = [f"item {number}" for number in range(500)]


def warned(*arguments: Any, **options: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        dpmine.top_itemset(*arguments, **options)
    return [warning for warning in found if warning.category is dpmine.LayoutWarning]


@pytest.mark.parametrize("call", [dpmine.top_itemset, dpmine.top_itemsets, dpmine.itemset_supports])
def test_a_layout_that_was_found_is_told_at_the_users_own_line(call: Any) -> None:
    with pytest.warns(dpmine.LayoutWarning, match="unit = customer_id .by the names") as found:
        call(SALES)
    assert {warning.filename for warning in found} == {__file__}


def test_a_layout_that_was_named_or_given_as_baskets_is_no_warning() -> None:
    assert not warned(SALES, **NAMED)
    assert not warned([["a", "b"]])
    assert not warned(pd.DataFrame({"drug": [["a", "b"]]}), items="drug")


def test_baskets_without_any_other_column_have_one_layout(tmp_path: Path) -> None:
    (tmp_path / "shop.dat").write_text("1 2\n1 3\n")
    said = [str(warning.message) for warning in warned(str(tmp_path / "shop.dat"))]
    assert [text for text in said if "layout" in text] == []
    assert len(said) == 1  # which lines are left out
    assert not warned(pa.table({"drug": [["a", "b"]]}))
    assert warned(pa.table({"visit": [1.5], "drug": [["a", "b"]]}))
    assert warned(pd.DataFrame({"drug": [["a", "b"]]}))  # objects, which may be meant as single values


@every("values", [["a", "b"], [["a"], ["b"]], [None, None]])
def test_lists_in_a_column_of_single_objects_are_told_of_by_the_dtype_alone(values: list[Any]) -> None:
    words = "each value of 'drug' is one item; name it with items= if rows hold lists"
    column = pd.Series(values, dtype=object)
    frame = pd.DataFrame({"visit": [1, 2], "drug": column})
    for options in ({"unit": "visit", "item": "drug"}, {"unit": "visit"}, {}):
        assert any(words in str(warning.message) for warning in warned(frame, **options))
    with pytest.raises(dpmine.BadData, match="items="):
        warned(frame[["drug"]], item="drug")
    assert not warned(frame, unit="visit", items="drug")
    for dtype in ("str", "string", "category") if values == ["a", "b"] else ():
        assert not warned(frame.assign(drug=column.astype(dtype)), unit="visit", item="drug")


def test_notices_take_the_place_of_warnings() -> None:
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpmine.top_itemsets(SALES, catalogue=MANY, notice=told.append)
    assert [text for text in told if "layout" in text] == [
        "long layout: item = Item, unit = customer_id (by the names of the columns)"
    ]
    assert sum("fewer than half" in text for text in told) == 1


def test_a_list_that_may_be_noise_says_so_in_text_and_json() -> None:
    with pytest.warns(dpmine.AccuracyWarning, match="fewer than half") as found:
        result = dpmine.top_itemsets(SALES, catalogue=MANY, unit="customer_id", item="Item")
    (doubt,) = (str(warning.message) for warning in found)
    assert f"({doubt})" in result.to_dict()["remarks"]
    assert f"({doubt})" in str(result).splitlines()
    sure = dpmine.top_itemset(SALES, mechanism="large_margin", unit="customer_id", item="Item")
    assert not sure.doubt
    assert sure.to_dict()["remarks"] == sure.remarks


VISITS = pa.table(
    {"drug": ["a"], "patient_id": [1], "at": pa.array([0], pa.timestamp("s")), "client": ["x"], "shop": ["y"]}
)


@every(
    ("columns", "words"),
    [
        ({"unit": "shop", "item": "client"}, "'client', which is named like people: the result would name some"),
        ({"unit": "patient_id", "basket": "at", "item": "drug"}, "each instant of 'at' is a key of its own: day(at)"),
        ({"unit": ["patient_id", "month(at)"], "item": "drug"}, "a unit for every month(at) with data"),
    ],
)
def test_what_may_not_be_meant_is_said_before_the_charge(columns: dict[str, Any], words: str) -> None:
    assert any(words in str(warning.message) for warning in warned(VISITS, **columns))
    assert not warned(VISITS, unit="patient_id", item="drug")


def test_text_read_as_another_type_is_told_in_one_sentence_whatever_the_data_hold(tmp_path: Path) -> None:
    """A header alone, dates of another form, and good rows: the notices do not differ."""
    path = tmp_path / "a.csv"
    columns: dict[str, Any] = {"unit": "shop", "item": "what", "basket": "month(at)"}
    told: list[list[str]] = []
    for rows in ("", "1,tea,23.11.2026\n", "1,tea,2026-11-23\n"):
        path.write_text(f"shop,what,at\n{rows}")
        told.append([])
        dpmine.top_itemset(dpmine.Input(path, types="at=date"), **columns, notice=told[-1].append)
    assert told[0] == told[1] == told[2]
    assert sum("check the format on a public sample (dates are written 2026-11-23," in text for text in told[0]) == 1
    (warning,) = warned(dpmine.Input(path, types="at=date"), unit="shop", item="what")
    assert "each line of text is a row" in str(warning.message)


@every(
    ("name", "kind", "words"),
    [
        ("order_id", pa.int64(), "'order_id' is named like a key, and with `one_hot=True` it is an item"),
        ("order_id", pa.bool_(), ""),
        ("tea", pa.int64(), ""),
    ],
)
def test_a_key_among_the_columns_of_a_one_hot_layout_is_said(name: str, kind: pa.DataType, words: str) -> None:
    table = pa.table({"customer": [1, 2], name: pa.array([1, 0]).cast(kind), "milk": [1, 0]})
    told: list[str] = []
    dpmine.top_itemset(table, unit="customer", one_hot=True, notice=told.append)
    assert sum("named like a key" in text for text in told) == bool(words)
    assert any(words in text for text in told)
    assert "one-hot layout: 2 columns are items, unit = customer (from the options)" in told


def test_people_in_the_place_of_what_they_bought_are_rejected() -> None:
    with pytest.raises(dpmine.BadData, match="swap them, `unit='customer_id'` `item='Item'`"):
        dpmine.top_itemsets(SALES, unit="Item", item="customer_id")


def test_the_warning_of_noise_says_how_many_units_it_is_for() -> None:
    assert any("5,000 units are assumed; `units=N`" in text for text in notices(catalogue=MANY))
    assert any("(40 units)" in text for text in notices(catalogue=MANY, units=40))


def notices(**options: Any) -> list[str]:
    told: list[str] = []
    dpmine.top_itemsets(SALES, **{"k": 20, **NAMED, **options}, notice=told.append)
    return told


def test_a_list_that_will_mostly_be_noise_is_told_before_it_is_charged(tmp_path: Path) -> None:
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/l.db")
    ledger.grant("shop", epsilon=5, delta=1e-5)
    options: dict[str, Any] = {"k": 20, "catalogue": MANY, **NAMED, "ledger": ledger, "dataset": "shop"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", dpmine.AccuracyWarning)
        with pytest.raises(dpmine.AccuracyWarning, match="fewer than half of the 20"):
            dpmine.top_itemsets(SALES, **options)
        assert ledger.budget("shop").spent.epsilon == 0
        dpmine.top_itemsets(SALES, **options, units=10**6)
    assert ledger.budget("shop").spent.epsilon > 0


@pytest.mark.parametrize(
    "options", [{"mechanism": "limited_domain"}, {"epsilon": 1000}, {"catalogue": "from-data", "k": 1}]
)
def test_no_doubt_where_only_what_stands_out_is_listed_or_noise_is_small(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", dpmine.AccuracyWarning)
        dpmine.top_itemsets(SALES, **{"catalogue": MANY, **NAMED, **options})


def test_the_command_line_tells_each_notice_once(tmp_path: Path) -> None:
    pq.write_table(SALES, tmp_path / "x.parquet")
    (tmp_path / "items.txt").write_text("\n".join(MANY))
    command = [sys.executable, "-m", "dpmine_cli.main", "top-itemset", str(tmp_path / "x.parquet"), "--top", "20"]
    run = subprocess.run(
        [*command, "--catalogue", str(tmp_path / "items.txt")], capture_output=True, text=True, check=True
    )
    assert run.stderr.count("layout") == 1
    assert run.stderr.count("fewer than half of the 20") == 1
    assert "Warning" not in run.stderr


def test_doubts_come_before_the_charge_and_other_notices_after_it(tmp_path: Path) -> None:
    """A user may stop a run that will mostly be noise; what is said of a run that was rejected is nothing else."""
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/l.db")
    ledger.grant("shop", epsilon="1/10", delta=1e-5)
    told: list[str] = []
    options: dict[str, Any] = {"catalogue": MANY, **NAMED, "ledger": ledger, "dataset": "shop", "notice": told.append}
    with pytest.raises(dpmine.BudgetExceeded):
        dpmine.top_itemsets(SALES, 20, **options)
    assert ["fewer than half" in text for text in told] == [True]
    told.clear()
    dpmine.top_itemsets(SALES, 20, epsilon="1/10", **options)
    assert [("layout" in text, "fewer than half" in text) for text in told] == [
        (False, True),
        (True, False),
        (False, False),
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"size": 6}, True),
        ({"size": "2-8"}, True),
        ({"size": 8, "catalogue": MANY}, True),
        ({"size": 5}, False),
        ({"size": 6, "catalogue": MANY[:20]}, False),
    ],
)
def test_large_sizes_say_before_the_charge_that_counting_may_take_long(
    options: dict[str, Any], told: bool, tmp_path: Path
) -> None:
    """By the size and the catalogue alone: what a run says must not depend on private data."""
    ledger, said = f"sqlite:///{tmp_path}/budget.db", dict[str, Any]()

    def notice(text: str) -> None:
        if "Ctrl-C" in text:
            said[text] = dpmine.Ledger(ledger).budget("shop").spent.epsilon

    dpmine.Ledger(ledger).grant("shop", epsilon=1, delta="1e-5")
    dpmine.top_itemset(SALES, unit="customer_id", item="Item", **options, ledger=ledger, dataset="shop", notice=notice)
    assert list(said.values()) == [0] * told
    assert all("`size=5` or less" in text and "a charge stays" in text for text in said)


@every("size", [3, 4])
def test_a_way_that_counts_deep_is_long_for_smaller_itemsets(size: int) -> None:
    asked: dict[str, Any] = {"k": 5, "size": size, "catalogue": MANY}
    joint, shot = (
        long_search(Request.of(Query(**asked, mechanism=each, delta=0))) for each in ("joint", "exponential")
    )
    assert (("`size=3` or less" in joint), shot) == (size == 4, "")
