"""Plans of runs and of noise, beside the sums that they stand for."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every
from support.command_line import outcome_of

from dpmine.errors import BadParameter
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.ledger.budget import Accounting, Amount, Budget, Parts
from dpmine.planning import plan_noise, plan_runs
from dpmine.privacy import Neighbors
from dpmine.zcdp import epsilon_at, rho_at

if TYPE_CHECKING:
    from pathlib import Path


def test_weekly_runs() -> None:
    """Reference: 52 runs of the exponential mechanism at 0.1 are 0.065-zCDP, 1.6955581…-private at δ = 1e-6."""
    exponential, other = plan_runs(52, epsilon="0.1").rows
    assert exponential.rho == Fraction(1, 800)
    assert other.rho == 4 * exponential.rho
    assert exponential.basic == other.basic == Fraction("5.2")
    assert exponential.zcdp == Fraction("1.69556")
    assert (exponential.better, other.better) == ("zcdp", "zcdp")


@every("epsilon", ["0.01", "0.1", "0.5", "1", "3"])
@every("delta", ["1e-3", "1e-9"])
def test_the_crossing_is_where_zcdp_begins_to_win(epsilon: str, delta: str) -> None:
    for row in plan_runs(1, epsilon=epsilon, delta=delta).rows:
        if row.crossing is None:
            continue
        for runs, wins in ((row.crossing, True), (row.crossing - 1, False)):
            assert not runs or (epsilon_at(runs * row.rho, Fraction(delta)) < runs * Fraction(epsilon)) is wins


def test_expensive_runs_are_never_better_off() -> None:
    assert plan_runs(5, epsilon=10).rows[1].crossing is None
    assert "zcdp is not better for any number up to 10^9" in str(plan_runs(5, epsilon=10))
    assert [row.better for row in plan_runs(3, epsilon=1).rows] == ["basic", "basic"]


def test_the_plan_agrees_with_a_ledger() -> None:
    """As many runs as a grant holds are planned at no more than the grant's ε, and one more at more."""
    granted = Amount.granted(Fraction(3), Fraction(1, 10**5), Fraction(0))
    budget = Budget("shop", Neighbors.REPLACE_ONE, Parts.NONE, granted, "row", Accounting.ZCDP)
    runs = granted.rho // Fraction(1, 800)
    budget.charging("", Amount(rho=Fraction(runs, 800)))
    assert runs == 179
    assert plan_runs(179, epsilon="0.1", delta="1e-5").rows[0].zcdp <= 3
    assert plan_runs(180, epsilon="0.1", delta="1e-5").rows[0].zcdp > 3


def test_noise_is_that_of_supports() -> None:
    plan = plan_noise(100)
    assert plan.laplace == DiscreteLaplace(Fraction(1))
    assert plan.gaussian.rho <= rho_at(Fraction(1), Fraction(1, 10**6)) < plan.gaussian.rho * Fraction(100_001, 100_000)
    assert isinstance(plan.taken, DiscreteGaussian)
    assert plan.to_dict()["half_widths"]["laplace"] == {"each": 300, "all": 758}
    assert plan_noise(1, epsilon="1/3").taken == DiscreteLaplace(Fraction(1, 3))


@every("number", [0, -1, 1.5, "x", True])
def test_bad_numbers(number: Any) -> None:
    for plan in (plan_runs, plan_noise):
        with pytest.raises(BadParameter):
            plan(number)


def test_no_gaussian_noise_for_next_to_nothing() -> None:
    with pytest.raises(BadParameter, match="larger"):
        plan_noise(3, epsilon="1e-90", delta="1e-90")


def test_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = outcome_of(capsys)
    picture = tmp_path / "runs.svg"
    outcome = run("plan", "--runs", "52", "--epsilon", "0.1", "--plot", str(picture), "--format", "json")
    assert outcome.status == 0
    assert json.loads(outcome.out) == plan_runs(52, epsilon="0.1").to_dict()
    assert re.search(r"<title id=.title.>ε of up to 52 runs together, .*</title>.*zcdp", picture.read_text(), re.DOTALL)
    assert run("plan", "--noise", "100").out == f"{plan_noise(100)}\n"
    for options in (["--runs", "3", "--noise", "4"], ["--runs", "3", "--size", "2"], ["--noise", "3", "--gap", "2"]):
        refused = run("plan", *options)
        assert (refused.status, refused.out) == (2, "")
        assert refused.err.count("\n") == 1
