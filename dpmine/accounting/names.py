"""Names of data sets, of their parts and of privacy units, as a ledger keeps them."""

from __future__ import annotations

from dpmine.errors import BadParameter

WHOLE = ""
"""The part that is all of a data set."""
_LONGEST = 200  # characters


def checked_name(what: str, value: object) -> str:
    """The name, if it has 1 to 200 characters and no control characters; else BadParameter."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or not value.isprintable():
        raise BadParameter(f"{what} must be a printable name of 1 to {_LONGEST} characters.")
    return value


def name_and_part(dataset: object) -> tuple[str, str]:
    """Name and part of "shop" or "shop/north". Raises BadParameter."""
    name, slash, part = dataset.partition("/") if isinstance(dataset, str) else (dataset, "", "")
    return checked_name("dataset", name), checked_name("the part after / in dataset", part) if slash else WHOLE


def whole_name(dataset: object) -> str:
    """A name without a part. Raises BadParameter."""
    name, part = name_and_part(dataset)
    if part != WHOLE:
        raise BadParameter("A budget is granted to a whole data set, whose name has no '/'; its parts are charged.")
    return name
