"""The law of the rank at which a search stops first, by one quadrature over its conditioning variable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmine.selection.laws.quadrature import Rule, panels
from dpmine.selection.laws.ranks import Nodes, Segment, Summation, batches, nodes_of

if TYPE_CHECKING:
    from dpmine.selection.laws.profile import FloatArray, IntArray, Ladder
    from dpmine.selection.laws.search import Search

_NEGLIGIBLE = 92.0  # events of probability below e^-92 = 1e-40 are left out
_PANELS = 4000  # at most, so that extreme ratios of scales stay affordable
_ORDER = 10
_TILE = 32  # rows of one matrix product: small enough that BLAS starts no threads, which cost more than they save
_VISIBLE = math.log(1e-11)  # a kink under less mass than this does no harm inside a panel
_CROWD = 160  # more tests than this before a kink kill it under any hazard


@dataclass(frozen=True, eq=False)
class Stops:
    """The mass at nodes of ranks, and the mass of never stopping.

    `masses`, `offsets` (members of the level included) and `levels` (of c(ℓ+1)) have shape (nodes,).
    """

    masses: FloatArray
    offsets: FloatArray
    levels: IntArray
    never: float


def first_stop(search: Search, ladder: Ladder, parts: list[Segment]) -> Stops:
    """The law of the first rank of `parts` where the search stops.

    Law: Pr[stop at ℓ] = ∫ density(x) p_ℓ(x) ∏_{j<ℓ} (1 − p_j(x)) dx, summed over the ranks a node stands for.
    """
    kept = _possible(search, ladder, parts)
    rule = _conditioning_rule(search, ladder, kept)
    passed = np.zeros(rule.nodes.size)  # −ln Pr[no stop so far | x], increasing in x
    nodes = [nodes_of(batch) for batch in batches(kept)]
    masses = [_advance(search, rule, passed, _targets(search, ladder, part), part) for part in nodes]
    return Stops(
        np.concatenate([*masses, np.zeros(0)]),
        np.concatenate([*(part.offsets for part in nodes), np.zeros(0)]),
        np.concatenate([*(part.levels for part in nodes), np.zeros(0, dtype=np.int64)]),
        float(rule.weights @ np.exp(-passed)),
    )


def _targets(search: Search, ladder: Ladder, nodes: Nodes) -> FloatArray:
    return _target(search, ladder, nodes.ranks, nodes.levels)


def _target(search: Search, ladder: Ladder, ranks: FloatArray, levels: IntArray) -> FloatArray:
    """T(ℓ) − q_ℓ: where the conditioning variable meets the threshold."""
    return np.asarray(search.threshold(ranks) - (ladder.scores[0] - ladder.scores[levels]))


def _possible(search: Search, ladder: Ladder, parts: list[Segment]) -> list[Segment]:
    """The segments where a stop is not negligible, under any conditioning variable times the density there.

    That product of exponentials is largest where the density has its peak, unless the hazard rises faster than the
    density falls: then at the end of the support.
    """
    ranks = np.array([float(part.rank) for part in parts])
    levels = np.array([part.level for part in parts], dtype=np.int64)
    peak = 0.0 if search.conditioning.scale <= search.scale else search.conditioning.support[1]
    best = (peak - _target(search, ladder, ranks, levels)) / search.scale
    kept = np.minimum(best, 0) + np.log1p(ranks) > -_NEGLIGIBLE
    return [part for part, keep in zip(parts, kept, strict=True) if keep]


def _advance(search: Search, rule: Rule, passed: FloatArray, targets: FloatArray, nodes: Nodes) -> FloatArray:
    """The stop mass of each node; adds the nodes' hazards to `passed` in place.

    Rows where everything is decided already, or nothing can happen here, are left out: hazards increase in x.
    """
    reach = float(targets.min()) - search.scale * (_NEGLIGIBLE + math.log(nodes.weights.sum()))
    first, last = np.searchsorted(rule.nodes, reach), np.searchsorted(passed, _NEGLIGIBLE)
    alive = slice(int(first) // _TILE * _TILE, -(-int(last) // _TILE) * _TILE)
    hazard, decay = search.hazard.at((rule.nodes[alive, None] - targets) / search.scale)
    sums = np.matmul(decay.reshape(-1, _TILE, targets.size), nodes.sums).reshape(-1, targets.size + 1)
    sums += passed[alive, None]
    passed[alive] = sums[:, -1]
    hazard *= np.exp(-sums[:, :-1])
    return np.asarray(np.einsum("x,xn->n", rule.weights[alive], hazard) * nodes.weights)


def _conditioning_rule(search: Search, ladder: Ladder, parts: list[Segment]) -> Rule:
    """Quadrature for the conditioning variable with its density in the weights, cut where a hazard has a kink."""
    low, high = search.conditioning.support
    kinks = _visible_kinks(search, ladder, parts)
    inside = kinks[(kinks > low) & (kinks < high)]
    edges = np.unique(np.concatenate(([low, 0.0, high], inside)))
    step = min(2 * search.scale, 4 * search.conditioning.scale)
    rule = panels(edges, step=max(step, (high - low) / _PANELS), order=_ORDER)
    filling = (0, -rule.nodes.size % _TILE)  # nodes without weight, up to whole tiles
    weights = rule.weights * search.conditioning.density(rule.nodes)
    return Rule(np.pad(rule.nodes, filling, mode="edge"), np.pad(weights, filling))


def _visible_kinks(search: Search, ladder: Ladder, parts: list[Segment]) -> FloatArray:
    """Where a hazard has its kink while enough mass is still undecided to see it."""
    each = [part for part in parts if part.summation is Summation.EACH]
    if not each:
        return np.zeros(0)
    sizes = [part.size for part in each]
    ranks = np.concatenate([float(part.rank) + np.arange(part.size) for part in each])
    kinks = _target(search, ladder, ranks, np.repeat([part.level for part in each], sizes))
    decay = search.hazard.at(np.array([0.0, -1.0]))[1]
    lost = np.maximum(decay[0] * _crowd(kinks, 0.0), decay[1] * _crowd(kinks, search.scale))
    far = np.abs(kinks) / (1.5 * search.conditioning.scale)
    return np.asarray(kinks[-lost - far > _VISIBLE])


def _crowd(kinks: FloatArray, slack: float) -> IntArray:
    """For every kink, how many earlier ones lie below it or at most `slack` above (counted up to about _CROWD)."""
    counts = []
    lowest = np.zeros(0)
    for start in range(0, kinks.size, 64):
        part = kinks[start : start + 64]
        reach = part[:, None] + slack
        counts.append((lowest <= reach).sum(axis=1) + np.tril(part <= reach, -1).sum(axis=1))
        lowest = np.sort(np.concatenate((lowest, part)))[:_CROWD]
    return np.concatenate(counts)
