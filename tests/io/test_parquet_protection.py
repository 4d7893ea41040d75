"""Parquet files whose content is encrypted, and pages whose checksums are wrong: one line, wherever they are opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import convert_to_deltalake
from support.cases import every
from support.command_line import assert_one_error, spawn
from support.encrypted import encrypted
from support.oracles.ingest import refused

import dpmine
from dpmine.errors import DpmineError, UnreadableFile
from dpmine.itemsets.ingest.catalogue import read_catalogue
from dpmine.models.tables import read_columns

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ROWS = pa.table({"customer": [1, 1, 2, 2], "product": ["bread", "milk", "bread", "milk"]})


def corrupt(path: Path, table: pa.Table = ROWS) -> str:
    """The path, where the rows are written with checksums, and one text was changed since."""
    pq.write_table(table, path, write_page_checksum=True, compression="none")
    path.write_bytes(path.read_bytes().replace(b"bread", b"broad"))
    return str(path)


def test_an_encrypted_file_is_called_encrypted_and_does_not_end_the_process(tmp_path: Path) -> None:
    """Its footer can be read; Arrow ends the process where the metadata of a column are asked for."""
    path = encrypted(tmp_path / "x.parquet", ROWS, plaintext_footer=True, columns=("product",))
    assert "x.parquet cannot be read: it is encrypted; " in assert_one_error(spawn("top-itemset", path))


@every("plaintext_footer", [False, True])
@every("columns", [("product",), ("customer",)])
def test_every_reader_calls_it_encrypted(plaintext_footer: bool, columns: tuple[str, ...], tmp_path: Path) -> None:
    """Also where the encrypted columns are not those that are read."""
    path = encrypted(tmp_path / "x.parquet", ROWS, plaintext_footer=plaintext_footer, columns=columns)
    with refused(UnreadableFile, "it is encrypted"):
        dpmine.itemset_supports(path, unit="customer", item="product")
    with refused(UnreadableFile, "it is encrypted"):
        read_columns(path, ["customer"])
    with refused(UnreadableFile, "it is encrypted"):
        read_catalogue(path)


def test_a_page_with_a_wrong_checksum_is_no_data(tmp_path: Path) -> None:
    """A result with the damaged values would look like any other."""
    path = corrupt(tmp_path / "x.parquet")
    with refused(UnreadableFile, "x.parquet cannot be read: it is damaged"):
        dpmine.itemset_supports(path, unit="customer", item="product")
    with refused(UnreadableFile, "x.parquet cannot be read: it is damaged"):
        read_columns(path, [], labels=["product"])


def test_nor_is_one_of_a_dictionary_that_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmine.io.sources.parquet._LARGEST_DICTIONARY", 1)
    monkeypatch.setattr("dpmine.io.sources.parquet._MANY_ROWS", 2)
    path = tmp_path / "x.parquet"
    pq.write_table(ROWS, path, write_page_checksum=True, compression="none", row_group_size=2, write_statistics=False)
    path.write_bytes(b"broad".join(path.read_bytes().rsplit(b"bread", 1)))
    with refused(UnreadableFile, "it is damaged"):
        dpmine.itemset_supports(path, unit="customer", item="product")


def test_nor_is_one_in_a_catalogue(tmp_path: Path) -> None:
    path = corrupt(tmp_path / "items.parquet", pa.table({"item": ["bread", "milk"]}))
    with refused(UnreadableFile, "it is damaged"):
        read_catalogue(path)


def test_nor_is_one_in_a_delta_table(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(ROWS, path, write_page_checksum=True, compression="none")
    convert_to_deltalake(tmp_path)
    assert len(dpmine.itemset_supports(tmp_path, size=1, unit="customer", item="product")) == 2
    corrupt(path)
    with refused(DpmineError, "x.parquet cannot be read"):
        dpmine.itemset_supports(tmp_path, unit="customer", item="product")


@every("page_version", ["1.0", "2.0"])
@every("compression", ["none", "zstd"])
def test_pages_with_right_checksums_are_read(page_version: Any, compression: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(
        ROWS, path, write_page_checksum=True, data_page_version=page_version, compression=compression, row_group_size=1
    )
    found = dpmine.itemset_supports(path, size=2, unit="customer", item="product")
    assert found["support"].tolist() == [2]
