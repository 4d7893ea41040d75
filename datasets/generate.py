"""Synthetic baskets after Agrawal & Srikant 1994 ("Fast algorithms for mining association rules", section 2.4.3).

python datasets/generate.py --baskets 100000 --items 1000 --basket-length 10 --pattern-length 4 --seed 1 -o out.parquet

Customers buy patterns: sets of items that belong together. A table of patterns is drawn once; every basket is filled
with patterns drawn by their weights, each pattern losing some items on its way ("corruption").

The output is the long layout, one row per basket and item: `transaction_id` (int32, from 0, sorted, no gaps) and
`item` (int32, below the number of items, increasing inside a basket, no duplicates). With `--units` a column `unit`
(int32) comes first. Baskets are made and written block by block, so memory does not grow with their number, and the
first n baskets of two runs with the same options are the same whatever --baskets says.

Choices where the paper is silent: lengths are 1 + Poisson(mean − 1), so no basket and no pattern is empty; at least one
item of a pattern stays; a pattern always enters an empty basket; the pattern that waits for the next basket waits
inside a lane (every lane fills its share of a block's baskets one after the other). Items that a basket already holds
are dropped, so the mean length can lie a little below --basket-length.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Integers: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]

LANES = 4096
BASKETS_PER_LANE = 16
BLOCK = LANES * BASKETS_PER_LANE
"""Baskets in a block; a block is one row group. Changing it changes the data that a seed stands for."""

NOTHING = -1
"""Fills the places of a pattern that hold no item."""

LARGEST_INT32 = 2**31 - 1
CERTAIN_LOSS = 0.99
"""Highest corruption level: at 1 the number of lost items would be infinite."""


@dataclass(frozen=True)
class Recipe:
    """What to generate; the letters are the paper's.

    Attributes:
        baskets: D, number of baskets.
        items: N, number of items.
        basket_length: T, mean number of items in a basket, at least 1.
        pattern_length: I, mean number of items in a pattern, at least 1.
        seed: two runs with equal recipes give equal data.
        patterns: L, number of patterns.
        correlation: mean share of a pattern's items that come from the pattern before it.
        corruption_mean: mean of the patterns' corruption levels.
        corruption_variance: variance of the patterns' corruption levels.
        units: number of privacy units to spread the baskets over evenly at random, or None for no such column.
    """

    baskets: int
    items: int
    basket_length: float
    pattern_length: float
    seed: int = 0
    patterns: int = 2000
    correlation: float = 0.5
    corruption_mean: float = 0.5
    corruption_variance: float = 0.1
    units: int | None = None


@dataclass(frozen=True, eq=False)
class Patterns:
    """The table of patterns.

    Attributes:
        items: int64[patterns, width], the items of a pattern, then NOTHING.
        sizes: int64[patterns], at least 1.
        cumulative_weights: float64[patterns], increasing to 1; a pattern's step is its probability.
        corruption: float64[patterns], probability that one more item is lost.
    """

    items: Integers
    sizes: Integers
    cumulative_weights: Floats
    corruption: Floats


def draw_patterns(recipe: Recipe) -> Patterns:
    """The recipe's table of patterns."""
    rng = np.random.default_rng([recipe.seed, 0])
    lengths = 1 + rng.poisson(recipe.pattern_length - 1, recipe.patterns)
    sizes = np.minimum(lengths, recipe.items).astype(np.int64)
    weights = rng.exponential(size=recipe.patterns)
    spread = np.sqrt(recipe.corruption_variance)
    levels = rng.normal(recipe.corruption_mean, spread, recipe.patterns)
    return Patterns(
        items=_pattern_items(recipe, sizes, rng),
        sizes=sizes,
        cumulative_weights=np.cumsum(weights) / np.sum(weights),
        corruption=np.clip(levels, 0, CERTAIN_LOSS),
    )


def _pattern_items(recipe: Recipe, sizes: Integers, rng: np.random.Generator) -> Integers:
    """Each pattern takes an exponential share of its items from the pattern before it, the others at random."""
    table = np.full((recipe.patterns, int(sizes.max())), NOTHING, dtype=np.int64)
    before: Integers = np.empty(0, dtype=np.int64)
    for row, size in zip(table, sizes, strict=True):
        share = min(1.0, rng.exponential(recipe.correlation))
        inherited = rng.permutation(before)[: round(share * size)]
        before = np.concatenate([inherited, _other_items(recipe.items, inherited, size - len(inherited), rng)])
        row[:size] = before
    return table


def _other_items(items: int, taken: Integers, count: int, rng: np.random.Generator) -> Integers:
    """`count` different items that are not among `taken`."""
    candidates = rng.choice(items, count + len(taken), replace=False)
    return candidates[~np.isin(candidates, taken)][:count]


def blocks(recipe: Recipe) -> Iterator[pa.Table]:
    """The recipe's baskets, BLOCK of them at a time, the last block shorter."""
    patterns = draw_patterns(recipe)
    for index, first in enumerate(range(0, recipe.baskets, BLOCK)):
        yield _block(recipe, patterns, index, min(BLOCK, recipe.baskets - first))


def _block(recipe: Recipe, patterns: Patterns, index: int, count: int) -> pa.Table:
    # A block has a generator of its own, and is made whole, so that its baskets do not depend on how many are kept.
    rng = np.random.default_rng([recipe.seed, 1, index])
    positions, items = _fill_block(recipe, patterns, rng)
    # One number per (basket, item): sorting it sorts by basket, then item, and puts duplicates side by side.
    pairs = np.sort(positions * recipe.items + items)
    pairs = pairs[: np.searchsorted(pairs, count * recipe.items)]
    pairs = pairs[np.diff(pairs, prepend=NOTHING) != 0]
    positions, items = np.divmod(pairs, recipe.items)
    columns = {"transaction_id": positions + index * BLOCK, "item": items}
    if recipe.units is not None:
        columns = {"unit": rng.integers(recipe.units, size=BLOCK)[positions], **columns}
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def _fill_block(recipe: Recipe, patterns: Patterns, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The rows of a block's baskets, unsorted and with duplicates: positions of the baskets in the block, and items."""
    waiting = np.full((LANES, patterns.items.shape[1]), NOTHING, dtype=np.int64)
    positions, items = [], []
    for turn in range(BASKETS_PER_LANE):
        targets = 1 + rng.poisson(recipe.basket_length - 1, LANES)
        for lanes, bought in _fill_baskets(targets, waiting, patterns, rng):
            rows, places = np.nonzero(bought != NOTHING)
            positions.append(lanes[rows] * BASKETS_PER_LANE + turn)
            items.append(bought[rows, places])
    return np.concatenate(positions), np.concatenate(items)


def _fill_baskets(
    targets: Integers, waiting: Integers, patterns: Patterns, rng: np.random.Generator
) -> Iterator[tuple[Integers, Integers]]:
    """Fill one basket per lane; yields lanes and the items (int64[lanes, width]) that enter their baskets.

    `waiting` (int64[LANES, width]) holds the patterns left over from the lanes' last baskets, and is given those left
    over from these.
    """
    sizes = np.zeros_like(targets)
    lanes = np.arange(len(targets))
    while lanes.size:
        drawn = _waiting_or_new(lanes, waiting, patterns, rng)
        counts = np.count_nonzero(drawn != NOTHING, axis=1)
        room = targets[lanes] - sizes[lanes]
        fits = counts <= room
        # What does not fit enters anyway in half the cases, and otherwise waits for the next basket.
        enters = fits | (sizes[lanes] == 0) | (rng.random(len(lanes)) < 0.5)
        yield lanes[enters], drawn[enters]
        sizes[lanes] += counts
        waiting[lanes[~enters]] = drawn[~enters]
        lanes = lanes[counts < room]


def _waiting_or_new(lanes: Integers, waiting: Integers, patterns: Patterns, rng: np.random.Generator) -> Integers:
    """The pattern that waits in each lane, which stops waiting, or else a new one (int64[lanes, width])."""
    chosen = waiting[lanes]
    waiting[lanes] = NOTHING
    idle = np.all(chosen == NOTHING, axis=1)
    chosen[idle] = _draw_corrupted(int(np.count_nonzero(idle)), patterns, rng)
    return chosen


def _draw_corrupted(count: int, patterns: Patterns, rng: np.random.Generator) -> Integers:
    """`count` patterns drawn by weight, each without the items it lost (int64[count, width]).

    One more item is lost as long as a uniform number lies below the pattern's corruption level.
    """
    # min: rounding can leave the last cumulative weight a hair below 1.
    numbers = np.minimum(np.searchsorted(patterns.cumulative_weights, rng.random(count)), len(patterns.sizes) - 1)
    items = patterns.items[numbers]
    lost = rng.geometric(1 - patterns.corruption[numbers]) - 1
    kept = np.maximum(patterns.sizes[numbers] - lost, 1)
    lots = np.where(items == NOTHING, np.inf, rng.random(items.shape))
    highest_kept = np.sort(lots, axis=1)[np.arange(count), kept - 1]
    return np.where(lots <= highest_kept[:, np.newaxis], items, NOTHING)


def write(recipe: Recipe, output: Path) -> None:
    """Write the recipe's baskets to `output`, one row group per block; the file appears when it is complete."""
    partial = output.with_name(f".{output.name}.partial")
    with pq.ParquetWriter(partial, _schema(recipe), compression="zstd") as writer:
        for block in blocks(recipe):
            writer.write_table(block)
    partial.replace(output)


def _schema(recipe: Recipe) -> pa.Schema:
    names = ["transaction_id", "item"] if recipe.units is None else ["unit", "transaction_id", "item"]
    return pa.schema([(name, pa.int32()) for name in names])


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= LARGEST_INT32:
        raise argparse.ArgumentTypeError(f"must lie between 1 and {LARGEST_INT32}")
    return number


def _mean_length(text: str) -> float:
    number = float(text)
    if not 1 <= number <= LARGEST_INT32:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError("must lie between 0 and 1")
    return number


def _seed(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must be at least 0")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Generate synthetic baskets (Agrawal & Srikant 1994) as Parquet.")
    parser.add_argument("--baskets", type=_count, required=True, help="D, number of baskets")
    parser.add_argument("--items", type=_count, required=True, help="N, number of items")
    parser.add_argument("--basket-length", type=_mean_length, default=10.0, help="T, mean basket length (10)")
    parser.add_argument("--pattern-length", type=_mean_length, default=4.0, help="I, mean pattern length (4)")
    parser.add_argument("--patterns", type=_count, default=2000, help="L, number of patterns (2000)")
    parser.add_argument("--correlation", type=_share, default=0.5, help="between neighbouring patterns (0.5)")
    parser.add_argument("--corruption-mean", type=_share, default=0.5, help="mean corruption level (0.5)")
    parser.add_argument("--corruption-variance", type=_share, default=0.1, help="its variance (0.1)")
    parser.add_argument("--units", type=_count, help="spread the baskets over so many privacy units")
    parser.add_argument("--seed", type=_seed, default=0, help="equal seeds give equal data (0)")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the Parquet file to write")
    return parser


def main() -> None:
    """Generate what the command line asks for."""
    options = vars(_parser().parse_args())
    output = options.pop("output")
    write(Recipe(**options), output)


if __name__ == "__main__":
    main()
