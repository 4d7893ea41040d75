"""Jobs on itemsets of transactions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from dpmine.options.tables import TOP_ITEMSET
from dpmine.parameters import truth
from dpmine.reporting.jobs.job import Job, Released

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from dpmine.io.source import Columns
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.ledger.charging import Account
    from dpmine.options.option import Option
    from dpmine.privacy import Guarantee

_COLUMNS = ("unit", "basket", "item", "items", "one_hot", "attributes", "missing", "cut")


class TransactionsJob(Job):
    """A job on transactions: which columns are read, and the arguments of the library's call."""

    known: ClassVar[Mapping[str, Option]] = {"items": TOP_ITEMSET["item"]}

    def _checked(self) -> Guarantee:
        from dpmine.itemsets.release.rules import confidence
        from dpmine.itemsets.transactions.memory import parse_memory

        parse_memory(self.options.get("memory"))
        self.require_options()
        confidence(self.options.get("min_confidence", 0))
        return self.guarantee_at().for_unit(self._plan.unit_name)

    @property
    def notices(self) -> tuple[str, ...]:
        """See `Job.notices`."""
        return self._plan.cautions

    @cached_property
    def _plan(self) -> LayoutPlan:
        """How the columns are read; no row is. Raises as `_checked`."""
        return plan_of(self.data, self._columns)

    @cached_property
    def _columns(self) -> Columns:
        """The columns that are named."""
        from dpmine.io.source import Columns

        return Columns.of(**{name: value for name, value in self._arguments.items() if name in _COLUMNS})

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """The arguments of the library's call, but for data and ledger."""
        arguments = self.given("min_confidence", "memory", "rules")
        return {**arguments, "one_hot": truth("one_hot", arguments.get("one_hot", False))}


def plan_of(data: object, columns: Columns) -> LayoutPlan:
    """How the columns of the data are read; no row is. Raises BadParameter, BadData and UnreadableFile."""
    from dpmine.itemsets.ingest.layouts import plan_layout
    from dpmine.itemsets.read import open_transactions

    return plan_layout(open_transactions(data, columns), columns)


class ItemsetJob(TransactionsJob):
    """Itemsets of transactions, with supports and rules where they are asked for."""

    def run(self, account: Account, *, progress: Callable[[float], None]) -> Released:
        """See `Job.run`."""
        from dpmine.itemsets.release.rules import plain_rules, rules_table

        result = self._answer(
            memory=self.options.get("memory"),
            ledger=account.ledger,
            dataset=account.dataset,
            progress=progress,
            notice=lambda _text: None,  # the page names the unit that was found
        )
        listed = self._listed(result)
        document, tables = listed.to_dict(), {"": listed.to_arrow()}
        if self._has_rules and result.itemsets:
            rules = self._rules(result)
            document["rules"], tables["-rules"] = plain_rules(rules), rules_table(rules, result.item_type)
        return Released(document, result.guarantee, tables)

    @abstractmethod
    def _answer(self, **others: Any) -> Any:
        """What the library's call returns."""

    def _listed(self, result: Any) -> Any:
        """What is shown of it."""
        return result

    @abstractmethod
    def _rules(self, result: Any) -> pd.DataFrame:
        """Those of the confidence that is asked for."""

    @property
    def _has_rules(self) -> bool:
        return truth("rules", self.options.get("rules", False))


class TopItemsetJob(ItemsetJob):
    """The top itemsets of transactions."""

    kind: ClassVar[str] = "top-itemset"

    def guarantee_at(self) -> Guarantee:
        """See `Job.guarantee_at`."""
        from dpmine.itemsets.request.query import Query, Request

        # What is not private is no mistake of options: the batch has the message on that.
        arguments, names = {**self._arguments, "not_private": True}, {field.name for field in fields(Query)}
        return Request.of(Query(**{name: value for name, value in arguments.items() if name in names})).guarantee

    def _answer(self, **others: Any) -> Any:
        from dpmine.itemsets.top import top_itemsets

        return top_itemsets(self.data, **self._arguments, **others)

    def _rules(self, result: Any) -> pd.DataFrame:
        from dpmine.itemsets.release.rules import confidence

        rules: pd.DataFrame = result.rules(confidence(self.options.get("min_confidence", 0)))
        return rules

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        return {"k": self.table["top"].default, **super()._arguments, "rules": self._has_rules}


class FrequentItemsetsJob(ItemsetJob):
    """The frequent itemsets of transactions, of any size."""

    kind: ClassVar[str] = "frequent-itemsets"
    procedure: ClassVar[str] = "adaptive noisy counts"

    def guarantee_at(self) -> Guarantee:
        """See `Job.guarantee_at`."""
        from dpmine.itemsets.request.frequent import FrequentQuery, FrequentRequest

        arguments, names = self._arguments, {field.name for field in fields(FrequentQuery)}
        self._maximal  # noqa: B018 - it is true or false
        query = FrequentQuery(**{name: value for name, value in arguments.items() if name in names})
        return FrequentRequest.of(query).guarantee

    def _answer(self, **others: Any) -> Any:
        from dpmine.itemsets.frequent import frequent_itemsets

        return frequent_itemsets(self.data, **self._arguments, **others)

    def _listed(self, result: Any) -> Any:
        return result.without_subsets() if self._maximal else result

    def _rules(self, result: Any) -> pd.DataFrame:
        rules: pd.DataFrame = result.rules(min_threshold=self.options.get("min_confidence", 0.5))
        return rules

    @property
    def _maximal(self) -> bool:
        return truth("maximal", self.options.get("maximal", False))

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        return {name: value for name, value in super()._arguments.items() if name != "maximal"}
