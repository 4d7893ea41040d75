"""What runs come to under each kind of accounting, and how far off released numbers are: before any data are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.exact.reals import decimal_above, decimal_below
from dpmine.io.atomic import new_figure, write_picture
from dpmine.itemsets.release.noise import LEVEL, DiscreteGaussian, DiscreteLaplace, SupportNoise, narrower
from dpmine.parameters import exact_share, positive, public_count
from dpmine.planning.results import JsonObject, Planned
from dpmine.privacy import rounded_up, short
from dpmine.selection.recommend import least
from dpmine.zcdp import epsilon_at, rho_at

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from dpmine.parameters import Number

_DIGITS = 6
_KINDS = (("exponential mechanism, limited domain", 8), ("any other mechanism", 2))
"""What a run may be, and the divisor of ε² in its ρ."""
_MOST_RUNS = 10**9
_POINTS = 200  # of a curve


@dataclass(frozen=True, slots=True)
class RunsRow:
    """Runs of one kind.

    Attributes:
        kind: the mechanisms.
        rho: of one run.
        basic: what the ε of all runs add up to.
        zcdp: the ε of all runs under zCDP accounting, rounded up.
        crossing: the least number of runs from which zCDP accounting needs the smaller ε; None for none up to 10^9.
    """

    kind: str
    rho: Fraction
    basic: Fraction
    zcdp: Fraction
    crossing: int | None

    @property
    def better(self) -> str:
        """The accounting under which the runs come to less."""
        return "zcdp" if self.zcdp < self.basic else "basic"


@dataclass(frozen=True, slots=True)
class RunsPlan(Planned):
    """What a calendar of runs comes to.

    Attributes:
        runs: their number.
        epsilon: ε of each.
        delta: δ at which zCDP accounting states its ε; the δ of the runs themselves come on top of it.
        rows: one for each kind of run.
    """

    runs: int
    epsilon: Fraction
    delta: Fraction
    rows: tuple[RunsRow, ...]

    def to_dict(self) -> JsonObject:
        """A plain form for JSON."""
        rows = [
            {
                "kind": row.kind,
                "rho": rounded_up(row.rho),
                "basic": rounded_up(row.basic),
                "zcdp": rounded_up(row.zcdp),
                "better": row.better,
                "zcdp_from_runs": row.crossing,
            }
            for row in self.rows
        ]
        return {"runs": self.runs, "epsilon": rounded_up(self.epsilon), "delta": rounded_up(self.delta), "rows": rows}

    def plot(self, path: str | Path) -> None:
        """Write a picture to `path` (.svg or .png): the budget against the number of runs, for each kind of run.

        Raises BadParameter for another suffix, UnreadableFile where nothing can be written.
        """
        figure = new_figure(8, 4.5)
        axes = figure.subplots()
        counts = sorted({max(1, self.runs * step // _POINTS) for step in range(1, _POINTS + 1)})
        axes.plot(counts, [count * float(self.epsilon) for count in counts], "k", label="basic: ε adds up")
        for row in self.rows:
            totals = [float(_concentrated(count, row.rho, self.delta)) for count in counts]
            axes.plot(counts, totals, label=f"zcdp: {row.kind}")
        axes.set_xlabel(f"runs at ε = {short(self.epsilon)} each")
        axes.set_ylabel(f"ε of all runs together (zcdp: at δ = {short(self.delta)})")
        axes.legend()
        write_picture(figure, path, f"ε of up to {self.runs:,} runs together, by basic and by zCDP accounting")

    def __str__(self) -> str:
        lines = [f"{self.runs:,} runs at ε = {short(self.epsilon)} each; δ = {short(self.delta)} for zcdp accounting:"]
        for row in self.rows:
            since = (
                "not better for any number up to 10^9"
                if row.crossing is None
                else f"better from {row.crossing:,} runs on"
            )
            lines.append(
                f"{row.kind}: basic ε = {float(row.basic):g}, zcdp ε = {float(row.zcdp):g}; "
                f"use {row.better} (zcdp is {since})"
            )
        return "\n".join([*lines, "The δ of the runs themselves add up under both kinds of accounting."])


def plan_runs(runs: int, *, epsilon: Number = 1, delta: Number = 1e-6) -> RunsPlan:
    """What `runs` runs at ε each come to, under basic and under zCDP accounting at this δ.

    Args:
        runs: how many runs there are.
        epsilon: ε > 0 of each run.
        delta: δ in (0, 1) at which zCDP accounting states the ε of all runs.

    Raises BadParameter for a number of runs that is not a whole one of at least 1, ε ≤ 0 or δ outside (0, 1).

    Example:
        >>> weekly = plan_runs(52, epsilon="0.1", delta="1e-6")
        >>> float(weekly.rows[0].basic), float(weekly.rows[0].zcdp)
        (5.2, 1.69556)

    See Also:
        dpmine.Ledger.grant: accounting="zcdp".
    """
    count, each, exact_delta = public_count("runs", runs), positive("epsilon", epsilon), exact_share("delta", delta)
    return RunsPlan(
        count, each, exact_delta, tuple(_row(kind, each**2 / share, count, each, exact_delta) for kind, share in _KINDS)
    )


def _concentrated(count: int, rho: Fraction, delta: Fraction) -> Fraction:
    """ε of `count` runs together at δ, rounded up."""
    return decimal_above(epsilon_at(count * rho, delta), _DIGITS)


def _row(kind: str, rho: Fraction, runs: int, epsilon: Fraction, delta: Fraction) -> RunsRow:
    def is_better(count: int) -> bool:
        return _concentrated(count, rho, delta) < count * epsilon

    crossing = least(is_better, start=1) if is_better(_MOST_RUNS) else None
    return RunsRow(kind, rho, runs * epsilon, _concentrated(runs, rho, delta), crossing)


@dataclass(frozen=True, slots=True)
class NoisePlan(Planned):
    """How far noisy numbers are from the true ones.

    Attributes:
        numbers: how many are released together; a unit changes each by at most 1.
        laplace: discrete Laplace noise at ε.
        gaussian: discrete Gaussian noise at the same (ε, δ).
        taken: the narrower one for all intervals together.
    """

    numbers: int
    epsilon: Fraction
    delta: Fraction
    laplace: DiscreteLaplace
    gaussian: DiscreteGaussian
    taken: SupportNoise

    def to_dict(self) -> JsonObject:
        """A plain form for JSON; half widths in units."""
        terms = {"epsilon": rounded_up(self.epsilon), "delta": rounded_up(self.delta), "level": float(LEVEL)}
        widths = {
            name: self._half_widths(noise) for name, noise in (("laplace", self.laplace), ("gaussian", self.gaussian))
        }
        taken = "laplace" if self.taken is self.laplace else "gaussian"
        return {"numbers": self.numbers, **terms, "half_widths": widths, "taken": taken}

    def _half_widths(self, noise: SupportNoise) -> dict[str, int]:
        return {"each": noise.half_width(self.numbers), "all": noise.simultaneous_half_width(self.numbers)}

    def __str__(self) -> str:
        terms = f"ε = {short(self.epsilon)}, δ = {short(self.delta)}"
        lines = [
            f"{self.numbers:,} numbers together at {terms}; half widths of {float(LEVEL):.0%} intervals, in units:"
        ]
        for noise in (self.laplace, self.gaussian):
            mark = " *" if noise is self.taken else ""
            widths = "±{each:,} each, ±{all:,} all together".format(**self._half_widths(noise))
            lines.append(f"{noise.describe(self.numbers)}{mark}: {widths}")
        return "\n".join([*lines, "(* used: the narrower one for all together)"])


def plan_noise(numbers: int, *, epsilon: Number = 1, delta: Number = 1e-6) -> NoisePlan:
    """How far `numbers` supports that are released together at (ε, δ) are from the true ones.

    Args:
        numbers: how many numbers are released; one unit changes each by at most 1.
        epsilon: ε > 0 of all numbers together.
        delta: δ in (0, 1) of all numbers together; Laplace noise leaves it.

    Raises BadParameter for a number that is not a whole one of at least 1, for ε ≤ 0 and for δ outside (0, 1). Raises
    it also where ε and δ are so small that no Gaussian noise fits.

    Example:
        >>> plan_noise(100, epsilon=1, delta="1e-6").to_dict()["taken"]
        'gaussian'
    """
    count, total, exact_delta = (
        public_count("`numbers`", numbers),
        positive("epsilon", epsilon),
        exact_share("delta", delta),
    )
    rho = rho_at(total, exact_delta)
    if not rho:
        raise BadParameter("No Gaussian noise fits so small an epsilon and delta: give larger ones.")
    laplace, gaussian = DiscreteLaplace(total), DiscreteGaussian(decimal_below(rho, _DIGITS))
    return NoisePlan(count, total, exact_delta, laplace, gaussian, narrower(laplace, gaussian, count))
