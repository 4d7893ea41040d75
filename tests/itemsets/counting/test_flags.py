"""One-hot cells as bitmaps, and the itemsets in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples

from dpmine.errors import BadParameter
from dpmine.itemsets.counting.flags import FlagMaps
from dpmine.itemsets.transactions.lists import ListRoom


@settings(max_examples=examples(200))
@given(st.integers(0, 200), st.integers(0, 20), st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_packed_cells_are_the_cells(rows: int, columns: int, seed: int, density: float) -> None:
    """By rows, by columns, and in an order of neither."""
    cells = np.random.default_rng(seed).random((rows, columns)) < density
    for given_cells in (cells.T, np.ascontiguousarray(cells.T), cells.T[:, ::-1]):
        maps = FlagMaps.of(given_cells)
        packed = maps.words.astype("<u8").view(np.uint8).reshape(columns, 8 * maps.words.shape[1])
        bits = np.unpackbits(packed, axis=1, bitorder="little")
        assert np.array_equal(bits[:, :rows], given_cells)
        assert not bits[:, rows:].any()
        assert maps.supports.tolist() == given_cells.sum(axis=1).tolist()
        assert maps.rows == rows


@every("by_rows", [True, False])
def test_any_byte_that_is_not_zero_is_true(by_rows: bool) -> None:
    """numpy's booleans made from bytes hold what these held."""
    draws = np.random.default_rng(4)
    cells = draws.integers(0, 256, (100, 17)).astype(np.uint8) * (draws.random((100, 17)) < 0.5).astype(np.uint8)
    flags = np.asarray(cells if by_rows else np.ascontiguousarray(cells.T).T).view(np.bool_)
    assert FlagMaps.of(flags.T).supports.tolist() == (cells != 0).sum(axis=0).tolist()


@every("maximal", [None, True])
def test_itemsets_that_do_not_fit_are_refused(maximal: bool | None) -> None:
    cells = np.random.default_rng(1).random((12, 300)) < 0.6
    for left in (100, 3000):
        room, miner = ListRoom(left, 12, "ask for less", as_objects=True), FlagMaps.of(cells).miner(np.arange(12))
        with pytest.raises(BadParameter, match="ask for less"):
            miner.lists((1, 12), 1, room) if maximal is None else miner.closed((1, 12), 1, room, maximal=maximal)
