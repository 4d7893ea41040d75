"""Data of known distribution for hypotheses.py, and Adult for stumps and conjunctions."""

from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
import pandas as pd

from dpmine.models.pac.hypothesis import Records

BOUNDARY = 0.375
NOISE = 0.1  # share of labels that are flipped

ADULT_GRIDS = {
    "age": (0, 100, 101), "education_num": (1, 16, 16), "capital_gain": (0, 100_000, 1001),
    "capital_loss": (0, 5_000, 1001), "hours_per_week": (0, 100, 101),
}  # fmt: skip
"""Lower and upper bound and number of points, by the census codes: public."""


@dataclass(frozen=True)
class Mixture:
    """Points in [0, 1], uniform within each part (weight, low, high); positive from BOUNDARY on, flipped by NOISE."""

    name: str
    parts: tuple[tuple[float, float, float], ...]

    @property
    def smoothness(self) -> float:
        """κ against the uniform distribution: the largest density."""
        middles = np.array([(low + high) / 2 for _, low, high in self.parts])
        return max(sum(w / (high - low) for w, low, high in self.parts if low <= x <= high) for x in middles)

    def records(self, count: int, generator: np.random.Generator) -> Records:
        part = generator.choice(len(self.parts), count, p=[weight for weight, _, _ in self.parts])
        low, high = (np.array([each[place] for each in self.parts])[part] for place in (1, 2))
        points = low + (high - low) * generator.random(count)
        return Records(points[:, None], (points >= BOUNDARY) ^ (generator.random(count) < NOISE))

    def share_below(self, threshold: float) -> float:
        """The distribution function."""
        return sum(w * float(np.clip((threshold - low) / (high - low), 0, 1)) for w, low, high in self.parts)

    def excess(self, threshold: float) -> float:
        """True error of x >= threshold beyond that of the best of all thresholds, in closed form."""
        return (1 - 2 * NOISE) * abs(self.share_below(threshold) - self.share_below(BOUNDARY))


def bump(width: float) -> Mixture:
    """Half of the points lie within a window of that width around the boundary."""
    window = (0.5, BOUNDARY - width / 2, BOUNDARY + width / 2)
    return Mixture("narrow bump", ((0.5, 0.0, 1.0), window))


DISTRIBUTIONS = (
    Mixture("uniform", ((1.0, 0.0, 1.0),)),
    bump(0.001),
    Mixture("heavy ends", ((0.1, 0.0, 1.0), (0.45, 0.0, 0.01), (0.45, 0.99, 1.0))),
)


def worst_for(bits: int) -> Records:
    """2,000 positives, one each at 2^-1, …, 2^-bits and the rest at 1: a threshold loses one when it doubles."""
    points = np.concatenate([2.0 ** -np.arange(1, bits + 1), np.ones(2000 - bits)])
    return Records(points[:, None], np.ones(len(points), bool))


def three_best(bits: int, gap: int) -> list[tuple[int, int]]:
    """Levels of 2^bits hypotheses on 10,000 records: 3 with 500 errors, the others with `gap` more, or more still.

    About e^{t/2} have t errors more, while so many are left, so that each t is as likely to the exponential mechanism
    as any other; the last level takes the rest.
    """
    levels, left, t = [(9500, 3)], 2**bits - 3, gap
    while left > (most := 1 << round(t / 2 / log(2))):
        levels.append((9500 - t, most))
        left, t = left - most, t + 20
    return [*levels, (9500 - t, left)]


def two_of_many(count: int, columns: int, generator: np.random.Generator) -> Records:
    """Fair coins; positive where the first two are 1, with 5 % of the labels flipped."""
    coins = generator.integers(0, 2, (count, columns)).astype(np.float64)
    return Records(coins, (coins[:, :2].all(axis=1)) ^ (generator.random(count) < 0.05))


def adult(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers, indicators of the categories, labels, and which rows are the published training part."""
    table = pd.read_parquet(folder / "adult.parquet")
    numbers = table[list(ADULT_GRIDS)].astype(np.float64)
    texts = table[[name for name in table.columns if name not in {*ADULT_GRIDS, "fnlwgt", "split", "income"}]]
    labels, train = table["income"].to_numpy(), (table["split"] == "train").to_numpy()
    return numbers, pd.get_dummies(texts, dtype=np.float64), labels, train
