"""One mechanism of the gallery, its claim, and the noise that all are made of."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.auditing import Claim

CHANCE = random.Random()
"""The randomness of every mechanism here: of no use for releases."""


@dataclass(frozen=True)
class Exhibit:
    """A mechanism with a claim.

    Attributes:
        name: what it is.
        run: a function from a data set to an outcome.
        claim: what is claimed of it.
        family: the neighbours that the claim is about.
        mistake: what is wrong, and where it was published; "" for sound ones.
    """

    name: str
    run: Callable[[Any], Any]
    claim: Claim
    family: Any
    mistake: str = ""


def laplace(scale: float) -> float:
    """Laplace noise, as a difference of exponentials."""
    return CHANCE.expovariate(1 / scale) - CHANCE.expovariate(1 / scale)


def geometric(epsilon: float) -> int:
    """Two-sided geometric noise: probabilities in proportion to e^(−ε|x|)."""
    return int(CHANCE.expovariate(epsilon)) - int(CHANCE.expovariate(epsilon))


def normal(sigma: float) -> int:
    """Normal noise, rounded to a whole number."""
    return round(CHANCE.gauss(0, sigma))


def weighted(scores: list[int], rate: float) -> int:
    """A place, with probability in proportion to e^(rate · score)."""
    top = max(scores)
    return CHANCE.choices(range(len(scores)), [math.exp(rate * (score - top)) for score in scores])[0]


def largest(values: list[float]) -> int:
    """The place of the largest."""
    return max(range(len(values)), key=values.__getitem__)


def permute_and_flip(scores: list[int], rate: float) -> int:
    """The place of the largest score with exponential noise. Source: McKenna & Sheldon 2020; Ding et al. 2021."""
    return largest([score + CHANCE.expovariate(rate) for score in scores])
