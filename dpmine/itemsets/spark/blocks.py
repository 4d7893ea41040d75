"""What runs on the executors: rows become blocks, and the local engine's compiled kernels count in these.

A *block* holds the baskets of some units, and all baskets of each. Every function here but `destinations` takes the
Arrow batches of one partition and gives others, as `mapInArrow` wants it; none of them shows a value.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array, integers, integers_or, is_text
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.counting.rows import at_most, item_supports
from dpmine.itemsets.ingest.encode import coded, labelled
from dpmine.itemsets.ingest.lines import Cells, grouped
from dpmine.itemsets.spark.files import column_names
from dpmine.itemsets.transactions.hashes import line_hashes, rotated
from dpmine.itemsets.transactions.interface import Baskets, starts_of
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.counting.listed import ListedItemsets

    Batches = Iterable[pa.RecordBatch]

BLOCK_LINES = 1 << 21
"""Lines (one basket and item) for which a block is meant; a task holds one block."""
MOST_LINES = 1 << 25
"""Lines of a block that are packed at all: a unit with more of them takes more memory than a task should."""
BLOCK = "labels binary, items binary, baskets binary, units binary, lines bigint, owners bigint"
COUNTED = f"{BLOCK}, support bigint, item "
"""A row a block, and one for each of its items, with its support; the type of items follows."""
SUPPORTS = "number int, support bigint"
PAIRS = "a0 int, a1 int, support bigint"
VERSION = "version string"
WEIGHTS = "rank int, weight bigint"
PATTERN_TEXTS = (True, False)
"""Patterns are dealt as texts, the numbers of units as numbers."""
TOO_MANY = -1
"""In place of a0: a block has more pairs than are listed."""
_DEALT_LINES = 1 << 20
_DEALT_BYTES = 1 << 28  # Arrow's arrays of bytes end at 2^31
_LISTED_BYTES = 1 << 29  # for the pairs of a block: some eleven million
_AT_ONCE = 1 << 16  # rows of a batch


def in_worker(batches: Batches, *, steps: Sequence[Any]) -> Any:
    """What these functions make of the batches, one after the other."""
    _settle()
    return reduce(lambda given, step: step(given), steps, batches)


@cache
def _settle() -> None:
    """What is imported is left out of the collections after each task, which else take longer than a short task."""
    gc.collect()
    gc.freeze()


def versions(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The version of dpmine that an executor has, with kernels that could be loaded."""
    for _ in batches:
        pass
    yield pa.record_batch({"version": pa.array([__version__], pa.string())})


def destinations(count: int) -> NDArray[np.int32]:
    """int32[count]: numbers that Spark's partitioning by hash sends to partition 0, 1, … out of `count`.

    Source: Appleby, MurmurHash3 (32 bits, seed 42), as Spark hashes an int.
    """
    found, start = np.full(count, -1, np.int64), 0
    while (found < 0).any():
        numbers = np.arange(start, start + 8 * count + 64, dtype=np.int32)
        partition = _murmur(numbers.astype(np.uint32)).view(np.int32) % count
        found[partition[::-1]] = np.where(found[partition[::-1]] < 0, numbers[::-1], found[partition[::-1]])
        start += len(numbers)
    return found.astype(np.int32)


def _murmur(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    word = rotated(numbers * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    state = rotated(word ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    state ^= np.uint32(4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ (state >> np.uint32(shift))) * np.uint32(factor)
    return state ^ (state >> np.uint32(16))


def dealt_columns(texts: Sequence[bool]) -> str:
    """The columns that `dealt` gives, for columns that hold texts or numbers."""
    parts = [
        f"c{place} binary, " + (f"t{place} binary" if text else f"b{place} bigint") for place, text in enumerate(texts)
    ]
    return ", ".join(["destination int, lines int", *parts])


def dealt(batches: Batches, *, units: int, sent_to: NDArray[np.int32]) -> Iterator[pa.RecordBatch]:
    """Lines -> one row for each part of the units that occurs, with its lines; the first `units` columns name these.

    A shuffle of a few long rows takes less than one of many short rows. A number travels as what it exceeds the
    smallest one by, in as few bytes as all of these need. Texts travel as their lengths and their bytes.
    """
    for table in _tables(batches, _DEALT_LINES):
        columns = [column.cast(pa.large_string()) if is_text(column.type) else column for column in table.columns]
        numbers = (line_hashes(columns[:units]) % np.uint64(len(sent_to))).astype(np.int64)
        order = np.argsort(numbers.astype(np.uint16) if len(sent_to) < 1 << 16 else numbers, kind="stable")
        lengths = np.bincount(numbers, minlength=len(sent_to))
        present = np.flatnonzero(lengths)
        starts = starts_of(lengths[present])
        made = [pa.array(sent_to[present], pa.int32()), pa.array(lengths[present], pa.int32())]
        for column in columns:
            made += (_cut_texts if is_text(column.type) else _cut_numbers)(column, order, starts)
        names = column_names(dealt_columns([is_text(column.type) for column in columns]))
        yield pa.RecordBatch.from_arrays(made, names=names)


def _cut(values: NDArray[Any], starts: NDArray[np.int64]) -> pa.Array:
    """A row of bytes for each stretch of the values."""
    ends = (starts * values.itemsize).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(starts) - 1, [None, pa.py_buffer(ends), pa.py_buffer(values)])


def _cut_numbers(column: pa.ChunkedArray, order: NDArray[np.int64], starts: NDArray[np.int64]) -> list[pa.Array]:
    """What the numbers exceed the smallest one by, and that one."""
    numbers = integers(column)
    smallest = numbers.min()
    above = (numbers - smallest).view(np.uint64)  # right even where the difference does not fit an int64
    narrow = above.astype(np.min_scalar_type(int(above.max())))[order]
    return [_cut(narrow, starts), integer_array(np.full(len(starts) - 1, smallest))]


def _cut_texts(column: pa.ChunkedArray, order: NDArray[np.int64], starts: NDArray[np.int64]) -> list[pa.Array]:
    """The lengths of the texts, and their bytes."""
    texts = column.take(integer_array(order)).combine_chunks()
    texts = texts.chunk(0) if isinstance(texts, pa.ChunkedArray) else texts
    ends, content = _contents(texts)
    return [_cut(np.diff(ends).astype(np.int32), starts), _cut(content, ends[starts] - ends[0])]


def _contents(values: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Of large texts or bytes: where each begins and the last one ends, and the bytes of all, from the first on."""
    _, ends, content = values.buffers()
    bounds = np.frombuffer(ends, np.int64)[values.offset : values.offset + len(values) + 1]
    whole = np.frombuffer(content or b"", np.uint8)
    return bounds, whole[bounds[0] : bounds[-1]]


def packed(batches: Batches, *, texts: Sequence[bool], units: int, numbered: bool) -> Iterator[pa.RecordBatch]:
    """What was dealt to one partition -> its block; none where nothing was dealt to it.

    The first `units` columns name the unit, the last one is the item; those between them name the basket.
    """
    columns = joined(batches, texts)
    if len(columns[0]):
        yield from _block([pa.chunked_array([column]) for column in columns], units, numbered=numbered)


def joined(batches: Batches, texts: Sequence[bool]) -> list[pa.Array]:
    """The columns of what was dealt."""
    parts: list[list[Any]] = [[] for _ in texts]
    for batch in batches:
        for _, lines, *cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            for pieces, text, first, second in zip(parts, texts, cells[::2], cells[1::2], strict=True):
                pieces.append((first, second) if text else _numbers(first, lines, second))
    return [
        _texts(pieces) if text else integer_array(np.concatenate([*pieces, np.zeros(0, np.int64)]))
        for pieces, text in zip(parts, texts, strict=True)
    ]


def _numbers(content: bytes, lines: int, smallest: int) -> NDArray[np.int64]:
    above = np.frombuffer(content, f"u{len(content) // lines}").astype(np.uint64)
    return above.view(np.int64) + np.int64(smallest)


def _texts(pieces: Sequence[tuple[bytes, bytes]]) -> pa.Array:
    ends = starts_of(*(np.frombuffer(lengths, np.int32) for lengths, _ in pieces))
    content = pa.py_buffer(b"".join(content for _, content in pieces))
    return pa.Array.from_buffers(pa.large_string(), len(ends) - 1, [None, pa.py_buffer(ends), content])


def packed_rows(batches: Batches, *, lines: int) -> Iterator[pa.RecordBatch]:
    """Lines whose first column numbers their rows, each a unit of its own, in order -> blocks of some `lines`."""
    rest: pa.Table | None = None
    for table in _tables(batches, lines):
        whole = table if rest is None else pa.concat_tables([rest, table])
        rows = integers(whole.column(0))
        last = int(np.searchsorted(rows, rows[-1]))  # what follows may belong to the last row, too
        if last:
            yield from _block(whole.slice(0, last).columns, 1, numbered=False)
        rest = whole.slice(last)
    if rest is not None and rest.num_rows:
        yield from _block(rest.columns, 1, numbered=False)


def _tables(batches: Batches, lines: int) -> Iterator[pa.Table]:
    """The rows in tables of about that number of rows, none of them empty."""
    taken: list[pa.RecordBatch] = []
    count = size = 0
    for batch in _pieces(batches, lines):
        taken.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if count >= lines or size >= _DEALT_BYTES:
            yield pa.Table.from_batches(taken)
            taken, count, size = [], 0, 0
    if count:
        yield pa.Table.from_batches(taken)


def _pieces(batches: Batches, lines: int) -> Iterator[pa.RecordBatch]:
    """The batches, those cut in half that hold more than a table."""
    for batch in batches:
        if batch.num_rows > 1 and (batch.num_rows > lines or batch.nbytes > _DEALT_BYTES):
            middle = batch.num_rows // 2
            yield from _pieces([batch.slice(0, middle), batch.slice(middle)], lines)
        else:
            yield batch


def _block(columns: Sequence[pa.ChunkedArray], units: int, *, numbered: bool) -> Iterator[pa.RecordBatch]:
    """The block of lines, or only their number where they are too many."""
    lines, kind = len(columns[0]), pa.string() if is_text(columns[-1].type) else pa.int64()
    if lines > MOST_LINES:
        yield _counted(_row([b""] * 4, lines, 0), pa.array([], pa.int64()), pa.array([], kind))
        return
    with at_most(1):
        keys = [coded(column) for column in columns[:-1]]
        labels, items = labelled(coded(columns[-1]), None)
        keep = items >= 0
        for key in keys:
            keep &= key.codes >= 0
        cells = Cells.of_units(keys[:units], keys[units:], items, numbered=numbered)
        baskets = grouped(cells if keep.all() else cells.where(keep), labels, "unit")
        supports = integer_array(item_supports(baskets))
    yield _counted(_block_row(baskets, lines), supports, labels.cast(kind))


def _counted(block: pa.RecordBatch, supports: pa.Array, items: pa.Array) -> pa.RecordBatch:
    """The row of the block, then those of its items."""
    columns = [pa.concat_arrays([column, pa.nulls(len(items), column.type)]) for column in block.columns]
    columns += [pa.concat_arrays([pa.nulls(1, column.type), column]) for column in (supports, items)]
    return pa.RecordBatch.from_arrays(columns, names=column_names(COUNTED))


def _block_row(baskets: Baskets, lines: int) -> pa.RecordBatch:
    sizes = [np.diff(starts).astype(np.int32) for starts in (baskets.basket_starts, baskets.unit_starts)]
    owned = b"" if baskets.one_basket_each else sizes[1].tobytes()
    contents = [_written(baskets.labels), baskets.items.tobytes(), sizes[0].tobytes(), owned]
    return _row(contents, lines, baskets.unit_count)


def _row(contents: Sequence[bytes], *numbers: int) -> pa.RecordBatch:
    arrays = [pa.array([content], pa.binary()) for content in contents]
    arrays += [integer_array(np.array([number])) for number in numbers]
    return pa.RecordBatch.from_arrays(arrays, names=column_names(BLOCK))


def _written(labels: pa.Array) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema({"labels": labels.type})) as writer:
        writer.write_batch(pa.record_batch({"labels": labels}))
    return bytes(sink.getvalue())


def _unpacked(batches: Batches) -> Iterator[Baskets]:
    """The blocks."""
    for batch in batches:
        for row in range(batch.num_rows):
            labels, items, baskets, units = (column[row].as_buffer() for column in batch.columns[:4])
            starts = starts_of(np.frombuffer(baskets, np.int32))
            owned = starts_of(np.frombuffer(units, np.int32)) if len(units) else np.arange(len(starts))
            known = pa.ipc.open_stream(labels).read_all().column(0).combine_chunks()
            yield Baskets(known, np.frombuffer(items, np.int32), starts, owned, "unit")


def unions(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The blocks with one basket for each unit, the union of its baskets."""
    for block in _unpacked(batches):
        yield _block_row(block.unions(), len(block.items))


def block_pairs(batches: Batches, *, labels: pa.Array, known: ListedItemsets, lowest: int) -> Iterator[pa.RecordBatch]:
    """Each block's pairs with a support of at least `lowest` in it, as places in `labels`, and these supports.

    Without the known ones. A block with more pairs than can be listed gives one row whose a0 is TOO_MANY.
    """
    with at_most(1):
        for block in _unpacked(batches):
            try:
                found = Miner(block).itemsets(2, lowest, memory_limit=_LISTED_BYTES)
            except BadParameter:
                yield _pairs(np.full((1, 2), TOO_MANY), np.zeros(1, np.int64))
                return
            rows = _number_of(block, labels)[found.items]
            asked = np.flatnonzero(rows.min(axis=1, initial=0) >= 0)
            new = asked[known.places(rows[asked]) < 0]
            rows, supports = rows[new], found.supports[new]
            for start in range(0, len(rows), _AT_ONCE):
                yield _pairs(rows[start : start + _AT_ONCE], supports[start : start + _AT_ONCE])


def _pairs(rows: NDArray[Any], supports: NDArray[np.int64]) -> pa.RecordBatch:
    first, second = (pa.array(column.astype(np.int32), pa.int32()) for column in rows.T)
    return pa.record_batch({"a0": first, "a1": second, "support": integer_array(supports)})


def listed_supports(batches: Batches, *, labels: pa.Array, listed: ListedItemsets) -> Iterator[pa.RecordBatch]:
    """The supports of listed itemsets in each block, by their rows, where not 0; items are places in `labels`."""
    for block in _unpacked(batches):
        supports = listed.supports_in(block, _number_of(block, labels))
        held = np.flatnonzero(supports)
        numbers = pa.array(held.astype(np.int32), pa.int32())
        yield pa.record_batch({"number": numbers, "support": integer_array(supports[held])})


def item_weights(batches: Batches, *, labels: pa.Array, weights: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """See `Transactions.item_weights`: what the units of each block give to items, as places in `labels`."""
    with at_most(1):
        for block in _unpacked(batches):
            numbers = _number_of(block, labels)
            held = np.flatnonzero(numbers >= 0)
            sums = block.projected(held.tolist()).item_weights(weights)
            yield pa.record_batch({"rank": pa.array(numbers[held], pa.int32()), "weight": integer_array(sums)})


def unit_patterns(batches: Batches, *, labels: pa.Array) -> Iterator[pa.RecordBatch]:
    """What units of each block hold of the items `labels`, and how many units hold just that.

    A pattern is a unit's set of baskets: of each basket the places in `labels`, doubled, the first plus 1. These bytes
    are called a large text, as which they travel.
    """
    with at_most(1):
        for block in _unpacked(batches):
            numbers = _number_of(block, labels)
            held = np.flatnonzero(numbers >= 0)
            left = block.projected(held.tolist())
            if left.unit_count:
                patterns, units = _patterns(replace(left, items=numbers[held][left.items]))
                yield pa.record_batch(
                    {"pattern": patterns.cast(pa.large_binary()).view(pa.large_string()), "units": units}
                )


def added_up(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Patterns that were dealt -> the different ones, as `dealt` gives them, and how many units have each."""
    table = pa.table(joined(batches, PATTERN_TEXTS), ["pattern", "units"]).group_by("pattern", use_threads=False)
    yield from dealt(table.aggregate([("units", "sum")]).to_batches(), units=1, sent_to=destinations(1))


def _patterns(baskets: Baskets) -> tuple[pa.Array, pa.Array]:
    """The different patterns, and how many units have each. Equal units have equal bytes, in all blocks."""
    numbers = 2 * baskets.items
    numbers[baskets.basket_starts[:-1]] += 1
    each = _cut(numbers, baskets.basket_starts)
    if baskets.one_basket_each:
        values, counts = each.value_counts().flatten()
        return values, counts
    each = each.dictionary_encode()
    order = np.asarray(pc.sort_indices(each.dictionary)).astype(np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    keys = np.unique(baskets.unit_numbers() * np.int64(len(order)) + rank[np.asarray(each.indices)])
    units, chosen = np.divmod(keys, len(order))
    sets = _cut(chosen.astype(np.int32), starts_of(np.bincount(units, minlength=baskets.unit_count)))
    values, counts = sets.value_counts().flatten()
    ends, content = _contents(values.cast(pa.large_binary()))
    ranks = content.view(np.int32)
    starts, content = _contents(each.dictionary.take(integer_array(order[ranks])).cast(pa.large_binary()))
    return _cut(content.view(np.int32), starts[ends // ranks.itemsize] // numbers.itemsize), counts


def baskets_of_patterns(patterns: pa.Array, codes: NDArray[np.int32], labels: pa.Array, unit: str) -> Baskets:
    """The baskets of units that hold these patterns, one unit each; the numbers in patterns are places in `codes`."""
    bounds, content = _contents(patterns)
    numbers = content.view(np.int32)
    starts = np.append(np.flatnonzero(numbers % 2), len(numbers))
    owned = np.searchsorted(starts, (bounds - bounds[0]) // numbers.itemsize)
    return Baskets(labels, codes[numbers // 2], starts, owned, unit)


def _number_of(block: Baskets, labels: pa.Array) -> NDArray[np.int32]:
    """int32[N]: the place in `labels`, sorted, of each of the block's items; −1 for none."""
    wanted = labels.cast(block.labels.type)
    return integers_or(-1, pc.index_in(block.labels, value_set=wanted)).astype(np.int32)
