"""Rows of CSV files: each decides about itself alone, whatever bytes it holds, and none stops a run."""

from __future__ import annotations

import bz2
import gzip
import io
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every
from support.oracles.ingest import CANARY, contents, refused
from support.reading import read_baskets
from support.sealed import spent

import dpmine
from dpmine.errors import BadData, UnreadableFile
from dpmine.io.files import STDIN
from dpmine.io.input import Input
from dpmine.io.open import open_input, piped
from dpmine.io.source import Columns
from dpmine.itemsets.read import read_transactions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LONG = Columns(unit=("who",), item="what")
MIB = 2**20
ROWS = [b"a,x", b'"b","y, z"', b'c,5"', b'd,"say ""no"""', b"e,", b"f,w"]
HOSTILE = {
    "one field": b"v",
    "three fields": b"v,x,y",
    "a mark": b'"',
    "an open mark in front": b'"v,x',
    "an open mark behind": b'v,"x',
    "an open mark that ends with a doubled one": b'v,"x""',
    "marks that close in front of the text": b'v","x',
    "a mark at the end": b'v,x"',
    "text behind a closing mark": b'"v"x,y',
    "an open mark behind text": b'"v""x","y',
    "marks without text": b'"",""',
    "no text": b",",
    "nothing": b"",
    "blanks": b"   ",
    "NUL": b"\x00,\x00",
    "no UTF-8": b"\xff\xfe,\xff",
    "half a character": b"v,\xf0\x9f",
    "a mark of byte order": b"\xef\xbb\xbfv,x",
    "escapes": b'v,"x \\" y"',
    "an escaped mark at the end": b'v,"screen 15\\""',
    "a lone carriage return": b"v,x\rw,y",
    "one inside marks": b'v,"x\rw,y"',
    "one at the end": b"v,x\r",
    "a delimiter at the end": b"v,x,",
    "one inside marks at the end": b'v,"x,"',
    "two delimiters at the end": b"v,x,,",
    "only delimiters": b"," * 5000,
    "many marks": b'v,"' + b'""' * 5000,
    "a line separator": "v,x\u2028y".encode(),
    "the end of a text": b"v,\x1a",
    "much text": b"v," + b"x" * (MIB - 2),
    "too much text": b"v," + b"x" * MIB,
    "too much text behind an open mark": b'v,"' + b"x" * (5 * MIB // 2),
    "too much text in one field": b"x" * (3 * MIB),
}


def rows_of(folder: Path, lines: Sequence[bytes], end: bytes = b"\n", **options: Any) -> Counter[tuple[Any, Any]]:
    path = folder / "given.csv"
    path.write_bytes(b"who,what" + end + end.join(lines))
    batches = list(open_input(Input(path, **options)).batches(["who", "what"]))
    return Counter(row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True))


@pytest.mark.parametrize("quotes", ["double", "none"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_of_any_bytes_changes_no_other_row(quotes: str, end: bytes, tmp_path: Path) -> None:
    """In front of the others, behind or among them: what is read is what is read of each line by itself."""

    def read(lines: Sequence[bytes]) -> Counter[tuple[Any, Any]]:
        return rows_of(tmp_path, lines, end, quotes=quotes)

    usual, apart = read(ROWS), {name: read([line]) for name, line in HOSTILE.items()}
    assert len(usual) == len(ROWS) or quotes == "none"
    for name, line in HOSTILE.items():
        assert read([*ROWS[:3], line, *ROWS[3:]]) == usual + apart[name], name
    assert read([*HOSTILE.values(), *ROWS]) == sum(apart.values(), usual)


@given(lines=st.lists(st.text('ab,"\r \x00é', max_size=8).map(str.encode), max_size=8))
def test_lines_are_read_one_by_one(lines: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    apart = sum((rows_of(folder, [line]) for line in lines), Counter[tuple[Any, Any]]())
    assert rows_of(folder, lines) == apart


@every("length", [MIB - 1, MIB, MIB + 1])
@every("others", [0, MIB // 2, MIB - 5, MIB])
def test_a_long_row_is_left_out_by_its_own_length_alone(length: int, others: int, tmp_path: Path) -> None:
    """Not by where it stands: `others` are the bytes in front of it."""
    long = b"v," + b"x" * (length - 2)
    filler = [b"a,x"] * (others // 4)
    found = rows_of(tmp_path, [*filler, long, b"b,y"])
    assert (found["a", "x"], found["b", "y"], len(found)) == (len(filler), 1, 1 + bool(filler) + (length <= MIB))


def said_and_charged(folder: Path, lines: Sequence[bytes]) -> tuple[list[str], Any]:
    told: list[str] = []
    path, ledger = folder / "rows.csv", f"sqlite:///{folder}/ledger.db"
    path.write_bytes(b"who,what\n" + b"\n".join(lines))
    dpmine.Ledger(ledger).grant("shop", epsilon=5, delta="1e-5")
    dpmine.top_itemset(path, unit="who", item="what", ledger=ledger, dataset="shop", notice=told.append)
    return told, spent(ledger)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Any]:
    """What is said and charged without a hostile line."""
    return said_and_charged(tmp_path_factory.mktemp("usual"), ROWS)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_changes_no_message_and_no_charge(
    name: str, tmp_path: Path, usual: tuple[list[str], Any]
) -> None:
    assert said_and_charged(tmp_path, [*ROWS[:2], HOSTILE[name], *ROWS[2:]]) == usual


def test_rows_that_are_no_rows_are_left_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As rows with a null key are: one person's rows must not stop the run."""
    path = tmp_path / "given.csv"
    path.write_bytes(b'who,what\na,x,too many\na,\xff,x\na,y\nshort\n,x\nb,\nc,""\n\nb,y\nb,\xff\n')
    assert contents(read_baskets(path, LONG).baskets) == [[("y",)], [("y", "\ufffd")]]
    assert capfd.readouterr().err == ""  # Arrow, too, says nothing of them


def test_a_delimiter_behind_the_last_field_is_no_field(tmp_path: Path) -> None:
    """A header that lacks it dropped all rows without a word."""
    lines = [b"a,x,", b'"b, c","y,",', b"d,,", b"e,z", b"f,x,y", b"g,,,"]
    found = {("a", "x"): 1, ("b, c", "y,"): 1, ("d", None): 1, ("e", "z"): 1}
    assert rows_of(tmp_path, lines) == rows_of(tmp_path, lines, b"\r\n") == found


@every(
    ("quotes", "found"),
    [
        ("double", {("a", "x"): 1, ("4", '5"'): 1}),
        ("none", {("a", "x"): 1, ("b", '"two'): 1, ("4", '5"'): 1}),
        ("multiline", {("a", "x"): 1, ("b", 'two\n\n"lines", 3\n4,5'): 1}),
    ],
)
def test_line_breaks_between_quotation_marks(quotes: str, found: dict[Any, int], tmp_path: Path) -> None:
    """They are rows of their own, unless the user says that the writer means them as text."""
    lines = [b"a,x", b'b,"two', b"", b'""lines"", 3', b'4,5"']
    read = rows_of(tmp_path, lines, quotes=quotes)
    assert {row: count for row, count in read.items() if row in found} == found


@every("others", [0, 10, MIB - 20, MIB])
def test_records_of_several_lines_may_lie_anywhere(others: int, tmp_path: Path) -> None:
    text = b"\n".join([b"x,1"] * 10_000)
    lines = [*[b"a,x"] * (others // 4), b'b,"' + text + b'"', b'c,"' + text * 30 + b'"', b"d,y"]
    found = rows_of(tmp_path, lines, quotes="multiline")
    assert found == {
        **({("a", "x"): others // 4} if others else {}),
        ("b", text.decode()): 1,
        ("d", "y"): 1,
    }


@every("quotes", ["double", "multiline", "none"])
def test_what_becomes_of_rows_is_said_whatever_they_hold(quotes: str, tmp_path: Path) -> None:
    """In the private call and in the exact one, of good rows and of none."""
    path, told = tmp_path / "rows.csv", list[list[str]]()
    data = Input(path, quotes=quotes)
    for rows in ("", "a,x\n", 'a,"x\nb\n', "a,b,c\n"):
        path.write_text(f"who,what\n{rows}")
        told.append([])
        dpmine.top_itemset(data, unit="who", item="what", size=1, notice=told[-1].append)
        with pytest.warns(dpmine.LayoutWarning) as warned:
            dpmine.itemset_supports(data, unit="who", item="what", size=1)
        told.append([str(warning.message).removesuffix(".") for warning in warned])
    said = [[text for text in each if "another number of fields than there are columns" in text] for each in told]
    assert said == [said[0]] * len(told)
    assert len(said[0]) == 1


def test_exact_supports_of_one_hot_rows_that_do_not_fit_are_an_error(tmp_path: Path) -> None:
    """Lists of items were read as columns. A private run must not fail at a row; one for checks may."""
    path = tmp_path / "baskets.csv"
    for rows in (f"bread,{CANARY}\nbread\n", f'bread,"{CANARY}\nmilk,milk\n'):
        path.write_text(f"bread,milk\n{rows}")
        with refused(UnreadableFile, "a line that lists items is no such row"):
            dpmine.itemset_supports(path, size=1, one_hot=True)
        dpmine.top_itemset(path, size=1, one_hot=True)
        dpmine.itemset_supports(path, size=1, unit="bread", item="milk")
    path.write_text("bread,milk\n1,0,\n0,1\n\n")
    assert dpmine.itemset_supports(path, size=1, one_hot=True).support.tolist() == [1, 1]


@every("name", ["rows.csv", "rows.csv.gz", "rows.csv.bz2", STDIN])
def test_progress_is_the_share_of_bytes_in_per_cents(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the file's bytes, which anybody sees who sees the file; of standard input none is known."""
    content = b"who,what\n" + b"".join(b"%d,%d\n" % (row % 7919, row % 997) for row in range(400_000))
    pack: Any = {"z": gzip.compress, "2": bz2.compress}.get(name[-1], bytes)
    (tmp_path / name).write_bytes(pack(content))
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(content)}))
    shares: list[float] = []
    data = STDIN if name == STDIN else tmp_path / name
    read_transactions(Input(data, delimiter=","), LONG, progress=shares.append)
    assert shares[0] == 0
    assert shares[-1] == 1
    inside = [share / 0.9 for share in shares[1:-1]]  # reading is 0.9 of the work
    assert inside == sorted(inside)
    assert len(set(inside)) > 3 or name in {STDIN, "rows.csv.bz2"}
    assert bool(inside) is (name != STDIN)
    assert all(round(100 * share, 6).is_integer() for share in inside)


def test_a_long_header_may_come_by_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"column{number}" for number in range(20_000)]
    content = io.BytesIO((",".join(names) + "\n" + "1," * 19_999 + "0\n").encode())
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": content}))
    assert open_input(Input(STDIN)).names == tuple(names)


def test_standard_input_that_was_read_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(b"who,what\n1,2\n")}))
    _, file = piped(Input(STDIN))
    assert file.open().read() == file.open().read() == b"who,what\n1,2\n"
    with refused(UnreadableFile, "Standard input can be read once, and was"):
        file.open()


@every(("mark", "shown"), [(";", "';'"), ("\t", r"'\t'"), ("|", "'|'")])
@every("options", [{}, {"one_hot": True}, {"item": "product"}])
def test_another_delimiter_is_seen_in_the_header(mark: str, shown: str, options: Any, tmp_path: Path) -> None:
    """Before the charge, and by the first line alone: all of it is one column, which would be the only item."""
    (tmp_path / "rows.csv").write_text(mark.join(["customer", "date", "product"]) + "\n" + mark.join("abc") + "\n")
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.grant("shop", epsilon=9, delta=0.5)
    with refused(BadData, f"say what separates them: `delimiter={shown}`"):
        dpmine.top_itemset(tmp_path / "rows.csv", size=1, ledger=ledger, dataset="shop", **options)
    assert ledger.budget("shop").spent.epsilon == 0


def test_a_tab_may_be_typed_as_backslash_t(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_bytes(b"who\twhat\na\tx\n")
    assert contents(read_baskets(Input(tmp_path / "rows.txt", delimiter=r"\t"), LONG).baskets) == [[("x",)]]
