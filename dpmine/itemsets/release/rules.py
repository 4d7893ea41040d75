"""Association rules of released supports: confidence, lift, leverage and conviction, each with an interval.

The rules use released numbers only, so they need no privacy budget. mlxtend lists them. The measures are computed with
fractions, because floats lose most digits of 1 − confidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dpmine.errors import BadParameter
from dpmine.itemsets.release.supports import LARGEST_SUPPORT, Consistency, in_order, item_lists, sort_key
from dpmine.parameters import exact_number, least_count, whole
from dpmine.privacy import float_above, float_below

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    import pyarrow as pa

    from dpmine.itemsets.release.supports import Item, Itemset, SupportRelease
    from dpmine.markup import Document
    from dpmine.parameters import Number

Extended: TypeAlias = "Fraction | float"
"""An exact number; or a float, where it is infinite or not a number."""
Bounded: TypeAlias = tuple[Extended, Extended, Extended]
"""A measure of the released supports, and the least and the largest of true ones that are plausible."""


def association_rules(
    release: SupportRelease, *, units: int | None = None, min_confidence: Number = 0, several_baskets: bool = False
) -> pd.DataFrame:
    """The rules A → C of the released itemsets whose released confidence is at least `min_confidence`.

    Args:
        release: monotone supports of itemsets together with all of their non-empty subsets.
        units: a public number of units, n ≥ 1; supports above it are cut to it. It gives lift, leverage, conviction and
            support (all in shares of n).
        min_confidence: in [0, 1], compared with the confidence that is listed, as floats.
        several_baskets: whether a unit may have more than one basket, A in one and C in another. Lift, leverage and
            conviction are then those of the units' unions, and are left out where the release has none.

    The confidence is the share of units with A ∪ C in one basket among the units with A in one basket.

    Returns a frame, the surest rules first: by the falling lower end of the confidence, then by confidence, by support
    and by items. Its columns are antecedents and consequents (frozensets), noisy_support (Int64, of A ∪ C, in units),
    and support where units are given. Each measure is a float with its bounds, <measure>_low and <measure>_high. With
    probability `release.level` or more, all bounds of all measures hold together (for the true measures, in units,
    wherever those exist). Bounds are rounded outwards. Conviction is infinite where C misses no unit with A. Lift is
    NaN where C has no unit. A rule whose antecedent has the released support 0 has no confidence and is left out.

    Raises BadParameter for supports as drawn, for itemsets without their subsets, and for parameters out of range.
    Source: Agrawal, Imieliński & Swami 1993 (confidence); Brin, Motwani, Ullman & Tsur 1997 (lift, conviction);
    Piatetsky-Shapiro 1991 (leverage). Proof of the bounds: docs/proofs/noisy_supports.md.
    """
    count = None if units is None else number_of_units(units)
    least = confidence(min_confidence)
    supports = _supports(release, count)
    over = release.unions if several_baskets else release
    compared = None if over is None or count is None else _supports(over, count)
    return _frame(_confident(supports, least), count, compared)


def exact_rules(counts: Mapping[Itemset, int], least: Fraction, *, units: int | None) -> pd.DataFrame:
    """The rules of exact supports with at least that confidence, the surest first. NOT private.

    `counts`: of itemsets together with all of their non-empty subsets, in units. `units`: how many there are, of one
    basket each; None where they may have several, which leaves lift, leverage and conviction out.

    Returns a frame with the columns antecedents, consequents, support (a count), confidence, and the other measures.
    """
    supports = {itemset: _Support(count, count, count) for itemset, count in counts.items()}
    frame = _frame(_confident(supports, least), units, supports).drop(columns="support", errors="ignore")
    bounds = [name for name in frame.columns if name.endswith(("_low", "_high"))]
    return frame.drop(columns=bounds).rename(columns={"noisy_support": "support"})


def _confident(supports: Mapping[Itemset, _Support], least: Fraction) -> list[_Rule]:
    """The rules of at least that confidence, the surest first."""
    rules = [_Rule.of(antecedent, consequent, supports) for antecedent, consequent in _listed(supports)]
    kept = [rule for rule in rules if rule.both.value >= least_count(least, rule.antecedent.value)]
    return sorted(kept, key=_Rule.rank)


class LiftOf(StrEnum):
    """What lift, leverage and conviction compare where a unit may have several baskets."""

    UNITS = "units"
    """The units' unions: all items that a unit has in any of its baskets."""


CONFIDENCE = (
    "confidence: of the units with a rule's first items in one basket, the share with all its items in one basket"
)
"""What it means where a unit may have several baskets."""
WITHOUT_LIFT = f"{CONFIDENCE}; lift needs units with one basket each: one row per item, without `basket`"
"""The same, of rules that have no lift for that reason."""


def about_several_baskets(*, lift: bool) -> str:
    """What measures of rules are about where a unit may have several baskets, and whether they include lift."""
    if lift:
        return f"{CONFIDENCE}; lift: of all items that a unit has, in any of its baskets"
    return f"{WITHOUT_LIFT}; or lift_of (`lift_of='units'`)"


def confidence(value: Number, name: str = "min_confidence") -> Fraction:
    """A least confidence in [0, 1], read exactly; BadParameter otherwise."""
    least = exact_number(name, value)
    if not 0 <= least <= 1:
        raise BadParameter(f"{name} must be at least 0 and at most 1.")
    return least


def plain_rules(rules: pd.DataFrame) -> list[Document]:
    """The rows of a frame of rules for JSON: lists for sets, None for measures that are infinite or undefined."""
    return [{str(name): _plain(value) for name, value in row.items()} for row in rules.to_dict("records")]


def rules_table(rules: pd.DataFrame, item_type: str) -> pa.Table:
    """The rows of a frame of rules, items of that type in lists; a measure that is undefined or infinite is null."""
    import pyarrow as pa

    (left, right), measures = rules.columns[:2].tolist(), rules.columns[2:].tolist()
    lists = item_lists([*rules[left], *rules[right]], item_type)
    columns = {left: lists[: len(rules)], right: lists[len(rules) :]}
    finite = rules.replace([float("inf"), float("-inf")], float("nan"))
    for name in measures:
        kind = pa.float64() if rules[name].dtype == "float64" else pa.int64()
        columns[name] = pa.array(finite[name], kind, from_pandas=True)
    return pa.table(columns)


def _plain(value: Any) -> list[Item] | float | None:
    if isinstance(value, frozenset):
        return in_order(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    return int(value)


class _Support(NamedTuple):
    """A released support, and the least and the largest plausible true one, in units."""

    value: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class _Rule:
    """A → C, with the supports of A, of C, and of both together (of the union A ∪ C)."""

    names: tuple[Itemset, Itemset]
    antecedent: _Support
    consequent: _Support
    both: _Support

    @classmethod
    def of(cls, antecedent: Itemset, consequent: Itemset, supports: Mapping[Itemset, _Support]) -> _Rule:
        union = antecedent | consequent
        return cls((antecedent, consequent), supports[antecedent], supports[consequent], supports[union])

    def rank(self) -> tuple[Any, ...]:
        """Rules are listed by this: noise makes large confidences of small supports, but no large lower ends."""
        value, low, _ = _confidence(self)
        return -low, -value, -self.both.value, *map(sort_key, self.names)


def number_of_units(units: int) -> int:
    """A number of units that rules can be made with; BadParameter otherwise."""
    count = whole("units", units)
    if count > LARGEST_SUPPORT:
        raise BadParameter(f"units must be at most {LARGEST_SUPPORT}.")
    return count


def _supports(release: SupportRelease, units: int | None) -> dict[Itemset, _Support]:
    """The supports by itemset; BadParameter where rules cannot be made of them."""
    if release.consistency is not Consistency.MONOTONE:
        raise BadParameter("association rules need supports that agree: release them with consistency 'monotone'.")
    known = set(release.itemsets)
    if any(len(itemset) > 1 and itemset - {item} not in known for itemset in known for item in itemset):
        raise BadParameter("association rules need all subsets of every itemset: release with_subsets(itemsets).")
    most = LARGEST_SUPPORT if units is None else units  # which no true support exceeds
    numbers = ((value, *ends) for value, ends in zip(release.values, release.intervals, strict=True))
    supports = (_Support(*(min(number, most) for number in each)) for each in numbers)
    return dict(zip(release.itemsets, supports, strict=True))


def _listed(supports: Mapping[Itemset, _Support]) -> list[tuple[Itemset, Itemset]]:
    """Antecedent and consequent of every rule whose antecedent has a released support above 0.

    mlxtend gets numbers in place of items: it would convert some types of items, and quote items in its errors.
    """
    import numpy as np
    import pandas as pd
    from mlxtend.frequent_patterns import association_rules as rules_of

    if not supports:
        return []
    items = list(frozenset().union(*supports))
    numbers = {item: number for number, item in enumerate(items)}
    coded = [frozenset(numbers[item] for item in itemset) for itemset in supports]
    counts = [float(support.value) for support in supports.values()]
    frame = pd.DataFrame({"support": counts, "itemsets": pd.Series(coded, dtype="object")})
    with np.errstate(invalid="ignore"):  # 0/0, a confidence that does not exist: it is below every threshold
        rules = rules_of(frame, metric="confidence", min_threshold=0.0, return_metrics=["support"])
    named = [
        [frozenset(map(items.__getitem__, some)) for some in rules[side]] for side in ("antecedents", "consequents")
    ]
    return list(zip(*named, strict=True))


def _frame(rules: Sequence[_Rule], units: int | None, compared: Mapping[Itemset, _Support] | None) -> pd.DataFrame:
    """The rows; lift, leverage and conviction are computed from the supports `compared`, where there are any."""
    import pandas as pd

    columns: dict[str, list[Any]] = {
        "antecedents": [rule.names[0] for rule in rules],
        "consequents": [rule.names[1] for rule in rules],
        "noisy_support": [rule.both.value for rule in rules],
    }
    measures: dict[str, list[Bounded]] = {"confidence": [_confidence(rule) for rule in rules]}
    if units is not None:
        columns["support"] = [float(Fraction(rule.both.value, units)) for rule in rules]
    if units is not None and compared is not None:
        alike = [_Rule.of(*rule.names, compared) for rule in rules]
        for measure in (_lift, _leverage, _conviction):
            measures[measure.__name__[1:]] = [measure(rule, units) for rule in alike]
    for name, found in measures.items():
        columns[name] = [float(value) for value, _, _ in found]
        columns[f"{name}_low"] = [low if isinstance(low, float) else float_below(low) for _, low, _ in found]
        columns[f"{name}_high"] = [high if isinstance(high, float) else float_above(high) for _, _, high in found]
    kinds = {"antecedents": "object", "consequents": "object", "noisy_support": "Int64"}
    return pd.DataFrame({name: pd.Series(values, dtype=kinds.get(name, "float64")) for name, values in columns.items()})


# Below, x, a and c are the supports of both, antecedent and consequent; x ≤ a and x ≤ c hold for the true ones, for the
# released ones, and for both ends of their intervals. A measure that divides by a true support exists only where that
# is 1 or more.


def _confidence(rule: _Rule) -> Bounded:
    """Confidence, x/a."""
    x, a = rule.both, rule.antecedent
    return Fraction(x.value, a.value), Fraction(x.low, a.high), min(Fraction(1), Fraction(x.high, max(1, a.low)))


def _lift(rule: _Rule, units: int) -> Bounded:
    """Lift, x n/(a c): largest at the least a and c that x allows."""
    x, a, c = rule.both, rule.antecedent, rule.consequent
    value = Fraction(units * x.value, a.value * c.value) if c.value else nan
    least_a, least_c = max(1, a.low), max(1, c.low)
    high = min(Fraction(units * x.high, least_a * least_c), Fraction(units, max(least_a, least_c)))
    return value, Fraction(units * x.low, a.high * max(1, c.high)), high


def _leverage(rule: _Rule, units: int) -> Bounded:
    """Leverage, x/n − a c/n²: largest at the least a and c that x allows, for the x that is best then."""
    x, a, c = rule.both, rule.antecedent, rule.consequent

    def leverage(x: Fraction | int, a: Fraction | int, c: Fraction | int) -> Fraction:
        return Fraction(x) / units - Fraction(a) * c / units**2

    best = min(Fraction(x.high), max(Fraction(units, 2), Fraction(a.low), Fraction(c.low)))
    high = leverage(best, max(best, Fraction(a.low)), max(best, Fraction(c.low)))
    return leverage(x.value, a.value, c.value), leverage(x.low, a.high, c.high), high


def _conviction(rule: _Rule, units: int) -> Bounded:
    """Conviction, (1 − c/n)/(1 − x/a), infinite at x = a: it rises in x, and falls in a and in c."""
    x, a, c = rule.both, rule.antecedent, rule.consequent

    def conviction(x: int, a: int, c: int) -> Extended:
        return Fraction((units - c) * a, units * (a - x)) if x < a else inf

    high = conviction(x.high, max(1, a.low), max(x.high, c.low))
    return conviction(x.value, a.value, c.value), conviction(x.low, a.high, c.high), high
