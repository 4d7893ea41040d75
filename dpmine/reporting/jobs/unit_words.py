"""How a report calls the privacy unit: "customer" and "customers", where its column is CustomerID.

`file.py` reads the label; the page's sentences use it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from dpmine.errors import BadParameter
from dpmine.ledger.budget import checked_name

_IRREGULAR = {"person": "people", "child": "children", "man": "men", "woman": "women"}
_WORD = re.compile(r"[a-z]+(?:[ -][a-z]+)*")


@dataclass(frozen=True, slots=True)
class UnitWords:
    """One unit, and several.

    Attributes:
        one: "customer".
        many: "customers".

    Example:
        >>> UnitWords.of("CustomerID", UnitWords.read("customer"))
        UnitWords(one='customer', many='customers')
        >>> UnitWords.of("CustomerID")
        UnitWords(one='CustomerID', many='values of CustomerID')
    """

    one: str
    many: str

    @classmethod
    def read(cls, value: object) -> Self:
        """The value of `unit_label`: a word, or a list of its singular and plural. Raises BadParameter."""
        if isinstance(value, list) and len(value) == 2:
            one, many = (checked_name("unit_label", each) for each in value)
            return cls(one, many)
        if isinstance(value, list):
            raise BadParameter('unit_label must be a word, or its singular and plural: write ["person", "people"].')
        one = checked_name("unit_label", value)
        return cls(one, plural(one))

    @classmethod
    def of(cls, unit: str, label: Self | None = None) -> Self:
        """The label; without one, the unit's name, which has a plural where it is a word in lower case."""
        if label is not None:
            return label
        return cls(unit, plural(unit) if _WORD.fullmatch(unit) else f"values of {unit}")


def plural(noun: str) -> str:
    """The English plural of a noun, by the usual rules for its ending."""
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}{'es' if re.search(r'(?:s|x|z|ch|sh)$', noun) else 's'}"
