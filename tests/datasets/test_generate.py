"""The generator of synthetic baskets."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import Outcome, ended
from support.datasets import DATASETS, generator

if TYPE_CHECKING:
    from pathlib import Path

generate = generator()
RECIPE = generate.Recipe(baskets=20_000, items=1000, basket_length=10.0, pattern_length=4.0, seed=1)


def _made(recipe: Any) -> pa.Table:
    return pa.concat_tables(generate.blocks(recipe)).combine_chunks()


def _lengths(table: pa.Table) -> np.ndarray:
    return np.bincount(table["transaction_id"].to_numpy())


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return _made(RECIPE)


def test_schema(table: pa.Table) -> None:
    assert table.schema == pa.schema([("transaction_id", pa.int32()), ("item", pa.int32())])


def test_sorted_and_no_item_twice_in_a_basket(table: pa.Table) -> None:
    pairs = table["transaction_id"].to_numpy().astype(np.int64) * RECIPE.items + table["item"].to_numpy()
    assert np.all(np.diff(pairs) > 0)


def test_every_basket_has_an_item(table: pa.Table) -> None:
    lengths = _lengths(table)
    assert len(lengths) == RECIPE.baskets
    assert lengths.min() >= 1


def test_items_come_from_the_catalogue(table: pa.Table) -> None:
    items = table["item"].to_numpy()
    assert items.min() >= 0
    assert items.max() < RECIPE.items
    assert len(np.unique(items)) > 0.8 * RECIPE.items


@pytest.mark.parametrize(("basket_length", "pattern_length"), [(10.0, 4.0), (20.0, 6.0), (5.0, 2.0)])
def test_mean_length_is_close(basket_length: float, pattern_length: float) -> None:
    recipe = dataclasses.replace(RECIPE, basket_length=basket_length, pattern_length=pattern_length)
    assert _lengths(_made(recipe)).mean() == pytest.approx(basket_length, rel=0.1)


def test_patterns_are_bought_together(table: pa.Table) -> None:
    """The top pair stands far above what independent items of the same supports would give."""
    baskets = np.zeros((RECIPE.baskets, RECIPE.items), dtype=np.float32)
    baskets[table["transaction_id"].to_numpy(), table["item"].to_numpy()] = 1
    together = baskets.T @ baskets
    supports = together.diagonal().copy()
    np.fill_diagonal(together, 0)
    first, second = np.unravel_index(together.argmax(), together.shape)
    assert together[first, second] > 5 * supports[first] * supports[second] / RECIPE.baskets


def test_pattern_table() -> None:
    patterns = generate.draw_patterns(RECIPE)
    assert patterns.sizes.mean() == pytest.approx(RECIPE.pattern_length, rel=0.1)
    assert patterns.cumulative_weights[-1] == pytest.approx(1)
    for items, size in zip(patterns.items, patterns.sizes, strict=True):
        assert len(set(items[:size])) == size
        assert np.all(items[size:] == generate.NOTHING)


def test_neighbouring_patterns_share_items() -> None:
    patterns = generate.draw_patterns(RECIPE)
    rows = [set(items[:size]) for items, size in zip(patterns.items, patterns.sizes, strict=True)]
    shares = [len(row & before) / len(row) for before, row in itertools.pairwise(rows)]
    assert 0.25 < np.mean(shares) < 0.55


def test_corruption_keeps_some_items_of_the_pattern() -> None:
    patterns = generate.draw_patterns(RECIPE)
    drawn = generate._draw_corrupted(500, patterns, np.random.default_rng(3))
    kept = np.count_nonzero(drawn != generate.NOTHING, axis=1)
    assert kept.min() >= 1
    assert kept.mean() < patterns.sizes.mean()


def test_equal_seeds_give_equal_data(table: pa.Table) -> None:
    assert _made(RECIPE).equals(table)
    assert not _made(dataclasses.replace(RECIPE, seed=2)).equals(table)


def test_more_baskets_begin_with_the_same_ones(table: pa.Table) -> None:
    longer = _made(dataclasses.replace(RECIPE, baskets=generate.BLOCK + 500))
    assert longer.slice(0, table.num_rows).equals(table)


def test_streamed_file_holds_what_one_piece_holds(tmp_path: Path) -> None:
    recipe = dataclasses.replace(RECIPE, baskets=generate.BLOCK + 500, units=70)
    generate.write(recipe, tmp_path / "out.parquet")
    file = pq.ParquetFile(tmp_path / "out.parquet")
    assert file.num_row_groups == 2
    assert file.read().combine_chunks().equals(_made(recipe))
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_units_own_whole_baskets_and_leave_them_as_they_were(table: pa.Table) -> None:
    with_units = _made(dataclasses.replace(RECIPE, units=500))
    assert with_units.column_names == ["unit", "transaction_id", "item"]
    assert with_units.drop_columns("unit").equals(table)
    owners = with_units.group_by("transaction_id").aggregate([("unit", "count_distinct"), ("unit", "min")])
    assert set(owners["unit_count_distinct"].to_pylist()) == {1}
    assert np.bincount(owners["unit_min"].to_numpy(), minlength=500).min() > 1


def test_tiny_catalogue_and_single_pattern() -> None:
    recipe = generate.Recipe(baskets=10, items=1, basket_length=3.0, pattern_length=5.0, patterns=1)
    assert _made(recipe)["item"].to_pylist() == [0] * 10


def _run(*arguments: str) -> Outcome:
    return ended([sys.executable, str(DATASETS / "generate.py")], *arguments)


@pytest.mark.slow
def test_command_line(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    done = _run("--baskets", "100", "--items", "50", "--basket-length", "4", "--seed", "1", "-o", str(output))
    assert done == Outcome(0, "", "")
    assert len(_lengths(pq.read_table(output))) == 100


def test_command_line_refuses_no_baskets(tmp_path: Path) -> None:
    done = _run("--baskets", "0", "--items", "50", "-o", str(tmp_path / "out.parquet"))
    assert done.status == 2
    assert "--baskets" in done.err
    assert list(tmp_path.iterdir()) == []
