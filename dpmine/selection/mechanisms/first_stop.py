"""The first stop of a sequence of independent trials, without trying them one by one: the margin mechanisms' search.

Trial ℓ stops with probability p_ℓ(c(ℓ + 1)). From ℓ = 2 on it falls with ℓ, and it rises when the score falls. In a
block of ranks the trials are thinned. A geometric jump under a common ceiling P ≥ p_ℓ proposes a rank, which is
accepted with probability p_ℓ/P; otherwise the search goes on behind it. Blocks are chosen from earlier draws only,
never from later ones. So the output distribution is that of the loop.
Proof: docs/proofs/selection/first_stop.md.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Generic, Protocol

from dpmine.exact.reals import Constant, Formula, Real, StandardExponential, Uniform, floor, less_than
from dpmine.selection.universes.protocol import C

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.protocol import Score
    from dpmine.selection.universes.ranking import AnyRanking


class Hazard(Protocol):
    """The probability of stopping at a rank, given everything before.

    Requires: it does not rise when the score does, nor, from rank 2 on, when the rank does.
    """

    def probability(self, rank: int, score: Score) -> Real:
        """p_ℓ at rank ℓ if c(ℓ + 1) = score."""
        ...

    def log_survival(self, rank: int, score: Score) -> Real:
        """ln(1 − p_ℓ), −∞ where the stop is certain."""
        ...

    def is_certain(self, rank: int, score: Score) -> bool:
        """Whether p_ℓ = 1."""
        ...


def first_stop(hazard: Hazard, ranking: AnyRanking[C], *, bits: BitSource) -> int | None:
    """The first ℓ < `ranking.length` at which trial ℓ stops; None when none does."""
    return _Search(hazard, ranking, bits).run()


class _Search(Generic[C]):
    def __init__(self, hazard: Hazard, ranking: AnyRanking[C], bits: BitSource) -> None:
        self._hazard = hazard
        self._ranking = ranking
        self._bits = bits
        self._span = 4

    def run(self) -> int | None:
        rank = 1
        while rank < self._ranking.length:
            end = self._block_end(rank)
            ceiling = self._ranking.score_at_least(end)
            landing = self._proposal(rank, end, ceiling)
            if landing is None:
                rank = end
            elif self._accepts(landing, rank, ceiling):
                return landing
            else:
                rank = landing + 1
        return None

    def _block_end(self, rank: int) -> int:
        """The end (exclusive) of a block that starts at `rank`.

        Rank 1 is a block of its own, because p_1 may lie below p_2. A run of equal scores may be doubled through: there
        the hazard falls slowly. Beyond that a block is as long as its ceiling leaves at most half a proposal on
        average.
        """
        if rank == 1:
            return 2
        safe = self._end_of_equal_scores(rank)
        while True:
            end = min(rank + self._span, self._ranking.length)
            if end <= safe:
                self._span = _longer(self._span)
                return safe
            if self._is_quiet(rank, end):
                self._span = _longer(self._span)
                return end
            self._span = _shorter(self._span)

    def _end_of_equal_scores(self, rank: int) -> int:
        """Trials rank … end − 1 all look at the score of rank + 1; unknown scores share one lower bound."""
        if rank + 1 > self._ranking.known:
            return min(2 * rank, self._ranking.length)
        return min(2 * rank, self._ranking.end_of_run(rank + 1), self._ranking.length)

    def _is_quiet(self, rank: int, end: int) -> bool:
        """Whether the ceiling of the block makes at most half a proposal."""
        score = self._ranking.score_at_least(end)
        if self._hazard.is_certain(rank, score):
            return False
        half = Constant(Fraction(1, 2 * (end - rank)))
        return less_than(self._hazard.probability(rank, score), half, bits=self._bits)

    def _proposal(self, rank: int, end: int, score: Score) -> int | None:
        """The rank where a geometric jump under the ceiling at (rank, score) lands; None when beyond the block."""
        if self._hazard.is_certain(rank, score):
            return rank
        log_survival = self._hazard.log_survival(rank, score)
        jump = StandardExponential(bits=self._bits)
        block = Formula(lambda s: -s * (end - rank), log_survival)
        if less_than(block, jump, bits=self._bits):
            return None
        return rank + floor(Formula(lambda e, s: -e / s, jump, log_survival), bits=self._bits)

    def _accepts(self, landing: int, start: int, ceiling_score: Score) -> bool:
        """Accept with probability p/ceiling; unknown scores are looked up only if even the lowest could accept."""
        ceiling = self._hazard.probability(start, ceiling_score)
        test = Formula(lambda u, p: u * p, Uniform(bits=self._bits), ceiling)
        bound = self._ranking.score_at_least(landing + 1)
        if (landing, bound) != (start, ceiling_score) and not self._below(test, landing, bound):
            return False
        score = self._ranking.score(landing + 1)
        if (landing, score) == (start, ceiling_score):
            return True
        return score == bound or self._below(test, landing, score)

    def _below(self, test: Real, rank: int, score: Score) -> bool:
        return less_than(test, self._hazard.probability(rank, score), bits=self._bits)


def _longer(span: int) -> int:
    return 4 * span if span < 64 else span * span


def _shorter(span: int) -> int:
    return max(1, span // 4 if span <= 256 else isqrt(span))
