"""Small training sets and their neighbours."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dpmine.models.linear.losses import Examples, HuberLoss, LogisticLoss
from dpmine.models.linear.perturbations import ObjectivePerturbation, OutputPerturbation

LOSSES = [LogisticLoss(), HuberLoss(Fraction(1, 2)), HuberLoss(Fraction(1, 20))]
KINDS: list[Any] = [ObjectivePerturbation, OutputPerturbation]


def random_examples(size: int, dimension: int, seed: int) -> Examples:
    """Rows of all norms up to 1, signs included."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(size, dimension))
    lengths = generator.uniform(0.2, 1.0 - 1e-12, size=(size, 1))
    return Examples(rows / np.linalg.norm(rows, axis=1, keepdims=True) * lengths)


def neighbour(examples: Examples, row: Any, position: int = 0) -> Examples:
    """The same examples with one of them replaced."""
    signed = examples.signed.copy()
    signed[position] = row
    return Examples(signed)
