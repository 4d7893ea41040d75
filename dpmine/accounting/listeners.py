"""Who wants to know of charges: what is charged stays charged, whatever becomes of the run that it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LISTENERS: list[Callable[[], object]] = []


def hear_charges(listener: Callable[[], object]) -> None:
    """Call `listener`, which must not raise, whenever a charge in this process is about to be on the disk."""
    if listener not in _LISTENERS:
        _LISTENERS.append(listener)


def charge_begins() -> None:
    """Tell all listeners; called inside the transaction, so that no charge is on the disk untold."""
    for listener in _LISTENERS:
        listener()
