"""The laws agree with reference values from another implementation."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from support import mechanism_laws as laws
from support.cases import every
from support.datasets import shared_path

from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable

Build: TypeAlias = "Callable[[laws.Profile, dict[str, Any]], laws.LevelLaw]"


def scale_of(entry: dict[str, Any]) -> float:
    """1/ε in the monotone form, 2/ε otherwise."""
    return (1 if entry.get("monotone") else 2) / float(entry["epsilon"])


def terms(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    """The entry's ε, δ and relation, and its options of these names."""
    neighbors = Neighbors.ADD_REMOVE if entry["add_remove"] else Neighbors.REPLACE_ONE
    return {name: entry[name] for name in ("epsilon", "delta", *names)} | {"neighbors": neighbors}


BUILDERS: dict[str, Build] = {
    "exponential": lambda p, e: laws.exponential(p, rate=1 / scale_of(e)),
    "max_of_laplaces": lambda p, e: laws.max_of_laplaces(p, scale=scale_of(e)),
    "max_of_exponentials": lambda p, e: laws.max_of_exponentials(p, scale=scale_of(e)),
    "large_margin": lambda p, e: laws.large_margin(p, epsilon=e["epsilon"], delta=e["delta"]),
    "large_margin_padded": lambda p, e: laws.large_margin(
        replace(p, dummies=2**128), epsilon=e["epsilon"], delta=e["delta"]
    ),
    # The reference knows one share of ε for the tests of all ranks; test_laws_oracle.py has the split in use.
    "large_margin_tight": lambda p, e: laws.large_margin_tight_even(p, **terms(e)),
    "limited_domain": lambda p, e: laws.limited_domain(p, **terms(e, "kbar")),
    "stable_maximiser": lambda p, e: laws.stable_maximiser(p, **terms(e)),
    "bounded_growth": lambda p, e: laws.bounded_growth(p, **terms(e, "growth")),
}


def candidate_masses(scores: list[float], law: laws.LevelLaw) -> list[float]:
    """The mass of each single candidate."""
    profile = laws.Profile.of(scores)
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
        law = BUILDERS[mechanism](laws.Profile.of(entry["scores"]), entry)
        assert candidate_masses(entry["scores"], law) == pytest.approx(entry["pmf"], rel=0, abs=tolerance)
        assert law.nothing == pytest.approx(entry["nothing"], rel=0, abs=tolerance)
        assert law.masses.sum() + law.nothing == pytest.approx(1, rel=0, abs=1e-9)
