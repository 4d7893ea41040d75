"""Report-noisy-max over any universe: every candidate's score plus independent noise, the largest wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpmine.selection.noisy_order import noisy_order

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.exact.bits import BitSource
    from dpmine.exact.noise import Noise
    from dpmine.selection.noisy_order import Rival
    from dpmine.selection.universe import Score, Universe

C = TypeVar("C", bound="Hashable")


def noisy_max(
    universe: Universe[C], noise: Noise, *, bits: BitSource, floor: Score | None = None, rival: Rival | None = None
) -> C | None:
    """The candidate with the largest score + noise, or None when a dummy or the rival wins.

    Requires: at least one candidate or dummy; `universe.size` is known.
    Law: the first of `noisy_order`, whose `floor` and `rival` these are. Proof: docs/proofs/noisy_max.md.
    """
    return next(noisy_order(universe, noise, bits=bits, floor=floor, rival=rival), None)
