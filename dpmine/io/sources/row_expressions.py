"""Expressions on the columns of one row, in SQL: DuckDB parses and computes them, each row by itself.

Only what cannot look at other rows, tables or files is let through: columns, constants, comparisons and functions of a
list. Each expression is computed inside TRY, so that it is null at a row where it fails, and stops no run.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpmine.errors import BadData, BadParameter, DpmineError, require_memory
from dpmine.io.arrow import is_list, is_text, plain, type_name, valid_texts
from dpmine.later import pc
from dpmine.parameters import resembling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from dpmine.io.source import Source

    Tree = dict[str, Any]

CLOSED = {
    "enable_external_access": "false",  # DuckDB's own readers find types from values, and fail at values
    "python_enable_replacements": "false",  # the names of our variables are no tables
    "arrow_large_buffer_size": "true",  # or it fails where the texts of a batch exceed two gigabytes
    "temp_directory": "",  # or it writes rows beside the database where they do not fit into memory
    "threads": "1",  # a second one held 35 MB more (measured); a memory_limit could end a run because of the data
}
"""How DuckDB is opened."""
_FIRST_INSTANT = -9_223_372_022_400_000_000  # in microseconds from 1970; before it is only -infinity
_DEEPEST = 120  # levels of DuckDB's trees; a function in a function is two
_ROWS = "dpmine_rows"
_OF_ONE = "SELECT {} AS x FROM dpmine_rows"
_BARE = _OF_ONE.format("TRUE")
_PLACES = ("query_location", "query_location_length")
_CLASSES = ("COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION", "BETWEEN", "CASE", "CAST", "FUNCTION", "OPERATOR")
_OPERATORS = (
    "OPERATOR_NOT",
    "OPERATOR_IS_NULL",
    "OPERATOR_IS_NOT_NULL",
    "OPERATOR_COALESCE",
    "OPERATOR_NULLIF",
    "COMPARE_IN",
    "COMPARE_NOT_IN",
)
_LIKE = ("~~", "!~~", "~~*", "!~~*", "like_escape", "not_like_escape", "ilike_escape", "not_ilike_escape")
_FUNCTIONS = (
    *_LIKE,
    *("||", "concat", "lower", "upper", "lcase", "ucase", "trim", "ltrim", "rtrim", "length", "strlen"),
    *("starts_with", "^@", "ends_with", "suffix", "prefix", "contains", "substr", "substring", "left", "right"),
    *("nullif", "ifnull", "coalesce", "year", "month", "day", "hour", "weekday", "dayofweek", "week"),
    *("+", "-", "*", "/", "//", "%", "abs", "round", "floor", "ceil", "greatest", "least"),
)
"""Of one row's values, the same at every time; none makes a text much longer than those that it gets."""
_TYPES = (
    *("VARCHAR", "TEXT", "STRING", "DATE", "TIMESTAMP", "DATETIME", "BOOLEAN", "BOOL", "DOUBLE", "FLOAT", "REAL"),
    *("TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "DECIMAL", "NUMERIC"),
)
_ALLOWED = (
    "columns, constants, comparisons, AND, OR, NOT, IN, LIKE, BETWEEN, CASE, arithmetic, CAST, TRY_CAST and functions "
    "of one row, such as lower or year"
)


@dataclass(frozen=True, eq=False)
class Statement:
    """SELECT … FROM one file [WHERE …], as DuckDB parses it.

    Attributes:
        chosen: the expressions with their names; None for all columns, as they are.
        file: the name that stands for the table.
        condition: on rows; None for all of them.
    """

    chosen: tuple[tuple[str, Tree], ...] | None
    file: str
    condition: Tree | None


@contextmanager
def connected() -> Iterator[DuckDBPyConnection]:
    """DuckDB with nothing in it, which reaches nothing. Raises BadParameter where it is not installed."""
    try:
        import duckdb
    except ImportError:
        raise BadParameter("duckdb is not installed: pip install 'dpmine[sql]'.") from None
    with duckdb.connect(":memory:", config={**CLOSED}) as connection:
        connection.execute("PRAGMA disable_optimizer")  # it moves parts that occur twice out of TRY
        yield connection


def parsed_condition(text: str) -> Tree:
    """The expression that a text is. Raises BadParameter where it is none, or is more than one."""
    nodes, bare = _parsed(_OF_ONE.format(f"(\n{text}\n)"), _BARE)
    chosen = nodes[0]["select_list"] if len(nodes) == 1 and nodes[0].get("type") == "SELECT_NODE" else []
    if len(chosen) != 1 or {**nodes[0], "select_list": []} != {**bare[0], "select_list": []}:
        raise BadParameter(f"`where` must be one condition on the columns of a row: {_ALLOWED}.")
    _parsed(_OF_ONE.format(f"\n{text}\n"))  # "a) or (b" is a condition only in the brackets of another one
    tree: Tree = chosen[0]
    return tree


def parsed_statement(query: str) -> Statement:
    """What a query without a database asks for. Raises BadParameter where it does more than that."""
    nodes, (bare,) = _parsed(query.strip().rstrip(";"), _BARE)
    node = nodes[0] if len(nodes) == 1 else {}
    table = node.get("from_table", {})
    own: Tree = {"select_list": [], "where_clause": None, "from_table": None}
    same = {"table_name": "", "qualified_name": None, "alias": ""}
    is_plain = {**node, **own} == {**bare, **own} and {**table, **same} == {**bare["from_table"], **same}
    if not is_plain or len(table.get("qualified_name", {}).get("path", [""])) != 1:
        raise BadParameter(
            "`query` without a database chooses and renames columns of one file and filters its rows, as in "
            "`query=\"SELECT a, b AS c FROM 'sales.csv' WHERE a > 'x'\"`: for more, give `database='duckdb:///:memory:'`."
        )
    return Statement(_chosen(node["select_list"]), table["table_name"], node["where_clause"])


def _chosen(entries: Sequence[Tree]) -> tuple[tuple[str, Tree], ...] | None:
    stars = [entry for entry in entries if entry["class"] == "STAR"]
    if stars:
        given = [value for name, value in stars[0].items() if name.endswith("_list") or name in {"expr", "columns"}]
        if len(entries) > 1 or any(given):
            raise BadParameter("`query` without a database chooses all columns, `*`, or names them, and not both.")
        return None
    names = [entry["alias"] or (entry.get("column_names") or [""])[-1] for entry in entries]
    if "" in names:
        raise BadParameter("Each expression of `query` needs a name: `lower(city) AS city`.")
    if len({*names}) < len(names):
        raise BadParameter("Two columns of `query` have the same name: rename one with AS.")
    return tuple(zip(names, entries, strict=True))


def _parsed(*statements: str) -> list[list[Tree]]:
    """For each text the nodes of the statements that it is."""
    try:
        found = [json.loads(text, object_hook=_without_places) for text in _serialized(statements)]
    except DpmineError:
        raise
    except Exception as error:  # noqa: BLE001 - a text that breaks the parser is no statement, either
        require_memory(error)
        found = [{"error": True}]
    if any(each["error"] for each in found):
        raise BadParameter(
            "DuckDB cannot parse the SQL (`where=…` or `query=…`): texts stand in single quotes, and names with "
            'blanks, or that SQL reserves, in double quotes, such as "at".'
        )
    return [[each["node"] for each in parsed["statements"]] for parsed in found]


@lru_cache(maxsize=64)  # one text is checked in each step of a run, and each DuckDB takes 10 ms
def _serialized(statements: tuple[str, ...]) -> list[str]:
    with connected() as connection:
        serialize = "SELECT json_serialize_sql($1::VARCHAR)"
        return [str(connection.execute(serialize, [text]).fetchall()[0][0]) for text in statements]


def _without_places(node: Tree) -> Tree:
    return {name: value for name, value in node.items() if name not in _PLACES}


@dataclass(frozen=True, eq=False)
class RowExpressions:
    """Expressions that were found to be of one row each, and the columns that they need.

    Attributes:
        kinds: types in which DuckDB gets the columns, by name.
        statement: which computes them of the columns c0, c1, ….
        types: of their values.
    """

    kinds: Mapping[str, pa.DataType]
    statement: str
    types: tuple[pa.DataType, ...]

    @classmethod
    def of(cls, trees: Sequence[Tree], source: Source) -> RowExpressions:
        """Checked against the columns of a source, whose rows are not read. Raises BadParameter and BadData."""
        names: dict[str, str] = {}
        own = [_own_columns(tree, source, names) for tree in trees]
        kinds = {name: _taken_type(name, source) for name in names}
        empty = pa.schema([(names[name], kind) for name, kind in kinds.items()]).empty_table()
        with connected() as connection:
            try:
                columns = ", ".join(f"TRY({text}) AS e{place}" for place, text in enumerate(_as_sql(connection, own)))
                statement = f"SELECT {columns} FROM {_ROWS}"  # noqa: S608 - of expressions that were checked
                types = tuple(_computed(connection, statement, empty, first=True).schema.types)
            except Exception as error:  # noqa: BLE001 - DuckDB's words may quote; no row was read
                require_memory(error)
                raise BadParameter(
                    "DuckDB rejects the types in `where=…` or `query=…`: it compares texts with texts. Declare other "
                    "types of text columns (`types='amount=float64,day=date'`), or use TRY_CAST(amount AS DOUBLE)."
                ) from None
        return cls(kinds, statement, types)

    def values(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, pa.Table]]:
        """Each batch, which has the needed columns, and its expressions; null where one cannot be computed."""
        schema = pa.schema([(f"c{place}", kind) for place, kind in enumerate(self.kinds.values())])
        with ExitStack() as opened:
            connection = opened.enter_context(connected())
            for batch in batches:
                columns = [converted(batch.column(name), kind) for name, kind in self.kinds.items()]
                table = pa.Table.from_arrays(columns, schema=schema) if columns else _counted(batch.num_rows)
                computed = self._attempted(connection, table)
                if computed is None:
                    opened.close()  # after some failures DuckDB rejects every statement
                    computed = self._by_halves(table)
                    connection = opened.enter_context(connected())
                yield batch, computed

    def _attempted(self, connection: DuckDBPyConnection, table: pa.Table) -> pa.Table | None:
        """The expressions of each row; None where a row makes DuckDB fail in spite of TRY."""
        try:
            computed = _computed(connection, self.statement, table)
        except Exception as error:  # noqa: BLE001 - whatever a row does to DuckDB, it concerns that row alone
            require_memory(error)
            return None
        return computed if computed.num_rows == table.num_rows else None

    def _by_halves(self, table: pa.Table) -> pa.Table:
        """The expressions of rows of which one fails, null there: each half has a DuckDB of its own."""
        if table.num_rows <= 1:
            nulls = [pa.nulls(table.num_rows, kind) for kind in self.types]
            return pa.table(nulls, names=[f"e{place}" for place in range(len(nulls))])
        half = table.num_rows // 2
        parts = []
        for part in (table[:half], table[half:]):
            with connected() as connection:
                computed = self._attempted(connection, part)
            parts.append(self._by_halves(part) if computed is None else computed)
        return pa.concat_tables(parts)


def _counted(rows: int) -> pa.Table:
    """A table of this number of rows, for expressions without a column."""
    return pa.table({"none": pa.nulls(rows, pa.int8())})


def _computed(connection: DuckDBPyConnection, statement: str, table: pa.Table, *, first: bool = False) -> pa.Table:
    given = table if table.num_columns or not first else _counted(0)
    connection.register(_ROWS, pa.RecordBatchReader.from_batches(given.schema, given.to_batches()))
    try:
        computed: pa.Table = connection.sql(statement).to_arrow_table()  # a stream would have to end before it is freed
        return computed
    finally:
        connection.unregister(_ROWS)


def _as_sql(connection: DuckDBPyConnection, trees: Sequence[Tree]) -> list[str]:
    """Each expression as DuckDB writes it."""
    texts = []
    for tree in trees:
        parsed = json.loads(_serialized((_BARE,))[0])
        parsed["statements"][0]["node"]["select_list"] = [{**tree, "alias": ""}]
        answer = connection.execute("SELECT json_deserialize_sql($1::JSON)", [json.dumps(parsed)]).fetchall()
        texts.append(str(answer[0][0]).removeprefix("SELECT ").removesuffix(f" FROM {_ROWS}"))
    return texts


def _own_columns(tree: Any, source: Source, names: dict[str, str], depth: int = 0) -> Any:
    """The expression with c0, c1, … for its columns, which are added to `names`. Raises BadParameter and BadData."""
    if isinstance(tree, list):
        return [_own_columns(each, source, names, depth) for each in tree]
    if not isinstance(tree, dict):
        return tree
    if depth > _DEEPEST:  # Python's own limit depends on the caller, and could end a run after its charge
        raise BadParameter("An expression of `where` or `query` is nested too deeply: IN (…) takes a list of values.")
    if "class" in tree and tree["class"] != "TYPE":
        _require_of_row(tree)
    if tree.get("class") == "COLUMN_REF":
        name = tree["column_names"][-1]
        _require_column(name, len(tree["column_names"]), source)
        return {**tree, "column_names": [names.setdefault(name, f"c{len(names)}")]}
    return {key: _own_columns(value, source, names, depth + 1) for key, value in tree.items()}


def _require_of_row(tree: Tree) -> None:
    """BadParameter for what may look at more than one row, or reads something."""
    kind, name = tree["class"], str(tree.get("function_name", ""))
    allowed = {"FUNCTION": _FUNCTIONS, "OPERATOR": _OPERATORS, "CAST": _TYPES}
    seen = {"FUNCTION": name, "OPERATOR": tree["type"], "CAST": _cast_to(tree).upper()}
    is_known = kind in _CLASSES and (kind not in allowed or seen[kind] in allowed[kind])
    if kind == "FUNCTION" and any(tree.get(part) for part in ("filter", "distinct", "schema", "catalog")):
        is_known = False
    if not is_known:
        what = f" {name!r} is none of these." if name else ""
        raise BadParameter(f"`where` and `query` may hold {_ALLOWED}: no subquery, aggregate or other table.{what}")
    patterns = [each.get("expression", each) for each in (tree.get("arguments") or tree.get("children") or [])[1:]]
    if name in _LIKE and any(pattern["class"] != "CONSTANT" for pattern in patterns):
        raise BadParameter("What stands behind LIKE must be a text in single quotes: a value could take hours as one.")


def _cast_to(tree: Tree) -> str:
    """The type that a cast is to; DuckDB before 2.0 has it in another place."""
    return str(tree.get("type_expr", {}).get("type_name") or tree.get("cast_type", {}).get("id") or "")


def _require_column(name: str, parts: int, source: Source) -> None:
    times = source.names.count(name) if parts == 1 else 0
    if times > 1:
        raise BadData(f"Several columns are called {name!r}: give each its own name.")
    if not times:
        known = source.header_hint is None
        like = resembling(name, source.names) if known else ""
        where = "of the data" if source.header_hint is None else source.header_hint
        raise BadData(f"`where` or `query` names {name!r}, no column {where}.{like} Texts stand in single quotes.")


def _taken_type(name: str, source: Source) -> pa.DataType:
    kind = source.type_of(name)
    taken_as = taken(kind)
    if taken_as is None:
        raise BadData(
            f"Column {name!r} has the type {type_name(kind)}, which DuckDB would not take value by value: leave it out "
            "of `where=…` and `query=…`, or cast it first."
        )
    return taken_as


def taken(kind: pa.DataType) -> pa.DataType | None:
    """The type in which DuckDB gets a column of this type; None where there is none, or some values would fail."""
    values = plain(kind)
    if is_text(values):
        return pa.large_string()
    if pa.types.is_timestamp(values):
        return pa.timestamp("us", values.tz)
    same = {pa.bool_().id, pa.float32().id, pa.float64().id, pa.date32().id, pa.decimal128(1).id}
    entries = values.value_type if is_list(values) else values
    if pa.types.is_integer(entries) or (is_list(values) and is_text(entries)) or values.id in same:
        return values
    return None


def converted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column in this type, bytes that are not UTF-8 replaced, also in lists.

    Far instants wrap around. Those before DuckDB's first one are null, and so are decimals of more digits than their
    type has. DuckDB fails at them for all rows, or makes texts of memory that is not theirs.
    """
    values = column.cast(kind, safe=False)
    if pa.types.is_timestamp(kind):
        counts = values.view(pa.int64())
        return pc.if_else(pc.less(counts, _FIRST_INSTANT), None, counts).view(kind)
    if pa.types.is_decimal128(kind):
        least, largest = (pa.scalar(Decimal((sign, (9,) * kind.precision, -kind.scale)), kind) for sign in (1, 0))
        fits = pc.and_(pc.greater_equal(values, least), pc.less_equal(values, largest))
        return pc.if_else(fits, values, pa.scalar(None, kind))
    if is_list(kind) and is_text(kind.value_type):
        return _valid_lists(values)
    return valid_texts(values) if is_text(kind) else values


def _valid_lists(lists: pa.Array) -> pa.Array:
    """Lists of texts, with bytes that are not UTF-8 replaced by U+FFFD."""
    try:
        lists.validate(full=True)
    except pa.ArrowException:
        contents = lists.cast(pa.large_list(pa.large_binary())).to_pylist()
        decoded = [None if row is None else list(map(_decoded, row)) for row in contents]
        return pa.array(decoded, lists.type)
    return lists


def _decoded(text: bytes | None) -> str | None:
    return None if text is None else text.decode(errors="replace")
