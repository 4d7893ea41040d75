"""What the job file says of itself, of its inputs and of the privacy unit, on the page; and nothing of the data."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from reporting.jobs import ALL, PAIRS, RULE, Folder, job
from reporting.test_page import DAY, Page

from dpmine.errors import BadParameter
from dpmine.reporting.jobs.file import UnitWords, plural, read_job_file
from dpmine.reporting.page.render import render

if TYPE_CHECKING:
    from pathlib import Path

HEAD = 'owner = "Sales department"\nperiod = "March 2030"'


def described(folder: Folder, **said: str) -> Path:
    """A job file whose inputs are tables."""
    path = folder.write(job(**PAIRS), job(**RULE), head=HEAD)
    text = path.read_text(encoding="utf-8").partition("[inputs]")
    jobs = text[2][text[2].index("[[job]]") :]
    lines = [
        f'[inputs.{name}]\npath = "{folder.path}/{name}.parquet"\n{said.get(name, "")}' for name in ("sales", "people")
    ]
    path.write_text("\n".join([text[0], *lines, jobs]), encoding="utf-8")
    return path


def test_owner_period_and_inputs(folder: Folder) -> None:
    path = described(folder, sales='owner = "Tills"\nperiod = "1 to 7 March"')
    report = folder.run_file(read_job_file(path))
    text = Page(render(report, today=DAY)).text
    for said in (
        "2 results about 34 customers of “shop”, March 2030,",
        "Data set shop, as the ledger calls it",
        "Input sales : Tills; 1 to 7 March",
        "Input people Owner Sales department Number of customers 34 Period March 2030",
        "Inputs, owner, period and number are as the job file states them;",
        "Whom to ask? Sales department.",
        "Day of the run 2030-01-02 (UTC)",
        "The owner, according to the job file: Sales department.",
        f"Job file jobs.toml, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}",
        "Software dpmine 1.0.0rc1",
    ):
        assert re.sub(r"\s+(?=[:,.])", "", said) in re.sub(r"\s+(?=[:,.])", "", text), said
    assert str(folder.path) not in text  # paths are not shown, only what the job file calls them


def test_what_is_not_stated(folder: Folder) -> None:
    text = Page(render(folder.run(job(**RULE)), today=DAY)).text
    assert "Period not stated in the job file" in text
    assert "Owner" not in text
    assert "Responsible:" not in text


def test_the_day_is_that_of_the_start(folder: Folder) -> None:
    before = datetime.now(UTC).date()
    report = folder.run(job(**RULE))
    assert before <= report.day <= datetime.now(UTC).date()
    html = render(report)
    assert f"Day of the run {report.day}" in Page(html).text
    assert not re.search(r"\b\d\d:\d\d\b", Page(html).text)  # the time would reveal how long runs take


@pytest.mark.parametrize(
    "line",
    [
        'database = "postgresql://dp:secret@host/shop"',
        'input = "https://host/x.parquet?token=secret"',
        'input = ["https://me@host/x.parquet"]',
    ],
)
def test_no_fingerprint_helps_to_guess_a_password(folder: Folder, line: str) -> None:
    path = folder.write(job(**RULE))
    plain = read_job_file(path)
    assert plain.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    name, value = line.split(" = ", 1)
    if name == "database":
        path.write_text(path.read_text(encoding="utf-8").replace(folder.terms["ledger"], value), encoding="utf-8")
    else:
        extra = f"[inputs]\nunused = {value}"
        path.write_text(path.read_text(encoding="utf-8").replace("[inputs]", extra), encoding="utf-8")
    assert read_job_file(path).fingerprint == ""


def test_a_page_without_a_fingerprint_says_why(folder: Folder) -> None:
    report = folder.run(job(**RULE))
    object.__setattr__(report.job_file, "fingerprint", "")
    assert "SHA-256 not shown, because the file holds a password" in Page(render(report, today=DAY)).text


@pytest.mark.parametrize(
    ("head", "match"),
    [
        ("owner = 3", "owner of the job file must be a printable name"),
        ('period = ""', "period of the job file must be a printable name"),
        ('[inputs.x]\nowner = "me"', r"path is missing in \[inputs.x\]"),
        ("[inputs.x]\npath = 3", "inputs.x.path must be a path"),
        ('[inputs.x]\npath = "a"\nsize = 3', r"There is no key 'size' in \[inputs.x\]"),
    ],
)
def test_what_is_rejected(tmp_path: Path, head: str, match: str) -> None:
    path = tmp_path / "jobs.toml"
    path.write_text(f'{head}\n[budget]\nledger = "sqlite:///b.db"\ndataset = "x"\nepsilon = 1\n', encoding="utf-8")
    with pytest.raises(BadParameter, match=match):
        read_job_file(path)


def test_charges_are_seen_without_unfolding(folder: Folder) -> None:
    report = folder.run(*(job(**options) for options in ALL.values()))
    html = render(report, today=DAY)
    unfolded = Page(re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)).text
    shares = [
        float(share) for share in re.findall(r"This result was charged ([\d.]+) % of the privacy budget", unfolded)
    ]
    assert report.budget is not None
    granted, charges = report.budget.granted, [outcome.charge for outcome in report.outcomes]
    parts = [max(each.epsilon / granted.epsilon, each.delta / granted.delta) for each in charges]
    assert shares == [pytest.approx(100 * float(part), abs=0.051) for part in parts]
    assert len(set(shares)) > 1
    (table,) = re.findall(r"What each result was charged Result(.*)all together", Page(html).text)
    assert table.index("Pairs") < table.index("Ages")


def test_stored_results_say_that_they_were_charged_before(folder: Folder) -> None:
    said = "when the result was made; it was not charged again"
    assert said not in render(folder.run(job(**RULE)), today=DAY)
    assert said in render(folder.run(job(**RULE)), today=DAY)


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
        "each buyer protected by noise (differential privacy)",
        "Each buyer, with all data of that buyer.",
        "One buyer is one value of “customer”; rows without one are never used.",
        "About 30 ±0 buying people (88.2 % of all) have",
        "All numbers together are right within ±",
        "Buying people, about",
        "Number of buying people in each range of “age”",
        "For k buying people, the ε is k times as large, and the δ grows faster.",
        "The budget of shop, for each buyer",
    ):
        assert said in text, said
    prose, notes = text.split("What single results rest on")
    assert "each customer" not in prose
    assert "Every customer keeps one row" in notes  # as the guarantee itself says it


def test_a_label_is_no_other_question(folder: Folder) -> None:
    folder.run(job(**ALL["Rule"]))
    assert folder.run(job(**ALL["Rule"]), unit_label='"buyer"').outcomes[0].reused


def test_what_one_unit_is(folder: Folder) -> None:
    rows = {name: value for name, value in RULE.items() if name != "unit"}
    text = Page(render(folder.run(job(**rows), unit=None), today=DAY)).text
    assert text.count("Each row of the data is protected by itself.") == 1
    assert "count together: the guarantee is the same" not in text
    assert "has a weaker guarantee: twice the ε. A guess about this person" in text
    text = Page(render(folder.run(job(**rows), unit=None, unit_label='"visit"'), today=DAY)).text
    assert text.count("One visit is one row.") == 1


def test_an_asserted_unit_is_said_to_be_asserted(folder: Folder) -> None:
    rows = {name: value for name, value in RULE.items() if name != "unit"}
    report = folder.run(job(**rows, one_row_per="person"), unit='"person"')
    said = "One person is one row: the job file asserts this, and nothing checks it."
    assert Page(render(report, today=DAY)).text.count(said) == 1
