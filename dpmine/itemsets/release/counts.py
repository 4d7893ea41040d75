"""Which counts are released of chosen itemsets: their supports, for rules those of subsets, and of units' unions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine.itemsets.release.supports import Consistency, release, with_subsets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.release.supports import Item, Itemset, SupportRelease
    from dpmine.itemsets.transactions.interface import SupportSource, Transactions


def released_counts(
    chosen: Sequence[Itemset],
    codes: Mapping[Item, int],
    baskets: Transactions,
    miner: SupportSource,
    *,
    noise: SupportNoise,
    subsets: bool,
    unions: bool,
    bits: BitSource,
) -> SupportRelease:
    """Noisy supports of the chosen itemsets.

    Args:
        chosen: public by now; each occurs once.
        codes: of all their items.
        baskets: what is counted.
        miner: of the baskets.
        noise: of every count.
        subsets: whether all subsets are counted, too, and made to agree.
        unions: whether units are counted, too, that have the items in whatever baskets.
        bits: where the noise comes from.
    """
    itemsets = with_subsets(chosen) if subsets else tuple(chosen)
    coded = [sorted(codes[item] for item in itemset) for itemset in itemsets]
    return release(
        itemsets,
        list(map(miner.support, coded)),
        unions=_of_unions(baskets, coded, sorted(codes.values())) if unions else None,
        noise=noise,
        consistency=Consistency.MONOTONE if subsets else Consistency.AS_DRAWN,
        bits=bits,
    )


def _of_unions(baskets: Transactions, itemsets: Sequence[Sequence[int]], items: Sequence[int]) -> list[int]:
    """How many units have all items of each itemset of two and more, in whatever baskets; of no others than `items`."""
    if not items:
        return []
    miner = baskets.projected(items).unions().miner()
    place = {code: number for number, code in enumerate(items)}
    return [miner.support([place[code] for code in itemset]) for itemset in itemsets if len(itemset) > 1]
