"""Quadrature rules: integrals on panels, and sums over long runs of integers from a few nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import legendre

if TYPE_CHECKING:
    from dpmine.selection.laws.profile import FloatArray

BLOCK_NODES = 12

# Coefficients of the Euler-Maclaurin series, by derivative: at the integers, and half way between them.
_AT_INTEGERS = {0: -1 / 2, 1: 1 / 12, 3: -1 / 720, 5: 1 / 30240}
_HALF_WAY = {1: -1 / 24, 3: 7 / 5760, 5: -31 / 967680}


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes in increasing order and their weights, both of shape (nodes,)."""

    nodes: FloatArray
    weights: FloatArray


@cache
def gauss(order: int) -> Rule:
    """The Gauss-Legendre rule of `order` nodes on [−1, 1]."""
    nodes, weights = legendre.leggauss(order)
    return Rule(nodes, weights)


def panels(edges: FloatArray, *, step: float, order: int) -> Rule:
    """Gauss-Legendre on every interval between consecutive edges, cut into equal panels no wider than `step`.

    Requires: edges increasing, shape (≥ 2,); `order` ≥ 8. Panels narrower than 1/4 of the step get half of the nodes,
    those narrower than 1/16 four.
    """
    gaps = np.diff(edges)
    pieces = np.maximum(1, np.ceil(gaps / step)).astype(np.int64)
    widths = np.repeat(gaps / pieces, pieces)
    lefts = edges[0] + np.concatenate(([0.0], np.cumsum(widths[:-1])))
    orders = np.where(widths < step / 4, np.where(widths < step / 16, 4, order // 2), order)
    rules = [_on(lefts[orders == nodes], widths[orders == nodes], gauss(nodes)) for nodes in {order, order // 2, 4}]
    nodes = np.concatenate([rule.nodes for rule in rules])
    weights = np.concatenate([rule.weights for rule in rules])
    by_node = np.argsort(nodes)
    return Rule(nodes[by_node], weights[by_node])


def _on(lefts: FloatArray, widths: FloatArray, rule: Rule) -> Rule:
    """The rule on the intervals [left, left + width], one after the other."""
    nodes = lefts[:, None] + widths[:, None] * (rule.nodes + 1) / 2
    return Rule(nodes.ravel(), (widths[:, None] / 2 * rule.weights).ravel())


@dataclass(frozen=True, eq=False)
class SumRule:
    """Sums of a smooth function over the integers 0 … size − 1, from its values at `nodes`.

    `weights` (nodes,) give the whole sum, row k of `before` (nodes, nodes) the sum over the integers below node k
    (continued to real nodes as the Euler-Maclaurin formula does).
    """

    nodes: FloatArray
    weights: FloatArray
    before: FloatArray


@lru_cache(maxsize=512)  # doubling blocks have few sizes
def sum_rule(size: int) -> SumRule:
    """The rule of BLOCK_NODES Gauss-Legendre nodes on [−1/2, size − 1/2], corrected by Euler-Maclaurin.

    Law: exact for polynomials of degree < 7; for functions that vary on the scale of the block the error is that of
    the Legendre series. Source: Euler-Maclaurin, terms to the fifth derivative.
    """
    half = float(size) / 2
    series = _series()
    at_nodes = _euler_maclaurin(series.at_nodes, _AT_INTEGERS, 1 / half)
    left = _euler_maclaurin(series.left, _HALF_WAY, 1 / half)
    right = _euler_maclaurin(series.right, _HALF_WAY, 1 / half)
    nodes = half * gauss(BLOCK_NODES).nodes + (half - 0.5)
    return SumRule(nodes, half * (right - left)[0], half * (at_nodes - left))


def _euler_maclaurin(operators: dict[int, FloatArray], coefficients: dict[int, float], spacing: float) -> FloatArray:
    """The indefinite sum as integral plus derivatives; `operators[-1]` is the integral, [k] the k-th derivative."""
    total = operators[-1].copy()
    for derivative, coefficient in coefficients.items():
        total += coefficient * spacing ** (derivative + 1) * operators[derivative]
    return total


@dataclass(frozen=True, eq=False)
class _Series:
    """Integral (−1) and derivatives (0, 1, 3, 5) of the interpolating polynomial, as linear maps of its node values."""

    at_nodes: dict[int, FloatArray]
    left: dict[int, FloatArray]
    right: dict[int, FloatArray]


@cache
def _series() -> _Series:
    nodes = gauss(BLOCK_NODES).nodes
    coefficients = np.linalg.inv(legendre.legvander(nodes, BLOCK_NODES - 1))
    maps = {-1: legendre.legint(coefficients, lbnd=-1)}
    maps |= {order: legendre.legder(coefficients, order) for order in (0, 1, 3, 5)}

    def at(points: FloatArray) -> dict[int, FloatArray]:
        return {order: np.asarray(legendre.legvander(points, len(rows) - 1) @ rows) for order, rows in maps.items()}

    return _Series(at(nodes), at(np.array([-1.0])), at(np.array([1.0])))
