"""The laws agree with reference values from another implementation."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from support.cases import every
from support.datasets import shared_path
from support.mechanisms import TightEvenly, made

from dpmine.privacy import Neighbors
from dpmine.selection.laws.profile import LevelLaw, Profile
from dpmine.selection.mechanisms.bounded_growth import BoundedGrowth
from dpmine.selection.mechanisms.large_margin import LargeMargin, StableMaximiser
from dpmine.selection.mechanisms.limited_domain import LimitedDomain
from dpmine.selection.mechanisms.report_noisy_max import Exponential, MaxOfExponentials, MaxOfLaplaces

if TYPE_CHECKING:
    from collections.abc import Callable

Build: TypeAlias = "Callable[[Profile, dict[str, Any]], LevelLaw]"


def rate_of(entry: dict[str, Any]) -> float:
    """ε in the monotone form, ε/2 otherwise."""
    return float(entry["epsilon"]) / (1 if entry.get("monotone") else 2)


def terms(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    """The entry's ε, δ and relation, and its options of these names."""
    neighbors = Neighbors.ADD_REMOVE if entry["add_remove"] else Neighbors.REPLACE_ONE
    return {name: entry[name] for name in ("epsilon", "delta", *names)} | {"neighbors": neighbors}


BUILDERS: dict[str, Build] = {
    "exponential": lambda p, e: made(Exponential, rate_of(e)).law(p),
    "max_of_laplaces": lambda p, e: made(MaxOfLaplaces, rate_of(e)).law(p),
    "max_of_exponentials": lambda p, e: made(MaxOfExponentials, rate_of(e)).law(p),
    "large_margin": lambda p, e: made(LargeMargin, e["epsilon"], e["delta"]).law(p),
    "large_margin_padded": lambda p, e: made(LargeMargin, e["epsilon"], e["delta"]).law(replace(p, dummies=2**128)),
    # The reference knows one share of ε for the tests of all ranks; test_laws_oracle.py has the split in use.
    "large_margin_tight": lambda p, e: made(TightEvenly, **terms(e)).law(p),
    "limited_domain": lambda p, e: made(LimitedDomain, **terms(e, "kbar")).law(p),
    "stable_maximiser": lambda p, e: made(StableMaximiser, **terms(e)).law(p),
    "bounded_growth": lambda p, e: made(BoundedGrowth, **terms(e, "growth")).law(p),
}


def candidate_masses(scores: list[float], law: LevelLaw) -> list[float]:
    """The mass of each single candidate."""
    profile = Profile.of(scores)
    shares = law.masses / np.array(profile.counts)
    each = dict(zip(profile.scores, shares.tolist(), strict=True))
    return [each[float(score)] for score in scores]


@every("mechanism", BUILDERS)
def test_agrees_with_the_reference(mechanism: str) -> None:
    entries = json.loads(shared_path("vectors/laws.json").read_text())
    chosen = [entry for entry in entries if entry["mechanism"] == mechanism]
    assert chosen
    tolerance = 1e-6 if mechanism == "large_margin_padded" else 1e-8
    for entry in chosen:
        law = BUILDERS[mechanism](Profile.of(entry["scores"]), entry)
        assert candidate_masses(entry["scores"], law) == pytest.approx(entry["pmf"], rel=0, abs=tolerance)
        assert law.nothing == pytest.approx(entry["nothing"], rel=0, abs=tolerance)
        assert law.masses.sum() + law.nothing == pytest.approx(1, rel=0, abs=1e-9)
