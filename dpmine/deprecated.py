"""Names of earlier versions that still work, each with a warning that says what to write instead, and until when.

A name that users may have is never taken away at once: it goes into `MOVED` for a release at least. Whole modules that
are gone are found by `FormerModules`, which `dpmine` adds to the import system; modules that are still there say
`__getattr__ = former_names(__name__)`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

from dpmine.errors import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

REMOVED_IN = "1.0"
"""The version in which names of 0.1 that are deprecated stop working."""

MOVED: Mapping[str, Mapping[str, str]] = {
    "dpmine.accounting": {},
    "dpmine.accounting.amounts": {"Amount": "dpmine.ledger.budget.Amount", "Parts": "dpmine.ledger.budget.Parts"},
    "dpmine.accounting.budgets": {"Budget": "dpmine.ledger.budget.Budget"},
    "dpmine.accounting.ledger": {"Ledger": "dpmine.Ledger", "Receipt": "dpmine.ledger.ledger.Receipt"},
    "dpmine.accounting.records": {"Entry": "dpmine.ledger.records.Entry"},
    "dpmine.auditing": {"audit": "dpmine.audit", "AuditReport": "dpmine.AuditReport"},
    "dpmine.planning": {"plan": "dpmine.plan", "Plan": "dpmine.Plan"},
    "dpmine.selection.engine": {
        "Candidates": "dpmine.selection.select.Candidates",
        "Law": "dpmine.Law",
        "Selection": "dpmine.Selection",
        "law": "dpmine.law",
        "select": "dpmine.select",
    },
    "dpmine.selection.stylised": {"Shape": "dpmine.selection.recommend.Shape"},
    "dpmine.validation": {},
    "dpmine.validation.procedure": {
        "Validated": "dpmine.models.validation.procedure.Trained",
        "select_parameter": "dpmine.models.validation.procedure.select_parameter",
    },
    "dpmine.validation.sensitivities": {"Sensitivities": "dpmine.models.validation.terms.Sensitivities"},
    "dpmine.validation.terms": {"Terms": "dpmine.models.validation.terms.ValidationTerms"},
}
"""By module, the names that the pages of 0.1 showed there, and where they are now."""


def deprecated(old: str, new: str, *, removed_in: str = REMOVED_IN) -> None:
    """Warn, at the caller's line outside the library, that `old` is to be replaced by `new`: a DeprecationWarning."""
    warn(f"{old} is deprecated and will be removed in dpmine {removed_in}: use {new}.", DeprecationWarning)


def former_names(module: str) -> Callable[[str], Any]:
    """A module's `__getattr__`, which finds its names in `MOVED`, with a warning."""

    def find(name: str) -> Any:
        new = MOVED[module].get(name)
        if new is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        deprecated(f"{module}.{name}", new)
        home, _, named = new.rpartition(".")
        return getattr(import_module(home), named)

    return find


class FormerModules:
    """Finds modules of `MOVED` that no file has any more: they hold nothing but `former_names`."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name not in MOVED:
            return None
        return ModuleSpec(name, FormerModules, is_package=any(other.startswith(f"{name}.") for other in MOVED))  # type: ignore[arg-type]

    @staticmethod
    def create_module(_spec: ModuleSpec) -> None:
        """See `importlib.abc.Loader`: an ordinary module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """See `importlib.abc.Loader`."""
        module.__getattr__ = former_names(module.__name__)  # type: ignore[method-assign]
