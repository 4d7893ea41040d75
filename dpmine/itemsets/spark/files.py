"""Parquet files for Spark, by the rules for local files: which files, and which columns their folders give.

Spark lists and reads them; its own rules for partition folders are not used. They take types from the values, which
tells of single rows, and leave out what lies beside the folders.
"""

from __future__ import annotations

import glob
import os
import posixpath
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from dpmine.errors import UnreadableFile
from dpmine.io.atomic import SUFFIXES
from dpmine.io.parquet import partition_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from dpmine.io.parquet import Keys

_WILD = re.compile(r"[*?\[\]{}\\]")
_ANY_CASE = ["".join(f"[{sign}{sign.upper()}]" if sign.isalpha() else sign for sign in suffix) for suffix in SUFFIXES]
_CALLED_PARQUET = {"pathGlobFilter": f"*{{{','.join(_ANY_CASE)}}}"}
_EVERYWHERE = {"recursiveFileLookup": "true"}
_STRICT = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
_ONE_SCHEMA = {"mergeSchema": "true"}  # or Spark takes one file's types, and reads moments of others as bare numbers
_BOOKKEEPING = ("_metadata", "_common_metadata")
_UNKNOWN = "a row of a file that was not listed"


def opened(session: Any, paths: Sequence[str]) -> Any:
    """A frame of the Parquet files at paths, folders, globs or URLs that Spark opens.

    Its columns are those in the files, then the keys of their partition folders (`key=value`), which are texts.
    Raises UnreadableFile where Spark would read other files than are read locally, and Spark's own errors: of files
    whose columns differ in type, too.
    """
    _require_seen(paths)
    named = [_literal(path) for path in paths]
    files, options = _listed(session, paths, named)
    frame = session.read.options(**_STRICT, **_ONE_SCHEMA, **_EVERYWHERE, **options).parquet(*named)
    if set(_without_bookkeeping(frame.inputFiles())) != set(files):
        raise UnreadableFile("The files changed while they were looked at: let nobody write to them.")
    return _with_keys(session, frame, _keys(files, paths))


def _listed(session: Any, paths: Sequence[str], named: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The files behind the paths, as URLs, and the options with which Spark reads these."""
    lister = session.read.format("binaryFile").options(**_EVERYWHERE)  # reads no file until it is asked for content
    files = _without_bookkeeping(lister.load(list(named)).inputFiles())
    _require_visible(files)
    given = {posixpath.basename(path) for path in paths}
    called, others = [], []
    for file in files:
        if _name(file).lower().endswith(SUFFIXES):
            called.append(file)
        elif _is_asked_for(_name(file), given):
            others.append(file)
    if called and others:
        raise UnreadableFile("Some files are called .parquet and others are not: name all of them .parquet.")
    if not called and not others:
        raise UnreadableFile("There is no Parquet file: give a folder with files that end in .parquet.")
    _require_content(called or others)
    return called or others, _CALLED_PARQUET if called else {}


def _is_asked_for(name: str, given: Collection[str]) -> bool:
    return name in given or any(fnmatchcase(name, each) for each in given)


def _require_seen(paths: Sequence[str]) -> None:
    """Spark has no **, and leaves out files with such names without a word, even when they are named."""
    if any("**" in path and _literal(path) == path for path in paths):
        raise UnreadableFile("Spark knows no **: give the folder, which is read with all that it holds.")
    found = [each for path in paths for each in [path, *glob.glob(path)]]  # noqa: PTH207 - as for local files
    if any(re.match(r"_|\.[^.]", posixpath.basename(path)) and path.lower().endswith(SUFFIXES) for path in found):
        raise UnreadableFile("Spark leaves out files whose names begin with _ or a point: give them other names.")


def _require_visible(files: Sequence[str]) -> None:
    """Folders that begin with _ are no data, but Spark reads those with an =."""
    if any(re.search(r"/_[^/]*=[^/]*/", _path(file)) for file in files):
        raise UnreadableFile("Spark reads folders called _key=value, which are no data here: give them other names.")


def _require_content(files: Sequence[str]) -> None:
    """Spark leaves out files of no bytes, which are damaged; they can be seen on this machine only."""
    local = [Path(_path(file)) for file in files if file.startswith("file:")]
    if any(path.exists() and not path.stat().st_size for path in local):
        raise UnreadableFile("One of the files is empty, so it is damaged: write it again.")


def _keys(files: Sequence[str], paths: Sequence[str]) -> dict[str, Keys]:
    """The keys that the folders of each file give; all files have the same ones."""
    if not any("=" in posixpath.dirname(_path(file)) for file in files):
        return {file: {} for file in files}
    bases = dict.fromkeys(map(_base, paths))
    found = {file: _keys_below(_path(file), bases) for file in files}
    if len({frozenset(keys) for keys in found.values()}) > 1:
        raise UnreadableFile("Some files lie in partition folders (key=value) that others lack: lay all out alike.")
    return found


def _keys_below(file: str, bases: Collection[str]) -> Keys:
    if file in bases:
        return {}
    for base in bases:
        if file.startswith(f"{base.rstrip('/')}/"):
            return partition_keys(file, base)
    raise UnreadableFile("Spark finds the files at another place than was named: give absolute paths, or URLs.")


def _base(path: str) -> str:
    """The folder below which folders are partitions: the one that was named, or that in front of the first wildcard."""
    wild = None if _literal(path) != path else _WILD.search(path)
    before = path if wild is None else path[: path.rfind("/", 0, wild.start()) + 1]
    _, is_url, place = before.partition("://")
    return f"/{place.partition('/')[2]}" if is_url else os.path.abspath(before)  # noqa: PTH100 - of other systems, too


def _with_keys(session: Any, frame: Any, keys: dict[str, Keys]) -> Any:
    """The frame with a column of texts for each key that is no column of the files."""
    from pyspark.sql import functions

    names = [name for name in next(iter(keys.values())) if name not in frame.columns]
    if not names:
        return frame
    columns = [f"c{place}" for place in range(len(frame.columns))]
    texts = [pa.array([found[name] for found in keys.values()], pa.string()) for name in names]
    added = {f"k{place}": values for place, values in enumerate(texts)}
    listed = session.createDataFrame(pa.table({"file": list(keys), "known": [True] * len(keys), **added}))
    rows = frame.toDF(*columns).withColumn("file", functions.input_file_name())
    rows = rows.join(functions.broadcast(listed), "file", "left")
    rows = rows.where(functions.coalesce("known", functions.raise_error(functions.lit(_UNKNOWN))))
    return rows.select(*columns, *added).toDF(*frame.columns, *names)


def _without_bookkeeping(files: Iterable[str]) -> list[str]:
    return [file for file in files if not _name(file).startswith(_BOOKKEEPING)]


def _name(file: str) -> str:
    return posixpath.basename(_path(file))


def _path(file: str) -> str:
    """The path of a URL as Spark writes it."""
    return unquote(urlsplit(file).path)


def _literal(path: str) -> str:
    """A path for Spark, to which wildcards in names of files that exist are wildcards all the same."""
    return _WILD.sub(r"\\\g<0>", path) if "://" not in path and os.path.lexists(path) else path
