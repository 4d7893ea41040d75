"""How the page calls the privacy unit."""

from __future__ import annotations

import pytest
from reporting.jobs import ALL, RULE, Folder, job
from reporting.test_page import DAY, Page

from dpmine.errors import BadParameter
from dpmine.reporting.jobs.unit_words import UnitWords, plural
from dpmine.reporting.page.render import render


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("customer", "customers"),
        ("person", "people"),
        ("party", "parties"),
        ("key", "keys"),
        ("bus", "buses"),
        ("branch", "branches"),
        ("store visit", "store visits"),
        ("hospital patient", "hospital patients"),
    ],
)
def test_plurals(one: str, many: str) -> None:
    assert plural(one) == many


def test_names_of_columns_are_no_words() -> None:
    assert UnitWords.of("CustomerID").many == "values of CustomerID"
    assert UnitWords.of("store, receipt").many == "values of store, receipt"
    assert UnitWords.of("row").many == "rows"
    assert UnitWords.of("CustomerID", UnitWords.read("customer")) == UnitWords("customer", "customers")
    assert UnitWords.read(["Kunde", "Kunden"]) == UnitWords("Kunde", "Kunden")


@pytest.mark.parametrize("value", ["", 3, [], ["customer"], ["a", "b", "c"], ["a", 2], "a\nb", True])
def test_what_is_no_label(value: object) -> None:
    with pytest.raises(BadParameter, match="unit_label"):
        UnitWords.read(value)


def test_all_sentences_use_the_label(folder: Folder) -> None:
    report = folder.run(*(job(**options) for options in ALL.values()), unit_label='["buyer", "buying people"]')
    text = Page(render(report, today=DAY)).text
    for said in (
        "with differential privacy for each buyer",
        "Each buyer is protected, with all data of that buyer.",
        "One buyer is one value of “customer”; rows without a value are left out.",
        "About 30 buying people have",
        "All numbers together are right within ±",
        "Buying people, about",
        "Share of the buying people in each bin of age",
        "k buying people together",
        "The budget of shop, for each buyer",
    ):
        assert said in text, said
    prose, notes = text.split("What single results rest on")
    assert "each customer" not in prose
    assert "every customer keeps one row" in notes  # as the guarantee itself says it


def test_a_label_is_no_other_question(folder: Folder) -> None:
    folder.run(job(**ALL["Rule"]))
    assert folder.run(job(**ALL["Rule"]), unit_label='"buyer"').outcomes[0].reused


def test_what_one_unit_is(folder: Folder) -> None:
    rows = {name: value for name, value in RULE.items() if name != "unit"}
    text = Page(render(folder.run(job(**rows), unit=None), today=DAY)).text
    assert text.count("Each row of the data is protected by itself.") == 2
    text = Page(render(folder.run(job(**rows), unit=None, unit_label='"visit"'), today=DAY)).text
    assert text.count("One visit is one row.") == 2


def test_an_asserted_unit_is_said_to_be_asserted(folder: Folder) -> None:
    rows = {name: value for name, value in RULE.items() if name != "unit"}
    report = folder.run(job(**rows, one_row_per="person"), unit='"person"')
    said = "One person is one row: the job file asserts this, and nothing checks it."
    assert Page(render(report, today=DAY)).text.count(said) == 2
