"""Figure 1 of Ligett et al. 2017: the privacy loss that it takes to reach a target excess risk.

Noise reduction with the sharp test and with the paper's, Brownian noise reduction, doubling, and the level that theory
asks for; all with one sensitivity, one γ, one λ on scaled rows, one grid of levels. The runs of a method walk the same
paths of noise for all targets and tests: every cell has the right law, and cells of one run are alike.
A table by data and method, one at the paper's radius, the ratios of e^loss, and a figure (SVG and PNG).
Usage: python experiments/accuracy_first.py [--quick | --runs 80] [--study] [--data ../shared/data] [--out results]
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from math import exp
from pathlib import Path
from typing import Any

import numpy as np

from dpmine.exact.bits import SystemBits
from dpmine.io.atomic import new_figure, write_picture
from dpmine.models.accuracy_first.estimators import AccuracyFirstLogistic, AccuracyFirstRidge
from dpmine.models.accuracy_first.noisy_hypotheses import Method, falling_noise
from dpmine.models.accuracy_first.objectives import LogisticBounds, LogisticObjective, RidgeBounds, RidgeObjective
from dpmine.models.accuracy_first.settings import DEFAULT_SLACK, AccuracySettings, geometric_levels
from dpmine.models.accuracy_first.threshold_search import SearchOutcome, search
from dpmine.models.linear.losses import Examples
from experiments.accuracy_first_baselines import (
    Doubling,
    PaperLogisticBounds,
    PaperRidgeBounds,
    PaperSettings,
    Untested,
    Variant,
    doubling,
    from_theory,
)
from experiments.accuracy_first_data import Problem, kdd_attacks, kdd_bytes, week

ROOT = Path(__file__).resolve().parents[1]
BITS = SystemBits()
TARGETS = tuple(map(Fraction, ("0.005", "0.01", "0.02", "0.03", "0.05", "0.075", "0.1", "0.15", "0.2")))
HEADLINE = (Fraction("0.05"), Fraction("0.075"))
FAILURE = Fraction(1, 10)
RIDGE = Fraction(1, 200)
DELTA = Fraction(1, 10**6)
STEPS = 1000
LAST = Fraction(10)
"""The largest level of a hypothesis; tests come on top, whatever they cost."""
RUNS, QUICK_RUNS, STUDY_RUNS = 80, 4, 20
STUDY_TARGETS = tuple(map(Fraction, ("0.01", "0.05", "0.1")))
SLACKS = tuple(map(Fraction, ("0.5", "0.8", "1", "1.2", "1.5", "2")))
STUDY_STEPS = (10, 30, 100, 300, 1000)
NOISE_REDUCTION, PAPER_TEST, DOUBLING = "noise reduction", "noise reduction, paper's test", "doubling"
PRINTED = "(theory, output, as printed)"


@dataclass(frozen=True)
class Run:
    """What one run charged, the excess risk of what it kept, and whether that was accepted."""

    loss: float
    excess: float
    accepted: bool


Results = dict[str, dict[float, list[Run]]]
"""By method and target."""
Losses = dict[str, dict[float, np.ndarray]]
"""Privacy losses of all runs, by method and target."""
LOOKS = {
    "noise reduction": ("o-", "#2a6f97"),
    "noise reduction, paper's test": ("s-", "#6a994e"),
    "noise reduction, output": ("v-", "#7fb2d1"),
    "Brownian": ("D-", "#e09f3e"),
    "doubling": ("^-", "#bc4749"),
    "theory": ("x--", "#7b2d8b"),
    "theory, sharp": ("+--", "#555555"),
    "theory, output": ("x:", "#b98cc4"),
    PRINTED: (":", "#b98cc4"),
    "theory, output, sharp": ("+:", "#999999"),
    "theory, output, sharp, γ": ("1:", "#333333"),
}


class Task:
    """A problem at one radius."""

    def __init__(self, problem: Problem, radius: Variant, base: "Task | None" = None) -> None:
        self.problem, self.radius = problem, radius
        ridge = self.settings(TARGETS[0]).ridge
        sharp, paper = (LogisticBounds, PaperLogisticBounds) if problem.classes else (RidgeBounds, PaperRidgeBounds)
        bounds_of = sharp if radius is Variant.SHARP else paper
        self.bounds: Any = bounds_of(problem.size, problem.dimension, ridge)
        self.base = base

    @cached_property
    def objective(self) -> Any:
        if self.problem.classes:
            return LogisticObjective(self.bounds, Examples(self.problem.rows * self.problem.targets[:, np.newaxis]))
        if self.base is not None:
            return RidgeObjective(self.bounds, self.base.objective.gram, self.base.objective.correlations)
        return RidgeObjective.of(self.bounds, self.problem.rows, self.problem.targets)

    @property
    def method(self) -> Method:
        return Method.OUTPUT if self.problem.classes else Method.COVARIANCE

    def levels(self, steps: int) -> tuple[Fraction, ...]:
        return geometric_levels(Fraction(1, self.problem.size), LAST, steps)

    def settings(
        self, target: Fraction, *, test: Variant = Variant.SHARP, slack: Fraction | int = DEFAULT_SLACK,
        steps: int = STEPS,
    ) -> AccuracySettings:  # fmt: skip
        """In scaled units: a bound of 1 on rows and targets."""
        kind = AccuracyFirstLogistic if self.problem.classes else AccuracyFirstRidge
        estimator = kind(
            excess_risk=target, regularization=RIDGE, failure_probability=FAILURE, epsilon_max=1000, x_bound=1,
            method="output", delta=DELTA, steps=steps, epsilons=self.levels(steps), slack=slack,
        )  # fmt: skip
        settings = estimator._settings()  # noqa: SLF001 - the library's, to be varied
        return settings if test is Variant.SHARP else PaperSettings.like(settings)

    def run(self, outcome: SearchOutcome | Untested) -> Run:
        excess = float(self.objective.excess_risks(outcome.weights[np.newaxis])[0])
        kept = isinstance(outcome, Untested) or outcome.step is not None
        return Run(float(outcome.charge), excess, kept)


class Walk:
    """One path of hypotheses, made and looked at as far as any search wants, and kept for the next search."""

    def __init__(self, task: Task, method: Method, steps: int = STEPS) -> None:
        self.bounds, self._task, self._levels = task.bounds, task, task.levels(steps)
        self._rest = iter(falling_noise(task.objective, method, self._levels, DELTA, bits=BITS))
        self._seen: list[np.ndarray] = []
        self._excesses: dict[bytes, float] = {}

    def __iter__(self) -> Iterator[np.ndarray]:
        for place in count():
            if place == len(self._seen):
                following = next(self._rest, None)
                if following is None:
                    return
                self._seen.append(following)
            yield self._seen[place]

    def excess_risks(self, hypotheses: np.ndarray) -> np.ndarray:
        keys = [row.tobytes() for row in hypotheses]
        new = [place for place, key in enumerate(keys) if key not in self._excesses]
        if new:
            found = self._task.objective.excess_risks(hypotheses[new])
            self._excesses.update((keys[place], float(excess)) for place, excess in zip(new, found, strict=True))
        return np.array([self._excesses[key] for key in keys])

    def search(self, settings: AccuracySettings) -> Run:
        terms: Any = settings.terms(self.bounds)
        outcome = search(self, terms.epsilons, terms.queries(self), terms.test, bits=BITS)
        excess = float(self.excess_risks(outcome.weights[np.newaxis])[0])
        return Run(float(outcome.charge), excess, outcome.step is not None)


def searched(task: Task) -> dict[str, tuple[Method, Variant]]:
    """Methods that walk a path: the method of noise, and the test."""
    others = (
        {"Brownian": (Method.BROWNIAN, Variant.SHARP)}
        if task.problem.classes
        else {"noise reduction, output": (Method.OUTPUT, Variant.SHARP)}
    )
    return {NOISE_REDUCTION: (task.method, Variant.SHARP), PAPER_TEST: (task.method, Variant.PAPER), **others}


def guaranteed(task: Task) -> dict[str, tuple[Method, Variant, Fraction | int]]:
    """Methods that trust a theorem: the method of noise, whose constants, and the share of the target to ask it for.

    With an expected excess of at most γα, the chance of more than α is at most γ (Markov): the guarantee of the others.
    """
    found: dict[str, tuple[Method, Variant, Fraction | int]] = {
        "theory": (task.method, Variant.PAPER, 1),
        "theory, sharp": (task.method, Variant.SHARP, 1),
    }
    if not task.problem.classes:
        found["theory, output"] = (Method.OUTPUT, Variant.PAPER, 1)
        found["theory, output, sharp"] = (Method.OUTPUT, Variant.SHARP, 1)
    return {**found, "theory, output, sharp, γ": (Method.OUTPUT, Variant.SHARP, FAILURE)}


def as_printed(problem: Problem, target: float) -> float:
    """The ε at which theorem 3.3 of the paper, as printed, is the target: for losses of slope at most 1.

    The losses of a ridge regression are steeper, so on ridge it guarantees nothing; the paper's figure has it there.
    """
    unit = 2 * problem.dimension / (problem.size * float(RIDGE))
    linear, square = 2**0.5 * unit, unit**2
    return (linear + (linear**2 + 4 * target * square) ** 0.5) / (2 * target)


def one_round(task: Task, targets: tuple[Fraction, ...], found: Results) -> None:
    """One run of every method at every target."""
    methods = searched(task)
    paths = {method: Walk(task, method) for method, _ in methods.values()}
    for target in targets:
        runs = {name: paths[kind].search(task.settings(target, test=test)) for name, (kind, test) in methods.items()}
        plan = Doubling.of(task.bounds, target=target, failure=FAILURE, epsilon_max=LAST)
        runs[DOUBLING] = task.run(doubling(task.objective, task.method, plan, bits=BITS))
        for name, (kind, constants, share) in guaranteed(task).items():
            outcome = from_theory(task.objective, kind, share * target, constants=constants, bits=BITS)
            runs[name] = task.run(outcome)
        for name, run in runs.items():
            found.setdefault(name, {}).setdefault(float(target), []).append(run)


def rounds(task: Task, targets: tuple[Fraction, ...], runs: int) -> Results:
    found: Results = {}
    start = time.perf_counter()
    for _ in range(runs):
        one_round(task, targets, found)
    print(f"({task.problem.name}, {task.radius} radius: {runs} runs, {time.perf_counter() - start:.0f} s)", flush=True)
    return found


def table(task: Task, found: Results) -> None:
    objective = task.objective
    zero = float(objective.excess_risks(np.zeros((1, task.problem.dimension)))[0])
    print(
        f"\n{task.problem.name}: n = {task.problem.size:,}, p = {task.problem.dimension}, {task.radius} radius "
        f"{task.bounds.radius:.2f}, ‖θ*‖ {np.linalg.norm(objective.minimiser):.2f}, excess risk of 0: {zero:.4f}"
    )
    print(
        "Mean loss ± standard deviation; ! share of runs that kept a hypothesis above the target, (share that accepted)"
    )
    targets = list(next(iter(found.values())))
    print(f"{'':<32}" + "".join(f"{target:>22g}" for target in targets))
    charges = (float(task.settings(Fraction(str(t))).terms(task.bounds).test.charge) for t in targets)
    print(f"{'(the sharp test alone)':<32}" + "".join(f"{charge:>22.4g}" for charge in charges))
    if not task.problem.classes:
        levels = (as_printed(task.problem, target) for target in targets)
        print(f"{PRINTED:<32}" + "".join(f"{level:>22.4g}" for level in levels))
    for method, by_target in found.items():
        print(f"{method:<32}" + "".join(f"{cell(runs, target):>22}" for target, runs in by_target.items()))


def cell(runs: list[Run], target: float) -> str:
    losses = np.array([run.loss for run in runs])
    wrong = float(np.mean([run.accepted and run.excess > target for run in runs]))
    reached = float(np.mean([run.accepted for run in runs]))
    text = f"{losses.mean():.3g}" + (f" ± {losses.std(ddof=1):.2g}" if np.ptp(losses) > 1e-9 * losses.max() else "")
    return text + (f" !{wrong:.3g}" if wrong else "") + (f" ({reached:.2g})" if reached < 1 else "")


def ratios(task: Task, found: Results) -> None:
    """e^loss of doubling over that of noise reduction: of the mean loss, as in the paper, and the mean of e^loss."""
    for target in map(float, HEADLINE):
        for method in (NOISE_REDUCTION, PAPER_TEST):
            print(f"{task.problem.name:<18}{task.radius:<7}{target:<7g}{method:<31}", end="")
            for name, average in (("e^mean", e_mean), ("mean e^loss", mean_e)):
                slow, fast = average(found[DOUBLING][target]), average(found[method][target])
                print(f"{name}: {fast:>9.4g} against {slow:>9.4g}, ratio {slow / fast:>7.4g}   ", end="")
            print()


def e_mean(runs: list[Run]) -> float:
    return exp(np.mean([run.loss for run in runs]))


def mean_e(runs: list[Run]) -> float:
    return float(np.mean(np.exp([run.loss for run in runs])))


def order(task: Task, found: Results) -> None:
    """Is noise reduction below doubling below theory, at every target? And what else is below noise reduction?"""
    names = (NOISE_REDUCTION, DOUBLING, "theory")
    for target in next(iter(found.values())):
        mean = {method: float(np.mean([run.loss for run in runs[target]])) for method, runs in found.items()}
        kept = mean[names[0]] < mean[names[1]] < mean[names[2]]
        below = ", ".join(method for method in mean if mean[method] < mean[NOISE_REDUCTION]) or "nothing"
        test = "below" if mean[PAPER_TEST] < mean[DOUBLING] else "NOT below"
        print(
            f"{task.problem.name:<18}{target:<7g}{' < '.join(names)}: {'yes' if kept else 'NO'}; "
            f"with the paper's test {test} doubling; below noise reduction: {below}"
        )


def study(task: Task, runs: int) -> None:
    """Mean losses by slack and number of levels, the sharp test."""
    print(f"\n{task.problem.name}: mean loss of {runs} runs by slack; in brackets, the share of runs that reached it")
    print(f"{'target':<8}{'levels':<8}" + "".join(f"{float(slack):>16g}" for slack in SLACKS))
    found: dict[tuple[Fraction, int, Fraction], list[Run]] = {}
    for steps in STUDY_STEPS:
        for _ in range(runs):
            path = Walk(task, task.method, steps)
            for target in STUDY_TARGETS:
                for slack in SLACKS:
                    run = path.search(task.settings(target, slack=slack, steps=steps))
                    found.setdefault((target, steps, slack), []).append(run)
    for target in STUDY_TARGETS:
        for steps in STUDY_STEPS:
            cells = (cell(found[target, steps, slack], float(target)) for slack in SLACKS)
            print(f"{float(target):<8g}{steps:<8}" + "".join(f"{text:>16}" for text in cells), flush=True)


def measure(problems: list[Problem], runs: int, folder: Path) -> None:
    shown = {}
    for problem in problems:
        task = Task(problem, Variant.SHARP)
        found = rounds(task, TARGETS, runs)
        table(task, found)
        order(task, found)
        wide = Task(problem, Variant.PAPER, base=task)
        found_wide = rounds(wide, HEADLINE, runs)
        table(wide, found_wide)
        ratios(task, found)
        ratios(wide, found_wide)
        shown[problem.name] = {
            method: {target: np.array([run.loss for run in cells]) for target, cells in by_target.items()}
            for method, by_target in found.items()
        }
        if not problem.classes:
            shown[problem.name][PRINTED] = {t: np.array([as_printed(problem, t)]) for t in map(float, TARGETS)}
    plot_losses(shown, folder)


def plot_losses(results: dict[str, Losses], folder: Path) -> None:
    """Mean loss against the target, with bars from the 10 % to the 90 % quantile of the runs."""
    figure = new_figure(5 * len(results), 5)
    shown: dict[str, Any] = {}
    for axes, (name, found) in zip(figure.subplots(1, len(results), squeeze=False)[0], results.items(), strict=True):
        for method, by_target in found.items():
            style, colour = LOOKS[method]
            shown[method] = axes.errorbar(*_points(by_target), fmt=style, color=colour, markersize=4, linewidth=1.2)
        axes.set(xscale="log", yscale="log", title=name, xlabel="target excess risk α")
        axes.set_xticks((ticks := list(next(iter(found.values())))), [f"{tick:g}" for tick in ticks], fontsize="small")
        axes.minorticks_off()
        axes.grid(visible=True, color="#d9d9d9", linewidth=0.6)
        axes.set_ylabel("privacy loss ε: mean, 10 % to 90 %")
    columns = min(5, 2 * len(results))
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=columns, fontsize="small")
    for suffix in ("svg", "png"):
        write_picture(figure, folder / f"accuracy_first_loss.{suffix}", "Privacy loss of each method, by target")


def _points(by_target: dict[float, np.ndarray]) -> tuple[list[float], np.ndarray, np.ndarray]:
    means = np.array([values.mean() for values in by_target.values()])
    ends = np.array([np.quantile(values, [0.1, 0.9]) for values in by_target.values()]).T
    return list(by_target), means, np.maximum([means - ends[0], ends[1] - means], 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} runs: under 5 minutes")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--study", action="store_true", help="losses by slack and number of levels instead")
    parser.add_argument("--only", nargs="+", choices=["week", "bytes", "attacks"], default=["week", "bytes", "attacks"])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    makers = {"week": week, "bytes": lambda: kdd_bytes(arguments.data), "attacks": lambda: kdd_attacks(arguments.data)}
    problems = [makers[name]() for name in arguments.only]
    if arguments.study:
        for problem in problems:
            study(Task(problem, Variant.SHARP), STUDY_RUNS)
    else:
        measure(problems, QUICK_RUNS if arguments.quick else arguments.runs, arguments.out)


if __name__ == "__main__":
    main()
