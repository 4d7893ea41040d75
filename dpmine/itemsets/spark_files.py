"""Parquet files as Spark reads them; by the rules for local files, or refused, where Spark has other rules."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dpmine.errors import UnreadableFile
from dpmine.itemsets.paths import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WILD = re.compile(r"[*?\[\]{}\\]")
_STRICT = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}


def opened(session: Any, paths: Sequence[str]) -> Any:
    """A frame of the files at paths, folders, globs or URLs that Spark opens.

    The columns of partition folders (`key=value`) are texts: a type found from the values would depend on single rows.
    Raises UnreadableFile where Spark would read other files or other columns than are read locally, and Spark's errors.
    """
    _require_seen(paths)
    where, named = _base(paths), [_literal(path) for path in paths]
    plain = _read(session, named, {"recursiveFileLookup": "true"})
    frame = _read(session, named, where)
    files = frame.inputFiles()
    _require_same_files(paths, files, plain.inputFiles())
    written = {name.casefold() for name in plain.columns}
    folders = _folder_keys(files) & {name.casefold() for name in frame.columns}
    if folders and folders <= written:
        return plain
    if folders & written:
        raise UnreadableFile(
            "Some partition folders (key=value) are called like columns in the files, others are not: rename one side."
        )
    return _read(session, named, where, _with_texts(frame.schema, folders)) if folders else frame


def _read(session: Any, paths: Sequence[str], options: dict[str, str], schema: Any = None) -> Any:
    reader = session.read.options(**_STRICT, **options)
    return (reader if schema is None else reader.schema(schema)).parquet(*paths)


def _with_texts(schema: Any, folders: set[str]) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    found = schema.fields
    return StructType(
        [StructField(each.name, StringType()) if each.name.casefold() in folders else each for each in found]
    )


def _folder_keys(files: Iterable[str]) -> set[str]:
    """What stands before the = in the names of folders, as names of columns are compared."""
    folders = {str(PurePosixPath(unquote(file)).parent) for file in files}
    names = {name for folder in folders for name in folder.split("/") if "=" in name}
    return {name.partition("=")[0].casefold() for name in names}


def _require_seen(paths: Sequence[str]) -> None:
    """Spark leaves out such files without a word."""
    if any(re.match(r"_|\.[^.]", path.rstrip("/").rpartition("/")[2]) for path in paths):
        raise UnreadableFile("Spark leaves out files whose names begin with _ or a point: give the file another name.")


def _require_same_files(paths: Sequence[str], files: Sequence[str], all_files: Sequence[str]) -> None:
    if set(files) != set(all_files):
        raise UnreadableFile(
            "Spark reads no files in folders inside a folder: name them all, or lay them out as key=value."
        )
    given = {_name(path) for path in paths}
    if not all(name.lower().endswith(SUFFIXES) or name in given for name in map(_name, map(unquote, files))):
        raise UnreadableFile(
            "A folder holds files with other names than .parquet, which Spark would read as well: move them away."
        )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _base(paths: Sequence[str]) -> dict[str, str]:
    """Below which folder partitions are looked for: for a glob in front of its first wildcard, as for local files."""
    first = _WILD.search(paths[0]) if len(paths) == 1 and _literal(paths[0]) == paths[0] else None
    return {} if first is None else {"basePath": paths[0][: first.start()].rpartition("/")[0] or "."}


def _literal(path: str) -> str:
    """A path for Spark, to which wildcards in names of files that exist are wildcards all the same."""
    return _WILD.sub(r"\\\g<0>", path) if "://" not in path and os.path.lexists(path) else path
