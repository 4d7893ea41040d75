"""Events: ways to look at outcomes, and the choice among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every

from dpmine.auditing import Claim
from dpmine.auditing.targets.events import choose_event, frozen, measure_event, views
from dpmine.auditing.targets.sampling import Raised, Sampler

if TYPE_CHECKING:
    from collections.abc import Sequence

PURE = Claim(1)


def shown(left: Sequence[Any], right: Sequence[Any]) -> tuple[str, float]:
    """The event chosen from all outcomes, and what they show of it again."""
    chosen = choose_event(left, right, PURE, 0.05)
    return str(chosen.event), measure_event(chosen, left, right, PURE, 0.05).evidence.measured


BOTH = list(range(1000))


@every(
    ("left", "right", "seen"),
    [
        (["a"] * 900 + ["b"] * 100, ["a"] * 100 + ["b"] * 900, "the outcome is"),
        ([None] * 900 + [1] * 100, [None] * 100 + [1] * 900, "the outcome is"),
        ([x / 7 for x in BOTH], [x / 7 + 100 for x in BOTH], "the outcome is"),
        ([(1, x) for x in BOTH], [(2, x) for x in BOTH], "entry 0 is"),
        ([[x, 0] for x in BOTH], [[x] for x in BOTH], "the number of entries is"),
        ([np.array([x, 1]) for x in BOTH], [np.array([x, 2]) for x in BOTH], "entry 1 is"),
        ([{"a": x, "b": 1} for x in BOTH], [{"a": x} for x in BOTH], "the number of keys is"),
        ([{"a": x, "b": 1} for x in BOTH], [{"a": x, "b": 2} for x in BOTH], "the value of 'b' is"),
        ([x + 2.0**-30 for x in BOTH], [x + 2.0**-31 for x in BOTH], "the lowest bit of the outcome"),
        ([x + 0.25 for x in BOTH], [x + 0.75 for x in BOTH], "the fraction of the outcome is 0.25"),
        ([Raised("KeyError")] * 1000, [3] * 1000, "the outcome is raised KeyError"),
        ([10**400] * 1000, [-(10**400), 0.5] * 500, "the outcome is"),
        ([(10**400, 1)] * 1000, [(-(10**400), 0.5)] * 1000, "the outcome is"),
    ],
)
def test_what_differs_is_found(left: Sequence[Any], right: Sequence[Any], seen: str) -> None:
    event, figure = shown(left, right)
    assert event.startswith(seen)
    assert figure > 1
    assert shown(right, left)[1] == pytest.approx(figure, rel=0.2)  # in the other direction, too


def test_bits_are_looked_at_only_if_asked() -> None:
    assert len(views([0.5])) > len(views([0.5], bits=False)) == 1
    chosen = choose_event([x + 2.0**-30 for x in BOTH], [x + 2.0**-31 for x in BOTH], PURE, 0.05, bits=False)
    assert chosen.evidence.measured == 0


@every("outcomes", [[1, 1, 1], [0.5, float("nan"), float("inf")], [set(), {1}], [{}, {"a": [1]}], [[], [[1]]]])
def test_equal_outcomes_show_nothing(outcomes: list[Any]) -> None:
    assert shown(outcomes * 100, outcomes * 100)[1] == 0


@every(
    ("outcome", "same"),
    [
        (np.float64(0.5), 0.5),
        (np.array([1, 2]), (1, 2)),
        ([1, [2]], (1, (2,))),
        ({"a": [1]}, frozenset([("a", (1,))])),
        (float("nan"), "not a number"),
    ],
)
def test_outcomes_of_all_types_can_be_counted(outcome: Any, same: Any) -> None:
    assert frozen(outcome) == same


def test_an_exception_is_an_outcome() -> None:
    def raising(data: int) -> int:
        if data:
            raise KeyError("secret")
        return 1

    sampler = Sampler(raising)
    assert sampler.outcomes(1, 3) == [Raised("KeyError")] * 3
    assert sampler.outcomes(0, 2) == [1, 1]
    assert sampler.draws == 5


def test_a_batch_is_asked_for_at_once() -> None:
    class Batch:
        def sample(self, data: int, count: int) -> list[int]:
            return [data] * count

    assert Sampler(Batch()).outcomes(4, 3) == [4, 4, 4]
