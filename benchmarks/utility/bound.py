"""What no mechanism can reach on a data set: lower bounds on the missing share of the k best.

*Exchange.* Let d units make the j-th and the i-th best candidate exchange their supports. A mechanism that treats
names alike then lists i without j at least e^(−εd) times as often as j without i, by privacy of groups. The k best are
matched with the next k, the last with the first. If x is how probable it is that j is missing, and y that i is listed,
x ≥ e^(−εd)(1 − x − y), and the ys add up to no more than the xs. The bound is the least mean of the xs.

*Packing.* The k-th best support s is reached by any of N candidates if s units change. So on average a candidate that
leads by this much is listed with probability at most k e^(εs)/N: nothing can be found where ε is below ln(N/k)/s.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog

if TYPE_CHECKING:
    from collections.abc import Sequence


def least_missing(supports: Sequence[int], k: int, epsilon: float) -> float:
    """By exchange. Requires: the 2k best supports, in order, and δ = 0."""
    ratios = np.array([exp(-epsilon * (supports[k - 1 - place] - supports[k + place])) for place in range(k)])
    exchanged = np.hstack([-np.diag(1 + ratios), -np.diag(ratios)])
    in_all = np.hstack([-np.ones(k), np.ones(k)])
    found = linprog(
        np.hstack([np.ones(k), np.zeros(k)]),
        A_ub=np.vstack([exchanged, in_all]),
        b_ub=np.append(-ratios, 0),
        bounds=(0, 1),
    )
    return float(found.fun) / k


def least_epsilon(candidates: int, k: int, support: int) -> float:
    """By packing."""
    return log(candidates / k) / support
