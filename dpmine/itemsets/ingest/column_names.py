"""What the names of columns say: which hold privacy units, which items, and which are named like people.

Where the layout is not clear, they also say which two commands are likely. The lists of words are public:
docs/how-to/units.md has them. `layouts.py` and the models' tables ask.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from dpmine.errors import BadData
from dpmine.io.arrow import can_be_item, can_be_key, is_boolean, is_list

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.io.source import Source

_PEOPLE = {"customer", "user", "patient", "member", "person", "client"}
_UNIT_WORDS = _PEOPLE | {"basket", "order", "invoice", "transaction", "receipt", "visit", "session"}
_ITEM_WORDS = {"item", "product", "sku", "article", "drug", "page"}
_GENERAL = {"id": "unit", "code": "item"}
"""These count where none of the other words does: item_id holds items, and customer_code names a unit."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_ENDINGS = ("id", "no", "code", "key", "name")  # written together with a word, as in customerid


def _words(name: str) -> set[str]:
    """The words of a column's name, in the singular, too."""
    words = {word.casefold() for word in _WORD.findall(name)}
    return words | {word.removesuffix("s") for word in words}


def _stems(words: set[str]) -> set[str]:
    return words | {word.removesuffix(ending) for word in words for ending in _ENDINGS}


def has_known_words_only(name: str) -> bool:
    """Whether all words of a name are on the lists, so that it is none of the data: a header may be missing."""
    known = _UNIT_WORDS | _ITEM_WORDS | {*_GENERAL, *_ENDINGS, "unit"}
    parts = _WORD.findall(name)
    return bool(parts) and not re.search(r"\d", name) and all(_stems(_words(part)) & known for part in parts)


_HEADER = "A text file has the names of its columns in its first line: write them there if they are missing."


def require_names(names: Sequence[str], header_hint: str, *, is_header: bool) -> None:
    """BadData where columns of a text file, whose names are to be released, are named like data.

    The first line alone decides; `is_header` where an option names one of its fields. `header_hint` says where names
    are.
    """
    from dpmine.io.sources.delimited import likely_delimiter

    if len(set(names)) < len(names):
        raise BadData(f"Several columns have the same name {header_hint}: give each its own. {_HEADER}")
    if not all(map(str.strip, names)):
        raise BadData(f"A column has no name {header_hint}: give it one, or leave it out. {_HEADER}")
    if not is_header and likely_delimiter(names):
        raise BadData(f"There is one column {header_hint}, and one-hot columns are one per item. {_HEADER}")
    if not is_header and any(map(_is_like_number, names)):
        raise BadData(
            f"A column is named like a number {header_hint}, which looks like data. {_HEADER} If it is a name, name "
            "the column of the privacy unit, too (`unit=COL`)."
        )


def _is_like_number(name: str) -> bool:
    """Whether a name has digits, and no letters, as numbers and dates have."""
    return any(map(str.isdigit, name)) and not any(map(str.isalpha, name))


def names_people(name: str) -> bool:
    """Whether a column is named like one that identifies people."""
    words = _words(name)
    return bool(_stems(words) & _PEOPLE) and not words & _ITEM_WORDS


def role_of(name: str) -> str | None:
    """What the words of a column's name say that it holds: "unit", "item", or None where they say nothing, or both."""
    words = _words(name)
    stems = _stems(words)
    roles = {role for role, known in (("unit", _UNIT_WORDS), ("item", _ITEM_WORDS)) if stems & known}
    if words and words <= {"unit", "units"}:
        return "unit"  # but not units_sold, or unit_price
    roles = roles or {role for word, role in _GENERAL.items() if word in words}
    return roles.pop() if len(roles) == 1 else None


_OF_OBJECTS = "Of objects, give unit= and item= (one item per row), items= (lists), one_hot=True or df.astype(bool)."
_OF_TEXT = (
    "Two commands are likely: `unit=COL` `item=COL` (one row per item), or `attributes=True` (one row per person, "
    "whose items are COL=VALUE). If each line is a basket, say `input_format='baskets'`, with `delimiter=','` where "
    "commas separate items, not blanks. `one_hot=True` is not for lists of items: it needs one column per item, with "
    "its name in the header, and 0 or 1 in each row."
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
    if rest and all(_has(source, name, lambda kind: pa.types.is_integer(kind) or is_boolean(kind)) for name in rest):
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
