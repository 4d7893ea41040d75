"""The public terms of a validation: sizes, budgets, and which mechanism chooses among the scores."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.ledger.charging import ROW
from dpmine.models.validation.scores import Sensitivities
from dpmine.parameters import Number, below_one, not_negative, positive, whole
from dpmine.privacy import Guarantee, Neighbors
from dpmine.selection.select import AUTO, MECHANISMS, build_mechanism, plain_name, resolve

if TYPE_CHECKING:
    from dpmine.selection.mechanisms.base import Mechanism


DEFAULT = "max_of_exponentials"

_REJECTED = {
    "limited_domain": "limited_domain pads the candidates with dummies of score 0, which beat every negative score",
    "bounded_growth": "bounded_growth needs counts that start at 0, and validation scores are real numbers",
    "exact": "exact is not private",
}


_PUBLIC_SIZES = (
    "Validation needs neighbors='replace_one': its bounds divide by the numbers of training and validation records, so "
    "these are public, and add_remove would have to hide them."
)


def require_replace_one(neighbors: str | Neighbors, reason: str = _PUBLIC_SIZES) -> None:
    """BadParameter, with the reason, for any relation but replace_one."""
    if Neighbors.parse(neighbors) is not Neighbors.REPLACE_ONE:
        raise BadParameter(reason)


def chooser_of(name: str, *, epsilon: Fraction, delta: Fraction, candidates: int) -> Mechanism:
    """The mechanism in its general, replace_one form; `delta` = 0 where only pure ones may be used.

    "auto" is max_of_exponentials with δ = 0, else the engine's recommendation for so many candidates.
    Raises BadParameter for mechanisms that cannot choose here, with the reason.
    """
    plain = plain_name(name)
    if plain == AUTO and not delta:
        plain = DEFAULT
    elif plain == AUTO:
        relation = Neighbors.REPLACE_ONE
        plain = resolve(
            AUTO, epsilon=epsilon, delta=delta, neighbors=relation, candidates=candidates, are_counts=False
        ).mechanism
    kind = MECHANISMS.get(plain)
    if kind is None or plain in _REJECTED:
        reason = f"{_REJECTED[plain]}; " if plain in _REJECTED else ""
        raise BadParameter(f"{reason}mechanism must be one of: {', '.join([AUTO, *allowed()])}.")
    if kind.approximate and not delta:
        raise BadParameter(f"{plain} needs a δ of its own for the choice: give one greater than 0.")
    return build_mechanism(plain, epsilon=epsilon, delta=delta, neighbors=Neighbors.REPLACE_ONE)


def allowed() -> list[str]:
    """The mechanisms that may choose."""
    return [name for name in MECHANISMS if name not in _REJECTED]


@dataclass(frozen=True, slots=True)
class ValidationTerms:
    """What is public about one validation; made by `ValidationTerms.of`, which reads and checks every number.

    Attributes:
        train_size: n ≥ 1.
        validation_size: m ≥ 1.
        failure: δ_s in [0, 1): the probability that a stability does not hold, for all candidates together.
        training_epsilon: α1 > 0, spent on each training.
        selection_epsilon: α2 > 0, spent on the choice.
        selection_delta: δ_c ≥ 0, spent by approximate choosers only.
        mechanism: name of the chooser.
        sensitivities: whether every candidate answers for its own sensitivity only.
        caution: c ≥ 0, how much candidates are held back for their own sensitivity: t = 2c ln(k/η)/α2 of
            `generalised_scores`. 1 guards against choosing a candidate whose score is mostly noise; 0 holds none back.
        fallback: position of the parameter that is taken where the mechanism returns no candidate; None for none.
    """

    train_size: int
    validation_size: int
    failure: Fraction
    training_epsilon: Fraction
    selection_epsilon: Fraction
    selection_delta: Fraction = Fraction(0)
    mechanism: str = DEFAULT
    sensitivities: Sensitivities = Sensitivities.CANDIDATE
    caution: Fraction = Fraction(1)
    fallback: int | None = None

    @classmethod
    def of(
        cls,
        *,
        train_size: int,
        validation_size: int,
        failure: Number,
        training_epsilon: Number,
        selection_epsilon: Number,
        selection_delta: Number = 0,
        mechanism: str = DEFAULT,
        sensitivities: str | Sensitivities = Sensitivities.CANDIDATE,
        caution: Number = 1,
        fallback: int | None = None,
    ) -> ValidationTerms:
        """The terms, every number read exactly. Raises BadParameter for unusable ones."""
        return cls(
            _size("train_size", "training", train_size),
            _size("validation_size", "validation", validation_size),
            below_one("failure", failure),
            positive("training_epsilon", training_epsilon),
            positive("selection_epsilon", selection_epsilon),
            below_one("selection_delta", selection_delta),
            mechanism,
            Sensitivities.parse(sensitivities),
            not_negative("caution", caution),
            None if fallback is None else whole("fallback", fallback, least=0),
        )

    def chooser(self, candidates: int) -> Mechanism:
        """The mechanism that chooses among k ≥ 1 candidates. Raises BadParameter where it cannot, or there are none."""
        if not candidates:
            raise BadParameter("There is no candidate to choose: give at least one parameter.")
        if self.fallback is not None and self.fallback >= candidates:
            raise BadParameter(f"fallback must be the position of one of the {candidates} parameters.")
        return chooser_of(
            self.mechanism, epsilon=self.selection_epsilon, delta=self.selection_delta, candidates=candidates
        )

    def promise(self, epsilon: Fraction, delta: Fraction) -> Guarantee:
        """(ε, δ) for one record."""
        return Guarantee(epsilon, delta, Neighbors.REPLACE_ONE, ROW)


def _size(name: str, part: str, value: int) -> int:
    if not isinstance(value, bool) and value == 0:
        raise BadParameter(f"The {part} part has no records ({name} = 0): give more data, or change how it is split.")
    return whole(name, value)
