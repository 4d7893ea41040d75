"""dpmine: private frequent-itemset mining and exact differentially private selection.

Names are loaded when they are first used, so that `import dpmine` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpmine.version import __version__ as __version__

if TYPE_CHECKING:
    from dpmine.auditing.report import AuditReport
    from dpmine.auditing.run import audit
    from dpmine.errors import (
        AccuracyWarning,
        BadData,
        BadLedger,
        BadParameter,
        BudgetExceeded,
        DpmineError,
        LayoutWarning,
        NotPrivate,
        UnreadableFile,
    )
    from dpmine.itemsets.exact_supports import itemset_supports
    from dpmine.itemsets.top import top_itemset, top_itemsets
    from dpmine.ledger.ledger import Ledger
    from dpmine.models.accuracy_first.estimators import AccuracyFirstLogistic, AccuracyFirstRidge
    from dpmine.models.histogram.estimator import PrivateHistogram
    from dpmine.models.linear.estimators import PrivateHuberSVC, PrivateLogisticRegression
    from dpmine.models.pac.private_learner import PrivateLearner
    from dpmine.models.pac.selector import HypothesisSelector
    from dpmine.planning.planner import plan
    from dpmine.planning.results import Plan
    from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors
    from dpmine.selection.select import Law, Selection, law, select
    from dpmine.selection.universes.base import Universe
    from dpmine.selection.universes.levels import Levels


__all__ = [
    "AccuracyFirstLogistic",
    "AccuracyFirstRidge",
    "AccuracyWarning",
    "AuditReport",
    "BadData",
    "BadLedger",
    "BadParameter",
    "BudgetExceeded",
    "DpmineError",
    "ExPostGuarantee",
    "Guarantee",
    "HypothesisSelector",
    "Law",
    "LayoutWarning",
    "Ledger",
    "Levels",
    "Neighbors",
    "NotPrivate",
    "Plan",
    "PrivateHistogram",
    "PrivateHuberSVC",
    "PrivateLearner",
    "PrivateLogisticRegression",
    "Selection",
    "Universe",
    "UnreadableFile",
    "audit",
    "itemset_supports",
    "law",
    "plan",
    "select",
    "top_itemset",
    "top_itemsets",
]

_HOMES = {
    "dpmine.ledger.ledger": ("Ledger",),
    "dpmine.models.accuracy_first.estimators": ("AccuracyFirstLogistic", "AccuracyFirstRidge"),
    "dpmine.auditing.report": ("AuditReport",),
    "dpmine.auditing.run": ("audit",),
    "dpmine.errors": (
        "AccuracyWarning",
        "BadData",
        "BadLedger",
        "BadParameter",
        "BudgetExceeded",
        "DpmineError",
        "LayoutWarning",
        "NotPrivate",
        "UnreadableFile",
    ),
    "dpmine.models.histogram.estimator": ("PrivateHistogram",),
    "dpmine.itemsets.exact_supports": ("itemset_supports",),
    "dpmine.itemsets.top": ("top_itemset", "top_itemsets"),
    "dpmine.models.linear.estimators": ("PrivateHuberSVC", "PrivateLogisticRegression"),
    "dpmine.models.pac.private_learner": ("PrivateLearner",),
    "dpmine.models.pac.selector": ("HypothesisSelector",),
    "dpmine.planning.planner": ("plan",),
    "dpmine.planning.results": ("Plan",),
    "dpmine.privacy": ("ExPostGuarantee", "Guarantee", "Neighbors"),
    "dpmine.selection.select": ("Law", "Selection", "law", "select"),
    "dpmine.selection.universes.levels": ("Levels",),
    "dpmine.selection.universes.base": ("Universe",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'dpmine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
