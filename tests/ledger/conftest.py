"""Ledgers in every store: the same tests run on SQLite and, where it is installed, on PostgreSQL."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from dpmine.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from ledger.postgres import Cluster

_NAMES = count()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a server is among the tests that depend on the environment."""
    for item in items:
        needs, call = getattr(item, "fixturenames", ()), getattr(item, "callspec", None)
        if "cluster" in needs or ("url" in needs and call is not None and call.params.get("url") == "postgres"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without a ledger."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'budget.db'}"
    server: Cluster = request.getfixturevalue("cluster")
    return server.schema(f"ledger{next(_NAMES)}")


@pytest.fixture
def ledger(url: str) -> Ledger:
    return Ledger(url)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where an SQLite ledger may be made."""
    return tmp_path / "budget.db"
