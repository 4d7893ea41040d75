"""Best-first counting, tried: the share of the k best itemsets of all sizes that a list misses, unknown items.

Items come first, with noisy weights, as a discovery finds them. A few counts say how many units there are, and how
weights compare to supports. Then itemsets are counted, the most promising one next, and the uncertain ones again.
Noise is exact. The list, its supports and their intervals are post-processing of noisy counts.
The constants were chosen on the data sets that the Makefile names: what is printed for these is no report on others.

    python -m experiments.best_first.run NAME... [--runs 30] [-k 100]      NAME: mushroom, retail, … of ../shared/data
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import decimal_below
from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import BasketsInMemory
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.release.noise import DiscreteGaussian
from dpmine.itemsets.ways.discovery import DIGITS, Discovery
from dpmine.privacy import Neighbors
from dpmine.zcdp import rho_at
from experiments.best_first.bounds import Bounds
from experiments.best_first.counts import EVERYBODY, Answers, Capped, Centred, Counts, Kind, Odd, Plain, Signed
from experiments.best_first.holdings import Holdings
from experiments.best_first.likely import likely_shares
from experiments.best_first.order import Goal, NoisyWeights, Search
from experiments.best_first.recount import count_again

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from experiments.best_first.counts import Itemset

LOOKS, GAUGE, WHOLE = (4, 2, 3), 1, 20
"""Of twenty parts of ρ: for items, look by look, and for the first measure. The rest counts itemsets."""
ENOUGH = 30
"""Items at which the discovery ends."""
ITEMS_PER_UNIT = 50
GAUGED = 5
"""Items of the largest weights, whose supports are counted for the first measure."""
COUNTS_A_PLACE, CAPPED_A_PLACE = Fraction(16, 5), Fraction(9, 2)
AGAIN = Fraction(3, 10)
"""Of the counts: what decides the last places."""
CAP = 40
"""Supports that a unit adds to, where they are capped."""
NOISY, THIN = 0.35, 15.0
"""They are where a support's deviation exceeds this share of the k-th, and a unit holds fewer likely itemsets."""
LEVELS = Fraction(955, 1000), Fraction(995, 1000)
"""Of the counts' and of the number's intervals, which hold together with probability 0.95."""
SIZES = (1, 12)
DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
EPSILONS = ("0.1", "0.25", "0.5", "1")
DELTA = Fraction(1, 10**6)


class Found(NamedTuple):
    """Released items, what units gave to them with noise of some deviation, and the ρ that is left."""

    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    deviation: float
    rho: Fraction


class Gauge(NamedTuple):
    """About how many units there are, the variance of that number, and how many times its weight a support is."""

    units: float
    variance: float
    scale: float


class Plan(NamedTuple):
    """What is counted, how far one unit moves all counts together, in squares, and how many there are at most."""

    kind: Kind
    price: int
    counts: int


@dataclass(frozen=True)
class BestFirst:
    """The k best itemsets by adaptive counts: (ε, δ), half of δ for the items.

    `several_baskets`: whether units may have more than one basket, a fact of the layout.
    """

    k: int
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    several_baskets: bool = False

    def run(self, baskets: BasketsInMemory, *, bits: BitSource) -> tuple[list[Itemset], Bounds]:
        """The best itemsets as codes, and the supports of all that were counted, in places among the found items."""
        rho = decimal_below(rho_at(self.epsilon, self.delta / 2), DIGITS)
        found = self._items(baskets, rho, bits)
        if not len(found.codes):
            return [], Bounds({}, {}, {})
        codes = found.codes.tolist()
        holdings = Holdings([baskets], codes)
        bounds = self._counted(holdings, found, self._gauge(holdings, found, rho, bits), rho, bits)
        best = sorted(bounds.values, key=lambda itemset: (-bounds.values[itemset], len(itemset), itemset))[: self.k]
        return [tuple(codes[place] for place in itemset) for itemset in best], bounds

    def _items(self, baskets: BasketsInMemory, rho: Fraction, bits: BitSource) -> Found:
        """Those that a discovery releases, with their noisy weights."""
        share = rho * sum(LOOKS) / WHOLE
        discovery = Discovery(share, self.delta / 2, self.neighbors, ITEMS_PER_UNIT, LOOKS, ENOUGH)
        released = discovery.find(baskets, bits=bits)
        parts = LOOKS[: released.looks]
        unit = discovery.weight * sum(parts)
        deviation = sqrt(sum((part * scale) ** 2 for part, scale in zip(parts, discovery.scales, strict=False)))
        left = rho - sum(discovery.rhos[: released.looks], Fraction(0)) - rho * GAUGE / WHOLE
        weights = released.totals / unit
        best = np.sort(np.argsort(-weights, kind="stable")[: ceil(CAPPED_A_PLACE * self.k)])
        return Found(released.codes[best], weights[best], deviation / unit, left)

    def _gauge(self, holdings: Holdings, found: Found, rho: Fraction, bits: BitSource) -> Gauge:
        """Half of its ρ counts the units, the other half the items of the largest weights."""
        noise = DiscreteGaussian(rho * GAUGE / WHOLE / 2)
        units = holdings.units + noise.draw(1, bits=bits)
        items = np.argsort(-found.weights, kind="stable")[:GAUGED].tolist()
        supports = sum(holdings.support([item]) + noise.draw(GAUGED, bits=bits) for item in items)
        scale = supports / max(1.0, float(found.weights[items].sum()))
        return Gauge(max(1.0, units), float(noise.variance(1)), min(max(1.0, scale), sqrt(ITEMS_PER_UNIT)))

    def plan(self, gauge: Gauge, found: Found) -> Plan:
        """By public facts and what was released: a cap keeps noise small where units hold few of what is counted."""
        replaced = self.neighbors is Neighbors.REPLACE_ONE
        counts = ceil(COUNTS_A_PLACE * self.k)
        if self.several_baskets:
            kind: Kind = Plain() if replaced else Centred()
        else:
            kind = Odd() if replaced else Signed()
        shares = likely_shares(np.minimum(1.0, found.weights * gauge.scale / gauge.units).tolist(), counts)
        deviation = sqrt(counts / (2 * found.rho))
        if not replaced:
            deviation = sqrt(deviation**2 + gauge.variance) / 2
        kth = shares[min(self.k, len(shares)) - 1] * gauge.units if shares else 0.0
        capped = 1 + CAP * (2 if replaced else 1)
        if deviation > NOISY * kth and sum(shares) < THIN and capped < counts:
            return Plan(Capped(CAP), capped, ceil(CAPPED_A_PLACE * self.k))
        return Plan(kind, counts, counts)

    def _counted(self, holdings: Holdings, found: Found, gauge: Gauge, rho: Fraction, bits: BitSource) -> Bounds:
        """The itemsets that were counted, all their parts among them, with intervals that hold together."""
        (kind, price, most), noise = self.plan(gauge, found), DiscreteGaussian(found.rho)
        exact = kind.exact(holdings)
        counts = Counts(kind, exact.count, lambda: noise.draw(price, bits=bits), float(noise.variance(price)), most)
        counts.answers[EVERYBODY] = Answers(gauge.variance, gauge.units, 1)
        weights = NoisyWeights(found.weights.tolist(), found.deviation)
        search = Search(counts, weights, Goal(self.k, SIZES), gauge.scale)
        search.run(most - int(AGAIN * most))
        count_again(counts, search.counted, self.k)
        of_counts, of_units = LEVELS
        error = noise.half_width(price, 1 - (1 - of_counts) / (most + 1))
        hidden = 0 if exact.hidden is None else max(0, exact.hidden() + noise.draw(price, bits=bits) + error)
        error_of_units = DiscreteGaussian(rho * GAUGE / WHOLE / 2).half_width(1, of_units)
        return Bounds.of(counts, search.counted, error, error_of_units, hidden)


def kth_support(baskets: BasketsInMemory, k: int) -> int:
    """Of the k-th best itemset of any size."""
    miner, threshold = baskets.miner(), baskets.unit_count // 2
    while sum(int(miner.histogram(size, threshold).counts.sum()) for size in range(1, 9)) < k:
        threshold = threshold * 4 // 5
    supports = [miner.itemsets(size, threshold).supports for size in range(1, 9)]
    return int(np.sort(np.concatenate(supports))[-k])


def missing_shares(baskets: BasketsInMemory, k: int, runs: int) -> Iterator[tuple[str, list[float]]]:
    """For each relation, the mean share of the best k that is missing, at each ε."""
    miner, kth = baskets.miner(), kth_support(baskets, k)
    for relation in Neighbors:
        means = []
        for epsilon in EPSILONS:
            way = BestFirst(k, Fraction(epsilon), DELTA, relation)
            lists = (way.run(baskets, bits=SystemBits())[0] for _ in range(runs))
            right = [sum(miner.support(itemset) >= kth for itemset in found) for found in lists]
            means.append(1 - sum(right) / (runs * k))
        yield relation.value, means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("-k", type=int, default=100)
    given = parser.parse_args()
    print("missing share at epsilon =", *EPSILONS)
    for name in given.names:
        columns = Columns.of(unit="transaction_id", item="item")
        baskets = read_transactions(DATA / f"{name}.parquet", columns, catalogue=None).transactions
        if not isinstance(baskets, BasketsInMemory):
            raise SystemExit(f"{name} does not fit into memory.")
        for relation, means in missing_shares(baskets, given.k, given.runs):
            print(f"{name:16} {relation:12}", *(f"{mean:.3f}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
