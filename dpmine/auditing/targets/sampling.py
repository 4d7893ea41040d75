"""Outcomes of a mechanism by running it, here or in an environment of its own, where dpmine need not be installed.

An exception is an outcome too: that it was raised can be seen. Its text is not looked at.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any, Protocol, Self, TypeAlias, runtime_checkable

from dpmine.auditing.targets.claims import Claim
from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpmine.auditing.targets.neighbours import Pair

    Runs: TypeAlias = "Callable[[Any], object] | Batch"
    from types import TracebackType


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


_WORKER = Path(__file__).with_name("worker.py")


class InEnvironment:
    """A function of a module, run by another Python: a mechanism for `audit`.

    Data sets and outcomes pass through JSON: lists, dicts with texts as keys, numbers, texts, None. Floats stay exact.

    Args:
        python: the interpreter of the environment, such as ".venv-peers/bin/python". It needs no dpmine.
        target: the function, as "module:function".
        folder: where the module is; the current one by default.

    Use it in a `with` block, which ends the process. Raises BadParameter where the process cannot be started, or ends.

    Example:
        >>> import sys
        >>> with InEnvironment(sys.executable, "operator:neg") as negated:
        ...     negated.sample(3, 2)
        [-3, -3]
    """

    def __init__(self, python: str | Path, target: str, folder: str | Path = ".") -> None:
        module, _, function = target.partition(":")
        if not (module and function):
            raise BadParameter("A target is written module:function, such as noise:noisy_max.")
        self._name = target
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the caller's interpreter and code, without a shell
                [str(python), str(_WORKER), module, function],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=folder,
                text=True,
                encoding="utf-8",
            )
        except OSError:
            raise BadParameter(f"Cannot start {python} in {folder}: name a Python interpreter and a folder.") from None

    def sample(self, data: object, count: int) -> list[object]:
        """`count` outcomes of runs on `data`; runs that raised as `Raised`."""
        answers = self._ask({"data": data, "count": count})
        return [Raised(answer) if isinstance(answer, str) else answer[0] for answer in answers]

    def claim(self, function: str) -> Claim:
        """What the module's function of this name claims.

        It takes no argument. It returns {"epsilon": …, "delta": …}, {"rho": …}, or {"profile": [[ε, δ], …]} with rising
        ε. It may also return an event of dp_accounting, whose privacy profile its accountant computes.
        """
        terms = self._ask({"claim": function})
        return Claim(profile=_Steps(terms["profile"])) if "profile" in terms else Claim(**terms)

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # it has ended already
                _open(pipe).close()
        self._process.wait()

    def _ask(self, question: dict[str, object]) -> Any:
        try:
            print(json.dumps(question), file=_open(self._process.stdin), flush=True)
            answer = _open(self._process.stdout).readline()
        except OSError:
            answer = ""
        if not answer:
            raise BadParameter(f"The process of {self._name} ended: what it says is on the standard error, above.")
        return json.loads(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Steps:
    """A profile known at some ε: between them that of the next smaller one, and 1 below the first."""

    def __init__(self, points: list[list[float]]) -> None:
        self._points = points

    def __call__(self, epsilon: float) -> float:
        return next((delta for at, delta in reversed(self._points) if at <= epsilon), 1.0)


def _open(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise AssertionError  # both were asked for
    return pipe
