"""Documents of dpmine are read by name and type, so that what else goes wrong is seen."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every

from dpmine.reporting.document import Altered, Document
from dpmine.reporting.evidence import facts, folder
from dpmine.reporting.page import bodies

if TYPE_CHECKING:
    from pathlib import Path

READERS: dict[str, Any] = {
    "text": [1, None, ["a"]],
    "flag": [1, "true", None],
    "whole": [1.0, True, "1", 10**400],
    "number": ["1", True, inf, 10**400],
    "fraction": [1, "1/0", "one", "0", "-1"],
    "values": ["ab", {"a": 1}, None],
    "labels": [[None], [["a"]], "a"],
    "numbers": [["1"], [True], 1],
    "rows_of_numbers": [[1], [["a"]], {}],
    "pair": [[1], [1, 2, 3], [1.5, 2]],
    "part": [[], "a", None],
    "parts": [{}, [1], "a"],
}


@every(("reader", "value"), [(reader, value) for reader, values in READERS.items() for value in values])
def test_an_entry_of_another_type_is_found(reader: str, value: Any) -> None:
    with pytest.raises(Altered):
        getattr(Document({"entry": value}), reader)("entry")


@every("reader", READERS)
def test_a_missing_entry_is_found(reader: str) -> None:
    with pytest.raises(Altered):
        getattr(Document({}), reader)("entry")


@every("content", [b"", b"[]", b"1", b"\xff", b"[" * 100_000, b'{"a": 1', "{}".encode("utf-16")])
def test_a_text_that_is_no_object_is_found(content: bytes) -> None:
    with pytest.raises(Altered):
        Document.parse(content)


def test_a_fault_of_the_page_is_not_taken_for_a_changed_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bodies._BODIES, "histogram", lambda document, _words: document.no_such_method())
    with pytest.raises(AttributeError):
        bodies.body_of("histogram", {})


def test_a_fault_of_the_reader_is_not_taken_for_changed_evidence(tmp_path: Path) -> None:
    with pytest.raises(AttributeError), facts.reading(tmp_path):
        folder.no_such_function()  # type: ignore[attr-defined]
