"""Data that may not be looked at: calls must reject, or charge, before they read any. And what was charged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dpmine


class Untouchable(RuntimeError):
    """The data were read."""


class SealedBaskets(Iterator[list[str]]):
    """Baskets that may not be looked at."""

    def __next__(self) -> list[str]:
        raise Untouchable


class SealedData:
    """Whatever a call for itemsets accepts: a test fails where it is opened or read."""

    def __iter__(self) -> Any:
        pytest.fail("the data were read")

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        pytest.fail("the data were read")

    def __fspath__(self) -> str:
        pytest.fail("the data were opened")


def spent(url: str, dataset: str = "shop") -> tuple[Any, Any]:
    """ε and δ, as the ledger says."""
    amount = dpmine.Ledger(url).budget(dataset).spent
    return amount.epsilon, amount.delta
