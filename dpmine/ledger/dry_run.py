"""How a dry run ends: apart from ledgers, which load a library for databases, and from what catches it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from dpmine.privacy import Guarantee


@dataclass
class DryRun(Exception):
    """How a run ends that is checked up to its charge, and not charged.

    Attributes:
        job: what would be charged, in the words of a ledger's history.
        guarantee: the most that the run would be charged.
        dataset: what would be charged; "" without a ledger.
        left: what the data set would have left; "" without a ledger.
    """

    job: str
    guarantee: Guarantee
    dataset: str = ""
    left: str = ""

    def to_json(self) -> str:
        """As one JSON object."""
        asked = {"dry_run": True, "job": self.job, "guarantee": self.guarantee.to_dict()}
        return json.dumps({**asked, "left_afterwards": self.left or None}, ensure_ascii=False)

    def __str__(self) -> str:
        left = f" {self.dataset} would have {self.left} left." if self.left else ""
        most = Guarantee.__str__(self.guarantee)  # of a search for a target, too
        return f"Dry run of {self.job}: no value was read, nothing charged.\nIt would charge {most}.{left}"
