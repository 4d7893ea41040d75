"""Adult and Magic as matrices of numbers whose rows have norm at most 1, by public rules only."""

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


def adult(folder: Path, *, most_common: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Categories as 0/1 columns, numbers divided by their ranges, rows divided by √12, which no norm exceeds.

    `most_common` keeps only the indicator columns that are 1 most often, and all numbers.
    """
    table = pd.read_parquet(folder / "adult.parquet")
    numbers = np.column_stack([table[name] / largest for name, largest in ADULT_RANGES.items()])
    texts = table[[name for name in table.columns if name not in {*ADULT_RANGES, "fnlwgt", "split", "income"}]]
    indicators = pd.get_dummies(texts, dtype=np.float64)
    if most_common is not None:
        indicators = indicators[indicators.mean().nlargest(most_common - len(ADULT_RANGES)).index]
    features = np.hstack([numbers, indicators.to_numpy()]) / np.sqrt(12)
    return features, (table["income"] == ">50K").to_numpy().astype(int)


def magic(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Numbers divided by their ranges; the few rows beyond norm 1 are clipped by those who train."""
    table = pd.read_parquet(folder / "magic.parquet")
    features = np.column_stack([table[name] / largest for name, largest in MAGIC_RANGES.items()])
    return features, (table["class"] == "g").to_numpy().astype(int)
