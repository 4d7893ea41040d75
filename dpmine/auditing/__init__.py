"""The audit: measured privacy against claimed privacy."""

from dpmine.auditing.blackbox import epsilon_lower_bound
from dpmine.auditing.report import AuditReport, AuditRow
from dpmine.auditing.run import audit

__all__ = ["AuditReport", "AuditRow", "audit", "epsilon_lower_bound"]
