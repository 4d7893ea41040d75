"""What to type where the layout is not clear: the two commands that are most likely, by names and types of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine.errors import BadData
from dpmine.io.arrow import can_be_item, can_be_key, is_boolean, is_integer, is_list
from dpmine.itemsets.ingest.column_names import role_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from dpmine.io.source import Source

_OF_OBJECTS = "Of objects, give unit= and item= (one item per row), items= (lists), one_hot=True or df.astype(bool)."
_OF_TEXT = (
    "Two commands are likely: `unit=COL` `item=COL` (one row per item), or `attributes=True` (one row per person, "
    "whose items are COL=VALUE). If each line is a basket, say `input_format='baskets'`. `one_hot=True` is not for "
    "lists of items: it needs one column per item, with its name in the header, and 0 or 1 in each row."
)
_MOST_LOOKED_AT = 1000  # columns


def layout_advice(source: Source) -> str:
    """The options of the two likeliest layouts, with names of columns where these are public."""
    if source.header_hint is not None:
        return _OF_TEXT
    if source.objects:
        return _OF_OBJECTS
    names = source.names[:_MOST_LOOKED_AT]
    unit = _first(source, names, "unit", can_be_key)
    item = _first(source, names, "item", lambda kind: can_be_item(kind) or is_list(kind))
    long = f"`unit={_shown(unit)}` `item={_shown(item)}` (one row per item)"
    beside = f"`unit={unit!r}` " if unit else ""
    rest = [name for name in names if name != unit]
    if rest and all(_has(source, name, lambda kind: is_integer(kind) or is_boolean(kind)) for name in rest):
        return f"Two commands are likely: {long}, or {beside}`one_hot=True` (one column per item, 0 for none)."
    wide = f"{beside}`attributes=True` (one row per person, whose items are COL=VALUE)"
    return f"Two commands are likely: {long}, or {wide}. For one column per item, 0 for none: `one_hot=True`."


def _shown(name: str | None) -> str:
    return "COL" if name is None else repr(name)


def _first(source: Source, names: tuple[str, ...], role: str, fits: Callable[[pa.DataType], bool]) -> str | None:
    """The first column whose name has this role, and whose type fits."""
    return next((name for name in names if role_of(name) == role and _has(source, name, fits)), None)


def _has(source: Source, name: str, fits: Callable[[pa.DataType], bool]) -> bool:
    try:
        return fits(source.type_of(name))
    except BadData:  # the column is not the one that the message is about
        return False
