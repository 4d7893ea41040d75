"""What is asked of a run for frequent itemsets, checked before any data are read, and what can be expected of it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.itemsets.release.noise import LEVEL
from dpmine.itemsets.release.rules import number_of_units
from dpmine.itemsets.release.supports import LARGEST_SUPPORT
from dpmine.itemsets.request.query import delta_of, is_from_data, public_items
from dpmine.itemsets.ways.adaptive_counts import LARGEST_SIZE, AdaptiveCounts
from dpmine.itemsets.ways.best_first import MOST_PLACES
from dpmine.itemsets.ways.way import ListTerms
from dpmine.parameters import count_or_share, least_count, positive, whole
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    import pyarrow as pa

    from dpmine.itemsets.ways.adaptive_counts import Precision, Precisions
    from dpmine.markup import Document
    from dpmine.parameters import Number


_ALL = 100  # per cent
_PERCENT = Context(prec=2, rounding=ROUND_CEILING)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentQuery:
    """The arguments of `dpmine.frequent_itemsets`, which explains them, but for those that are about the data."""

    min_support: Number | None = None
    k: int | None = None
    max_size: int | None = None
    epsilon: Number = 1
    delta: Number = 1e-6
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE
    catalogue: object = None
    units: int | None = None
    max_items_per_unit: int | None = None


@dataclass(frozen=True, slots=True)
class FrequentRequest:
    """A query that was checked, and what answers it.

    Attributes:
        counting: all stages.
        guarantee: that of the run, before the unit is known.
        support: the least support: a count, or a share of the units; None for the best k.
        units: their public number; None where it is counted.
        catalogue: the public list of items; None where there is none.
    """

    counting: AdaptiveCounts
    guarantee: Guarantee
    support: int | Fraction | None
    units: int | None
    catalogue: pa.Array | None

    @classmethod
    def of(cls, query: FrequentQuery, catalogue_size: int | None = None) -> FrequentRequest:
        """The request; `catalogue_size` stands for a catalogue that is not given. Raises BadParameter."""
        if query.min_support is None and query.k is None:
            raise BadParameter("Give the least support (`min_support=0.02`), or the number of itemsets (`k=100`).")
        if query.min_support is not None and query.k is not None:
            raise BadParameter("`min_support` and `k` exclude each other: give only one of them.")
        known = _catalogue(query.catalogue)
        items = catalogue_size if known is None else len(known)
        terms = ListTerms(
            1 if query.k is None else whole("`k`", query.k),
            positive("epsilon", query.epsilon),
            _delta(query.delta, items),
            Neighbors.parse(query.neighbors),
            (1, _max_size(query.max_size, items)),
            items,
            options={} if query.max_items_per_unit is None else {"max_items_per_unit": query.max_items_per_unit},
        )
        if terms.count > (most := min(MOST_PLACES, terms.candidates or MOST_PLACES)):
            raise BadParameter(f"`k` must be at most {most:,}, and no more than a catalogue has itemsets.")
        units = None if query.units is None else number_of_units(query.units)
        support = _support(query.min_support, units)
        counting = AdaptiveCounts.of(terms, None if query.k is None else terms.count, support or 0)
        if isinstance(support, int) and support < (least := counting.least_support()):
            raise BadParameter(_hidden_by_noise(query, support, least))
        guarantee = Guarantee(terms.epsilon, terms.delta, terms.neighbors, concentrated=counting.zcdp)
        return cls(counting, guarantee, support, units, known)

    def forecast(self, *, several_baskets: bool) -> Forecast:
        """What can be expected; `several_baskets`: whether a unit may have more than one."""
        counting = self.counting
        return Forecast(
            self.support,
            counting.k,
            counting.precisions(several_baskets=several_baskets),
            counting.least_support(),
            counting.discovery.shortage() if counting.delta else "",
        )


@dataclass(frozen=True, slots=True)
class Forecast:
    """What can be expected of frequent itemsets, by public parameters alone.

    Attributes:
        threshold: the least support that is listed: a count, or a share of the units; None for the best k.
        k: how many itemsets are listed at most; None for all of the threshold.
        precisions: how many supports are counted, and how exactly; None where that depends on the number of units,
            which is not public.
        least_support: a threshold, in units, that stands out from the noise.
        items: what it takes for an item to be found; "" where the items are public.
    """

    threshold: int | Fraction | None
    k: int | None
    precisions: Precisions | None
    least_support: int
    items: str

    def to_dict(self) -> Document:
        """A plain form for JSON; `half_widths` are those of itemsets of 1, 2, … items."""
        if_many, if_few = self.precisions or (None, None)
        return {
            "threshold": float(self.threshold) if isinstance(self.threshold, Fraction) else self.threshold,
            "k": self.k,
            "counts": if_many and if_many.counts,
            "half_widths": if_many and list(if_many.half_widths),
            "counts_if_few": if_few and if_few.counts,
            "half_widths_if_few": if_few and list(if_few.half_widths),
            "least_threshold": self.least_support,
            **({"items": self.items} if self.items else {}),
        }

    def __str__(self) -> str:
        least = f"The least threshold that stands out from the noise is {self.least_support:,} units."
        return "\n".join(filter(None, [self._counted(), self.items, least]))

    def _counted(self) -> str:
        if self.precisions is None:
            return (
                "How many supports are counted, and how exactly, follows from the number of units: give it as the "
                "option units, in a forecast also as a guess."
            )
        if_many, if_few = self.precisions
        if if_many == if_few:
            text = f"About {if_many.counts:,} supports are counted, {_within(if_many)}"
        else:
            text = (
                "Where units have few of what is counted, as shop baskets do, each adds to a limited number of "
                f"supports: up to about {if_few.counts:,} are counted, {_within(if_few)}; upper ends allow for what "
                f"that leaves out, too. Where they have many, as rows of wide tables do, about {if_many.counts:,}, "
                f"{_within(if_many)}: a larger epsilon then counts more of them, and need not narrow these. "
                "In between, intervals may be several times as wide as where they have few"
            )
        return f"{text}. All intervals of a list hold together with probability {float(LEVEL):.0%}."


def _within(precision: Precision) -> str:
    """The half-widths in words."""
    widths = precision.half_widths
    if len(set(widths)) == 1:
        return f"within ±{widths[0]:,} units"
    return f"within {', '.join(f'±{width:,} for {size}' for size, width in enumerate(widths, 1))} items (in units)"


def _support(wanted: Number | None, units: int | None) -> int | Fraction | None:
    """A count where the number of units is public, else as it was given."""
    support = None if wanted is None else count_or_share("min_support", wanted)
    if isinstance(support, Fraction) and units is not None:
        support = least_count(support, units)
    if isinstance(support, int) and support > LARGEST_SUPPORT:
        raise BadParameter("min_support is more than any number of units: give a smaller count, or a share.")
    return support


def _hidden_by_noise(query: FrequentQuery, support: int, least: int) -> str:
    """The message about a support below the least one, which is said as a share where it was given as one."""
    given = None if query.min_support is None else count_or_share("min_support", query.min_support)
    if isinstance(given, Fraction) and query.units is not None:
        enough = _PERCENT.divide(Decimal(100 * least), Decimal(number_of_units(query.units)))
        step = f"give at least {enough:f}%, or a larger epsilon" if enough <= _ALL else "give a larger epsilon"
        share = f"{float(100 * given):.4g}% of {query.units:,} units is {support:,}, which"
        return f"{share} is small beside the noise at this epsilon: {step}."
    hint = f"; a share is written {support}%" if support <= _ALL else ""
    return (
        f"min_support {support:,} is small beside the noise at this epsilon: give at least {least:,}, or a larger "
        f"epsilon{hint}."
    )


def _delta(given: Number, items: int | None) -> Fraction:
    """Raises BadParameter for 0 where items are not public: one unit's own items would show."""
    delta = delta_of(given)
    if not delta and items is None:
        raise BadParameter(
            "Items that are not public are found with a delta above 0: give it (`delta=1e-6`), or the public list of "
            "all items (`catalogue=FILE`)."
        )
    return delta


def _max_size(wanted: int | None, items: int | None) -> int:
    """At most 12, and no more than the items of a public catalogue."""
    most = LARGEST_SIZE if items is None else items
    if wanted is None:
        return min(LARGEST_SIZE, most)
    if (size := whole("max_size", wanted)) > LARGEST_SIZE:
        raise BadParameter(f"max_size must be at most {LARGEST_SIZE}: all subsets of an itemset are counted.")
    if size > most:
        raise BadParameter(f"max_size must not exceed the {most} items of the catalogue: give at most that.")
    return size


def _catalogue(given: object) -> pa.Array | None:
    if is_from_data(given):
        raise BadParameter(
            "frequent_itemsets finds the items privately: leave the catalogue out, or give a public one."
        )
    return public_items(given)
