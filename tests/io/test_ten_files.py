"""Ten kinds of files as people have them, by one command each: the exact pairs and the five best, as pandas counts."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import ROOT, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Pairs = Counter[frozenset[Any]]
    Made = tuple[list[str], Pairs]

BEST = 5
MUSHROOM_COLUMNS = 23
GOODS = ["Brot", "Käse", "Öl", "Bier", "Wein", "Salz", "Milch", "Ei"]


def pairs(units: Iterable[set[Any]]) -> Pairs:
    return Counter(frozenset(pair) for unit in units for pair in combinations(sorted(unit, key=str), 2))


def sets(frame: pd.DataFrame, unit: str, item: str) -> Iterable[set[Any]]:
    return frame.dropna(subset=[unit, item]).groupby(unit)[item].agg(set)


def attributes(frame: pd.DataFrame) -> Iterable[set[str]]:
    """The items of each row: `column=value`, but of what is missing."""
    records = frame.to_dict("records")
    return [{f"{name}={value}" for name, value in row.items() if not pd.isna(value)} for row in records]


def bought(rng: random.Random, goods: list[str], most: int = 5) -> list[str]:
    """Some goods, the first ones more often than the last."""
    chosen = [name for place, name in enumerate(goods) if rng.random() < 0.7 / (1 + place / 2)]
    return chosen[:most] or goods[:1]


def mushrooms(folder: Path) -> Made:
    """agaricus-lepiota: 8,124 rows, no header, question marks."""
    items = pq.read_table(ROOT / "datasets" / "mushroom.parquet").to_pandas()["item"].to_numpy()
    values = np.sort(items.reshape(-1, MUSHROOM_COLUMNS), axis=1).astype(str).astype(object)
    values[::3, 10] = "?"
    frame = pd.DataFrame(values, columns=[f"c{place}" for place in range(1, MUSHROOM_COLUMNS + 1)])
    frame.to_csv(folder / "agaricus-lepiota.data", header=False, index=False)
    asked = ["agaricus-lepiota.data", "--columns", "23", "--attributes", "--missing", "?"]
    return asked, pairs(attributes(frame.replace("?", None)))


def votes(folder: Path) -> Made:
    """house-votes-84: a party and 16 votes, y, n or ?."""
    rng = random.Random(84)
    rows = [
        [party := rng.choice(["democrat", "republican"])]
        + [
            rng.choices("yn?", [9, 3, 1] if (party == "democrat") == bool(vote % 3) else [2, 8, 1])[0]
            for vote in range(16)
        ]
        for _ in range(435)
    ]
    frame = pd.DataFrame(rows, columns=["party", *(f"v{vote}" for vote in range(1, 17))])
    frame.to_csv(folder / "house-votes-84.data", header=False, index=False)
    asked = ["house-votes-84.data", "--columns", ",".join(frame.columns), "--attributes", "--missing", "?"]
    return asked, pairs(attributes(frame.replace("?", None)))


def census(folder: Path) -> Made:
    """adult: blanks behind commas, numbers that are cut, a weight that is no attribute."""
    rng = random.Random(94)
    rows = [
        [
            rng.randrange(17, 90),
            rng.choices(["Private", "State-gov", "?"], [7, 2, 1])[0],
            rng.randrange(10**5),
            rng.choice(["HS-grad", "Bachelors"]),
            rng.choices(["Male", "Female"], [2, 1])[0],
            rng.choices(["<=50K", ">50K"], [3, 1])[0],
        ]
        for _ in range(900)
    ]
    names = ["age", "workclass", "weight", "education", "sex", "income"]
    lines = [", ".join(map(str, row)) for row in rows]
    (folder / "adult.data").write_text("\n".join([*lines, "", ""]), encoding="utf-8")
    frame = pd.DataFrame(rows, columns=names).drop(columns="weight").replace("?", None)
    units = attributes(frame.drop(columns="age"))
    intervals = pd.cut(frame["age"], [-np.inf, 30, 50, np.inf], right=False, labels=["age<30", "30<=age<50", "age>=50"])
    used = ",".join(frame.columns)
    asked = ["adult.data", "--columns", ",".join(names), "--attributes", used, "--missing", "?", "--cut", "age=30,50"]
    return asked, pairs([{*unit, age} for unit, age in zip(units, intervals, strict=True)])


def fimi(folder: Path) -> Made:
    """A file of the FIMI repository: numbers and blanks, one too many at the end of each line."""
    rng = random.Random(4)
    rows = [sorted({int(rng.expovariate(0.3)) + 1 for _ in range(6)}) for _ in range(1200)]
    text = "".join(" ".join(map(str, row)) + " \n" for row in rows)
    (folder / "retail.dat").write_text(text, encoding="ascii")
    return ["retail.dat"], pairs({str(item) for item in row} for row in rows)


def basket_csv(folder: Path) -> Made:
    """groceries.csv: a basket a line, items with blanks between commas."""
    rng = random.Random(5)
    goods = ["whole milk", "other vegetables", "rolls/buns", "soda", "yogurt", "bottled water"]
    rows = [bought(rng, goods) for _ in range(800)]
    (folder / "groceries.csv").write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    asked = ["groceries.csv", "--input-format", "baskets", "--separator", ","]
    return asked, pairs(map(set, rows))


def matrix(folder: Path) -> Made:
    """A matrix of 0 and 1 with the items as its header, beside a number of the row."""
    rng = np.random.default_rng(6)
    shares = np.array([0.8, 0.6, 0.5, 0.4, 0.3, 0.1])
    frame = pd.DataFrame(
        (rng.random((700, 6)) < shares).astype(int), columns=["tea", "milk", "rice", "eggs", "salt", "gin"]
    )
    frame.insert(0, "id", range(700))
    frame.to_csv(folder / "onehot.csv", index=False)
    flags = frame.drop(columns="id")
    units = [set(flags.columns[row.astype(bool)]) for row in flags.to_numpy()]
    return ["onehot.csv", "--unit", "id", "--one-hot"], pairs(units)


def bank(folder: Path) -> Made:
    """bank-full.csv: semicolons, everything quoted, yes and no, a number that is cut."""
    rng = random.Random(8)
    rows = [
        [
            rng.randrange(18, 95),
            rng.choice(["admin.", "technician", "unknown"]),
            rng.choice(["married", "single"]),
            rng.choices(["yes", "no"], [1, 3])[0],
            rng.randrange(-500, 5000),
        ]
        for _ in range(800)
    ]
    frame = pd.DataFrame(rows, columns=["age", "job", "marital", "y", "balance"])
    frame.to_csv(folder / "bank-full.csv", sep=";", index=False, quoting=2)
    rich = ["balance>=1000" if balance >= 1000 else "balance<1000" for balance in frame["balance"]]
    units = attributes(frame[["job", "marital", "y"]].replace("unknown", None))
    asked = ["bank-full.csv", "--delimiter", ";", "--attributes", "job,marital,y,balance", "--missing", "unknown"]
    return [*asked, "--cut", "balance=1000"], pairs([{*unit, held} for unit, held in zip(units, rich, strict=True)])


def web_log(folder: Path) -> Made:
    """A log, without a header: visitor;page, some requests by robots, which are left out."""
    rng = random.Random(9)
    rows = [
        (f"10.0.{rng.randrange(4)}.{rng.randrange(200)}", "/" + rng.choices("abcdefgh", range(9, 1, -1))[0], status)
        for status in rng.choices(["200", "404", ""], [8, 1, 1], k=4000)
    ]
    (folder / "access.log").write_text("".join(";".join(row) + "\n" for row in rows), encoding="ascii")
    frame = pd.DataFrame(rows, columns=["visitor", "page", "status"])
    asked = [
        "access.log",
        "--delimiter",
        ";",
        "--columns",
        "visitor,page,status",
        "--unit",
        "visitor",
        "--item",
        "page",
    ]
    return [*asked, "--where", "status = '200'"], pairs(sets(frame[frame["status"] == "200"], "visitor", "page"))


def spreadsheet(folder: Path) -> Made:
    """Made by Excel in German: semicolons, windows-1252, decimal commas, days first, cancelled lines."""
    rng = random.Random(10)
    rows = [
        {"Kunde": f"K{rng.randrange(250)}", "Datum": f"{rng.randrange(1, 29)}.{month:02}.2026", "Artikel": name}
        | {"Betrag": f"{rng.randrange(-20, 100)},50", "Monat": month}
        for month in range(1, 13)
        for _ in range(120)
        for name in bought(rng, GOODS)
    ]
    frame = pd.DataFrame(rows)
    frame.drop(columns="Monat").to_csv(
        folder / "umsatz.csv", sep=";", index=False, encoding="cp1252", lineterminator="\r\n"
    )
    kept = frame[(frame["Betrag"].str.replace(",", ".").astype(float) > 0) & (frame["Monat"] >= 3)]
    asked = ["umsatz.csv", "--delimiter", ";", "--decimal", ",", "--encoding", "windows-1252"]
    asked += ["--types", "Datum=date:%d.%m.%Y,Betrag=float64", "--where", "Betrag > 0 AND Datum >= DATE '2026-03-01'"]
    asked += ["--unit", "Kunde", "--item", "Artikel"]
    return asked, pairs(sets(kept, "Kunde", "Artikel"))


def impala(folder: Path) -> Made:
    """Parquet by Impala: texts are bytes without a mark, and times are of 96 bits."""
    rng = random.Random(11)
    rows = [(f"c{rng.randrange(300)}", name) for _ in range(900) for name in bought(rng, GOODS)]
    columns = {
        name: pa.array([value.encode() for value in values], pa.binary())
        for name, values in zip(("customer", "product"), zip(*rows, strict=True), strict=True)
    }
    columns["at"] = pa.array(range(len(rows)), pa.timestamp("ns"))
    pq.write_table(
        pa.table(columns), folder / "impala.parquet", use_deprecated_int96_timestamps=True, store_schema=False
    )
    frame = pd.DataFrame(rows, columns=["customer", "product"])
    asked = ["impala.parquet", "--types", "customer=text,product=text", "--unit", "customer", "--item", "product"]
    return asked, pairs(sets(frame, "customer", "product"))


FILES: tuple[Callable[[Path], Made], ...] = (
    mushrooms,
    votes,
    census,
    fimi,
    basket_csv,
    matrix,
    bank,
    web_log,
    spreadsheet,
    impala,
)


def listed(outcome: Any) -> dict[frozenset[Any], Any]:
    assert outcome.status == 0, outcome.err
    return {frozenset(entry["items"]): entry.get("support") for entry in json.loads(outcome.out)["itemsets"]}


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_one_command_each(
    make: Callable[[Path], Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked, expected = make(tmp_path)
    run, least = outcome_of(capfd), sorted(expected.values())[-40:][0]
    exact = listed(run("supports", *asked, "--min-support", str(least), "--not-private", "--format", "json"))
    assert exact == {pair: count for pair, count in expected.items() if count >= least}
    best = listed(run("top-itemset", *asked, "--top", str(BEST), "--epsilon", "10000", "--format", "json"))
    assert len(best) == BEST
    assert all(expected[pair] >= sorted(expected.values())[-BEST] for pair in best)


def test_there_are_ten() -> None:
    assert len(FILES) == 10
