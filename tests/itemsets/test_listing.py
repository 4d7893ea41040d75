"""Exact supports as users ask for them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.cases import every

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.io.unfit import CountedUnfit
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.exact_supports import list_supports
from dpmine.itemsets.ingest.lines import DoesNotFit

if TYPE_CHECKING:
    from pathlib import Path

BASKETS = [["b", "a"]] * 5 + [["a", "c"]] * 2 + [["c", "b", "a"]] * 3
COUNTS = {("a",): 10, ("b",): 8, ("c",): 5, ("a", "b"): 8, ("a", "c"): 5, ("b", "c"): 3, ("a", "b", "c"): 3}


def listed(**options: Any) -> dict[tuple[Any, ...], Any]:
    frame = dpmine.itemset_supports(BASKETS, **options)
    assert list(frame.columns) == ["support", "itemsets"]
    return {
        tuple(sorted(itemset)): support for itemset, support in zip(frame["itemsets"], frame["support"], strict=True)
    }


@every("size", [1, 2, 3, (1, 2), "1-3", 4, "2-9", "4-900000000"])
@every("threshold", [1, 4, 8, 11])
def test_all_itemsets_above_the_threshold(size: Any, threshold: int) -> None:
    low, high = {"1-3": (1, 3), "2-9": (2, 9), "4-900000000": (4, 900_000_000)}.get(
        str(size), size if isinstance(size, tuple) else (size, size)
    )
    expected = {s: c for s, c in COUNTS.items() if low <= len(s) <= high and c >= threshold}
    assert listed(size=size, min_support=threshold) == expected


@every("size", ["all", "1-2", 2])
@every("threshold", [1, 4, 8])
def test_closed_and_maximal_itemsets(size: Any, threshold: int) -> None:
    """Supersets decide even where they are larger than all that is listed."""
    sizes = {"all": (1, 2, 3), "1-2": (1, 2), "2": (2,)}[str(size)]
    frequent = {s: c for s, c in COUNTS.items() if c >= threshold}
    above = {s: [c for other, c in frequent.items() if set(s) < set(other)] for s in frequent}
    of_sizes = {s: c for s, c in frequent.items() if len(s) in sizes}
    assert listed(size=size, min_support=threshold) == of_sizes
    closed = {s: c for s, c in of_sizes.items() if c not in above[s]}
    assert listed(size=size, min_support=threshold, closed=True) == closed
    maximal = {s: c for s, c in of_sizes.items() if not above[s]}
    assert listed(size=size, min_support=threshold, maximal=True) == maximal
    with pytest.raises(BadParameter, match="exclude each other"):
        listed(size=size, closed=True, maximal=True)


def test_order_is_by_support_then_by_items() -> None:
    frame = dpmine.itemset_supports([["a", "b"], ["b", "c"], ["a", "c"], ["c", "d"], ["c", "d"]], size=(1, 2))
    rows = [(-support, len(itemset), sorted(itemset)) for itemset, support in zip(frame["itemsets"], frame["support"])]  # noqa: B905
    assert rows == sorted(rows)


@pytest.mark.filterwarnings("ignore:invalid value encountered in divide:RuntimeWarning")  # mlxtend's, at confidence 1
def test_frame_is_what_mlxtend_reads() -> None:
    frame = dpmine.itemset_supports(BASKETS, size=2)
    assert frame["support"].dtype == np.int64
    assert all(isinstance(itemset, frozenset) for itemset in frame["itemsets"])
    shares = dpmine.itemset_supports(BASKETS, size=(1, 3), as_fraction=True)
    assert shares["support"].dtype == np.float64
    assert shares["support"].iloc[0] == 1.0
    from mlxtend.frequent_patterns import association_rules

    assert len(association_rules(shares, metric="confidence", min_threshold=0.1)) > 0


@every(
    ("min_support", "least"),
    [
        (5, 5),
        ("5", 5),
        (np.int64(5), 5),
        (0.5, 5),
        ("0.5", 5),
        ("1/2", 5),
        (Fraction(1, 2), 5),
        (0.41, 5),
        ("1", 1),
        (1, 1),
        (1.0, 10),
        ("1.0", 10),
        (0.0001, 1),
        (0.8, 8),
        (Fraction(4, 5), 8),
        (" 8 ", 8),
    ],
)
def test_threshold_is_a_count_or_a_share(min_support: Any, least: int) -> None:
    """0.8 of 10 units is 8: the share is read exactly, and rounded up."""
    expected = {s: c for s, c in COUNTS.items() if c >= least}
    assert listed(size="1-3", min_support=min_support) == expected


@every("wrong", [0, -1, 1.5, "1.5", "abc", "", "-1", 0.0, "0", float("nan"), True, None, "nan", "1e999"])
def test_senseless_thresholds_are_refused(wrong: Any) -> None:
    with pytest.raises(BadParameter, match="min_support"):
        dpmine.itemset_supports(BASKETS, min_support=wrong)


def test_parameters_are_checked_before_the_data_are_read() -> None:
    bad: list[dict[str, Any]] = [{"size": 0}, {"min_support": 0}, {"unit": ["a", "a"]}, {"catalogue": []}]
    for wrong in bad:
        with pytest.raises((BadParameter, BadData)):
            dpmine.itemset_supports("no/such/file.parquet", **wrong)


def test_catalogue_limits_the_items() -> None:
    assert listed(size=2, catalogue=["a", "c", "unsold"]) == {("a", "c"): 5}


@every("data", [[], pa.table({"user": pa.array([], pa.int64()), "i": pa.array([], pa.string())})])
@every("size", [1, 2, "2-5"])
@every("as_fraction", [False, True])
def test_no_rows_give_no_itemsets(data: Any, size: Any, as_fraction: bool) -> None:
    frame = dpmine.itemset_supports(data, size=size, as_fraction=as_fraction)
    assert frame.empty
    assert list(frame.columns) == ["support", "itemsets"]
    assert frame["support"].dtype == (np.float64 if as_fraction else np.int64)


def test_units_count_once() -> None:
    table = pa.table({"who": [1, 1, 1, 1, 2], "receipt": [1, 1, 2, 2, 1], "what": [7, 8, 7, 8, 7]})
    frame = dpmine.itemset_supports(table, size="1-2", unit="who", basket="receipt", item="what")
    assert dict(zip(frame["itemsets"], frame["support"], strict=True)) == {
        frozenset({7}): 2,
        frozenset({8}): 1,
        frozenset({7, 8}): 1,
    }


@every("seed", range(4))
def test_random_baskets_against_plain_counting(seed: int) -> None:
    generator = np.random.default_rng(seed)
    baskets = [set(generator.integers(0, 12, generator.integers(1, 7)).tolist()) for _ in range(80)]
    counts = Counter(pair for basket in baskets for pair in combinations(sorted(basket), 2))
    frame = dpmine.itemset_supports(baskets, size=2, min_support=3)
    found = {tuple(sorted(s)): c for s, c in zip(frame["itemsets"], frame["support"], strict=True)}
    assert found == {pair: count for pair, count in counts.items() if count >= 3}


@every("as_objects", [False, True])
@every("baskets", [BASKETS, [[3, 1, 2], [2, 3]], [["a", 1], [1, "a", "b"]], [[]]])
@every("block", [1, 700, 2**24])
def test_blocks_say_the_same_as_the_frame(
    as_objects: bool, baskets: list[Any], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpmine.itemsets.exact_supports._BLOCK", block)
    listed = list_supports(baskets, size="1-3", min_support=1)
    table = pa.Table.from_batches(listed.batches(as_objects=as_objects), listed.schema)
    frame = listed.frame()
    assert table["support"].to_pylist() == frame["support"].tolist()
    names = [frozenset(items) for items in table["items"].to_pylist()]
    texts = any(isinstance(item, str) for basket in baskets for item in basket)
    assert names == [frozenset(map(str, each)) if texts else each for each in frame["itemsets"]]
    assert pa.types.is_large_list(table.schema.field("items").type)
    assert block > 1 or len(table["items"].chunks) == max(1, len(frame))


def test_the_layout_is_said_once() -> None:
    notices: list[str] = []
    list_supports(BASKETS, size="1-3", min_support=1, notice=notices.append)
    assert len(notices) == 1


@every("items", [21, 60])
def test_frames_that_do_not_fit_are_rejected_before_they_are_made(items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr("dpmine.itemsets.exact_supports.frozensets", made.append)
    with pytest.raises(BadParameter, match="or write Parquet with dpmine supports"):
        dpmine.itemset_supports([list(range(items))], size=(1, items), memory="300MB")
    assert not made


def test_all_sizes_together_stay_within_the_limit() -> None:
    """Each size of these would fit alone."""
    baskets = [list(range(19))]
    for size in range(1, 20):
        list_supports(baskets, size=size, min_support=1, memory="80MB")
    with pytest.raises(BadParameter, match=r"`min_support`.*`memory`.*`size`"):
        list_supports(baskets, size="1-19", min_support=1, memory="80MB")


def test_what_would_exceed_the_limit_while_it_is_put_in_order_is_rejected() -> None:
    """Measured, a million itemsets take 160 to 180 MB at their peak."""
    with pytest.raises(BadParameter, match="do not fit into the memory limit"):
        list_supports([list(range(20))], size="1-20", min_support=1, memory="150MB")


@every("size", ["1-4", "2-900000000"])
def test_a_search_ends_where_nothing_is_left(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All larger sizes are found by one search: none is asked for by itself."""
    searched: list[int] = []
    whole = Miner.itemsets

    def noted(miner: Miner, size: int, threshold: int, **options: Any) -> Any:
        searched.append(size)
        return whole(miner, size, threshold, **options)

    monkeypatch.setattr(Miner, "itemsets", noted)
    assert len(dpmine.itemset_supports([["a", "b", "c"], ["c", "d"]], size=size)) == (9 if size == "1-4" else 5)
    assert searched == ([1] if size == "1-4" else [])


def test_pandas_frames_of_mlxtend_are_read() -> None:
    frame = pd.DataFrame([{item: item in basket for item in "abc"} for basket in BASKETS])
    assert dpmine.itemset_supports(frame, size=2).equals(dpmine.itemset_supports(BASKETS, size=2))


LONG: dict[str, Any] = {"unit": "u", "item": "i"}
LINES: dict[str, tuple[str, dict[str, Any], int]] = {
    "x.csv": ('u,i\n1,a\n2\n\n2,b\n3,"c\n4,a,x\n5,a,\n', LONG, 3),
    "fit.csv": ("u,i\n1,a\n\n2,b", LONG, 0),
    "x.tsv": (f"u\ti\n1\t{'a' * 2**20}\n2\tb\n", LONG, 1),
    "none.csv": ('1,"a\n2,b\n3\n', {"columns": "u,i", "quotes": "none", **LONG}, 1),
    "x.dat": ("1 2\n\n# one\n \n@who 2\n2", {}, 2),
    "long.dat": (f"1 2\n{'x ' * 2**19}x\n2\n", {}, 1),
    "x.spmf": ("@CONVERTED_FROM_TEXT\n@ITEM=1=one\n1 2\n%\n", {}, 1),
    "where.csv": ("u,i\n1,a\n2\n2,b\n", {"where": "u != '1'", **LONG}, 1),
}  # fmt: skip


@every("name", LINES)
@every("memory", [None, "300MB", "streamed"])
def test_lines_that_were_left_out_are_counted(name: str, memory: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Once, however often a file is read."""
    text, options, expected = LINES[name]
    path, notices = tmp_path / name, list[str]()
    path.write_text(text, encoding="utf-8")
    given = {option: value for option, value in options.items() if option not in LONG}
    columns = {option: value for option, value in options.items() if option in LONG}
    if memory == "streamed":
        monkeypatch.setattr("dpmine.itemsets.read.read_whole", _too_large)
    asked: dict[str, Any] = {"size": 1, "min_support": 1, "memory": "300MB" if memory else None, **columns}
    list_supports(dpmine.Input(path, **given), **asked, notice=notices.append)
    assert [said for said in notices if "lines left out" in said] == [
        f"lines left out: {expected} (blank ones and headers are not counted)"
    ] * bool(expected)


def _too_large(source: Any, plan: Any, **_: Any) -> Any:
    next(iter(source.batches(plan.columns)))
    raise DoesNotFit(iter(()))


def test_no_private_run_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text(LINES["x.csv"][0] * 30, encoding="utf-8")
    monkeypatch.setattr(CountedUnfit, "begin", lambda _: pytest.fail("were counted"))
    notices: list[str] = []
    given: dict[str, Any] = {**LONG, "notice": notices.append}
    dpmine.top_itemset(path, size=1, **given)
    dpmine.top_itemset(path, size=1, mechanism="exact", not_private=True, **given)
    dpmine.frequent_itemsets(path, min_support=500, **given)
    assert notices
    assert not [said for said in notices if "lines left out" in said]


def test_the_library_warns_of_lines_that_were_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(LINES["x.csv"][0], encoding="utf-8")
    with pytest.warns(dpmine.LayoutWarning, match=r"^lines left out: 3 \(blank ones and headers are not counted\)\.$"):
        dpmine.itemset_supports(path, size=1, **LONG)
