"""The mechanisms and the ways to choose a list that users may name: where each is, and what the names are good for.

A line here registers one. The command line, job files, messages, the audit and the tests take their lists from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

AUTO = "auto"
"""The name of the choice by public parameters."""


@dataclass(frozen=True, slots=True)
class Named:
    """Something that users name.

    Attributes:
        name: in lower case, with underscores; users may write dashes.
        home: its module and class, "package.module:Class", loaded when it is needed.
        not_for_scores: why it cannot choose among scores that are no counts, such as validation scores; "" if it can.
        other_names: what the field calls it, for messages.
    """

    name: str
    home: str
    not_for_scores: str = ""
    other_names: tuple[str, ...] = ()

    def load(self) -> Any:
        """The class."""
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)


_MECHANISMS = "dpmine.selection.mechanisms"
MECHANISMS = (
    Named("large_margin", f"{_MECHANISMS}.large_margin:LargeMargin"),
    Named("large_margin_tight", f"{_MECHANISMS}.large_margin:LargeMarginTight"),
    Named(
        "limited_domain",
        f"{_MECHANISMS}.limited_domain:LimitedDomain",
        "limited_domain pads the candidates with dummies of score 0, which beat every negative score",
    ),
    Named(
        "limited_domain_permute_and_flip",
        f"{_MECHANISMS}.limited_domain:LimitedDomainPermuteAndFlip",
        "limited domains pad the candidates with dummies, which beat negative scores",
    ),
    Named("stable_maximiser", f"{_MECHANISMS}.large_margin:StableMaximiser"),
    Named(
        "bounded_growth",
        f"{_MECHANISMS}.bounded_growth:BoundedGrowth",
        "bounded_growth needs counts that start at 0, and validation scores are real numbers",
        ("choosing", "choosing_mechanism"),
    ),
    Named("exponential", f"{_MECHANISMS}.report_noisy_max:Exponential"),
    Named(
        "max_of_exponentials",
        f"{_MECHANISMS}.report_noisy_max:MaxOfExponentials",
        other_names=("permute_and_flip",),
    ),
    Named(
        "max_of_laplaces",
        f"{_MECHANISMS}.report_noisy_max:MaxOfLaplaces",
        other_names=("laplace", "report_noisy_max"),
    ),
    Named("exact", f"{_MECHANISMS}.exact:Exact", "exact is not private"),
)
"""What chooses one candidate, in the order in which messages list them."""
WAYS = (
    Named("items_first", "dpmine.itemsets.ways.items_first:ItemsFirst"),
    Named("discover", "dpmine.itemsets.ways.discovery:Discover"),
)
"""What chooses a list of itemsets, beside the mechanisms."""


def plain_name(name: object) -> str:
    """A name as it is spelled here: with underscores."""
    return str(name).replace("-", "_")


def typed_names(*names: str) -> str:
    """Names as the command line spells them, in a row."""
    return ", ".join(name.replace("_", "-") for name in names)
