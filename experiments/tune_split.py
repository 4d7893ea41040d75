"""How the budget split of large_margin_tight was chosen: the lead it needs on four shapes of supports (exact laws).

Usage: python experiments/tune_split.py [--epsilon 1] [--delta 1e-6]; prints the lead needed for success 0.95.
"""

import argparse
from collections.abc import Callable
from fractions import Fraction
from itertools import product

from dpmine.privacy import Neighbors
from dpmine.selection.laws.profile import Profile
from dpmine.selection.mechanisms.large_margin import LargeMarginTight
from dpmine.selection.universes.protocol import MANY_DUMMIES

Shape = Callable[[float], tuple[tuple[float, ...], tuple[int, ...]]]
SUCCESS = 0.95

SHAPES: dict[str, Shape] = {
    "clear winner": lambda gap: ((gap,), (1,)),
    "over a crowd": lambda gap: ((gap + 30, 30, 10), (1, 10**3, 10**6)),
    "staircase": lambda gap: ((gap + 200, *(200.0 - 10 * i for i in range(20))), (1,) * 21),
    "power law": lambda gap: (tuple(gap * i**-0.5 for i in range(1, 60)), (1,) * 59),
}


def lead(shape: Shape, shares: tuple[float, float, float], share: float, epsilon: float, delta: float) -> float:
    """The least gap at which the winner is released with probability `SUCCESS`, by bisection."""

    class Split(LargeMarginTight):
        split = tuple(map(Fraction, shares))
        delta_share = Fraction(share)

    mechanism = Split(Fraction(epsilon), Fraction(delta), Neighbors.REPLACE_ONE)
    low, high = 0.0, 2000 / epsilon
    for _ in range(20):
        middle = (low + high) / 2
        law = mechanism.law(Profile(*shape(middle), MANY_DUMMIES))
        low, high = (low, middle) if law.masses[0] >= SUCCESS else (middle, high)
    return high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    arguments = parser.parse_args()
    print(f"{'rho':>6}{'nu':>6}{'draw':>6}{'share':>7}" + "".join(f"{name:>15}" for name in SHAPES))
    splits = [(a, b, 1 - a - b) for a, b in product((0.15, 0.2, 0.25), (0.3, 0.4, 0.5))]
    trials = [(split, 0.5) for split in splits] + [((0.2, 0.4, 0.4), share) for share in (0.1, 0.3, 0.7, 0.9)]
    for split, share in trials:
        leads = [lead(shape, split, share, arguments.epsilon, arguments.delta) for shape in SHAPES.values()]
        cells = "".join(f"{value:>15.1f}" for value in leads)
        print(f"{split[0]:>6.2f}{split[1]:>6.2f}{split[2]:>6.2f}{share:>7.2f}{cells}", flush=True)


if __name__ == "__main__":
    main()
