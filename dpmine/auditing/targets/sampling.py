"""Outcomes of a mechanism by running it.

An exception is an outcome too: that it was raised can be seen. Its text is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpmine.auditing.targets.neighbours import Pair

    Runs: TypeAlias = "Callable[[Any], object] | Batch"


@dataclass(frozen=True, slots=True)
class Raised:
    """The outcome of a run that raised an exception of this class."""

    kind: str

    def __str__(self) -> str:
        return f"raised {self.kind}"


@runtime_checkable
class Batch(Protocol):
    """A mechanism that gives many outcomes at once."""

    def sample(self, data: Any, count: int, /) -> Iterable[object]:
        """`count` independent outcomes."""
        ...


@dataclass
class Sampler:
    """Runs a mechanism, and counts what that takes.

    Attributes:
        mechanism: called with a data set; or it has `sample(data, count)`, which gives a list of outcomes.
        draws: how many runs there were.
        seconds: how long they took.
    """

    mechanism: Runs
    draws: int = 0
    seconds: float = 0.0

    def both(self, pair: Pair, count: int) -> tuple[list[object], list[object]]:
        """`count` independent outcomes on each side."""
        left, right = pair.sides()
        return self.outcomes(left, count), self.outcomes(right, count)

    def outcomes(self, data: object, count: int) -> list[object]:
        """`count` independent outcomes."""
        start = perf_counter()
        if isinstance(self.mechanism, Batch):
            outcomes = list(self.mechanism.sample(data, count))
        else:
            outcomes = [_run(self.mechanism, data) for _ in range(count)]
        if len(outcomes) != count:
            raise BadParameter(
                "sample(data, count) of the mechanism must give as many outcomes: give one for a run that failed, too, "
                "because to leave it out changes the probabilities."
            )
        self.seconds += perf_counter() - start
        self.draws += count
        return outcomes

    @property
    def speed(self) -> float:
        """Seconds of one run, so far."""
        return max(1e-9, self.seconds / max(1, self.draws))


def _run(mechanism: Callable[[Any], object], data: object) -> object:
    try:
        return mechanism(data)
    except Exception as error:  # noqa: BLE001 - any exception of the mechanism is visible from outside
        return Raised(type(error).__name__)


def all_raised(outcomes: Sequence[object]) -> bool:
    """Whether every run raised."""
    return all(isinstance(outcome, Raised) for outcome in outcomes)
