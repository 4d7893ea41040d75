"""dpmine: private frequent-itemset mining and exact differentially private selection.

Names are loaded when they are first used, so that `import dpmine` takes little time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpmine.version import __version__ as __version__

if TYPE_CHECKING:
    from dpmine.auditing.audit_report import AuditReport
    from dpmine.auditing.call import audit
    from dpmine.errors import (
        AccuracyWarning,
        AlreadyCharged,
        AlreadyGranted,
        BadData,
        BadLedger,
        BadParameter,
        BudgetExceeded,
        DpmineError,
        LayoutWarning,
        NotPrivate,
        NotReady,
        SpeedWarning,
        UnreadableFile,
    )
    from dpmine.io.input import Input
    from dpmine.itemsets.exact_supports import itemset_supports
    from dpmine.itemsets.frequent import frequent_itemsets
    from dpmine.itemsets.top import top_itemset, top_itemsets
    from dpmine.ledger.dry_run import dry_run
    from dpmine.ledger.ledger import Ledger
    from dpmine.models.accuracy_first.estimators import AccuracyFirstLogistic, AccuracyFirstRidge
    from dpmine.models.histogram.estimator import PrivateHistogram
    from dpmine.models.linear.estimators import PrivateHuberSVC, PrivateLogisticRegression
    from dpmine.models.linear.ridge import PrivateRidge
    from dpmine.models.pac.selector import HypothesisSelector
    from dpmine.models.pac.theory.private_learner import PrivateLearner
    from dpmine.models.search.declared import Declared
    from dpmine.models.search.estimator import PrivateSearchCV
    from dpmine.planning.planner import plan
    from dpmine.planning.results import Plan
    from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors
    from dpmine.reporting.call import report
    from dpmine.reporting.evidence.folder import verify_evidence
    from dpmine.selection.select import Law, Selection, law, select
    from dpmine.selection.universes.dense import Levels
    from dpmine.selection.universes.protocol import Universe


__all__ = [
    "AccuracyFirstLogistic",
    "AccuracyFirstRidge",
    "AccuracyWarning",
    "AlreadyCharged",
    "AlreadyGranted",
    "AuditReport",
    "BadData",
    "BadLedger",
    "BadParameter",
    "BudgetExceeded",
    "Declared",
    "DpmineError",
    "ExPostGuarantee",
    "Guarantee",
    "HypothesisSelector",
    "Input",
    "Law",
    "LayoutWarning",
    "Ledger",
    "Levels",
    "Neighbors",
    "NotPrivate",
    "NotReady",
    "Plan",
    "PrivateHistogram",
    "PrivateHuberSVC",
    "PrivateLearner",
    "PrivateLogisticRegression",
    "PrivateRidge",
    "PrivateSearchCV",
    "Selection",
    "SpeedWarning",
    "Universe",
    "UnreadableFile",
    "audit",
    "discover_items",
    "dry_run",
    "frequent_itemsets",
    "itemset_supports",
    "law",
    "plan",
    "report",
    "select",
    "top_itemset",
    "top_itemsets",
    "verify_evidence",
]

_HOMES = {
    "auditing.audit_report": "AuditReport",
    "auditing.call": "audit",
    "errors": "AccuracyWarning AlreadyCharged AlreadyGranted BadData BadLedger BadParameter BudgetExceeded DpmineError "
    "LayoutWarning NotPrivate NotReady SpeedWarning UnreadableFile",
    "io.input": "Input",
    "itemsets.discover": "discover_items",
    "itemsets.exact_supports": "itemset_supports",
    "itemsets.frequent": "frequent_itemsets",
    "itemsets.top": "top_itemset top_itemsets",
    "ledger.dry_run": "dry_run",
    "ledger.ledger": "Ledger",
    "models.accuracy_first.estimators": "AccuracyFirstLogistic AccuracyFirstRidge",
    "models.histogram.estimator": "PrivateHistogram",
    "models.linear.estimators": "PrivateHuberSVC PrivateLogisticRegression",
    "models.linear.ridge": "PrivateRidge",
    "models.pac.theory.private_learner": "PrivateLearner",
    "models.pac.selector": "HypothesisSelector",
    "models.search.declared": "Declared",
    "models.search.estimator": "PrivateSearchCV",
    "planning.planner": "plan",
    "planning.results": "Plan",
    "privacy": "ExPostGuarantee Guarantee Neighbors",
    "reporting.call": "report",
    "reporting.evidence.folder": "verify_evidence",
    "selection.select": "Law Selection law select",
    "selection.universes.protocol": "Universe",
    "selection.universes.dense": "Levels",
}
"""Modules of this package, and the public names that each holds."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"dpmine.{home}"), name)
    if name == "frequent_patterns":  # the one module that users name
        return import_module("dpmine.frequent_patterns")
    raise AttributeError(f"module 'dpmine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
