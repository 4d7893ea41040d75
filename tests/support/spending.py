"""What a ledger says was spent."""

from __future__ import annotations

from typing import Any

import dpmine


def spent(url: str, dataset: str = "shop") -> tuple[Any, Any]:
    """ε and δ."""
    amount = dpmine.Ledger(url).budget(dataset).spent
    return amount.epsilon, amount.delta
