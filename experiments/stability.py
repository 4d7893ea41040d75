"""Section 5 of Chaudhuri & Vinterbo 2013: five ways to choose the regulariser of a private logistic regression.

10 × 10-fold cross-validation on Adult (52 predictors) and Magic (10): one fold tests, the next validates, eight train.
Figures of AUC, MSE and, as figure 2 there, the chosen index against α, with bootstrap intervals of the mean (SVG and
PNG), a table, and the paper's claims checked. Stability comes with candidate-specific sensitivities, the same with
caution 1, and the paper's uniform ones. `--scores` compares other Lipschitz scores than the ramp, by theorem 4.
Usage: python experiments/stability.py [--data ../shared/data] [--out benchmarks/results] [--quick] [--scores]
"""

import argparse
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from dpmine.exact.bits import SystemBits
from dpmine.io.atomic import new_figure, write_picture
from dpmine.models.linear.losses import Examples, LogisticLoss
from dpmine.models.linear.perturbations import ObjectivePerturbation, Release
from dpmine.models.linear.preprocessing import UnitBall
from dpmine.models.linear.training import ramp_score
from dpmine.models.validation.procedure import Trained, select_parameter, train_candidates, train_selected
from dpmine.models.validation.terms import ValidationTerms, comparable
from dpmine.selection.select import choose
from dpmine.selection.universes.dense import Dense
from experiments.linear_data import adult, magic
from experiments.validation_baselines import (
    SCORES,
    Score,
    alpha_split,
    control,
    data_split,
    random_choice,
    random_parts,
)

ROOT = Path(__file__).resolve().parents[1]
LAMBDAS = (Fraction(1, 1000), *(Fraction(112 + 111 * step, 1000) for step in range(8)), Fraction(1))
ALPHAS = tuple(map(Fraction, ("0.3", "0.5", "1", "2", "3", "5")))
FOLDS = 10
RESAMPLES = 2000
SEED = 2013  # of the folds and of the bootstrap only; noise comes from the system
STABILITY = {
    "Stability": ("candidate", 0),
    "Stability, cautious": ("candidate", 1),
    "Stability, uniform": ("uniform", 0),
}
OTHERS = ("alphaSplit", "dataSplit", "Random")
PRIVATE = (*STABILITY, *OTHERS)
METHODS = (*PRIVATE, "Control")
MEASURES = ("AUC", "MSE", "index")


class Fold:
    """Training, validation and test part of one fold, and the training procedure for them."""

    def __init__(self, examples: Examples, fold_of: np.ndarray, fold: int) -> None:
        validation = (fold + 1) % FOLDS
        self.test = examples.take(np.flatnonzero(fold_of == fold))
        self.validation = examples.take(np.flatnonzero(fold_of == validation))
        self.train = examples.take(np.flatnonzero((fold_of != fold) & (fold_of != validation)))
        self.training = ObjectivePerturbation(LogisticLoss(), examples.dimension)
        self.bits = SystemBits()

    def terms(self, alpha: Fraction, sensitivities: str = "candidate", caution: int = 0) -> ValidationTerms:
        return ValidationTerms.of(
            train_size=self.train.size,
            validation_size=self.validation.size,
            failure=0,
            training_epsilon=alpha / 2,
            selection_epsilon=alpha / 2,
            sensitivities=sensitivities,
            caution=caution,
        )

    def releases(self, alpha: Fraction) -> list[Release]:
        return [self.training.release(self.train.size, value, alpha / 2) for value in LAMBDAS]

    def stability(self, alpha: Fraction, sensitivities: str, caution: int) -> Trained[Any, Any]:
        terms = self.terms(alpha, sensitivities, caution)
        bounds = [release.stability for release in self.releases(alpha)]
        data = (self.training, LAMBDAS, self.train, self.validation)
        selected = select_parameter(*data, score=ramp_score, stabilities=bounds, terms=terms, bits=self.bits)
        return train_selected(self.training, selected, self.train, terms, bits=self.bits)

    def by_score(self, alpha: Fraction) -> dict[str, Trained[Any, Any]]:
        """Algorithm 2 with each of `SCORES`; all choose among the same trained candidates, with noise of their own."""
        terms, data = self.terms(alpha), (self.training, LAMBDAS)
        models = train_candidates(*data, self.train, terms.training_epsilon, bits=self.bits)
        finals = train_candidates(*data, self.train, terms.training_epsilon, bits=self.bits)
        return {name: self._chosen(score, models, finals, terms) for name, score in SCORES.items()}

    def _chosen(self, score: Score, models: list[Any], finals: list[Any], terms: ValidationTerms) -> Trained[Any, Any]:
        chooser, releases = terms.chooser(len(LAMBDAS)), self.releases(2 * terms.training_epsilon)
        steps = [score.stability(release).sensitivity(terms.train_size, terms.validation_size) for release in releases]
        scores = [score.of(model, self.validation, release) for model, release in zip(models, releases, strict=True)]
        found = comparable(scores, steps, epsilon=chooser.epsilon, kind=terms.sensitivities, caution=terms.caution)
        index = choose(chooser, Dense(found.scores), sensitivity=found.sensitivity, bits=self.bits)
        assert index is not None
        return Trained(
            int(index), LAMBDAS[int(index)], finals[int(index)], terms.guarantee(2 * chooser.epsilon, Fraction(0))
        )

    def parts(self) -> list[Examples]:
        return [self.train.take(rows) for rows in random_parts(self.train.size, len(LAMBDAS), bits=self.bits)]

    def trained(self, method: str, alpha: Fraction) -> Trained[Any, Any]:
        data = (self.training, LAMBDAS)
        both = (*data, self.train, self.validation)
        options = {"epsilon": alpha, "bits": self.bits}
        makers = {
            "alphaSplit": lambda: alpha_split(*both, errors=errors, **options),
            "dataSplit": lambda: data_split(*data, self.parts(), self.validation, errors=errors, **options),
            "Random": lambda: random_choice(*data, self.train, **options),
            "Control": lambda: control(*both, score=ramp_score, **options),
        }
        return self.stability(alpha, *STABILITY[method]) if method in STABILITY else makers[method]()


def errors(weights: np.ndarray, examples: Examples) -> int:
    return int((examples.signed @ weights <= 0).sum())


def measures(found: Trained[Any, Any], test: Examples) -> tuple[float, float, float]:
    """AUC, mean squared error and index from 1; a row's last entry is its label times a positive constant."""
    labels = np.sign(test.signed[:, -1])
    decisions = labels * (test.signed @ found.model)
    chances = 0.5 * (1 + np.tanh(decisions / 2))
    error = float(np.mean(np.square(chances - (labels > 0))))
    return float(roc_auc_score(labels, decisions)), error, float(found.index or 0) + 1


Found = dict[tuple[str, Fraction], np.ndarray]
"""The measures of every fold, by method and α."""


def run(name: str, examples: Examples, repeats: int, folds: int, *, scores: bool) -> Found:
    """Of the methods, or of Stability with all scores."""
    generator = np.random.default_rng(SEED)
    found: dict[tuple[str, Fraction], list[tuple[float, float, float]]] = {}
    start = time.perf_counter()
    for repeat in range(repeats):
        fold_of = generator.permutation(np.arange(examples.size) % FOLDS)
        for number in range(folds):
            fold = Fold(examples, fold_of, number)
            for alpha in ALPHAS:
                both = fold.by_score(alpha) if scores else {method: fold.trained(method, alpha) for method in METHODS}
                for method, model in both.items():
                    found.setdefault((method, alpha), []).append(measures(model, fold.test))
        print(f"{name}: round {repeat + 1} of {repeats}, {time.perf_counter() - start:.0f} s", flush=True)
    return {key: np.array(values) for key, values in found.items()}


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """The mean and its 95 % bootstrap interval."""
    generator = np.random.default_rng(SEED)
    means = values[generator.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def table(name: str, found: Found) -> None:
    methods = list(dict.fromkeys(method for method, _ in found))
    for column, measure in enumerate(MEASURES):
        print(f"\n{name}, {measure}: mean [95 % bootstrap interval]")
        print(f"{'α':<6}" + "".join(f"{method:>28}" for method in methods))
        for alpha in ALPHAS:
            cells = (interval(found[method, alpha][:, column]) for method in methods)
            print(
                f"{float(alpha):<6g}"
                + "".join(f"{m:>9.4f} [{low:.4f}, {high:.4f}]".rjust(28) for m, low, high in cells)
            )


def claims(name: str, found: Found) -> None:
    """What the paper says of its figures, at every α."""
    for alpha in ALPHAS:
        auc, mse = ({method: found[method, alpha][:, i].mean() for method in METHODS} for i in (0, 1))
        for stability in STABILITY:
            best = min(OTHERS, key=mse.__getitem__)
            above = all(auc[stability] > auc[other] for other in ("alphaSplit", "dataSplit"))
            print(
                f"{name}, α = {float(alpha):<4g}{stability:<22}"
                f"MSE best of the private methods: {'yes' if mse[stability] < mse[best] else 'NO, ' + best:<16}"
                f"AUC above alphaSplit and dataSplit: {'yes' if above else 'NO'}"
            )


def plot(results: dict[str, Found], folder: Path, methods: Sequence[str], prefix: str) -> None:
    for column, measure in enumerate(MEASURES):
        figure = new_figure(10, 4)
        for axes, (name, found) in zip(
            figure.subplots(1, len(results), squeeze=False)[0], results.items(), strict=True
        ):
            for shift, method in enumerate(methods):
                cells = np.array([interval(found[method, alpha][:, column]) for alpha in ALPHAS])
                x = np.arange(len(ALPHAS)) + 0.05 * (shift - 3)
                spread = np.abs(cells[:, 1:] - cells[:, :1]).T
                axes.errorbar(x, cells[:, 0], spread, marker="o", markersize=3, label=method)
            axes.set(title=name, xlabel="α", ylabel=f"{measure} (mean, 95 % bootstrap interval)")
            axes.set_xticks(range(len(ALPHAS)), [f"{float(alpha):g}" for alpha in ALPHAS])
        figure.legend(
            *axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(methods), fontsize="small"
        )
        for suffix in ("svg", "png"):
            write_picture(figure, folder / f"{prefix}_{measure.lower()}.{suffix}", f"{measure} of each method, by α")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--quick", action="store_true", help="one round of ten folds instead of ten rounds")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--folds", type=int, default=FOLDS, help="folds of a round that are run")
    parser.add_argument("--scores", action="store_true", help="Stability with other scores instead of other methods")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    ball = UnitBall(1.0, intercept=True)
    results = {}
    for name, (features, labels) in {
        "Adult": adult(arguments.data, most_common=52),
        "Magic": magic(arguments.data),
    }.items():
        examples = Examples(ball.rows(features, np.where(labels == 1, 1.0, -1.0)))
        rounds = 1 if arguments.quick else arguments.rounds
        results[name] = run(name, examples, rounds, arguments.folds, scores=arguments.scores)
        table(name, results[name])
    if arguments.scores:
        plot(results, arguments.out, tuple(SCORES), "scores")
        return
    for name, found in results.items():
        claims(name, found)
    plot(results, arguments.out, METHODS, "stability")


if __name__ == "__main__":
    main()
