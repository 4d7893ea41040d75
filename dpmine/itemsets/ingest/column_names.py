"""What the names of columns say: which hold privacy units, which items, and which are named like people.

The lists of words are public: docs/how-to/units.md has them. `layouts.py` and the models' tables ask.
"""

from __future__ import annotations

import re

_PEOPLE = {"customer", "user", "patient", "member", "person", "client"}
_UNIT_WORDS = _PEOPLE | {"basket", "order", "invoice", "transaction", "receipt", "visit", "session"}
_ITEM_WORDS = {"item", "product", "sku", "article", "drug", "page"}
_GENERAL = {"id": "unit", "code": "item"}
"""These count where none of the other words does: item_id holds items, and customer_code names a unit."""
_ENDINGS = ("id", "no", "code", "key", "name")  # written together with a word, as in customerid


def _words(name: str) -> set[str]:
    """The words of a column's name, in the singular, too."""
    words = {word.casefold() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", name)}
    return words | {word.removesuffix("s") for word in words}


def _stems(words: set[str]) -> set[str]:
    return words | {word.removesuffix(ending) for word in words for ending in _ENDINGS}


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
