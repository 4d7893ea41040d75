"""What changed from window to window: intervals that hold as often as they say, from released numbers alone."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reporting.schedules.weeks import PAIRS, Shop, sales
from reporting.test_page import Page
from support.cases import every

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.itemsets.release.supports import Consistency, release
from dpmine.ledger.budget import Amount
from dpmine.reporting.document import Document
from dpmine.reporting.page.render import render
from dpmine.reporting.page.windows import EACH, changes, supports, windows_of
from dpmine.reporting.terms import PastWindow, Timeline

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.itemsets.release.noise import SupportNoise

NOISES = [DiscreteLaplace(Fraction(1, 4)), DiscreteGaussian(Fraction(1, 50))]
NO_NOISE = {"noise": "laplace", "epsilon_exact": "0"}


def document(rows: dict[str, int], noise: SupportNoise, **others: Any) -> Document:
    listed = [{"items": items.split(), "noisy_support": value, "interval": [0, 1]} for items, value in rows.items()]
    return Document({"itemsets": listed, "sizes": [2, 2], "budget": {"supports": noise.to_dict()}, **others})


def test_both_windows_have_their_part_of_the_level() -> None:
    assert Fraction(95, 100) <= EACH**2


@every("noise", NOISES)
def test_a_change_is_known_within_the_noise_of_both(noise: SupportNoise) -> None:
    before, now = document({"a b": 100, "a c": 50}, noise), document({"a c": 80, "a b": 90, "b c": 7}, noise)
    found = changes(before, now)
    assert [(row.items, row.before, row.now) for row in found] == [(("a", "c"), 50, 80), (("a", "b"), 100, 90)]
    width = noise.simultaneous_half_width(2, EACH) + noise.simultaneous_half_width(3, EACH)
    assert [row.interval for row in found] == [(30 - width, 30 + width), (-10 - width, -10 + width)]


@every(("now", "said"), [("a b", "counted one after the other"), ("b c", "no itemset has a noisy support both in")])
def test_what_is_not_compared_is_not_said_to_be_missing(now: str, said: str) -> None:
    """Supports that were counted one after the other have no noise of their own in the budget's parts."""
    stored = [
        {"itemsets": [{"items": items.split(), "noisy_support": 9, "interval": [0, 9]}]} for items in ("a b", now)
    ]
    windows = tuple(PastWindow(f"W{number}", {"Pairs": each}, charged=True) for number, each in enumerate(stored))
    (job,) = windows_of(Timeline(windows, Amount(), Amount())).jobs
    assert said in job.remarks[0]


def test_the_width_of_one_laplace_noise_is_the_textbooks() -> None:
    """Pr[|X| > t] = 2 q^(t+1)/(1+q), summed here term by term."""
    noise = DiscreteLaplace(Fraction(1, 4))
    (row,) = changes(document({"a b": 0}, noise), document({"a b": 0}, noise))
    q = exp(-0.25)
    inside = [(1 - q) / (1 + q) * sum(q ** abs(x) for x in range(-t, t + 1)) for t in range(60)]
    least = next(t for t, chance in enumerate(inside) if chance >= 39 / 40)
    assert row.interval == (-2 * least, 2 * least)


def test_what_was_left_out_had_noise_too() -> None:
    noise = NOISES[0]
    alone = changes(document({"a b": 9}, noise), document({"a b": 9}, noise))[0]
    others = changes(document({"a b": 9}, noise, left_out=9), document({"a b": 9}, noise, left_out=9))[0]
    assert others.interval[1] == 2 * noise.simultaneous_half_width(10, EACH) > alone.interval[1]
    rows = [{"items": ["a"], "noisy_support": 9, "interval": [0, 1]}]
    subsets = document({"a b": 9}, noise, left_out=1, subsets=rows)
    assert changes(subsets, subsets)[0].interval[1] == 2 * noise.simultaneous_half_width(2 + 3, EACH)


def test_counts_of_unions_had_noise_too() -> None:
    """One pair is listed and one is left out: two singles would be shared at best, and the pair has a union."""
    noise, rows = NOISES[0], [{"items": ["a", "b"], "noisy_support": 9, "interval": [0, 1]}]
    known = document({"a b": 9}, noise, subsets=[], unions=rows)
    assert changes(known, known)[0].interval[1] == 2 * noise.simultaneous_half_width(2, EACH)
    known = document({"a b": 9}, noise, subsets=[], unions=rows, left_out=1)
    assert changes(known, known)[0].interval[1] == 2 * noise.simultaneous_half_width(2 + 4, EACH)


@every("verdict", ["more", "fewer", "not clear"])
def test_directions(verdict: str) -> None:
    noise, now = NOISES[0], {"more": 1000, "fewer": 0, "not clear": 501}[verdict]
    (row,) = changes(document({"a b": 500}, noise), document({"a b": now}, noise))
    assert row.verdict == verdict


def test_without_supports_nothing_is_compared() -> None:
    row = {"items": ["a", "b"], "noisy_support": None, "interval": None}
    listed = Document({"itemsets": [row], "sizes": [2, 2]})
    assert changes(listed, listed) == ()
    assert supports(listed) == {}
    empty = document({}, NOISES[0])
    assert changes(empty, empty) == ()


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
        found = changes(*documents)
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
        "Pairs: what changed from 2025-W06 to 2025-W07",
        "bread + butter 30 30 +0 +0 to +0 not clear",
        "jam + tea 4 5 +1 +1 to +1 more",
        "all of them together with probability 95 %",
        "All together A guarantee of ε = 5000, δ = 0.005 for each customer",
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
    assert "Pairs: there is no earlier result to compare with yet." in text
    assert "All together A guarantee of ε = 2000, δ = 0.002 for each customer" in text


@every(
    "altered",
    [{"itemsets": 7}, {"itemsets": None}, {"left_out": -5}, {"sizes": [2, -2]}, {"budget": {"supports": NO_NOISE}}],
)
def test_a_result_that_was_changed_by_hand_does_not_stop_the_page(altered: dict[str, Any]) -> None:
    stored = {**document({"a b": 9}, NOISES[0], left_out=1).entries, **altered}
    windows = [PastWindow("W1", {"Pairs": stored}, charged=True), PastWindow("W2", {"Pairs": stored}, charged=True)]
    (shown,) = windows_of(Timeline(tuple(windows), Amount(), Amount())).jobs
    assert shown.remarks == ("Pairs: a stored result cannot be shown; restore its file.",)
