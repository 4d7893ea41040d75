"""Hive partitions: folders called key=value, whose keys are columns of the files below them."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TypeAlias
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from dpmine.itemsets.arrow_arrays import integer_array, text_array

Keys: TypeAlias = dict[str, str | None]
"""Partition keys of one file with their values, None for null."""

_NULL = "__HIVE_DEFAULT_PARTITION__"


def partition_keys(path: str, base: str) -> Keys:
    """The keys that the folders between `base` and the file give."""
    folders = PurePosixPath(path.removeprefix(base).strip("/")).parts[:-1]
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return {unquote(key): None if value == _NULL else unquote(value) for key, value in pairs}


KEY_TYPE = pa.dictionary(pa.int64(), pa.large_string())
"""The type of every partition key: text, also where all values look like integers.

A type found from the values would depend on single rows: one unit's folder "tattoo" would turn the other items from 9
into "9" in a released result.
"""


def key_column(value: str | None, rows: int) -> pa.Array:
    """A key's column of `rows` equal values."""
    if value is None:
        return pa.nulls(rows, KEY_TYPE)
    return pa.DictionaryArray.from_arrays(integer_array(np.zeros(rows, np.int64)), text_array([value]))
