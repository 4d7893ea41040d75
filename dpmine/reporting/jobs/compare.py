"""Jobs that compare disjoint parts of a data set: each part is charged by itself, and may use the whole budget.

Proof: docs/proofs/comparison.md.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from dpmine.errors import BadParameter
from dpmine.ledger.budget import name_and_part
from dpmine.ledger.charging import Account
from dpmine.reporting.jobs.itemsets import TransactionsJob, plan_of
from dpmine.reporting.jobs.job import Released

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpmine.itemsets.compare import ComparisonRequest
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.privacy import Guarantee


class CompareJob(TransactionsJob):
    """The same itemsets in disjoint groups of units."""

    kind: ClassVar[str] = "compare"

    obstacle: ClassVar[str] = (
        "a comparison charges parts of the data set, and a window may be one: give it a job file without [schedule]."
    )

    def _checked(self) -> Guarantee:
        guarantee = super()._checked()
        return guarantee.asserting(guarantee.unit, f"none is in two of the parts {', '.join(self.parts)}")

    def guarantee_at(self) -> Guarantee:
        """See `Job.guarantee_at`."""
        return self._request.guarantee

    def run(self, account: Account, *, progress: Callable[[float], None]) -> Released:
        """Charge every part, read them, release. Raises as `Job.run`."""
        for part in self.parts:
            Account(account.ledger, f"{account.dataset}/{part}").charge(self.guarantee, job=f"compare {part}")
        memory = self.options.get("memory")
        found = self._request.compare(
            self._groups, self._columns, memory=memory, progress=progress, guarantee=self.guarantee
        )
        return Released(found.to_dict(), found.guarantee, {"": found.to_arrow()})

    @property
    def parts(self) -> tuple[str, ...]:
        """See `Job.parts`."""
        return tuple(self._conditions)

    @cached_property
    def _conditions(self) -> Mapping[str, str]:
        """The condition of each part, by its name. Raises BadParameter."""
        parts = self.options.get("parts")
        if not isinstance(parts, dict) or len(parts) < 2 or not all(isinstance(each, str) for each in parts.values()):
            raise BadParameter(
                "parts must name two groups or more, each with a condition, such as "
                "parts = {north = \"region = 'N'\", south = \"region = 'S'\"}."
            )
        if len(set(parts.values())) < len(parts):
            raise BadParameter("parts must be disjoint: two of them have the same condition.")
        for name in parts:
            name_and_part(f"parts/{name}")
        return parts

    @cached_property
    def _groups(self) -> dict[str, object]:
        """The rows of each part, by its name."""
        own = [f"({self.options['where']})"] if "where" in self.options else []
        groups: dict[str, object] = {}
        for part, condition in self._conditions.items():
            where = " and ".join([*own, f"({condition})"])
            groups[part] = replace(self, options={**self.options, "where": where}).data
        return groups

    @cached_property
    def _plan(self) -> LayoutPlan:
        """That of every part: they have the same columns."""
        plans = [plan_of(data, self._columns) for data in self._groups.values()]
        return plans[0]

    @cached_property
    def _request(self) -> ComparisonRequest:
        from dpmine.itemsets.compare import ComparisonRequest
        from dpmine.itemsets.request.query import Query

        names = {field.name for field in fields(Query)}
        query = Query(**{name: value for name, value in self._arguments.items() if name in names})
        return ComparisonRequest.of(query, len(self._conditions), self.options.get("itemsets", ()))
