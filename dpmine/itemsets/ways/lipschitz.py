"""All k itemsets of a list at once, by the canonical Lipschitz mechanism. Proof: docs/proofs/selection/lipschitz.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpmine.itemsets.ways.at_once import ListAtOnce
from dpmine.itemsets.ways.way import Chosen
from dpmine.selection.mechanisms.lipschitz import CanonicalLipschitz

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.selection.mechanisms.at_once import AtOnce


@dataclass(frozen=True, slots=True)
class Lipschitz(ListAtOnce):
    """A set S of k itemsets: g(S) = max(0, the best support outside − the least support inside).

    There are k! times fewer sets than sequences, but a single itemset that is far too rare spoils a set as it does a
    sequence. Source: Shekelyan & Loukides 2022.
    """

    is_named: ClassVar[str] = "lipschitz"
    kind: ClassVar[type[AtOnce]] = CanonicalLipschitz
    most_places: ClassVar[int] = 200

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """Sorted by their items: the choice has no order."""
        return Chosen(tuple(sorted(ListAtOnce.choose(self, universe, bits=bits).itemsets)))
