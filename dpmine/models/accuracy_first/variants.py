"""The paper's choices, and the ones that are proved to be better."""

from __future__ import annotations

from enum import StrEnum


class Variant(StrEnum):
    """Of the test, and of the radius of the ball."""

    SHARP = "sharp"
    """This project's: the same promise for less."""
    PAPER = "paper"
    """As in Ligett et al. 2017."""


class Method(StrEnum):
    """What the noise is on."""

    COVARIANCE = "covariance"
    """Laplace noise on XᵀX and Xᵀy; ridge regression only."""
    OUTPUT = "output"
    """Laplace noise on the minimiser."""
    BROWNIAN = "brownian"
    """Brownian noise on the minimiser: (ε, δ), and less noise for many features."""
