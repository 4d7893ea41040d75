"""Jobs of the kind top-itemset."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from dpmine.errors import BadParameter
from dpmine.io.columns import Columns
from dpmine.io.open import open_source
from dpmine.itemsets.ingest.layouts import plan_layout
from dpmine.itemsets.request import Request
from dpmine.itemsets.rules import confidence, plain_rules
from dpmine.itemsets.top import top_itemsets
from dpmine.itemsets.transactions.memory import parse_memory
from dpmine.parameters import truth
from dpmine.reporting.job import Job, Payer, Released

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.itemsets.results import TopItemsets
    from dpmine.privacy import Guarantee

_COLUMNS = ("unit", "basket", "item", "items", "one_hot")
_DEFAULTS: dict[str, Any] = {
    "size": 2,
    "epsilon": 1,
    "delta": "1e-6",
    "mechanism": "auto",
    "neighbors": "replace_one",
    "catalogue": None,
    "kbar": None,
    "max_items_per_unit": None,
    "release_support": None,
    "units": None,
}


def _untold(_text: str) -> None:
    """A notice that is not shown: the page names the unit that was found."""


class TopItemsetJob(Job):
    """The top itemsets of transactions, with supports and rules where they are asked for."""

    __slots__ = ()
    kind: ClassVar[str] = "top-itemset"
    known: ClassVar[frozenset[str]] = frozenset({*_COLUMNS, *_DEFAULTS, "top", "rules", "min_confidence", "memory"})

    def promise(self) -> Guarantee:
        """See `Job.promise`."""
        parse_memory(self.options.get("memory"))
        self._least_confidence()
        asked = Request.of(k=self._count(), rules=self._rules(), not_private=False, **self._choice())
        columns = Columns.of(**self._columns())
        unit = plan_layout(open_source(list(self.paths), columns), columns).unit_name
        return asked.guarantee.for_unit(unit)

    def run(self, payer: Payer, *, progress: Callable[[float], None]) -> Released:
        """See `Job.run`."""
        result = top_itemsets(
            list(self.paths),
            self._count(),
            rules=self._rules(),
            **self._columns(),
            **self._choice(),
            memory=self.options.get("memory"),
            ledger=payer.ledger,
            dataset=payer.dataset,
            progress=progress,
            notice=_untold,
        )
        document, tables = json.loads(result.to_json()), {"": result.to_arrow()}
        if result.advice:
            document["advice"] = result.advice
        if self._rules() and result.itemsets:
            document["rules"], tables["-rules"] = self._found_rules(result)
        return Released(document, result.guarantee, tables)

    def _found_rules(self, result: TopItemsets) -> tuple[list[dict[str, Any]], Any]:
        """As JSON and as a table."""
        import pyarrow as pa

        rules = plain_rules(result.rules(self._least_confidence()))
        return rules, pa.Table.from_pylist(rules)

    def _count(self) -> Any:
        return self.options.get("top", 1)

    def _rules(self) -> bool:
        return truth("rules", self.options.get("rules", False))

    def _least_confidence(self) -> Any:
        if "min_confidence" in self.options and not self._rules():
            raise BadParameter("min_confidence is for rules: give rules = true, too.")
        return confidence(self.options.get("min_confidence", 0))

    def _columns(self) -> dict[str, Any]:
        given = self.given(*_COLUMNS)
        if "one_hot" in given:
            truth("one_hot", given["one_hot"])
        return given

    def _choice(self) -> dict[str, Any]:
        return {name: self.options.get(name, default) for name, default in _DEFAULTS.items()}
