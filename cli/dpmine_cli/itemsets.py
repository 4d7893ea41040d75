"""dpmine top-itemset, dpmine frequent-itemsets, dpmine catalogue and dpmine supports."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine_cli.messages import as_typed
from dpmine_cli.options import Format

if TYPE_CHECKING:
    import pandas as pd

    from dpmine.itemsets.release.frequent import FrequentItemsets
    from dpmine.itemsets.release.results import TopItemsets
    from dpmine_cli.line import CommandLine
    from dpmine_cli.output import Destination

_SHOWN = ("confidence", "lift")
"""Measures of rules in text; JSON has all."""


def top_itemset(line: CommandLine) -> None:
    """Choose the top itemsets of transactions, privately, and print them with their guarantee.

    Example: dpmine top-itemset sales.parquet --unit customer --item product --top 10 --release-support 0.5
    """
    from dpmine.itemsets.top import top_itemsets

    destination, least = line.destination, _least_confidence(line, default=0)
    line.require_apart()
    with line.messages as messages:
        result = top_itemsets(
            line.data,
            catalogue=_catalogue(line),
            **line.values("catalogue", "catalogue_from_data", "min_confidence"),
            progress=messages.progress,
            notice=messages.notice,
        )
    result = replace(result, advice=as_typed(result.advice))
    if line.rules:
        destination.write_document(WithRules.of(result, result.rules(least)))
    else:
        destination.write_result(result)
    line.caution(result.guarantee)
    say = messages.notice if result.guarantee.private else messages.warn
    for text in _notices(result, destination):
        say(text)


def frequent_itemsets(line: CommandLine) -> None:
    """List the itemsets of any size that enough units have, privately, with their supports.

    Example: dpmine frequent-itemsets sales.parquet --unit customer --item product --min-support 2% --rules
    """
    from dpmine.itemsets import frequent
    from dpmine.itemsets.release.rules import CONFIDENCE

    destination, least = line.destination, _least_confidence(line, default=Fraction(1, 2))
    line.require_apart()
    with line.messages as messages:
        if line.rules and line.units is None and not line.basket:
            messages.notice("rules will have no lift: it needs units of one basket, and their number (`units=N`)")
        result = frequent.frequent_itemsets(
            line.data,
            **line.values("rules", "min_confidence", "maximal"),
            progress=messages.progress,
            notice=messages.notice,
        )
    result = replace(result, advice=as_typed(result.advice))
    listed = result.without_subsets() if line.maximal else result
    if line.rules:
        destination.write_document(WithRules.of(listed, result.rules(min_threshold=least)))
    else:
        destination.write_result(listed)
    line.caution(result.guarantee)
    if line.rules and result.several_baskets:
        messages.notice(CONFIDENCE)
    if destination.format is not Format.TEXT or destination.path is not None:
        for text in listed.remarks:
            messages.notice(text)


def catalogue(line: CommandLine) -> None:
    """Find the items that many units have, privately, as a catalogue that later runs take with --catalogue.

    Example: dpmine catalogue sales.parquet --unit customer --item product -o items.txt
    """
    from dpmine.itemsets.discover import discover_items

    destination = line.destination
    line.require_apart()
    with line.messages as messages:
        found = discover_items(line.data, **line.values(), progress=messages.progress, notice=messages.notice)
    found = replace(found, advice=as_typed(found.advice))
    destination.write_result(found)
    line.caution(found.guarantee)
    if destination.format is not Format.TEXT or destination.path is not None:
        messages.notice(f"{len(found)} items; {found.guarantee}. {found.advice}".rstrip(". "))


def supports(line: CommandLine) -> None:
    """Print exact supports. NOT private: needs --not-private.

    Example: dpmine supports sales.parquet --min-support 100 --not-private
    """
    from dpmine.errors import NotPrivate
    from dpmine.itemsets.exact_supports import list_supports

    if not line.not_private:
        raise NotPrivate("Exact supports are not private: add --not-private to confirm, or use dpmine top-itemset.")
    destination = line.destination
    line.require_apart()
    with line.messages as messages:
        supports = list_supports(
            line.data,
            **line.values("not_private"),
            progress=messages.progress,
            notice=messages.notice,
            dry_run=line.dry_run,
        )
    destination.write_supports(supports)
    if destination.format not in {Format.TEXT, Format.JSON}:
        messages.warn("exact supports; NOT private")


def _catalogue(line: CommandLine) -> object:
    from dpmine.errors import BadParameter

    if line.catalogue is not None and line.catalogue_from_data:
        raise BadParameter("--catalogue and --catalogue-from-data exclude each other: give one of them.")
    return "from-data" if line.catalogue_from_data else line.catalogue


def _least_confidence(line: CommandLine, default: Fraction | int) -> Fraction:
    """--min-confidence as a number in [0, 1]; BadParameter for others, without rules, and where none can be written."""
    if line.rules:
        line.destination.require_document("Rules (--rules) are")
    if line.min_confidence is None:
        return Fraction(default)
    from dpmine.errors import BadParameter
    from dpmine.itemsets.release.rules import confidence

    if not line.rules:
        raise BadParameter("--min-confidence is for rules: give --rules, too.")
    return confidence(line.min_confidence, "--min-confidence")


def _notices(result: TopItemsets, destination: Destination) -> list[str]:
    """What a run must say, and what is written does not put before the user's eyes."""
    if destination.format is Format.TEXT and destination.path is None:
        return []
    notices = [*result.cautions, f"{result.mechanism}; {result.guarantee}"]
    notices += [] if result.budget is None else [str(result.budget)]
    missing = "nothing else stands out" if result.itemsets else "nothing stands out"
    return [f"{missing}: {result.advice}", *notices] if result.advice else notices


@dataclass(frozen=True, slots=True)
class WithRules:
    """A result, and its rules as plain rows."""

    result: TopItemsets | FrequentItemsets
    rules: list[dict[str, Any]]

    @classmethod
    def of(cls, result: TopItemsets | FrequentItemsets, rules: pd.DataFrame) -> WithRules:
        """The rules of a frame."""
        from dpmine.itemsets.release.rules import plain_rules

        return cls(result, plain_rules(rules))

    @property
    def cautions(self) -> list[str]:
        """The result's, whose options are typed otherwise on a command line."""
        return list(getattr(self.result, "cautions", ()))

    def to_json(self) -> str:
        """The result's object with one more key, rules; a measure that is infinite or undefined is null."""
        return json.dumps({**self.result.to_dict(), "rules": self.rules}, ensure_ascii=False)

    def __str__(self) -> str:
        if not self.result.itemsets:
            return str(self.result)
        lines = list(map(_rule, self.rules)) or [self._without_rules()]
        return "\n".join([str(self.result), "", *lines])

    def _without_rules(self) -> str:
        """Why there are none."""
        if any(len(itemset) > 1 for itemset in self.result.itemsets):
            return "No rule is as confident."
        one_basket = " With --basket, one basket holds all of an itemset; without, all rows of a unit are one basket."
        none = "No itemset of two or more items is listed, so there are no rules."
        return none + (one_basket if self.result.several_baskets else "")


def _rule(rule: dict[str, Any]) -> str:
    from dpmine.itemsets.release.results import listed_items

    sides = [listed_items(rule[side]) for side in ("antecedents", "consequents")]
    shown = [
        f"{name} {rule[name]:.3g} ({rule[f'{name}_low']:.3g} to {rule[f'{name}_high']:.3g})"
        for name in _SHOWN
        if rule.get(name) is not None
    ]
    return f"{' -> '.join(sides)}: {', '.join(shown)}"
