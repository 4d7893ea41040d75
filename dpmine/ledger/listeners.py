"""Who is called when something is charged; alone, because the command line listens before anything else is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LISTENERS: list[Callable[[], object]] = []


def on_charge(listener: Callable[[], object]) -> None:
    """Call `listener`, which must not raise, whenever a charge in this process is about to be on the disk."""
    if listener not in _LISTENERS:
        _LISTENERS.append(listener)


def charge_committing() -> None:
    """Call all listeners; called inside the transaction, so that they know of a charge before it is on the disk."""
    for listener in _LISTENERS:
        listener()
