"""The audit: measured privacy against claimed privacy, of dpmine's mechanisms and of anybody's."""

from dpmine.auditing.audit_report import AuditRow
from dpmine.auditing.targets.claims import Claim
from dpmine.auditing.targets.comparison import epsilon_lower_bound
from dpmine.auditing.targets.neighbours import CountTables, RowSets, ScoreVectors
from dpmine.auditing.targets.sampling import InEnvironment
from dpmine.auditing.targets.target_report import TargetReport

__all__ = [
    "AuditRow",
    "Claim",
    "CountTables",
    "InEnvironment",
    "RowSets",
    "ScoreVectors",
    "TargetReport",
    "epsilon_lower_bound",
]
