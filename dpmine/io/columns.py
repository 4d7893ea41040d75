"""Which columns hold the privacy unit, the basket and the items, as the user says it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from dpmine.errors import BadParameter

ColumnNames: TypeAlias = str | Iterable[str] | None
"""How a key is named by the user: one column, several (a composite key), or none."""


@dataclass(frozen=True)
class Columns:
    """The columns that the user named; what is left out is found in the schema.

    Raises BadParameter for combinations that contradict each other.
    """

    unit: tuple[str, ...] = ()
    basket: tuple[str, ...] = ()
    item: str | None = None
    items: str | None = None
    one_hot: bool = False

    def __post_init__(self) -> None:
        if self.item is not None and self.items is not None:
            raise BadParameter(
                "The options item and items exclude each other: name the one column that holds the items."
            )
        if self.one_hot and self.named_item is not None:
            raise BadParameter(
                "The option one_hot excludes item and items: every column but the unit's is then an item."
            )
        if self.one_hot and self.basket:
            raise BadParameter("The option one_hot excludes basket: in a one-hot layout each row is a basket.")
        if self.basket and not self.unit:
            raise BadParameter(
                "The option basket needs unit, the privacy unit's column; to protect baskets, name theirs as unit."
            )
        _require_distinct(self.named)

    @classmethod
    def of(
        cls,
        *,
        unit: ColumnNames = None,
        basket: ColumnNames = None,
        item: str | None = None,
        items: str | None = None,
        one_hot: bool = False,
    ) -> Columns:
        """The columns named by public arguments; BadParameter where a name is not a text."""
        return cls(
            unit=_names("unit", unit),
            basket=_names("basket", basket),
            item=_name("item", item),
            items=_name("items", items),
            one_hot=one_hot,
        )

    @property
    def named_item(self) -> str | None:
        """The column that holds the items, under either option."""
        return self.item if self.item is not None else self.items

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that was named."""
        item = () if self.named_item is None else (self.named_item,)
        return (*self.unit, *self.basket, *item)


def quoted(names: Iterable[str]) -> str:
    """Column names for a message, on one line whatever they contain."""
    return ", ".join(repr(name) for name in names)


def _names(option: str, value: ColumnNames) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (_text(option, value),)
    try:
        return tuple(_text(option, name) for name in value)
    except TypeError:
        raise BadParameter(f"The option {option} must be a column name or a sequence of them.") from None


def _name(option: str, value: str | None) -> str | None:
    return None if value is None else _text(option, value)


def _text(option: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadParameter(f"The option {option} must be a column name, a text that is not empty.")
    return value


def _require_distinct(names: tuple[str, ...]) -> None:
    if len(set(names)) < len(names):
        twice = quoted(sorted({name for name in names if names.count(name) > 1}))
        raise BadParameter(f"The column {twice} is named twice among unit, basket and item: give each its own column.")
