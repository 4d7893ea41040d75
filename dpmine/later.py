"""Libraries that load at their first use, because much is checked, planned and charged without them: a dry run."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Later:
    """A module by its name; each of its attributes is looked up once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        vars(self)[attribute] = value = getattr(import_module(self._name), attribute)
        return value


flint = _Later("flint")
pc = _Later("pyarrow.compute")
