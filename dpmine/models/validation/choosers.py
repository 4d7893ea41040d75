"""Which mechanisms may choose among validation scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors
from dpmine.selection.select import AUTO, MECHANISMS, build_mechanism, plain_name, resolve

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.selection.mechanisms.base import Mechanism

DEFAULT = "max_of_exponentials"

_REFUSED = {
    "limited_domain": "limited_domain pads the candidates with dummies of score 0, which beat every negative score",
    "bounded_growth": "bounded_growth needs counts that start at 0, and validation scores are real numbers",
    "exact": "exact is not private (experiments.validation_baselines.control does it for comparisons)",
}


def require_replace_one(neighbors: str | Neighbors) -> None:
    """BadParameter, with the reason, for any relation but replace_one."""
    if Neighbors.parse(neighbors) is not Neighbors.REPLACE_ONE:
        raise BadParameter(
            "Validation needs neighbors='replace_one': its bounds divide by the numbers of training and validation "
            "records, so these are public, and add_remove would have to hide them."
        )


def chooser_of(name: str, *, epsilon: Fraction, delta: Fraction, candidates: int) -> Mechanism:
    """The mechanism in its general, replace_one form; `delta` = 0 where only pure ones can be paid for.

    "auto" is max_of_exponentials with δ = 0, else the engine's recommendation for so many candidates.
    Raises BadParameter for mechanisms that cannot choose here, with the reason.
    """
    plain = _resolved(plain_name(name), epsilon=epsilon, delta=delta, candidates=candidates)
    kind = MECHANISMS.get(plain)
    if kind is None or plain in _REFUSED:
        reason = f"{_REFUSED[plain]}; " if plain in _REFUSED else ""
        raise BadParameter(f"{reason}mechanism must be one of: {', '.join([AUTO, *allowed()])}.")
    if kind.approximate and not delta:
        raise BadParameter(f"{plain} needs a δ of its own for the choice: give one greater than 0.")
    return build_mechanism(plain, epsilon=epsilon, delta=delta, neighbors=Neighbors.REPLACE_ONE)


def allowed() -> list[str]:
    """The mechanisms that may choose."""
    return [name for name in MECHANISMS if name not in _REFUSED]


def _resolved(plain: str, *, epsilon: Fraction, delta: Fraction, candidates: int) -> str:
    if plain != AUTO:
        return plain
    if not delta:
        return DEFAULT
    relation = Neighbors.REPLACE_ONE
    found = resolve(AUTO, epsilon=epsilon, delta=delta, neighbors=relation, candidates=candidates, are_counts=False)
    return found.mechanism
