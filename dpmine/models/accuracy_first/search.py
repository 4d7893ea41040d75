"""The search: hypotheses of falling noise, one after the other, until one is near enough to the best."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from dpmine.models.accuracy_first.above_threshold import first_above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.models.accuracy_first.above_threshold import ThresholdTest
    from dpmine.models.supervised import Floats

_LARGEST_BATCH = 32  # hypotheses whose risks are computed at a time


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a search ended.

    Attributes:
        step: of the accepted hypothesis, from 0; None when none was accepted.
        weights: the accepted hypothesis, otherwise the last one.
        price: ex-post privacy loss of the step and of all hypotheses up to it.
    """

    step: int | None
    weights: Floats
    price: Fraction


def search(
    hypotheses: Iterable[Floats],
    epsilons: Sequence[Fraction],
    queries: Callable[[Floats], list[Fraction]],
    test: ThresholdTest,
    *,
    bits: BitSource,
) -> Outcome:
    """The first hypothesis that the test accepts, for ε_0 + ε_t; or the last, for the price of accepting none + ε_T.

    Requires: the first t hypotheses are ε_t-private; each lies in the ball where `queries`, of hypotheses of shape
    (k, p), have sensitivity 1. Source: Ligett et al. 2017, Algorithm 3 and Lemma 2.8.
    """
    seen: list[Floats] = []

    def answers() -> Iterator[Fraction]:
        for batch in _batches(hypotheses):
            seen.extend(batch)
            yield from queries(np.array(batch))

    step = first_above(test, answers(), bits=bits)
    if step is None:
        return Outcome(None, seen[-1], test.price_of_none + epsilons[-1])
    return Outcome(step, seen[step], test.price + epsilons[step])


def _batches(hypotheses: Iterable[Floats]) -> Iterator[list[Floats]]:
    """1, 2, 4, … at a time: few are computed in vain when one of the first will do."""
    rest, size = iter(hypotheses), 1
    while batch := list(islice(rest, size)):
        yield batch
        size = min(2 * size, _LARGEST_BATCH)
