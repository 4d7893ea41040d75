"""Private learning out of infinite classes: the three learners of Chaudhuri & Hsu 2011.

Each draws out of a finite cover by the exponential mechanism, P(g) ∝ exp(−ε errors(g)/2).
Proofs: docs/proofs/models/private_learners.md (privacy), docs/proofs/models/sample_complexity.md (accuracy).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.errors import BadData, BadParameter
from dpmine.models.pac.theory.sample_complexity import (
    Setting,
    Target,
    errors_lost_by_exponential,
    largest_smoothness,
    records_for_labels,
)
from dpmine.parameters import Number, below_one
from dpmine.privacy import ROW, Guarantee, Neighbors
from dpmine.selection.recommend import build_mechanism
from dpmine.selection.select import choose

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats
    from dpmine.models.pac.hypothesis import AnyClass, Hypothesis, Records
    from dpmine.models.pac.theory.families import Family
    from dpmine.selection.mechanisms.mechanism import Mechanism

LABEL_ONLY = (
    "LABEL PRIVACY ONLY: the features of all rows count as public, and the result may reveal them; only the labels are "
    "protected"
)
LABEL_UNIT = "label of a row"
_BEYOND = {
    Setting.AGNOSTIC: "above the least error of all",
    Setting.REALIZABLE: "if some hypothesis never errs, out of all",
}
_PUBLIC = (
    "the class, its reference distribution and the accuracy were chosen without the data; the number of records is "
    "public"
)
_NEARLY_ONE = Fraction(99, 100)  # a larger accuracy is of no use
_UNUSED = Fraction(1, 2)  # a δ that pure mechanisms do not take


class Learner(StrEnum):
    """Which of the three."""

    PRIVATE = "private"
    """Rows are protected; the data must be smooth to the reference distribution. Figure 1, theorems 7 and 8."""
    REALIZABLE = "realizable"
    """The same, mostly with fewer rows, where some hypothesis of the class never errs. Figure 2, theorem 9."""
    LABEL_PRIVATE = "label_private"
    """Labels are protected. THIS IS NOT FULL PRIVACY: the result may reveal the features of a row. Figure 3."""

    @property
    def setting(self) -> Setting:
        """What the learner assumes of the best hypothesis."""
        return Setting.REALIZABLE if self is Learner.REALIZABLE else Setting.AGNOSTIC


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """What a learner guarantees about the error of its hypothesis.

    Attributes:
        accuracy: a: the error beyond the best hypothesis's is at most this; None where nothing is known about records
            to come.
        failure: δ: the bound fails with at most this probability, over sample and draw.
        cover_size: |G|, how many hypotheses were drawn from.
        radius: that of the cover: under the reference distribution, or on the unlabelled sample.
        smoothness: κ̂, how far from the reference the data's distribution may be; None without a reference.
        text: all of this in words, with the conditions.
    """

    accuracy: Fraction | None
    failure: Fraction
    cover_size: int
    radius: Fraction
    smoothness: Fraction | None
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class CoverPlan:
    """What a learner draws from: for figures 1 and 2 a matter of public numbers alone.

    Attributes:
        hypotheses: the cover G.
        error_bound: of a draw from it.
    """

    hypotheses: AnyClass
    error_bound: ErrorBound


@dataclass(frozen=True, slots=True)
class Learned:
    """A hypothesis drawn privately.

    Attributes:
        hypothesis: readable with `str`.
        guarantee: of privacy, for those in the data.
        error_bound: of the hypothesis.
    """

    hypothesis: Hypothesis
    guarantee: Guarantee
    error_bound: ErrorBound


def learn(
    records: Records,
    family: Family,
    target: Target,
    learner: Learner = Learner.PRIVATE,
    *,
    best_error: Number | None = None,
    bits: BitSource,
) -> Learned:
    """A hypothesis learnt with ε-privacy of rows, or of labels only, whatever the error of the best hypothesis.

    Requires: replace_one, as how fine the cover is depends on the number of records.
    It takes the finest cover that m records allow (`plan_cover`), then the exponential mechanism on correct records.
    With LABEL_PRIVATE, neighbours differ in the label of one row and features ARE NOT PROTECTED. The cover is then an
    a/4-cover of `family.sampled` by its disagreements on the rows (`plan_label_cover`).
    Accuracy: error at most a above the best of the class, with probability ≥ 1 − δ. This is for independent records of
    a distribution κ-smooth to the reference, κ ≤ κ̂. REALIZABLE also takes a hypothesis that never errs (privacy does
    not). LABEL_PRIVATE needs no reference; `best_error` is for `plan_label_cover`.
    Raises BadData for too few records, with the number it takes; BadParameter for unusable parameters.
    """
    require_columns(family, records.features.shape[1])
    if learner is Learner.LABEL_PRIVATE:
        planned, unit, note = plan_label_cover(records.features, family, target, best_error), LABEL_UNIT, LABEL_ONLY
    else:
        planned, unit, note = plan_cover(len(records), family, target, learner.setting), ROW, _PUBLIC
    mechanism = mechanism_for(target)
    candidate = choose(mechanism, planned.hypotheses.universe(records), sensitivity=Fraction(1), bits=bits)
    guarantee = mechanism.guarantee().for_unit(unit).noting(note)
    return Learned(planned.hypotheses.hypothesis(candidate), guarantee, planned.error_bound)


def plan_cover(records: int, family: Family, target: Target, setting: Setting) -> CoverPlan:
    """The cover that figures 1 and 2 draw from when there are m = `records`; no data are needed to know it.

    κ̂ is the largest with A ln(4|G_κ̂|/δ) ≤ m, up to one part in a million, and up to the finest cover that can be made.
    Raises BadData when even κ̂ = 1 takes more records, BadParameter where its cover cannot be made.
    """
    if reason := too_fine(family, target, setting):
        raise BadParameter(reason)
    limit = target.radius(1, setting) / family.finest
    smoothness = largest_smoothness(target, records, family.cover_size, setting, limit)
    radius = target.radius(smoothness, setting)
    cover = family.cover(radius)
    text = (
        f"With probability at least {1 - target.failure}, the error is at most {target.accuracy} {_BEYOND[setting]} "
        f"{family.name}, for independent records from a distribution in which no event is more than "
        f"{_rounded(smoothness, 6, ROUND_DOWN):g} times as likely as under the reference. "
        f"Drawn from {cover.size} hypotheses."
    )
    return CoverPlan(cover, ErrorBound(target.accuracy, target.failure, cover.size, radius, smoothness, text))


def too_fine(family: Family, target: Target, setting: Setting, smoothness: Number = 1) -> str | None:
    """Why figures 1 and 2 can make no cover for κ = `smoothness`, with a remedy; None where they can."""
    radius = target.radius(smoothness, setting)
    if radius >= family.finest:
        return None
    return (
        f"This accuracy takes a cover of {family.name} of radius {float(radius):.3g}, and those finer than "
        f"{float(family.finest):.3g} have too many to score: {_remedy(family, target, setting, radius)}."
    )


def _remedy(family: Family, target: Target, setting: Setting, radius: Fraction) -> str:
    """What would make the radius, now too small, the finest that there is."""
    accuracy, smoothness = target.accuracy * family.finest / radius, target.radius(1, setting) / family.finest
    if accuracy < _NEARLY_ONE:
        return f"accuracy must be at least {_rounded(accuracy, 3, ROUND_UP):g}"
    if smoothness >= 1:
        return f"smoothness must be at most {_rounded(smoothness, 6, ROUND_DOWN):g}"
    if setting.fineness * family.finest >= _NEARLY_ONE:
        return "take fewer features"
    return "take a larger accuracy and a smaller smoothness"


def plan_label_cover(features: Floats, family: Family, target: Target, best_error: Number | None = None) -> CoverPlan:
    """The cover that figure 3 draws from, by the unlabelled rows, shape (m, columns).

    Without `best_error`, the bound is about the errors on these rows. With `best_error` = b in [0, 1), and a class
    whose best error is at most b, it is about the error on records to come.
    Source: Chaudhuri & Hsu 2011, theorems 26 and 27.
    Raises BadData for no records, or, with `best_error`, too few for the bound, with a number that is enough;
    BadParameter for unusable parameters.
    """
    if not len(features):
        raise BadData("At least 1 record is needed.")
    radius = target.accuracy / 4
    error = None if best_error is None else below_one("best_error", best_error)
    cover = family.sample_cover(features, radius)
    if error is None:
        lost = errors_lost_by_exponential(cover.size, epsilon=target.epsilon, failure=target.failure)
        text = (
            f"With probability at least {1 - target.failure}, the errors on these rows exceed the fewest in the class "
            f"of {family.sampled} by at most {radius} of the rows and {lost} more. Drawn from {cover.size} hypotheses. "
            "Nothing is guaranteed about other rows: for that, give best_error."
        )
        return CoverPlan(cover, ErrorBound(None, target.failure, cover.size, radius, None, text))
    if len(features) < records_for_labels(target, family.vc, error, cover.size):
        enough = records_for_labels(target, family.vc, error, family.sample_cover_size(radius))
        raise BadData(
            f"Too few records for this accuracy, failure, epsilon and best_error: {enough} are enough, whatever their "
            "features. Without best_error nothing is guaranteed about other records, and any number will do."
        )
    text = (
        f"With probability at least {1 - target.failure}, the error is at most {target.accuracy} above the least error "
        f"in the class of {family.sampled}, if that is at most {error} and the rows are independent."
    )
    return CoverPlan(cover, ErrorBound(target.accuracy, target.failure, cover.size, radius, None, text))


def _rounded(value: Fraction, digits: int, rounding: str) -> float:
    return float(Context(prec=digits, rounding=rounding).divide(Decimal(value.numerator), Decimal(value.denominator)))


def require_columns(family: Family, columns: int) -> None:
    """Raises BadParameter unless the family is about this number of features."""
    if columns != family.columns:
        raise BadParameter(f"The {family.name} of this family need {family.columns} features, one per column.")


def mechanism_for(target: Target) -> Mechanism:
    """The exponential mechanism at ε in its general form: one record may raise some scores and lower others."""
    return build_mechanism("exponential", epsilon=target.epsilon, delta=_UNUSED, neighbors=Neighbors.REPLACE_ONE)
