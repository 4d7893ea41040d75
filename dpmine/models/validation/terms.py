"""The public terms of a validation, its scores, and how far one record can move a candidate's score.

Scores are sums of per-record terms in a public fixed point. Floating-point sums depend on their order, and round by
amounts that depend on all records; sums of integers do not. Proof: docs/proofs/selection/generalised_exponential.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from math import ceil, log
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadParameter
from dpmine.options import names
from dpmine.options.names import AUTO, plain_name
from dpmine.parameters import below_one, named, not_negative, positive, whole
from dpmine.privacy import ROW, Guarantee, Neighbors
from dpmine.selection.recommend import MECHANISMS, build_mechanism, recommend, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from dpmine.selection.mechanisms.mechanism import Mechanism


UNIT_BITS = 32
UNIT = Fraction(1, 2**UNIT_BITS)
"""u: the public unit that terms are rounded to."""
_LARGEST = 2**20  # of a bound on the terms: terms in units are then exact in float64


def fixed_point_mean(terms: ArrayLike, *, least: int, most: int) -> Fraction:
    """The mean of the terms, each put into [least, most] and rounded to the nearest multiple of u = 2^−32, exactly.

    Requires: at least one term; a term is a function of one record and of the model alone.
    Bound: replacing one of the m records moves the mean by at most (most − least)/m, rounding included. Models that
    move every term by at most b move it by at most b + u; clipping to the bounds does not add to it. If the terms
    themselves are computed with an error of at most r, they move it by at most b + 2r + u.
    NaN counts as `least`. Raises BadParameter for no terms, and for bounds that are not −2^20 ≤ least < most ≤ 2^20.
    """
    if not -_LARGEST <= least < most <= _LARGEST:
        raise BadParameter("The bounds of the terms must be whole numbers, least < most, within ±2^20.")
    values = np.asarray(terms, np.float64).ravel()
    if not values.size:
        raise BadParameter("There are no validation records: the score of nothing is not defined.")
    bounded = np.clip(np.nan_to_num(values, nan=least, posinf=most, neginf=least), least, most)
    units = np.rint(np.ldexp(bounded, UNIT_BITS)).astype(np.int64)
    return Fraction(_exact_sum(units), values.size) * UNIT


def _exact_sum(units: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> int:
    """The sum, without overflow: the halves of the numbers are summed apart."""
    high, low = units >> UNIT_BITS, units & (2**UNIT_BITS - 1)
    return (int(high.sum()) << UNIT_BITS) + int(low.sum())


UTILITY_FAILURE = Fraction(1, 20)
"""η of the generalised exponential mechanism: its accuracy bound fails with at most this probability."""
_STEPS = 1024  # t is rounded up to a step: any public t ≥ 0 is private


class Sensitivities(StrEnum):
    """Whether a candidate answers for its own sensitivity only."""

    CANDIDATE = "candidate"
    """Every candidate its own, by the scores of the generalised exponential mechanism."""
    UNIFORM = "uniform"
    """All the largest: β of the paper."""


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
    """

    scores: tuple[Fraction, ...]
    sensitivity: Fraction


def comparable(
    scores: Sequence[Fraction],
    sensitivities: Sequence[Fraction],
    *,
    epsilon: Fraction,
    kind: Sensitivities,
    caution: Fraction = Fraction(1),
) -> Comparable:
    """The scores for a chooser of budget ε, by the kind of sensitivities that is wanted.

    Under CANDIDATE the scores are those of `generalised_scores` at t = `caution` × `utility_shift`. Where no
    sensitivity is more than twice another, the uniform ones are taken. The rule is one of public numbers, so it is
    private for any `caution`. Up to 1 the uniform scores also have the better bound for every candidate.
    """
    largest = max(sensitivities)
    if kind is Sensitivities.UNIFORM or largest <= 2 * min(sensitivities):
        return Comparable(tuple(scores), largest)
    shift = caution * utility_shift(len(scores), epsilon)
    return Comparable(generalised_scores(scores, sensitivities, shift), Fraction(1))


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


DEFAULT = "max_of_exponentials"

_REJECTED = {named.name: named.not_for_scores for named in names.MECHANISMS if named.not_for_scores}


_PUBLIC_SIZES = (
    "Validation needs neighbors='replace_one': its bounds divide by the numbers of training and validation records, so "
    "these are public, and add_remove would have to hide them. Give `neighbors='replace-one'`, or leave it out."
)


def require_replace_one(neighbors: str | Neighbors, reason: str = _PUBLIC_SIZES) -> None:
    """BadParameter, with the reason, for any relation but replace_one."""
    if Neighbors.parse(neighbors) is not Neighbors.REPLACE_ONE:
        raise BadParameter(reason)


def chooser_of(name: str, *, epsilon: Fraction, delta: Fraction, candidates: int) -> Mechanism:
    """The mechanism in its general, replace_one form; `delta` = 0 where only pure ones may be used.

    "auto" is max_of_exponentials with δ = 0, else the engine's recommendation for that number of candidates.
    Raises BadParameter for mechanisms that cannot choose here, with the reason.
    """
    plain = plain_name(name)
    if plain == AUTO and not delta:
        plain = DEFAULT
    elif plain == AUTO:
        relation = Neighbors.REPLACE_ONE
        plain = recommend(
            epsilon=epsilon, delta=delta, neighbors=relation, candidates=candidates, are_counts=False
        ).mechanism
    kind = MECHANISMS.get(plain)
    if kind is None or plain in _REJECTED:
        reason = f"{_REJECTED[plain]}; " if plain in _REJECTED else ""
        raise BadParameter(f"{reason}{unknown(plain, [AUTO, *allowed()])}")
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
        caution: c ≥ 0, how much candidates are penalised for their own sensitivity: t = 2c ln(k/η)/α2 of
            `generalised_scores`. 1 guards against choosing a candidate whose score is mostly noise; 0 is no penalty.
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
    def of(cls, **given: Any) -> ValidationTerms:
        """The terms by name, every number read exactly. Raises BadParameter for unusable ones."""
        read = {name: reader(name, given[name]) for name, reader in _READERS.items() if name in given}
        return cls(**{**given, **read})

    def chooser(self, candidates: int) -> Mechanism:
        """The mechanism that chooses among k ≥ 1 candidates. Raises BadParameter where it cannot, or there are none."""
        if not candidates:
            raise BadParameter("There is no candidate to choose: give at least one parameter.")
        if self.fallback is not None and self.fallback >= candidates:
            raise BadParameter(f"fallback must be the position of one of the {candidates} parameters.")
        return chooser_of(
            self.mechanism, epsilon=self.selection_epsilon, delta=self.selection_delta, candidates=candidates
        )

    def guarantee(self, epsilon: Fraction, delta: Fraction) -> Guarantee:
        """(ε, δ) for one record."""
        return Guarantee(epsilon, delta, Neighbors.REPLACE_ONE, ROW)


def _size(part: str, name: str, value: int) -> int:
    if not isinstance(value, bool) and value == 0:
        raise BadParameter(f"The {part} part has no records ({name} = 0): give more data, or change how it is split.")
    return whole(name, value)


def _position(name: str, value: int | None) -> int | None:
    return None if value is None else whole(name, value, least=0)


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "train_size": partial(_size, "training"),
    "validation_size": partial(_size, "validation"),
    "failure": below_one,
    "training_epsilon": positive,
    "selection_epsilon": positive,
    "selection_delta": below_one,
    "sensitivities": partial(named, Sensitivities),
    "caution": not_negative,
    "fallback": _position,
}


@dataclass(frozen=True, slots=True)
class CandidateSearch:
    """How one of several candidates is chosen: by a share of a record's ε; the rest of it trains each of them.

    Attributes:
        epsilon: of training and choice together.
        share: of ε that chooses, in (0, 1).
        delta: δ, spent by approximate choosers only.
        mechanism: name of the chooser.
        candidates: k ≥ 1.
    """

    epsilon: Fraction
    share: Fraction
    delta: Fraction
    mechanism: str
    candidates: int

    @property
    def training_epsilon(self) -> Fraction:
        """α1: what is left of ε for each training; all of it where there is one candidate, and no choice."""
        return self.epsilon if self.candidates == 1 else self.epsilon * (1 - self.share)

    def chooser(self) -> Mechanism:
        """The chooser, with its share of ε. Raises BadParameter for mechanisms that cannot choose here."""
        return chooser_of(
            self.mechanism, epsilon=self.epsilon * self.share, delta=self.delta, candidates=self.candidates
        )

    def terms(
        self, train_size: int, validation_size: int, *, fallback: int, stable_delta: Fraction | None = None
    ) -> ValidationTerms:
        """The terms of a validation with these numbers of records.

        `stable_delta` is for stability, with what a pure chooser leaves; None: no stability rests on chance.
        """
        chooser = self.chooser()
        choice = self.delta if chooser.approximate else Fraction(0)
        return ValidationTerms.of(
            train_size=train_size,
            validation_size=validation_size,
            failure=0 if stable_delta is None else stable_delta + self.delta - choice,
            training_epsilon=self.training_epsilon,
            selection_epsilon=self.epsilon * self.share,
            selection_delta=choice,
            mechanism=chooser.name,
            caution=0,
            fallback=fallback,
        )
