"""Which way a name stands for, and what "auto" takes: it asks the ways, in the order of `dpmine.options.names`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.itemsets.ways.by_mechanism import ByMechanism
from dpmine.options import names
from dpmine.options.names import AUTO
from dpmine.selection.mechanisms.registry import MECHANISMS
from dpmine.selection.recommend import unknown
from dpmine.selection.top_k import in_one_shot

if TYPE_CHECKING:
    from dpmine.itemsets.ways.way import ListTerms, Way

WAYS: dict[str, type[Way]] = {named.name: named.load() for named in names.WAYS}
"""Those with a name of their own; every mechanism is one, too."""


def build_way(terms: ListTerms) -> Way:
    """The way that `terms.mechanism` stands for; of "auto", the one that says it is best, else a mechanism.

    Raises BadParameter where there is none of that name, or it cannot be used; NotPrivate for "exact" without opt-in.
    """
    if terms.mechanism == AUTO:
        for kind in WAYS.values():
            if kind.suits(terms) is None and (advantage := kind.advantage(terms)):
                return replace(kind.of(terms), reason=advantage)
        return ByMechanism.of(terms)
    if terms.mechanism not in {*WAYS, *MECHANISMS}:
        raise unknown(terms.mechanism, (AUTO, *sorted(WAYS), *MECHANISMS))
    kind = WAYS.get(terms.mechanism, ByMechanism)
    if why_not := kind.suits(terms):
        raise BadParameter(why_not)
    return kind.of(terms)


def rivals(terms: ListTerms) -> list[Way]:
    """What "auto" compares on these terms: ways, and mechanisms that choose in one shot."""
    ways = [kind.of(terms) for kind in WAYS.values() if kind.suits(terms) is None and not kind.only_by_name(terms)]
    shots = in_one_shot(terms.delta, terms.candidates, kbar=terms.kbar)
    return [*ways, *(ByMechanism.of(replace(terms, mechanism=name)) for name in shots)]
