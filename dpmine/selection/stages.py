"""The stages that a mechanism is made of, described for the audit: each has its own share of the guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.selection.laws import Search


@dataclass(frozen=True, slots=True)
class SearchStage:
    """The search for a cut: the rank ℓ at which it stops is `epsilon`-private on its own (δ = 0)."""

    search: Search
    epsilon: float


@dataclass(frozen=True, slots=True)
class EarlyStopStage:
    """Stopping too early: the search stops at some ℓ with q_ℓ ≤ margin(ℓ) with probability at most `delta`.

    q_ℓ = c(1) − c(ℓ+1) is the lead of the best candidate over those outside the top ℓ. Claimed of every profile.
    """

    search: Search
    delta: float
    margin: Callable[[int], float]


@dataclass(frozen=True, slots=True)
class DrawStage:
    """The draw P(i) ∝ exp(`rate` · score) among the top ℓ: (`epsilon`, `delta`)-private for every fixed ℓ.

    Claimed in the direction of the profile with q_ℓ > margin(ℓ), whatever its neighbour's q_ℓ, and where ℓ is the
    number of all candidates.
    """

    rate: float
    epsilon: float
    delta: float
    margin: Callable[[int], float]


Stage: TypeAlias = SearchStage | EarlyStopStage | DrawStage
