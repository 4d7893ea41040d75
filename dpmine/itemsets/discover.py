"""A catalogue that is charged once: the items that many units have, found with differential privacy."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import decimal_below
from dpmine.io.source import ColumnNames, Columns, Cuts
from dpmine.itemsets.ingest.catalogue import REMARK
from dpmine.itemsets.ways.discovery import DIGITS, DISCOVER, ITEMS_PER_UNIT, Discovery, items_per_unit
from dpmine.ledger.charging import Account
from dpmine.markup import html_table, json_text, printable
from dpmine.options.explained import OF_TRANSACTIONS, explained_by
from dpmine.options.names import LOCAL
from dpmine.parameters import positive, probability
from dpmine.privacy import Guarantee, Neighbors
from dpmine.selection.advice import another_run, with_charge
from dpmine.zcdp import rho_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from fractions import Fraction

    import pyarrow as pa

    from dpmine.io.input import Data
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.release.supports import Item
    from dpmine.ledger.ledger import Ledger
    from dpmine.markup import Document
    from dpmine.parameters import Number

_ODD = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
"""What no line of text holds: ends of lines, and controls that a terminal would obey."""


@dataclass(frozen=True, slots=True)
class DiscoveredItems:
    """Items that may be named, in order: integers or texts. Those of one type are a catalogue for later runs.

    Attributes:
        items: the items; Python baskets may mix integers and texts.
        guarantee: that of the discovery; every run with this catalogue has its own beside it.
        advice: where none were found, what would have been needed, and whether the run was charged: facts of the
            parameters.

    Example:
        >>> import dpmine
        >>> found = dpmine.discover_items([["bread", "milk"], ["bread", "milk", "tea"]] * 1000)
        >>> [item for item in found]
        ['bread', 'milk', 'tea']
        >>> bool(dpmine.discover_items([["bread"]]))  # false where none were found
        False
    """

    items: tuple[Item, ...]
    guarantee: Guarantee
    advice: str = ""

    def __len__(self) -> int:
        """The number of items; a result without any is false."""
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        """The items, in order."""
        return iter(self.items)

    def to_dict(self) -> Document:
        """A plain form for JSON."""
        from dpmine.version import __version__

        advice = {"advice": self.advice} if self.advice else {}
        return {"items": list(self.items), "guarantee": self.guarantee.to_dict(), **advice, "dpmine": __version__}

    def to_json(self) -> str:
        """One JSON object, on one line."""
        return json_text(self.to_dict())

    def to_arrow(self) -> pa.Table:
        """A pyarrow Table with the column item (int64 or string); the guarantee is metadata."""
        import pyarrow as pa

        integers = bool(self.items) and all(isinstance(item, int) for item in self.items)
        items = pa.array(self.items if integers else map(str, self.items), pa.int64() if integers else pa.string())
        return pa.table({"item": items}).replace_schema_metadata({"dpmine": self.to_json()})

    def __str__(self) -> str:
        """A catalogue as text: the guarantee as remarks, then one item per line."""
        lines = [str(item) for item in self.items]
        fit = [line for line in lines if line and not _ODD.search(line) and not line.startswith(REMARK)]
        left_out = len(lines) - len(fit)
        odd = [f"{REMARK}left out: {left_out} items that are no line of text; write Parquet"] if left_out else []
        none = [f"{REMARK}none. {self.advice}"] if self.advice else []
        return "\n".join([f"{REMARK}{self._origin}", *none, *odd, *fit])

    def _repr_html_(self) -> str:
        """The items as a table, with the guarantee: notebooks show it."""
        none = [f"none. {self.advice}"] if self.advice else []
        return html_table(["item"], [[printable(item)] for item in self.items], [self._origin, *none])

    @property
    def _origin(self) -> str:
        return f"items found in the data ({self.guarantee})"


@explained_by(OF_TRANSACTIONS)
def discover_items(
    data: Data,
    *,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
    unit: ColumnNames = None,
    basket: ColumnNames = None,
    item: str | None = None,
    items: str | Iterable[object] | None = None,
    one_hot: bool = False,
    attributes: bool | str | Iterable[str] | None = None,
    missing: str | Iterable[str] | None = None,
    cut: Cuts = None,
    max_items_per_unit: int = ITEMS_PER_UNIT,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    memory: int | str | None = None,
    engine: str = LOCAL,
    progress: Callable[[float], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> DiscoveredItems:
    """The items that many privacy units have, found with differential privacy: a catalogue for every later run.

    Raises BadParameter, BadData, UnreadableFile or BudgetExceeded. All parameters are checked before any data are read.

    Args:
        epsilon: ε > 0 of the discovery.
        delta: δ in (0, 1) of the discovery; half of it is the probability that an item of one unit alone is named.
        max_items_per_unit: how many of its items a unit may name, at most 10,000: those that most of its baskets hold.

    Example:
        >>> import dpmine
        >>> found = dpmine.discover_items([["bread", "milk"], ["bread", "milk", "tea"]] * 1000)
        >>> found.items
        ('bread', 'milk', 'tea')

    See Also:
        top_itemsets: with mechanism="discover" it finds the items it needs by itself.

    Source: Gopi et al. 2020. Proof: docs/proofs/discovery.md.
    """
    columns = Columns.of(unit, basket, item, items, one_hot, attributes, missing, cut)
    exact_delta, relation = probability("delta", delta), Neighbors.parse(neighbors)
    guarantee = Guarantee(positive("epsilon", epsilon), exact_delta, relation)

    def discovery_at(budget: Fraction) -> Discovery:
        rho = decimal_below(rho_at(budget, exact_delta / 2), DIGITS)
        if not rho:
            raise BadParameter("epsilon is too small to discover any item at this delta: give a larger one.")
        return Discovery(rho, exact_delta / 2, relation, items_per_unit(max_items_per_unit))

    discovery = discovery_at(guarantee.epsilon)
    guarantee = replace(guarantee, concentrated=discovery.zcdp)
    account = Account.of(ledger, dataset)

    from dpmine.io.python_values import items_at
    from dpmine.itemsets.read import charge_with_notices, read_transactions

    def before_rows(plan: LayoutPlan) -> None:
        charge_with_notices(plan, notice, account, guarantee, job=f"catalogue {DISCOVER}")

    loaded = read_transactions(data, columns, progress=progress, memory=memory, before_rows=before_rows, engine=engine)
    with closing(loaded):
        baskets = loaded.transactions
        discovered = discovery.find(baskets, bits=SystemBits())
        names = items_at(baskets.labels, discovered.codes)
        advice = ""
        if not names:
            twice = 2 * guarantee.epsilon
            shortage = with_charge(discovery.shortage(), charged=account.ledger is not None)
            enough = discovery_at(twice).enough_units
            step = f"Try `epsilon={float(twice):g}`, with which about {enough:,} units are enough."
            advice = f"{shortage} {step} {another_run(guarantee.epsilon, twice)}"
        return DiscoveredItems(tuple(names), guarantee.for_unit(baskets.unit), advice)
