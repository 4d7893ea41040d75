"""What changed from window to window: intervals that hold as often as they say, from released numbers alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reporting.schedules.weeks import PAIRS, Shop, sales
from reporting.test_page import Page
from support.cases import every

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace, level_of_one
from dpmine.itemsets.release.supports import Consistency, release
from dpmine.ledger.budget import Amount
from dpmine.reporting.document import Document
from dpmine.reporting.history import PastWindow, Timeline
from dpmine.reporting.jobs.file import UnitWords
from dpmine.reporting.page.changes import Change, KnownSupports, changes
from dpmine.reporting.page.render import render
from dpmine.reporting.page.windows import Cell, JobInWindows, windows_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dpmine.itemsets.release.noise import SupportNoise

EACH = Fraction(39, 40)
WORDS = UnitWords.read("customer")
NOISES = [DiscreteLaplace(Fraction(1, 4)), DiscreteGaussian(Fraction(1, 50))]
NO_NOISE = {"noise": "laplace", "epsilon_exact": "0"}


def document(rows: dict[str, int], noise: SupportNoise, **others: Any) -> Document:
    listed = [{"items": items.split(), "noisy_support": value, "interval": [0, 1]} for items, value in rows.items()]
    return Document({"itemsets": listed, "sizes": [2, 2], "budget": {"supports": noise.to_dict()}, **others})


def between(before: Document, now: Document) -> tuple[Change, ...]:
    return changes(KnownSupports.of(before, 2), KnownSupports.of(now, 2))


@every("results", [1, 2, 12, 365])
def test_all_results_have_their_part_of_the_level(results: int) -> None:
    assert level_of_one(results) ** results >= Fraction(95, 100)


@every("noise", NOISES)
def test_a_change_is_known_within_the_noise_of_both(noise: SupportNoise) -> None:
    before, now = document({"a b": 100, "a c": 50}, noise), document({"a c": 80, "a b": 90, "b c": 7}, noise)
    found = between(before, now)
    assert [(row.items, row.before, row.now) for row in found] == [(("a", "c"), 50, 80), (("a", "b"), 100, 90)]
    width = noise.simultaneous_half_width(2, EACH) + noise.simultaneous_half_width(3, EACH)
    assert [row.interval for row in found] == [(30 - width, 30 + width), (-10 - width, -10 + width)]


def adaptive(rows: dict[str, tuple[int, int, int]], **others: Any) -> Document:
    """Of frequent itemsets: intervals of their own, that hold together."""
    listed = [
        {"items": items.split(), "noisy_support": value, "interval": [low, high]}
        for items, (low, value, high) in rows.items()
    ]
    return Document({"itemsets": listed, "complete_above": None, **others})


def section(kind: str, *documents: Mapping[str, object] | None) -> JobInWindows:
    stored = [None if each is None else dict(each) for each in documents]
    windows = tuple(PastWindow(f"W{number}", {"Job": each}, charged=True) for number, each in enumerate(stored))
    (shown,) = windows_of(Timeline(windows, Amount(), Amount()), [kind], WORDS).jobs
    return shown


def test_supports_counted_one_after_the_other_change_within_both_intervals() -> None:
    """Each interval as it is; both windows' hold together with 0.95² at least."""
    before, now = adaptive({"a b": (90, 100, 105), "c": (1, 2, 3)}), adaptive({"a b": (130, 150, 155)})
    (row,) = between(before, now)
    assert row.interval == (130 - 105, 155 - 90)
    frequent = {"counted_items": 2, "max_size": 2, "threshold": None}
    shown = section("frequent-itemsets", *({**each.entries, **frequent} for each in (before, now)))
    assert "those of two windows that are chosen beforehand with probability 90 %" in shown.remarks[0]
    assert [table.rows for table in shown.tables] == [(("a + b", "100", "150", "+50", "+25 to +65", "more"),)]
    assert shown.matrix is not None
    assert [cell and (cell.text, cell.margin) for cell in shown.matrix.rows[0][1]] == [("100", "±10"), ("150", "±20")]
    assert shown.matrix.rows[1] == ("c", (Cell("2", "±1", 2 / 150), None))


def test_what_is_in_one_window_alone_is_not_compared() -> None:
    shown = section("top-itemset", document({"a b": 9}, NOISES[0]).entries, document({"b c": 9}, NOISES[0]).entries)
    assert shown.tables == ()
    assert shown.remarks == ("No changes are shown: no itemset has a noisy support in W1 and in an earlier window.",)


def test_an_itemset_is_not_called_unlisted_where_there_is_no_result() -> None:
    known = {**document({"a b": 9}, NOISES[0]).entries, "mechanism": "exponential"}
    matrix = section("top-itemset", known, None, known).matrix
    assert matrix is not None
    assert [cell and cell.text for cell in matrix.rows[0][1]] == ["9", "no result", "9"]


def test_every_earlier_window_is_compared_with_the_newest() -> None:
    """All of them together at 0.95: the intervals of four windows are those of a level of 1 − 0.05/4 each."""
    noise = NOISES[0]
    stored = [document({"a b": value}, noise).entries for value in (500, 0, 100, 90)]
    shown = section("top-itemset", stored[0], None, *stored[1:])
    assert [(table.caption, table.folded) for table in shown.tables] == [
        ("What changed from W3 to W4", False),
        ("What changed from W2 to W4", True),
        ("What changed from W0 to W4", True),
    ]
    width = noise.simultaneous_half_width(1, Fraction(79, 80))
    assert [table.rows[0][-2:] for table in shown.tables] == [
        (f"{-10 - 2 * width:+} to {-10 + 2 * width:+}", "not clear"),
        (f"{90 - 2 * width:+} to {90 + 2 * width:+}", "more"),
        (f"{-410 - 2 * width:+} to {-410 + 2 * width:+}", "fewer"),
    ]
    assert shown.matrix is not None
    ((_, cells),) = shown.matrix.rows
    assert [cell and cell.margin for cell in cells] == [f"±{width}", "", *[f"±{width}"] * 3]
    assert [(each.window, each.newest) for each in shown.windows] == [
        ("W4", True),
        ("W3", False),
        ("W2", False),
        ("W0", False),
    ]


def test_lists_without_numbers_have_a_matrix_too() -> None:
    row = {"items": ["a", "b"], "noisy_support": None, "interval": None}
    shown = section("top-itemset", *({"itemsets": rows, "sizes": [2, 2], "mechanism": "x"} for rows in ([row], [])))
    assert shown.matrix is not None
    assert shown.matrix.rows == (("a + b", (Cell("listed", "", 0.0), None)),)


def test_the_width_of_one_laplace_noise_is_the_textbooks() -> None:
    """Pr[|X| > t] = 2 q^(t+1)/(1+q), summed here term by term."""
    noise = DiscreteLaplace(Fraction(1, 4))
    (row,) = between(document({"a b": 0}, noise), document({"a b": 0}, noise))
    q = exp(-0.25)
    inside = [(1 - q) / (1 + q) * sum(q ** abs(x) for x in range(-t, t + 1)) for t in range(60)]
    least = next(t for t, chance in enumerate(inside) if chance >= 39 / 40)
    assert row.interval == (-2 * least, 2 * least)


def test_what_was_left_out_had_noise_too() -> None:
    noise = NOISES[0]
    alone = between(document({"a b": 9}, noise), document({"a b": 9}, noise))[0]
    others = between(document({"a b": 9}, noise, left_out=9), document({"a b": 9}, noise, left_out=9))[0]
    assert others.interval[1] == 2 * noise.simultaneous_half_width(10, EACH) > alone.interval[1]
    rows = [{"items": ["a"], "noisy_support": 9, "interval": [0, 1]}]
    subsets = document({"a b": 9}, noise, left_out=1, subsets=rows)
    assert between(subsets, subsets)[0].interval[1] == 2 * noise.simultaneous_half_width(2 + 3, EACH)


def test_counts_of_unions_had_noise_too() -> None:
    """One pair is listed and one is left out: two singles would be shared at best, and the pair has a union."""
    noise, rows = NOISES[0], [{"items": ["a", "b"], "noisy_support": 9, "interval": [0, 1]}]
    known = document({"a b": 9}, noise, subsets=[], unions=rows)
    assert between(known, known)[0].interval[1] == 2 * noise.simultaneous_half_width(2, EACH)
    known = document({"a b": 9}, noise, subsets=[], unions=rows, left_out=1)
    assert between(known, known)[0].interval[1] == 2 * noise.simultaneous_half_width(2 + 4, EACH)


@every("verdict", ["more", "fewer", "not clear"])
def test_directions(verdict: str) -> None:
    noise, now = NOISES[0], {"more": 1000, "fewer": 0, "not clear": 501}[verdict]
    (row,) = between(document({"a b": 500}, noise), document({"a b": now}, noise))
    assert row.verdict == verdict


def test_without_supports_nothing_is_compared() -> None:
    row = {"items": ["a", "b"], "noisy_support": None, "interval": None}
    listed = Document({"itemsets": [row], "sizes": [2, 2]})
    assert between(listed, listed) == ()
    assert KnownSupports.of(listed, 2).values == {}
    empty = document({}, NOISES[0])
    assert between(empty, empty) == ()


@pytest.mark.statistical
def test_all_windows_hold_together_as_often_as_they_say() -> None:
    """Four windows, whose list depends on the ones before: the binomial tail is that of the test below."""
    truths = {"a b": (200, 150, 90, 20), "a c": (40, 35, 60, 50), "b c": (7, 7, 0, 90)}
    noise, held = NOISES[0], 0
    for _ in range(2000):
        documents: list[Document] = []
        wanted = list(truths)
        for window in range(4):
            exact = [truths[each][window] for each in wanted]
            itemsets = [frozenset(each.split()) for each in wanted]
            drawn = release(itemsets, exact, noise=noise, bits=SystemBits())
            documents.append(document(dict(zip(wanted, drawn.values, strict=True)), noise))
            wanted = [max(wanted, key=lambda each: drawn.values[wanted.index(each)]), "b c"]
            wanted = list(dict.fromkeys(wanted))
        known = [KnownSupports.of(each, 4) for each in documents]
        held += all(
            row.interval[0] <= truths[f"{row.items[0]} {row.items[1]}"][j] - before <= row.interval[1]
            for i, j in combinations(range(4), 2)
            for row in changes(known[i], known[j])
            for before in [truths[f"{row.items[0]} {row.items[1]}"][i]]
        )
    assert held >= 1840


@pytest.mark.statistical
@pytest.mark.parametrize("consistency", Consistency)
@pytest.mark.parametrize("noise", NOISES)
def test_all_intervals_hold_together_as_often_as_they_say(noise: SupportNoise, consistency: Consistency) -> None:
    """95 % of the draws at least: with 2000 of them, fewer than 1840 have a probability below 1e-7 (Chernoff).

    Four cases: false alarms below 4e-7. The binomial tail is at most exp(−2000 KL(0.92, 0.95)).
    """
    itemsets = tuple(frozenset(each.split()) for each in ("a", "b", "c", "a b", "a c"))
    truths = [200, 150, 90, 80, 40], [210, 150, 60, 85, 20]
    held = 0
    for _ in range(2000):
        documents = []
        for truth in truths:
            drawn = release(itemsets, truth, noise=noise, consistency=consistency, bits=SystemBits())
            named = {" ".join(sorted(each)): value for each, value in zip(drawn.itemsets, drawn.values, strict=True)}
            documents.append(document(named, noise))
        true: dict[tuple[Any, ...], int] = {
            tuple(sorted(each)): new - old for each, old, new in zip(itemsets, *truths, strict=True)
        }
        found = between(*documents)
        held += all(row.interval[0] <= true[row.items] <= row.interval[1] for row in found)
        assert len(found) == 5
    kl = 0.92 * np.log(0.92 / 0.95) + 0.08 * np.log(0.08 / 0.05)
    assert exp(-2000 * kl) < 1e-7
    assert held >= 1840


def test_the_page_shows_all_windows(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 12, without=3)
    shop = Shop(tmp_path, jobs=(PAIRS | {"top": 2},))
    shop.run("2025-W03")
    report = shop.run("2025-W07")
    page = Page(render(report))
    for said in (
        "All windows",
        "5 windows from 2025-W03 to 2025-W07, 0 without a result.",
        "What changed from 2025-W06 to 2025-W07",
        "bread + butter 30 30 +0 +0 to +0 not clear",
        "jam + tea 4 5 +1 +1 to +1 more",
        "All intervals hold together, in all windows, with probability 95 %.",
        "The difference of two numbers of a row is right within the sum of their ±.",
        "For the privacy officer: ε = 5000, δ = 0.005",
        "all windows 9.6 % ε = 5000, δ = 0.005",
        "a set of outcomes might have had more than 100 million times its probability",
    ):
        assert said in page.text, said
    charts = [
        attributes for tag, attributes in page.tags if tag == "svg" and "by window" in str(attributes["aria-label"])
    ]
    assert len(charts) == 2
    assert report.timeline is not None
    listed = [len(window.documents["Pairs"]["itemsets"]) for window in report.timeline.windows]  # type: ignore[index]
    assert listed[2] == 0  # the week without data
    assert sum(tag == "circle" for tag, _ in page.tags) == 2 * sum(listed)  # in both widths


def test_the_page_says_which_windows_have_no_result(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 12)
    shop = Shop(tmp_path, schedule={"every": "week", "runs": 52, "column": "at", "ready": "clock", "missed": "skip"})
    shop.results["store"] = "folder"
    shop.run("2025-W03")
    for path in (tmp_path / "jobs-results").glob("*.json"):
        path.unlink()
    text = Page(render(shop.run("2025-W05"))).text
    assert "3 windows from 2025-W03 to 2025-W05, 2 without a result." in text
    assert "2025-W03 charged, without a result here 2025-W04 not run, and not charged" in text
    assert "There is no earlier result to compare with yet." in text
    assert "For the privacy officer: ε = 2000, δ = 0.002" in text


@every(
    "altered",
    [{"itemsets": 7}, {"itemsets": None}, {"left_out": -5}, {"sizes": [2, -2]}, {"budget": {"supports": NO_NOISE}}],
)
def test_a_result_that_was_changed_by_hand_does_not_stop_the_page(altered: dict[str, Any]) -> None:
    stored = {**document({"a b": 9}, NOISES[0], left_out=1).entries, **altered}
    windows = [PastWindow("W1", {"Pairs": stored}, charged=True), PastWindow("W2", {"Pairs": stored}, charged=True)]
    (shown,) = windows_of(Timeline(tuple(windows), Amount(), Amount()), ["top-itemset"], WORDS).jobs
    assert shown.remarks == ("A stored result cannot be shown; restore its file.",)
