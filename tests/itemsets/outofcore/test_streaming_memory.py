"""Peak memory of child processes, and what a limit may look like."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.datasets import ROOT

from dpmine.errors import BadParameter
from dpmine.io.arrow import with_used_values
from dpmine.io.open import open_source
from dpmine.io.source import Columns
from dpmine.itemsets.ingest.layouts import plan_layout
from dpmine.itemsets.outofcore.streams import chunks
from dpmine.itemsets.transactions.memory import MemoryBudget, parse_memory, physical_memory

MEGA = 10**6
LIMIT = 100 * MEGA
READING = 40 * MEGA
"""What reading texts from Parquet holds whatever the limit and the size of the file; part of the libraries' base."""
CHILD = """
import json, sys
import pyarrow as pa
from dpmine.io.source import Columns
from dpmine.itemsets.read import read_transactions

path, columns, memory, size, threshold = json.loads(sys.argv[1])

def peak():
    # not getrusage: a child's maximum begins with the size of the process that started it
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

def levels(data, columns, memory):
    found = read_transactions(data, columns, memory=memory).transactions
    return [type(found).__name__, sorted(found.miner().histogram(size, threshold).items())]

table = pa.table({name: [1, 2] for name in ("u", "b", "i")})
rows = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
levels(rows, Columns.of(unit="u", item="i"), memory)  # compiled loops are loaded
base = peak()
result = levels(path, Columns.of(**columns), memory)
print(json.dumps([peak() - base, *result]))
"""


def child(path: Path, columns: dict[str, Any], memory: int | None, size: int = 2, threshold: int = 50) -> list[Any]:
    """Bytes on top of the libraries', the kind of transactions, and the histogram."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    request = json.dumps([str(path), columns, memory, size, threshold])
    done = subprocess.run(
        [sys.executable, "-c", CHILD, request], capture_output=True, text=True, check=True, cwd=ROOT, timeout=300
    )
    return list(json.loads(done.stdout))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """About two million lines: sorted, scattered, and as texts; in memory they take more than 150 MB."""
    folder = tmp_path_factory.mktemp("baskets")
    command = ["--baskets", "200000", "--items", "1000", "--units", "60000", "-o", str(folder / "raw.parquet")]
    subprocess.run([sys.executable, str(ROOT / "datasets" / "generate.py"), *command], check=True)
    raw = pq.read_table(folder / "raw.parquet").rename_columns(["u", "b", "i"])
    order = np.random.default_rng(1).permutation(raw.num_rows)
    texts = {name: raw.column(name).cast(pa.string()) for name in raw.column_names}
    tables = {"sorted": raw.sort_by("b"), "scattered": raw.take(pa.array(order)), "texts": pa.table(texts)}
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=2**18)
    return {name: folder / f"{name}.parquet" for name in tables}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "columns", "size"),
    [
        ("sorted", {"unit": "b", "item": "i"}, 2),
        ("sorted", {"unit": "b", "item": "i"}, 3),
        ("scattered", {"unit": "u", "item": "i"}, 2),
        ("scattered", {"unit": "u", "basket": "b", "item": "i"}, 2),
        ("texts", {"unit": "u", "basket": "b", "item": "i"}, 2),
    ],
)
def test_peak_memory_stays_below_the_limit(
    files: dict[str, Path], name: str, columns: dict[str, Any], size: int
) -> None:
    used, kind, *levels = child(files[name], columns, LIMIT, size)
    free, usual_kind, *truth = child(files[name], columns, None, size)
    assert (kind, usual_kind) == ("PartitionedBaskets", "BasketsInMemory")
    assert levels == truth
    assert used <= LIMIT + READING * (name == "texts")
    assert used < free


@pytest.mark.slow
def test_peak_memory_with_conditional_databases(files: dict[str, Path]) -> None:
    columns = {"unit": "b", "item": "i"}
    used, kind, *levels = child(files["sorted"], columns, 72 * MEGA, threshold=5)
    _, _, *truth = child(files["sorted"], columns, None, threshold=5)
    assert kind == "PartitionedBaskets"
    assert levels == truth
    assert used <= 72 * MEGA + 30 * MEGA  # the smallest batches of Parquet files have a size of their own


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_peak_memory_where_each_item_is_in_a_large_share_of_the_units(tmp_path: Path, size: int) -> None:
    generator = np.random.default_rng(2)
    table = pa.table({f"c{number}": generator.random(300_000) < 0.4 for number in range(9)})
    pq.write_table(table, tmp_path / "table.parquet", row_group_size=2**16)
    for layout in ({"one_hot": True}, {"attributes": ["c0", "c1", "c2", "c3", "c4"]}):
        used, kind, *levels = child(tmp_path / "table.parquet", layout, 64 * MEGA, size)
        _, _, *truth = child(tmp_path / "table.parquet", layout, None, size)
        assert kind == "PartitionedBaskets"
        assert levels == truth
        assert used <= 64 * MEGA + 30 * MEGA


@pytest.mark.slow
def test_pandas_is_not_imported(tmp_path: Path) -> None:
    """It would take more than half of the smallest limit."""
    rows = pa.table({"u": ["a", "a", "b", None], "i": [1, 2, 1, 2]})
    pq.write_table(rows, tmp_path / "texts.parquet")
    script = (
        "import sys; from dpmine.itemsets.outofcore.reading import Stream; from dpmine.io.source import Columns; "
        "from dpmine.io.open import open_source; from dpmine.itemsets.ingest.layouts import plan_layout; "
        "from dpmine.itemsets.transactions.memory import MemoryBudget; columns = Columns.of(unit='u', item='i'); "
        "source = open_source(sys.argv[1], columns); plan = plan_layout(source, columns); "
        "found = Stream(source, plan, None, MemoryBudget.of('64MB'), lambda share: None).transactions(None); "
        "assert found.miner().histogram(2, 1) == {1: 1}; sys.exit('pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "texts.parquet")]
    assert subprocess.run(command, check=False, cwd=ROOT).returncode == 0


@every(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9),
        ("500MB", 500 * MEGA),
        ("2GiB", 2**31),
        ("1.5G", 1500 * MEGA),
        ("64000k", 64 * MEGA),
        (" 1 tb ", 10**12),
        (64 * MEGA, 64 * MEGA),
        ("64000000", 64 * MEGA),
        ("64000000B", 64 * MEGA),
    ],
)
def test_sizes(text: int | str, size: int) -> None:
    assert parse_memory(text) == size


@every("text", ["", "GB", "4 apples", "-4GB", "1MB", "0", "4iB", "nan", True, "4GB\n4GB", 1.5])
def test_what_is_no_size(text: Any) -> None:
    with pytest.raises(BadParameter, match="memory must be a size"):
        parse_memory(text)


def test_half_of_the_machine_is_the_default() -> None:
    assert parse_memory(None) == physical_memory() // 2


def test_a_container_has_less_than_its_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, limit, none = physical_memory(), tmp_path / "limit", tmp_path / "none"
    limit.write_text("2000000000\n", encoding="ascii")
    none.write_text("max\n", encoding="ascii")
    limits = "dpmine.itemsets.transactions.memory._CONTAINER_LIMITS"
    monkeypatch.setattr(limits, (str(none), str(limit), str(tmp_path / "no such file")))
    assert physical_memory() == min(machine, 2 * 10**9)
    monkeypatch.setattr(limits, (str(none),))
    assert physical_memory() >= machine


def test_shares_fit_together() -> None:
    budget = MemoryBudget.of(10**9)
    together = budget.chunk + budget.labels + budget.resident + budget.projection
    assert max(together, budget.whole, budget.all_resident + budget.listing) <= 10**9


def test_a_long_dictionary_does_not_make_a_table_of_each_row() -> None:
    texts = pa.array([f"{number:0200}" for number in range(1000)])
    columns = {name: pa.DictionaryArray.from_arrays(pa.array(range(1000), pa.int32()), texts) for name in "ui"}
    table, named = pa.table(columns), Columns(unit=("u",), item="i")
    source = open_source(table, named)
    tables = list(chunks(table.to_batches(), plan_layout(source, named), 400_000))
    assert 2 < len(tables) < 20
    assert pa.concat_tables([part.cast(table.schema) for part in tables]).to_pylist() == table.to_pylist()


@every("kind", [pa.string(), pa.large_string(), pa.int64(), pa.string_view(), pa.binary_view()])
def test_used_values_of_a_dictionary(kind: pa.DataType) -> None:
    values = pa.array(["8", "3", "1", "1"]).cast(pa.string() if kind == pa.binary_view() else kind).cast(kind)
    column = pa.DictionaryArray.from_arrays(pa.array([0, 3, None, 3, 2, 1], pa.uint8()), values, ordered=True)
    batch = pa.record_batch([column, pa.array(range(6))], names=["a", "b"])
    for part in (batch, batch.slice(1, 2), batch.slice(2, 1), batch.slice(6)):
        found = with_used_values(part)
        assert found.schema == part.schema
        assert found.to_pylist() == part.to_pylist()
        if kind == pa.string():
            assert len(found.column(0).dictionary) <= max(4 if part is batch else 1, part.num_rows - 1)


def test_repeated_texts_of_a_file_are_read_in_small_pieces(tmp_path: Path) -> None:
    pq.write_table(pa.table({"i": ["a" * 1000] * 20_000}), tmp_path / "texts.parquet")
    source = open_source(tmp_path / "texts.parquet", Columns(item="i"))
    assert max(batch.nbytes for batch in source.batches(["i"])) < 10 * MEGA
