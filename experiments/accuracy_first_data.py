"""Data for accuracy_first.py: a synthetic week of counts, and KDD-99; every bound is a public constant.

Rows and targets come scaled: ‖x‖₁ ≤ 1 and |y| ≤ 1, longer rows shortened and larger targets clipped.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dpmine.models.accuracy_first.settings import UnitBox
from dpmine.parameters import positive

RECORDS = 100_000
SEED = 2017  # of the data only; noise comes from the system

DAYS = 7
ATTRIBUTES = 11
WEEK_X_BOUND = 545
"""The median of ‖x‖₁ over 400,000 other draws of the recipe: the half of the rows that is longer is shortened."""
WEEK_Y_BOUND = 5.15
"""The 0.9-quantile of y over the same draws."""
KDD_X_BOUND = 1600
"""Two counts of connections in a window of two seconds that end at 511, two that end at 255, and small numbers."""
KDD_Y_BOUND = 8
"""log1p of 2,980 bytes."""
KDD_LOGS = ("duration", "src_bytes", "dst_bytes")
KDD_TARGET = "src_bytes"


@dataclass(frozen=True)
class Problem:
    """Scaled rows, shape (n, p), and targets in [−1, 1], or signs."""

    name: str
    rows: np.ndarray
    targets: np.ndarray
    classes: bool

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def dimension(self) -> int:
        return int(self.rows.shape[1])


def scaled(name: str, features: np.ndarray, targets: np.ndarray, x_bound: float, y_bound: float) -> Problem:
    units = UnitBox(positive("x_bound", x_bound), positive("y_bound", y_bound), intercept=False)
    return Problem(name, units.rows(features), units.targets(targets), classes=False)


def week_of_counts(count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A stand-in for the Twitter data of Ligett et al. 2017: 11 counts of a topic on 7 days, and the next day's log.

    A count is Poisson with log rate m_j + 1.2·u + a_j + d_t:
    m_j from −1 to 2.5 in equal steps: attributes differ 33-fold, and the rare ones are mostly 0;
    u ~ N(0, 1) + Exp(mean 0.4), popularity of the topic: one factor behind all columns, its tail that of a power law
    (index 1/(1.2·0.4) ≈ 2.1: the variance of a count is barely finite);
    a_j ~ N(0, 0.6²), what attribute j of the topic has of its own, all week;
    d_t, a random walk from 0 with steps N(0, 0.3²), shared by the attributes: days that are near are alike.
    The target is ln(1 + rate) of the last attribute a day later, one more step on, with an error N(0, 0.3²) of its log.
    Log rates end at 12. Columns: the days of the first attribute, then of the second, and so on.
    """
    popularity = generator.normal(size=(count, 1, 1)) + generator.exponential(0.4, (count, 1, 1))
    own = 0.6 * generator.normal(size=(count, ATTRIBUTES, 1))
    days = np.cumsum(0.3 * generator.normal(size=(count, 1, DAYS + 1)), axis=2)
    common = np.linspace(-1, 2.5, ATTRIBUTES)[:, np.newaxis] + 1.2 * popularity + own
    counts = generator.poisson(np.exp(np.minimum(common + days[:, :, :DAYS], 12)))
    later = common[:, -1, 0] + days[:, 0, DAYS] + 0.3 * generator.normal(size=count)
    return counts.reshape(count, ATTRIBUTES * DAYS).astype(np.float64), np.log1p(np.exp(np.minimum(later, 12)))


def week(size: int = RECORDS) -> Problem:
    features, targets = week_of_counts(size, np.random.default_rng(SEED))
    return scaled("week of counts", features, targets, WEEK_X_BOUND, WEEK_Y_BOUND)


def kdd(folder: Path, size: int = RECORDS) -> tuple[pd.DataFrame, np.ndarray]:
    """The 38 numeric columns, the first three as log1p, and whether a connection is an attack; a random sample."""
    table = pd.read_parquet(folder / "kddcup99_10pct.parquet")
    chosen = np.sort(np.random.default_rng(SEED).choice(len(table), size, replace=False))
    sample = table.iloc[chosen]
    numbers = sample.select_dtypes("number").astype(np.float64)
    return numbers.assign(**{name: np.log1p(numbers[name]) for name in KDD_LOGS}), (
        sample["label"] != "normal"
    ).to_numpy()


def kdd_attacks(folder: Path) -> Problem:
    """Is a connection an attack (1) or normal (−1)?"""
    numbers, attack = kdd(folder)
    rows = UnitBox(positive("x_bound", KDD_X_BOUND), None, intercept=False).rows(numbers.to_numpy())
    return Problem("KDD-99 attacks", rows, np.where(attack, 1.0, -1.0), classes=True)


def kdd_bytes(folder: Path) -> Problem:
    """log1p of the bytes that a connection sent, from the other 37 columns."""
    numbers, _ = kdd(folder)
    others = numbers.drop(columns=KDD_TARGET).to_numpy()
    return scaled("KDD-99 bytes", others, numbers[KDD_TARGET].to_numpy(), KDD_X_BOUND, KDD_Y_BOUND)
