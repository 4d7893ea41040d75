"""Public conditions on rows, and statements on one file: each row decides by itself, and nothing else is read."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import outcome_of
from support.oracles.ingest import CANARY

import dpmine
from dpmine.errors import BadData, BadParameter, DpmineError, LayoutWarning
from dpmine.io.input import Input
from dpmine.io.open import open_input
from dpmine.io.source import ArrowSource
from dpmine.io.sources.row_expressions import RowExpressions, parsed_condition

pytestmark = pytest.mark.filterwarnings(f"ignore::{LayoutWarning.__module__}.{LayoutWarning.__name__}")
LINES = 400


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {
            "customer": [f"c{place % 50}" for place in range(LINES)],
            "product": [f"p{place % 7}" for place in range(LINES)],
            "status": ["C" if place % 5 == 0 else "" if place % 11 == 0 else "ok" for place in range(LINES)],
            "amount": [CANARY if place % 13 == 0 else str(place / 2) for place in range(LINES)],
        }
    )
    frame.to_csv("sales.csv", index=False)
    frame.to_csv("sales.txt", index=False, sep=";")
    return frame


def supports(data: Any, **options: Any) -> dict[str, int]:
    options = {"unit": "customer", "item": "product"} | options
    found = dpmine.itemset_supports(data, size=1, min_support=1, **options)
    return {next(iter(items)): int(count) for items, count in zip(found["itemsets"], found["support"], strict=True)}


def counted(frame: pd.DataFrame) -> dict[str, int]:
    counts = frame.drop_duplicates(["customer", "product"])["product"].value_counts()
    return {str(name): int(count) for name, count in counts.items()}


@pytest.mark.parametrize(
    ("condition", "types", "said"),
    [
        ("amount > '9'", {}, True),
        ("NOT ('9' <= amount AND status = 'C')", {}, True),
        ("amount BETWEEN '1' AND '5'", {}, True),
        ("status > 'A'", {}, False),
        ("amount = '9'", {}, False),
        ("TRY_CAST(amount AS DOUBLE) > 9", {}, False),
        ("amount > 9", {"types": "amount=float64"}, False),
    ],
)
@pytest.mark.usefixtures("sales")
def test_numbers_that_are_ordered_as_text_are_named_once(condition: str, types: dict[str, Any], said: bool) -> None:
    cautions = open_input(Input("sales.csv", where=condition, **types)).cautions(["product"])
    assert [text for text in cautions if "orders column 'amount' as text" in text] == list(cautions[1:2]) * said


CONDITIONS: dict[str, Any] = {
    "status != 'C'": lambda rows: (rows["status"] != "C") & (rows["status"] != ""),
    "status IS NULL OR status <> 'C'": lambda rows: rows["status"] != "C",
    "amount > 100": lambda rows: pd.to_numeric(rows["amount"], errors="coerce") > 100,
    "amount BETWEEN 10 AND 20.5 AND NOT status IN ('C')": lambda rows: (
        pd.to_numeric(rows["amount"], errors="coerce").between(10, 20.5)
        & (rows["status"] != "C")
        & (rows["status"] != "")
    ),
    "lower(product) LIKE 'p1%' OR product = 'p3'": lambda rows: rows["product"].isin(["p1", "p3"]),
    "CASE WHEN status = 'C' THEN amount < 50 ELSE FALSE END": lambda rows: (
        (rows["status"] == "C") & (pd.to_numeric(rows["amount"], errors="coerce") < 50)
    ),
    "TRUE": lambda rows: rows["product"] != "",
}


@every("condition", CONDITIONS, quick=4)
def test_rows_where_a_condition_holds(condition: str, sales: pd.DataFrame) -> None:
    expected = counted(sales[CONDITIONS[condition](sales)])
    types = "amount=float64"
    assert supports(Input("sales.csv", where=condition, types=types)) == expected
    assert supports(Input("sales.txt", where=condition, types=types, delimiter=";")) == expected
    statement = "SELECT product, customer FROM '{}' WHERE " + condition
    assert supports(Input(query=statement.format("sales.csv"), types=types)) == expected
    assert supports(Input(query=statement.format("sales.txt"), types=types, delimiter=";")) == expected
    assert supports(Input("sales.csv", where=condition, types=types), memory="64MB") == expected


def test_the_command_the_job_and_the_library_agree(sales: pd.DataFrame, capfd: pytest.CaptureFixture[str]) -> None:
    run = outcome_of(capfd)
    asked = ["sales.csv", "--where", "status != 'C'", "--unit", "customer", "--item", "product"]
    out = run("supports", *asked, "--size", "1", "--min-support", "1", "--not-private", "--format", "json").out
    listed = {entry["items"][0]: entry["support"] for entry in json.loads(out)["itemsets"]}
    assert listed == supports(Input("sales.csv", where="status != 'C'"))
    job = """
    [budget]
    ledger = "sqlite:///b.db"
    dataset = "sales"
    epsilon = 1000
    delta = 0.5
    [[job]]
    kind = "top-itemset"
    input = "sales.csv"
    where = "status != 'C' AND amount >= 0"
    types = "amount=float64"
    unit = "customer"
    item = "product"
    size = "1"
    top = 7
    epsilon = 500
    """
    Path("jobs.toml").write_text(job, encoding="utf-8")
    notice = "a value of a text column that does not fit its type counts as missing"
    assert notice in run("report", "jobs.toml", "--dry-run").err
    done = run("report", "jobs.toml")
    assert done.status == 0
    assert notice in done.err
    assert "chosen without a look at the data" in done.err
    (result,) = Path("jobs-results").glob("*.json")
    listed_by_job = json.loads(result.read_text(encoding="utf-8"))["result"]["itemsets"]
    chosen = {entry["items"][0] for entry in listed_by_job}
    assert chosen == {*sales["product"]}


def test_expressions_have_names_and_types(sales: pd.DataFrame) -> None:
    query = "SELECT upper(customer) AS customer, product || '!' AS product, amount * 2 AS twice FROM 'sales.csv'"
    assert supports(Input(query=query, types="amount=float64")) == {
        f"{name}!": count for name, count in counted(sales).items()
    }
    whole = Input(query="SELECT * FROM 'sales.csv' WHERE status = 'C'")
    assert supports(whole) == counted(sales[sales["status"] == "C"])


REJECTED = {
    "a column that is not there": ("year = '2026'", "names 'year'"),
    "a name in place of a text": ('status = "C"', "single quotes"),
    "a subquery": ("status IN (SELECT status FROM 'other.csv')", "no subquery"),
    "another file": ("EXISTS (SELECT 1 FROM read_csv('other.csv'))", "no subquery"),
    "a reader": ("read_text('/etc/passwd') = 'x'", "'read_text' is none"),
    "the environment": ("getenv('HOME') = 'x'", "'getenv' is none"),
    "an aggregate": ("count(*) > 1", "none of these"),
    "a window": ("row_number() OVER () > 1", "none of these"),
    "chance": ("random() > 0.5", "none of these"),
    "the time": ("current_date > '2026-01-01'", "current_date"),
    "a column of another table": ("other.status = 'C'", "names 'status'"),
    "two statements": ("TRUE; DROP TABLE x", "cannot parse"),
    "the end of the expression": ("TRUE) FROM other WHERE (TRUE", "cannot parse"),
    "a table behind it": ("TRUE) AS a, (FALSE", "one condition"),
    "a comment": ("TRUE) FROM 'other.csv' --", "cannot parse"),
    "all columns": ("COLUMNS('st.*') = 'C'", "no subquery"),
    "a parameter": ("status = $1", "no subquery"),
    "a long text": ("repeat(status, 1000000000) = 'x'", "'repeat' is none"),
    "a pattern out of the data": ("status LIKE product", "behind LIKE"),
    "a text and a number": ("amount > 5", "Declare other types"),
    "no condition": ("status", "true or false"),
    "nothing": ("", "must be a condition"),
}


@pytest.mark.usefixtures("sales")
@every("mistake", REJECTED)
def test_a_condition_that_is_none_charges_nothing(mistake: str) -> None:
    condition, said = REJECTED[mistake]
    ledger = dpmine.Ledger("sqlite:///b.db")
    ledger.grant("sales", epsilon=10, delta=0.1)
    before = len(ledger.history("sales"))
    with pytest.raises((BadParameter, BadData)) as error:
        dpmine.top_itemset(
            Input("sales.csv", where=condition), unit="customer", item="product", ledger=ledger, dataset="sales"
        )
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert CANARY not in str(error.value)
    assert len(ledger.history("sales")) == before


STATEMENTS = {
    "LIMIT": "SELECT customer, product FROM 'sales.csv' LIMIT 3",
    "GROUP BY": "SELECT customer, max(product) AS product FROM 'sales.csv' GROUP BY customer",
    "DISTINCT": "SELECT DISTINCT customer, product FROM 'sales.csv'",
    "several files": "SELECT customer, product FROM 'sales.csv', 'sales.csv' AS b",
    "a reader": "SELECT customer, product FROM read_csv('sales.csv')",
    "WITH": "WITH a AS (SELECT 1) SELECT customer, product FROM 'sales.csv'",
    "UNION": "SELECT customer, product FROM 'sales.csv' UNION SELECT 1, 2",
    "a sample": "SELECT customer, product FROM 'sales.csv' USING SAMPLE 10",
    "rows that multiply": "SELECT customer, unnest([1, 2]) AS product FROM 'sales.csv'",
    "no name": "SELECT customer, lower(product) FROM 'sales.csv'",
    "one name twice": "SELECT customer, product AS customer FROM 'sales.csv'",
    "some of all": "SELECT * EXCLUDE (status) FROM 'sales.csv'",
    "writing": "COPY (SELECT 1) TO 'x.csv'",
    "no statement": "sales",
}


@every("nested", ["NOT " * 200 + "a", "||".join("a" * 200) + " = 'x'", "lower(" * 200 + "a" + ")" * 200 + " = 'x'"])
def test_a_condition_that_is_nested_too_deeply_is_rejected_whatever_the_stack(nested: str) -> None:
    with pytest.raises(BadParameter, match="nested too deeply"):
        RowExpressions.of([parsed_condition(nested)], ArrowSource(pa.schema({"a": pa.string()}), lambda _names: ()))


def test_long_lists_of_conditions_are_not_deep() -> None:
    long = " OR ".join(["a = 'x' AND a <> 'y'"] * 500)
    checked = RowExpressions.of([parsed_condition(long)], ArrowSource(pa.schema({"a": pa.string()}), lambda _names: ()))
    assert checked.types == (pa.bool_(),)


@pytest.mark.usefixtures("sales")
@every("statement", STATEMENTS)
def test_a_statement_without_a_database_does_no_more(statement: str) -> None:
    with pytest.raises(BadParameter) as error:
        supports(Input(query=STATEMENTS[statement]))
    assert "\n" not in str(error.value)


def test_columns_of_the_condition_are_no_items(tmp_path: Path) -> None:
    flags = pa.table({"a": [1, 0, 1], "b": [1, 1, 1], "year": [2025, 2026, 2026]})
    pq.write_table(flags, tmp_path / "flags.parquet")
    one_hot = Input(str(tmp_path / "flags.parquet"), where="year = 2026")
    assert supports(one_hot, unit=None, item=None, one_hot=True) == {"b": 2, "a": 1}
    attributes = {"unit": None, "item": None, "attributes": True}
    assert supports(one_hot, **attributes) == {"b=1": 2, "a=0": 1, "a=1": 1}
    assert supports(one_hot, **{**attributes, "attributes": ["year"]}) == {"year=2026": 2}
    with pytest.raises(BadParameter, match="takes no `where`"):
        dpmine.top_itemset(one_hot, one_hot=True, engine="spark")


def test_views_of_texts_are_filtered(tmp_path: Path) -> None:
    """Arrow has no filter for them."""
    lists = pa.array([["a"], ["b", None], ["a", "b"]], pa.list_(pa.string_view()))
    for column in pa.array(["a", "b", "a"], pa.string_view()), lists:
        table = pa.table({"n": [1, 2, 3], "item": column})
        with pa.ipc.new_file(tmp_path / "views.arrow", table.schema) as sink:
            sink.write_table(table)
        found = supports(Input(str(tmp_path / "views.arrow"), where="n < 3"), unit="n", item="item")
        assert found == {"a": 1, "b": 1}


def test_models_read_the_rows_where_it_holds(tmp_path: Path) -> None:
    from dpmine.models.tables import read_columns

    path = tmp_path / "people.csv"
    path.write_text("age,country\n20,DE\n30,FR\n,DE\nx,DE\n40,DE\n", encoding="utf-8")
    read = read_columns(Input(str(path), where="country = 'DE' AND age > 25", types="age=float64"), ["age"])
    assert read["age"].tolist() == [40]
    doubled = Input(query=f"SELECT age * 2 AS age FROM '{path}' WHERE country = 'DE'", types="age=float64")
    assert read_columns(doubled, ["age"])["age"][[0, 3]].tolist() == [40, 80]


VALUES = ["x", "9", "9.5", "-1", "", None, "2026-01-01", "1e400", "nan", "true", "99999999999999999999", "é", "a%b"]
NUMBERS = [None, 0, 1, -1, 5, 2**63 - 1, -(2**63)]
REALS = [None, 0.0, float("nan"), float("inf"), 1e300, 2.5]
FAILING = [
    "CAST(b AS INTEGER) > 3 OR a = 'x'",
    "n * n > 5 OR n * n < -5",
    "CAST(a AS INTEGER) = 9 OR CAST(a AS INTEGER) = 10 OR b = 'x'",
    "CAST(a AS INTEGER) IN (9, CAST(b AS INTEGER))",
    "CASE WHEN a = 'x' THEN TRUE ELSE CAST(b AS INTEGER) > 3 END",
    "coalesce(a = 'x', CAST(b AS INTEGER) > 3)",
    "NOT (CAST(a AS INTEGER) + n > 5)",
    "CAST(a AS DATE) > '2025-01-01' OR n > 0",
    "n + 9223372036854775807 > 0 OR a = 'x'",
    "CAST(f AS BIGINT) > 3 OR a = '9'",
    "length(a) / n > 1",
    "a LIKE '%9%' OR CAST(b AS BOOLEAN)",
    "abs(n) > 3",
    "CAST(CAST(a AS DOUBLE) AS INTEGER) BETWEEN CAST(b AS DOUBLE) AND 10",
]
"""Conditions that fail at some of these values."""


@every("condition", FAILING, quick=4)
def test_each_row_is_decided_by_itself(condition: str) -> None:
    """Alone, a row has the value that it has among others, and at least one is null where DuckDB would fail."""
    rng, rows = random.Random(7), 3000
    table = pa.table(
        {
            "a": pa.array(rng.choices(VALUES, k=rows), pa.string()),
            "b": pa.array(rng.choices(VALUES, k=rows), pa.string()),
            "n": pa.array(rng.choices(NUMBERS, k=rows), pa.int64()),
            "f": pa.array(rng.choices(REALS, k=rows), pa.float64()),
        }
    )
    checked = RowExpressions.of([parsed_condition(condition)], ArrowSource(table.schema, lambda _names: ()))
    ((_, whole),) = checked.values(iter(table.to_batches()))
    sample = rng.sample(range(rows), 60)
    single = [table.slice(place, 1).to_batches()[0] for place in sample]
    alone = [computed.column(0)[0].as_py() for _, computed in checked.values(iter(single))]
    assert alone == [whole.column(0)[place].as_py() for place in sample]
    assert whole.column(0).null_count


def test_a_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of a run checks it, and starting DuckDB takes longer than all the rest of them."""
    from dpmine.io.sources import row_expressions

    opened: list[Any] = []
    connected = row_expressions.connected

    def counted_start() -> Any:
        opened.append(None)
        return connected()

    monkeypatch.setattr(row_expressions, "connected", counted_start)
    first = parsed_condition("a > 123456 AND b = 'once'")
    started = len(opened)
    assert parsed_condition("a > 123456 AND b = 'once'") == first
    assert len(opened) == started > 0


def test_a_failure_in_spite_of_try_concerns_its_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpmine.io.sources import row_expressions

    table = pa.table({"n": pa.array(range(50), pa.int64())})
    checked = RowExpressions.of([parsed_condition("n >= 0")], ArrowSource(table.schema, lambda _names: ()))
    inner = row_expressions._computed

    def failing(connection: Any, statement: str, rows: pa.Table, **more: Any) -> pa.Table:
        if 17 in rows.column(0).to_pylist():
            raise RuntimeError(CANARY)
        return inner(connection, statement, rows, **more)

    monkeypatch.setattr(row_expressions, "_computed", failing)
    ((_, computed),) = checked.values(iter(table.to_batches()))
    assert computed.column(0).to_pylist() == [None if number == 17 else True for number in range(50)]


def test_an_instant_that_ends_duckdb_concerns_its_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB refuses all statements after it: with and without the conversion that makes the instant null."""
    from dpmine.io.sources import row_expressions

    instants = pa.array([0, 1, -(2**63), 2], pa.int64()).cast(pa.timestamp("us"))
    table = pa.table({"t": pa.chunked_array([instants, instants])})
    checked = RowExpressions.of(
        [parsed_condition("CAST(t AS VARCHAR) < '1980'")], ArrowSource(table.schema, lambda _names: ())
    )
    for _ in range(2):
        found = [computed.column(0).to_pylist() for _, computed in checked.values(iter(table.to_batches()))]
        assert found == [[True, True, None, True]] * 2
        monkeypatch.setattr(row_expressions, "converted", lambda column, _kind: column)


def test_values_that_their_types_forbid_are_made_no_texts() -> None:
    """DuckDB wrote such a decimal with bytes of its memory, and refused rows with such lists and all after them."""
    numbers = np.array([[1, 0], [-1, 2**63 - 1], [0, -(2**63)]], np.int64)
    decimals = pa.Array.from_buffers(pa.decimal128(38, 38), 3, [None, pa.py_buffer(numbers.tobytes())])
    ends, content = np.array([0, 1, 3, 4], np.int64), pa.py_buffer(b"a\xffcd")
    texts = pa.Array.from_buffers(pa.large_string(), 3, [None, pa.py_buffer(ends.tobytes()), content])
    table = pa.table({"n": decimals, "l": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), texts)})
    conditions = ["CAST(n AS VARCHAR)", "lower(CAST(l AS VARCHAR))", "l || l"]
    checked = RowExpressions.of(
        [parsed_condition(condition) for condition in conditions], ArrowSource(table.schema, lambda _names: ())
    )
    for first in range(2):  # lists of a slice have other ends
        ((_, found),) = checked.values(iter(table[first:].to_batches()))
        found.validate(full=True)
        shown = [*zip(*(column.to_pylist() for column in found.columns), strict=True)]
        expected: list[Any] = [("." + "1".rjust(38, "0"), "[a]", ["a", "a"])]
        expected += [(None, "[\ufffdc]", ["\ufffdc", "\ufffdc"]), (None, "[d]", ["d", "d"])]
        assert shown == expected[first:]


@pytest.mark.usefixtures("sales")
def test_without_duckdb_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(DpmineError, match=r"pip install 'dpmine\[sql\]'"):
        supports(Input("sales.csv", where="status = 'C'"))
