"""What `top_itemsets` returns: the released itemsets and the guarantee, in the forms that people pass on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from dpmine.errors import BadParameter
from dpmine.itemsets.release.rules import about_several_baskets
from dpmine.itemsets.release.supports import Consistency, in_order, item_lists
from dpmine.markup import html_table, json_text, printable
from dpmine.parameters import named, one_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

    from dpmine.itemsets.release.picture import DrawnRule
    from dpmine.itemsets.release.supports import BudgetSplit, Interval, Item, Itemset, SupportRelease
    from dpmine.markup import Document
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee


_SEPARATORS = (",", '"', "->", ": about ")
"""What stands between items, or beside them, in text."""


class ItemsForm(StrEnum):
    """How an itemset stands in a frame."""

    FROZENSET = "frozenset"
    LIST = "list"


class _Row(NamedTuple):
    """What was released of one itemset; None for what was not."""

    items: list[Item]
    value: int | None
    interval: Interval | None
    share: float | None

    @classmethod
    def of(cls, itemset: Itemset, released: tuple[int, Interval] | None, units: int | None) -> _Row:
        value, interval = released or (None, None)
        share = None if value is None or units is None else min(1.0, value / units)
        return cls(in_order(itemset), value, interval, share)

    def to_dict(self, *, shares: bool) -> Document:
        share = {"support": self.share} if shares else {}
        ends = self.interval and list(self.interval)
        return {"items": self.items, "noisy_support": self.value, "interval": ends, **share}

    @property
    def names(self) -> str:
        return listed_items(self.items)

    @property
    def numbers(self) -> list[str]:
        """Support, interval and share, as far as they were released."""
        if self.interval is None:
            return []
        share = [] if self.share is None else [f"{self.share:.3%}"]
        return [str(self.value), "{} to {}".format(*self.interval), *share]

    def __str__(self) -> str:
        if self.interval is None:
            return self.names
        value, interval, *share = self.numbers
        return ", ".join([f"{self.names}: about {value} ({interval})", *(f"{each} of all" for each in share)])


@dataclass(frozen=True, slots=True)
class TopItemsets:
    """Itemsets chosen privately, best first; none when the mechanism returned no candidate, or all are left out.

    Attributes:
        itemsets: the chosen itemsets; items are texts or integers.
        sizes: the smallest and the largest size asked for.
        requested: the mechanism that was asked for ("auto" included).
        mechanism: the mechanism that chose.
        guarantee: the guarantee of the whole run.
        advice: given when fewer were chosen than asked for, or none is listed. It says what would have been needed,
            whether the run was charged, and what to try next: facts of the parameters, not of the data.
        supports: noisy supports of the chosen itemsets, and of all their subsets where rules were asked for; None where
            none were released.
        units: the public number of units, where it was given.
        budget: how the budget was split, where there was something to split.
        left_out: how many of the chosen itemsets are not listed, because their noisy supports are too small.
        item_type: "int64", "uint64" or "string", as the catalogue or the item column declare it. "" for baskets of
            Python values, whose items are integers and texts as they were given.
        several_baskets: whether the layout lets a unit have more than one basket. Rules have lift then if `lift_of`
            asked for it, and `supports.unions` are what it is made of.
        doubt: where most of the list is expected to be noise, why, and what helps: facts of the parameters, too.

    Example:
        >>> import dpmine
        >>> baskets = [["bread", "milk"], ["bread", "milk", "tea"]] * 1000
        >>> found = dpmine.top_itemset(baskets, catalogue=["bread", "milk", "tea"], release_support=1)
        >>> for itemset in found:
        ...     print(sorted(itemset))
        ['bread', 'milk']
        >>> found.to_pandas(items="list")["itemsets"].tolist()
        [['bread', 'milk']]
        >>> found.plot().get_xlabel()
        'noisy support in units, and its interval'
    """

    itemsets: tuple[Itemset, ...]
    sizes: tuple[int, int]
    requested: str
    mechanism: str
    guarantee: Guarantee
    advice: str = ""
    supports: SupportRelease | None = None
    units: int | None = None
    budget: BudgetSplit | None = None
    item_type: str = ""
    left_out: int = 0
    several_baskets: bool = False
    doubt: str = ""

    def __len__(self) -> int:
        """The number of itemsets; a result without any is false."""
        return len(self.itemsets)

    def __iter__(self) -> Iterator[Itemset]:
        """The itemsets, best first."""
        return iter(self.itemsets)

    @property
    def itemset(self) -> Itemset | None:
        """The top itemset; None when the mechanism returned no candidate."""
        return self.itemsets[0] if self.itemsets else None

    @property
    def noisy_supports(self) -> tuple[int, ...] | None:
        """Those of `itemsets`, in units; None where no supports were released."""
        known = None if self.supports is None else self.supports.by_itemset
        return None if known is None else tuple(known[itemset][0] for itemset in self.itemsets)

    @property
    def intervals(self) -> tuple[tuple[int, int], ...] | None:
        """The least and the largest plausible support of each of `itemsets`; None where no supports were released."""
        return None if self.supports is None else self.supports.only(self.itemsets).intervals

    @property
    def cautions(self) -> list[str]:
        """Remarks on the list: itemsets not listed, a support above the number of units, no lift."""
        said: list[str] = []
        if not self.itemsets:
            return said
        if self.units is not None:
            said += above_units(self.noisy_supports or (), self.units)
        if self.left_out:
            small = f"{self.left_out} chosen with too small a noisy support to be listed"
            said.append(f"{small}; `min_support=0` lists all, in another run that is charged as much again")
        if self.supports is not None and self._has_subsets and self.several_baskets:
            said.append(about_several_baskets(lift=self.supports.unions is not None))
        return said

    def rules(self, min_confidence: Number = 0) -> pd.DataFrame:
        """Association rules of the chosen itemsets, out of released supports alone: no further budget.

        Args:
            min_confidence: in [0, 1], compared with the confidence that is listed, as floats.

        Returns a frame as `association_rules` of `dpmine.itemsets.release.rules` does: antecedents, consequents,
        noisy_support and confidence with its bounds. The confidence is the share of units with all items of the rule
        in one basket, among the units with the antecedents in one basket. With a public number of units, the frame also
        has support. It has lift, leverage and conviction where a unit has one basket: see `several_baskets`. With
        `lift_of` it always has them. Of units with several baskets, they are about the items in all of these.
        Raises BadParameter where the run was not asked for rules.
        """
        from dpmine.itemsets.release.rules import association_rules

        return association_rules(
            self._of_rules(), units=self.units, min_confidence=min_confidence, several_baskets=self.several_baskets
        )

    def rules_to_arrow(self, min_confidence: Number = 0) -> pa.Table:
        """A pyarrow Table of the `rules` of at least `min_confidence`, with the result's JSON as metadata.

        Items are in lists. Infinite and undefined measures are null.
        """
        from dpmine.itemsets.release.rules import rules_table

        table = rules_table(self.rules(min_confidence), self.item_type)
        return table.replace_schema_metadata({"dpmine": self.to_json()})

    def to_dict(self) -> Document:
        """A plain form for JSON: budget, subsets and rules are there where they were asked for."""
        from dpmine.version import __version__

        return {
            "itemsets": self._documents(self.itemsets),
            "sizes": list(self.sizes),
            "requested": self.requested,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            **self._details(),
            "remarks": self.remarks,
            "dpmine": __version__,
        }

    def to_json(self) -> str:
        """One JSON object, on one line."""
        return json_text(self.to_dict())

    def to_arrow(self) -> pa.Table:
        """A pyarrow Table: items (list), noisy_support (int64), interval (list of int64); the guarantee as metadata.

        With a public number of units there is one more column, support (float64): a share.
        """
        import pyarrow as pa

        rows = self._rows(self.itemsets)
        columns = {
            "items": item_lists(self.itemsets, self.item_type),
            "noisy_support": pa.array([row.value for row in rows], pa.int64()),
            "interval": pa.array([row.interval for row in rows], pa.list_(pa.int64())),
        }
        if self.units is not None:
            columns["support"] = pa.array([row.share for row in rows], pa.float64())
        return pa.table(columns).replace_schema_metadata({"dpmine": self.to_json()})

    def _plain(self, itemsets: Sequence[Itemset]) -> list[list[Item]]:
        """The itemsets in a form that pandas writes to Parquet."""
        lists = item_lists(itemsets, self.item_type)
        return list(lists.to_pandas()) if self.item_type == "uint64" else lists.to_pylist()

    def to_pandas(self, items: str = "frozenset") -> pd.DataFrame:
        """A frame with the columns noisy_support (Int64) and itemsets, in the order of the list.

        With a public number of units there is one more column, support (float64): a share, which mlxtend reads.

        Where rules were asked for, the subsets' rows follow those of the chosen itemsets, as mlxtend's
        `association_rules` needs them. Its lift misleads where `several_baskets` is true: see `rules`.

        Args:
            items: "frozenset", what mlxtend reads; or "list", sorted lists, which `DataFrame.to_parquet` can write:
                as in `to_arrow`, all items are texts there, unless they are integers. Items of type uint64 come in
                numpy arrays, because pyarrow takes integers of Python for int64.

        Raises BadParameter for another form of items.
        """
        import pandas as pd

        form = named(ItemsForm, "items", items)
        rows = self._rows(listed := (*self.itemsets, *self._subsets()))
        return pd.DataFrame(
            {
                "noisy_support": pd.Series([row.value for row in rows], dtype="Int64"),
                **({} if self.units is None else {"support": pd.Series([row.share for row in rows], dtype="float64")}),
                "itemsets": pd.Series(listed if form is ItemsForm.FROZENSET else self._plain(listed), dtype="object"),
            }
        )

    def plot(self, ax: Axes | None = None, *, kind: str = "bars") -> Axes:
        """A picture of released facts only.

        Args:
            ax: matplotlib axes; None for new ones, whose picture is `plot().figure`.
            kind: "bars" of the noisy supports with their intervals, or the ranks where none were released. "rules"
                draws the 20 surest of `rules()` by support and confidence, each in a rectangle: all rectangles together
                hold the true numbers with probability 0.95.

        Returns the axes, titled with the guarantee. Names are shortened to 60 characters. Raises BadParameter for
        another kind, and for rules of a result that has none.
        """
        from dpmine.itemsets.release.picture import Picture, draw_itemsets, draw_rules

        title = f"{self.mechanism}; {self.guarantee}"
        if one_of("kind", kind, (Picture.BARS, Picture.RULES)) == Picture.RULES:
            return draw_rules(ax, drawn_rules(self.rules(), self._of_rules()), title)
        names = [row.names for row in self._rows(self.itemsets)]
        return draw_itemsets(ax, names, self.noisy_supports, self.intervals, title)

    def __str__(self) -> str:
        return "\n".join([*map(str, self._rows(self.itemsets)), *self.remarks])

    def _repr_html_(self) -> str:
        """What `str` says, as a table: notebooks show it."""
        rows = [[row.names, *row.numbers] for row in self._rows(self.itemsets)]
        columns = ["itemset"] if self.supports is None else ["itemset", "noisy support", "interval"]
        return html_table(columns if self.units is None else [*columns, "share"], rows, self.remarks)

    @property
    def remarks(self) -> list[str]:
        """What is said below the itemsets: what is missing, the guarantee, and how the budget was split."""
        guarantee = f"({self.mechanism}; {self.guarantee})"
        split = [] if self.budget is None else [f"({self.budget})"]
        if not self.itemsets:
            return ["Nothing stands out.", *filter(None, [self.advice]), guarantee, *split]
        missing = [f"(nothing else stands out: {self.advice})"] if self.advice else []
        said = [f"({text})" for text in (*self.cautions, self.doubt) if text]
        return [*self._how_sure(), *said, *missing, guarantee, *split]

    def _how_sure(self) -> list[str]:
        """What the intervals hold; nothing where there are none."""
        if self.supports is None:
            return []
        all_hold, each_holds = "all intervals together hold the true supports", "each interval holds the true support"
        known = all_hold if self._has_subsets else each_holds
        return [f"(with probability {float(self.supports.level):.0%} or more, {known})"]

    def _subsets(self) -> tuple[Itemset, ...]:
        """The itemsets that were not chosen although their supports were released."""
        chosen = set(self.itemsets)
        return () if self.supports is None else tuple(one for one in self.supports.itemsets if one not in chosen)

    def _rows(self, itemsets: Sequence[Itemset], unions: SupportRelease | None = None) -> list[_Row]:
        """What was released of these itemsets, of the units' unions where these are given."""
        released = unions or self.supports
        known = {} if released is None else released.by_itemset
        return [_Row.of(itemset, known.get(itemset), self.units) for itemset in itemsets]

    def _documents(self, itemsets: Sequence[Itemset], unions: SupportRelease | None = None) -> list[Document]:
        """The same for JSON."""
        return [row.to_dict(shares=self.units is not None) for row in self._rows(itemsets, unions)]

    @property
    def _has_subsets(self) -> bool:
        """Whether there are supports of all subsets, of which rules are made."""
        return self.supports is not None and self.supports.consistency is Consistency.MONOTONE

    def _of_rules(self) -> SupportRelease:
        """The supports of all subsets, of which rules are made; BadParameter where there are none."""
        if self.supports is None or not self._has_subsets:
            raise BadParameter("This result has no rules: ask for release_support and rules=True in the run.")
        return self.supports

    def _details(self) -> Document:
        """What is only there where it was asked for."""
        details: Document = {} if self.budget is None else {"budget": self.budget.to_dict()}
        if self._has_subsets:
            details |= {"subsets": self._documents(self._subsets()), "several_baskets": self.several_baskets}
        if self.supports is not None and (unions := self.supports.unions) is not None:
            larger = [itemset for itemset in unions.itemsets if len(itemset) > 1]
            details["unions"] = self._documents(larger, unions)
        if self.left_out:
            details["left_out"] = self.left_out
        if self.advice:
            details["advice"] = self.advice
        return details


def type_name(kind: pa.DataType | None) -> str:
    """The name of a declared type of items, which is one for all texts."""
    if kind is None:
        return ""
    name = str(kind)
    return ("uint64" if name == "uint64" else "int64") if "int" in name else "string"


def drawn_rules(rules: pd.DataFrame, supports: SupportRelease) -> list[DrawnRule]:
    """The rules of a frame, with the intervals of the supports that they are made of."""
    from dpmine.itemsets.release.picture import DrawnRule

    known = supports.by_itemset
    columns = ("antecedents", "consequents", "confidence", "confidence_low", "confidence_high")
    drawn = []
    for left, right, *confidence in rules[list(columns)].itertuples(index=False):
        value, interval = known[left | right]
        sides = listed_items(in_order(left)), listed_items(in_order(right))
        drawn.append(DrawnRule(sides, (value, *interval), tuple(confidence)))
    return drawn


def above_units(noisy_supports: Iterable[int], units: int) -> list[str]:
    """The remark on a public number of units that a noisy support exceeds; none where it does not."""
    if all(value <= units for value in noisy_supports):
        return []
    return [f"a noisy support is above units = {units:,}: shares end at 100 %; check that number"]


def listed_items(items: Iterable[Item]) -> str:
    """Items on one line, separated by commas: one that holds a comma itself is quoted, as JSON quotes texts."""
    return ", ".join(map(_in_list, items))


def _in_list(item: Item) -> str:
    text = str(item)
    if text == text.strip() and text and not any(mark in text for mark in _SEPARATORS):
        return printable(text)
    return json.dumps(text, ensure_ascii=not text.isprintable())
