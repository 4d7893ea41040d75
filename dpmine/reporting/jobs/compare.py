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
from dpmine.options.option import RELATION, SOURCE, Option
from dpmine.options.tables import OF_ATTRIBUTES, TOP_ITEMSET
from dpmine.reporting.jobs.itemsets import TransactionsJob, plan_of
from dpmine.reporting.jobs.job import Released

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dpmine.itemsets.compare import ComparisonRequest
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.ledger.records import Entry
    from dpmine.privacy import Guarantee


COMPARED = "compare"
"""How entries of the ledger begin that are for a part of a comparison."""
_LONGEST = 900  # characters of what is asserted of the parts: an entry of the ledger has up to 1000


class CompareJob(TransactionsJob):
    """The same itemsets in disjoint groups of units."""

    kind: ClassVar[str] = "compare"
    table: ClassVar[Mapping[str, Option]] = {
        **{name: TOP_ITEMSET[name] for name in SOURCE if name not in {"query", "database"}},
        "parts": Option(
            "The groups: a name, and the condition on a row of it, in SQL. Asserts that no unit has rows in two of "
            "them.",
            "CONDITIONS",
            kind=dict,
            needed=True,
        ),
        "sizes": Option("Public numbers of units of the groups, by name. Default: noisy ones.", "COUNTS", kind=dict),
        "itemsets": Option(
            "Public itemsets to compare, as lists of items. Default: those that stand out in any group.", "LISTS"
        ),
        **{name: TOP_ITEMSET[name] for name in ("item", "unit", "basket", "one_hot", *OF_ATTRIBUTES, "size")},
        "top": replace(TOP_ITEMSET["top"], help="How many itemsets each group chooses.", default=10),
        **{name: TOP_ITEMSET[name] for name in ("epsilon", "delta", "mechanism")},
        "neighbors": replace(RELATION, help="add-remove.", default=None),
        **{name: TOP_ITEMSET[name] for name in ("catalogue", "kbar", "max_items_per_unit", "memory")},
    }

    obstacle: ClassVar[str] = (
        "a comparison charges parts of the data set, and a window may be one: give it a job file without [schedule]."
    )

    def _checked(self) -> Guarantee:
        guarantee = super()._checked()
        self._request.require_readable(self._groups, self._columns, memory=self.options.get("memory"))
        return guarantee.asserting(guarantee.unit, self.partition)

    def guarantee_at(self) -> Guarantee:
        """See `Job.guarantee_at`."""
        return self._request.guarantee

    def run(self, account: Account, *, progress: Callable[[float], None]) -> Released:
        """Charge every part, read them, release. Raises as `Job.run`."""
        for part in self._conditions:
            Account(account.ledger, f"{account.dataset}/{part}").charge(self.guarantee, job=COMPARED)
        # Another run may have charged another division since this one was checked. One of two sees the other's charge.
        if account.ledger is not None and parts_of_others(account.ledger.history(account.dataset), self.partition):
            raise BadParameter(
                f"Another run charged {account.dataset!r} for other parts, which may overlap with these."
            )
        memory = self.options.get("memory")
        found = self._request.compare(
            self._groups, self._columns, memory=memory, progress=progress, guarantee=self.guarantee
        )
        return Released(found.to_dict(), found.guarantee, {"": found.to_arrow()})

    @property
    def partition(self) -> str:
        """See `Job.partition`."""
        return _asserted(self._conditions)

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
        for name, condition in parts.items():
            name_and_part(f"parts/{name}")
            if {*"()"} & {*name}:  # or two divisions might be asserted in the same words
                raise BadParameter("The name of a part must have no round brackets.")
            if not condition.isprintable():
                raise BadParameter(f"The condition of part {name!r} must be on one line.")
        if len(_asserted(parts)) > _LONGEST:
            raise BadParameter("There are too many parts, or their names and conditions are too long: shorten them.")
        return parts

    @cached_property
    def _groups(self) -> dict[str, object]:
        """The rows of each part, by its name."""
        from dpmine.io.sources.row_expressions import parsed_condition

        own = [str(self.options["where"])] if "where" in self.options else []
        for condition in (*own, *self._conditions.values()):
            parsed_condition(condition)  # by itself: together with others it might end in the middle of one
        groups: dict[str, object] = {}
        for part, condition in self._conditions.items():
            where = " and ".join(f"(\n{each}\n)" for each in (*own, condition))
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
        given = self.options.get("itemsets", ())
        return ComparisonRequest.of(query, self._conditions, given, self.options.get("sizes"))


def parts_of_others(history: Iterable[Entry], partition: str) -> list[str]:
    """The parts that were charged without this assertion on them."""
    return [entry.part for entry in charges_to_parts(history) if partition not in entry.job]


def charges_to_parts(history: Iterable[Entry]) -> list[Entry]:
    """The charges to parts of a data set, and what was set aside for searches on them."""
    from dpmine.ledger.records import Kind  # the database library is loaded where it is used

    return [entry for entry in history if entry.part and entry.kind in {Kind.CHARGE, Kind.RESERVE}]


def _asserted(parts: Mapping[str, str]) -> str:
    """What makes the charges of the parts one: over all inputs, as a condition may hold in one and not in another."""
    named = (f"{part} ({condition})" for part, condition in sorted(parts.items()))
    return f"in all inputs together, no unit is in two of the parts {', '.join(named)}"
