"""Encrypted Parquet files, as other programs write them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa


class _Keys(pe.KmsClient):  # type: ignore[misc]
    """Keys that are kept beside the data: no protection, but a file's form is that of a real one."""

    def __init__(self, _connection: object) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, _name: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, key: bytes, _name: str) -> bytes:
        return base64.b64decode(key)


def encrypted(path: Path, table: pa.Table, *, plaintext_footer: bool, columns: Sequence[str]) -> str:
    """The path, where the table is written with these columns encrypted."""
    configuration = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": list(columns)}, plaintext_footer=plaintext_footer
    )
    factory = pe.CryptoFactory(_Keys)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), configuration)
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    return str(path)
