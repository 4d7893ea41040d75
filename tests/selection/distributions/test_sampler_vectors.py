"""Draws of every mechanism against independently computed laws.

An entry of laws.json counts as soon as its mechanism is registered. Each is tested at a nominal rate of 1e-8 over the
number of entries; Pearson's approximation is optimistic that far out, and the hundredfold reserve keeps the
false-alarm rate of a whole run below 1e-6. An outcome of a probability below 1e-12 must not occur at all.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest
from support.cases import every
from support.datasets import ROOT, shared_path
from support.effort import draws
from support.oracles import laws as law_oracle
from support.oracles.mechanisms import chi_square_p, tally

from dpmine.exact.bits import SystemBits
from dpmine.selection.recommend import MECHANISMS, build_mechanism
from dpmine.selection.universes.dense import Dense, Levels
from dpmine.selection.universes.protocol import MANY_DUMMIES

NOMINAL_RATE = 1e-8
VECTORS = "vectors/laws.json"
PADDED = "_padded"
Entry = dict[str, Any]


@cache
def entries() -> list[Entry]:
    """Those of registered mechanisms; none where the file is missing, which a test of its own reports."""
    path = ROOT.parent / "shared" / VECTORS
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [entry for entry in known if entry["mechanism"].removesuffix(PADDED) in MECHANISMS]


def name_of(entry: Entry) -> str:
    return f"{entry['mechanism']}-{entries().index(entry)}"


def options_of(entry: Entry) -> dict[str, Any]:
    options = {"max_items_per_unit": entry.get("growth"), "kbar": entry.get("kbar")}
    return {name: value for name, value in options.items() if value is not None}


def tally_entry(entry: Entry, times: int) -> Counter[Any]:
    """How often each score was chosen."""
    monotone = entry.get("monotone") or entry.get("add_remove")
    mechanism = build_mechanism(
        entry["mechanism"].removesuffix(PADDED),
        epsilon=entry["epsilon"],
        delta=entry.get("delta", 1e-6),
        neighbors="add_remove" if monotone else "replace_one",
        **options_of(entry),
    )
    bits = SystemBits()
    if not entry["mechanism"].endswith(PADDED):
        universe = Dense(entry["scores"])
        return tally(lambda: mechanism.choose(universe, bits=bits), times)
    levels: list[tuple[int, int]] = sorted(Counter(entry["scores"]).items(), reverse=True)
    padded = Levels(levels, padding=MANY_DUMMIES)
    by_level = tally(lambda: mechanism.choose(padded, bits=bits), times)
    return Counter({None if i is None else i[0]: count for i, count in merged(by_level).items()})


def merged(by_pair: Counter[Any]) -> dict[Any, int]:
    """(level, member) pairs added up by level."""
    totals: Counter[Any] = Counter()
    for pair, count in by_pair.items():
        totals[None if pair is None else (pair[0],)] += count
    return dict(totals)


@cache
def tight_law(scores: tuple[float, ...], epsilon: float, delta: float, u: int) -> dict[Any, float]:
    """By position; the reference knows no share of ε that depends on the rank."""
    masses, nothing = law_oracle.margin_law(scores, law_oracle.large_margin_tight(epsilon, delta, u))
    return {**dict(enumerate(masses)), None: nothing if nothing > 1e-9 else 0.0}


def expected_law(entry: Entry) -> dict[Any, float]:
    """By position; by level for the padded ones."""
    if entry["mechanism"] == "large_margin_tight":
        u = 1 if entry["add_remove"] else 2
        return tight_law(tuple(map(float, entry["scores"])), entry["epsilon"], entry["delta"], u)
    if not entry["mechanism"].endswith(PADDED):
        return {**dict(enumerate(entry["pmf"])), None: entry["nothing"]}
    order = sorted(set(entry["scores"]), reverse=True)
    law: dict[Any, float] = {None: entry["nothing"]}
    for score, mass in zip(entry["scores"], entry["pmf"], strict=True):
        law[order.index(score)] = law.get(order.index(score), 0.0) + mass
    return law


def test_every_vector_file_is_there() -> None:
    shared_path(VECTORS)
    assert {entry["mechanism"].removesuffix(PADDED) for entry in entries()} <= set(MECHANISMS)
    assert len(entries()) >= 78


@pytest.mark.statistical
@every("entry", entries())
def test_draws_follow_the_law(entry: Entry) -> None:
    """Chi^2 at a nominal 1e-8 for all entries together."""
    assert chi_square_p(tally_entry(entry, 400), expected_law(entry)) > NOMINAL_RATE / len(entries())


@pytest.mark.statistical
@pytest.mark.parametrize("entry", entries(), ids=name_of)
def test_many_draws_follow_the_law(entry: Entry) -> None:
    assert chi_square_p(tally_entry(entry, draws(10_000)), expected_law(entry)) > NOMINAL_RATE / len(entries())
