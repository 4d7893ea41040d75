"""Files as Spark reads them: the same ones, with the same columns, as are read here; or none, and a word why."""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.conformance.sources import table_of
from support.encrypted import encrypted
from support.oracles.ingest import CANARY, refused
from support.oracles.spark import listed, random_rows

import dpmine
from dpmine.errors import DpmineError, UnreadableFile

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

SALES = pa.table({"u": [1, 1, 2], "i": ["a", "b", "a"]})
COLUMNS: dict[str, Any] = {"unit": "u", "item": "i"}


def test_several_files_a_folder_a_glob_and_a_table(spark: Any, tmp_path: Path) -> None:
    whole = table_of(random_rows(2))
    expected = listed(whole, unit="u", basket="b", item="i")
    folder = tmp_path / "parts"
    folder.mkdir()
    paths = [folder / "1.parquet", folder / "2.parquet"]
    pq.write_table(whole.slice(0, 20), paths[0])
    pq.write_table(whole.slice(20), paths[1])
    spark.read.parquet(str(folder)).createOrReplaceTempView("sales")
    for data in (paths, folder, f"{folder}/*.parquet", "table:sales"):
        assert listed(data, engine="spark", unit="u", basket="b", item="i") == expected


FOLDERS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "items": (["9", "10"], {"unit": "u", "item": "key"}),
    "one item that is a word": (["9", "10", "tattoo"], {"unit": "u", "item": "key"}),
    "units that are one number": (["007", "7"], {"unit": "key", "item": "i"}),
    "dates": (["2024-01-01", "2024-01-02"], {"unit": "u", "item": "key"}),
}


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("pattern", ["", "/*", "/key=*/*.parquet"])
def test_values_of_partition_folders_are_texts(name: str, pattern: str, tmp_path: Path) -> None:
    """A type that Spark finds in all names would tell that one of them is no number."""
    values, options = FOLDERS[name]
    for place, value in enumerate(values):
        write(tmp_path / "sales" / f"key={value}", {"u": [1, 2, 3 + place], "i": ["a", "b", "a"]})
    data = f"{tmp_path}/sales{pattern}"
    expected = listed(data, **options)
    assert expected
    assert listed(data, engine="spark", **options) == expected


@pytest.mark.parametrize("folder", ["key", "KEY"])
@pytest.mark.parametrize("word", ["10", "tattoo"])
def test_a_column_in_the_files_comes_before_a_partition_folder(folder: str, word: str, tmp_path: Path) -> None:
    for place, value in enumerate(["007", "7", word]):
        write(tmp_path / f"{folder}={value}", {"u": [1, 2], "key": [value, "999" if place == 2 else value]})
    expected = listed(tmp_path, unit="u", item="key")
    assert {item for _, items in expected for item in items} == {"007", "7", word, "999"}
    assert listed(tmp_path, engine="spark", unit="u", item="key") == expected


def test_a_key_beside_one_that_is_a_column(tmp_path: Path) -> None:
    for day in ("01", "1"):
        write(tmp_path / "run=5" / "sales" / f"day={day}", {"u": [1, 2], "run": ["a", "b"]})
    for options in ({"unit": "u", "item": "day"}, {"unit": "u", "item": "run"}, {"unit": "day", "item": "run"}):
        expected = listed(tmp_path / "run=5" / "sales", **options)
        assert listed(tmp_path / "run=5" / "sales", engine="spark", **options) == expected


ODD = ["a b", "é", "item%23=1", "x+y", "per%25cent", "semi;colon,comma", "__HIVE_DEFAULT_PARTITION__"]


@pytest.mark.parametrize("key", ["key", "k%23y", "schl\u00fcssel"])
def test_odd_names_of_folders(key: str, tmp_path: Path) -> None:
    for place, value in enumerate(ODD):
        write(tmp_path / "sales =1" / f"{key}={value}", {"u": [1, 2, 3 + place]})
    options = {"unit": "u", "item": unquote(key)}
    expected = listed(tmp_path / "sales =1", **options)
    assert len(expected) > len(ODD)
    assert listed(tmp_path / "sales =1", engine="spark", **options) == expected


def test_two_folders_with_partitions(tmp_path: Path) -> None:
    for year in ("a", "b"):
        for key in ("1", "01"):
            write(tmp_path / year / f"key={key}", {"u": [1, 2]})
    options = {"unit": "u", "item": "key"}
    for paths in (["a", "b"], ["a/key=*", "b/*"]):
        data = [tmp_path / path for path in paths]
        assert listed(data, engine="spark", **options) == listed(data, **options) != []
    relative = os.path.relpath(tmp_path / "a")
    assert listed(relative, engine="spark", **options) == listed(relative, **options) != []


def test_files_beside_partition_folders(tmp_path: Path) -> None:
    write(tmp_path / "key=1", {"u": [1], "i": ["a"]})
    pq.write_table(SALES, tmp_path / "a.parquet")
    with refused(UnreadableFile, "others lack"):
        listed(tmp_path, engine="spark", **COLUMNS)


def write(folder: Path, columns: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    pq.write_table(pa.table(columns), folder / "part.parquet")


def test_folders_in_folders_and_what_is_no_parquet(tmp_path: Path) -> None:
    write(tmp_path / "inner" / "more", {"u": [3, 3], "i": ["a", "b"]})
    (tmp_path / "inner" / "notes.txt").write_text(CANARY)
    (tmp_path / "_SUCCESS").write_text("")
    pq.write_table(SALES, tmp_path / "a.PARQUET")
    pq.write_table(SALES, tmp_path / "a.parquet.bak")
    pq.write_metadata(SALES.schema, tmp_path / "_metadata")
    expected = listed(tmp_path, **COLUMNS)
    assert (2, ["a", "b"]) in expected
    assert listed(tmp_path, engine="spark", **COLUMNS) == expected
    for name in ("a.parquet.bak", "a.parq*.bak"):
        assert listed(tmp_path / name, engine="spark", **COLUMNS) == listed(SALES, **COLUMNS)


REFUSED = {
    "a name that begins with _": (["a.parquet", "_c.parquet"], "begin with _"),
    "a glob of such a name": (["*.parquet"], "begin with _"),
    "a folder that begins with _": (["hidden", "b"], "_key=value"),
    "**": (["**/*.parquet"], "knows no **"),
    "no Parquet file": (["texts"], "no Parquet file"),
    "names of two kinds": (["a.parquet", "a.bak"], "name all of them"),
    "no bytes": (["a.parquet", "empty.parquet"], "is empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_spark_would_leave_out(name: str, tmp_path: Path) -> None:
    paths, words = REFUSED[name]
    for folder in ("hidden/_key=1", "b", "texts"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("a.parquet", "_c.parquet", "a.bak", "hidden/_key=1/k.parquet", "b/a.parquet"):
        pq.write_table(SALES, tmp_path / file)
    (tmp_path / "texts" / "a.txt").write_text(CANARY)
    (tmp_path / "empty.parquet").write_bytes(b"")
    with refused(UnreadableFile, words):
        dpmine.top_itemset([f"{tmp_path}/{path}" for path in paths], engine="spark", **COLUMNS)


def test_wildcards_in_the_name_of_a_file(tmp_path: Path) -> None:
    pq.write_table(SALES, tmp_path / "s[1].parquet")
    pq.write_table(pa.table({"u": [7], "i": ["x"]}), tmp_path / "s1.parquet")
    for name in ("s[1].parquet", "s1.parquet"):
        assert listed(tmp_path / name, engine="spark", **COLUMNS) == listed(tmp_path / name, **COLUMNS)


@pytest.fixture
def lenient(spark: Any) -> Any:
    """A session that reads around damage."""
    names = ["spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles"]
    for name in names:
        spark.conf.set(name, "true")
    yield
    for name in names:
        spark.conf.unset(name)


@pytest.mark.usefixtures("lenient")
def test_damaged_files_are_never_left_out(tmp_path: Path) -> None:
    pq.write_table(SALES, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    with pytest.raises(dpmine.DpmineError) as caught:
        dpmine.top_itemset(tmp_path, engine="spark", **COLUMNS)
    assert isinstance(caught.value, UnreadableFile | dpmine.BadData)


def test_files_that_are_none(tmp_path: Path) -> None:
    text = tmp_path / "text.parquet"
    text.write_text(CANARY * 100)
    for path, words in ((tmp_path / "nothing.parquet", "does not exist"), (text, "cannot be read")):
        with refused(UnreadableFile, words):
            dpmine.top_itemset(path, engine="spark", **COLUMNS)
    with refused(UnreadableFile, "does not exist"):
        dpmine.top_itemset("table:no_such_table", engine="spark", **COLUMNS)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.uint16(), pa.uint32(), pa.int64()])
def test_integers_of_every_width(kind: pa.DataType, tmp_path: Path) -> None:
    largest = 2 ** (kind.bit_width - (0 if pa.types.is_unsigned_integer(kind) else 1)) - 1
    table = pa.table({"u": pa.array([1, 1, largest, largest], kind), "i": pa.array([0, largest, 0, largest], kind)})
    pq.write_table(table, tmp_path / "data.parquet")
    expected = listed(table, **COLUMNS)
    assert (2, [0, largest]) in expected
    assert listed(tmp_path / "data.parquet", engine="spark", **COLUMNS) == expected


MIXTURES = {
    "widths": [pa.int32(), pa.int64()],
    "signs": [pa.uint32(), pa.int32()],
    "moments among numbers": [pa.int64(), pa.timestamp("us")],
    "numbers among moments": [pa.int32(), pa.timestamp("ms"), pa.timestamp("us")],
    "days among numbers": [pa.int32(), pa.date32()],
    "words": [pa.string(), pa.int64()],
    "largest": [pa.int64(), pa.uint64()],
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("column", ["unit", "lists of items"])
@pytest.mark.parametrize("mixture", MIXTURES)
def test_files_of_several_types_are_refused_before_a_charge(
    mixture: str, column: str, turned: bool, tmp_path: Path
) -> None:
    """Whichever file Spark would take the types from: a moment read as a number would be two units in two files."""
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    dpmine.Ledger(url).grant("shop", epsilon=5, delta="1e-5", unit="u")
    folder = tmp_path / "files"
    folder.mkdir()
    for place, kind in enumerate(MIXTURES[mixture][:: -1 if turned else 1]):
        mixed = pa.array(["1", "2"]) if kind == pa.string() else pa.array([1, 2], kind)
        lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), mixed)
        columns = {"u": mixed, "i": [1, 2]} if column == "unit" else {"u": [1, 2], "i": lists}
        pq.write_table(pa.table(columns), folder / f"{place}.parquet")
    with refused(UnreadableFile, "one schema"):
        dpmine.top_itemset(folder, engine="spark", ledger=url, dataset="shop", epsilon=1, **COLUMNS)
    assert not dpmine.Ledger(url).budget("shop").spent.epsilon


def test_files_of_one_type_and_several_units_of_time(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for place, resolution in enumerate(["ms", "us"]):
        moments = pa.array([1000, 2000], pa.timestamp("ms")).cast(pa.timestamp(resolution))
        pq.write_table(pa.table({"u": moments, "i": [place, 7]}), folder / f"{place}.parquet")
    expected = listed(folder, **COLUMNS)
    assert (1, [0, 1]) in expected  # one instant is one unit
    assert listed(folder, engine="spark", **COLUMNS) == expected


def test_moments_as_keys(tmp_path: Path) -> None:
    moments = [dt.datetime(2024, 1, 1, 0, 0, 0, micro, dt.UTC) for micro in (0, 1, 1, 0)]
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ms", "Asia/Tokyo")):
        unit = pa.array(moments, pa.timestamp("us", "UTC")).cast(kind, safe=False)
        table = pa.table({"u": unit, "i": ["a", "b", "a", "b"]})
        pq.write_table(table, tmp_path / "data.parquet")
        assert listed(tmp_path / "data.parquet", engine="spark", **COLUMNS) == listed(table, **COLUMNS)


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_an_encrypted_file_is_called_encrypted(plaintext_footer: bool, tmp_path: Path) -> None:
    """Before a charge: Spark sees encrypted columns only where it reads rows."""
    path = encrypted(tmp_path / "x.parquet", SALES, plaintext_footer=plaintext_footer, columns=("u",))
    with refused(UnreadableFile, "it is encrypted"):
        listed(path, engine="spark", **COLUMNS)


@pytest.mark.parametrize("layout", ["long", "one-hot"])
def test_pages_with_wrong_checksums_are_no_data(layout: str, tmp_path: Path) -> None:
    """Where executors read the file, and where Spark itself does."""
    table = SALES if layout == "long" else pa.table({"a": [123456789, 0], "b": [0, 1]})
    options = COLUMNS if layout == "long" else {"one_hot": True}
    path = tmp_path / "x.parquet"
    plain: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(table, path, write_page_checksum=True, **plain)
    assert listed(path, engine="spark", **options)
    old, new = (b"\1\0\0\0a", b"\1\0\0\0b") if layout == "long" else (np.int64(123456789).tobytes(), bytes(8))
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with refused(DpmineError, "Spark failed while it read the data"):
        listed(path, engine="spark", **options)
