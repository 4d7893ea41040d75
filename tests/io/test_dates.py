"""Dates and timestamps in text: as their form says, in files, queries and jobs; null where a text is none."""

# ruff: noqa: DTZ001 - times without a zone are what is tested

from __future__ import annotations

import datetime as dt
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.cases import every

import dpmine
from dpmine.io.dates import moments, pattern_of
from dpmine.io.input import Input

if TYPE_CHECKING:
    from pathlib import Path

FORMS = {
    "%d.%m.%Y": ("23.11.2026", "1.2.2026"),
    "%m/%d/%Y": ("11/23/2026", "2/1/2026"),
    "%Y%m%d": ("20261123", "20260201"),
    "%d-%m-%y": ("23-11-26", "01-02-26"),
    "[%Y] %d|%m": ("[2026] 23|11", "[2026] 01|02"),
}
NO_DAYS = ["31.02.2026", "29.02.2023", "00.01.2026", "01.13.2026", "01.00.2026", "x", "", "23.11.26", "23.11.2026 1"]


@every("form", FORMS)
def test_dates_are_written_as_the_form_says(form: str) -> None:
    written = pattern_of(form)
    assert written is not None
    found = moments(pa.array([*FORMS[form], None]), pa.date32(), written).to_pylist()
    assert found == [dt.date(2026, 11, 23), dt.date(2026, 2, 1), None]


def test_what_is_no_day_is_missing() -> None:
    found = moments(pa.array([*NO_DAYS, "29.02.2024"]), pa.date32(), pattern_of("%d.%m.%Y") or "")
    assert found.to_pylist() == [None] * len(NO_DAYS) + [dt.date(2024, 2, 29)]


def test_all_days_of_a_century_as_python_reads_them() -> None:
    days = [dt.date(1950, 1, 1) + dt.timedelta(days=day) for day in range(0, 36525, 7)]
    for form in FORMS:
        century = days if "%Y" in form else [day for day in days if day.year >= 1969]
        texts = pa.array([day.strftime(form) for day in century])
        assert moments(texts, pa.date32(), pattern_of(form) or "").to_pylist() == century


def test_times() -> None:
    texts = ["23.11.2026 18:30", "23.11.2026 24:00", "23.11.2026 7:05", "23.11.2026"]
    found = moments(pa.array(texts), pa.timestamp("us"), pattern_of("%d.%m.%Y %H:%M") or "").to_pylist()
    assert found == [dt.datetime(2026, 11, 23, 18, 30), None, dt.datetime(2026, 11, 23, 7, 5), None]
    plain = ["2026-11-23", "2026-11-23T18:30:01.5", "1969-12-31 23:59:59.999999", "2026-02-30", "23.11.2026"]
    found = moments(pa.array(plain), pa.timestamp("us"), "").to_pylist()
    assert found[:2] == [dt.datetime(2026, 11, 23), dt.datetime(2026, 11, 23, 18, 30, 1, 500_000)]
    assert found[2:] == [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), None, None]


@every("form", ["%Y", "%d.%m", "%d.%m.%Y %d", "%x", "%b %d %Y", "%d.%m.%Y%", "", "%Y-%y-%m-%d"])
def test_forms_that_say_no_day(form: str) -> None:
    assert pattern_of(form) is None


def test_a_text_is_read_the_same_beside_any_others() -> None:
    rng = random.Random(3)
    texts = ["".join(rng.choices("0123456789. -:T", k=rng.randrange(12))) for _ in range(3000)]
    texts += [f"{rng.randrange(40)}.{rng.randrange(15)}.{rng.randrange(3000):04d}" for _ in range(3000)]
    written = pattern_of("%d.%m.%Y") or ""
    whole = moments(pa.array(texts), pa.date32(), written).to_pylist()
    assert None in whole
    assert len({*whole}) > 100
    places = rng.sample(range(len(texts)), 200)
    alone = [moments(pa.array([texts[place]]), pa.date32(), written)[0].as_py() for place in places]
    assert alone == [whole[place] for place in places]


@pytest.mark.filterwarnings("ignore::dpmine.errors.LayoutWarning")
@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "iso-8859-15", "windows-1250"])
def test_a_german_spreadsheet(encoding: str, tmp_path: Path) -> None:
    """Semicolons, decimal commas, days first, and an encoding of one byte a character."""
    lines = ["Kunde;Artikel;Datum;Preis", "Jürgen;Öl;23.11.2026;1,50", "Jürgen;Käse;23.11.2026;0,99"]
    lines += ["Jürgen;Öl;24.11.2026;1,50", "Käthe;Öl;1.2.2026;x", "Käthe;Käse;31.02.2026;2,00"]
    path = tmp_path / "umsatz.csv"
    path.write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    types = {"Datum": "date:%d.%m.%Y", "Preis": "float64"}
    data = Input(str(path), delimiter=";", decimal=",", encoding=encoding, types=types)
    columns: dict[str, Any] = {"unit": "Kunde", "basket": "day(Datum)", "item": "Artikel"}
    found = dpmine.itemset_supports(data, size="1-2", min_support=1, **columns)
    assert dict(zip(found["itemsets"], found["support"], strict=True)) == {
        frozenset({"Öl"}): 2,
        frozenset({"Käse"}): 1,  # Käthe's day does not exist
        frozenset({"Öl", "Käse"}): 1,
    }
    where = Input(str(path), delimiter=";", decimal=",", encoding=encoding, types=types, where="Preis >= 1.5")
    found = dpmine.itemset_supports(where, size=1, min_support=1, **columns)
    assert {next(iter(items)) for items in found["itemsets"]} == {"Öl"}


def test_queries_have_forms_too(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as there, there:
        there.execute("CREATE TABLE rows (unit, day, item)")
        there.executemany("INSERT INTO rows VALUES (?, ?, ?)", [("u", "23.11.2026", "a"), ("u", "24.11.2026", "b")])
    query = Input(query="SELECT * FROM rows", database=f"sqlite:///{tmp_path}/a.db", types="day=date:%d.%m.%Y")
    found = dpmine.itemset_supports(query, size="1-2", min_support=1, unit="unit", basket="week(day)", item="item")
    assert frozenset({"a", "b"}) in {*found["itemsets"]}
