"""Private choice of a hypothesis, measured: error by records, large margin or not, Adult, labels only, time, shells.

Every part prints a table and draws a figure (SVG and PNG). Data are synthetic with a known distribution, so that true
errors are closed formulas; "expected" errors come from the exact laws of the mechanisms. Adult is read from --data.
Usage: python experiments/hypotheses.py [--quick] [--part N ...] [--data ../shared/data] [--out results]
"""

import argparse
import time
from fractions import Fraction
from functools import partial
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from dpmine import HypothesisSelector, Levels, law, select
from dpmine.errors import BadData
from dpmine.exact.bits import SystemBits
from dpmine.models.pac.conjunctions import Conjunctions
from dpmine.models.pac.hypothesis import Records
from dpmine.models.pac.theory.families import ThresholdFamily
from dpmine.models.pac.theory.learners import Learner, learn, plan_cover
from dpmine.models.pac.theory.sample_complexity import (
    Setting,
    Target,
    errors_lost_by_exponential,
    records_for_cover,
    records_for_labels,
)
from dpmine.models.pac.theory.separator_family import SeparatorFamily
from dpmine.models.pac.thresholds import PublicGrid, Thresholds
from dpmine.selection.recommend import least
from experiments import hypothesis_figures as figures
from experiments.hypothesis_data import (
    ADULT_GRIDS,
    DISTRIBUTIONS,
    NOISE,
    Mixture,
    adult,
    bump,
    three_best,
    two_of_many,
    worst_for,
)
from experiments.learning_bounds import errors_lost_by_large_margin, large_margin_reach
from experiments.shells import shells

ROOT = Path(__file__).resolve().parents[1]
SEED = 2011  # of the data only; the mechanisms' randomness comes from the system
FAILURE = 0.05
DELTA = 1e-6
BITS = SystemBits()
FAMILY = ThresholdFamily.of(0, 1)
EPSILONS = (Fraction(1), Fraction(1, 10))
MECHANISMS = ("exponential", "max_of_exponentials", "large_margin", "large_margin_tight")


def yes(truth: object) -> str:
    return "yes" if truth else "NO"


def target_of(epsilon: Fraction | float, accuracy: Fraction | float) -> Target:
    return Target.of(epsilon=epsilon, accuracy=accuracy, failure=FAILURE)


def fine_thresholds(bits: int) -> Thresholds:
    return Thresholds(PublicGrid.of(0, 1, 2**bits))


def drawn(grid: Thresholds, universe: Any, **options: Any) -> float:
    """The threshold that one run chooses."""
    return float(grid.hypothesis(select(universe, **options).index).threshold)


# 1: excess error by records


def finite_bound(size: int, records: int, epsilon: Fraction | None) -> float:
    """Hoeffding at δ/2 for all hypotheses, and what the exponential mechanism loses at δ/2; alone at δ without ε."""
    if epsilon is None:
        return 2 * sqrt(log(size / FAILURE) / (2 * records))
    lost = errors_lost_by_exponential(size, epsilon=epsilon, failure=FAILURE / 2)
    return 2 * sqrt(log(2 * size / FAILURE) / (2 * records)) + lost / records


def guaranteed_smoothness(records: int, epsilon: Fraction, accuracy: Fraction) -> Fraction:
    """κ̂ of the learner; 0 where it refuses."""
    try:
        planned = plan_cover(records, FAMILY, target_of(epsilon, accuracy), Setting.AGNOSTIC)
        return planned.error_bound.smoothness or Fraction(0)
    except BadData:
        return Fraction(0)


def learner_accuracy(distribution: Mixture, records: int, epsilon: Fraction) -> Fraction | None:
    """The least a in thousandths that is guaranteed for this κ; None where none up to 1/2 is."""
    smoothness = Fraction(distribution.smoothness)

    def is_guaranteed(thousandths: int) -> bool:
        return guaranteed_smoothness(records, epsilon, Fraction(thousandths, 1000)) >= smoothness

    return Fraction(least(is_guaranteed, start=1, end=500), 1000) if is_guaranteed(500) else None


def thresholds_chosen(records: Records) -> dict[tuple[str, Fraction | None], float]:
    grid = fine_thresholds(20)
    universe = grid.universe(records)
    found: dict[tuple[str, Fraction | None], float] = {
        (mechanism, epsilon): drawn(grid, universe, mechanism=mechanism, epsilon=epsilon)
        for mechanism in MECHANISMS[:2]
        for epsilon in EPSILONS
    }
    return {**found, ("not private", None): drawn(grid, universe, mechanism="exact", not_private=True)}


def excess_by_records(distribution: Mixture, records: int, repeats: int) -> figures.Rows:
    """All methods at one m. The learner is given the least accuracy that it can guarantee for the true κ."""
    generator = np.random.default_rng([SEED, records, int(distribution.smoothness)])
    accuracies = {epsilon: learner_accuracy(distribution, records, epsilon) for epsilon in EPSILONS}
    found: dict[tuple[str, Fraction | None], list[float]] = {}
    for _ in range(repeats):
        sample = distribution.records(records, generator)
        chosen = thresholds_chosen(sample)
        for epsilon, a in accuracies.items():
            if a is not None:
                learned: Any = learn(sample, FAMILY, target_of(epsilon, a), bits=BITS)
                chosen["learner", epsilon] = float(learned.hypothesis.threshold)
        for key, threshold in chosen.items():
            found.setdefault(key, []).append(distribution.excess(threshold))
    guaranteed = {("learner", epsilon): float(a) for epsilon, a in accuracies.items() if a is not None}
    return [
        (*key, records, np.array(values), guaranteed.get(key, finite_bound(2**20, records, key[1])))
        for key, values in found.items()
    ]


def print_excess(name: str, rows: figures.Rows, sizes: tuple[int, ...]) -> None:
    for method, epsilon, m, values, bound in rows:
        error = values.std(ddof=1) / sqrt(len(values))
        print(
            f"{name:<14}{method:<22}{float(epsilon) if epsilon else '-':>5}{m:>9}{values.mean():>10.5f}{error:>9.5f}"
            f"{bound:>9.4f}{yes(values.mean() <= bound):>13}{np.mean(values > bound):>13.0%}"
        )
    learnt = {(epsilon, m) for method, epsilon, m, _, _ in rows if method == "learner"}
    refused = [f"m = {m}, ε = {float(e):g}" for e in EPSILONS for m in sizes if (e, m) not in learnt]
    print(f"{name:<14}the learner guarantees no a ≤ 1/2 at: {'; '.join(refused) or '-'}")


def part_1(folder: Path, *, quick: bool) -> None:
    sizes, repeats = (300, 1000, 3000, 10_000, 30_000, 100_000), 20 if quick else 100
    print(f"\n1. Excess true error on thresholds, {NOISE:.0%} label noise, {repeats} samples, failure {FAILURE}")
    print(f"{'data':<14}{'method':<22}{'ε':>5}{'m':>9}{'mean':>10}{'s.e.':>9}{'bound':>9}  mean within  runs beyond")
    results = {}
    for distribution in DISTRIBUTIONS:
        rows = [row for m in sizes for row in excess_by_records(distribution, m, repeats)]
        results[distribution.name] = sorted(rows, key=lambda row: (row[0], -float(row[1] or 9), row[2]))
        print_excess(distribution.name, results[distribution.name], sizes)
    rows = [row for found in results.values() for row in found]
    within = all(values.mean() <= bound for *_, values, bound in rows)
    print(f"Measured mean within the bound everywhere: {yes(within)} ({len(rows)} rows)")
    figures.plot_excess(results, EPSILONS, folder)


# 2: large margin


def expected_errors(universe: Any, mechanism: str) -> float:
    """Expected errors beyond the best hypothesis's, by the exact law, ε = 1."""
    scores = np.array([float(level.score) for level in universe.head(universe.least)])
    masses = law(universe, mechanism=mechanism, epsilon=1, delta=DELTA).pmf
    return float(np.dot(masses, scores[0] - scores))


def crossing(gap: int, mechanism: str) -> int:
    """log2 |H| at which the exponential mechanism begins to lose more than another one, by halving."""

    def is_behind(size: int) -> bool:
        universe = Levels(three_best(size, gap))
        return expected_errors(universe, "exponential") > expected_errors(universe, mechanism) + 0.001

    return least(is_behind, start=8, end=980)


def part_2(folder: Path, *, quick: bool) -> None:
    reach = large_margin_reach(3, epsilon=1, delta=DELTA, failure=FAILURE)
    margin = errors_lost_by_large_margin(3, epsilon=1, failure=FAILURE)
    bits = (7, 16, 32, 64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 980)
    curves = {}
    print(f"\n2a. Expected errors beyond the best, ε = 1, δ = {DELTA}; 3 best hypotheses, the others behind by a gap")
    print(f"{'log2 |H|':<34}" + "".join(f"{b:>7}" for b in bits))
    for gap in (reach, 250):
        for mechanism in MECHANISMS:
            values = [expected_errors(Levels(three_best(b, gap)), mechanism) for b in bits]
            curves[mechanism, gap] = bits, values
            print(f"{f'{mechanism}, gap {gap}':<34}" + "".join(f"{value:>7.1f}" for value in values))
    guaranteed = [errors_lost_by_exponential(2**b, epsilon=1, failure=FAILURE) for b in bits]
    print(f"{'exponential guarantees':<34}" + "".join(f"{value:>7}" for value in guaranteed))
    print(f"{f'large_margin guarantees, gap {reach}':<34}" + f"{margin:>7}" * len(bits))
    first = next(b for b in range(1, 64) if errors_lost_by_exponential(2**b, epsilon=1, failure=FAILURE) > margin)
    print(f"The guarantees cross at |H| = 2^{first}.")
    for mechanism, gap in (("large_margin", reach), ("large_margin_tight", 250)):
        print(f"exponential begins to lose more than {mechanism}, gap {gap}: |H| = 2^{crossing(gap, mechanism)}")
    figures.plot_margin(curves, (guaranteed, margin), refined(quick=quick), folder)


def refined(*, quick: bool) -> dict[tuple[str, str], tuple[list[int], list[float]]]:
    """Expected errors by the fineness of a grid: on fixed data, and on the worst data for each grid."""
    count = 1000 if quick else 2000
    fixed, bits = DISTRIBUTIONS[0].records(count, np.random.default_rng(SEED)), [4, 8, 16, 32, 48, 64]
    data = {f"{count} uniform": [fixed] * len(bits), "worst data": [worst_for(b) for b in bits]}
    found = {}
    print(f"2b. The same on threshold grids of 2^b points, b = {bits}; {count} uniform records, or the worst for b")
    for name, records in data.items():
        for mechanism in MECHANISMS:
            universes = [fine_thresholds(b).universe(one) for b, one in zip(bits, records, strict=True)]
            values = [expected_errors(universe, mechanism) for universe in universes]
            found[name, mechanism] = bits, values
            print(f"{f'{name}, {mechanism}':<34}" + "".join(f"{value:>8.2f}" for value in values))
    return found


# 3: Adult


def accuracies(selector: HypothesisSelector, features: Any, labels: Any, train: np.ndarray) -> np.ndarray:
    """In per cent, on the training and the test part."""
    right = selector.predict(features) == labels
    return 100 * np.array([right[train].mean(), right[~train].mean()])


def part_3(folder: Path, *, quick: bool, data: Path) -> None:
    numbers, indicators, labels, train = adult(data)
    lower, upper, points = (list(column) for column in zip(*ADULT_GRIDS.values(), strict=True))
    classes = {
        "stumps": (numbers, {"hypotheses": "stumps", "lower": lower, "upper": upper, "grid": points}),
        "conjunctions": (indicators, {"hypotheses": "conjunctions", "width": 3}),
    }
    larger = [100 * np.mean(labels[part] == "<=50K") for part in (train, ~train)]
    print(f"\n3. Adult, {train.sum()} training rows, 20 runs; accuracy in % on training and test part")
    print(f"always the larger class: {larger[0]:.3f}, {larger[1]:.3f}")
    below = {}
    for name, (features, options) in classes.items():
        rows = features[train], labels[train]
        best = HypothesisSelector(mechanism="exact", not_private=True, **options).fit(*rows)
        limits, size = accuracies(best, features, labels, train), best.class_for(best.names_).size
        print(f"{name}, {size} of {features.shape[1]} features, best (not private): {best.hypothesis_}:", end=" ")
        print(f"{limits[0]:.3f}, {limits[1]:.3f}")
        for epsilon in (Fraction(1), Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000))[: 3 if quick else 4]:
            start = time.perf_counter()
            fitted = [HypothesisSelector(epsilon=epsilon, **options).fit(*rows) for _ in range(20)]
            seconds = (time.perf_counter() - start) / 20
            gaps = limits - np.array([accuracies(each, features, labels, train) for each in fitted])
            below[f"{name}, ε = {float(epsilon):g}"] = gaps[:, 1]
            mean, worst = limits - gaps.mean(axis=0), gaps.max()
            print(
                f"  ε = {float(epsilon):<6g}mean {mean[0]:.3f}, {mean[1]:.3f}; points below the best "
                f"{gaps[:, 0].mean():.3f}, {gaps[:, 1].mean():.3f} (worst run {worst:.3f}); mean within 1 point: "
                f"{yes(gaps.mean(axis=0).max() <= 1)}; {seconds:.2f} s a fit"
            )
    figures.plot_adult(below, folder)


# 4: labels only


def records_needed(smoothness: float, target: Target) -> int:
    """For full privacy, with the cover that thresholds really have."""
    radius = target.radius(Fraction(smoothness), Setting.AGNOSTIC)
    return records_for_cover(target, FAMILY.cover_size(radius), Setting.AGNOSTIC)


def labels_needed(target: Target) -> int:
    return records_for_labels(target, FAMILY.vc, Fraction(1, 10), FAMILY.sample_cover_size(target.accuracy / 4))


def on_bump(distribution: Mixture, repeats: int) -> dict[str, np.ndarray]:
    """Excess errors of three choices at m = 2,000, ε = 0.1; a = 0.3 for both learners."""
    generator, grid = np.random.default_rng([SEED, int(distribution.smoothness)]), fine_thresholds(64)
    target = target_of(EPSILONS[1], Fraction(3, 10))
    learners = {"labels only": Learner.LABEL_PRIVATE, "fully private learner": Learner.PRIVATE}
    found: dict[str, list[float]] = {name: [] for name in (*learners, "fully private, 2^64 grid")}
    for _ in range(repeats):
        sample = distribution.records(2000, generator)
        for name, learner in learners.items():
            learned: Any = learn(sample, FAMILY, target, learner, bits=BITS)
            found[name].append(distribution.excess(float(learned.hypothesis.threshold)))
        chosen = drawn(grid, grid.universe(sample), mechanism="max_of_exponentials", epsilon=EPSILONS[1])
        found["fully private, 2^64 grid"].append(distribution.excess(chosen))
    return {name: np.array(values) for name, values in found.items()}


def part_4(folder: Path, *, quick: bool) -> None:
    kappas, steps, repeats = 10.0 ** np.arange(16), (0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.4), 10 if quick else 100
    epsilons = (1.0, 0.1, 0.01)
    print(f"\n4. Records that are enough for thresholds, best error {NOISE}, failure {FAILURE}; κ = 1 and 1e15")
    for epsilon in epsilons:
        for a in (0.05, 0.1, 0.3):
            fully, labels = needed_by([(kappa, target_of(epsilon, a)) for kappa in kappas])
            wins = [f"from κ = {k:.0e}" for k, m, few in zip(kappas, fully, labels, strict=True) if m > few]
            print(f"ε = {epsilon:<5g}a = {a:<5g}fully private {fully[0]:>9,} to {fully[-1]:>9,}; labels only", end=" ")
            print(f"{labels[0]:>9,}, fewer {wins[0] if wins else 'for no κ up to 1e15'}")
    print_separators()
    reach = guaranteed_smoothness(2000, EPSILONS[1], Fraction(3, 10))
    print(f"Mean excess true error, narrow bumps, m = 2,000, ε = 0.1, {repeats} samples; learners at a = 0.3")
    print(f"the fully private learner guarantees it up to κ = {float(reach):.1f}, labels only from m = ", end="")
    print(labels_needed(target_of(0.1, 0.3)))
    bumps = [bump(width) for width in 10.0 ** -np.arange(1, 14)]
    measured = {one.smoothness: on_bump(one, repeats) for one in bumps}
    for kappa, found in measured.items():
        cells = (f"{name} {v.mean():.4f} ± {v.std(ddof=1) / sqrt(repeats):.4f}" for name, v in found.items())
        print(f"κ = {kappa:<9.2g}" + "; ".join(cells))
    figures.plot_labels(
        {e: (kappas, *needed_by([(k, target_of(e, 0.3)) for k in kappas])) for e in epsilons},
        {e: (steps, *needed_by([(1e6, target_of(e, a)) for a in steps])) for e in epsilons},
        measured,
        folder,
    )


def needed_by(cases: list[tuple[float, Target]]) -> tuple[list[int], list[int]]:
    """Fully private, and labels only."""
    return [records_needed(kappa, target) for kappa, target in cases], [labels_needed(target) for _, target in cases]


def print_separators() -> None:
    for dimension in (2, 3):
        family, target = SeparatorFamily.of(dimension), target_of(0.1, 0.3)
        labels = records_for_labels(target, family.vc, Fraction(1, 10), family.sample_cover_size(target.accuracy / 4))
        radii = {kappa: target.radius(kappa, Setting.AGNOSTIC) for kappa in (1, 3, 10, 30, 100)}
        needed = [
            f"{records_for_cover(target, family.cover_size(radius)):,} (κ = {kappa})"
            for kappa, radius in radii.items()
            if radius >= family.finest
        ]
        print(
            f"separators, d = {dimension}, ε = 0.1, a = 0.3: fully private {', '.join(needed)}; labels only {labels:,}"
        )


# 5: time


def part_5(folder: Path, *, quick: bool) -> None:
    repeats = 1 if quick else 5
    sample = DISTRIBUTIONS[0].records(10**6, np.random.default_rng(SEED))
    print(f"\n5. Seconds from arrays of 10^6 records to a choice, grid of 2^64 points, median of {repeats}")
    found = {}
    for name in ("thresholds", "intervals"):
        for mechanism in MECHANISMS[:2]:
            selector = HypothesisSelector(name, lower=0, upper=1, grid=2**64, mechanism=mechanism)
            selector.fit(sample.features[:1000], sample.positive[:1000])  # loads what it needs
            seconds = []
            for _ in range(repeats):
                start = time.perf_counter()
                selector.fit(sample.features, sample.positive)
                seconds.append(time.perf_counter() - start)
            found[f"{name}, {mechanism}"] = float(np.median(seconds))
            print(f"{name:<14}{mechanism:<24}{np.median(seconds):>8.2f} s   {selector.hypothesis_}")
    figures.plot_time(found, folder)


# 6: shells


def part_6(folder: Path, *, quick: bool) -> None:
    generator, names = np.random.default_rng(SEED), tuple(f"x{i}" for i in range(100))
    cases: tuple[tuple[Records, Any], ...] = (
        (two_of_many(20_000, 100, generator), Conjunctions(names, 3)),
        (DISTRIBUTIONS[0].records(500 if quick else 2000, generator), fine_thresholds(64)),
    )
    print("\n6. Shells: public, synthetic data")
    found = [shells(*case, epsilon=1, delta=DELTA, failure=FAILURE) for case in cases]
    for each in found:
        print(each)
        reached = (f"{mechanism} {each.reached(mechanism)}" for mechanism in MECHANISMS)
        print(f"Reached with probability {1 - FAILURE} by the exact laws: {', '.join(reached)} more errors.")
    figures.plot_shells(found, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--quick", action="store_true", help="fewer samples and repetitions: under 3 minutes")
    parser.add_argument("--part", type=int, nargs="+", choices=range(1, 7), default=range(1, 7))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    parts: list[Any] = [part_1, part_2, partial(part_3, data=arguments.data), part_4, part_5, part_6]
    for number in arguments.part:
        start = time.perf_counter()
        parts[number - 1](arguments.out, quick=arguments.quick)
        print(f"(part {number}: {time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
