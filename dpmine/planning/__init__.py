"""What can be expected before any data are read: leads, success probabilities and what is impossible."""

from dpmine.planning.accounting import plan_noise, plan_runs
from dpmine.planning.lists import FrequentPlan, ListPlan, ListRow, plan_frequent, plan_list
from dpmine.planning.results import Need, Row

__all__ = [
    "FrequentPlan",
    "ListPlan",
    "ListRow",
    "Need",
    "Row",
    "plan_frequent",
    "plan_list",
    "plan_noise",
    "plan_runs",
]
