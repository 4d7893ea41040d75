"""Association rules beside the itemsets that they are made of, as text or JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.itemsets.results import TopItemsets

_SHOWN = ("confidence", "lift")
"""Measures in text; JSON has all."""


@dataclass(frozen=True, slots=True)
class TopItemsetsAndRules:
    """A result, and its rules as plain rows."""

    result: TopItemsets
    rules: list[dict[str, Any]]

    @classmethod
    def of(cls, result: TopItemsets, min_confidence: Fraction) -> TopItemsetsAndRules:
        """The rules of at least this confidence."""
        from dpmine.itemsets.rules import plain_rules

        frame = result.rules(min_confidence)
        return cls(result, plain_rules(frame))

    def to_json(self) -> str:
        """The result's object with one more key, rules; a measure that is infinite or undefined is null."""
        return json.dumps({**self.result.to_dict(), "rules": self.rules}, ensure_ascii=False)

    def __str__(self) -> str:
        if not self.result.itemsets:
            return str(self.result)
        lines = [_line(rule) for rule in self.rules] or ["No rule is as confident."]
        return "\n".join([str(self.result), "", *lines])


def parse_confidence(text: str | None, *, rules: bool) -> Fraction:
    """--min-confidence as a number in [0, 1]; BadParameter for others, and where no rules are asked for."""
    from dpmine.errors import BadParameter
    from dpmine.parameters import exact_number

    if text is not None and not rules:
        raise BadParameter("--min-confidence is for rules: give --rules, too.")
    least = exact_number("--min-confidence", "0" if text is None else text)
    if not 0 <= least <= 1:
        raise BadParameter("--min-confidence must be at least 0 and at most 1.")
    return least


def _line(rule: dict[str, Any]) -> str:
    from dpmine.itemsets.results import printable

    sides = [", ".join(printable(item) for item in rule[side]) for side in ("antecedents", "consequents")]
    shown = [_measure(rule, name) for name in _SHOWN if rule.get(name) is not None]
    return f"{' -> '.join(sides)}: {', '.join(shown)}"


def _measure(rule: dict[str, Any], name: str) -> str:
    return f"{name} {rule[name]:.3g} ({rule[f'{name}_low']:.3g} to {rule[f'{name}_high']:.3g})"
