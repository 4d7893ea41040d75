"""The roles of docs/how-to/ledger.md may do what its table says, where a server is installed."""

from __future__ import annotations

import os
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ledger.postgres import Cluster, running
from support.pages.snippets import blocks

import dpmine

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "ledger.md"


def statements() -> list[list[str]]:
    """The page's blocks of SQL, a list of statements each."""
    texts = [block.text for block in blocks(PAGE.read_text(encoding="utf-8")) if block.kind == "sql"]
    return [[f"{each.strip()};" for each in text.split(";") if each.strip()] for text in texts]


def execute(cluster: Cluster, database: str, commands: list[str]) -> None:
    import psycopg

    with psycopg.connect(cluster.libpq(database), autocommit=True) as connection:
        for command in commands:
            connection.execute(command.encode())


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    yield from running()


@pytest.fixture(scope="module")
def urls(cluster: Cluster) -> dict[str, str]:
    """A ledger as the page sets it up: the URL of each role."""
    before, after = statements()
    execute(cluster, "postgres", before)
    roles = ["dpmine_owner", "dpmine_jobs", "dpmine_readers"]
    execute(cluster, "postgres", [f"ALTER ROLE {role} PASSWORD '{cluster.PASSWORD}'" for role in roles])
    urls = {role: cluster.url("budgets", role) for role in roles}
    dpmine.Ledger(urls["dpmine_owner"]).grant("shop", epsilon=3, delta="1e-5", unit="unit")
    execute(cluster, "budgets", after)
    return urls


def charge(url: str) -> None:
    dpmine.select([900, 100], mechanism="exponential", epsilon="1/10", ledger=url, dataset="shop")


def test_every_role_reads(urls: dict[str, str]) -> None:
    for url in urls.values():
        ledger = dpmine.Ledger(url)
        assert ledger.budget("shop").dataset == "shop"
        assert len(ledger.history("shop")) >= 1
        assert ledger.verify() >= 1
        assert "shop" in ledger.export()


def test_owner_and_jobs_charge_and_readers_do_not(urls: dict[str, str]) -> None:
    before = dpmine.Ledger(urls["dpmine_readers"]).budget("shop").spent.epsilon
    charge(urls["dpmine_owner"])
    charge(urls["dpmine_jobs"])
    with pytest.raises(dpmine.BadLedger):
        charge(urls["dpmine_readers"])
    after = dpmine.Ledger(urls["dpmine_readers"]).budget("shop").spent.epsilon
    assert (after - before) * 10 == 2


def test_a_job_with_a_charge_afterwards_is_settled_by_the_jobs_role(urls: dict[str, str]) -> None:
    ledger = dpmine.Ledger(urls["dpmine_jobs"])
    guarantee = dpmine.ExPostGuarantee(
        epsilon=Fraction(1),
        delta=Fraction(0),
        neighbors=dpmine.Neighbors.REPLACE_ONE,
        unit="unit",
        ex_post_epsilon=Fraction(1),
    )
    receipt = ledger.charge("shop", guarantee, job="a search")
    ledger.settle(receipt, "1/2")
    ledger.verify()


def test_only_the_owner_grants(urls: dict[str, str]) -> None:
    for role in ("dpmine_jobs", "dpmine_readers"):
        for dataset in ("shop", "another"):
            with pytest.raises(dpmine.BadLedger):
                dpmine.Ledger(urls[role]).grant(dataset, epsilon=9, delta="1e-5")
    dpmine.Ledger(urls["dpmine_owner"]).grant("shop", epsilon=4, delta="1e-5")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE dpmine_history SET epsilon = '0'",
        "DELETE FROM dpmine_history",
        "DELETE FROM dpmine_datasets",
        "INSERT INTO dpmine_datasets SELECT * FROM dpmine_datasets",
        "CREATE TABLE other (x int)",
    ],
)
def test_jobs_change_no_past_entry(urls: dict[str, str], sql: str) -> None:
    import psycopg

    with psycopg.connect(urls["dpmine_jobs"]) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(sql.encode())


def test_a_total_raised_by_hand_is_found(urls: dict[str, str]) -> None:
    import psycopg

    granted = str(dpmine.Ledger(urls["dpmine_readers"]).budget("shop").granted.epsilon)
    with psycopg.connect(urls["dpmine_jobs"], autocommit=True) as connection:
        connection.execute(b"UPDATE dpmine_datasets SET epsilon = '100'")
        try:
            with pytest.raises(dpmine.BadLedger):
                dpmine.Ledger(urls["dpmine_readers"]).verify()
        finally:
            connection.execute(b"UPDATE dpmine_datasets SET epsilon = %s", [granted])
    dpmine.Ledger(urls["dpmine_readers"]).verify()


def test_a_backup_is_a_ledger(cluster: Cluster, urls: dict[str, str], tmp_path: Path) -> None:
    before = dpmine.Ledger(urls["dpmine_owner"]).budget("shop")
    dump = tmp_path / "budgets.dump"
    where = ["--host=127.0.0.1", f"--port={cluster.port}", "--username=ledger"]
    environment = {**os.environ, "PGPASSWORD": cluster.PASSWORD}

    def run(program: str, *arguments: str) -> None:
        command = [str(cluster.programs / program), *where, *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=300, env=environment)

    run("pg_dump", "--format=custom", f"--file={dump}", "budgets")
    hang_up = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'budgets'"
    execute(cluster, "postgres", [hang_up, "ALTER DATABASE budgets RENAME TO lost"])
    run("pg_restore", "--create", "--dbname=postgres", str(dump))
    restored = dpmine.Ledger(urls["dpmine_owner"])
    assert restored.budget("shop") == before
    restored.verify()
