"""The audit: measure every mechanism's guarantee instead of trusting it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from dpmine.auditing.profile import NOTHING
from dpmine.auditing.report import AuditReport, AuditRow
from dpmine.auditing.search import DEFAULT, THOROUGH, Effort, audit_stages, audit_whole
from dpmine.auditing.top_k import top_k_rows
from dpmine.errors import BadParameter, NotPrivate
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.parameters import Number, positive, probability
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.bounded_growth import BoundedGrowth
from dpmine.selection.mechanisms.limited_domain import LimitedDomain
from dpmine.selection.mechanisms.registry import MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.selection.mechanisms.base import Mechanism

GROWTH = 10
"""The growth that bounded_growth is audited with: its claim has the same form for all."""
SMALL_KBAR = 4
"""limited_domain is audited with this k̄ and with its default."""

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
    """Measured privacy against claimed privacy, from the exact laws on pairs of neighbouring public profiles.

    Args:
        mechanism: the name of one mechanism; all private ones when None.
        epsilon: ε > 0 claimed.
        delta: δ in (0, 1) claimed; pure mechanisms claim 0.
        thorough: search longer, and on a grid of ε and δ around the given ones; then there is a row for every point.
        lists: audit the choices of the 2 and 3 best candidates in place of single choices, where they have a law of one
            piece: one row for every way, relation and number; `thorough` changes nothing then.
        progress: called with the fraction done.

    Raises BadParameter for unusable parameters, NotPrivate for "exact".

    Example:
        >>> audit("exponential", epsilon="1/2").holds
        True

    See Also:
        dpmine.auditing.epsilon_lower_bound: for code whose output distribution is unknown.
        dpmine.law: the law of a mechanism on scores of your own.
    """
    names = _private_names() if mechanism is None else [_known(mechanism)]
    claimed = positive("epsilon", epsilon), probability("delta", delta)
    if lists:
        rows = top_k_rows(epsilon=claimed[0], delta=claimed[1], names=names, progress=progress)
        if not rows:
            raise BadParameter(f"{names[0]} has no law of lists to audit: drop lists (--lists), or the mechanism.")
        return AuditReport(tuple(rows))
    points = _grid(*claimed, thorough=thorough)
    jobs = [
        (name, relation, *point)
        for name, relation in product(names, Neighbors)
        for point in dict.fromkeys(points if MECHANISMS[name].approximate else [(e, Fraction(0)) for e, _ in points])
    ]
    effort, bits = THOROUGH if thorough else DEFAULT, SystemBits()
    rows = []
    for done, job in enumerate(jobs, start=1):
        rows.append(audit_mechanisms(variants(*job), effort=effort, bits=bits))
        if progress is not None:
            progress(done / len(jobs))
    return AuditReport(tuple(rows))


def variants(name: str, neighbors: Neighbors, epsilon: Fraction, delta: Fraction) -> list[Mechanism]:
    """The mechanism of that name with every set of options that it is audited with."""
    kind = MECHANISMS[name]
    if kind is BoundedGrowth:
        return [BoundedGrowth(epsilon, delta, neighbors, GROWTH)]
    if kind is LimitedDomain:
        return [LimitedDomain(epsilon, delta, neighbors, SMALL_KBAR), LimitedDomain(epsilon, delta, neighbors)]
    return [kind(epsilon, delta, neighbors)]


def audit_mechanisms(mechanisms: Sequence[Mechanism], *, effort: Effort, bits: BitSource) -> AuditRow:
    """The row of one mechanism: the worst of its variants, which share name, relation and claim, with its stages.

    Any implementation of `Mechanism` can be audited, registered or not. Requires: at least one.
    """
    first = mechanisms[0]
    worst = NOTHING
    for mechanism in mechanisms:
        worst = worst.worst(audit_whole(mechanism, effort=effort, bits=bits))
    stages = audit_stages(first, effort=effort, bits=bits)
    return AuditRow.of(first.name, first.neighbors, first.epsilon, first.delta, worst, parts=stages)


def _private_names() -> list[str]:
    return [name for name, kind in MECHANISMS.items() if kind.private]


def _known(mechanism: str) -> str:
    name = str(mechanism).replace("-", "_")
    if name not in MECHANISMS:
        raise BadParameter(f"mechanism must be one of: {', '.join(_private_names())}.")
    if not MECHANISMS[name].private:
        raise NotPrivate(f"{name} claims no privacy, so there is nothing to audit: name another mechanism.")
    return name


def _grid(epsilon: Fraction, delta: Fraction, *, thorough: bool) -> list[tuple[Fraction, Fraction]]:
    """The points (ε, δ) to audit: the given one, and with `thorough` those around it."""
    if not thorough:
        return [(epsilon, delta)]
    deltas = [delta * factor for factor in _DELTA_FACTORS if factor <= 1 or delta * factor <= _LARGEST_DELTA]
    return list(product([epsilon * factor for factor in _EPSILON_FACTORS], deltas))
