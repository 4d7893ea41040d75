"""How far one record can move a candidate's score, and what that makes of the scores.

Proof: docs/proofs/selection/generalised_exponential.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, log
from typing import TYPE_CHECKING

from dpmine.parameters import named

if TYPE_CHECKING:
    from collections.abc import Sequence

UTILITY_FAILURE = Fraction(1, 20)
"""η of the generalised exponential mechanism: its accuracy bound fails with at most this probability."""
_STEPS = 1024  # t is rounded up to a step: any public t ≥ 0 is private


class Sensitivities(StrEnum):
    """Whether a candidate answers for its own sensitivity only."""

    CANDIDATE = "candidate"
    """Every candidate its own, by the scores of the generalised exponential mechanism."""
    UNIFORM = "uniform"
    """All the largest: β of the paper."""

    @classmethod
    def parse(cls, value: str | Sensitivities) -> Sensitivities:
        """The value of that name; BadParameter otherwise."""
        return named(cls, "sensitivities", value)


@dataclass(frozen=True, slots=True)
class Stability:
    """What one record moves a candidate's score by, on the event that all candidates share (probability ≥ 1 − δ_s).

    Source: Chaudhuri & Vinterbo 2013, Definition 2, one pair of numbers a candidate.

    Attributes:
        training: β1 > 0; another training record, with the same random draw, moves the score by at most β1/n.
        validation: β2 > 0; another validation record moves it by at most β2/m.
    """

    training: Fraction
    validation: Fraction

    def sensitivity(self, train_size: int, validation_size: int) -> Fraction:
        """max(β1/n, β2/m): what one record moves the score by, wherever it is."""
        return max(Fraction(self.training) / train_size, Fraction(self.validation) / validation_size)


@dataclass(frozen=True, slots=True)
class Comparable:
    """Scores that one sensitivity bounds.

    Attributes:
        scores: exact, one a candidate.
        sensitivity: what one record moves any of them by at most.
        kind: whose sensitivities were taken.
    """

    scores: tuple[Fraction, ...]
    sensitivity: Fraction
    kind: Sensitivities


def comparable(
    scores: Sequence[Fraction],
    sensitivities: Sequence[Fraction],
    *,
    epsilon: Fraction,
    kind: Sensitivities,
    caution: Fraction = Fraction(1),
) -> Comparable:
    """The scores for a chooser of budget ε, by the kind of sensitivities that is wanted.

    Under CANDIDATE the scores are those of `generalised_scores` at t = `caution` × `utility_shift`, unless no
    sensitivity is more than twice another: then the uniform ones are taken. The rule is one of public numbers, so it is
    private for any `caution`; up to 1 the uniform scores also have the better bound for every candidate.
    """
    largest = max(sensitivities)
    if kind is Sensitivities.UNIFORM or largest <= 2 * min(sensitivities):
        return Comparable(tuple(scores), largest, Sensitivities.UNIFORM)
    shift = caution * utility_shift(len(scores), epsilon)
    return Comparable(generalised_scores(scores, sensitivities, shift), Fraction(1), Sensitivities.CANDIDATE)


def generalised_scores(
    scores: Sequence[Fraction], sensitivities: Sequence[Fraction], shift: Fraction
) -> tuple[Fraction, ...]:
    """s_i = −max_j [(q_j − tΔ_j) − (q_i − tΔ_i)]/(Δ_i + Δ_j), which one record moves by at most 1.

    Requires: Δ_i > 0 and t = `shift` ≥ 0 public; one record moves q_i by at most Δ_i.
    Law: max_i s_i = 0. Chosen by the exponential mechanism or max_of_exponentials at ε, with T = 2 ln(k/η)/ε,
    q_chosen ≥ max_j (q_j − (T + t)Δ_j) − (T − t)Δ_chosen with probability ≥ 1 − η; the last term is gone at t = T.
    Source: Raskhodnikova & Smith 2016.
    """
    lowered = [score - shift * step for score, step in zip(scores, sensitivities, strict=True)]
    pairs = list(zip(lowered, sensitivities, strict=True))
    return tuple(-max((other - own) / (step + other_step) for other, other_step in pairs) for own, step in pairs)


def utility_shift(candidates: int, epsilon: Fraction) -> Fraction:
    """The t = 2 ln(k/η)/ε, rounded up: public, and its value changes accuracy only."""
    return Fraction(ceil(2 * log(candidates / UTILITY_FAILURE) * _STEPS), _STEPS) / epsilon
