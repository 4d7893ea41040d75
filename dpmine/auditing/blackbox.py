"""Confidence bounds on the probabilities of an event, from samples alone.

`lower_bounds` and `upper_bounds` are for one probability. `joint_bounds` is for the two probabilities of an event on
neighbouring inputs. All audits by sampling take their figures from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpmine.selection.distributions.profile import FloatArray

_ROUNDING = 1e-9  # relative: the error of scipy's inverses of incomplete gamma and beta functions
_CELLS = 400  # of the border of a joint region: their width loses less than 1 % of the distance to the estimate


def lower_bounds(hits: FloatArray, trials: int, miss: float | FloatArray) -> FloatArray:
    """Bounds that are above the success probabilities with probability at most `miss` each.

    Shapes: `hits` and `miss` are numbers or arrays that broadcast against each other.
    Source: Clopper & Pearson 1934, rounded down.
    """
    from scipy.special import betaincinv

    bounds = betaincinv(np.maximum(hits, 1), trials - hits + 1, miss)
    return np.where(hits == 0, 0.0, bounds * (1 - _ROUNDING))


def upper_bounds(hits: FloatArray, trials: int, miss: float | FloatArray) -> FloatArray:
    """Bounds that are below the success probabilities with probability at most `miss` each, rounded up."""
    from scipy.special import betainccinv

    bounds = betainccinv(hits + 1, np.maximum(trials - hits, 1), miss)
    return np.where(hits == trials, 1.0, np.minimum(1.0, bounds * (1 + _ROUNDING)))


def joint_bounds(hits: int, hits_neighbor: int, trials: int, miss: float) -> tuple[FloatArray, FloatArray]:
    """Corners (p from below, p' from above) of a region that holds both probabilities, except with probability `miss`.

    The true (p, p') has p ≥ above[i] and p' ≤ below[i] for at least one i. A figure that rises with p and falls with p'
    is therefore at least its smallest value over the corners. Shapes: (cells,) both; `trials` is of each side.

    Law: let U = Pr[Bin(trials, p) ≥ hits] and U' = Pr[Bin(trials, p') ≤ hits_neighbor]. For the true probabilities,
    both are independent and at most u with probability at most u. So U·U' ≤ c has probability at most c (1 − ln c),
    which is `miss`. The region is U·U' > c. A cell of its border is t < U ≤ t⁺; there, U' > c/t⁺.
    Source: Fisher 1932, section 21.1 (the product); Clopper & Pearson 1934 (the bounds at each t).
    """
    log_level = joint_level(miss)
    steps = np.linspace(log_level, 0.0, _CELLS + 1)
    above = lower_bounds(np.array(float(hits)), trials, np.exp(steps[:-1]))
    below = upper_bounds(np.array(float(hits_neighbor)), trials, np.minimum(1.0, np.exp(log_level - steps[1:])))
    return above, below


def joint_level(miss: float) -> float:
    """The logarithm of c, where c (1 − ln c) = `miss`; rounded down.

    Source: −2 ln(U·U') has at most a χ² distribution with 4 degrees of freedom (Fisher 1932).
    """
    from scipy.special import chdtri

    return float(-chdtri(4, miss) / 2 * (1 + _ROUNDING))
