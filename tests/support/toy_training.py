"""A training procedure whose stability is known and met exactly: for tests of validation."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource


@dataclass
class SignedMean:
    """F = θ · mean(T) + R/(nα), R a whole number of `noise_bits` bits; records are in [0, 1].

    Its score θ · mean(V) + F is stable with β1 = β2 = |θ|, and both are attained.
    """

    noise_bits: int = 0
    trained: list[tuple[int, Fraction]] = field(default_factory=list)

    def draw(self, parameter: int, alpha: Fraction, *, bits: BitSource) -> int:
        self.trained.append((parameter, alpha))
        return bits.take(self.noise_bits)

    def fit(self, data: Sequence[Fraction], parameter: int, alpha: Fraction, draw: int) -> tuple[int, Fraction]:
        return parameter, parameter * mean(data) + draw / (alpha * len(data))


def signed_score(model: tuple[int, Fraction], validation: Sequence[Fraction]) -> Fraction:
    parameter, value = model
    return value + parameter * mean(validation)


def mean(records: Sequence[Fraction]) -> Fraction:
    return Fraction(sum(records, Fraction(0)), len(records))
