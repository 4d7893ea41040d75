"""Queries on a real PostgreSQL: the same answer as from the table itself, as a stream, and no words of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pyarrow as pa
import pytest
from support.oracles.ingest import CANARY, refused
from support.reading import exact_supports

import dpmine
from dpmine.errors import UnreadableFile

if TYPE_CHECKING:
    from ledger.postgres import Cluster

pytestmark = pytest.mark.slow
ROWS = [(f"{customer:05}", day, f"p{(customer * day) % 7}") for customer in range(40) for day in range(1, 5)]


@pytest.fixture(scope="module")
def shop(cluster: Cluster) -> str:
    url = cluster.create("shop")
    with psycopg.connect(cluster.libpq("shop")) as connection:
        connection.execute("CREATE TABLE rows (customer text, day integer, product text, note numeric)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO rows VALUES (%s, %s, %s, 1.5)", ROWS)
            cursor.execute("INSERT INTO rows VALUES (NULL, 1, 'p0', 0), ('00000', 1, NULL, 0)")
    return url


def supports(data: object, memory: str | None = None) -> dict[frozenset[str], int]:
    return exact_supports(data, "1-2", memory=memory, unit="customer", item="product")


@pytest.mark.parametrize("memory", [None, "64MB"])
def test_supports_are_those_of_the_table(shop: str, memory: str | None) -> None:
    customers, days, products = zip(*ROWS, strict=True)
    table = pa.table({"customer": customers, "day": days, "product": products})
    query = dpmine.Input(query="SELECT customer, product FROM rows;", database=shop)
    assert supports(query, memory) == supports(table)


def test_a_filter_with_a_per_cent_sign_and_a_colon(shop: str) -> None:
    statement = "SELECT customer, product FROM rows WHERE product LIKE 'p%' AND product <> ':p0' -- 100%\n"
    found = supports(dpmine.Input(query=statement, database=shop))
    assert found == supports(dpmine.Input(query="SELECT customer, product FROM rows", database=shop))


def test_numbers_are_declared(shop: str) -> None:
    query = dpmine.Input(query="SELECT customer, day FROM rows", database=shop, types={"day": "int64"})
    found = dpmine.itemset_supports(query, size=1, unit="customer", item="day")
    assert set(found["itemsets"]) == {frozenset([day]) for day in range(1, 5)}


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELEC", "is not one SELECT statement that"),
        ("DELETE FROM rows", "is not one SELECT statement that"),
        ("SELECT customer, CAST(product AS integer) AS product FROM rows", "failed while it returned rows"),
        ("SELECT customer, 1 / (day - 1) AS product FROM rows", "failed while it returned rows"),
        (f"SELECT customer, product::{CANARY} FROM rows", "is not one SELECT statement that"),
    ],
)
def test_what_the_server_says_is_not_quoted(shop: str, statement: str, said: str) -> None:
    with refused(UnreadableFile, said):
        supports(dpmine.Input(query=statement, database=shop))


def test_a_table_that_is_not_there_is_said(shop: str) -> None:
    with refused(UnreadableFile, "names a table that ", " does not have: write one that it holds in `query=…`: 'rows'"):
        supports(dpmine.Input(query="SELECT customer, product FROM nowhere", database=shop))


def test_a_locked_table_is_said(cluster: Cluster, shop: str) -> None:
    query = dpmine.Input(query="SELECT customer, product FROM rows", database=f"{shop}?options=-clock_timeout%3D100ms")
    with psycopg.connect(cluster.libpq("shop")) as other:
        other.execute("LOCK TABLE rows")
        with refused(UnreadableFile, "is locked by another process"):
            supports(query)


def test_a_table_that_the_user_may_not_read_is_said(cluster: Cluster, shop: str) -> None:
    assert shop
    with psycopg.connect(cluster.libpq("shop")) as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    with refused(UnreadableFile, "does not allow this user to read"):
        supports(dpmine.Input(query="SELECT customer FROM rows", database=cluster.url("shop", "guest", "guest")))


def test_a_wrong_password_is_one_line(cluster: Cluster) -> None:
    with refused(UnreadableFile, "cannot be reached"):
        supports(dpmine.Input(query="SELECT 1", database=cluster.url("postgres", password=CANARY)))
