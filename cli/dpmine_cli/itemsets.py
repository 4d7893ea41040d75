"""dpmine top-itemset, dpmine frequent-itemsets, dpmine catalogue and dpmine supports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.markup import json_text
from dpmine_cli.messages import as_typed
from dpmine_cli.options import Format

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    import pyarrow as pa

    from dpmine.itemsets.exact_supports import ListedSupports
    from dpmine.itemsets.release.frequent import FrequentItemsets
    from dpmine.itemsets.release.results import TopItemsets
    from dpmine.privacy import Guarantee
    from dpmine_cli.line import CommandLine
    from dpmine_cli.output import Destination, Prepared

_SHOWN = ("confidence", "lift")
"""Measures of rules in text; JSON has all."""
_NO_ITEMSETS = "No itemset of two or more items is listed, so there are no rules."


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
    result = replace(result, advice=as_typed(result.advice), doubt=as_typed(result.doubt))
    if line.rules:
        destination.write_result(WithRules(result, result.rules(least), least))
    else:
        destination.write_result(result)
    line.caution(result.guarantee)
    _say_of_encoding(line, result.itemsets, result.guarantee)
    say = messages.notice if result.guarantee.private else messages.warn
    for text in _notices(result, destination):
        say(text)


def frequent_itemsets(line: CommandLine) -> None:
    """List the itemsets of any size that enough units have, privately, with their supports.

    Example: dpmine frequent-itemsets sales.parquet --unit customer --item product --min-support 2% --rules
    """
    from dpmine.itemsets import frequent
    from dpmine.itemsets.release.rules import WITHOUT_LIFT

    destination, least = line.destination, _least_confidence(line, default=Fraction(1, 2))
    line.require_apart()
    with line.messages as messages:
        if line.rules and line.units is None and not line.basket:
            messages.notice("rules will have no lift: it needs units of one basket, and their number (`units=N`)")
        if line.rules and least:
            messages.notice(
                f"rules of less confidence than {float(least):g} would need another run, which is charged again: "
                "--min-confidence 0 -o list.json keeps all rules"
            )
        result = frequent.frequent_itemsets(
            line.data,
            **line.values("rules", "min_confidence", "maximal"),
            progress=messages.progress,
            notice=messages.notice,
        )
    result = replace(result, advice=as_typed(result.advice))
    listed = result.without_subsets() if line.maximal else result
    if line.rules:
        destination.write_result(WithRules(listed, result.rules(min_threshold=least), least))
    else:
        destination.write_result(listed)
    line.caution(result.guarantee)
    _say_of_encoding(line, listed.itemsets, listed.guarantee)
    if line.rules and result.several_baskets:
        messages.notice(WITHOUT_LIFT)
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
    _say_of_encoding(line, [found.items], found.guarantee)
    if destination.format is not Format.TEXT or destination.path is not None:
        messages.notice(f"{len(found)} items; {found.guarantee}. {found.advice}".rstrip(". "))


def supports(line: CommandLine) -> None:
    """Print exact supports. NOT private: needs --not-private.

    Example: dpmine supports sales.parquet --min-support 100 --not-private
    """
    from dpmine.errors import NotPrivate
    from dpmine.itemsets.exact_supports import list_supports
    from dpmine.itemsets.release.rules import WITHOUT_LIFT

    if not line.not_private:
        raise NotPrivate("Exact supports are not private: add --not-private to confirm, or use dpmine top-itemset.")
    destination, least = line.destination, _least_confidence(line, default=0)
    line.require_apart()
    values = line.values("not_private", "rules", "min_confidence")
    if line.rules:
        values |= {"size": _sizes_from_one(line), "as_fraction": True, "as_objects": True}
    with line.messages as messages:
        supports = list_supports(
            line.data, **values, progress=messages.progress, notice=messages.notice, dry_run=line.dry_run
        )
    if line.rules:
        destination.write_result(_exact_rules(supports, least))
        if supports.several_baskets:
            messages.notice(WITHOUT_LIFT)
    else:
        destination.write_supports(supports)
    if destination.format not in {Format.TEXT, Format.JSON}:
        messages.warn("exact supports; NOT private")


def _say_of_encoding(line: CommandLine, itemsets: Iterable[Iterable[object]], guarantee: Guarantee) -> None:
    """A notice where released names, which are public, have what stands for bytes of another encoding."""
    if any("\ufffd" in str(item) for itemset in itemsets for item in itemset):
        again = ". Another run is charged again" if guarantee.private else ""
        line.messages.notice(
            "names in the result have U+FFFD in place of bytes that are not valid in the encoding: for CSV files give "
            "another one, such as --encoding windows-1252, or convert the file (iconv -f windows-1252 -t utf-8)" + again
        )


def _catalogue(line: CommandLine) -> object:
    from dpmine.errors import BadParameter

    if line.catalogue is not None and line.catalogue_from_data:
        raise BadParameter("--catalogue and --catalogue-from-data exclude each other: give one of them.")
    return "from-data" if line.catalogue_from_data else line.catalogue


def _least_confidence(line: CommandLine, default: Fraction | int) -> Fraction:
    """--min-confidence as a number in [0, 1]; BadParameter for others, and without rules."""
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


def _sizes_from_one(line: CommandLine) -> str:
    """All sizes up to the largest: rules need all subsets. BadParameter for lists that leave some out."""
    from dpmine.errors import BadParameter
    from dpmine.parameters import parse_sizes

    if line.maximal or line.closed:
        raise BadParameter("--rules need all frequent itemsets: leave out --maximal and --closed.")
    return "all" if line.size == "all" else f"1-{parse_sizes(line.size)[1]}"


def _exact_rules(supports: ListedSupports, least: Fraction) -> Prepared:
    """The itemsets and the rules of exact supports; as a table, the rules alone."""
    from dpmine.itemsets.release.rules import plain_rules, rules_table
    from dpmine_cli.output import Prepared, lines_of_supports

    frame = supports.rules(least)
    rules, batches = plain_rules(frame), list(supports.batches(as_objects=True))
    itemsets = [row for batch in batches for row in batch.to_pylist()]
    none = _no_rule(least) if any(len(row["items"]) > 1 for row in itemsets) else _NO_ITEMSETS
    text = "\n".join([*lines_of_supports(batches), "", *(map(_rule, rules) if rules else [none])])
    table = rules_table(frame, "").replace_schema_metadata({"dpmine": '{"private": false}'})
    return Prepared({"private": False, "itemsets": itemsets, "rules": rules}, table, text)


@dataclass(frozen=True, slots=True)
class WithRules:
    """A result, and the frame of its rules, which have at least that confidence."""

    result: TopItemsets | FrequentItemsets
    frame: pd.DataFrame
    least: Fraction

    @property
    def rules(self) -> list[dict[str, Any]]:
        """As plain rows."""
        from dpmine.itemsets.release.rules import plain_rules

        return plain_rules(self.frame)

    def to_arrow(self) -> pa.Table:
        """The rules, with the JSON as metadata."""
        from dpmine.itemsets.release.rules import rules_table

        return rules_table(self.frame, self.result.item_type).replace_schema_metadata({"dpmine": self.to_json()})

    @property
    def cautions(self) -> list[str]:
        """The result's, whose options are typed otherwise on a command line."""
        return list(getattr(self.result, "cautions", ()))

    def to_json(self) -> str:
        """The result's object with one more key, rules; a measure that is infinite or undefined is null."""
        return json_text({**self.result.to_dict(), "rules": self.rules})

    def __str__(self) -> str:
        if not self.result.itemsets:
            return str(self.result)
        lines = list(map(_rule, self.rules)) or [self._without_rules()]
        return "\n".join([str(self.result), "", *lines])

    def _without_rules(self) -> str:
        """Why there are none."""
        if any(len(itemset) > 1 for itemset in self.result.itemsets):
            return _no_rule(self.least)
        one_basket = " With --basket, one basket holds all of an itemset; without, all rows of a unit are one basket."
        return _NO_ITEMSETS + (one_basket if self.result.several_baskets else "")


def _no_rule(least: Fraction) -> str:
    return f"No rule has a confidence of {float(least):g} or more (--min-confidence)."


def _rule(rule: dict[str, Any]) -> str:
    from dpmine.itemsets.release.results import listed_items

    sides = [listed_items(rule[side]) for side in ("antecedents", "consequents")]
    shown = [
        f"{name} {rule[name]:.3g}"
        + (f" ({rule[f'{name}_low']:.3g} to {rule[f'{name}_high']:.3g})" if f"{name}_low" in rule else "")
        for name in _SHOWN
        if rule.get(name) is not None
    ]
    return f"{' -> '.join(sides)}: {', '.join(shown)}"
