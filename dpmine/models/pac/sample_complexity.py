"""How many records private learning takes, and how many are certainly too few. No constant is hidden.

m is the number of records, ε the privacy parameter (replace_one unless said otherwise), a the accuracy: the error
allowed beyond the best one of the class, δ the probability of failure. What is enough is rounded up, what is too few is
rounded down, through balls that contain the real numbers.
Proof: docs/proofs/models/sample_complexity.md. Source: Chaudhuri & Hsu 2011, whose own statements have unnamed
constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.exact.reals import GUARD_BITS, Ball, exact_ball, logarithm, working_precision
from dpmine.exact.rounding import above, below
from dpmine.parameters import below_one, exact_number, exact_share, named, not_negative, positive, probability, whole
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.base import unit_reach

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.parameters import Number

_PRECISION = 1024 + GUARD_BITS  # 10^200 records, the most that parameters allow, are 665 bits
_STEPS = 20  # halvings of an interval [κ, 2κ]
_LARGEST_SMOOTHNESS = 2**64


class Setting(StrEnum):
    """What is known about the best hypothesis of the class."""

    AGNOSTIC = "agnostic"
    """Nothing: theorem 8, figure 1."""
    REALIZABLE = "realizable"
    """It makes no errors: theorem 9, figure 2."""

    @classmethod
    def parse(cls, value: str | Setting) -> Setting:
        """The setting of that name; BadParameter otherwise."""
        return named(cls, "setting", value)

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

    def radius(self, smoothness: Number, setting: str | Setting = Setting.AGNOSTIC) -> Fraction:
        """The radius, under the reference distribution, of the cover that fits smoothness κ ≥ 1: a/(4κ), or a/(16κ)."""
        return self.accuracy / (Setting.parse(setting).fineness * _smoothness(smoothness))


def records_for_cover(target: Target, size: int, setting: str | Setting = Setting.AGNOSTIC) -> int:
    """Records that are enough for the exponential mechanism over a cover G of known size |G|: ⌈A ln(4|G|/δ)⌉.

    Requires: G is a `target.radius(κ)`-cover of the class under a reference distribution that was chosen without the
    data, and the data's distribution is κ-smooth to it; records are independent; replace_one; P(g) ∝ e^{−ε errors/2}.
    Source: theorem 8; with "realizable", theorem 9, which also requires a hypothesis without error.
    Raises BadParameter for a size below 1.
    """
    rate, odds = target.records_per_nat(Setting.parse(setting)), 4 * whole("size", size) / target.failure
    return _whole_above(lambda: exact_ball(rate) * logarithm(odds))


def records_for_dimension(
    target: Target, dimension: Number, smoothness: Number, setting: str | Setting = Setting.AGNOSTIC
) -> int:
    """Records that are enough for any cover that is a packing as well: `records_for_cover` at |G| = (16κ/a)^d.

    Requires: d = `dimension` ≥ 0 bounds the doubling dimension of the class under the reference distribution, and
    κ = `smoothness` ≥ 1 as there. Realizable: (64κ/a)^d.
    Source: theorems 8 and 9 with lemma 14. Raises BadParameter.
    """
    rate, doubling = target.records_per_nat(Setting.parse(setting)), not_negative("dimension", dimension)
    ratio, odds = 4 / target.radius(smoothness, setting), 4 / target.failure
    return _whole_above(lambda: exact_ball(rate) * (logarithm(odds) + exact_ball(doubling) * logarithm(ratio)))


def largest_smoothness(
    target: Target,
    records: int,
    size_of_cover: Callable[[Fraction], int],
    setting: str | Setting = Setting.AGNOSTIC,
    limit: Number = _LARGEST_SMOOTHNESS,
) -> Fraction:
    """κ̂: the largest smoothness that m = `records` allow, from below, to one part in a million; at most `limit`.

    `size_of_cover(radius)` is |G| for that radius under the reference distribution. It must not rise with the radius;
    where it does, m records are still enough for the κ̂ returned, but a larger one may be allowed. It is asked at up to
    twice the κ̂ returned, or at `limit`, so give a limit where fine covers are costly.
    Source: the first step of figures 1 and 2. Raises BadParameter, with the number of records needed, where not even
    κ̂ = 1 is allowed.
    """
    chosen = Setting.parse(setting)

    def needed(smoothness: Fraction) -> int:
        return records_for_cover(target, size_of_cover(target.radius(smoothness, chosen)), chosen)

    return _largest(needed, whole("records", records), _smoothness(limit, "limit"))


def largest_smoothness_of_dimension(
    target: Target,
    records: int,
    dimension: Number,
    setting: str | Setting = Setting.AGNOSTIC,
    limit: Number = _LARGEST_SMOOTHNESS,
) -> Fraction:
    """`largest_smoothness` where only the doubling dimension of the class is known."""

    def needed(smoothness: Fraction) -> int:
        return records_for_dimension(target, dimension, smoothness, setting)

    return _largest(needed, whole("records", records), _smoothness(limit, "limit"))


def records_for_labels(target: Target, vc: int, best_error: Number, size: int | None = None) -> int:
    """Records that are enough where only labels are private: the least m that meets both conditions.

    (4V ln(2em/V) + 4 ln(16/δ))/m ≤ a²/(16(b + a)) with m ≥ V/2, and m ≥ (16/(aε)) ln(2|G|/δ).
    Requires: V = `vc` ≥ 1 bounds the VC dimension, b = `best_error` in [0, 1) the error of the best hypothesis; G is an
    a/4-cover and -packing of the class by its disagreements on the unlabelled sample; P(g) ∝ e^{−ε errors/2};
    neighbours differ in one label. `size` is |G| where it is known; otherwise e(V + 1)(8e/a)^V is taken.
    Source: theorem 27, figure 3; the size of a packing: Haussler 1995. Raises BadParameter.
    """
    shatters, error = whole("vc", vc), below_one("best_error", best_error)
    room, tails = target.accuracy**2 / (16 * (error + target.accuracy)), 16 / target.failure
    converging = _least(ceil(Fraction(shatters, 2)), lambda m: _converged(m, shatters, 1, tails, room))
    rate, odds = 16 / (target.accuracy * target.epsilon), 2 / target.failure
    choosing = _whole_above(lambda: exact_ball(rate) * (logarithm(odds) + _label_cover(target, shatters, size)))
    return max(converging, choosing)


def errors_lost_by_exponential(
    size: int, *, epsilon: Number, failure: Number, neighbors: str | Neighbors = Neighbors.REPLACE_ONE
) -> int:
    """Errors on the sample beyond the best hypothesis's, at most, with probability 1 − η: (2/ε) ln(|H|/η), a count.

    Requires: a finite class of `size` hypotheses, scored by records classified correctly. Under add_remove, where all
    scores move together, (1/ε) ln(|H|/η). Also holds for max_of_exponentials, which loses no more on average and has
    the same tail bound. Source: McSherry & Talwar 2007, theorem 6. Raises BadParameter.
    """
    count, rate = whole("size", size), unit_reach(Neighbors.parse(neighbors)) / positive("epsilon", epsilon)
    odds = count / probability("failure", failure)
    return floor(_above(lambda: exact_ball(rate) * logarithm(odds)))


def errors_lost_by_large_margin(near_best: int, *, epsilon: Number, failure: Number) -> int:
    """Errors on the sample beyond the best hypothesis's, at most, with probability 1 − η: (6/ε) ln(2ℓ*/η), a count.

    Requires: at most ℓ* = `near_best` hypotheses, the best one included, make at most `large_margin_reach` errors more
    than the best one on the sample: a property of the data that cannot be looked up privately.
    Source: Chaudhuri, Hsu & Song 2014, theorem 3. Raises BadParameter.
    """
    odds = 2 * whole("near_best", near_best) / probability("failure", failure)
    rate = 6 / positive("epsilon", epsilon)
    return floor(_above(lambda: exact_ball(rate) * logarithm(odds)))


def large_margin_reach(near_best: int, *, epsilon: Number, delta: Number, failure: Number) -> int:
    """γ* = (21/ε) ln(3/η) + T(ℓ*), in errors: how far from the best a hypothesis counts as near it. Rounded up.

    `delta` is that of the guarantee, T the threshold in docs/proofs/selection/large_margin.md. Source: theorem 3 there.
    """
    rank, rate = whole("near_best", near_best), 1 / positive("epsilon", epsilon)
    slack, eta = probability("delta", delta), probability("failure", failure)

    def reach() -> Ball:
        nats = 21 * logarithm(3 / eta) + 3 * logarithm(3 / (2 * slack)) + 6 * logarithm(3 / slack)
        nats += 12 * logarithm(3 * rank * (rank + 1) / slack) + 6 * logarithm(3 * rank / slack)
        return 6 + exact_ball(rate) * nats

    return _whole_above(reach)


def records_for_class(target: Target, size: int, neighbors: str | Neighbors = Neighbors.REPLACE_ONE) -> int:
    """Records that are enough for the exponential mechanism over a finite class, whatever the distribution.

    ln(2|H|/δ) (1 + √(1 + 2au/ε))²/(2a²), u = 2, or 1 under add_remove. No reference distribution is needed.
    Source: Hoeffding's inequality and `errors_lost_by_exponential`, δ/2 each. Raises BadParameter.
    """
    count, rate = whole("size", size), unit_reach(Neighbors.parse(neighbors)) / target.epsilon
    odds = 2 * count / target.failure
    return _whole_above(lambda: _generalising(target, logarithm(odds), exact_ball(rate) * logarithm(odds)))


def records_for_large_margin(target: Target, size: int, near_best: int) -> int:
    """Records that are enough for large_margin over a finite class, on samples that meet its requirement.

    (√(2L) + √(2L + 4aE))²/(4a²), L = ln(2|H|/δ), E = (6/ε) ln(4ℓ*/δ).
    Requires: `errors_lost_by_large_margin` at η = δ/2, for the sample drawn: failing to draw such a sample comes on top
    of δ. Source: Hoeffding's inequality and Chaudhuri, Hsu & Song 2014, theorem 3. Raises BadParameter.
    """
    odds, near = 2 * whole("size", size) / target.failure, 4 * whole("near_best", near_best) / target.failure
    return _whole_above(
        lambda: _generalising(target, logarithm(odds), exact_ball(6 / target.epsilon) * logarithm(near))
    )


def needle_failure(records: int, epsilon: Number) -> float:
    """1 − 1/(5 + 3e^{−εm}) > 4/5, from below: how often every ε-private learner of thresholds has error above 1/4.

    On some distribution D_z that depends on m, ε and the learner but has a threshold without error: see
    `experiments.needles`. Holds for every sample of size m. Source: theorem 5, for each fixed m. Raises BadParameter.
    """
    loss = positive("epsilon", epsilon) * whole("records", records)
    return -_float_above(lambda: 1 / (5 + 3 * (-exact_ball(loss)).exp()) - 1)


def packing_success(records: int, packing: int, epsilon: Number) -> float:
    """1/(1 + (P − 1)e^{−εm}), from above: no ε-private learner succeeds more often than that on all P targets.

    Success is an error of at most a. Requires: P = `packing` hypotheses, any two of which disagree by more than 2a; the
    learner may be label-private only. Holds for m = `records` ≥ 0 of any kind. Source: the proof of theorem 12.
    """
    others, loss = whole("packing", packing) - 1, positive("epsilon", epsilon) * whole("records", records, least=0)
    return min(1.0, _float_above(lambda: 1 / (1 + others * (-exact_ball(loss)).exp())))


def records_too_few_for_packing(packing: int, epsilon: Number, success: Number = Fraction(1, 2)) -> int:
    """The largest m with `packing_success` ≤ `success`: ln((P − 1)s/(1 − s))/ε, rounded down; 0 where that is negative.

    `success` is s in (0, 1). Requires and source as in `packing_success`. Raises BadParameter.
    """
    others, rate, share = whole("packing", packing) - 1, positive("epsilon", epsilon), exact_share("success", success)
    odds = others * share / (1 - share)
    return max(0, floor(_below(lambda: logarithm(odds) / exact_ball(rate)))) if others else 0


def records_too_few_for_dimension(dimension: Number, epsilon: Number) -> int:
    """With so many records, or fewer, some target is missed by more than a with probability ≥ 1/2: (d″ − 1) ln 2/ε.

    Requires: d″ = `dimension` ≥ 1 is the doubling dimension at scale 4a and a ≤ half the diameter; the learner may be
    label-private only. Source: theorem 12. Raises BadParameter.
    """
    doubling, rate = exact_number("dimension", dimension), positive("epsilon", epsilon)
    if doubling < 1:
        raise BadParameter("dimension must be at least 1.")
    return floor(_below(lambda: exact_ball((doubling - 1) / rate) * logarithm(2)))


def label_records_too_few(vc: int, packing: int, *, epsilon: Number, accuracy: Number) -> int:
    """With so many records, or fewer, some target is missed by more than a with probability ≥ 1/8; 0 says nothing.

    The largest m < ln(P/2 − 1)/(32εa), if it has (8V ln(2em/V) + 4 ln 16)/m ≤ a/3 and m ≥ V/2; else 0.
    Requires: the class has VC dimension at most V = `vc`; P = `packing` hypotheses within 12a of some hypothesis, any
    two of which disagree by more than 6a; the learner may be label-private only.
    Practically vacuous: classes of VC dimension V have no packings that meet both conditions unless ε < 1/768.
    Source: theorem 10, whose own constants are unnamed. Raises BadParameter.
    """
    shatters, targets = whole("vc", vc), whole("packing", packing)
    budget = probability("accuracy", accuracy)
    rate, odds = 32 * positive("epsilon", epsilon) * budget, Fraction(targets, 2) - 1
    if odds <= 1:
        return 0
    most = ceil(_below(lambda: logarithm(odds) / exact_ball(rate))) - 1
    enough = 2 * most >= shatters and _converged(most, shatters, 2, Fraction(16), budget / 3)
    return most if enough else 0


def _generalising(target: Target, nats: Ball, lost: Ball) -> Ball:
    """The m at which 2√(L/(2m)) + E/m = a: uniform convergence on both sides, and E errors lost."""
    root = (2 * nats).sqrt() + (2 * nats + 4 * exact_ball(target.accuracy) * lost).sqrt()
    return (root / (2 * exact_ball(target.accuracy))) ** 2


def _label_cover(target: Target, vc: int, size: int | None) -> Ball:
    """Ln |G|, or of Haussler's bound on a packing."""
    if size is not None:
        return logarithm(whole("size", size))
    return 1 + logarithm(vc + 1) + vc * (1 + logarithm(8 / target.accuracy))


def _converged(records: int, vc: int, functions: int, odds: Fraction, room: Fraction) -> bool:
    """Whether (4kV ln(2em/V) + 4 ln odds)/m is certainly at most `room`; falls in m for m ≥ V/2.

    k = `functions` hypotheses make an event: 1 for an error, 2 for a disagreement.
    """
    with working_precision(_PRECISION):
        patterns = functions * vc * (1 + logarithm(Fraction(2 * records, vc)))
        return bool(4 * (patterns + logarithm(odds)) <= exact_ball(room * records))


def _least(start: int, holds: Callable[[int], bool]) -> int:
    """The least whole number ≥ max(1, start) for which `holds`, which then holds for all larger ones."""
    low, high = max(1, start) - 1, max(1, start)
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _largest(needed: Callable[[Fraction], int], records: int, limit: Fraction) -> Fraction:
    """Nearly the largest κ in [1, limit] that needs at most so many records, by doubling and halving."""
    low = Fraction(1)
    least = needed(low)
    if least > records:
        raise BadParameter(f"records must be at least {least} for this target: with fewer, no cover is small enough.")
    high = min(2 * low, limit)
    while low < high and needed(high) <= records:
        low, high = high, min(2 * high, limit)
    for _ in range(_STEPS if low < high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) <= records else (low, middle)
    return low


def _smoothness(value: Number, name: str = "smoothness") -> Fraction:
    """κ, which may be far beyond what other parameters may be: only its logarithm counts."""
    number = exact_number(name, value)
    if number < 1:
        raise BadParameter(f"{name} must be at least 1: no distribution is smoother than the reference itself.")
    return number


def _above(formula: Callable[[], Ball]) -> Fraction:
    return above(formula, _PRECISION)


def _below(formula: Callable[[], Ball]) -> Fraction:
    return below(formula, _PRECISION)


def _whole_above(formula: Callable[[], Ball]) -> int:
    return ceil(_above(formula))


def _float_above(formula: Callable[[], Ball]) -> float:
    """A float that is not below the real number; float() of a ball may be off by one unit in the last place."""
    with working_precision(_PRECISION):
        return nextafter(nextafter(float(formula().upper()), inf), inf)
