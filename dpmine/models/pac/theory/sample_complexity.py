"""How many records private learning takes, and how many are certainly too few. No constant is hidden.

Here m is the number of records, ε the privacy parameter (replace_one unless said otherwise) and δ the probability of
failure. The accuracy a is the error allowed beyond the best one of the class. What is enough is rounded up, what is
too few is rounded down, through balls that contain the real numbers.
Proof: docs/proofs/models/sample_complexity.md. Source: Chaudhuri & Hsu 2011, whose own statements have unnamed
constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import TYPE_CHECKING

from dpmine.errors import BadData, BadParameter
from dpmine.exact.reals import GUARD_BITS, Ball, above, below, exact_ball, logarithm, working_precision
from dpmine.parameters import Number, below_one, exact_number, positive, probability, whole
from dpmine.selection.recommend import least

if TYPE_CHECKING:
    from collections.abc import Callable


PRECISION = 1024 + GUARD_BITS  # 10^200 records, the most that parameters allow, are 665 bits
_STEPS = 20  # halvings of an interval [κ, 2κ]


class Setting(StrEnum):
    """What is known about the best hypothesis of the class."""

    AGNOSTIC = "agnostic"
    """Nothing: theorem 8, figure 1."""
    REALIZABLE = "realizable"
    """It makes no errors: theorem 9, figure 2."""

    @property
    def fineness(self) -> int:
        """The cover has radius a/(fineness κ) under the reference distribution, so a/fineness under the data's."""
        return 16 if self is Setting.REALIZABLE else 4


@dataclass(frozen=True, slots=True)
class Target:
    """What learning shall reach: excess error at most a with probability at least 1 − δ, ε-privately.

    Attributes:
        epsilon: ε > 0.
        accuracy: a in (0, 1), a share of the records to come.
        failure: δ in (0, 1), over the sample and the learner's randomness.
    """

    epsilon: Fraction
    accuracy: Fraction
    failure: Fraction

    @classmethod
    def of(cls, *, epsilon: Number, accuracy: Number, failure: Number) -> Target:
        """The target of these numbers, read exactly; BadParameter for those out of range."""
        return cls(positive("epsilon", epsilon), probability("accuracy", accuracy), probability("failure", failure))

    def records_per_nat(self, setting: Setting) -> Fraction:
        """A: 8 max(1/a², 1/(aε)), realizable max(6.52/a, 8/(aε)). A cover G takes A ln(4|G|/δ) records."""
        deviation = Fraction(163, 25) / self.accuracy if setting is Setting.REALIZABLE else 8 / self.accuracy**2
        return max(deviation, 8 / (self.accuracy * self.epsilon))

    def radius(self, smoothness: Number, setting: Setting = Setting.AGNOSTIC) -> Fraction:
        """The radius, under the reference distribution, of the cover that fits smoothness κ ≥ 1: a/(4κ), or a/(16κ)."""
        return self.accuracy / (setting.fineness * checked_smoothness(smoothness))


def records_for_cover(target: Target, size: int, setting: Setting = Setting.AGNOSTIC) -> int:
    """Records that are enough for the exponential mechanism over a cover G of known size |G|: ⌈A ln(4|G|/δ)⌉.

    Requires: G is a `target.radius(κ)`-cover of the class under a reference distribution that was chosen without the
    data. The data's distribution is κ-smooth to it; records are independent; replace_one; P(g) ∝ e^{−ε errors/2}.
    Source: theorem 8; with "realizable", theorem 9, which also requires a hypothesis without error.
    Raises BadParameter for a size below 1.
    """
    rate, odds = target.records_per_nat(setting), 4 * whole("size", size) / target.failure
    return whole_above(lambda: exact_ball(rate) * logarithm(odds))


def largest_smoothness(
    target: Target,
    records: int,
    size_of_cover: Callable[[Fraction], int],
    setting: Setting,
    limit: Number,
) -> Fraction:
    """κ̂: the largest smoothness that m = `records` allow, from below, to one part in a million; at most `limit`.

    `size_of_cover(radius)` is |G| for that radius under the reference distribution. It must not rise with the radius.
    Where it does, m records are still enough for the κ̂ returned, but a larger one may be allowed. It is asked at up to
    twice the κ̂ returned, or at `limit`. So give a limit where fine covers take long.
    Source: the first step of figures 1 and 2. Raises BadData, with the number of records needed, where not even κ̂ = 1
    is allowed.
    """
    count, most = whole("records", records, least=0), checked_smoothness(limit, "limit")

    def needed(smoothness: Fraction) -> int:
        return records_for_cover(target, size_of_cover(target.radius(smoothness, setting)), setting)

    low = Fraction(1)
    fewest = needed(low)
    if fewest > count:
        raise BadData(
            f"At least {fewest} records are needed for this accuracy, failure and epsilon, even if their distribution "
            "is the reference itself."
        )
    high = min(2 * low, most)
    while low < high and needed(high) <= count:
        low, high = high, min(2 * high, most)
    for _ in range(_STEPS if low < high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) <= count else (low, middle)
    return low


def records_for_labels(target: Target, vc: int, best_error: Number, size: int) -> int:
    """Records that are enough where only labels are private: the least m that meets both conditions.

    (4V ln(2em/V) + 4 ln(16/δ))/m ≤ a²/(16(b + a)) with m ≥ V/2, and m ≥ (16/(aε)) ln(2|G|/δ).
    Requires: V = `vc` ≥ 1 bounds the VC dimension, b = `best_error` in [0, 1) the error of the best hypothesis; G is an
    a/4-cover of the class by its disagreements on the unlabelled sample, of at most `size` members;
    P(g) ∝ e^{−ε errors/2}; neighbours differ in one label.
    Source: theorem 27, figure 3. Raises BadParameter.
    """
    shatters, error = whole("vc", vc), below_one("best_error", best_error)
    room, tails = target.accuracy**2 / (16 * (error + target.accuracy)), 16 / target.failure
    converging = least(lambda m: converged(m, shatters, 1, tails, room), start=ceil(Fraction(shatters, 2)))
    rate, odds = 16 / (target.accuracy * target.epsilon), 2 * whole("size", size) / target.failure
    choosing = whole_above(lambda: exact_ball(rate) * logarithm(odds))
    return max(converging, choosing)


def errors_lost_by_exponential(size: int, *, epsilon: Number, failure: Number) -> int:
    """Errors on the sample beyond the best hypothesis's, at most, with probability 1 − η: (2/ε) ln(|H|/η), a count.

    Requires: a finite class of `size` hypotheses, scored by records classified correctly; replace_one. Also holds for
    max_of_exponentials (permute-and-flip), which loses no more on average and has the same tail bound.
    Source: McSherry & Talwar 2007, theorem 6. Raises BadParameter.
    """
    rate, odds = 2 / positive("epsilon", epsilon), whole("size", size) / probability("failure", failure)
    return floor(above(lambda: exact_ball(rate) * logarithm(odds), PRECISION))


def needle_failure(records: int, epsilon: Number) -> float:
    """1 − 1/(5 + 3e^{−εm}) > 4/5, from below: how often every ε-private learner of thresholds has error above 1/4.

    On some distribution D_z that depends on m, ε and the learner but has a threshold without error: see
    `experiments.needles`. Holds for every sample of size m. Source: theorem 5, for each fixed m. Raises BadParameter.
    """
    loss = positive("epsilon", epsilon) * whole("records", records)
    return -float_above(lambda: 1 / (5 + 3 * (-exact_ball(loss)).exp()) - 1)


def records_too_few_for_packing(packing: int, epsilon: Number) -> int:
    """With at most this number of records, some target is missed with probability ≥ 1/2: ⌊ln(P − 1)/ε⌋.

    A target is missed by an error above a. Requires: P = `packing` ≥ 1 hypotheses, any two of which disagree by more
    than 2a; the learner may be label-private only. Source: the proof of theorem 12. Raises BadParameter.
    """
    others, rate = whole("packing", packing) - 1, positive("epsilon", epsilon)
    return floor(below(lambda: logarithm(others) / exact_ball(rate), PRECISION)) if others else 0


def converged(records: int, vc: int, functions: int, odds: Fraction, room: Fraction) -> bool:
    """Whether (4kV ln(2em/V) + 4 ln odds)/m is certainly at most `room`; falls in m for m ≥ V/2.

    k = `functions` hypotheses make an event: 1 for an error, 2 for a disagreement.
    """
    with working_precision(PRECISION):
        patterns = functions * vc * (1 + logarithm(Fraction(2 * records, vc)))
        return bool(4 * (patterns + logarithm(odds)) <= exact_ball(room * records))


def checked_smoothness(value: Number, name: str = "smoothness") -> Fraction:
    """κ, which may be far beyond what other parameters may be: only its logarithm counts."""
    number = exact_number(name, value)
    if number < 1:
        raise BadParameter(f"{name} must be at least 1: no distribution is smoother than the reference itself.")
    return number


def whole_above(formula: Callable[[], Ball]) -> int:
    """The least whole number that is certainly not below the real one."""
    return ceil(above(formula, PRECISION))


def float_above(formula: Callable[[], Ball]) -> float:
    """A float that is not below the real number; float() of a ball may be off by one unit in the last place."""
    with working_precision(PRECISION):
        return nextafter(nextafter(float(formula().upper()), inf), inf)
