"""What Spark reads, by the rules for local data: which files, which columns, and rows of unit, basket and item.

Spark lists and reads the files; its own rules for partition folders are not used. They take types from the values,
which shows single rows, and leave out what lies beside the folders.
"""

from __future__ import annotations

import glob
import os
import posixpath
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from dpmine.errors import UnreadableFile
from dpmine.io.arrow import is_text
from dpmine.io.files import READ_ERRORS, Encrypted, reason, shown_name
from dpmine.io.source import ArrowSource
from dpmine.io.sources.parquet import partition_keys, read_footer
from dpmine.itemsets.ingest.layouts import Layout
from dpmine.itemsets.spark.files import ColumnsToRead
from dpmine.itemsets.spark.session import condition_of, functions, replacing, short
from dpmine.options.names import PARQUET

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from dpmine.io.sources.parquet import Keys
    from dpmine.itemsets.ingest.layouts import LayoutPlan


TABLE = "table:"
"""In front of the name of a table that Spark knows."""
ITEM = "item"
BROADCAST_ITEMS = 1_000_000
"""Items that are sent to every executor; more are joined by a shuffle, unless Spark knows better."""
_BY_BYTES = "UTF8_BINARY"
_KINDS = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "string": pa.string(),
    "char": pa.string(),
    "varchar": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "float": pa.float32(),
    "double": pa.float64(),
    "void": pa.null(),
    "struct": pa.struct([]),
    "map": pa.map_(pa.string(), pa.string()),
}
_MISSING = {"PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"}
_MIXED = {"CANNOT_MERGE_SCHEMAS", "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE"}
_ONE_TYPE = "A column has one type in some files and another in others: write all files with one schema, for Spark."


@dataclass(frozen=True, eq=False)
class SparkRows:
    """One row a basket and item, with repetitions, nothing null.

    Attributes:
        frame: Spark frame with the columns of the keys, and `item` (bigint or string).
        units: its columns that name the unit.
        baskets: its columns that distinguish the baskets of a unit; none where a unit has one basket.
        rows_are_units: whether each row of the data is its own unit, whose items do not repeat in `frame`.
        kind: Arrow type of the items in the data.
        owners: the columns `units` of all baskets, those without items included, with repetitions and nothing null;
            None where no basket is without.
        counted: a frame with at least as many rows as `frame`, which are fast to count.
    """

    frame: DataFrame
    units: tuple[str, ...]
    baskets: tuple[str, ...]
    rows_are_units: bool
    kind: pa.DataType
    owners: DataFrame | None
    counted: DataFrame

    @property
    def keys(self) -> tuple[str, ...]:
        """All key columns."""
        return (*self.units, *self.baskets)


@dataclass(frozen=True, eq=False)
class SparkSource:
    """A Spark frame and its columns.

    Attributes:
        frame: with the columns c0, c1, … in place of names, which may repeat or differ in case alone.
        source: names and types, as for local data.
        files: URLs of the Parquet files whose rows these are, all of them and no others; none where that is not known.
    """

    frame: DataFrame
    source: ArrowSource
    files: tuple[str, ...] = ()

    @classmethod
    def of_frame(cls, frame: DataFrame) -> SparkSource:
        """Raises BadData where Spark cannot describe the frame."""
        with replacing("Spark cannot describe the columns of the data: look at the frame's schema by itself first."):
            return cls._described(frame, _scanned(frame))

    @classmethod
    def _described(cls, frame: DataFrame, files: Sequence[str]) -> SparkSource:
        fields = frame.schema.fields
        plain = frame.toDF(*(f"c{place}" for place in range(len(fields))))
        schema = pa.schema([(field.name, _arrow_type(field.dataType)) for field in fields])
        by_name = not any(_FIELD_NUMBER in field.metadata for field in fields)
        return cls(plain, ArrowSource(schema, lambda _names: ()), tuple(files) if by_name else ())

    @classmethod
    def of_paths(cls, session: SparkSession, paths: Sequence[str]) -> SparkSource:
        """Parquet at paths or URLs that Spark opens, or one table (`table:NAME`); raises UnreadableFile or BadData."""
        shown = shown_name(paths[0]) if len(paths) == 1 else "One of the files"
        unreadable = (
            f"{shown} cannot be read by Spark as Parquet: check the name, that the executors can reach it, and that no "
            "column has a type that Spark lacks (timestamps in nanoseconds, times of day)."
        )
        with replacing(unreadable, UnreadableFile):
            try:
                return cls._described(*opened(session, paths))
            except Exception as error:
                if condition_of(error) in _MISSING:
                    raise UnreadableFile(f"{shown} does not exist for Spark; check its name.") from None
                if condition_of(error) in _MIXED:
                    raise UnreadableFile(_ONE_TYPE) from None
                raise

    def rows(self, plan: LayoutPlan) -> SparkRows:
        """The rows of a plan."""
        return self._long(plan) if plan.layout is Layout.LONG else self._rows_of_lists(plan)

    def wanted(self, plan: LayoutPlan, catalogue: pa.Array | None) -> ColumnsToRead | None:
        """What executors read of the files; None where these are not on file systems that all of them mount."""
        if plan.layout is Layout.ONE_HOT or not self.files or any(not file.startswith("file:") for file in self.files):
            return None
        names = (*plan.keys, plan.items[0])
        return ColumnsToRead(names, tuple(map(self.source.type_of, names)), plan.layout is Layout.LIST, catalogue)

    def paths(self) -> tuple[str, ...]:
        """Of the files on the file system."""
        return tuple(map(_path, self.files))

    def _long(self, plan: LayoutPlan) -> SparkRows:
        kind = self.source.type_of(plan.items[0])
        units, baskets = plan.unit_columns, plan.basket_columns
        keys = [self._column(name).alias(key) for name, key in zip(plan.keys, (*units, *baskets), strict=True)]
        item = _item(self._column(plan.items[0]), kind).alias(ITEM)
        rows = self.frame.select(*keys, item).dropna()
        return SparkRows(rows, units, baskets, rows_are_units=False, kind=kind, owners=None, counted=self.frame)

    def _rows_of_lists(self, plan: LayoutPlan) -> SparkRows:
        """Each row is a basket, and its own unit where none is named."""
        kind, items = self._lists(plan)
        units = plan.unit_columns if plan.unit else ()
        keys = [self._column(name).alias(key) for name, key in zip(plan.unit, units, strict=True)]
        row = functions.monotonically_increasing_id().alias("r")
        baskets = self.frame.select(*keys, row, functions.array_distinct(items).alias("items"))
        owners = baskets.where(functions.col("items").isNotNull()).select(*(units or ("r",))).dropna()
        found = baskets.select(*units, "r", functions.explode("items").alias(ITEM)).dropna()
        if units:
            return SparkRows(found, units, ("r",), rows_are_units=False, kind=kind, owners=owners, counted=found)
        return SparkRows(found, ("r",), (), rows_are_units=True, kind=kind, owners=owners, counted=found)

    def _lists(self, plan: LayoutPlan) -> tuple[pa.DataType, Column]:
        """The type of the items, and the column of lists of them."""
        if plan.layout is Layout.LIST:
            kind, lists = self.source.type_of(plan.items[0]).value_type, self._column(plan.items[0])
            return kind, functions.transform(lists, lambda item: _item(item, kind))
        bought = [functions.when(self._column(name).cast("bigint") > 0, functions.lit(name)) for name in plan.items]
        return pa.string(), functions.array(*bought)

    def _column(self, name: str) -> Column:
        return short(functions.col(f"c{self.source.names.index(name)}"), self.source.type_of(name))


def _item(column: Column, kind: pa.DataType) -> Column:
    """Integers of one width, or texts."""
    if pa.types.is_integer(kind):
        return column.cast("bigint")
    if not is_text(kind):
        return column.cast("string") if pa.types.is_null(kind) else column
    return short(functions.make_valid_utf8(column.cast("string")), kind)  # as `valid_texts` does here


_SQL = "org.apache.spark.sql."
_SCAN = {
    "relation": f"{_SQL}execution.datasources.HadoopFsRelation",
    "format": f"{_SQL}execution.datasources.parquet.ParquetFileFormat",
    "location": f"{_SQL}execution.datasources.InMemoryFileIndex",
}
_FIELD_NUMBER = "parquet.field.id"  # by which Spark may find a column, whatever its name


def _scanned(frame: DataFrame) -> list[str]:
    """The URLs of the Parquet files of which a frame has all rows, with some of their columns, and nothing else.

    None of a frame with any other step in its plan, of files given twice, of what Spark has cached, of partition
    folders, of a table, or behind Spark Connect, which shows no plan.
    """
    java = getattr(frame, "_jdf", None)
    if java is None:
        return []
    plan = java.queryExecution().optimizedPlan()  # with what extensions of the session add, such as filters of rows
    while plan.nodeName() == "Project" and all(
        _is_column(plan.projectList().apply(place)) for place in range(plan.projectList().size())
    ):
        plan = plan.child()
    if plan.getClass().getName() != f"{_SQL}execution.datasources.LogicalRelation":
        return []
    relation = plan.relation()
    if relation.getClass().getName() != _SCAN["relation"] or relation.partitionSchema().size():
        return []
    kinds = (relation.fileFormat().getClass().getName(), relation.location().getClass().getName())
    if kinds != (_SCAN["format"], _SCAN["location"]):
        return []
    files = list(frame.inputFiles())
    return _without_bookkeeping(files) if relation.location().allFiles().size() == len(files) else []


def _is_column(expression: Any) -> bool:
    return bool(expression.getClass().getName() == f"{_SQL}catalyst.expressions.AttributeReference")


def _arrow_type(kind: Any) -> pa.DataType:
    """The Arrow type that speaks for a Spark type in the rules of layouts."""
    name = kind.typeName()
    if name == "string" and getattr(kind, "collation", _BY_BYTES) != _BY_BYTES:
        return pa.binary()  # equal texts would be others than here: rejected
    if name == "array":
        return pa.list_(_arrow_type(kind.elementType))
    if name == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    return _KINDS.get(name, pa.binary())


_WILD = re.compile(r"[*?\[\]{}\\]")
_ANY_CASE = ["".join(f"[{sign}{sign.upper()}]" if sign.isalpha() else sign for sign in end) for end in PARQUET.endings]
_CALLED_PARQUET = {"pathGlobFilter": f"*{{{','.join(_ANY_CASE)}}}"}
_EVERYWHERE = {"recursiveFileLookup": "true"}
_STRICT = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "parquet.page.verify-checksum.enabled": "true",
}
_ONE_SCHEMA = {"mergeSchema": "true"}  # or Spark takes one file's types, and reads timestamps of others as bare numbers
_BOOKKEEPING = ("_metadata", "_common_metadata")
_UNKNOWN = "a row of a file that was not listed"


def opened(session: SparkSession, paths: Sequence[str]) -> tuple[DataFrame, list[str]]:
    """A frame of the Parquet files at paths, folders, globs or URLs that Spark opens, and the URLs of these files.

    Of one table (`table:NAME`) there is no URL.
    Its columns are those in the files, then the keys of their partition folders (`key=value`), which are texts.
    Raises UnreadableFile where Spark would read other files than are read locally, and Spark's own errors: of files
    whose columns differ in type, too.
    """
    if len(paths) == 1 and paths[0].startswith(TABLE):
        return session.table(paths[0].removeprefix(TABLE)), []
    _require_seen(paths)
    named = [_literal(path) for path in paths]
    files, options = _listed(session, paths, named)
    frame = session.read.options(**_STRICT, **_ONE_SCHEMA, **_EVERYWHERE, **options).parquet(*named)
    if set(_without_bookkeeping(frame.inputFiles())) != set(files):
        raise UnreadableFile("The files changed while they were listed: stop what writes to them, and run again.")
    return _with_keys(session, frame, _keys(files, paths)), files


def _listed(session: SparkSession, paths: Sequence[str], named: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The files behind the paths, as URLs, and the options with which Spark reads these."""
    lister = session.read.format("binaryFile").options(**_EVERYWHERE)  # reads no file until it is asked for content
    files = _without_bookkeeping(lister.load(list(named)).inputFiles())
    _require_visible(files)
    given = {posixpath.basename(path) for path in paths}
    called, others = [], []
    for file in files:
        if _name(file).lower().endswith(PARQUET.endings):
            called.append(file)
        elif _name(file) in given or any(fnmatchcase(_name(file), each) for each in given):
            others.append(file)
    if called and others:
        raise UnreadableFile("Some files are called .parquet and others are not: name all of them .parquet.")
    if not called and not others:
        raise UnreadableFile("There is no Parquet file: give a folder with files that end in .parquet.")
    _require_content(called or others)
    return called or others, _CALLED_PARQUET if called else {}


def _require_seen(paths: Sequence[str]) -> None:
    """Spark has no **, and silently leaves out files with such names, even when they are named."""
    if any("**" in path and _literal(path) == path for path in paths):
        raise UnreadableFile("Spark knows no **: give the folder, which is read with all that it holds.")
    found = [each for path in paths for each in [path, *glob.glob(path)]]  # noqa: PTH207 - as for local files
    called = [path for path in found if path.lower().endswith(PARQUET.endings)]
    if any(re.match(r"_|\.[^.]", posixpath.basename(path)) for path in called):
        raise UnreadableFile("Spark leaves out files whose names begin with _ or a point: give them other names.")


def _require_visible(files: Sequence[str]) -> None:
    """Files and folders that begin with _ are no data, but Spark reads those with an =."""
    if any(re.search(r"/_[^/]*=", _path(file)) for file in files):
        raise UnreadableFile("Spark reads what is called _key=value, which is no data here: give it another name.")


def _require_content(files: Sequence[str]) -> None:
    """Spark leaves out files of no bytes, and sees encrypted columns late; both can be seen on this machine only."""
    local = [Path(_path(file)) for file in files if file.startswith("file:")]
    if any(path.exists() and not path.stat().st_size for path in local):
        raise UnreadableFile("One of the files is empty, so it is damaged: write it again.")
    try:
        for path in local[:1]:  # a writer encrypts all or none
            with pa.OSFile(str(path)) as opened:
                read_footer(opened)
    except Encrypted as error:
        raise UnreadableFile(f"One of the files cannot be read: {reason(error)}") from None
    except READ_ERRORS:
        return  # Spark finds it, or finds what is wrong


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


def _with_keys(session: SparkSession, frame: DataFrame, keys: dict[str, Keys]) -> DataFrame:
    """The frame with a column of texts for each key that is no column of the files."""
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
    """Spark leaves these files out when it reads rows, but not those with an =."""
    return [file for file in files if "=" in _name(file) or not _name(file).startswith(_BOOKKEEPING)]


def _name(file: str) -> str:
    return posixpath.basename(_path(file))


def _path(file: str) -> str:
    """The path of a URL as Spark writes it."""
    return unquote(urlsplit(file).path)


def _literal(path: str) -> str:
    """A path for Spark, to which wildcards in names of files that exist are wildcards, too."""
    return _WILD.sub(r"\\\g<0>", path) if "://" not in path and os.path.lexists(path) else path


def small(items: DataFrame, number: int) -> DataFrame:
    """A frame of `number` items, sent to every executor where they are few enough."""
    return functions.broadcast(items) if number <= BROADCAST_ITEMS else items
