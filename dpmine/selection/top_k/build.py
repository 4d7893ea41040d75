"""The way to choose k candidates that a name stands for, and which one "auto" takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter
from dpmine.parameters import below_one, whole
from dpmine.selection.mechanisms.limited_domain import LimitedDomain
from dpmine.selection.mechanisms.report_noisy_max import Exponential
from dpmine.selection.select import AUTO, build_mechanism, plain_name, resolve
from dpmine.selection.top_k.limited_domain import LimitedDomainTopK
from dpmine.selection.top_k.one_shot import OneShot
from dpmine.selection.top_k.peeling import Peeling

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from dpmine.parameters import Number
    from dpmine.privacy import Neighbors
    from dpmine.selection.mechanisms.base import Mechanism
    from dpmine.selection.top_k.base import TopK


@dataclass(frozen=True, slots=True)
class Built:
    """A way to choose k candidates, and why "auto" took it ("" where it was named)."""

    top_k: TopK
    reason: str


def build_top_k(
    name: str,
    *,
    count: int,
    epsilon: Number,
    delta: Number,
    neighbors: str | Neighbors,
    candidates: int | None,
    not_private: bool = False,
    **options: Any,
) -> Built:
    """The way to choose `count` candidates by the mechanism of that name, within (ε, δ) in all.

    The exponential and the limited-domain mechanism choose in one shot, all others are peeled. With more than one
    candidate a pure mechanism may use δ too; 0 forbids it. `candidates` is the number of public candidates, None where
    there is no public list.
    Raises BadParameter for unusable parameters, NotPrivate for "exact" without `not_private`.
    """
    number = whole("k", count)
    parameters = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, **options}
    if plain_name(name) != AUTO:
        mechanism = build_mechanism(name, not_private=not_private, **parameters)
        return Built(_of(mechanism, number, delta, options), "")
    if number == 1:
        chosen = resolve(AUTO, epsilon=epsilon, delta=delta, neighbors=neighbors, candidates=candidates)
        mechanism = build_mechanism(chosen.mechanism, not_private=not_private, **parameters)
        return Built(_of(mechanism, 1, delta, options), chosen.reason)
    return _recommended(number, candidates, not_private=not_private, **parameters)


def _slack(mechanism: Mechanism, count: int, delta: Number) -> Fraction:
    """The δ of the whole list; a single pure choice needs none."""
    if mechanism.approximate or count == 1:
        return mechanism.delta
    return below_one("delta", delta)


def _of(mechanism: Mechanism, count: int, delta: Number, options: Mapping[str, Any]) -> TopK:
    slack = _slack(mechanism, count, delta)
    if isinstance(mechanism, Exponential):
        return OneShot.of(count, mechanism.epsilon, slack, mechanism.neighbors)
    if isinstance(mechanism, LimitedDomain):
        kbar = None if options.get("kbar") is None else mechanism.kbar
        return LimitedDomainTopK.of(count, mechanism.epsilon, slack, mechanism.neighbors, kbar)
    return Peeling.of(count, mechanism, slack)


def _recommended(count: int, candidates: int | None, **parameters: Any) -> Built:
    """In one shot, whichever needs the smaller lead: peeling divides the budget without a gain."""
    only_limited = candidates is None or parameters.get("kbar") is not None  # kbar is an option of one of the two
    names = [LimitedDomain.name] if only_limited else [LimitedDomain.name, Exponential.name]
    ways = [_of(made, count, parameters["delta"], parameters) for made in _made(names, parameters)]
    best = min(ways, key=lambda way: way.lead(candidates or 1))
    return Built(
        best,
        f"{best.name} needs the smallest lead of the ways to choose {count} at once: about "
        f"{ceil(best.lead(candidates or 1)):,} over {best.lead_over()}.",
    )


def _made(names: list[str], parameters: dict[str, Any]) -> list[Mechanism]:
    """The mechanisms of these names, without those that need a δ where there is none.

    Raises BadParameter where none is left.
    """
    has_slack = below_one("delta", parameters["delta"]) > 0
    usable = [name for name in names if has_slack or name == Exponential.name]
    if not usable:
        raise BadParameter(
            "delta must be above 0 where there is no public list of candidates: give it, or a catalogue."
        )
    return [build_mechanism(name, **parameters) for name in usable]
