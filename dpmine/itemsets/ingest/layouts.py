"""Finding the layout: from the options where they say it, from the schema where it leaves no doubt.

The privacy unit is never guessed from the order of columns. Where no option names it, the names of the columns decide
(`column_names.py`). Where these do not decide either, an error prints the commands to choose from.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from dpmine.errors import BadData
from dpmine.io.arrow import as_text_type, can_be_item, can_be_key, is_boolean, is_list, plain, type_name
from dpmine.io.source import BasketSource, Columns, quoted
from dpmine.itemsets.ingest.column_names import (
    has_known_words_only,
    layout_advice,
    names_people,
    require_names,
    role_of,
)
from dpmine.itemsets.ingest.plain_values import has_form
from dpmine.itemsets.transactions.memory import LINE
from dpmine.markup import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dpmine.io.source import Source

_LISTED = 20  # column names in a message at most
_NONE_NAMED = Columns()
_ONE_EACH = "each value of {!r} is one item; name it with items= if rows hold lists"


class Layout(Enum):
    """How rows and columns stand for baskets and items."""

    LONG = "long"
    """One row per basket and item."""
    LIST = "list"
    """One row per basket, its items in a list."""
    ONE_HOT = "one-hot"
    """One row per basket, one column per item."""


class Origin(Enum):
    """Where the layout was learned from."""

    OPTIONS = "from the options"
    NAMES = "by the names of the columns"
    SCHEMA = "found in the schema"
    BASKETS = "each basket is one row"


@dataclass(frozen=True)
class LayoutPlan:
    """Which columns to read, and as what.

    Attributes:
        layout: of the data.
        items: the item columns: one, or all of a one-hot layout.
        unit: key columns of the privacy unit; none where each row is its own unit.
        basket: key columns of the basket inside its unit; only in a long layout.
        origin: where this was learned from.
        cautions: what the user may not have meant, by names and types of columns alone.
        counting_note: how an engine will count, and what that takes, by public facts alone; "" for no note.
    """

    layout: Layout
    items: tuple[str, ...]
    unit: tuple[str, ...]
    basket: tuple[str, ...]
    origin: Origin
    cautions: tuple[str, ...] = ()
    counting_note: str = ""

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """All key columns."""
        return (*self.unit, *self.basket)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        return (*self.keys, *self.items)

    @cached_property
    def unit_columns(self) -> tuple[str, ...]:
        """Under which names the unit is kept while data stream by: those of its key columns, or of the row number."""
        return tuple(f"u{place}" for place in range(max(1, len(self.unit))))

    @cached_property
    def basket_columns(self) -> tuple[str, ...]:
        """The same of what distinguishes the baskets of a unit: a key, the row number, or nothing."""
        if self.layout is Layout.LONG:
            return tuple(f"b{place}" for place in range(len(self.basket)))
        return ("b0",) if self.unit else ()

    @cached_property
    def line_bytes(self) -> int:
        """Bytes that a line takes while it is coded and grouped, on top of what was read."""
        return LINE * (len(self.unit_columns) + len(self.basket_columns) + 1)

    @cached_property
    def unit_name(self) -> str:
        """What the privacy unit is called in the guarantee."""
        return ", ".join(self.unit) or "row"

    @cached_property
    def description(self) -> str:
        """One line for the user: the layout and its columns, no data."""
        count = len(self.items)
        columns = "1 column is an item" if count == 1 else f"{count:,} columns are items"
        items = columns if self.layout is Layout.ONE_HOT else f"item = {_line(self.items)}"
        basket = f", basket = {_line(self.basket)}" if self.basket else ""
        return f"{self.layout.value} layout: {items}, unit = {_line(self.unit) or 'row'}{basket} ({self.origin.value})"


def plan_layout(source: Source, columns: Columns) -> LayoutPlan:
    """The layout of a source's columns, checked for types; reads no rows.

    Raises BadData where a named column is missing or has the wrong type, and where the layout is not clear.
    """
    if isinstance(source, BasketSource):
        return LayoutPlan(Layout.LIST, source.names, (), (), Origin.BASKETS)
    _require_present(source, columns)
    item = columns.named_item
    plan = _named_plan(source, columns, item) if item or columns.one_hot else _found_plan(source, columns)
    if source.header_hint is not None and plan.layout is Layout.ONE_HOT:
        require_names(plan.items, source.header_hint, is_header=bool(columns.named))
    _require_one_each(source, plan)
    if plan.basket and plan.layout is not Layout.LONG:
        raise BadData(
            f"The data have the {plan.layout.value} layout, where each row is a basket: leave out the option basket."
        )
    _check_types(source, plan, columns)
    _require_not_swapped(source, plan, columns)
    return replace(plan, cautions=tuple(_cautions(source, plan, columns)))


def _called(source: Source, columns: Columns, name: str) -> str:
    """A column for a message: by its name where that is public, as one is that the user typed."""
    return repr(name) if source.header_hint is None or name in columns.named else "a column"


def _require_not_swapped(source: Source, plan: LayoutPlan, columns: Columns) -> None:
    """BadData where the names say that people would be published, and protect what they bought."""
    if plan.layout is Layout.ONE_HOT or not plan.unit:
        return
    unit, item = plan.unit[0], plan.items[0]
    if names_people(item) and all(role_of(name) == "item" for name in plan.unit):
        named = {"unit": item, "item": unit} if source.header_hint is None else {"unit": "COL", "item": "COL"}
        raise BadData(
            f"The items would be values of {_called(source, columns, item)}, which is named like people, and those of "
            f"{_called(source, columns, unit)}, which is named like items, would be protected: swap them, "
            f"{_options(named)}; if this is intended, rename the columns."
        )


def _cautions(source: Source, plan: LayoutPlan, columns: Columns) -> Iterator[str]:
    """See `LayoutPlan.cautions`."""
    if plan.layout is not Layout.ONE_HOT and names_people(plan.items[0]):
        people = _called(source, columns, plan.items[0])
        yield f"the items are values of {people}, which is named like people: the result would name some"
    for name in _possible_keys(source, plan.items[0]) if plan.layout is Layout.LIST and not plan.unit else ():
        if names_people(name):
            yield f"each row is a unit of its own: `unit={name!r}` protects each {name!r} as a whole"
    if plan.layout is Layout.LONG and plan.items[0] in source.objects:
        yield _ONE_EACH.format(plan.items[0])
    for name in plan.keys:
        if pa.types.is_timestamp(source.type_of(name)):
            yield (
                f"each instant of {name!r} is a key of its own: day({name}), week({name}) or month({name}) keep "
                "together what belongs together"
            )
    if spans := [name for name in plan.unit if name in source.calendar]:
        yield f"a person has a unit for every {', '.join(spans)} with data, and the ε of these add up"
    yield from _keys_as_items(source, plan, columns)
    yield from source.cautions(plan.columns)


def _keys_as_items(source: Source, plan: LayoutPlan, columns: Columns) -> Iterator[str]:
    """At most one caution: that a column of numbers of a one-hot layout is named like a key, beside a named unit."""
    if plan.layout is not Layout.ONE_HOT or source.are_boolean(plan.items):
        return
    if keys := [name for name in plan.items if role_of(name) == "unit" and not is_boolean(source.type_of(name))]:
        key = _called(source, columns, keys[0])
        above = "an item of each row with a number above 0 in it"
        yield f"{key} is named like a key, and with `one_hot=True` it is {above}"


def item_type(source: Source, plan: LayoutPlan) -> pa.DataType:
    """The declared type of the items: of their column, of its lists' entries, or of the names of one-hot columns."""
    if plan.layout is Layout.ONE_HOT:
        return source.labels(plan.items).type
    kind = source.type_of(plan.items[0])
    return plain(kind.value_type if plan.layout is Layout.LIST else kind)


def _named_plan(source: Source, columns: Columns, name: str | None) -> LayoutPlan:
    """The layout where the options name the items' column, or say that there is one for each item (None)."""
    if name is None:
        if not (others := _others(source, columns)):
            raise BadData("There is no column left for the items: a one-hot layout has one column for each.")
        return _plan(Layout.ONE_HOT, others, columns, Origin.OPTIONS)
    if is_list(source.type_of(name)):
        return _plan(Layout.LIST, [name], columns, Origin.OPTIONS)
    if columns.items is not None:
        raise BadData(
            f"Column {name!r} has the type {type_name(source.type_of(name))}, but the option items names a column "
            "of lists: for one item per row use the option item."
        )
    if columns.unit:
        return _plan(Layout.LONG, [name], columns, Origin.OPTIONS)
    _check_item(name, source.type_of(name))  # said first where the unit is not clear either
    return replace(_plan(Layout.LONG, [name], columns, Origin.SCHEMA), unit=_only_other(source, columns))


def _found_plan(source: Source, columns: Columns) -> LayoutPlan:
    """The layout where the items' columns follow from the schema alone."""
    others = _others(source, columns)
    if others and source.are_boolean(others):
        return _plan(Layout.ONE_HOT, others, columns, Origin.SCHEMA)
    lists = [name for name in others if is_list(source.type_of(name))]
    if columns == _NONE_NAMED and len(others) == 2 and len(lists) < 2:
        return _plan_of_two(source, lists)
    if len(lists) == 1:
        return _plan_beside(source, lists[0], columns)
    if len(others) == 1 and columns.unit:
        return _plan(Layout.LONG, others, columns, Origin.SCHEMA)
    raise BadData(f"The layout is not clear {_among(source)}. {layout_advice(source)}")


def _plan_of_two(source: Source, lists: Sequence[str]) -> LayoutPlan:
    """The layout of two columns, of which `lists` hold lists: in whichever order, their names decide.

    Beside a column of lists, one that can be no key is left out.
    """
    if lists:
        (other,) = (name for name in source.names if name not in lists)
        if not can_be_key(source.type_of(other)):
            return LayoutPlan(Layout.LIST, tuple(lists), (), (), Origin.SCHEMA)
        if role_of(other) != "unit":
            raise BadData(_unclear(source, ({"unit": other, "item": lists[0]}, {"item": lists[0]})))
        return LayoutPlan(Layout.LIST, tuple(lists), (other,), (), Origin.NAMES)
    units = [name for name in source.names if role_of(name) == "unit"]
    is_header = source.header_hint is None or all(map(has_known_words_only, source.names))
    if len(units) != 1 or not is_header:
        first, second = source.names
        raise BadData(_unclear(source, ({"unit": first, "item": second}, {"unit": second, "item": first})))
    items = tuple(name for name in source.names if name not in units)
    return LayoutPlan(Layout.LONG, items, tuple(units), (), Origin.NAMES)


def _plan_beside(source: Source, items: str, columns: Columns) -> LayoutPlan:
    """The layout of one column of lists among several: without a named unit, the names of the others decide."""
    if source.names == (items,) and items not in source.objects:
        return _plan(Layout.LIST, [items], columns, Origin.BASKETS)
    plan, possible = _plan(Layout.LIST, [items], columns, Origin.SCHEMA), _possible_keys(source, items)
    units = [] if columns.unit else [name for name in possible if role_of(name) == "unit"]
    if len(units) > 1:
        raise BadData(_unclear(source, [{"unit": name, "item": items} for name in units]))
    return replace(plan, unit=tuple(units), origin=Origin.NAMES) if units else plan


def _possible_keys(source: Source, items: str) -> list[str]:
    return [name for name in source.names if name != items and can_be_key(source.type_of(name))]


def _unclear(source: Source, choices: Sequence[dict[str, str]]) -> str:
    """That the unit must be named, with the options of each choice."""
    if source.header_hint is not None:
        choices = [{"unit": "COL", "item": "COL"}]
    named = " or ".join(map(_options, choices))
    return " ".join(f"The privacy unit is not clear {_among(source)}: name it, with {named}.".split())


def _options(choice: Mapping[str, str]) -> str:
    return " ".join(f"`{option}={name!r}`" for option, name in choice.items())


def _plan(layout: Layout, items: Iterable[str], columns: Columns, origin: Origin) -> LayoutPlan:
    return LayoutPlan(layout, tuple(items), columns.unit, columns.basket, origin)


def _others(source: Source, columns: Columns) -> tuple[str, ...]:
    named = columns.named
    return tuple(name for name in source.names if name not in named)


def _only_other(source: Source, columns: Columns) -> tuple[str, ...]:
    """The unit of a long layout that names no unit: the other one of two columns, unless its name says otherwise."""
    others, item = _others(source, columns), columns.named_item or ""
    if len(others) != 1:
        lists = f" Else {_ONE_EACH.format(item)}." if item in source.objects else ""
        raise BadData(f"The privacy unit is not clear {_among(source)}: name its column with `unit=COL`.{lists}")
    if role_of(others[0]) == "item":
        raise BadData(_unclear(source, ({"unit": others[0], "item": item}, {"unit": item, "item": others[0]})))
    return others


def _require_present(source: Source, columns: Columns) -> None:
    for name in columns.named:
        if name not in source.names:
            from dpmine.io.sources.periods import like_column, unlike_header

            shown = [] if source.header_hint is not None else _shown(source, columns)
            like = like_column(name, shown) if shown else unlike_header(name, source.names)
            raise BadData(f"There is no column {name!r} {_among(source, columns)}.{like}")


def _require_one_each(source: Source, plan: LayoutPlan) -> None:
    times = Counter(source.names)
    if repeated := [name for name in plan.columns if times[name] > 1]:
        raise BadData(f"Several columns are called {repeated[0]!r}: give each its own name.")


def _check_types(source: Source, plan: LayoutPlan, columns: Columns) -> None:
    for name in plan.keys:
        check_key(name, source.type_of(name))
    if plan.layout is not Layout.ONE_HOT:
        kind = source.type_of(plan.items[0])
        _check_item(plan.items[0], kind.value_type if plan.layout is Layout.LIST else kind)
    elif not source.are_boolean(plan.items):
        for name in plan.items:
            _check_one_hot(source, name, source.type_of(name), columns)


def check_key(name: str, kind: pa.DataType) -> None:
    """Raises BadData for a column whose type cannot name units or baskets."""
    if not can_be_key(kind):
        raise BadData(
            f"Column {name!r} has the type {type_name(kind)}: a privacy unit or basket is identified by integers, "
            f"texts, dates or a dictionary of those. {_way(name, kind)}"
        )


def _check_item(name: str, kind: pa.DataType) -> None:
    if not can_be_item(kind):
        raise BadData(
            f"Column {name!r} has items of the type {type_name(kind)}: items are integers, texts or a dictionary of "
            f"those. {_way(name, kind)}"
        )


def _way(name: str, kind: pa.DataType) -> str:
    """What to do about a column whose type is no key's and no item's."""
    if has_form(kind):
        return f"Name it as what it is, such as `item={name!r}`, and its values are texts (on Spark, cast it to texts)."
    if as_text_type(plain(kind)) != plain(kind):
        return f"If a Parquet or Arrow file holds text in it, say so: `types={f'{name}=text'!r}`."
    return "Cast the column first (floats that are whole numbers to int64)."


def _check_one_hot(source: Source, name: str, kind: pa.DataType, columns: Columns) -> None:
    if is_boolean(kind):
        return
    if not (columns.one_hot and pa.types.is_integer(kind)):
        raise BadData(
            f"Column {name!r} has the type {type_name(kind)}: in a one-hot layout every column but the unit's holds "
            "booleans, or with `one_hot` integers. Cast the column, leave it out, or name it as unit."
        )
    if not columns.unit and role_of(name) == "unit":
        known = source.header_hint is None
        raise BadData(
            f"{f'Column {name!r}' if known else 'A column'} is named like a privacy unit: name it as unit (`unit="
            f"{repr(name) if known else 'COL'}`), or make it boolean where it is an item."
        )


def _among(source: Source, columns: Columns = _NONE_NAMED) -> str:
    """The columns for a message; those of a one-hot layout are items and stay unnamed."""
    if source.header_hint is not None:
        return source.header_hint
    names = _shown(source, columns)
    if not names:
        return "among the data's columns"
    rest = f" and {len(source.names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"among the columns {quoted(names[:_LISTED])}{rest}"


def _shown(source: Source, columns: Columns) -> list[str]:
    return [name for name in source.names if not (columns.one_hot or _is_item_label(source, name))]


def _is_item_label(source: Source, name: str) -> bool:
    try:
        return is_boolean(source.type_of(name))
    except BadData:  # the column is not the one that the message is about
        return False


def _line(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names))
