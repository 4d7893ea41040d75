"""dpmine: private frequent-itemset mining and exact differentially private selection.

Names are loaded when they are first used, so that `import dpmine` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpmine.version import __version__ as __version__

if TYPE_CHECKING:
    from dpmine.accounting.ledger import Ledger
    from dpmine.accuracy_first.estimators import AccuracyFirstLogistic, AccuracyFirstRidge
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
    from dpmine.histogram.estimator import PrivateHistogram
    from dpmine.itemsets.listing import itemset_supports
    from dpmine.itemsets.top import top_itemset, top_itemsets
    from dpmine.linear.estimators import PrivateHuberSVC, PrivateLogisticRegression
    from dpmine.pac.private_learner import PrivateLearner
    from dpmine.pac.selector import HypothesisSelector
    from dpmine.planning.planner import plan
    from dpmine.planning.results import Plan
    from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors
    from dpmine.selection.engine import Law, Selection, law, select
    from dpmine.selection.levels import Levels
    from dpmine.selection.universe import Universe


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
    "dpmine.accounting.ledger": ("Ledger",),
    "dpmine.accuracy_first.estimators": ("AccuracyFirstLogistic", "AccuracyFirstRidge"),
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
    "dpmine.histogram.estimator": ("PrivateHistogram",),
    "dpmine.itemsets.listing": ("itemset_supports",),
    "dpmine.itemsets.top": ("top_itemset", "top_itemsets"),
    "dpmine.linear.estimators": ("PrivateHuberSVC", "PrivateLogisticRegression"),
    "dpmine.pac.private_learner": ("PrivateLearner",),
    "dpmine.pac.selector": ("HypothesisSelector",),
    "dpmine.planning.planner": ("plan",),
    "dpmine.planning.results": ("Plan",),
    "dpmine.privacy": ("ExPostGuarantee", "Guarantee", "Neighbors"),
    "dpmine.selection.engine": ("Law", "Selection", "law", "select"),
    "dpmine.selection.levels": ("Levels",),
    "dpmine.selection.universe": ("Universe",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'dpmine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
