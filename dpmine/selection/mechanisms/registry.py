"""The class of every mechanism by its name, which is also that of its proof note."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine.options import names

if TYPE_CHECKING:
    from dpmine.selection.mechanisms.mechanism import Mechanism

MECHANISMS: dict[str, type[Mechanism]] = {named.name: named.load() for named in names.MECHANISMS}
