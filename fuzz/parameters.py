"""Targets: parameters, ledger URLs, catalogues, scores."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import dpmine
from dpmine import parameters
from dpmine.itemsets.ingest.catalogue import read_catalogue
from dpmine.itemsets.transactions.memory import parse_memory
from dpmine.privacy import Neighbors
from fuzz.choices import Choices
from fuzz.oracle import CANARY, ask, require

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBERS: dict[str, Callable[[str, Any], Any]] = {
    "exact_number": parameters.exact_number,
    "positive": parameters.positive,
    "not_negative": parameters.not_negative,
    "below_one": parameters.below_one,
    "exact_share": parameters.exact_share,
    "probability": parameters.probability,
}
_LIMITS: dict[str, Callable[[Fraction], bool]] = {
    "exact_number": lambda _: True,
    "positive": lambda number: Fraction(1, 10**100) <= number <= 10**100,
    "not_negative": lambda number: number == 0 or Fraction(1, 10**100) <= number <= 10**100,
    "below_one": lambda number: 0 <= number < 1,
    "exact_share": lambda number: 0 < number < 1,
    "probability": lambda number: Fraction(1, 10**100) <= number < 1,
}
_OTHERS: tuple[Callable[[Any], Any], ...] = (
    parameters.parse_sizes,
    parse_memory,
    lambda value: parameters.whole("size", value),
    lambda value: parameters.truth("flag", value),
    Neighbors.parse,
)


def numbers(data: bytes) -> None:
    """Every reader of numbers: the number is the one that was written, within its limits."""
    choices = Choices(data)
    name, value = choices.one(tuple(_NUMBERS)), choices.value()
    if choices.byte() % 8 == 0 and isinstance(value, int | float):
        value = choices.one((np.float64, Decimal))(min(value, 10**300))
    number = ask(lambda: _NUMBERS[name]("epsilon", value))
    require(type(number) is Fraction and _LIMITS[name](number), f"{name} lets a number through that is out of range.")
    if isinstance(value, float):
        require(float(number) == value, f"{name} reads another number than was given.")


def settings(data: bytes) -> None:
    """Sizes, memory, whole numbers, truth values, relations."""
    choices = Choices(data)
    reader, value = choices.one(_OTHERS), choices.value()
    answer = ask(lambda: reader(value))
    if reader is parameters.parse_sizes:
        require(1 <= answer[0] <= answer[1], "Sizes run downwards.")
    if reader is parse_memory:
        require(answer >= 64_000_000, "Memory is below the least.")


def ledger(data: bytes) -> None:
    """URLs of ledgers: a refusal does not repeat the password; nothing is opened."""
    choices = Choices(data)
    start = choices.one(("", "sqlite:///", "sqlite://", "postgresql://", "postgresql+psycopg://", "mysql://"))
    secret = f"user:{CANARY}@" if choices.byte() % 2 else ""
    made = ask(lambda: dpmine.Ledger(start + secret + choices.text()))
    shown = repr(made)
    require("\n" not in shown, "A ledger is shown in several lines.")
    if start.startswith("postgresql") and secret:
        require(CANARY not in shown, "A ledger shows its password.")


def catalogue_text(data: bytes) -> None:
    """A text file of items: its lines, sorted, each once."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(data)
        items = ask(lambda: read_catalogue(file.name))
    if data.startswith(b"PAR1"):
        return
    lines = [line.removesuffix(b"\r") for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    expected = sorted(line for line in lines if line)
    require([item.encode() for item in items.to_pylist()] == expected, "The catalogue holds other items.")


def catalogue_given(data: bytes) -> None:
    """A sequence of items."""
    choices = Choices(data)
    given = [choices.value() for _ in range(choices.byte() % 6)]
    items = ask(lambda: read_catalogue(given)).to_pylist()
    require(items == sorted(given), "The catalogue holds other items.")


def _exact(value: Any) -> Fraction:
    plain = value.item() if isinstance(value, np.generic) else value
    return Fraction(plain.decode() if isinstance(plain, bytes) else plain)


def scores(data: bytes) -> None:
    """Odd scores, labels and options: the choice is one of the candidates, the exact one is the largest."""
    choices = Choices(data)
    values = [choices.value() for _ in range(choices.byte() % 6)]
    kind = choices.byte() % 4
    given: Any = values
    if kind == 1:
        given = {CANARY + str(place): value for place, value in enumerate(values)}
    elif kind == 2:
        given = np.frombuffer(choices.take(64)[:64], np.uint8).astype(
            choices.one((np.int8, np.float64, np.uint64, bool))
        )
    elif kind == 3:
        given = choices.value()
    mechanism = choices.one(("exact", "exponential", "large_margin", "auto", "limited_domain", CANARY[:3]))
    options: dict[str, Any] = {"not_private": True} if mechanism == "exact" else {}
    selection = ask(lambda: dpmine.select(given, mechanism=mechanism, **options))
    if not selection:
        return
    place = list(given).index(selection.label) if isinstance(given, dict) else selection.index
    require(0 <= place < len(given), "A candidate that does not exist was chosen.")
    if mechanism == "exact":
        plain = list(given.values()) if isinstance(given, dict) else list(given)
        exact = [_exact(value) for value in plain]
        require(exact[place] == max(exact), "The exact choice is not the largest.")
