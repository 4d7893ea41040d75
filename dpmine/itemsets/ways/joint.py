"""All k itemsets of a list at once, by the joint exponential mechanism. Proof: docs/proofs/selection/joint.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpmine.itemsets.ways.at_once import ListAtOnce
from dpmine.selection.mechanisms.joint import JointExponential

if TYPE_CHECKING:
    from dpmine.selection.mechanisms.at_once import AtOnce


@dataclass(frozen=True, slots=True)
class Joint(ListAtOnce):
    """A sequence s of k itemsets: g(s) = max_i (c_(i) − c(s_i)), how far a place falls short of its best support.

    For k ≤ 20 and δ = 0 it finds more than one shot where the k best lead clearly. Where many itemsets are nearly as
    good, it finds less. Source: Gillenwater, Joseph, Munoz & Ribero 2022.
    """

    is_named: ClassVar[str] = "joint"
    kind: ClassVar[type[AtOnce]] = JointExponential
    most_places: ClassVar[int] = 1000
