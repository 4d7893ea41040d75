"""The audit: measured privacy against claimed privacy, of dpmine's mechanisms and of anybody's."""

from dpmine.auditing.blackbox import epsilon_lower_bound
from dpmine.auditing.call import audit
from dpmine.auditing.report import AuditReport, AuditRow
from dpmine.auditing.targets.claims import Claim
from dpmine.auditing.targets.neighbours import CountTables, RowSets, ScoreVectors
from dpmine.auditing.targets.process import InEnvironment
from dpmine.auditing.targets.report import TargetReport

__all__ = [
    "AuditReport",
    "AuditRow",
    "Claim",
    "CountTables",
    "InEnvironment",
    "RowSets",
    "ScoreVectors",
    "TargetReport",
    "audit",
    "epsilon_lower_bound",
]
