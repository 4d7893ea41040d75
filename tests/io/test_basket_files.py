"""Files with a basket a line (.dat, .basket, .baskets): each line decides about itself alone, and none stops a run."""

from __future__ import annotations

import gzip
import io
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every

import dpmine
from dpmine.errors import BadData, BadParameter, UnreadableFile
from dpmine.io.input import Input
from dpmine.io.open import open_input

if TYPE_CHECKING:
    from pathlib import Path

BASKETS = [["a", "b"], ["b", "c", "d"], ["a"]]
TEXT = b"a b\nb c d\na\n"
HOSTILE = {
    "nothing": b"",
    "blanks": b" \t ",
    "a comment": b"# a b",
    "a header": b"@ITEM=a=z",
    "a mark": b'"a b',
    "NUL": b"\x00 a",
    "no UTF-8": b"\xff\xfe a",
    "a mark of byte order": b"\xef\xbb\xbfa",
    "a mark of UTF-16": b"\xff\xfea\x00",
    "too long": b"a " * 2**20,
    "a return inside": b"x\ry",
    "many": b" ".join(str(number).encode() for number in range(5000)),
}


def lists(path: Path | str, **options: Any) -> list[list[Any]]:
    """What is read, whole and in pieces."""
    source = open_input(Input(path, **options))
    assert source.names == ("items",)
    return [row for batch in source.batches(["items"]) for row in batch.column(0).to_pylist()]


@every("ending", [".dat", ".basket", ".baskets", ".dat.gz"])
@every("text", [TEXT, TEXT[:-1], TEXT.replace(b"\n", b"\r\n"), b"\n" + TEXT.replace(b" ", b" \t ") + b"\n\n"])
def test_items_between_blanks(tmp_path: Path, ending: str, text: bytes) -> None:
    path = tmp_path / f"x{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    assert lists(path) == BASKETS


def test_items_between_delimiters_may_have_blanks(tmp_path: Path) -> None:
    path = tmp_path / "x.basket"
    path.write_text("whole milk, bread,,\n,,\nrolls/buns\n", encoding="utf-8")
    assert lists(path, delimiter=",") == [["whole milk", "bread"], [], ["rolls/buns"]]
    assert lists(path, delimiter=";") == [["whole milk, bread,,"], [",,"], ["rolls/buns"]]


def test_a_header_names_items(tmp_path: Path) -> None:
    """As SPMF writes it; below the header such a line is a comment, and elsewhere everywhere: it may be a person's."""
    path = tmp_path / "x.spmf"
    path.write_text("@CONVERTED_FROM_TEXT\n@ITEM=1=odor: none\n@ITEM=2=\n1 2 3\n@ITEM=3=late\n3\n", encoding="utf-8")
    assert lists(path) == [["odor: none", "2", "3"], ["3"]]
    assert lists(path, input_format="baskets") == [["1", "2", "3"], ["3"]]


def test_a_basket_that_looks_like_a_header_renames_no_item(tmp_path: Path) -> None:
    path = tmp_path / "x.spmf"
    path.write_text("@ITEM=1=one\n@ITEM=1=of one person\n1 2\n", encoding="utf-8")
    assert lists(path) == [["one", "2"]]
    assert any("are public" in caution for caution in open_input(Input(path)).cautions(["items"]))


def test_types_are_declared(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(b"1 02 x\n")
    assert lists(path) == [["1", "02", "x"]]
    assert lists(path, types="items=int64") == [[1, 2, None]]
    with pytest.raises(BadData, match="`types` name a column 'item'"):
        lists(path, types="item=int64")
    with pytest.raises(BadParameter, match="`quotes` is for CSV and TSV files"):
        lists(path, quotes="none")


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes("käse\n".encode("latin-1"))
    assert (lists(path, encoding="latin-1"), lists(path)) == ([["käse"]], [["k\ufffdse"]])


def test_several_files_have_headers_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "1.spmf").write_text("@ITEM=1=one\n1 2\n", encoding="utf-8")
    (tmp_path / "2.spmf").write_text("1\n", encoding="utf-8")
    source = open_input(Input(tmp_path, input_format="spmf"))
    table = pa.Table.from_batches(source.batches(["items"]))
    assert table["items"].to_pylist() == [["one", "2"], ["1"]]
    assert source.share(0) == 1


@every("form", ["baskets", "spmf"])
@every("times", [1, 50_000])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, form: str, times: int) -> None:
    """Whole, however long it is, with a header of any length."""
    header = b"".join(b"@ITEM=%d=one\n" % place for place in range(1, times + 1))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(header + b"%d 0\n0\n" % times * times)))
    named = "one" if form == "spmf" else str(times)
    assert lists("-", input_format=form) == [[named, "0"], ["0"]] * times


def test_a_file_that_cannot_be_read_is_told_before_the_charge(tmp_path: Path) -> None:
    path = tmp_path / "x.dat.gz"
    path.write_bytes(b"no gzip at all")
    with pytest.raises(UnreadableFile, match="cannot be read"):
        open_input(Input(path))


@every("name", HOSTILE)
def test_a_line_changes_no_other_line(tmp_path: Path, name: str) -> None:
    first, *others = TEXT.splitlines()
    for place in range(3):
        path = tmp_path / f"{place}.dat"
        rows = [first, *others]
        path.write_bytes(b"\n".join([*rows[:place], HOSTILE[name], *rows[place:]]))
        found = lists(path)
        assert [row for row in found if row in BASKETS][-3:] == BASKETS
        own = [row for row in found if row not in BASKETS]
        assert len(own) <= (2 if b"\r" in HOSTILE[name] else 1)


@given(
    st.lists(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f"), min_size=1),
            min_size=1,
        )
    )
)
def test_any_words(tmp_path_factory: pytest.TempPathFactory, baskets: list[list[str]]) -> None:
    """Words without blanks come back, but for lines that are comments."""
    kept = [basket for basket in baskets if basket[0][0] not in "#%@\ufeff" and all(map(str.strip, basket))]
    path = tmp_path_factory.mktemp("words") / "x.dat"
    path.write_text("".join(f"{' '.join(basket)}\n" for basket in kept), encoding="utf-8", newline="")
    assert [[item.strip() for item in row] for row in kept] == lists(path)


def test_supports_are_those_of_the_same_baskets_in_python(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(TEXT * 500)
    options: dict[str, Any] = {"min_support": 400, "size": "1-3"}
    found = dpmine.itemset_supports(path, **options).sort_values(["support"], kind="stable")
    expected = dpmine.itemset_supports(BASKETS * 500, **options)
    assert dict(zip(found["itemsets"], found["support"], strict=True)) == dict(
        zip(expected["itemsets"], expected["support"], strict=True)
    )
    private = dpmine.top_itemset(path, size=1, epsilon=50)
    assert private.guarantee.unit == "row"


def test_quotation_marks_are_part_of_an_item_and_each_file_is_said_so(tmp_path: Path) -> None:
    """Whatever the file holds: a notice that is only there with quotation marks would tell of a single line."""
    said = []
    for number, text in enumerate(('"a b",c\n', "a,c\n")):
        path = tmp_path / f"{number}.baskets"
        path.write_text(text, encoding="utf-8")
        source = open_input(Input(path, delimiter=","))
        said.append(source.cautions(["items"]))
        items = [batch.column(0).to_pylist() for batch in source.batches(["items"])]
        assert items[0] == ([['"a b"', "c"]] if number == 0 else [["a", "c"]])
    assert said[0] == said[1]
    assert any("quotation marks are part of an item" in text for text in said[0])
