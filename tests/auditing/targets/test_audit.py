"""The audit of somebody's mechanism: sharp from laws and from runs, and never surer than it may be."""

from __future__ import annotations

import itertools
import json
import random
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every

import dpmine
from dpmine.auditing import Claim, CountTables, RowSets, ScoreVectors, TargetReport
from dpmine.auditing.call import audit
from dpmine.auditing.targets import comparison
from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

CHANCE = random.Random()
"""The mechanisms' own."""


class Answers:
    """Randomised response of one bit, with ε = ln 3."""

    def law(self, rows: list[int]) -> Mapping[int, float]:
        return {rows[0]: 0.75, 1 - rows[0]: 0.25}

    def __call__(self, rows: list[int]) -> int:
        return rows[0] if CHANCE.random() < 0.75 else 1 - rows[0]


class Geometric:
    """The number of rows that are 1, with two-sided geometric noise of ε = 1."""

    def law(self, rows: list[int]) -> Mapping[int, float]:
        noise = {x: exp(-abs(x)) * (exp(1) - 1) / (exp(1) + 1) for x in range(-40, 41)}
        return {sum(rows) + x: mass / sum(noise.values()) for x, mass in noise.items()}

    def __call__(self, rows: list[int]) -> int:
        return sum(rows) + int(CHANCE.expovariate(1)) - int(CHANCE.expovariate(1))


class Laplace:
    """A sum with Laplace noise of scale 1; the law is that of the cell of width 1/8 that it is in."""

    def law(self, rows: list[float]) -> Mapping[float, float]:
        edges = np.arange(-20, 20, 0.125) - sum(rows)
        below = np.where(edges < 0, np.exp(np.minimum(edges, 0)) / 2, 1 - np.exp(-np.maximum(edges, 0)) / 2)
        return dict(enumerate(np.diff(below, prepend=0, append=1).tolist()))

    def __call__(self, rows: list[float]) -> float:
        return sum(rows) + CHANCE.expovariate(1) - CHANCE.expovariate(1)


class Exponential:
    """The exponential mechanism with ε = 1."""

    def law(self, scores: list[int]) -> dpmine.Law:
        return dpmine.law(scores, epsilon=1, mechanism="exponential")

    def __call__(self, scores: list[int]) -> int:
        weights = [exp((score - max(scores)) / 2) for score in scores]
        return CHANCE.choices(range(len(scores)), weights)[0]


TARGETS: list[tuple[Any, float, Any, Any]] = [
    (Answers(), log(3), RowSets([0, 1], sizes=[0]), [([0], [1])]),
    (Geometric(), 1.0, RowSets([0, 1]), [([0], [1])]),
    (Laplace(), 1.0, RowSets([0.0, 1.0]), [([0.0], [1.0])]),
    (Exponential(), 1.0, ScoreVectors(), [([0] * 13, [-1] + [1] * 12)]),
]


@every(("target", "true", "family"), [(target, true, family) for target, true, family, _ in TARGETS])
def test_laws_show_nearly_all(target: Any, true: float, family: Any) -> None:
    """Within 5 % of the truth, and never above it."""
    claim = Claim(epsilon=str(true))
    found = audit(target, claim, family, pairs=200, steps=20)
    assert 0.95 * true < found.measured <= true
    assert found.verdict == "not refuted"
    assert audit(target, Claim(str(0.94 * true)), [(found.before, found.after)]).refuted


@pytest.mark.statistical
@every(("target", "true", "pair"), [(target, true, pair) for target, true, _, pair in TARGETS])
def test_runs_show_most(target: Any, true: float, pair: Any) -> None:
    """Within 15 % of the truth, with 10^5 runs on each side; false-alarm rate of the upper bound: 0.01 for each target.

    The lower one fails where the true figure is less than 3 standard errors above the least allowed: with probability
    below 1e-3, of exponential, the hardest (its pair shows 0.95, less 2.6 errors of each bound: 0.875).
    """
    found = audit(target.__call__, Claim(epsilon=str(true)), pair, confidence=0.99, seconds=30, float_bits=False)
    assert found.tried.measured_draws == 100_000
    assert 0.85 * true < found.measured
    assert not found.refuted


def test_a_false_claim_is_refuted_by_runs() -> None:
    """Missed with probability below 1e-9: true ε ln 3 = 1.1, claimed 0.5, standard error of the bound below 0.05."""
    found = audit(Answers().__call__, "epsilon=0.5", RowSets([0, 1], sizes=[0]), samples=10_000)
    assert found.refuted
    assert found.event == f"the outcome is {found.before[0]}"
    assert found.after == [1 - found.before[0]]
    assert found.shares is not None
    before, after = found.shares
    assert 0.9 * log(before / after) < found.measured < log(before / after)


def test_float_noise_is_seen() -> None:
    """Its low bits say which of the two sums was there; without them the claim is true."""
    found = audit(Laplace().__call__, "epsilon=1", [([0.0], [1.0])], samples=5_000)
    assert found.refuted
    assert "lowest bit" in found.event


@every("terms", ["epsilon=1", "rho=0.5", "epsilon=0.1,delta=0.3"])
def test_what_is_the_same_on_both_sides_is_never_refuted(terms: str) -> None:
    found = audit(lambda _: CHANCE.random() < 0.5, terms, CountTables(), samples=2000, pairs=20, steps=5)
    assert not found.refuted
    assert "no proof" in str(found)


def test_the_same_seed_gives_the_same_report() -> None:
    def told(seed: int) -> tuple[Any, ...]:
        found = audit(Exponential(), "epsilon=1", ScoreVectors(), pairs=20, steps=10, seed=seed)
        return found.before, found.after, found.event, found.measured, found.tried.pairs

    assert told(3) == told(3) != told(4)


def test_the_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that the test moves on, a twentieth of a second at each look: fast machines end before a second."""
    moments = itertools.count()
    monkeypatch.setattr(comparison, "perf_counter", lambda: next(moments) / 20)
    found = audit(Geometric().__call__, "epsilon=1", RowSets([0, 1]), seconds=1)
    assert found.tried.pairs < 20
    assert found.tried.stopped
    assert "time limit" in str(found)


def test_tried_numbers() -> None:
    found = audit(Answers().__call__, "epsilon=1", [([0], [1])], samples=1000, seconds=20)
    assert found.tried.pairs == 1
    assert found.tried.measured_draws == 1000
    assert found.tried.draws == 2 * (500 + 3 * 1000)  # of the first pair, to choose in two rounds, and to measure


def test_report_forms(tmp_path: Path) -> None:
    found = audit(Answers(), "epsilon=1", [([0], [1])])
    told = json.loads(found.to_json())
    assert told["verdict"] == "refuted"
    assert told["claim"] == {"epsilon": 1.0, "delta": 0.0}
    assert told["measured"] == pytest.approx(log(3))
    assert told["before"] in {"[0]", "[1]"}
    assert isinstance(found, TargetReport)
    found.plot(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").startswith("<?xml")
    for line in ("refuted: ε = 1", "certain, up to the rounding", "event      the outcome is "):
        assert line in str(found)


def test_one_entry_point() -> None:
    assert dpmine.audit is audit
    assert audit("exponential", epsilon="1/2").holds


def law_of(masses: Any) -> Any:
    """A mechanism with this law, whatever the data."""

    class Fixed:
        def law(self, _data: Any) -> Any:
            return masses

    return Fixed()


untyped: Any = audit
CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: untyped(Answers()), "neighbours"),
    (lambda: untyped("exponential", "epsilon=1", [([0], [1])]), "function, not a name"),
    (lambda: untyped(3, "epsilon=1", [([0], [1])]), "function of a data set"),
    (lambda: untyped(Answers(), 1, [([0], [1])]), "claim must be"),
    (lambda: audit(Answers(), "epsilon=1", []), "no neighbours"),
    (lambda: audit(Answers(), "epsilon=1", [([0], [1])], seconds=0), "seconds"),
    (lambda: audit(Answers(), "epsilon=1", [([0], [1])], samples=3), "samples"),
    (lambda: audit(Answers(), "epsilon=1", [([0], [1])], confidence=1), "confidence"),
    (lambda: audit(law_of({0: 0.3}), "epsilon=1", [([0], [1])]), "sum must be 1"),
    (lambda: audit(law_of({0: 2, 1: -1}), "epsilon=1", [([0], [1])]), "at least 0"),
    (lambda: audit(law_of([1.0]), "epsilon=1", [([0], [1])]), "mapping"),
    (lambda: audit(lambda _: 1 / 0, "epsilon=1", [([0], [1])], samples=100), "exception in every run"),
]


def test_runs_that_are_left_out_are_rejected() -> None:
    """A fair coin that never depends on the data: without half of one side's runs it would seem to."""

    class Dropping:
        def sample(self, rows: list[int], count: int) -> list[int]:
            return [CHANCE.randrange(2) for _ in range(count // (1 + rows[0]))]

    with pytest.raises(BadParameter, match="must give as many outcomes"):
        audit(Dropping(), "epsilon=1", [([0], [1])], samples=1000)


@every(("call", "said"), CALLS)
def test_bad_requests(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(BadParameter, match=said):
        call()
