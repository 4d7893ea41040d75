"""The audit: measure every mechanism's guarantee, of single choices and of choices of k, instead of trusting it.

The output distribution of k choices is that of the whole ordered list, list by list. Candidates of a group are
exchangeable, so lists count by the groups that they name. Places are kept: a list shows at which of them nothing came,
which is more than is released, and what the proofs guarantee (docs/proofs/selection/composition.md).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpmine.auditing.audit_report import AuditReport, AuditRow
from dpmine.auditing.pairs import (
    DIRECT,
    NOTHING,
    ClaimScope,
    Group,
    Pair,
    PairSide,
    Terms,
    Tolerance,
    critical_leads,
    measure_both,
    structured,
)
from dpmine.auditing.worst_pairs import (
    DEFAULT,
    DISTRIBUTIONS_KEPT,
    THOROUGH,
    Effort,
    audit_stages,
    audit_whole,
    scope_of,
)
from dpmine.errors import BadParameter, NotPrivate
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.parameters import Number, positive, probability
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.mechanism import lead_sensitivity
from dpmine.selection.mechanisms.report_noisy_max import MaxOfExponentials, MaxOfLaplaces
from dpmine.selection.recommend import MECHANISMS, unknown
from dpmine.selection.top_k import LimitedDomainTopK, OneShot, Peeling, TopK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpmine.selection.distributions.profile import FloatArray, LevelDistribution, Profile
    from dpmine.selection.mechanisms.mechanism import Mechanism


_SMALL_KBAR = 4  # of the lists that are audited

_EPSILON_FACTORS = (Fraction(1, 4), Fraction(1), Fraction(4))
_DELTA_FACTORS = (Fraction(1, 1000), Fraction(1), Fraction(1000))
_LARGEST_DELTA = Fraction(1, 4)


def audit(
    mechanism: str | None = None,
    *,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    thorough: bool = False,
    lists: bool = False,
    progress: Callable[[float], None] | None = None,
) -> AuditReport:
    """Measured privacy against claimed privacy, from exact output distributions on neighbouring public profiles.

    Args:
        mechanism: the name of one mechanism; all private ones when None.
        epsilon: ε > 0 claimed.
        delta: δ in (0, 1) claimed; pure mechanisms claim 0.
        thorough: search longer, and on a grid of ε and δ around the given ones; then there is a row for every point.
        lists: audit the choices of the 2 and 3 best candidates in place of single choices, where they have a closed
            form: one row for every way, relation and number; `thorough` changes nothing then.
        progress: called with the fraction done.

    Raises BadParameter for unusable parameters, NotPrivate for "exact".

    See Also:
        dpmine.audit: the public call.
    """
    names = _private_names() if mechanism is None else [_known(mechanism)]
    claimed = positive("epsilon", epsilon), probability("delta", delta)
    audits: list[Callable[[], AuditRow]]
    if lists:
        audits = [partial(audit_top_k, way) for way in _ways(*claimed) if way.name in names]
        if not audits:
            raise BadParameter(f"{names[0]} has no known output distribution of lists: drop `lists`, or the mechanism.")
    else:
        effort, bits, points = THOROUGH if thorough else DEFAULT, SystemBits(), _grid(*claimed, thorough=thorough)
        pure = [(e, Fraction(0)) for e, _ in points]
        audits = [
            partial(audit_mechanisms, MECHANISMS[name].audit_variants(*point, relation), effort=effort, bits=bits)
            for name, relation in product(names, Neighbors)
            for point in dict.fromkeys(points if MECHANISMS[name].approximate else pure)
        ]
    rows = []
    for done, each in enumerate(audits, start=1):
        rows.append(each())
        if progress is not None:
            progress(done / len(audits))
    return AuditReport(tuple(rows))


def audit_mechanisms(mechanisms: Sequence[Mechanism], *, effort: Effort, bits: BitSource) -> AuditRow:
    """The row of one mechanism: the worst of its variants, which share name, relation and claim, with its stages.

    Any implementation of `Mechanism` can be audited, registered or not. Requires: at least one.
    """
    first = mechanisms[0]
    worst = NOTHING
    for mechanism in mechanisms:
        worst = worst.worst(audit_whole(mechanism, effort=effort, bits=bits))
    stages = audit_stages(first, effort=effort, bits=bits)
    figures = first.epsilon, first.delta, worst.delta, worst.epsilon
    return AuditRow(first.name, first.neighbors, *figures, parts=tuple(stages))


def _private_names() -> list[str]:
    return [name for name, kind in MECHANISMS.items() if kind.private]


def _known(mechanism: str) -> str:
    name = str(mechanism).replace("-", "_")
    if name not in MECHANISMS:
        raise unknown(name, _private_names())
    if not MECHANISMS[name].private:
        raise NotPrivate(f"{name} claims no privacy, so there is nothing to audit: name another mechanism.")
    return name


def _grid(epsilon: Fraction, delta: Fraction, *, thorough: bool) -> list[tuple[Fraction, Fraction]]:
    """The points (ε, δ) to audit: the given one, and with `thorough` those around it."""
    if not thorough:
        return [(epsilon, delta)]
    deltas = [delta * factor for factor in _DELTA_FACTORS if factor <= 1 or delta * factor <= _LARGEST_DELTA]
    return list(product([epsilon * factor for factor in _EPSILON_FACTORS], deltas))


COUNTS = (2, 3)
"""How many winners are audited: the number of lists grows with their power; 4 take minutes."""

_EVERY = 3  # of the leads, one serves the many structured pairs
_CROWD = 2**20


def _ways(epsilon: Fraction, delta: Fraction) -> Iterator[TopK]:
    """Every way to choose k candidates whose output distribution has a closed form; one that needs no δ claims 0."""
    for neighbors, count in product(Neighbors, COUNTS):
        yield OneShot.of(count, epsilon, delta, neighbors)
        yield LimitedDomainTopK.of(count, epsilon, delta, neighbors, _SMALL_KBAR)
        for kind in (MaxOfLaplaces, MaxOfExponentials):
            yield Peeling.of(count, kind(epsilon, delta * 0, neighbors), delta)


def audit_top_k(way: TopK) -> AuditRow:
    """The worst that the list shows over structured pairs, in both directions, against its (ε, δ).

    Raises BadParameter for a way that is neither one-shot, limited-domain nor peeling.
    """
    if not isinstance(way, OneShot | LimitedDomainTopK | Peeling):
        raise BadParameter("Only one-shot, limited-domain and peeled lists can be audited.")
    once = way.mechanism
    scope, claim = scope_of(once), Terms(float(way.epsilon), float(way.delta))
    tolerance = Tolerance((way.count + 1) * DIRECT.relative, DIRECT.absolute)
    worst, masses = NOTHING, _masses_of(way)
    leads = critical_leads(once, scope)
    for pair in [*structured(scope, leads[::_EVERY]), *_overtaking(scope, leads, way.count)]:
        left, right = (masses(pair, side) for side in PairSide)
        worst = measure_both(left, right, claim, tolerance=tolerance, known=worst)
    figures = way.epsilon, way.delta, worst.delta, worst.epsilon
    return AuditRow(f"{way.name}, k = {way.count}", way.neighbors, *figures)


def _overtaking(scope: ClaimScope, leads: Sequence[float], count: int) -> Iterator[Pair]:
    """As many as there are places lead a crowd by a number, or lie behind it, and all of them move apart from it."""
    down, up = min(scope.moves), max(scope.moves)
    for lead, crowd, dummies in product(leads, (1, 2, _CROWD), scope.dummies):
        for leaders, others in ((0.0, lead), (lead, 0.0)):
            yield Pair((Group(1 + leaders, up, count), Group(1 + others, down, crowd)), dummies)


def _masses_of(way: TopK) -> Callable[[Pair, PairSide], FloatArray]:
    """The masses of all lists on one side of a pair; the same lists in the same order on both sides."""
    if isinstance(way, LimitedDomainTopK):
        return lambda pair, side: _kept_lists(*_kept(pair, side, way), way.count)
    distribution = lru_cache(DISTRIBUTIONS_KEPT)(way.mechanism.distribution)
    return lambda pair, side: _peeled(pair, side, distribution, way.count)


def _peeled(
    pair: Pair | None, side: PairSide, distribution: Callable[[Profile], LevelDistribution], count: int
) -> FloatArray:
    """One list for each sequence of groups and "nothing"; a single one where no candidate or no place is left."""
    if pair is None or not count:
        return np.ones(1)
    *first, nothing = pair.masses(side, distribution(pair.profile(side)))
    after = [mass * _peeled(_without(pair, place), side, distribution, count - 1) for place, mass in enumerate(first)]
    return np.concatenate([*after, nothing * _peeled(pair, side, distribution, count - 1)])


def _without(pair: Pair, place: int) -> Pair | None:
    """What is left when a candidate of the group has been chosen; None where none is left."""
    group = pair.groups[place]
    smaller = (replace(group, count=group.count - 1),) if group.count > 1 else ()
    groups = (*pair.groups[:place], *smaller, *pair.groups[place + 1 :])
    return replace(pair, groups=groups) if groups else None


def _kept(pair: Pair, side: PairSide, way: LimitedDomainTopK) -> tuple[FloatArray, FloatArray]:
    """The k̄ best of limited-domain top-k: how many of each group, then of the dummies, and ⊥; and their ln weights.

    Ties are in one order, dummies first and then the last groups: an observer who knows the order sees more, and must
    not see more than is guaranteed.
    """
    u = float(lead_sensitivity(way.neighbors))
    rate = float(way.round_epsilon) / u
    scores = [*(group.at(side) for group in pair.groups), 0.0]
    sizes = [*(group.count for group in pair.groups), max(pair.dummies, way.kbar + 1)]
    left, counts, beyond = way.kbar, [0.0] * len(sizes), None
    for place in sorted(range(len(sizes)), key=lambda place: (-scores[place], -place)):
        counts[place] = min(left, sizes[place])
        left -= min(left, sizes[place])
        if beyond is None and sizes[place] > counts[place]:
            beyond = scores[place]
    end = rate * ((beyond or 0.0) + u) + np.log(way.kbar / float(way.leaving_delta))
    return np.array([*counts, 1.0]), np.array([*(rate * score for score in scores), end])


def _kept_lists(counts: FloatArray, logs: FloatArray, count: int) -> FloatArray:
    """One list for each sequence of groups and dummies, and for each beginning of one that ⊥ ends."""
    if not count:
        return np.ones(1)
    weights = counts * np.exp(logs - logs[counts > 0].max(), where=counts > 0, out=np.zeros_like(logs))
    *first, end = weights / weights.sum()
    after = [
        mass * _kept_lists(counts - one, logs, count - 1) if mass else np.zeros(_sequences(len(first), count - 1))
        for mass, one in zip(first, np.eye(counts.size), strict=False)
    ]
    return np.concatenate([*after, [end]])


def _sequences(kinds: int, count: int) -> int:
    """How many lists there are for a number of places."""
    return 1 + kinds * _sequences(kinds, count - 1) if count else 1
