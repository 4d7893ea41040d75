"""What `frequent_itemsets` returns: itemsets with supports and intervals, what the list may lack, and the guarantee."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.itemsets.release.noise import LEVEL
from dpmine.itemsets.release.results import above_units, drawn_rules, listed_items
from dpmine.itemsets.release.supports import in_order, item_lists
from dpmine.markup import html_table, json_text, printable
from dpmine.parameters import exact_number, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

    from dpmine.itemsets.release.supports import Interval, Itemset, SupportRelease
    from dpmine.markup import Document
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee


class RuleMetric(StrEnum):
    """What rules are kept by."""

    CONFIDENCE = "confidence"
    LIFT = "lift"
    LEVERAGE = "leverage"
    CONVICTION = "conviction"


@dataclass(frozen=True, slots=True)
class FrequentItemsets:
    """Itemsets by falling noisy support, with every subset of each of them unless `maximal_only`.

    Attributes:
        supports: the itemsets, their noisy supports and intervals. With probability `supports.level`, all intervals
            hold the true supports, `units` holds the true number, and `complete_above` is true, all together.
        certain: for each itemset, whether its whole interval reaches the threshold, whatever number of units is
            plausible; None where the best k were asked for.
        threshold: the least noisy support that is listed, in units; None where the best k were asked for.
        units: the number of units and its interval; of a public number both ends are that number.
        units_are_public: whether the number was given, not counted.
        counted: how many itemsets were counted.
        counted_items: how many of them are single items.
        max_size: the most items of an itemset.
        complete_above: the largest support that an itemset of up to `max_size` of the counted items may have, beside
            the listed ones and their subsets. Nothing is said of items that were not counted. None where none was.
        guarantee: that of the whole run.
        advice: where the list is empty, or mostly noise, why, and what helps.
        item_type: "int64", "uint64" or "string", as declared; "" for baskets of Python values.
        several_baskets: whether the layout lets a unit have more than one basket.
        maximal_only: whether those are left out that another listed one contains.

    Example:
        >>> import dpmine
        >>> baskets = [["bread", "milk"], ["bread", "milk", "tea"]] * 2000
        >>> found = dpmine.frequent_itemsets(baskets, "75%", epsilon=5)
        >>> [sorted(itemset) for itemset in found.maximal()]
        [['bread', 'milk']]
        >>> all(found.certain)
        True
    """

    supports: SupportRelease
    certain: tuple[bool, ...] | None
    threshold: int | None
    units: tuple[int, Interval]
    units_are_public: bool
    counted: int
    counted_items: int
    max_size: int
    complete_above: int | None
    guarantee: Guarantee
    advice: str = ""
    item_type: str = ""
    several_baskets: bool = False
    maximal_only: bool = False

    def __len__(self) -> int:
        """The number of itemsets; a result without any is false."""
        return len(self.itemsets)

    def __iter__(self) -> Iterator[Itemset]:
        """The itemsets, best first."""
        return iter(self.itemsets)

    @property
    def itemsets(self) -> tuple[Itemset, ...]:
        """The itemsets, best first; items are texts or integers."""
        return self.supports.itemsets

    @property
    def noisy_supports(self) -> tuple[int, ...]:
        """Those of `itemsets`, in units."""
        return tuple(value for value, _ in self.supports.by_itemset.values())

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The least and the largest plausible support of each of `itemsets`."""
        return self.supports.intervals

    def maximal(self) -> tuple[Itemset, ...]:
        """The itemsets that no other listed one contains, best first."""
        parts = {itemset - {item} for itemset in self.itemsets for item in itemset}
        return tuple(itemset for itemset in self.itemsets if itemset not in parts)

    def without_subsets(self) -> FrequentItemsets:
        """The same result, listing the maximal itemsets alone. It has no rules, which need all supports."""
        itemsets = self.maximal()
        sure = None if self.certain is None else dict(zip(self.itemsets, self.certain, strict=True))
        certain = None if sure is None else tuple(sure[itemset] for itemset in itemsets)
        return replace(self, supports=self.supports.only(itemsets), certain=certain, maximal_only=True)

    def rules(self, metric: str = "confidence", min_threshold: Number = 0.5) -> pd.DataFrame:
        """Association rules of the listed itemsets, out of released supports alone: no further budget.

        Args:
            metric: "confidence"; or "lift", "leverage" or "conviction", which need a public number of units with one
                basket each.
            min_threshold: the least of the metric that is listed.

        Returns a frame as that of `TopItemsets.rules`. Raises BadParameter where there is no such metric.
        """
        from dpmine.itemsets.release.rules import association_rules, confidence

        kept_by = named(RuleMetric, "metric", metric)
        by_confidence = kept_by is RuleMetric.CONFIDENCE
        least = (confidence if by_confidence else _number)(min_threshold, "min_threshold")
        if not by_confidence and (not self.units_are_public or self.several_baskets):
            raise BadParameter(f"{kept_by} needs units with one basket each, and their public number: give `units=N`.")
        rules = association_rules(
            self.supports,
            units=max(1, self.units[0]) if self.units_are_public else None,
            min_confidence=least if by_confidence else 0,
            several_baskets=self.several_baskets,
        )
        return rules if by_confidence else rules[rules[kept_by] >= float(least)].reset_index(drop=True)

    def rules_to_arrow(self, metric: str = "confidence", min_threshold: Number = 0.5) -> pa.Table:
        """A pyarrow Table of the `rules` whose `metric` is at least `min_threshold`; metadata: the result's JSON.

        Items are in lists. Infinite and undefined measures are null.
        """
        from dpmine.itemsets.release.rules import rules_table

        table = rules_table(self.rules(metric, min_threshold), self.item_type)
        return table.replace_schema_metadata({"dpmine": self.to_json()})

    def to_pandas(self) -> pd.DataFrame:
        """A frame with the columns support (a share of `units`), itemsets (frozensets), count, low, high and certain.

        mlxtend's `association_rules` reads it. `certain` is missing (NA) where the best k were asked for.
        """
        import pandas as pd

        certain = self.certain or [pd.NA] * len(self)
        return pd.DataFrame(
            {
                "support": pd.Series([self._share(value) for value in self.noisy_supports], dtype="float64"),
                "itemsets": pd.Series(self.itemsets, dtype="object"),
                "count": pd.Series(self.noisy_supports, dtype="int64"),
                "low": pd.Series([low for low, _ in self.intervals], dtype="int64"),
                "high": pd.Series([high for _, high in self.intervals], dtype="int64"),
                "certain": pd.Series(certain, dtype="boolean"),
            }
        )

    def to_arrow(self) -> pa.Table:
        """A pyarrow Table: items (list), noisy_support, interval (list), support (a share), certain; metadata: JSON."""
        import pyarrow as pa

        columns = {
            "items": item_lists(self.itemsets, self.item_type),
            "noisy_support": pa.array(self.noisy_supports, pa.int64()),
            "interval": pa.array(self.intervals, pa.list_(pa.int64())),
            "support": pa.array(map(self._share, self.noisy_supports), pa.float64()),
            "certain": pa.array(self.certain or [None] * len(self), pa.bool_()),
        }
        return pa.table(columns).replace_schema_metadata({"dpmine": self.to_json()})

    def plot(self, ax: Axes | None = None, *, kind: str = "bars") -> Axes:
        """A picture of released facts only.

        Args:
            ax: matplotlib axes; None for new ones, whose picture is `plot().figure`.
            kind: "bars" of the noisy supports with their intervals; a "network" of items, where a line is a listed
                pair; or a "matrix" of pairs. What is not certain is pale or hatched. Where the best k were asked for,
                that is what may have no support at all. "rules" draws the 20 surest of `rules()` by support and
                confidence, each in a rectangle: all rectangles together hold the true numbers with probability 0.95.

        Returns the axes, titled with the guarantee. Raises BadParameter where there is no such kind, and for rules of
        maximal itemsets alone.
        """
        from dpmine.itemsets.release.picture import Picture, draw_itemsets, draw_matrix, draw_network, draw_rules

        drawn, title = named(Picture, "kind", kind), str(self.guarantee)
        certain = self.certain or tuple(low > 0 for low, _ in self.intervals)
        if drawn is Picture.BARS:
            names = [listed_items(in_order(itemset)) for itemset in self.itemsets]
            return draw_itemsets(ax, names, self.noisy_supports, self.intervals, title, certain=certain)
        if drawn is Picture.RULES:
            return draw_rules(ax, drawn_rules(self.rules(), self.supports), title)
        items = list(dict.fromkeys(printable(item) for itemset in self.itemsets for item in in_order(itemset)))
        pairs = {
            tuple(map(printable, in_order(itemset))): (value, sure)
            for itemset, value, sure in zip(self.itemsets, self.noisy_supports, certain, strict=True)
            if len(itemset) == 2
        }
        return (draw_network if drawn is Picture.NETWORK else draw_matrix)(ax, items, pairs, title)

    def to_dict(self) -> Document:
        """A plain form for JSON."""
        from dpmine.version import __version__

        certain = self.certain or [None] * len(self)
        rows = zip(self.itemsets, self.noisy_supports, self.intervals, certain, strict=True)
        return {
            "itemsets": [
                {
                    "items": in_order(itemset),
                    "noisy_support": value,
                    "interval": list(interval),
                    "support": self._share(value),
                    "certain": sure,
                }
                for itemset, value, interval, sure in rows
            ],
            "threshold": self.threshold,
            "units": {"number": self.units[0], "interval": list(self.units[1]), "public": self.units_are_public},
            "max_size": self.max_size,
            "complete_above": self.complete_above,
            "counted": self.counted,
            "counted_items": self.counted_items,
            "several_baskets": self.several_baskets,
            "maximal_only": self.maximal_only,
            "guarantee": self.guarantee.to_dict(),
            **({"advice": self.advice} if self.advice else {}),
            "remarks": self.remarks,
            "dpmine": __version__,
        }

    def to_json(self) -> str:
        """One JSON object, on one line."""
        return json_text(self.to_dict())

    def __str__(self) -> str:
        """The itemsets as a table, with what the list may lack and the guarantee below it."""
        table = [self._columns, *self._rows()] if self.itemsets else []
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "\n".join([*("  ".join(map(str.ljust, row, widths)).rstrip() for row in table), *self.remarks])

    def _repr_html_(self) -> str:
        """What `str` says, as a table: notebooks show it."""
        return html_table(self._columns, self._rows(), self.remarks)

    @property
    def _columns(self) -> list[str]:
        return ["noisy support", "interval", "share", *([] if self.certain is None else ["certain"]), "itemset"]

    def _rows(self) -> list[list[str]]:
        certain = [[]] * len(self) if self.certain is None else [["yes" if sure else "likely"] for sure in self.certain]
        rows = zip(self.itemsets, self.noisy_supports, self.intervals, certain, strict=True)
        return [
            [f"{value:,}", f"{low:,} to {high:,}", f"{self._share(value):.3%}", *sure, listed_items(in_order(itemset))]
            for itemset, value, (low, high), sure in rows
        ]

    @property
    def remarks(self) -> list[str]:
        """What is said below the list: what it may lack, and the guarantee."""
        listed = "(Itemsets that another listed one contains are left out.)" if self.maximal_only else ""
        too_few = above_units(self.noisy_supports, self.units[0]) if self.units_are_public else []
        return [
            *filter(None, [listed if self.itemsets else "No itemset is listed.", self.advice, self._lacking()]),
            *(f"({remark})" for remark in too_few),
            f"({self.guarantee})",
        ]

    def _lacking(self) -> str:
        """What the list may lack; nothing where nothing can be said."""
        if self.complete_above is None:
            return ""
        largest = min(self.max_size, self.counted_items)
        which = "no other itemset" if self.itemsets else "no itemset"
        size = "1 item" if largest == 1 else f"{largest} items"
        of_these = ", apart from subsets of these," if self.maximal_only else ","
        others = f"{which} of at most {size}, all among the {self.counted_items:,} counted{of_these}"
        between = ""
        if self.threshold is not None and self.threshold < self.complete_above:
            between = f" Some from {self.threshold:,} to {self.complete_above:,} may be missing."
        return (
            f"(With probability {float(LEVEL):.0%}, all intervals hold, and {others} has a support above "
            f"{self.complete_above:,}.{between} Nothing is said of items that were not counted.)"
        )

    def _share(self, count: int) -> float:
        return min(1.0, count / max(1, self.units[0]))


def _number(value: Number, name: str) -> Number:
    return exact_number(name, value)
