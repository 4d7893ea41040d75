"""Parameters read exactly: text, floats and numpy scalars become fractions.

The float 0.1 means one tenth (its shortest decimal form), not the binary number next to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import ceil, nextafter
from numbers import Integral, Rational
from typing import Any, SupportsIndex, TypeAlias, TypeVar

from dpmine.errors import BadParameter

Number: TypeAlias = int | float | str | Decimal | Rational | SupportsIndex
"""What a parameter may be given as: numpy's integers are `SupportsIndex`, its float64 is a float."""
Sizes: TypeAlias = int | str | tuple[int, int]
"""A size r, a range as text ("2-3") or as a pair (2, 3)."""
Name = TypeVar("Name", bound=StrEnum)

_LARGEST = Fraction(10**100)  # beyond it a parameter is a mistake, and floats for reading overflow
LEAST_PROBABILITY = 1 / _LARGEST
"""The least δ or failure probability that is accepted."""
_MAX_DIGITS = 400  # of a parameter's text; a longer one is a mistake or an attack on memory


def exact_number(name: str, value: Number) -> Fraction:
    """The exact rational that `value` stands for.

    Raises BadParameter for NaN, infinities, booleans and text that is no number. Raises it also for types that a
    conversion could round: floats of another width than 64 bits, arrays.
    """
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, Integral | Rational | float | str | Decimal):
        raise BadParameter(
            f"{name} must be an exact number such as 0.1, '1e-6' or '1/3', not a {type(value).__name__}."
        )
    if isinstance(value, Integral | Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return _parse(name, repr(float(value)) if isinstance(value, float) else str(value))


def positive(name: str, value: Number) -> Fraction:
    """The exact rational `value` > 0 and within 10^±100, else BadParameter."""
    number = exact_number(name, value)
    if number <= 0:
        raise BadParameter(f"{name} must be greater than 0, such as 0.5.")
    if not 1 / _LARGEST <= number <= _LARGEST:
        raise BadParameter(f"{name} must lie between 1e-100 and 1e100.")
    return number


def not_negative(name: str, value: Number) -> Fraction:
    """The exact rational `value`, 0 or within 10^±100, else BadParameter."""
    number = exact_number(name, value)
    if number < 0:
        raise BadParameter(f"{name} must be at least 0.")
    return positive(name, number) if number else number


def below_one(name: str, value: Number) -> Fraction:
    """The exact rational `value` in [0, 1), else BadParameter."""
    number = exact_number(name, value)
    if not 0 <= number < 1:
        raise BadParameter(f"{name} must be at least 0 and less than 1, such as {_example(name)}.")
    return number


def exact_share(name: str, value: Number) -> Fraction:
    """The exact rational `value` strictly between 0 and 1, else BadParameter."""
    number = exact_number(name, value)
    if not 0 < number < 1:
        raise BadParameter(f"{name} must lie strictly between 0 and 1, such as {_example(name)}.")
    return number


def _example(name: str) -> str:
    """A value that works: a δ is small."""
    return "1e-6" if name.endswith("delta") else "0.1"


def probability(name: str, value: Number) -> Fraction:
    """The exact rational `value` strictly between 0 and 1, 10^−100 or more, else BadParameter."""
    number = exact_share(name, value)
    if number < LEAST_PROBABILITY:
        raise BadParameter(f"{name} must be at least 1e-100.")
    return number


def whole(name: str, value: object, *, least: int = 1) -> int:
    """The integer `value` ≥ `least`, else BadParameter."""
    if type(value) is int and value >= least:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise BadParameter(f"{name} must be a whole number of at least {least}.")
    return int(value)


def public_count(name: str, value: object) -> int:
    """The integer `value` from 1 to 2^62, else BadParameter."""
    count = whole(name, value)
    if count > 2**62:
        raise BadParameter(f"{name} must be at most 2^62.")
    return count


def truth(name: str, value: object) -> bool:
    """The truth value, else BadParameter: 0 and 1 are numbers."""
    if not isinstance(value, bool):
        raise BadParameter(f"{name} must be True or False.")
    return value


def named(kind: type[Name], name: str, value: object) -> Name:
    """The member of `kind` that `value` names; raises as `one_of`."""
    return kind(one_of(name, value, list(kind)))


def one_of(name: str, value: object, names: Sequence[str]) -> str:
    """The one of `names` that `value` is, with dashes or underscores; else BadParameter, which lists them."""
    text = value if isinstance(value, str) else ""  # an integer can have more digits than Python writes
    if (chosen := text.replace("-", "_")) in names:
        return chosen
    listing = " or ".join(f"'{each}'" for each in names)
    raise BadParameter(f"{name} must be {listing}.{resembling(text, names)}")


def resembling(name: str, known: Iterable[str]) -> str:
    """What to add to a message about an unknown name: the one of the known names that is like it, or nothing."""
    from difflib import get_close_matches

    found = get_close_matches(str(name), list(known), n=1, cutoff=0.7)
    return f" Did you mean {str(found[0])!r}?" if found else ""


def count_or_share(name: str, value: Number, *, least: int = 1) -> int | Fraction:
    """A support: a count of units as an int, or a share of them as a Fraction; else BadParameter.

    A count is an integer from `least` on, or text such as "100". A share is any other number above 0 up to 1, such as
    0.01, "1.0" or "1/3", or text in per cent: "2%".
    """
    text = value.strip() if isinstance(value, str) else ""
    is_count = isinstance(value, Integral) or text.isdigit()
    number = exact_number(name, text[:-1]) / 100 if text.endswith("%") else exact_number(name, value)
    if is_count and number >= least:
        return int(number)
    if not is_count and 0 < number <= 1:
        return number
    raise BadParameter(f"{name} must be a count of at least {least} (100), or a share above 0 up to 1 (0.01, 1.0, 2%).")


def least_count(share: Fraction, total: int) -> int:
    """The smallest count c whose share c / total, rounded to the nearest float, is at least that of `share`.

    So every share that a float holds reaches its own count: 5/6 of 6 is 5. pandas, numpy and mlxtend compare in the
    same way. Requires: 0 ≤ share ≤ 1. The count is at least 1 where the share is above 0, also of no units at all, and
    where the nearest float is 0.
    """
    least = float(share)
    halfway = (Fraction(least) + Fraction(nextafter(least, 0))) / 2  # below it, the nearest float is below `least`
    count = ceil(halfway * total)
    return max(int(share > 0), count if count / max(1, total) >= least else count + 1)


def _parse(name: str, text: str) -> Fraction:
    hint = f"{name} must be a finite number such as 0.1, 1e-6 or 1/3.{_notation(text)}"
    mantissa, _, exponent = text.strip().lower().partition("e")
    if len(mantissa) > _MAX_DIGITS or len(exponent) > 4:
        raise BadParameter(hint)
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise BadParameter(hint) from None


def _notation(text: str) -> str:
    """What to add to a message about a number: how dpmine writes those that are written so."""
    if text.strip().endswith("%"):
        return " For 1 % give 0.01."
    return " Decimals have a point: 1.5, not 1,5." if text.count(",") == 1 else ""


def parse_sizes(size: Sizes) -> tuple[int, int]:
    """The smallest and the largest size asked for; BadParameter unless 1 ≤ smallest ≤ largest."""
    low, high = _pair(size)
    if not 1 <= low <= high:
        raise BadParameter("size must be at least 1, and a range must run upwards: 2, or 2-3.")
    return low, high


def _pair(size: Sizes) -> tuple[int, int]:
    if isinstance(size, str):
        low, dash, high = size.strip().partition("-")
        if not _is_whole(low) or (dash and not _is_whole(high)):
            raise BadParameter("size must be a whole number of at least 1 (2) or a range of them (2-3).")
        return int(low), int(high or low)
    if isinstance(size, tuple):
        if len(size) != 2:
            raise BadParameter("A range of sizes is a pair (smallest, largest).")
        return whole("size", size[0]), whole("size", size[1])
    return whole("size", size), whole("size", size)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


_LONGEST = 20  # digits


def listed(value: object) -> list[Any]:
    """The parts of a text with commas between them, or the entries of a list; nothing for None."""
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return list(value) if isinstance(value, Sequence) else [value]


def one_or_each(value: object) -> Any:
    """A single entry by itself, several as a list, and None where there is none."""
    entries = listed(value)
    return entries[0] if len(entries) == 1 else entries or None


def whole_numbers(name: str, value: object) -> list[int]:
    """Whole numbers with commas between them, or in a list; powers may be written 2^64. BadParameter for others."""
    numbers = [_whole(entry) for entry in listed(value)]
    if any(number is None for number in numbers):
        raise BadParameter(f"{name} must be whole numbers, such as 1001 or 2^64, with commas between them.")
    return [number for number in numbers if number is not None]


def _whole(entry: object) -> int | None:
    if isinstance(entry, int) and not isinstance(entry, bool):
        return entry
    if not isinstance(entry, str):
        return None
    base, power_sign, power = entry.partition("^")
    parts = [(base, _LONGEST), (power, 2)] if power_sign else [(base, _LONGEST)]
    if not all(part.isascii() and part.isdigit() and len(part) <= most for part, most in parts):
        return None
    return int(base) ** int(power) if power_sign else int(base)
