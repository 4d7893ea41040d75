"""Tables of attributes, as a user describes them: which columns have items as values, and which values are none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from dpmine.errors import BadParameter
from dpmine.options.names import ALL
from dpmine.parameters import listed


@dataclass(frozen=True)
class Attributes:
    """The columns whose values are items, `column=value`.

    Attributes:
        names: of the columns; none for all but the unit's.
        missing: values that are no items, as texts.
        cuts: columns of numbers, and the points that separate their intervals, ascending, as they are written.
    """

    names: tuple[str, ...]
    missing: tuple[str, ...]
    cuts: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, attributes: object, missing: object, cut: object) -> Attributes | None:
        """What the public arguments of these names say; BadParameter where they say nothing that can be."""
        names = () if isinstance(attributes, bool) or attributes == ALL else _texts("attributes", listed(attributes))
        given = _texts("missing", [missing] if isinstance(missing, str) else listed(missing))
        cuts = tuple(_cuts(cut))
        if not attributes and (given or cuts):
            raise BadParameter("`missing` and `cut` are for tables of attributes: give `attributes=True`, too.")
        return cls(names, given, cuts) if attributes else None

    def items_of(self, column: str) -> tuple[str, ...]:
        """The items of a column of numbers, from the smallest on; none of a column without points."""
        points = dict(self.cuts).get(column)
        if points is None:
            return ()
        between = (f"{low}<={column}<{high}" for low, high in pairwise(points))
        return (f"{column}<{points[0]}", *between, f"{column}>={points[-1]}")


def _texts(option: str, values: Iterable[object]) -> tuple[str, ...]:
    texts = tuple(value for value in values if isinstance(value, str) and value)
    if len(texts) < len(tuple(values)) or len({*texts}) < len(texts):
        raise BadParameter(f"`{option}` must be different texts that are not empty.")
    return texts


def _cuts(cut: object) -> Iterable[tuple[str, tuple[str, ...]]]:
    pairs = cut.items() if isinstance(cut, Mapping) else map(_split, [cut] if isinstance(cut, str) else listed(cut))
    named = [(name, tuple(str(point).strip() for point in listed(points))) for name, points in pairs]
    _texts("cut", [name for name, _ in named])
    for name, points in named:
        values = [_number(point) for point in points]
        if not values or not all(low < high for low, high in pairwise([-math.inf, *values, math.inf])):
            raise BadParameter(
                f"`cut` must be ascending numbers of {name!r}, such as `cut='age=18,30,50'`, each given once."
            )
    return named


def _split(text: object) -> tuple[str, str]:
    name, is_pair, points = text.rpartition("=") if isinstance(text, str) else ("", "", "")
    if not is_pair:
        raise BadParameter("`cut` must name a column and its points, such as `cut='age=18,30,50'`.")
    return name.strip(), points


def _number(text: str) -> float:
    """NaN, which is between no others, for no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan
