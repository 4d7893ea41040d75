"""Libraries that load at their first use, because much is checked, planned and charged without them: a dry run."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Later:
    """A module by its name: what it holds is copied at the first look at any of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        module = import_module(self._name)
        vars(self).update(vars(module))
        return getattr(module, attribute)


flint = _Later("flint")
pc = _Later("pyarrow.compute")
