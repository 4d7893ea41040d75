"""Section 5 of Chaudhuri & Vinterbo 2013: five ways to choose the regulariser of a private logistic regression.

10 × 10-fold cross-validation on Adult (52 predictors) and Magic (10): one fold tests, the next validates, eight train.
Figures of AUC and MSE against α with bootstrap intervals of the mean (SVG and PNG), a table, and the paper's claims
checked. Stability comes with candidate-specific sensitivities, the same with caution 1, and the paper's uniform ones.
Usage: python experiments/stability.py [--data ../shared/data] [--out benchmarks/results] [--quick]
"""

import argparse
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from dpmine.exact.bits import SystemBits
from dpmine.io.atomic import new_figure, write_picture
from dpmine.models.linear.losses import Examples, LogisticLoss
from dpmine.models.linear.perturbations import ObjectivePerturbation
from dpmine.models.linear.preprocessing import UnitBall
from dpmine.models.linear.training import ramp_score
from dpmine.models.validation.procedure import train_validated
from dpmine.models.validation.terms import ValidationTerms
from experiments.linear_data import adult, magic
from experiments.validation_baselines import alpha_split, control, data_split, random_choice, random_parts

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


class Fold:
    """Training, validation and test part of one fold, and the training procedure for them."""

    def __init__(self, examples: Examples, fold_of: np.ndarray, fold: int) -> None:
        validation = (fold + 1) % FOLDS
        self.test = examples.take(np.flatnonzero(fold_of == fold))
        self.validation = examples.take(np.flatnonzero(fold_of == validation))
        self.train = examples.take(np.flatnonzero((fold_of != fold) & (fold_of != validation)))
        self.training = ObjectivePerturbation(LogisticLoss(), examples.dimension)
        self.bits = SystemBits()

    def stability(self, alpha: Fraction, sensitivities: str, caution: int) -> np.ndarray:
        terms = ValidationTerms.of(
            train_size=self.train.size,
            validation_size=self.validation.size,
            failure=0,
            training_epsilon=alpha / 2,
            selection_epsilon=alpha / 2,
            sensitivities=sensitivities,
            caution=caution,
        )
        bounds = [self.training.release(self.train.size, value, alpha / 2).stability for value in LAMBDAS]
        data = (self.training, LAMBDAS, self.train, self.validation)
        return train_validated(
            *data, score=ramp_score, stabilities=bounds, terms=terms, final=self.train, bits=self.bits
        ).model

    def parts(self) -> list[Examples]:
        return [self.train.take(rows) for rows in random_parts(self.train.size, len(LAMBDAS), bits=self.bits)]

    def weights(self, method: str, alpha: Fraction) -> np.ndarray:
        data = (self.training, LAMBDAS)
        both = (*data, self.train, self.validation)
        options = {"epsilon": alpha, "bits": self.bits}
        makers = {
            "alphaSplit": lambda: alpha_split(*both, errors=errors, **options).model,
            "dataSplit": lambda: data_split(*data, self.parts(), self.validation, errors=errors, **options).model,
            "Random": lambda: random_choice(*data, self.train, **options).model,
            "Control": lambda: control(*both, score=ramp_score, **options).model,
        }
        return self.stability(alpha, *STABILITY[method]) if method in STABILITY else makers[method]()


def errors(weights: np.ndarray, examples: Examples) -> int:
    return int((examples.signed @ weights <= 0).sum())


def measures(weights: np.ndarray, test: Examples) -> tuple[float, float]:
    """AUC and mean squared error; a row's last entry is its label times a positive constant."""
    labels = np.sign(test.signed[:, -1])
    decisions = labels * (test.signed @ weights)
    chances = 0.5 * (1 + np.tanh(decisions / 2))
    return float(roc_auc_score(labels, decisions)), float(np.mean(np.square(chances - (labels > 0))))


def run(name: str, examples: Examples, repeats: int, folds: int) -> dict[tuple[str, Fraction], np.ndarray]:
    """(AUC, MSE) of every fold, by method and α."""
    generator = np.random.default_rng(SEED)
    cells = [(method, alpha) for method in METHODS for alpha in ALPHAS]
    found: dict[tuple[str, Fraction], list[tuple[float, float]]] = {cell: [] for cell in cells}
    start = time.perf_counter()
    for repeat in range(repeats):
        fold_of = generator.permutation(np.arange(examples.size) % FOLDS)
        for number in range(folds):
            fold = Fold(examples, fold_of, number)
            for method, alpha in cells:
                found[method, alpha].append(measures(fold.weights(method, alpha), fold.test))
        print(f"{name}: round {repeat + 1} of {repeats}, {time.perf_counter() - start:.0f} s", flush=True)
    return {key: np.array(values) for key, values in found.items()}


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """The mean and its 95 % bootstrap interval."""
    generator = np.random.default_rng(SEED)
    means = values[generator.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def table(name: str, found: dict[tuple[str, Fraction], np.ndarray]) -> None:
    for column, measure in enumerate(("AUC", "MSE")):
        print(f"\n{name}, {measure}: mean [95 % bootstrap interval]")
        print(f"{'α':<6}" + "".join(f"{method:>28}" for method in METHODS))
        for alpha in ALPHAS:
            cells = (interval(found[method, alpha][:, column]) for method in METHODS)
            print(
                f"{float(alpha):<6g}"
                + "".join(f"{m:>9.4f} [{low:.4f}, {high:.4f}]".rjust(28) for m, low, high in cells)
            )


def claims(name: str, found: dict[tuple[str, Fraction], np.ndarray]) -> None:
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


def plot(results: dict[str, dict[tuple[str, Fraction], np.ndarray]], folder: Path) -> None:
    for column, measure in enumerate(("AUC", "MSE")):
        figure = new_figure(10, 4)
        for axes, (name, found) in zip(
            figure.subplots(1, len(results), squeeze=False)[0], results.items(), strict=True
        ):
            for shift, method in enumerate(METHODS):
                cells = np.array([interval(found[method, alpha][:, column]) for alpha in ALPHAS])
                x = np.arange(len(ALPHAS)) + 0.05 * (shift - 3)
                spread = np.abs(cells[:, 1:] - cells[:, :1]).T
                axes.errorbar(x, cells[:, 0], spread, marker="o", markersize=3, label=method)
            axes.set(title=name, xlabel="α", ylabel=f"{measure} (mean, 95 % bootstrap interval)")
            axes.set_xticks(range(len(ALPHAS)), [f"{float(alpha):g}" for alpha in ALPHAS])
        figure.legend(
            *axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS), fontsize="small"
        )
        for suffix in ("svg", "png"):
            write_picture(figure, folder / f"stability_{measure.lower()}.{suffix}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--quick", action="store_true", help="one round of ten folds instead of ten rounds")
    parser.add_argument("--folds", type=int, default=FOLDS, help="folds of a round that are run")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    ball = UnitBall(1.0, intercept=True)
    results = {}
    for name, (features, labels) in {
        "Adult": adult(arguments.data, most_common=52),
        "Magic": magic(arguments.data),
    }.items():
        examples = Examples(ball.rows(features, np.where(labels == 1, 1.0, -1.0)))
        results[name] = run(name, examples, 1 if arguments.quick else 10, arguments.folds)
        table(name, results[name])
    for name, found in results.items():
        claims(name, found)
    plot(results, arguments.out)


if __name__ == "__main__":
    main()
