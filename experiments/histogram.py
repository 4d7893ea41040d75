"""Integrated square error of private histograms against the number of records: chosen, best and fixed widths.

    python experiments/histogram.py [--quick] [--plane] [--plot benchmarks/results/histogram.svg] [--epsilon 1]

Three densities on [0, 1], or with --plane on its square, samples of growing size. "chosen" is `PrivateHistogram` with
its defaults, "cautious" penalises fine bins for their sensitivity, "uniform" takes the largest sensitivity for all,
"paper" also the published bounds and retraining on the training part. "fixed b" spends all of ε on b bins and all
records; "best" is the fixed width with the smallest mean error, which nobody knows beforehand. Means over the
repetitions, with the standard error of "chosen".
A dash: too few records for the bounds.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpmine.errors import BadData
from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import GUARD_BITS, above, exact_ball, logarithm
from dpmine.io.atomic import new_figure, write_picture
from dpmine.models.contribution import EVERY_ROW, Bounding
from dpmine.models.histogram.bin_search import BinSearch
from dpmine.models.histogram.density import Density
from dpmine.models.histogram.estimator import PrivateHistogram
from dpmine.models.histogram.training import GRID, HistogramTraining, Records, density_score
from dpmine.models.validation.procedure import random_split, select_parameter, train_selected, train_size_of
from dpmine.models.validation.terms import Sensitivities, Stability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.models.validation.terms import ValidationTerms

Floats: TypeAlias = NDArray[np.float64]

BINS = (2, 4, 8, 16, 32, 64, 128)
SHAPES = ((2, 2), (4, 4), (8, 8), (16, 16), (32, 32), (32, 2), (2, 32))
POINTS = (np.arange(2**13) + 0.5) / 2**13
CENTRES = (np.indices((256, 256)).reshape(2, -1).T + 0.5) / 256
Bins: TypeAlias = "int | tuple[int, int]"
COLOURS = {"chosen": "#2a6f97", "cautious": "#8ab6d6", "uniform": "#e0a458", "paper": "#c1666b", "best": "#222222"}
SIZES = (1000, 3000, 10_000, 30_000, 100_000, 300_000)
QUICK_SIZES = (1000, 10_000, 100_000)
SEED = 2013


class Cautious(BinSearch):
    """Fine bins are penalised for their own sensitivity: caution 1."""

    def terms(self, train_size: int, validation_size: int) -> ValidationTerms:
        """See `BinSearch`."""
        return replace(BinSearch.terms(self, train_size, validation_size), caution=Fraction(1))


class Uniform(BinSearch):
    """The largest sensitivity for all numbers of bins, as in the paper."""

    def terms(self, train_size: int, validation_size: int) -> ValidationTerms:
        """See `BinSearch`."""
        return replace(BinSearch.terms(self, train_size, validation_size), sensitivities=Sensitivities.UNIFORM)


class AsPublished(Uniform):
    """The published bounds on the stability as well, and a last training on the training part."""

    def density(self, x: Any, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Density:  # noqa: ARG002
        """Algorithm 2 and Theorem 6 as they were published. Raises BadData for too few records."""
        values = self.space.clipped(x)
        if len(values) < 2:
            raise BadData("Too few records.")
        size = train_size_of(len(values), self.train_share)
        terms = self.terms(size, len(values) - size)
        trained, held = (Records.of(values[part]) for part in random_split(len(values), size, bits=bits))
        training = HistogramTraining()
        selected = select_parameter(
            training,
            self.space.grids,
            trained,
            held,
            score=density_score,
            stabilities=stabilities_as_published(
                self.cells, records=size, alpha=terms.training_epsilon, failure=terms.failure
            ),
            terms=terms,
            bits=bits,
        )
        found = train_selected(training, selected, trained, terms, bits=bits)
        assert found.model is not None
        return Density(found.model, self.space.candidates, terms.mechanism, found.guarantee)


def stabilities_as_published(
    bins: Sequence[int], *, records: int, alpha: Fraction, failure: Fraction
) -> list[Stability]:
    """β1 = 6/((1 − ν)h_min), β2 = 2/h_min, ν = 2 ln(4k/δ)/(nα√h_min): Theorem 6 as it was published."""
    most = max(bins)
    left = records - records_lost_as_published(most, len(bins), alpha=alpha, failure=failure)
    if left <= 0:
        raise BadData("Too few records for the published bound.")
    return [Stability(6 * most * records / left, Fraction(2 * most))] * len(bins)


def records_lost_as_published(bins: int, candidates: int, *, alpha: Fraction, failure: Fraction) -> Fraction:
    """2 ln(4k/δ)√s/α, s the number of bins, and the rounding of the noise."""
    tail = above(lambda: logarithm(4 * candidates / failure) * exact_ball(bins).sqrt(), 64 + GUARD_BITS)
    return 2 / alpha * tail + bins * GRID / 2


CHOICES: dict[str, type[BinSearch]] = {
    "chosen": BinSearch,
    "cautious": Cautious,
    "uniform": Uniform,
    "paper": AsPublished,
}


@dataclass(frozen=True)
class Case:
    """A density on [0, 1], or on its square, and how to draw from it; where to compare, and the candidates."""

    name: str
    pdf: Callable[[Floats], Floats]
    draw: Callable[[np.random.Generator, int], Floats]
    points: Floats = field(default_factory=lambda: POINTS)
    bins: Sequence[Bins] = BINS


def cases() -> list[Case]:
    smooth = stats.beta(2, 5)
    return [
        Case("smooth: Beta(2, 5)", smooth.pdf, lambda generator, n: generator.beta(2, 5, n)),
        Case("two peaks", _peaks_pdf, _draw_peaks),
        Case("16 steps", _steps_pdf, _draw_steps),
    ]


def plane_cases() -> list[Case]:
    """A smooth density, a cloud on a flat one, and one that is smooth in its second number and narrow in the first."""
    smooth, other, narrow = stats.beta(2, 5), stats.beta(5, 2), stats.beta(60, 40)
    cloud = stats.beta(70, 30)  # spread 0.046
    return [
        Case(
            "smooth: Beta(2, 5) x Beta(5, 2)",
            lambda x: smooth.pdf(x[:, 0]) * other.pdf(x[:, 1]),
            lambda generator, n: np.column_stack([generator.beta(2, 5, n), generator.beta(5, 2, n)]),
            CENTRES,
            SHAPES,
        ),
        Case(
            "a cloud with half of the records",
            lambda x: 0.5 + 0.5 * cloud.pdf(x[:, 0]) * cloud.pdf(x[:, 1]),
            lambda generator, n: np.where(
                generator.random((n, 1)) < 0.5, generator.random((n, 2)), generator.beta(70, 30, (n, 2))
            ),
            CENTRES,
            SHAPES,
        ),
        Case(
            "narrow in the first number",
            lambda x: narrow.pdf(x[:, 0]),
            lambda generator, n: np.column_stack([generator.beta(60, 40, n), generator.random(n)]),
            CENTRES,
            SHAPES,
        ),
    ]


PEAKS = ((0.7, 0.3, 0.08), (0.3, 0.75, 0.02))  # weight, place, width
STEPS = np.array([1, 3, 1, 1, 6, 1, 2, 1, 1, 1, 4, 1, 1, 8, 1, 1]) / 34


def _peaks_pdf(x: Floats) -> Floats:
    parts = [weight * stats.norm(place, width).pdf(x) / _inside(place, width) for weight, place, width in PEAKS]
    return np.asarray(sum(parts), np.float64)


def _inside(place: float, width: float) -> float:
    law = stats.norm(place, width)
    return float(law.cdf(1) - law.cdf(0))


def _draw_peaks(generator: np.random.Generator, n: int) -> Floats:
    first = generator.random(n) < PEAKS[0][0]
    draws = [
        stats.truncnorm(-place / width, (1 - place) / width, place, width).rvs(n, random_state=generator)
        for _, place, width in PEAKS
    ]
    drawn: Floats = np.where(first, *draws)
    return drawn


def _steps_pdf(x: Floats) -> Floats:
    return np.asarray(16 * STEPS[np.minimum(15, (x * 16).astype(int))], np.float64)


def _draw_steps(generator: np.random.Generator, n: int) -> Floats:
    return np.asarray((generator.choice(16, n, p=STEPS) + generator.random(n)) / 16, np.float64)


def error(case: Case, x: Floats, epsilon: str, kind: type[BinSearch], bins: Sequence[Bins]) -> float:
    """∫ (f̂ − f)², by the midpoint rule; NaN where there are too few records."""
    given = PrivateHistogram(bins=bins, lower=0, upper=1, epsilon=epsilon).search()
    search = kind(*(getattr(given, entry.name) for entry in fields(given)))
    try:
        model = search.density(x, bits=SystemBits())
    except BadData:
        return float("nan")
    return float(np.square(model.pdf(case.points) - case.pdf(case.points)).mean())


def measure(case: Case, sizes: tuple[int, ...], repetitions: int, epsilon: str) -> dict[str, Floats]:
    """Errors of every method, shape (sizes, repetitions); all methods see the same samples."""
    generator = np.random.default_rng(SEED)
    methods: dict[str, tuple[type[BinSearch], Sequence[Bins]]] = {
        name: (kind, case.bins) for name, kind in CHOICES.items()
    }
    methods |= {f"fixed {_shown(count)}": (BinSearch, [count]) for count in case.bins}
    errors = {name: np.full((len(sizes), repetitions), np.nan) for name in methods}
    for i, n in enumerate(sizes):
        for j in range(repetitions):
            x = case.draw(generator, n)
            for name, (kind, bins) in methods.items():
                errors[name][i, j] = error(case, x, epsilon, kind, bins)
    return errors


def _shown(bins: Bins) -> str:
    return f"{bins[0]}x{bins[1]}" if isinstance(bins, tuple) else str(bins)


def means(errors: dict[str, Floats]) -> dict[str, Floats]:
    """Mean errors by method, and those of the best fixed width at each size."""
    found = {name: values.mean(axis=1) for name, values in errors.items()}
    fixed = np.array([values for name, values in found.items() if name.startswith("fixed")])
    return {**{name: found[name] for name in CHOICES}, "best": fixed.min(axis=0), **found}


def table(case: Case, sizes: tuple[int, ...], errors: dict[str, Floats]) -> str:
    found = means(errors)
    spread = errors["chosen"].std(axis=1, ddof=1) / np.sqrt(errors["chosen"].shape[1])
    lines = [case.name, f"{'n':>8}" + "".join(f"{name:>12}" for name in found) + f"{'± chosen':>12}"]
    for i, n in enumerate(sizes):
        cells = [f"{values[i]:12.4f}" if np.isfinite(values[i]) else f"{'—':>12}" for values in found.values()]
        lines.append(f"{n:8d}" + "".join(cells) + f"{spread[i]:12.4f}")
    return "\n".join(lines)


def draw(axes: Any, case: Case, sizes: tuple[int, ...], errors: dict[str, Floats]) -> None:
    for name, values in means(errors).items():
        style: dict[str, Any] = {"color": "#bbbbbb", "linewidth": 0.9}
        if not name.startswith("fixed"):
            style = {"color": COLOURS[name], "linewidth": 2, "marker": "o", "markersize": 4, "label": name}
        axes.plot(sizes, values, **style)
        if name.startswith("fixed"):
            axes.annotate(name.removeprefix("fixed "), (sizes[-1], values[-1]), fontsize=7, color="#777777")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(case.name)
    axes.set_xlabel("records")
    axes.grid(visible=True, color="#e3e3e3", linewidth=0.6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three sizes, five repetitions: well under a minute")
    parser.add_argument("--plane", action="store_true", help="two numbers a record")
    parser.add_argument("--plot", type=Path, help="an .svg or .png file")
    parser.add_argument("--epsilon", default="1")
    options = parser.parse_args()
    sizes, repetitions = (QUICK_SIZES, 5) if options.quick else (SIZES, 20)
    figure = new_figure(13, 4.2)
    panels = figure.subplots(1, 3)
    for case, axes in zip(plane_cases() if options.plane else cases(), panels, strict=True):
        errors = measure(case, sizes, repetitions, options.epsilon)
        print(f"{table(case, sizes, errors)}\n", flush=True)
        draw(axes, case, sizes, errors)
    panels[0].set_ylabel("integrated square error")
    panels[0].legend(title="grey: fixed numbers of bins")
    figure.suptitle(f"Private histograms at ε = {options.epsilon}, δ = 1e-06, mean of {repetitions}")
    if options.plot:
        write_picture(figure, options.plot, "Errors of private histograms, by sample size")


if __name__ == "__main__":
    main()
