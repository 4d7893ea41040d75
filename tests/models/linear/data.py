"""Small training sets and their neighbours."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpmine.models.linear.losses import CappedLogisticLoss, Examples, HuberLoss, LogisticLoss
from dpmine.models.linear.noise import GaussianNoise
from dpmine.models.linear.perturbations import ObjectivePerturbation, OutputPerturbation

GAUSSIAN = GaussianNoise(Fraction(1, 10**6))
KINDS: list[Any] = [
    ObjectivePerturbation,
    OutputPerturbation,
    partial(ObjectivePerturbation, noise=GAUSSIAN),
    partial(OutputPerturbation, noise=GAUSSIAN),
]
LOSSES = [LogisticLoss(), CappedLogisticLoss(), HuberLoss(Fraction(1, 2)), HuberLoss(Fraction(1, 20))]


def loss_value(loss: Any, margins: Any) -> Any:
    """ℓ(z); the Huber loss's three pieces as one: with t = min(2h, max(0, 1 + h − z)), t²/(4h) plus what is beyond."""
    if isinstance(loss, LogisticLoss):
        return loss.value(margins)
    if isinstance(loss, CappedLogisticLoss):
        return 2.0 * np.logaddexp(0.0, -np.maximum(margins, 0.0)) - np.minimum(margins, 0.0)
    h = float(loss.width)
    distance = np.maximum(0.0, 1.0 + h - margins)
    bent = np.minimum(distance, 2.0 * h)
    return bent * bent / (4.0 * h) + (distance - bent)


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
