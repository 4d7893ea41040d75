"""A short form of the fuzzing: the targets on seeded bytes and numbered mutants, and what fuzzing found before."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmine.errors import BadParameter, UnreadableFile
from dpmine.io.files import DataFile
from dpmine.io.sources import parquet as files
from dpmine.itemsets.transactions.memory import parse_memory
from fuzz.children import run_forked
from fuzz.generated import generated
from fuzz.oracle import CANARY, Finding, Refused, ask
from fuzz.parquet import mutant
from fuzz.targets import FORKED, GUIDED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INPUTS = 300
MUTANTS = 40


@pytest.mark.slow
@pytest.mark.parametrize("target", GUIDED)
def test_bytes_give_an_answer_or_a_clean_error(target: str) -> None:
    answered, rng = 0, Random(len(target))
    for _ in range(INPUTS):
        try:
            GUIDED[target](generated(target, rng))
            answered += 1
        except Refused:
            continue
    assert 0 < answered < INPUTS  # a target that always or never answers tests little


@pytest.mark.slow
@pytest.mark.parametrize("target", FORKED)
def test_mutated_files_give_an_answer_or_a_clean_error(target: str) -> None:
    report = run_forked(target, first=0, runs=MUTANTS, seconds=60)
    assert report.failures == []
    assert report.outcomes["answered"]
    assert report.outcomes["refused"]


def test_a_mutant_is_the_same_every_time() -> None:
    assert mutant("top_itemset", 7)[0] == mutant("top_itemset", 7)[0] != mutant("top_itemset", 8)[0]


@pytest.mark.parametrize("text", [f"Item {CANARY} is bad.", "two\nlines", "x" * 3000], ids=["quotes", "lines", "long"])
def test_the_oracle_sees_unclean_errors(text: str) -> None:
    def call() -> None:
        raise BadParameter(text)

    with pytest.raises(Finding):
        ask(call)


def test_the_oracle_lets_other_errors_through() -> None:
    with pytest.raises(ZeroDivisionError):
        ask(lambda: 1 // 0)


@pytest.mark.parametrize(
    "memory", [10**5000, "9" * 5000, "9" * 5000 + "GB", "1." + "0" * 5000], ids=["int", "text", "GB", "point"]
)
def test_memory_of_too_many_digits_is_refused(memory: int | str) -> None:
    with pytest.raises(BadParameter, match="memory must be a size"):
        parse_memory(memory)


@pytest.mark.parametrize("number", [1589, 1787, 2182])
def test_damaged_names_in_a_catalogue_are_refused(number: int) -> None:
    data, case = mutant("catalogue_parquet", number)
    with pytest.raises(Refused):
        FORKED["catalogue_parquet"](data, case)


def test_a_damaged_entry_of_a_footer_ends_no_process() -> None:
    """Arrow aborts where Python asks for it: a child finds out."""
    report = run_forked("top_itemset", first=485, runs=1, seconds=60)
    assert (report.failures, report.outcomes["refused"]) == ([], 1)


def _reader(batch: pa.RecordBatch) -> Callable[..., Any]:
    class Reader:
        def __init__(self, *_: object, **__: object) -> None: ...

        def iter_batches(self, **_: object) -> list[pa.RecordBatch]:
            return [batch]

    return Reader


@pytest.mark.parametrize("codes", [[0, 2], [0, -1], [-1, 1], [2, None]])
def test_codes_without_a_text_are_a_damaged_file(
    codes: list[int | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Arrow hands such codes of a damaged page on: a negative one would count for another item."""
    damaged = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array([CANARY, "b"]), safe=False)
    batch = pa.RecordBatch.from_arrays([damaged], names=["item"])
    (tmp_path / "data").write_bytes(b"")
    monkeypatch.setattr(pq, "ParquetFile", _reader(batch))
    footer = type("Footer", (), {"num_rows": 2})
    file = files.File(DataFile("data", (tmp_path / "data").open), footer, batch.schema, {})
    with pytest.raises(UnreadableFile, match="damaged") as caught:
        list(file.batches(["item"], dictionaries=["item"]))
    assert CANARY not in str(caught.value)
