"""Softmax regression beside one classifier against the rest for each class, at the same (ε, δ).

    python benchmarks/utility/several_classes.py

Prints the table of docs/explanation/measured/several_classes.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_digits, make_classification

from dpmine.exact.bits import SystemBits
from dpmine.gaussian import ratio_at
from dpmine.models.linear.losses import Examples, LogisticLoss
from dpmine.models.linear.multinomial import ClassExamples, MultinomialGaussianNoise, MultinomialLoss
from dpmine.models.linear.noise import GammaNoise, GaussianNoise, Tilt
from dpmine.models.linear.perturbations import ObjectivePerturbation, OutputPerturbation

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.models.linear.noise import VectorNoise
    from dpmine.models.linear.perturbations import Perturbation

DELTA = Fraction(1, 10**6)
SPLITS = 6


@dataclass(frozen=True)
class Data:
    """Rows inside the unit ball, a constant column last, and codes of K classes."""

    rows: Any
    codes: Any
    classes: int

    @classmethod
    def of(cls, features: Any, codes: Any) -> Data:
        """Of features in [−1, 1]."""
        shortened = features / np.maximum(1, np.linalg.norm(features, axis=1))[:, np.newaxis]
        rows = np.column_stack([shortened, np.ones(len(shortened))]) * np.sqrt(0.5) * (1 - 2.0**-30)
        return cls(rows, codes, int(codes.max()) + 1)

    def split(self, seed: int) -> tuple[Any, Any]:
        """Positions of four fifths that train, and of a fifth that tests."""
        order = np.random.default_rng(seed).permutation(len(self.codes))
        return order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]


def clusters(rows: int, features: int, classes: int, seed: int) -> Data:
    """One cluster a class, half of the features without information."""
    found, codes = make_classification(
        rows,
        features,
        n_informative=max(4, features // 2),
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=seed,
    )
    return Data.of(np.clip(found / 4, -1, 1), codes)


def digits() -> Data:
    """scikit-learn's."""
    features, codes = load_digits(return_X_y=True)
    return Data.of(features / 8 - 1, codes)


@dataclass(frozen=True, slots=True)
class NoSlack(GaussianNoise):
    """Not private: Gaussian noise for K problems at once, the change of the determinants left out."""

    total: Fraction = Fraction(1)
    classes: int = 2

    def tilt(self, epsilon: Fraction, determinant: Fraction, leverage: Fraction | None = None) -> Tilt:  # noqa: ARG002
        """A of the distance 2√K."""
        return Tilt(epsilon, ratio_at(self.total, self.delta) / Fraction(self.classes**0.5))


def trained(training: Perturbation, examples: Examples, alpha: Fraction) -> Any:
    """Weights, with λ by the rule of "auto"."""
    parameter = training.usual * Fraction(training.length(alpha)) / examples.size
    return training.fit(examples, parameter, alpha, training.draw(parameter, alpha, bits=SystemBits()))


def softmax(data: Data, epsilon: Fraction, seed: int, *, gamma: bool = False, output: bool = False) -> float:
    """Accuracy of all classes together."""
    train, test = data.split(seed)
    examples = ClassExamples(data.rows[train], data.codes[train], data.classes)
    noise: VectorNoise = GammaNoise() if gamma else MultinomialGaussianNoise(DELTA, data.classes)
    loss, size = MultinomialLoss(data.classes), examples.dimension
    training = OutputPerturbation(loss, size, noise) if output else ObjectivePerturbation(loss, size, noise, True)
    weights = trained(training, examples, epsilon)
    scores = ClassExamples(data.rows[test], data.codes[test], data.classes).scores(weights)
    return float((scores.argmax(axis=1) == data.codes[test]).mean())


def against_the_rest(data: Data, epsilon: Fraction, seed: int, *, how: str) -> float:
    """Accuracy of one classifier a class."""
    train, test = data.split(seed)
    alpha = epsilon if how == "no slack" else epsilon / data.classes
    noises: dict[str, VectorNoise] = {
        "gamma": GammaNoise(),
        "gaussian": GaussianNoise(DELTA / data.classes),
        "no slack": NoSlack(DELTA, epsilon, data.classes),
    }
    scores = []
    for code in range(data.classes):
        signs = np.where(data.codes[train] == code, 1.0, -1.0)
        examples = Examples(data.rows[train] * signs[:, np.newaxis])
        training = ObjectivePerturbation(LogisticLoss(), examples.dimension, noises[how], relieved=True)
        scores.append(data.rows[test] @ trained(training, examples, alpha))
    return float((np.argmax(scores, axis=0) == data.codes[test]).mean())


WAYS: dict[str, Callable[[Data, Fraction, int], float]] = {
    "softmax": softmax,
    "softmax, gamma": partial(softmax, gamma=True),
    "softmax, output": partial(softmax, output=True),
    **{f"each, {how}": partial(against_the_rest, how=how) for how in ("gamma", "gaussian", "no slack")},
}


def main() -> None:
    """One line a data set and ε."""
    sets = {"digits": digits(), "five": clusters(6000, 20, 5, 1), "three": clusters(3000, 10, 3, 3)}
    for name, data in sets.items():
        for epsilon in map(Fraction, (1, 3, 10)):
            cells = []
            for way, accuracy in WAYS.items():
                found = [accuracy(data, epsilon, seed) for seed in range(SPLITS)]
                cells.append(f"{way} {np.mean(found):.3f} ± {np.std(found, ddof=1) / SPLITS**0.5:.3f}")
            print(name, epsilon, *cells, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
