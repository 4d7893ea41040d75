from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every

from dpmine import BadParameter
from dpmine.models.validation.terms import Sensitivities, ValidationTerms, comparable
from dpmine.parameters import below_one, exact_share, not_negative

if TYPE_CHECKING:
    from collections.abc import Callable


def _terms(**changes: Any) -> ValidationTerms:
    sizes = {"train_size": 10, "validation_size": 10}
    return ValidationTerms.of(**{**sizes, "failure": 0, "training_epsilon": 1, "selection_epsilon": 1, **changes})


@every(
    ("read", "good", "bad", "hint"),
    [
        (not_negative, [0, "1/3", 10**100], [-1, "-1e-9", float("-inf")], "at least 0|finite"),
        (not_negative, [], [10**101, "1e-101"], "between 1e-100 and 1e100"),
        (below_one, [0, 0.5, "0.999"], [1, -1, "3/2"], "at least 0 and less than 1"),
        (exact_share, ["1e-200", 0.5], [0, 1, 2, -0.5], "strictly between 0 and 1"),
    ],
)
def test_ranges(read: Callable[[str, Any], Fraction], good: list[Any], bad: list[Any], hint: str) -> None:
    for value in good:
        assert read("share", value) == Fraction(value)
    for value in bad:
        with pytest.raises(BadParameter, match=f"share must .*({hint})"):
            read("share", value)


def test_messages_name_the_range_that_holds() -> None:
    assert _terms(caution=0).caution == 0
    with pytest.raises(BadParameter, match="caution must be at least 0"):
        _terms(caution=-1)
    with pytest.raises(BadParameter, match="failure must be at least 0 and less than 1"):
        _terms(failure=1)


def test_names_of_options() -> None:
    for name in ("uniform", Sensitivities.UNIFORM):
        assert _terms(sensitivities=name).sensitivities is Sensitivities.UNIFORM
    with pytest.raises(BadParameter, match="sensitivities must be 'candidate' or 'uniform'"):
        _terms(sensitivities="local")


@every("caution", [0, 1, 3])
@every("largest", [Fraction(2), Fraction(3)])
def test_one_record_moves_comparable_scores_by_their_sensitivity_at_most(caution: int, largest: Fraction) -> None:
    """On either side of the rule that takes the uniform scores, for any caution; scores that move the most."""
    steps = [Fraction(1), largest]
    read = {"epsilon": Fraction(1), "kind": Sensitivities.CANDIDATE, "caution": Fraction(caution)}
    here = comparable([Fraction(0), Fraction(5)], steps, **read)  # type: ignore[arg-type]
    there = comparable([steps[0], 5 - steps[1]], steps, **read)  # type: ignore[arg-type]
    moved = max(abs(one - other) for one, other in zip(here.scores, there.scores, strict=True))
    assert moved == here.sensitivity == there.sensitivity
    assert here.sensitivity == (2 if largest == 2 else 1), "similar sensitivities are taken for equal"
