"""Messages before any data are read: to `notice` where the call gave it, else as Python warnings."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from dpmine.errors import LayoutWarning
from dpmine.itemsets.layouts import Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.itemsets.layouts import Plan


def tell_layout(plan: Plan, notice: Callable[[str], None] | None) -> None:
    """The layout that was taken; no warning where options named it, or the data are baskets without columns."""
    if notice is not None:
        notice(plan.description)
    elif plan.origin in {Origin.NAMES, Origin.SCHEMA}:
        named = "name the columns to be sure, with unit and item (and basket), or one_hot"
        warn(f"{plan.description}: {named}.", LayoutWarning)


def tell(text: str, notice: Callable[[str], None] | None, kind: type[Warning]) -> None:
    """A notice, or a warning of this kind; nothing where the text is empty."""
    if text and notice is not None:
        notice(text)
    elif text:
        warn(text, kind)


def warn(text: str, kind: type[Warning]) -> None:
    """A warning at the caller's line outside the library: Python shows each once per line."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - `warnings` itself counts frames in this way
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("dpmine."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
