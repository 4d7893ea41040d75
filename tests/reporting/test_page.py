"""The page: what stands on it, that all of it is escaped, and that it needs nothing else."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from html.parser import HTMLParser
from math import exp, nan, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reporting.jobs import AGES, ALL, PAIRS, RULE, Folder, fail, job
from scipy.stats import norm
from support.cases import every
from support.pages.prose import WORDS

from dpmine.errors import BadData
from dpmine.ledger.budget import Amount
from dpmine.privacy import Guarantee, Neighbors
from dpmine.reporting.history import PastWindow, Timeline
from dpmine.reporting.jobs.file import UnitWords
from dpmine.reporting.jobs.tables import HistogramJob
from dpmine.reporting.page import render as render_module
from dpmine.reporting.page.bodies import body_of
from dpmine.reporting.page.charts import (
    Bar,
    bars,
    decision,
    distinct_labels,
    first_and_all,
    shortened,
    stacked,
    steps,
    two_lines,
)
from dpmine.reporting.page.render import render
from dpmine.reporting.page.strength import factor_text, loss_of_outcomes, odds_text, readable, rounded_up_at
from dpmine.reporting.page.windows import windows_of
from dpmine.reporting.store import Stored
from dpmine.zcdp import epsilon_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.reporting.batch import Report

EVERY = [job(**options) for options in ALL.values()]
DAY = datetime(2030, 1, 2, tzinfo=UTC)
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Elements that are closed as they were opened, attributes and texts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return Folder(tmp_path_factory.mktemp("every_kind")).run(*EVERY)


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    return render(report, today=DAY)


def test_what_stands_on_it(html: str) -> None:
    page = Page(html)
    for said in (
        "Private results of shop",
        "7 results about 34 customers of “shop”, each customer protected by noise (differential privacy).",
        "by their outcomes the jobs came to ε = ",
        "lead the 2 listed. About 30 ±0 customers (88.2 % of all) have each of them in a basket.",
        "Association rules, the surest first",
        "The most frequent range of “age”: ",
        "What to rely on? Each result has noise: random changes that protect each customer.",
        "Where two lines overlap, the true order is open. Rely on nothing about a single customer.",
        "Can a single customer be exposed? Perhaps: this guarantee is too weak to exclude it.",
        "A weighted sum of 2 features predicts whether “rich” is true or false.",
        "Rule of thumb, not tested: where “age” is 50 or more, guess that “rich” is true, elsewhere false.",
        "A model for “rich” that reached the target.",
        "Had the data of any one customer been entirely different,",
        "The number of customers, which counts as public and may be named on this page.",
        "Every customer keeps one row, drawn at random from its own; rows without a customer are dropped (Ages,",
        "Who is protected?",
        "Against what?",
        "How strong is the guarantee, compared with others?",
        "What was charged?",
        "What is left?",
        "What is not protected?",
        "What of a person who occurs twice?",
        "Who can repeat or check it?",
        "Why trust the code?",
        "May I publish this page, and again next month?",
        "Made with dpmine 1.0.0rc1 on 2030-01-02.",
    ):
        assert said in page.text, said


def test_rules_of_units_with_several_baskets_say_what_their_confidence_is(tmp_path: Path) -> None:
    """ "Also have 27 %" would read as a fact of a year, and lift compares one basket with all of them."""
    rows = [(unit, day, item) for unit in range(60) for day, item in enumerate(["bread", "butter"])]
    rows += [(unit, 0, item) for unit in range(60, 100) for item in ("bread", "butter")]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(["customer", "day", "item"])}
    folder = Folder(tmp_path)
    pq.write_table(pa.table(columns), folder.path / "sales.parquet")
    for basket in ({"basket": "day"}, {}):
        page = Page(render(folder.run(job(**PAIRS | {"units": 100, "top": 1} | basket)), today=DAY))
        several = bool(basket)
        assert (
            "Customers with, at least once also had in the same basket, at least once about" in page.text
        ) == several
        assert ("a job without basket counts all that a customer has had" in page.text) == several
        assert ("Of customers with also have about" in page.text) != several
        assert ("Lift: that share, divided by" in page.text) != several
        assert "Lift is about" not in page.text
    page = Page(render(folder.run(job(**PAIRS | {"units": 100, "top": 1, "basket": "day", "lift_of": "units"}))))
    assert "Lift is about all that a customer has had, in whatever baskets." in page.text


def test_it_needs_nothing_else(html: str) -> None:
    page = Page(html)
    assert not {tag for tag, _ in page.tags} & {"script", "iframe", "object", "embed", "base", "form"}
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href", "data", "action"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:,")), (tag, value)
    assert "default-src 'none'" in html
    assert not re.search(r"@import|url\((?!#)", html)
    assert len(html.encode()) < 1_000_000


def test_names_are_unique_and_links_lead_somewhere(html: str) -> None:
    page = Page(html)
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    links = [
        attributes.get("href", attributes.get("xlink:href")) for tag, attributes in page.tags if tag in {"a", "use"}
    ]
    targets = {str(link)[1:] for link in links}
    assert targets <= set(names)
    for _, attributes in page.tags:
        for value in attributes.values():
            assert all(name in names for name in re.findall(r"url\(#([^)]+)\)", value or ""))


def test_headings_and_tables_are_accessible(html: str) -> None:
    page = Page(html)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert set(levels[1:]) == {2, 3}
    assert levels[1] == 2
    for tag, attributes in page.tags:
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
        if tag == "th":
            assert attributes["scope"] in {"col", "row"}
    tags = [tag for tag, _ in page.tags]
    assert tags.count("caption") == tags.count("table")


def test_no_true_number_is_on_it(folder: Folder) -> None:
    """With noise that is large: the exact support, and how many rows there are, stand nowhere."""
    html = render(
        folder.run(job(**PAIRS | {"release_support": 0.001, "min_support": 0, "units": 40, "rules": False})), today=DAY
    )
    supports = {int(text.replace(",", "")) for text in re.findall(r">([\d,]+)</text>", html)}
    assert supports
    assert not supports & {30, 34}


HOSTILE_NAMES = [
    "<img src=x onerror=alert(1)>",
    "</text></svg><script>alert(1)</script>",
    '" onload="alert(1)',
    "$\\frac{1}{$ @0@ @1@",
    "{{ 7*7 }} {% raw %}",
    "&lt;b&gt; &amp;",
    "\u202eevil\u0000\n\x1b[31m",
    "漢字 🎁 ﷽",
]


def hostile_page(folder: Folder) -> str:
    """A page about items, a title, an input and jobs that all have such names."""
    rows = [(unit, name) for unit in range(40) for name in HOSTILE_NAMES[: 2 + unit % 7]]
    customers, items = zip(*rows, strict=True)
    pq.write_table(pa.table({"customer": customers, "item": items}), folder.path / "sales.parquet")
    printable = [name for name in HOSTILE_NAMES if name.isprintable() and "\\" not in name and '"' not in name]
    jobs = [job(**PAIRS | {"name": name, "epsilon": 1000 + place}) for place, name in enumerate(printable)]
    everything = job(**PAIRS | {"name": "All", "size": 1, "top": 8, "rules": False})
    head = f"title = '{HOSTILE_NAMES[1]}'"
    return render(folder.run(*jobs, everything, head=head), today=DAY)


def test_hostile_names_stay_text(folder: Folder) -> None:
    html = hostile_page(folder)
    page = Page(html)  # parses, so no element was closed or opened by a name
    assert not {tag for tag, _ in page.tags} & {"script", "img", "b"}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    for name in HOSTILE_NAMES[:6]:
        assert " ".join(name.split()) in page.text, name
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "\x00" not in html
    assert "49" not in page.text.split("{{")[0][:100]


def test_the_formula_is_for_what_could_be_spent(folder: Folder) -> None:
    """An ex-post charge belongs to the outcome: no bound on all sets of results holds with it."""
    report = folder.run(job(**ALL["Target"]))
    page = Page(render(report, today=DAY))
    (outcome,) = report.outcomes
    assert "+ δ, where ε = 5000, δ = 0." in page.text
    assert f"by their outcomes the jobs came to {outcome.charge.decimals}" in page.text


def test_names_that_look_like_placeholders(folder: Folder) -> None:
    table = pq.read_table(folder.path / "people.parquet")
    odd = "x@99@ #010203"
    names = [odd if name == "age" else name for name in table.column_names]
    pq.write_table(table.rename_columns(names), folder.path / "people.parquet")
    assert odd in Page(render(folder.run(job(**ALL["Ages"] | {"column": odd})), today=DAY)).text


def test_many_bins_stay_small(folder: Folder) -> None:
    html = render(folder.run(job(**ALL["Ages"] | {"bins": [10000]})), today=DAY)
    assert len(html.encode()) < 300_000


def test_passwords_of_inputs_are_not_shown(folder: Folder) -> None:
    report = folder.run(job(**RULE))
    object.__setattr__(report.outcomes[0].job, "source", "s3://key:secret@bucket/x.parquet?token=secret")
    assert "secret" not in render(report, today=DAY)


def test_a_ledger_that_is_gone_costs_no_page(folder: Folder) -> None:
    html = render(replace(folder.run(job(**RULE)), budget=None), today=DAY)
    assert "The ledger could not be read when this page was written." in html
    assert "age is 50 or more" in html


def test_a_failed_job_says_nothing_of_why(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HistogramJob, "run", fail(BadData("kanarienvogel"), after_charge=False))
    html = render(folder.run(job(**AGES), job(**PAIRS)), today=DAY)
    assert "This job has no result." in html
    assert "kanarienvogel" not in html


@pytest.mark.parametrize(("after_charge", "said"), [(False, "Nothing was charged"), (True, "It was charged at most ")])
def test_a_failed_job_is_no_result_and_says_what_it_may_have_taken(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, after_charge: bool, said: str
) -> None:
    monkeypatch.setattr(HistogramJob, "run", fail(BadData("x"), after_charge=after_charge))
    text = Page(render(folder.run(job(**AGES), job(**PAIRS)), today=DAY)).text
    assert "1 result about 34 customers of “shop”" in text
    assert said in text
    assert (text.count("This result was charged"), text.count("It was charged")) == (1, after_charge)


def test_a_stored_result_that_cannot_be_shown(folder: Folder) -> None:
    report = folder.run(job(**RULE))
    assert report.outcomes[0].result is not None
    del report.outcomes[0].result.document["class"]
    assert "The stored result cannot be shown" in render(report)


@every("interval", [[0, 10**400], [-(10**400), 9]])
def test_a_stored_number_beyond_all_floats(interval: list[int]) -> None:
    row = {"items": ["tea"], "noisy_support": 5, "interval": interval}
    body = body_of("top-itemset", {"itemsets": [row], "mechanism": "exponential"})
    assert "The stored result cannot be shown" in body.answer


ODD_NUMBERS: list[object] = [0, -1, 1e308, 10**400, -(10**99), nan, "1e400", "0"]


def altered(value: object, odd: object) -> Iterator[Any]:
    """The value with each of its parts replaced in turn; of a list, each of the first three."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ({**value, name: other} for other in altered(part, odd))
    elif isinstance(value, list):
        for place, part in enumerate(value[:3]):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in altered(part, odd))
    else:
        yield odd


@every("name", ALL, quick=2)
def test_odd_numbers_in_a_stored_result_do_not_end_the_page(name: str, report: Report) -> None:
    """A seal finds accidents alone: a result that was changed on purpose is read, too."""
    (outcome,) = (each for each in report.outcomes if each.job.name == name)
    assert outcome.result is not None
    document = json.loads(json.dumps(outcome.result.document))
    for other in (other for odd in ODD_NUMBERS for other in altered(document, odd)):
        assert body_of(outcome.job.kind, other).answer
        windows = PastWindow("W1", {name: document}, charged=True), PastWindow("W2", {name: other}, charged=True)
        if not outcome.job.obstacle:
            assert windows_of(
                Timeline(windows, Amount(), Amount()), [outcome.job.kind], UnitWords("unit", "units")
            ).jobs


def test_a_stored_table_that_was_cut() -> None:
    body = body_of("histogram", {**density(0.2, 0.5), "counts": [1]})
    assert "The stored result cannot be shown" in body.answer


def test_factors_are_never_understated() -> None:
    assert factor_text(Fraction(1)) == "2.72"
    assert factor_text(Fraction(1, 10**6)) == "1.01"
    assert factor_text(Fraction(13)) == "442,413.40"
    assert factor_text(Fraction(21)) == "more than 100 million"
    assert odds_text(Fraction(1)) == "73.2 %"
    assert odds_text(Fraction(50)) == "100 %"
    assert rounded_up_at(0.25, 2) == 0.25
    for value in (0.1, 1.005, 2.675, 20.0855):
        assert value <= rounded_up_at(value, 2) < value + 0.011


@pytest.mark.parametrize(
    ("neighbors", "delta", "said", "unsaid"),
    [
        (
            Neighbors.REPLACE_ONE,
            Fraction(1, 1000),
            (
                "replaced by any other data",
                "2.72 times its probability, plus 0.001.",
                "73.2 %",
                "allows for 5.44 times the odds, not 2.72 times.",
                "number of customers",
            ),
            "added or taken away",
        ),
        (
            Neighbors.ADD_REMOVE,
            Fraction(1, 1000),
            # a fact changes: taken away, and added
            (
                "added or taken away",
                "2.72 times its probability, plus 0.001.",
                "88.1 %",
                "allows for 14.78 times the odds, not 7.39 times.",
            ),
            "number of customers",
        ),
        (Neighbors.ADD_REMOVE, Fraction(0), ("2.72 times its probability.", "88.1 % sure"), "number of customers"),
    ],
)
def test_words_for_both_relations(
    folder: Folder, neighbors: Neighbors, delta: Fraction, said: tuple[str, ...], unsaid: str
) -> None:
    report = folder.run(job(**RULE))
    guarantee = Guarantee(Fraction(1), delta, neighbors, "patient", notes=("so it is",))
    one = replace(report.outcomes[0], guarantee=guarantee, result=Stored({}, guarantee, (), "2026-11-27"))
    free = replace(one, job=replace(one.job, name="two"), charged=False)
    terms = replace(report.job_file.terms, neighbors=neighbors)
    page = Page(render(replace(report, job_file=replace(report.job_file, terms=terms), outcomes=(one, free)))).text
    for text in said:
        assert text in page, text
    assert unsaid not in page
    assert page.count("So it is (Rule, two).") == 1


def test_bars_are_as_long_as_their_values() -> None:
    chart = bars("lengths", [Bar("one", 10, "10"), Bar("two", 5, "5"), Bar("three", -5, "-5")])
    ten, five, minus = (float(width) for width in re.findall(r'<rect[^>]* width="([^"]+)"', chart.wide))
    assert ten == pytest.approx(2 * five, rel=1e-3)
    assert minus == pytest.approx(five, rel=1e-3)


def test_bars_of_nothing() -> None:
    assert "0" in bars("none", [Bar("none", 0, "0", (0, 0))]).narrow


def test_charts_follow_the_theme_and_are_the_same_each_time() -> None:
    made = [
        (
            bars("c", [Bar("x", 1, "1", (0, 2))]),
            steps("c", [0, 1, 2], [5, 4], ("col", "rows"), 1),
            decision("c", "x ≥ 5", ("y", "n")),
            stacked("c", {}, {}),
        )
        for _ in range(2)
    ]
    assert made[0] == made[1]
    for chart in made[0]:
        assert not re.search(r"#[0-9a-f]{6}", chart.wide)
    assert "var(--bar)" in made[0][0].wide


def test_shortened() -> None:
    assert shortened("short", 300) == "short"
    cut = shortened("a" * 100, 300)
    assert cut.endswith("…")
    assert len(cut) < 50
    assert len(shortened("漢" * 100, 300)) < len(shortened("A" * 100, 300)) < len(cut)


INNER = "Of the inner ranges,"


def density(*heights: float) -> dict[str, Any]:
    edges = [10.0 * place for place in range(len(heights) + 1)]
    counts = [100 * height for height in heights]
    return {
        "column": "age",
        "edges": edges,
        "density": [height / 10 for height in heights],
        "counts": counts,
        "candidates": [len(heights)],
        "mechanism": None,
        "bin_width": 10,
    }


@pytest.mark.parametrize(
    ("heights", "said"),
    [
        ((0.2, 0.5, 0.3), ": 10 to 20, about 50 rows."),
        (
            (0.5, 0.2, 0.3),
            f": less than 10, about 50 rows. {INNER} “10 to 20” is the most frequent,",
        ),
        (
            (0.1, 0.2, 0.3, 0.4),
            f": 30 or more, about 40 rows. {INNER} “20 to 30” is the most frequent,",
        ),
        ((0.9, 0.1), ": less than 10, about 90 rows."),
        ((1.0,), ": 0 to 10, "),
    ],
)
def test_the_highest_bin_is_the_highest_of_the_table(heights: tuple[float, ...], said: str) -> None:
    body = body_of("histogram", density(*heights))
    assert said in body.answer
    highest = max(body.tables[0].rows, key=lambda row: float(row[1].removesuffix(" %")))
    assert highest[0] in body.answer


def listed(*supports: int | None) -> dict[str, Any]:
    """Itemsets a, b, … in the order of the choice."""
    rows = [
        {"items": [letter], "noisy_support": n, "interval": None if n is None else [n - 1, n + 1]}
        for letter, n in zip("abcdef", supports, strict=False)
    ]
    return {"itemsets": rows, "mechanism": "exponential", "guarantee": {"unit": "customer"}}


def test_ranks_are_those_of_the_numbers_beside_them() -> None:
    body = body_of("top-itemset", listed(5, 9, 7, 9))
    largest = "b and d lead the 4 listed."
    assert body.answer == f"{largest} About 9 ±1 units have each of them in a basket."
    assert [row[:3] for row in body.tables[0].rows] == [
        ("1", "b", "9"),
        ("1", "d", "9"),
        ("3", "c", "7"),
        ("4", "a", "5"),
    ]
    assert body.picture is not None
    drawn = re.findall(r">([abcd])</text>", body.picture.wide)
    assert drawn == ["b", "d", "c", "a"]
    assert "Ranks and bars follow the noisy numbers. " in body.remarks[0]
    # the other one that leads; 7 ± 1 ends at 8, where 9 ± 1 begins
    rival = "1 other of the list may truly be first: its interval overlaps with that of the first."
    assert body.sure.startswith(f"Each number is right within ±1 units, with probability 95 %. {rival}")


def test_ranks_without_numbers_are_those_of_the_choice() -> None:
    body = body_of("top-itemset", listed(None, None))
    assert body.answer == "a was chosen first of 2 listed."
    assert body.tables[0].caption == "Itemsets, in the order of the choice"


def test_models_of_one_label_say_why_they_may_disagree(folder: Folder) -> None:
    page = Page(render(folder.run(job(**ALL["Weights"]), job(**RULE), job(**ALL["Ages"])), today=DAY)).text
    assert "Also about rich: Rule. These are different models" in page
    assert "Also about rich: Weights. These are different models" in page
    assert page.count("Also about rich") == 2
    assert "Also about" not in Page(render(folder.run(job(**RULE)), today=DAY)).text


def test_a_rule_about_a_count_names_a_count(folder: Folder) -> None:
    table = pq.read_table(folder.path / "people.parquet")
    ages = pa.array([int(age) for age in table.column("age").to_pylist()])
    column = table.column_names.index("age")
    pq.write_table(table.set_column(column, "age", ages), folder.path / "people.parquet")
    html = render(folder.run(job(**RULE | {"grid": "998"})), today=DAY)
    assert "where “age” is 50 or more, guess that “rich” is true, elsewhere false." in html


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("sent_back >= 4.5", "“sent back” is 4.5 or more"),
        ("age <= 1,000", "“age” is 1,000 or less"),
        ("age < 50", "“age” is below 50"),
        ("10 <= age < 50", "“age” is at least 10 and below 50"),
        ("0.5 age - 2 visits >= 0", "“0.5 age - 2 visits” is 0 or more"),
        ("member and active", "member and active"),
    ],
)
def test_rules_are_said_in_words(rule: str, words: str) -> None:
    document = {"mechanism": "exponential", "class": {"name": "stumps"}, "classes": [False, True], "label": "sent_back"}
    body = body_of("hypothesis", {**document, "hypothesis": rule}, UnitWords.read("customer"))
    assert body.answer == f"Rule of thumb, not tested: where {words}, guess that “sent back” is true, elsewhere false."
    assert body.sure.startswith("Do not rely on it for a single customer. ")
    assert body.picture is not None
    assert "sent back is true" in body.picture.narrow


def test_the_number_of_units_is_said_where_the_job_file_says_it(folder: Folder) -> None:
    (first, other) = (job(**PAIRS | {"name": name, "units": units}) for name, units in (("one", 34), ("two", 35)))
    assert "1 result about 34 customers of “shop”" in Page(render(folder.run(first), today=DAY)).text
    assert "2 results about “shop”" in Page(render(folder.run(first, other), today=DAY)).text  # which one is right?
    hidden = folder.run(job(**AGES | {"units": 34, "bins": [4, 5]}), dataset='"other"', neighbors='"add-remove"')
    assert "1 result about “other”" in Page(render(hidden, today=DAY)).text  # a public guess at a private number


def test_labels_of_bars_are_told_apart() -> None:
    long = "GREEN REGENCY TEACUP AND SAUCER"
    names = [f"{long}, {colour} REGENCY TEACUP" for colour in ("ROSES", "PINK", "PINKER")] + [
        "short",
        long * 2,
        long * 2,
    ]
    labels = distinct_labels(names, 300)
    assert len(set(labels)) == 5  # two names are the same
    assert labels[3] == "short"
    assert all("…" in label for label in [*labels[:3], labels[4]])
    assert all(len(label) <= 40 for label in labels)
    assert ["ROSES" in label for label in labels[:3]] == [True, False, False]
    words = ["x" * 90 + end for end in ("1", "2", "1" + "y" * 90 + "3", "")]
    assert len(set(distinct_labels(words, 300))) == 4
    assert distinct_labels(["漢" * 30 + "字", "漢" * 30 + "子"], 5) == ["… …", "… …"]  # no room for a letter: it ends


def test_long_tables_are_cut(folder: Folder) -> None:
    report = folder.run(job(**PAIRS))
    assert report.outcomes[0].result is not None
    document = report.outcomes[0].result.document
    document["rules"] = document["rules"][:1] * 1500
    html = render(report, today=DAY)
    assert "1300 more rows are in the files." in html
    assert html.count('<tr><td data-label="No."') == 200


def test_other_data_of_a_unit_have_the_delta_of_two_steps(folder: Folder) -> None:
    """One unit taken away and another added: 2ε, and (1 + e^ε)·δ, by the definition used twice."""
    report = folder.run(job(**PAIRS | {"epsilon": 1, "delta": 1e-6, "release_support": 1}), neighbors='"add-remove"')
    amount = Amount.of(report.outcomes[0].guarantee)
    assert amount.delta > 0
    shown = re.search(r"is exceeded with probability at most (\S+?) \(1 in", Page(render(report, today=DAY)).text)
    assert shown is not None
    factor, power = re.fullmatch(r"([\d.]+)·10⁻(\S)", shown[1]).groups()  # type: ignore[union-attr]
    wrong = float(factor) * 10.0 ** -"⁰¹²³⁴⁵⁶⁷⁸⁹".index(power)
    assert wrong == pytest.approx(2 * (1 + exp(float(amount.epsilon))) * float(amount.delta), rel=1e-3)


def test_a_limit_that_may_always_fail_is_not_stated(folder: Folder) -> None:
    """(1 + e^ε)·δ is above 1."""
    report = folder.run(
        job(**PAIRS | {"epsilon": 1, "delta": 0.3, "release_support": 1}), neighbors='"add-remove"', delta="0.5"
    )
    text = Page(render(report, today=DAY)).text
    assert "100 % sure" in text
    assert "Perhaps: this guarantee is too weak" in text
    assert "a chance of at most" not in text
    assert "1 in 0" not in text


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10)])
def test_outcomes_of_gaussian_noise_exceed_the_stated_loss_as_rarely_as_said(rho: Fraction) -> None:
    """Their loss is normal, with mean ρ and variance 2ρ. ε itself they exceed more often than with probability δ."""
    beta, mean, deviation = Fraction(1, 10**6), float(rho), sqrt(2 * float(rho))
    epsilon = epsilon_at(rho, beta)
    by_rho = loss_of_outcomes(Amount(epsilon, beta), 1, (rho, beta))
    by_delta = loss_of_outcomes(Amount(epsilon, beta), 1)
    assert norm.sf(float(by_rho), mean, deviation) <= beta < norm.sf(float(epsilon), mean, deviation)
    assert norm.sf(float(by_delta), mean, deviation) <= 2 * beta
    assert loss_of_outcomes(Amount(epsilon), 2) == 2 * epsilon


def test_charges_without_a_result_here_are_a_condition(folder: Folder) -> None:
    condition = "You accept that the budget shows charges without a result on this page."
    assert condition not in Page(render(folder.run(job(**PAIRS)), today=DAY)).text
    assert condition in Page(render(folder.run(job(**RULE)), today=DAY)).text


def test_weights_of_several_classes_stand_side_by_side() -> None:
    document = {"classes": ["a", "b", "c"], "label": "kind", "features": ["x", "y"], "lambda": 0.1}
    body = body_of("classify", {**document, "coef": [[1, 2], [3, 4], [-4, -6]], "intercept": [0.5, 0, -0.5]})
    table = body.tables[0]
    assert list(table.columns) == ["Feature", "a", "b", "c"]
    assert table.rows == (("x", "1", "3", "-4"), ("y", "2", "4", "-6"), ("(intercept)", "0.5", "0", "-0.5"))
    assert body.answer.startswith("For each value of “kind” a weighted sum of 2 features")


def test_bins_of_whole_numbers_are_named_by_them() -> None:
    def bins(upper: int, count: int) -> list[str]:
        edges = [upper * place / count for place in range(count + 1)]
        document = {**density(*[1 / count] * count), "edges": edges, "whole": True, "bin_width": upper / count}
        body = body_of("histogram", document)
        remarks.append(body.remarks[0])
        return [row[0] for row in body.tables[0].rows]

    remarks: list[str] = []
    assert bins(20, 4) == ["4 or less", "5 to 9", "10 to 14", "15 or more"]
    assert bins(3000, 3) == ["999 or less", "1,000 to 1,999", "2,000 or more"]
    assert bins(4, 4) == ["0 or less", "1", "2", "3 or more"]
    assert not any("whole numbers" in remark for remark in remarks)
    assert bins(10, 4) == ["2 or less", "3 to 4", "5 to 7", "8 or more"]
    assert "Some ranges hold more whole numbers than others" in remarks[-1]
    assert bins(2, 4) == ["less than 0.5", "0.5 to 1", "1 to 1.5", "1.5 or more"]  # two bins hold none


def test_the_column_says_whether_bins_hold_whole_numbers(folder: Folder) -> None:
    table = pq.read_table(folder.path / "people.parquet")
    ages = pa.array([int(age) for age in table.column("age").to_pylist()])
    pq.write_table(table.append_column("years", ages), folder.path / "people.parquet")
    (years, age) = folder.run(
        *(job(**ALL["Ages"] | {"column": name, "name": name}) for name in ("years", "age"))
    ).outcomes
    assert years.result is not None
    assert age.result is not None
    assert (years.result.document["whole"], age.result.document["whole"]) == (True, False)
    names = [row[0] for row in body_of("histogram", years.result.document).tables[0].rows]
    assert names[0] in {"34 or less", "49 or less"}


def test_how_sure_a_density_is() -> None:
    document = {**density(0.2, 0.5, 0.3), "rows_per_unit": 1, "count_error": 40}
    assert body_of("histogram", document).sure.startswith(
        "Each number is right within ±40 units, with probability 95 %. 2 other bars may truly be first: "
    )
    sure = body_of("histogram", {**document, "count_error": 14}).sure  # 50 ± 14 is above 20 ± 14, not above 30 ± 14
    assert "1 other bar may truly be first: " in sure
    sure = body_of("histogram", {**document, "count_error": 10}).sure  # one ends where it begins
    assert "may truly be first" not in sure
    table = body_of("histogram", document).tables[0]
    assert list(table.columns)[-1] == "Interval"
    assert [row[-1] for row in table.rows] == ["0 to 60", "10 to 90", "0 to 70"]
    assert "Interval" not in body_of("histogram", density(0.2, 0.5, 0.3)).tables[0].columns
    assert "±40 rows" in body_of("histogram", {**document, "rows_per_unit": 2}).sure
    assert "not in the stored result" in body_of("histogram", density(0.2, 0.5, 0.3)).sure  # of an earlier version


def test_how_sure_a_target_is() -> None:
    document = {"label": "y", "requested": {"excess_risk": "3/10", "failure_probability": "1/10"}, "coef": None}
    assert body_of("accuracy-first", document).answer == "No model for “y” reached the target within the budget."
    model = {**document, "coef": [1.0], "features": ["x"], "intercept": 0.0}
    sure = body_of("accuracy-first", {**model, "reached": True}).sure
    assert sure == "Its excess risk is at most 0.3, except with probability 0.1."
    assert "not known to be below the target, 0.3" in body_of("accuracy-first", {**model, "reached": False}).sure


def test_powers_of_ten_as_people_write_them() -> None:
    assert readable("ε = 1.929, δ = 8.5e-06") == "ε = 1.929, δ = 8.5·10⁻⁶"
    assert readable("δ = 1e-05, ρ = 2e+16") == "δ = 10⁻⁵, ρ = 2·10¹⁶"
    assert readable("0.005, 1/3, e-mail") == "0.005, 1/3, e-mail"


def test_the_words_of_the_page_are_the_projects() -> None:
    """Texts of the template and of results, without names of variables."""
    folder = Path(render_module.__file__).parent
    template = (folder / "templates" / "report.html.j2").read_text("utf-8")
    prose = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}|<[^>]*>", " ", template)
    modules = [ast.parse((folder / name).read_text("utf-8")) for name in ("bodies.py", "body.py", "itemsets.py")]
    constants = [node.value for module in modules for node in ast.walk(module) if isinstance(node, ast.Constant)]
    texts = [prose, *constants]
    for text in texts:
        if isinstance(text, str) and " " in text:
            assert {found[0]: better for word, better in WORDS.items() if (found := word.search(text))} == {}


def test_guesses_are_compared_with_other_guarantees(folder: Folder) -> None:
    text = Page(render(folder.run(job(**RULE | {"epsilon": 2})), today=DAY)).text
    table = text[text.index("How sure an attacker can become at most") :]
    assert "ε = 0.1 1.2 % 11 % 52.5 % ε = 1 2.7 % 23.2 % 73.2 % this page (ε = 2)" in table
    assert "becomes at most 98.3 % sure. The same weaker guarantee" in text  # who occurs twice has 2·2 = 4


def test_names_on_two_lines() -> None:
    assert two_lines(["short"], 300) == [["short"]]
    ((first, second),) = two_lines(["GREEN REGENCY TEACUP + ROSES REGENCY TEACUP"], 260)
    assert f"{first} {second}" == "GREEN REGENCY TEACUP + ROSES REGENCY TEACUP"
    assert all(len(lines) == 2 for lines in two_lines(["x" * 90, "y" * 90], 200))
    long = ["GREEN REGENCY TEACUP AND SAUCER + ROSES REGENCY TEACUP AND SAUCER", "tea + " + "x" * 90]
    whole, cut = two_lines(long, 306)  # more than nine tenths of two lines
    assert " ".join(whole) == long[0]
    assert cut[-1].endswith("…")


def test_the_first_bars_and_all() -> None:
    values = [Bar(f"item {place}", place, str(place)) for place in range(9)]
    picture, rest = first_and_all("c", values)
    assert (picture.wide.count("<rect"), [chart.wide.count("<rect") for chart in rest]) == (6, [9])
    assert first_and_all("c", values[:6])[1] == ()
