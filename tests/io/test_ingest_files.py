"""Files, folders, globs and URLs, and what can be wrong with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.datasets import ROOT
from support.oracles.ingest import CANARY, contents, refused
from support.reading import read_baskets

from dpmine.errors import BadData, UnreadableFile
from dpmine.io.input import Input
from dpmine.io.open import open_input
from dpmine.io.source import Columns
from dpmine.models.tables import read_columns

LONG = Columns(unit=("u",), item="i")
TABLE = pa.table({"other": [0.5] * 4, "u": [1, 1, 2, 2], "i": ["a", "b", "b", "b"]})
UNITS: list[list[tuple[Any, ...]]] = [[("a", "b")], [("b",)]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two plain files, and hive partitions below `parts`."""
    pq.write_table(TABLE.slice(0, 1), tmp_path / "one.parquet")
    pq.write_table(TABLE.slice(1), tmp_path / "two.parquet", row_group_size=1)
    for unit, items in (("1", ["a", "b"]), ("2", ["b"]), ("__HIVE_DEFAULT_PARTITION__", ["a"])):
        (tmp_path / "parts" / f"u={unit}").mkdir(parents=True)
        pq.write_table(pa.table({"i": items}), tmp_path / "parts" / f"u={unit}" / "part-0.snappy.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    (tmp_path / "parts" / "_temporary").mkdir()
    (tmp_path / "parts" / "_temporary" / "half.parquet").write_bytes(b"PAR1")
    return tmp_path


def paths_of(folder: Path) -> dict[str, object]:
    return {
        "list of paths": [folder / "one.parquet", str(folder / "two.parquet")],
        "glob": str(folder / "*.parquet"),
        "glob in a list": [folder / "o*.parquet", folder / "tw?.parquet"],
        "partitions": folder / "parts",
        "glob of partitions": str(folder / "parts" / "u=*"),
        "glob of files in partitions": str(folder / "parts" / "u*" / "*.parquet"),
        "recursive glob": str(folder / "parts" / "u=*" / "**" / "*.parquet"),
        "URL": f"file://{folder}/parts",
        "URLs": [f"file://{folder}/one.parquet", f"file://{folder}/two.parquet"],
    }


@pytest.mark.parametrize("kind", paths_of(Path("/")))
def test_paths(folder: Path, kind: str) -> None:
    assert contents(read_baskets(paths_of(folder)[kind], LONG).baskets) == UNITS


def test_relative_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for data in ("*.parquet", ["one.parquet", "./two.parquet"], "parts", Path("parts")):
        assert contents(read_baskets(data, LONG).baskets) == UNITS


def test_a_name_with_brackets_is_no_glob(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "sales[1]*.parquet")
    assert contents(read_baskets(tmp_path / "sales[1]*.parquet", LONG).baskets) == UNITS


def test_a_file_below_a_folder_called_like_a_partition(tmp_path: Path) -> None:
    (tmp_path / "k=v").mkdir()
    pq.write_table(TABLE.select(["u", "i"]), tmp_path / "k=v" / "x.parquet")
    assert contents(read_baskets(tmp_path / "k=v" / "x.parquet", LONG).baskets) == UNITS


def test_partition_values_that_only_look_alike_stay_apart(tmp_path: Path) -> None:
    for unit in ("1", "01", "a%20b"):
        (tmp_path / f"u={unit}").mkdir()
        pq.write_table(pa.table({"i": ["x"]}), tmp_path / f"u={unit}" / "x.parquet")
    read = read_baskets(tmp_path, Columns.of(unit="i", item="u"))
    assert read.baskets.labels.to_pylist() == ["01", "1", "a b"]


def test_only_partition_keys(tmp_path: Path) -> None:
    for unit in (1, 2):
        (tmp_path / f"u={unit}" / "i=x").mkdir(parents=True)
        pq.write_table(pa.table({"n": [0.5, 0.5]}), tmp_path / f"u={unit}" / "i=x" / "x.parquet")
    assert contents(read_baskets(tmp_path, LONG).baskets) == [[("x",)], [("x",)]]


@every(
    ("first", "second"),
    [
        (pa.array([1], pa.int32()), pa.array([2**40])),
        (pa.array(["a"], pa.large_string()), pa.array(["b"])),
        (pa.array(["a"]).dictionary_encode(), pa.array(["b"])),
        (pa.array(["a"]), pa.nulls(1)),
    ],
)
def test_files_whose_types_differ_but_fit(tmp_path: Path, first: pa.Array, second: pa.Array) -> None:
    pq.write_table(pa.table({"u": [1], "i": first}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"more": [1], "u": pa.array([1], pa.int16()), "i": second}), tmp_path / "b.parquet")
    values = [value for value in [*first.to_pylist(), *second.to_pylist()] if value is not None]
    assert contents(read_baskets(tmp_path, LONG).baskets) == [[tuple(values)]]


def test_files_whose_types_do_not_fit(tmp_path: Path) -> None:
    pq.write_table(pa.table({"u": [1], "i": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"u": [1], "i": [CANARY]}), tmp_path / "b.parquet")
    with refused(BadData, "'i'", "int64, string", "different files"):
        read_baskets(tmp_path, LONG)
    for value in (1, 2**64 - 1):  # whatever the values: one of them must not decide
        pq.write_table(pa.table({"u": [1], "i": pa.array([value], pa.uint64())}), tmp_path / "b.parquet")
        with refused(BadData, "'i'", "int64, uint64", "different files"):
            read_baskets(tmp_path, LONG)
    pq.write_table(pa.table({"u": [1]}), tmp_path / "b.parquet")
    with refused(BadData, "'i'", "missing in some of the files"):
        read_baskets(tmp_path, LONG)


@every(
    ("kind", "value", "other"),
    [
        (pa.int64(), 2**53 + 1, pa.array([0.5])),
        (pa.timestamp("ms"), 2**62, pa.array([1], pa.timestamp("us"))),
    ],
)
def test_a_value_that_the_common_type_of_files_cannot_hold_is_missing(
    tmp_path: Path, kind: pa.DataType, value: int, other: pa.Array
) -> None:
    """Types are public, values are not: after the charge none of them may stop the run."""
    pq.write_table(pa.table({"x": pa.array([1, value], pa.int64()).cast(kind)}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": other}), tmp_path / "b.parquet")
    read = pa.Table.from_batches(open_input(Input(tmp_path)).batches(["x"])).column("x")
    assert read.type == other.type
    assert read.is_null().to_pylist() == [False, True, False]


def test_column_names_with_dots(tmp_path: Path) -> None:
    data = pa.table({"u": [1], "u.i": ["a"], "items": [[1]], "items.more": [2]})
    pq.write_table(data, tmp_path / "x.parquet")
    assert contents(read_baskets(tmp_path / "x.parquet", Columns.of(unit="u", item="u.i")).baskets) == [[("a",)]]
    assert contents(read_baskets(tmp_path / "x.parquet", Columns(items="items")).baskets) == [[(1,)]]


def test_list_and_one_hot_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"items": [["b", "a"], ["b"], []]}), tmp_path / "list.parquet")
    pq.write_table(pa.table({"a": [True, False], "b": [True, True]}), tmp_path / "hot.parquet")
    assert contents(read_baskets(tmp_path / "list.parquet", Columns()).baskets) == UNITS
    assert contents(read_baskets(tmp_path / "hot.parquet", Columns()).baskets) == UNITS


def damaged(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_damaged_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"u": range(1000), "i": [CANARY] * 1000}), tmp_path / "good.parquet", compression="none")
    good = (tmp_path / "good.parquet").read_bytes()
    middle = good[:4] + b"\xff" * 400 + good[404:]
    for content in (
        b"",
        b"PAR1",
        CANARY.encode() * 10,
        good[:-40],
        good[:200],
        b"PAR1" + good[4:-8] + b"\0" * 8,
        middle,
    ):
        path = damaged(tmp_path / "bad.parquet", content)
        with refused(UnreadableFile, "bad.parquet", "of another form"):
            read_baskets(path, LONG)


def test_a_damaged_file_in_a_folder_is_named_without_partition_values(tmp_path: Path) -> None:
    (tmp_path / f"u={CANARY}").mkdir()
    damaged(tmp_path / f"u={CANARY}" / "part.parquet", b"nothing")
    for data in (tmp_path, tmp_path / "*"):
        with refused(UnreadableFile, "part.parquet", "u=…" if data == tmp_path else "*"):
            read_baskets(data, LONG)


@every(
    ("name", "words"),
    [
        ("missing.parquet", ["missing.parquet", "does not exist"]),
        ("missing*.parquet", ["matches no file"]),
        ("", ["empty"]),
        ("file:///nowhere/at/all.parquet", ["does not exist"]),
        (f"http://me:{CANARY}@example.org/x.parquet?key={CANARY}", ["http://example.org/x.parquet", "s3://"]),
        (f"s3://me:se/{CANARY}+x@bucket/x.parquet", ["s3://bucket/x.parquet"]),
        (f"http://me:s@{CANARY}/@bucket/a@b.parquet", ["http://b.parquet"]),
        (f"nonsense://{CANARY}@x", ["nonsense://x"]),
    ],
)
def test_what_cannot_be_opened(name: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with refused(UnreadableFile, *words):
        read_baskets(name, Columns())


def test_folders_without_parquet(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(CANARY)
    with refused(UnreadableFile, "holds no file that ends in .parquet"):
        read_baskets(tmp_path, Columns())
    with refused(UnreadableFile, "notes.txt", "of another form"):
        read_baskets(tmp_path / "notes.txt", Columns())


class Closed:
    """A file system that refuses."""

    def __init__(self, whole: Any, *methods: str) -> None:
        self.whole, self.methods = whole, methods

    def __getattr__(self, name: str) -> Any:
        return self.refuse if name in self.methods else getattr(self.whole, name)

    def refuse(self, *_: object, **__: object) -> None:
        raise PermissionError(CANARY)


@pytest.mark.parametrize("method", ["open_input_file", "get_file_info"])
def test_permission(folder: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    from dpmine.io import files

    locate = files.locate
    monkeypatch.setattr(files, "locate", lambda name: (Closed(locate(name)[0], method), locate(name)[1]))
    with refused(UnreadableFile, "one.parquet", "permission"):
        read_baskets(folder / "one.parquet", LONG)


def test_one_unit_does_not_change_the_type_of_the_items(tmp_path: Path) -> None:
    """The items of partition folders are texts, whether or not all of them look like integers."""
    labels = []
    for others in ([], ["tattoo"]):
        root = tmp_path / f"with {len(others)}"
        for item in ("9", "10", *others):
            (root / f"i={item}").mkdir(parents=True)
            pq.write_table(pa.table({"u": [1, 2]}), root / f"i={item}" / "part.parquet")
        labels.append(read_baskets(root, LONG).baskets.labels.to_pylist())
    assert labels == [["10", "9"], ["10", "9", "tattoo"]]


def test_progress(folder: Path) -> None:
    for data in (folder / "parts", folder / "one.parquet", TABLE, TABLE.to_pandas(), TABLE.to_reader()):
        told: list[float] = []
        read_baskets(data, LONG, progress=told.append)
        assert told == sorted(told)
        assert (told[0], told[-1]) == (0.0, 1.0)
        assert all(0 <= share <= 1 for share in told)


def test_only_needed_columns_are_read(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    asked = []
    batches = pq.ParquetFile.iter_batches

    def spy(self: Any, **options: Any) -> Any:
        asked.append(options["columns"])
        return batches(self, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    read_baskets(folder / "one.parquet", LONG)
    assert asked == [["u", "i"]]


@pytest.mark.slow
def test_neither_pandas_nor_another_engine_is_imported_for_files_that_fit_into_memory(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "catalogue.txt").write_text("a\nb\n")
    script = (
        "import sys; from dpmine.itemsets.read import read_transactions; from dpmine.io.source import Columns; "
        "from dpmine.itemsets.ingest.catalogue import read_catalogue; known = read_catalogue(sys.argv[2]); "
        "read_transactions(sys.argv[1], Columns.of(unit='u', item='i'), catalogue=known, before_rows=print); "
        "read_transactions([['a']], Columns(), before_rows=print).transactions.miner(); "
        "sys.exit(any('pandas' == name or 'outofcore' in name or 'spark' in name for name in sys.modules))"
    )
    command = [sys.executable, "-c", script, str(folder / "parts"), str(tmp_path / "catalogue.txt")]
    assert subprocess.run(command, check=False, cwd=ROOT).returncode == 0


def test_damage_to_any_byte_of_the_footer(tmp_path: Path) -> None:
    """No bit flip leads to anything but a refusal or a reading; a name with half a character is among them."""
    pq.write_table(pa.table({"u": [1, 2], "i": [CANARY, "é"], "é": [1, 2]}), tmp_path / "good.parquet")
    good = (tmp_path / "good.parquet").read_bytes()
    refusals = []
    footer = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
    for position in range(footer, len(good), 3):
        flipped = good[:position] + bytes([good[position] ^ 0x40]) + good[position + 1 :]
        try:
            read_baskets(damaged(tmp_path / "bad.parquet", flipped), LONG)
        except (UnreadableFile, BadData) as error:
            refusals.append(str(error))
    assert refusals
    assert not any(CANARY in message for message in refusals)


@pytest.mark.slow
@pytest.mark.parametrize("group", [10**6, 70_000])
def test_texts_that_repeat_stay_dictionaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int) -> None:
    """Dictionaries of texts that are all different would grow from batch to batch."""
    monkeypatch.setattr("dpmine.io.sources.parquet._MANY_ROWS", 50_000)
    repeated = [f"item {i % 50}" for i in range(400_000)]
    different = [f"customer number {i:09d}" if i % 7 else None for i in range(400_000)]
    path = tmp_path / "data.parquet"
    columns: dict[str, Any] = {"customer": different, "item": repeated, "code": range(400_000)}
    pq.write_table(pa.table(columns), path, row_group_size=group)
    source = open_input(Input(str(path)))
    read = source.read(["customer", "item", "code"], lambda _share: None)
    assert read.to_pydict() == {name: list(values) for name, values in columns.items()}
    assert all(pa.types.is_dictionary(read.column(name).type) for name in ("customer", "item"))
    assert max(len(chunk.dictionary) for chunk in read.column("customer").chunks) <= 2**17 + 50_000
    assert not any(map(pa.types.is_dictionary, next(source.batches(["customer", "item"])).schema.types))


def test_numbers_that_are_kept_come_in_few_batches(tmp_path: Path) -> None:
    """Each batch takes time of its own; those that are not kept, or are texts or lists, take less memory."""
    rows = 2**16 + 1
    columns: dict[str, Any] = {"unit": range(rows), "item": range(rows), "list": [[1]] * rows}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    source = open_input(Input(str(tmp_path / "data.parquet")))
    assert len(list(source.batches(["unit", "item"], whole=True))) == 1
    assert len(list(source.batches(["unit", "item"]))) == 2
    assert len(list(source.batches(["unit", "list"], whole=True))) == 2


@every("argument", ["a\udcff.parquet", "*/b.parquet", "folder", "d\udcff/b.parquet"])
def test_names_that_are_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str) -> None:
    """Arrow opens none of them; each is an error of one line that can be printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "d\udcff").mkdir()
    for name in ("a\udcff.parquet", "d\udcff/b.parquet", "folder/c\udcff.parquet"):
        write_anywhere(tmp_path / name)
    with pytest.raises(UnreadableFile, match="not valid UTF-8: rename") as error:
        open_input(Input(argument))
    assert str(error.value).encode()


def write_anywhere(path: Path) -> None:
    """Arrow itself writes no file whose name is not UTF-8."""
    content = pa.BufferOutputStream()
    pq.write_table(TABLE, content)
    path.write_bytes(content.getvalue())


def test_a_folder_whose_name_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d\udcff").mkdir()
    monkeypatch.chdir(tmp_path / "d\udcff")
    write_anywhere(Path("a.parquet"))
    with pytest.raises(UnreadableFile, match="not valid UTF-8: rename"):
        open_input(Input("a.parquet"))


def test_progress_is_told_in_whole_per_cent() -> None:
    """An exact share would show the number of rows, which is private where units are added or removed."""
    table = pa.concat_tables([pa.table({"x": [0.5] * size}) for size in (1, 10, 100, 26)])
    shares: list[float] = []
    read_columns(table, ["x"], progress=shares.append)
    assert shares == [0.0, 0.08, 0.81, 1.0]
