"""Whatever is registered has its proof note, an oracle, a broken twin, and its place in options and pages.

A mechanism or a way that is registered without one of these fails here, by the name of what is missing.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields
from pathlib import Path

from support import broken
from support.cases import every
from support.gallery.lists import broken_lists, lists
from support.oracles.laws import OF_MECHANISMS

from dpmine.itemsets.ways.by_mechanism import ByMechanism
from dpmine.itemsets.ways.registry import WAYS
from dpmine.itemsets.ways.way import Way
from dpmine.options.names import typed_names
from dpmine.options.tables import TOP_ITEMSET
from dpmine.selection.mechanisms.mechanism import Mechanism
from dpmine.selection.mechanisms.registry import MECHANISMS
from dpmine.selection.mechanisms.report_noisy_max import Exponential
from dpmine.selection.recommend import _FIELDS

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "docs" / "proofs"
NOTE = re.compile(r"docs/proofs/([\w/]+)\.md")
CHOOSING = (ROOT / "docs" / "how-to" / "choosing.md").read_text(encoding="utf-8")
PRIVATE = {name: kind for name, kind in MECHANISMS.items() if kind.private}
"""Where privacy is not claimed, nothing is to be proved."""
REGISTERED: dict[str, type[Mechanism | Way]] = {**PRIVATE, **WAYS}


def lacking(name: str, kind: type[Mechanism | Way]) -> list[str]:
    """What a mechanism or a way of that name does not have."""
    found = {
        "a proof note": has_note(name, kind),
        "an oracle": name in OF_MECHANISMS or any(key.startswith(f"{name},") for key in lists()),
        "a broken twin": has_twin(kind),
        "its name in --mechanism": typed_names(name) in re.split(r"[ ,.]+", TOP_ITEMSET["mechanism"].help),
        "options for its fields": issubclass(kind, Way) or set(OWN_FIELDS) >= own_fields(kind),
        "a line of the page": re.search(rf"`(?:{name}|{typed_names(name)})`", CHOOSING) is not None,
    }
    return [what for what, is_there in found.items() if not is_there]


def has_note(name: str, kind: type[Mechanism | Way]) -> bool:
    """Whether its module names a note (a mechanism's has its name), which is there and in the index."""
    named = NOTE.findall(inspect.getsource(inspect.getmodule(kind) or kind))
    index = (PROOFS / "index.md").read_text(encoding="utf-8").splitlines()
    there = [note for note in named if (PROOFS / f"{note}.md").is_file() and note in index]
    return bool(there) if issubclass(kind, Way) else f"selection/{name}" in there


def has_twin(kind: type[Mechanism | Way]) -> bool:
    """Whether the audit is tried on a broken form of it."""
    if issubclass(kind, Way):
        return any(isinstance(listed.target.way, kind) for listed in broken_lists().values())
    return any(issubclass(twin, kind) and twin is not kind for twin, _ in broken.CASES)


def own_fields(kind: type[Mechanism]) -> set[str]:
    """What it has beside ε, δ and the relation."""
    return {field.name for field in fields(kind)} - {field.name for field in fields(Mechanism)}


OWN_FIELDS = [field for option, field in _FIELDS.items() if option in TOP_ITEMSET]
"""The fields that users can set."""


@every("name", REGISTERED)
def test_nothing_is_missing(name: str) -> None:
    assert lacking(name, REGISTERED[name]) == []


@dataclass(frozen=True)
class Toy(Exponential):
    """A mechanism that nothing knows."""

    charm: int = 0


class ToyWay(ByMechanism):
    """A way that nothing knows."""


def test_all_that_is_missing_is_named() -> None:
    rest = ["an oracle", "a broken twin", "its name in --mechanism", "options for its fields", "a line of the page"]
    assert lacking("toy", Toy) == ["a proof note", *rest]
    assert lacking("toy_way", ToyWay) == ["a proof note", *(what for what in rest if "fields" not in what)]
