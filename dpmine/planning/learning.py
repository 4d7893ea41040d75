"""How many records private learning of a class takes, without reading data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import floor

from dpmine.errors import BadParameter
from dpmine.models.pac.theory.families import COARSEST, Family, IntervalFamily, StumpFamily, ThresholdFamily
from dpmine.models.pac.theory.learners import too_fine
from dpmine.models.pac.theory.sample_complexity import (
    Setting,
    Target,
    needle_failure,
    records_for_cover,
    records_for_labels,
    records_too_few_for_packing,
)
from dpmine.models.pac.theory.separator_family import SeparatorFamily
from dpmine.parameters import Number, below_one, exact_number, named, whole
from dpmine.planning.results import JsonObject, Planned
from dpmine.privacy import rounded_up

_LARGEST_SMOOTHNESS = 10**100
_WHERE = {Setting.AGNOSTIC: "for private learning", Setting.REALIZABLE: "where some rule makes no error"}


class HypothesisClass(StrEnum):
    """A class that learning can be planned for, under its own reference distribution."""

    THRESHOLDS = "thresholds"
    INTERVALS = "intervals"
    STUMPS = "stumps"
    SEPARATORS = "separators"


@dataclass(frozen=True, slots=True)
class LearningPlan(Planned):
    """Records that are enough for each learner, and a number that is too few for all.

    The learner itself accepts every number given here as enough, and guarantees this smoothness, up to one part in a
    million.

    Attributes:
        learned: the class.
        dimension: number of features.
        target: ε, the accuracy a and the failure probability.
        smoothness: κ, how far the data may be from the reference distribution.
        best_error: b, error of the best rule, for the label-private learner.
        private: enough for the private learner; None where it can make no cover that is fine enough.
        realizable: enough for the realizable learner; None alike.
        labels: enough for the label-private learner, which protects labels only.
        too_few: with at most this number, every learner misses some rule by more than a with probability ≥ 1/2. None
            where a is too large for such a statement.
        notes: why a number is missing, and what would help.
    """

    learned: HypothesisClass
    dimension: int
    target: Target
    smoothness: Fraction
    best_error: Fraction
    private: int | None
    realizable: int | None
    labels: int
    too_few: int | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """JSON-ready form."""
        return {
            "class": str(self.learned),
            "dimension": self.dimension,
            "epsilon": rounded_up(self.target.epsilon),
            "accuracy": float(self.target.accuracy),
            "failure": float(self.target.failure),
            "smoothness": float(self.smoothness),
            "best_error": float(self.best_error),
            "records": {"private": self.private, "realizable": self.realizable, "labels_only": self.labels},
            "too_few": self.too_few,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        rows = {
            f"private, data {float(self.smoothness):g}-smooth to the reference": self.private,
            "the same, where some rule makes no error": self.realizable,
            f"labels only: NOT full privacy; any data (best error {float(self.best_error):g})": self.labels,
        }
        lines = [f"{name:<58}{'none' if records is None else f'{records:,}':>16}" for name, records in rows.items()]
        remarks = [*self.notes, *self._bounds()]
        return "\n".join([self._question(), "", *lines, *([""] if remarks else []), *remarks])

    def _question(self) -> str:
        features = "one feature" if self.dimension == 1 else f"{self.dimension} features"
        return (
            f"Records to learn {self.learned} of {features} within {float(self.target.accuracy):g} of the best error "
            f"with probability {float(1 - self.target.failure):g}, at ε = {self.target.epsilon}, replace-one:"
        )

    def _bounds(self) -> list[str]:
        sentences = []
        if self.too_few is not None:
            sentences.append(f"With {self.too_few:,} or fewer, every learner misses some rule half of the time.")
        if self.learned is HypothesisClass.THRESHOLDS:
            records = self.private or self.labels
            # two digits, from below; it is more than 4/5 whatever the number
            share = floor(100 * max(Fraction(needle_failure(records, self.target.epsilon)), Fraction(4, 5))) / 100
            sentences.append(
                f"Where nothing is known about the data, no number is enough: with {records:,} records every private "
                f"learner has an error above 1/4 on some data, with probability {share:.2f} or more."
            )
        return sentences


def plan_learning(
    learned: str | HypothesisClass,
    *,
    accuracy: Number,
    epsilon: Number = 1,
    failure: Number = "0.05",
    smoothness: Number = 1,
    dimension: int | None = None,
    best_error: Number = 0,
) -> LearningPlan:
    """How many records each learner of `dpmine.models.pac.theory.learners` needs for a class.

    Args:
        learned: "thresholds", "intervals" (one feature), "stumps" or "separators"; references are uniform on the
            interval, the box, the sphere.
        accuracy: a in (0, 1), the error beyond the best rule's that is allowed.
        epsilon: ε > 0.
        failure: probability of missing it.
        smoothness: κ from 1 to 10^100: no set of values is more than κ times as likely as under the reference.
        dimension: number of features of stumps (1 or more) and separators (2 to 6).
        best_error: error of the best rule, in [0, 1), for the label-private learner.

    Raises BadParameter for unusable parameters.
    Source: Chaudhuri & Hsu 2011, theorems 8, 9, 27, 12 and 5, with the constants of
    docs/proofs/models/sample_complexity.md.
    """
    kind = named(HypothesisClass, "learn", learned)
    family = _family(kind, dimension)
    target = Target.of(epsilon=epsilon, accuracy=accuracy, failure=failure)
    ratio, best = exact_number("smoothness", smoothness), below_one("best_error", best_error)
    if not 1 <= ratio <= _LARGEST_SMOOTHNESS:
        raise BadParameter(
            "smoothness must be at least 1 and at most 1e100: no distribution is smoother than the reference itself."
        )
    missing = {setting: too_fine(family, target, setting, ratio) for setting in Setting}
    enough = {
        setting: None if why else records_for_cover(target, family.cover_size(target.radius(ratio, setting)), setting)
        for setting, why in missing.items()
    }
    return LearningPlan(
        kind,
        family.columns,
        target,
        ratio,
        best,
        private=enough[Setting.AGNOSTIC],
        realizable=enough[Setting.REALIZABLE],
        labels=records_for_labels(target, family.vc, best, family.sample_cover_size(target.accuracy / 4)),
        too_few=_too_few(family, target),
        notes=tuple(f"No number {_WHERE[setting]}: {why}" for setting, why in missing.items() if why),
    )


def _family(kind: HypothesisClass, dimension: int | None) -> Family:
    """The class over features between 0 and 1: the numbers of records do not depend on the bounds."""
    if kind in {HypothesisClass.THRESHOLDS, HypothesisClass.INTERVALS}:
        if dimension not in {None, 1}:
            raise BadParameter(f"{kind} have one feature: leave dimension out, or plan stumps.")
        return ThresholdFamily.of(0, 1) if kind is HypothesisClass.THRESHOLDS else IntervalFamily.of(0, 1)
    if dimension is None:
        raise BadParameter(f"{kind} need dimension, the number of features (`dimension=…`).")
    count = whole("dimension", dimension)
    return StumpFamily.of([0] * count, [1] * count) if kind is HypothesisClass.STUMPS else SeparatorFamily.of(count)


def _too_few(family: Family, target: Target) -> int | None:
    """By a packing whose members are more than 2a apart: a cover of a radius that makes it one."""
    for radius in (2 * target.accuracy, 3 * target.accuracy, 4 * target.accuracy):
        if family.finest <= radius <= COARSEST and family.separation(radius) >= 2 * target.accuracy:
            return records_too_few_for_packing(family.cover_size(radius), target.epsilon) or None
    return None
