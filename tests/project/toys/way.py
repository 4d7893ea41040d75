"""A way to choose lists that chooses the same one always, and releases supports of it with the choice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from dpmine.io.python_values import items_at
from dpmine.itemsets.release.noise import DiscreteLaplace
from dpmine.itemsets.release.supports import Consistency, release, with_subsets
from dpmine.itemsets.ways.way import Chosen, ListTerms, Way
from dpmine.privacy import Zcdp

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.ways.universe import ItemsetUniverse


@dataclass(frozen=True, slots=True)
class Toy(Way):
    """The first itemset of each size, with noisy supports of all its subsets.

    The noise is that of one support, so this is not private: it shows the seam alone. Proof: docs/proofs/toy.md.
    """

    name: ClassVar[str] = "toy"
    releases_supports: ClassVar[bool] = True

    @classmethod
    def suits(cls, terms: ListTerms) -> str | None:
        return "toy lists at most 100 itemsets: ask for fewer." if terms.count > 100 else None

    @classmethod
    def advantage(cls, terms: ListTerms) -> str | None:
        return "auto uses toy: it is the best of long lists." if terms.count > 20 else None

    @classmethod
    def of(cls, terms: ListTerms) -> Self:
        return cls(terms.count, terms.epsilon, Fraction(0), terms.neighbors)

    @property
    def zcdp(self) -> Zcdp:
        return Zcdp.implied(self.epsilon, Fraction(0))

    def lead(self) -> float:
        return 3.2

    def lead_over(self) -> str:
        return "nothing"

    def right_from(self) -> int:
        return 7

    def rounds(self) -> str:
        return "no rounds"

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        chosen = ((0, 1), (2,))
        transactions = universe.transactions
        named = [frozenset(items_at(transactions.labels, itemset)) for itemset in chosen]
        parts, miner = with_subsets(named), transactions.miner()
        codes = {label: code for code, label in enumerate(transactions.labels.to_pylist())}
        supports = [miner.support(sorted(codes[item] for item in part)) for part in parts]
        noise = DiscreteLaplace(self.epsilon)
        return Chosen(chosen, release(parts, supports, noise=noise, consistency=Consistency.MONOTONE, bits=bits))
