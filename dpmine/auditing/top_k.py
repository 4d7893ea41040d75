"""The audit of private choices of k candidates: the law of the whole ordered list, list by list.

Candidates of a group are exchangeable, so lists count by the groups that they name. Places are kept: a list shows at
which of them nothing came, which is more than is released, and what the proofs guarantee
(docs/proofs/selection/composition.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpmine.auditing.pairs import ClaimScope, Group, Pair, PairSide, critical_gaps, structured
from dpmine.auditing.profile import DIRECT, NOTHING, Claim, Precision, measure_both
from dpmine.auditing.report import AuditRow
from dpmine.auditing.search import LAWS_KEPT, scope_of
from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.base import unit_reach
from dpmine.selection.mechanisms.report_noisy_max import MaxOfExponentials, MaxOfLaplaces
from dpmine.selection.top_k import LimitedDomainTopK, OneShot, Peeling, TopK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from fractions import Fraction

    from dpmine.selection.laws.profile import FloatArray, LevelLaw, Profile

COUNTS = (2, 3)
"""How many winners are audited: the number of lists grows with their power."""
SMALL_KBAR = 4

_EVERY = 3  # of the gaps, one serves the many structured pairs
_CROWD = 2**20


def top_k_rows(
    *,
    epsilon: Fraction,
    delta: Fraction,
    counts: Sequence[int] = COUNTS,
    names: Sequence[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[AuditRow]:
    """A row for every way to choose k candidates that has a law of one piece, every relation and every k.

    Args:
        epsilon: ε > 0 of the whole list.
        delta: δ in (0, 1) of the whole list; a way that needs none claims 0.
        counts: the numbers of winners; 4 take minutes.
        names: the mechanisms whose choices are repeated; all when None.
        progress: called with the fraction done.
    """
    ways = (way for relation in Neighbors for count in counts for way in _ways(count, epsilon, delta, relation))
    wanted = [way for way in ways if names is None or way.name in names]
    rows = []
    for done, way in enumerate(wanted, start=1):
        rows.append(audit_top_k(way))
        if progress is not None:
            progress(done / len(wanted))
    return rows


def _ways(count: int, epsilon: Fraction, delta: Fraction, neighbors: Neighbors) -> Iterator[TopK]:
    yield OneShot.of(count, epsilon, delta, neighbors)
    yield LimitedDomainTopK.of(count, epsilon, delta, neighbors, SMALL_KBAR)
    for kind in (MaxOfLaplaces, MaxOfExponentials):
        yield Peeling.of(count, kind(epsilon, delta * 0, neighbors), delta)


def audit_top_k(way: TopK) -> AuditRow:
    """The worst that the law of the list shows over structured pairs, in both directions, against its (ε, δ).

    Raises BadParameter for a way that is neither one-shot, limited-domain nor peeling.
    """
    if not isinstance(way, OneShot | LimitedDomainTopK | Peeling):
        raise BadParameter("Only one-shot, limited-domain and peeled choices have a law of lists.")
    once = way.mechanism
    scope, claim = scope_of(once), Claim(float(way.epsilon), float(way.delta))
    precision = Precision((way.count + 1) * DIRECT.relative, DIRECT.absolute)
    worst, masses = NOTHING, _masses_of(way)
    gaps = critical_gaps(once, scope)
    for pair in [*structured(scope, gaps[::_EVERY]), *_overtaking(scope, gaps, way.count)]:
        left, right = (masses(pair, side) for side in PairSide)
        worst = measure_both(left, right, claim, precision=precision, known=worst)
    return AuditRow.of(f"{way.name}, k = {way.count}", way.neighbors, way.epsilon, way.delta, worst)


def _overtaking(scope: ClaimScope, gaps: Sequence[float], count: int) -> Iterator[Pair]:
    """As many as there are places lead a crowd by a gap, or lie behind it, and all of them move apart from it."""
    down, up = min(scope.moves), max(scope.moves)
    for gap, crowd, dummies in product(gaps, (1, 2, _CROWD), scope.dummies):
        for leaders, others in ((0.0, gap), (gap, 0.0)):
            yield Pair((Group(1 + leaders, up, count), Group(1 + others, down, crowd)), dummies)


def _masses_of(way: TopK) -> Callable[[Pair, PairSide], FloatArray]:
    """The masses of all lists on one side of a pair; the same lists in the same order on both sides."""
    if isinstance(way, LimitedDomainTopK):
        return lambda pair, side: _Kept.of(pair, side, way).lists(way.count)
    law = lru_cache(LAWS_KEPT)(way.mechanism.law)
    return lambda pair, side: _peeled(pair, side, law, way.count)


def _peeled(pair: Pair | None, side: PairSide, law: Callable[[Profile], LevelLaw], count: int) -> FloatArray:
    """One list for each sequence of groups and "nothing"; a single one where no candidate or no place is left."""
    if pair is None or not count:
        return np.ones(1)
    *first, nothing = pair.masses(side, law(pair.profile(side)))
    after = [mass * _peeled(_without(pair, place), side, law, count - 1) for place, mass in enumerate(first)]
    return np.concatenate([*after, nothing * _peeled(pair, side, law, count - 1)])


def _without(pair: Pair, place: int) -> Pair | None:
    """What is left when a candidate of the group has been chosen; None where none is left."""
    group = pair.groups[place]
    smaller = (replace(group, count=group.count - 1),) if group.count > 1 else ()
    groups = (*pair.groups[:place], *smaller, *pair.groups[place + 1 :])
    return replace(pair, groups=groups) if groups else None


@dataclass(frozen=True)
class _Kept:
    """The k̄ best of limited-domain top-k: how many of each group, then of the dummies, and ⊥, with ln weights.

    Ties are in one order, dummies first and then the last groups: an observer who knows the order sees more, and must
    not see more than is guaranteed.
    """

    counts: tuple[int, ...]
    log_weights: tuple[float, ...]
    log_end: float

    @classmethod
    def of(cls, pair: Pair, side: PairSide, way: LimitedDomainTopK) -> _Kept:
        unit = float(unit_reach(way.neighbors))
        rate = float(way.round_epsilon) / unit
        scores = [*(group.at(side) for group in pair.groups), 0.0]
        sizes = [*(group.count for group in pair.groups), max(pair.dummies, way.kbar + 1)]
        left, counts, beyond = way.kbar, [0] * len(sizes), None
        for place in sorted(range(len(sizes)), key=lambda place: (-scores[place], -place)):
            counts[place] = min(left, sizes[place])
            left -= counts[place]
            if beyond is None and sizes[place] > counts[place]:
                beyond = scores[place]
        end = rate * ((beyond or 0.0) + unit) + np.log(way.kbar / float(way.slack))
        return cls(tuple(counts), tuple(rate * score for score in scores), float(end))

    def lists(self, count: int) -> FloatArray:
        """One list for each sequence of groups and dummies, and for each beginning of one that ⊥ ends."""
        if not count:
            return np.ones(1)
        *first, end = self.first
        after = [
            mass * self._without(place).lists(count - 1) if mass else np.zeros(_sequences(len(first), count - 1))
            for place, mass in enumerate(first)
        ]
        return np.concatenate([*after, [end]])

    @cached_property
    def first(self) -> FloatArray:
        """The law of what comes first: groups, dummies, ⊥."""
        counts = np.array([*self.counts, 1], dtype=np.float64)
        logs = np.array([*self.log_weights, self.log_end])
        weights = counts * np.exp(logs - logs[counts > 0].max(), where=counts > 0, out=np.zeros_like(logs))
        return np.asarray(weights / weights.sum())

    def _without(self, place: int) -> _Kept:
        counts = tuple(count - (number == place) for number, count in enumerate(self.counts))
        return replace(self, counts=counts)


def _sequences(kinds: int, count: int) -> int:
    """How many lists there are for so many places."""
    return 1 + kinds * _sequences(kinds, count - 1) if count else 1
