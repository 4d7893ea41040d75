"""Frequent itemsets as people get them: the command, the plan, jobs and their page, tables and pictures."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from support.command_line import assert_one_error, outcome_of

import dpmine
from dpmine.errors import BadParameter
from dpmine.itemsets.best_first.plan import Planner
from dpmine.itemsets.release.picture import MOST_RULES, DrawnRule, draw_itemsets, draw_matrix, draw_network, draw_rules
from dpmine.itemsets.release.rules import plain_rules
from dpmine.planning.lists import plan_frequent
from dpmine.reporting.jobs.file import UnitWords
from dpmine.reporting.page.bodies import body_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dpmine.itemsets.best_first.plan import CountingPlan, Gauge

BASKETS = [*[["a", "b", "c"]] * 3000, *[["a", "b"]] * 1000, *[["d", "e, f"]] * 900]
RUN = ["frequent-itemsets", "sales.parquet", "--unit", "unit", "--item", "item", "--epsilon", "50"]
LISTED = [*RUN, "--min-support", "700", "--units", "4900"]
CUSTOMERS = UnitWords("customer", "customers")
TRUE = {
    **dict.fromkeys(["a", "b", "a, b"], 4000),
    **dict.fromkeys(["c", "a, c", "b, c", "a, b, c"], 3000),
    **dict.fromkeys(["d", '"e, f"', 'd, "e, f"'], 900),
}


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> outcome_of:
    monkeypatch.chdir(tmp_path)
    rows = [(unit, item) for unit, basket in enumerate(BASKETS) for item in basket]
    units, items = zip(*rows, strict=True)
    pq.write_table(pa.table({"unit": units, "day": [1] * len(units), "item": items}), "sales.parquet")
    return outcome_of(capfd)


def document(run: outcome_of, *arguments: str) -> Any:
    outcome = run(*arguments, "--format", "json")
    assert outcome.status == 0, outcome
    return json.loads(outcome.out)


def frequent(**options: Any) -> Any:
    return dpmine.frequent_itemsets(BASKETS, **{"epsilon": 50, "units": 4900, **options})


def test_text_names_each_itemset_with_what_is_sure_and_says_what_may_be_missing(run: outcome_of) -> None:
    head, *lines = run(*LISTED).out.splitlines()
    assert re.split(r"  +", head) == ["noisy support", "interval", "share", "certain", "itemset"]
    rows = [re.split(r"  +", line) for line in lines[: len(TRUE)]]
    assert {row[-1] for row in rows} == TRUE.keys()
    assert all(abs(int(row[0].replace(",", "")) - TRUE[row[-1]]) < 200 for row in rows)
    assert {row[3] for row in rows} == {"yes"}
    missing, guarantee = lines[len(TRUE) :]
    assert "and no other itemset of at most 5 items, all among the 5 counted, has a support above" in missing
    assert guarantee == "(ε = 50, δ = 1e-06 per unit, neighbours replace-one)"


def test_json_has_the_keys_of_the_contract(run: outcome_of) -> None:
    found = document(run, *LISTED, "--rules", "--min-confidence", "0.9")
    assert {"itemsets", "threshold", "complete_above", "counted", "guarantee"} < found.keys()
    assert found["threshold"] == 700
    assert found["itemsets"][0].keys() == {"items", "noisy_support", "interval", "support", "certain"}
    assert {tuple(rule["antecedents"]) for rule in found["rules"]} >= {("c",), ("d",)}
    assert all(rule["confidence"] >= 0.9 and rule["lift"] > 0 for rule in found["rules"])


def test_where_no_rule_is_confident_enough_the_confidence_is_named(run: outcome_of) -> None:
    baskets = [*[["a", "b"]] * 1000, *[["a"]] * 500, *[["b"]] * 500]
    pq.write_table(pa.table({"items": baskets}), "lists.parquet")
    listed = ["frequent-itemsets", "lists.parquet", "--min-support", "700", "--epsilon", "50", "--rules"]
    outcome = run(*listed, "--min-confidence", "0.9")
    assert outcome.out.splitlines()[-1] == "No rule has a confidence of 0.9 or more (--min-confidence)."
    again = "rules of less confidence than 0.9 would need another run, which is charged again"
    assert again in outcome.err
    assert "would need another run" not in run(*listed, "--min-confidence", "0").err


def test_maximal_lists_the_largest_and_rules_stay_those_of_all(run: outcome_of) -> None:
    listed = ["--maximal", "--rules", "--min-confidence", "0"]
    found = document(run, *LISTED, *listed)
    assert {tuple(row["items"]) for row in found["itemsets"]} == {("a", "b", "c"), ("d", "e, f")}
    assert found["maximal_only"]
    assert "(Itemsets that another listed one contains are left out.)" in run(*LISTED, "--maximal").out
    assert ({"a"}, {"b"}) in [({*rule["antecedents"]}, {*rule["consequents"]}) for rule in found["rules"]]


def test_too_small_a_public_number_of_units_is_remarked_in_every_form(run: outcome_of) -> None:
    too_few = [*RUN, "--min-support", "700", "--units", "1000"]
    remark = "(a noisy support is above units = 1,000: shares end at 100 %; check that number)"
    assert remark in run(*too_few).out.splitlines()
    assert remark in document(run, *too_few)["remarks"]
    assert not any("noisy support is above" in text for text in document(run, *LISTED)["remarks"])
    assert not any("noisy support is above" in text for text in document(run, *RUN, "--top", "3")["remarks"])


def test_tables(run: outcome_of) -> None:
    rows = list(csv.DictReader(io.StringIO(run(*LISTED, "--format", "csv").out)))
    assert {", ".join(json.loads(row["items"])) for row in rows} == {key.replace('"', "") for key in TRUE}
    assert run(*RUN, "--top", "3", "-o", "best.parquet").status == 0
    table = pq.read_table("best.parquet")
    assert table.num_rows == 3
    assert table["certain"].null_count == 3
    assert json.loads(table.schema.metadata[b"dpmine"])["threshold"] is None


def test_items_keep_their_type_in_tables() -> None:
    baskets = [[3, 20]] * 3000
    table = dpmine.frequent_itemsets(baskets, 700, epsilon=50).to_arrow()
    assert sorted(table["items"].to_pylist()) == [[3], [3, 20], [20]]
    assert dpmine.frequent_itemsets([], 700, epsilon=50).to_arrow()["items"].type == pa.list_(pa.string())


def test_a_dry_run_and_the_plan_say_the_same(run: outcome_of) -> None:
    """And nothing is read: the numbers are those of public parameters alone."""
    wanted = ["--min-support", "700", "--units", "4900", "--epsilon", "50"]
    planned = run("plan", "--frequent", *wanted).out.splitlines()
    dry = run(*LISTED, "--dry-run").out.splitlines()
    assert dry[2:] == planned[:-1]
    foreseen = document(run, *LISTED, "--dry-run")["forecast"]
    assert foreseen.items() <= document(run, "plan", "--frequent", *wanted).items()
    assert foreseen["counts"] >= 100


def test_a_plan_foresees_what_a_run_releases() -> None:
    """The intervals are at most as wide as it says; cells and caps have less noise."""
    plan = plan_frequent(700, units=4900, epsilon=50, catalogue_size=6)
    assert plan.forecast.precisions is not None
    foreseen = plan.forecast.precisions.if_many
    found = frequent(min_support=700, catalogue=["a", "b", "c", "d", "e, f", "g"])
    widths = {len(each): high - low for each, (low, high) in zip(found, found.intervals, strict=True) if low > 0}
    assert widths.keys() == {1, 2, 3}
    assert all(0 < width <= 2 * foreseen.half_widths[size - 1] + 1 for size, width in widths.items())


@pytest.mark.parametrize("epsilon", [5, 10])
def test_a_plan_foresees_how_many_supports_a_run_counts(monkeypatch: pytest.MonkeyPatch, epsilon: int) -> None:
    """Where units have one item each, more are counted as long as their noise stays small."""
    planned = plan_frequent(200, epsilon=epsilon, catalogue_size=12)
    counted, honest = list[int](), Planner.plan

    def noted(self: Planner, weights: Sequence[float], gauge: Gauge) -> CountingPlan:
        decided = honest(self, weights, gauge)
        counted.append(decided.counts)
        return decided

    monkeypatch.setattr(Planner, "plan", noted)
    items = [f"item {number}" for number in range(12)]
    found = dpmine.frequent_itemsets(
        [[item] for item in items * 500], min_support=200, epsilon=epsilon, catalogue=items
    )
    assert planned.forecast.precisions is not None
    if_many, if_few = planned.forecast.precisions
    assert [if_few.counts] == counted
    assert counted[0] > if_many.counts
    (width,) = set(if_few.half_widths)
    assert f"up to about {counted[0]:,} are counted, within ±{width:,} units" in str(planned)
    narrow = [support - low for support, (low, _) in zip(found.noisy_supports, found.intervals, strict=True)]
    assert width / 2 < max(narrow) <= width


def test_a_plan_of_the_best_promises_no_more_counts() -> None:
    planned = plan_frequent(k=50)
    assert planned.forecast.precisions is not None
    if_many, if_few = planned.forecast.precisions
    assert if_few.counts < if_many.counts
    assert if_few.half_widths[-1] < if_many.half_widths[-1]


def test_a_plan_without_the_number_of_units_says_what_it_cannot_know() -> None:
    plan = plan_frequent("2%")
    assert plan.forecast.precisions is None
    assert "give it as the option units, in a forecast also as a guess" in str(plan)
    assert plan_frequent(k=5, max_size=1).forecast.to_dict()["half_widths"][1:] == []


def test_units_of_several_baskets_have_rules_with_their_meaning(run: outcome_of) -> None:
    outcome = run(*RUN, "--basket", "day", "--top", "10", "--rules")
    assert "confidence: of the units with a rule's first items in one basket" in outcome.err
    assert "lift needs units with one basket each" in outcome.err
    assert "lift" not in outcome.out
    assert "confidence: of" not in run(*RUN, "--basket", "day", "--top", "10").err


MISTAKES = [
    ([], "Give the least support (--min-support 0.02), or the number of itemsets (--top 100)."),
    (["--top", "5", "--min-support", "2%"], "exclude each other: give only one of them."),
    (["--min-support", "1.5"], "--min-support must be a count of at least 1 (100), or a share above 0 up to 1"),
    (["--min-support", "1"], "or a larger epsilon; a share is written 1%."),
    (["--top", "5", "--max-size", "0"], "--max-size must be a whole number of at least 1"),
    (["--top", "5", "--max-size", "13"], "--max-size must be at most 12"),
    (["--top", "5", "--min-confidence", "0.5"], "--min-confidence is for rules: give --rules, too."),
    (["--top", "5", "--neighbors", "both"], "--neighbors must be"),
]


@pytest.mark.parametrize(("options", "said"), MISTAKES)
def test_mistakes_are_one_line_before_anything_is_read(run: outcome_of, options: list[str], said: str) -> None:
    Path("sales.parquet").write_bytes(Path("sales.parquet").read_bytes()[:100])  # would be another complaint
    assert said in assert_one_error(run(*RUN, *options))


@pytest.mark.parametrize(
    "asked",
    [
        ["--frequent", "--top", "20"],
        ["--frequent", "--min-support", "2%", "--units", "30000"],
        ["--top", "20", "--units", "25900"],
        ["--runs", "5"],
        ["--noise", "5"],
        ["--learn", "thresholds", "--accuracy", "0.05"],
        ["--gap", "50"],
    ],
)
def test_every_plan_is_made(run: outcome_of, asked: list[str]) -> None:
    outcome = run("plan", *asked)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out


@pytest.mark.parametrize("asked", ["--top", "--runs", "--noise"])
def test_a_plan_for_none_is_a_mistake(run: outcome_of, asked: str) -> None:
    assert "must be a whole number of at least" in assert_one_error(run("plan", asked, "0"))


def test_options_of_the_plan_belong_to_it(run: outcome_of) -> None:
    assert "--max-size belongs to --frequent" in assert_one_error(run("plan", "--max-size", "3"))
    assert "--size does not belong to --frequent" in assert_one_error(run("plan", "--frequent", "--size", "3"))


@pytest.mark.parametrize("kind", ["bars", "network", "matrix"])
def test_pictures_draw_each_listed_item_and_nothing_else(kind: str) -> None:
    axes = frequent(min_support=700).plot(kind=kind)
    labels = [*axes.texts, *axes.get_yticklabels(), *axes.get_xticklabels()]
    shown = {label.get_text() for label in labels}
    assert {"a", "b", "c", "d"} < shown
    assert axes.get_title() == "ε = 50, δ = 1e-06 per row, neighbours replace-one"
    lines = [line for line in axes.lines if len(line.get_xdata()) == 2]
    assert len(lines) == (4 if kind == "network" else 0)  # ab, ac, bc, and d with the other
    assert len(axes.patches) == {"bars": len(TRUE), "network": 0, "matrix": 8}[kind]


def test_a_picture_of_rules_has_a_rectangle_for_each_around_its_point() -> None:
    found = frequent(min_support=700)
    rules = found.rules()
    axes = found.plot(kind="rules")
    assert 3 < len(rules) == len(axes.patches) == len(axes.lines) == len(axes.texts) - 1
    for rule, box, point in zip(rules.itertuples(), axes.patches, axes.lines, strict=True):
        (x,), (y,) = point.get_data()
        assert (x, y) == (rule.noisy_support, rule.confidence)
        interval = found.supports.by_itemset[rule.antecedents | rule.consequents][1]
        ends = rule.confidence_low, rule.confidence_high
        assert (box.get_x(), box.get_x() + box.get_width()) == interval
        assert (box.get_y(), box.get_y() + box.get_height()) == pytest.approx(ends)
    names = axes.texts[-1].get_text().splitlines()
    assert names[0] == f"1  {', '.join(sorted(rules.antecedents[0]))} → {', '.join(sorted(rules.consequents[0]))}"
    with pytest.raises(BadParameter, match="all subsets"):
        found.without_subsets().plot(kind="rules")


def test_long_names_and_letters_without_a_font_leave_a_picture_of_rules_its_room() -> None:
    """Each side of a rule has its line; no warning of matplotlib's, which would quote the letter."""
    letters = "漢🎁"
    names = [f"{place} {'W' * 60} {letters}" for place in range(8)]
    rules = [
        DrawnRule((name, f"to {letters} {name}"), (9 + place, 8, 20), (0.5, 0.4, 0.6))
        for place, name in enumerate(names)
    ]
    axes = draw_rules(None, rules, f"ε = 1, δ = 1e-06 per {letters}, neighbours replace-one")
    figure = laid_out(axes)
    lines = axes.texts[-1].get_text().splitlines()
    assert len(lines) == 2 * len(rules)
    assert lines[1].strip().startswith("→ to □□ 0 WWW")
    assert axes.get_title() == "ε = 1, δ = 1e-06 per □□, neighbours replace-one"
    canvas = figure.bbox
    assert axes.get_window_extent().width > 0.35 * canvas.width
    for part in (axes.title, axes.texts[-1]):
        box = part.get_window_extent()
        assert canvas.x0 <= box.x0 < box.x1 <= canvas.x1
        assert canvas.y0 <= box.y0 < box.y1 <= canvas.y1
    for draw in (draw_network, draw_matrix):
        laid_out(draw(None, names, {(names[0], names[1]): (9, True)}, letters))
    laid_out(draw_itemsets(None, names, None, None, letters))


def laid_out(axes: Axes) -> Figure:
    """Its figure, with everything in its place; warnings are errors."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    return figure


def test_top_itemsets_draw_rules_where_they_were_asked_for() -> None:
    run: dict[str, Any] = {"k": 1, "epsilon": 50, "catalogue": ["a", "b", "c", "d"], "release_support": 1, "size": 2}
    found = dpmine.top_itemsets([["a", "b"]] * 3000, rules=True, **run)
    axes = found.plot(kind="rules")
    assert len(axes.patches) == len(found.rules()) == 2
    assert axes.get_title() == found.plot().get_title()
    with pytest.raises(BadParameter, match="rules=True"):
        dpmine.top_itemsets([["a", "b"]] * 3000, **run).plot(kind="rules")
    with pytest.raises(BadParameter, match="'bars' or 'rules'"):
        found.plot(kind="matrix")


def test_the_page_draws_rules_with_the_numbers_of_their_table() -> None:
    found = frequent(min_support=700)
    document = {**found.to_dict(), "rules": plain_rules(found.rules())}
    body = body_of("frequent-itemsets", document, CUSTOMERS)
    picture, rules = body.charts[-1], body.tables[-1]
    drawn = len(found.rules())
    for text in (picture.narrow, picture.wide):
        assert text.count("<rect") == text.count("<circle") == drawn
        assert re.findall(r">(\d+)</text>", text.partition("<circle")[2].partition('fill: var(--muted)">conf')[0]) == (
            list(rules.columns["No."])
        )
    assert f"at most {MOST_RULES} are drawn" in picture.caption
    assert body_of("frequent-itemsets", found.to_dict(), CUSTOMERS).charts == body.charts[:-1]
    altered = {**document, "itemsets": document["itemsets"][:1]}
    assert "The stored result cannot be shown" in body_of("frequent-itemsets", altered, CUSTOMERS).answer


def test_a_network_of_maximal_itemsets_has_their_items() -> None:
    pairs = dpmine.frequent_itemsets([["a", "b"]] * 3000, 700, epsilon=50).without_subsets()
    axes = pairs.plot(kind="network")
    assert {label.get_text() for label in axes.texts} == {"a", "b"}
    assert len([line for line in axes.lines if np.size(line.get_xdata()) == 2]) == 1


def test_numbers_of_numpy_are_numbers() -> None:
    planned = dpmine.dry_run(dpmine.frequent_itemsets, BASKETS, k=np.int64(5))
    assert json.loads(planned.to_json())["forecast"]["k"] == 5


def test_pictures_show_what_is_not_certain_paler() -> None:
    found = frequent(min_support=700)
    pair = frozenset({"d", "e, f"})
    found = replace(found, certain=tuple(each != pair for each in found))
    (line,) = [each for each in found.plot(kind="network").lines if len(each.get_xdata()) == 2 and each.get_alpha() < 1]
    assert line.get_linewidth() < 2
    assert [cell.get_hatch() for cell in found.plot(kind="matrix").patches].count("///") == 2


def test_the_page_says_how_many_are_sure_and_what_may_be_missing() -> None:
    found = frequent(min_support=700)
    document = {**found.to_dict(), "rules": []}
    body = body_of("frequent-itemsets", document, CUSTOMERS)
    assert body.answer.startswith("10 itemsets have a noisy number of 700 customers or more. ")
    assert "10 of them surely have 700 or more." in body.sure
    assert f"has more than {found.complete_above:,} customers, beside these and their subsets." in body.sure
    assert body.tables[0].columns["Surely"] == ["yes"] * 10
    alone = body_of("frequent-itemsets", found.without_subsets().to_dict(), CUSTOMERS)
    assert "2 itemsets have a noisy number of 700 customers or more. What one of these contains is left out." in (
        alone.answer
    )
    best = body_of("frequent-itemsets", frequent(k=3).to_dict(), CUSTOMERS)
    assert best.answer.startswith("3 itemsets have the largest noisy numbers of customers.")
    assert "Surely" not in best.tables[0].columns


def test_the_page_of_an_empty_list_says_what_helps() -> None:
    nothing = dpmine.frequent_itemsets([], "50%", epsilon=5)
    body = body_of("frequent-itemsets", nothing.to_dict(), CUSTOMERS)
    assert body.answer.startswith("No itemset has a noisy number of ")
    assert body.tables == ()
    altered = {**frequent(k=3).to_dict(), "counted_items": "many"}
    assert "The stored result cannot be shown" in body_of("frequent-itemsets", altered, CUSTOMERS).answer


def test_the_darkest_cell_is_a_colour_whatever_its_number() -> None:
    """0.9 times a number, divided by it, may be more than 0.9."""
    for value in (1, 13, 21, 2995):
        pairs: dict[tuple[str, ...], tuple[int, bool]] = {(f"a{place}", "b"): (value, True) for place in range(3)}
        assert len(draw_matrix(None, ["a0", "a1", "a2", "b"], pairs, "").patches) == 6
