"""Adult and Magic as matrices of numbers whose rows have norm at most 1."""

from pathlib import Path

import numpy as np
import pandas as pd

ADULT_RANGES = {"age": 90, "education_num": 16, "capital_gain": 99_999, "capital_loss": 4_356, "hours_per_week": 99}
"""Largest values by the census codes: public."""
MAGIC_RANGES = {
    "fLength": 350, "fWidth": 260, "fSize": 5.5, "fConc": 1, "fConc1": 1,
    "fAsym": 600, "fM3Long": 350, "fM3Trans": 220, "fAlpha": 90, "fDist": 500,
}  # fmt: skip
"""Orders of magnitude of the instrument's quantities; rows beyond the unit ball are clipped."""


def adult_columns(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Adult's 5 numbers as they are, its categories that occur as 0/1 columns, and whether the income is above 50K."""
    table = pd.read_parquet(folder / "adult.parquet")
    texts = table[[name for name in table.columns if name not in {*ADULT_RANGES, "fnlwgt", "split", "income"}]]
    labels = (table["income"] == ">50K").to_numpy().astype(int)
    return table[list(ADULT_RANGES)], pd.get_dummies(texts, dtype=np.float64), labels


def adult(folder: Path, *, most_common: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Categories as 0/1 columns, numbers divided by their ranges, rows divided by √12, which no norm exceeds.

    `most_common` keeps only the indicator columns that are 1 most often in the data, and all numbers: a selection that
    a private run would be charged for.
    """
    columns, indicators, labels = adult_columns(folder)
    numbers = np.column_stack([columns[name] / largest for name, largest in ADULT_RANGES.items()])
    if most_common is not None:
        indicators = indicators[indicators.mean().nlargest(most_common - len(ADULT_RANGES)).index]
    return np.hstack([numbers, indicators.to_numpy()]) / np.sqrt(12), labels


def magic(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Numbers divided by their ranges; the few rows beyond norm 1 are clipped by those who train."""
    table = pd.read_parquet(folder / "magic.parquet")
    features = np.column_stack([table[name] / largest for name, largest in MAGIC_RANGES.items()])
    return features, (table["class"] == "g").to_numpy().astype(int)
