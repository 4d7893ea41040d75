"""What Spark reads, as rows of unit, basket and item: by the same rules as local data, with nothing read yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpmine.errors import UnreadableFile
from dpmine.io.arrow import is_integer, is_text
from dpmine.io.paths import shown_name
from dpmine.io.source import ArrowSource
from dpmine.itemsets.ingest.layouts import Layout, plan_layout
from dpmine.itemsets.spark.files import opened
from dpmine.itemsets.spark.session import condition_of, replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.io.columns import Columns
    from dpmine.itemsets.ingest.layouts import Plan

TABLE = "table:"
"""In front of the name of a table that Spark knows."""
ITEM = "item"
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
        baskets: its columns that tell the baskets of a unit apart; none where a unit has one basket.
        rows_are_units: whether each row of the data is its own unit, whose items do not repeat in `frame`.
        kind: Arrow type of the items in the data.
        owners: the columns `units` of all baskets, those without items included, with repetitions and nothing null;
            None where no basket is without.
    """

    frame: Any
    units: tuple[str, ...]
    baskets: tuple[str, ...]
    rows_are_units: bool
    kind: pa.DataType
    owners: Any

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
    """

    frame: Any
    source: ArrowSource

    @classmethod
    def of_frame(cls, frame: Any) -> SparkSource:
        """Raises BadData where Spark cannot describe the frame."""
        with replacing("Spark cannot describe the columns of the data: look at the frame's schema by itself first."):
            return cls._described(frame)

    @classmethod
    def _described(cls, frame: Any) -> SparkSource:
        fields = frame.schema.fields
        plain = frame.toDF(*(f"c{place}" for place in range(len(fields))))
        schema = pa.schema([(field.name, _arrow_type(field.dataType)) for field in fields])
        return cls(plain, ArrowSource(schema, lambda _names: ()))

    @classmethod
    def of_paths(cls, session: Any, paths: Sequence[str]) -> SparkSource:
        """Parquet at paths or URLs that Spark opens, or one table (`table:NAME`); raises UnreadableFile or BadData."""
        shown = shown_name(paths[0]) if len(paths) == 1 else "One of the files"
        unreadable = (
            f"{shown} cannot be read by Spark as Parquet: check the name, that the executors can reach it, and that no "
            "column has a type that Spark lacks (timestamps in nanoseconds)."
        )
        with replacing(unreadable, UnreadableFile):
            try:
                return cls._described(_opened(session, paths))
            except Exception as error:
                if condition_of(error) in _MISSING:
                    raise UnreadableFile(f"{shown} does not exist for Spark; check its name.") from None
                if condition_of(error) in _MIXED:
                    raise UnreadableFile(_ONE_TYPE) from None
                raise

    def plan(self, columns: Columns) -> Plan:
        """As for local data; raises what `plan_layout` raises."""
        return plan_layout(self.source, columns)

    def rows(self, plan: Plan, catalogue: pa.Array | None = None) -> SparkRows:
        """The rows of a plan; of one-hot columns only those in the catalogue are looked at, where there is one."""
        if plan.layout is Layout.LONG:
            return self._long(plan)
        if plan.layout is Layout.ONE_HOT and catalogue is not None:
            known = {str(label) for label in catalogue.to_pylist()}
            items = tuple(name for name in plan.items if name in known)
            plan = replace(plan, items=items or plan.items[:1])
        return self._rows_of_lists(plan)

    def _long(self, plan: Plan) -> SparkRows:
        kind = self.source.type_of(plan.items[0])
        units, baskets = _key_names(plan)
        keys = [self._column(name).alias(key) for name, key in zip(plan.keys, (*units, *baskets), strict=True)]
        item = _item(self._column(plan.items[0]), kind).alias(ITEM)
        rows = self.frame.select(*keys, item).dropna()
        return SparkRows(rows, units, baskets, rows_are_units=False, kind=kind, owners=None)

    def _rows_of_lists(self, plan: Plan) -> SparkRows:
        """Each row is a basket, and its own unit where none is named."""
        from pyspark.sql import functions

        kind, items = self._lists(plan)
        units, _ = _key_names(plan)
        keys = [self._column(name).alias(key) for name, key in zip(plan.unit, units, strict=True)]
        row = functions.monotonically_increasing_id().alias("r")
        baskets = self.frame.select(*keys, row, functions.array_distinct(items).alias("items"))
        owners = baskets.where(functions.col("items").isNotNull()).select(*(units or ("r",))).dropna()
        found = baskets.select(*units, "r", functions.explode("items").alias(ITEM)).dropna()
        if units:
            return SparkRows(found, units, ("r",), rows_are_units=False, kind=kind, owners=owners)
        return SparkRows(found, ("r",), (), rows_are_units=True, kind=kind, owners=owners)

    def _lists(self, plan: Plan) -> tuple[pa.DataType, Any]:
        """The type of the items, and the column of lists of them."""
        from pyspark.sql import functions

        if plan.layout is Layout.LIST:
            kind, lists = self.source.type_of(plan.items[0]).value_type, self._column(plan.items[0])
            return kind, functions.transform(lists, lambda item: _item(item, kind))
        bought = [functions.when(self._column(name).cast("boolean"), functions.lit(name)) for name in plan.items]
        return pa.string(), functions.array(*bought)

    def _column(self, name: str) -> Any:
        from pyspark.sql import functions

        return functions.col(f"c{self.source.names.index(name)}")


def _opened(session: Any, paths: Sequence[str]) -> Any:
    if len(paths) == 1 and paths[0].startswith(TABLE):
        return session.table(paths[0].removeprefix(TABLE))
    return opened(session, paths)


def _key_names(plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the key columns that no column of the data can clash with."""
    return tuple(f"u{place}" for place in range(len(plan.unit))), tuple(
        f"b{place}" for place in range(len(plan.basket))
    )


def _item(column: Any, kind: pa.DataType) -> Any:
    """Integers of one width, or texts."""
    if is_integer(kind):
        return column.cast("bigint")
    if not is_text(kind):
        return column.cast("string") if pa.types.is_null(kind) else column
    from pyspark.sql import functions

    return functions.make_valid_utf8(column.cast("string"))  # as `valid_texts` does here


def _arrow_type(kind: Any) -> pa.DataType:
    """The Arrow type that speaks for a Spark type in the rules of layouts."""
    name = kind.typeName()
    if name == "string" and getattr(kind, "collation", _BY_BYTES) != _BY_BYTES:
        return pa.binary()  # equal texts would be others than here: refused
    if name == "array":
        return pa.list_(_arrow_type(kind.elementType))
    if name == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    return _KINDS.get(name, pa.binary())
