"""Docstrings of calls that share arguments: each argument is explained once, and `help` shows it at every call."""

from __future__ import annotations

import re
from inspect import cleandoc, signature
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from dpmine.options.names import TITLES, WAYS

if TYPE_CHECKING:
    from collections.abc import Callable

Call = TypeVar("Call", bound="Callable[..., Any]")

OF_TRANSACTIONS = f"""
Args:
    data: one of

        - a path, a list of paths, a directory, a glob or a URL of
          {TITLES} files; an `Input`
        - a pyarrow Table, RecordBatchReader or Dataset; anything with `__arrow_c_stream__` (duckdb)
        - a pandas, polars or Spark frame. A pandas column of objects holds lists if `items` names it, or if it is
          the only one and nothing is named
        - a sequence of baskets, or an iterator. An entry that is a list, tuple, set or another iterable is a basket
          of its items. Any other entry, such as a text, is a basket of one. A list of texts alone is one of paths.
          Arrays of numbers or texts, sparse matrices and series are rejected by their type.
    neighbors: "replace_one" (the number of units is public) or "add_remove".
    unit: column(s) that name the privacy unit, the person to protect.
    basket: column(s) that distinguish the baskets of one unit (long layout). Here and in `unit`, `day(at)`,
        `week(at)` and `month(at)` are calendar periods of a column `at` of dates or timestamps.
    item: column of the items; for the list layout the column of lists. In a pandas column of objects, each value is
        one item, and a collection is missing.
    items: column of lists. In a pandas column of objects, any other value is a basket of one. Of a matrix of numpy
        or scipy: the names of its columns.
    one_hot: one item per column; the columns hold booleans or integers, present above 0. In pandas columns of
        objects, anything else is absent.
    attributes: columns whose items are `column=value`; True: all but the unit's. Each row is a basket.
    missing: values of attributes that are no items, beside null: a text or several, such as "?".
    cut: public points that cut attributes of numbers: {{"age": [18, 30]}} for "age<18", "18<=age<30", "age>=30".
    ledger: a `dpmine.Ledger` or its URL, charged before private values are read.
    dataset: the data set's name in the ledger.
    memory: the most to use, in bytes or as text such as "4GB" (default: half of the machine). Larger data are
        streamed, through temporary files where a unit's rows are scattered.
    engine: "local", or "spark": Spark then reads paths and counts supports; this needs the extra `spark`. Spark
        always counts a Spark DataFrame. The result has the same output distribution.
    progress: called with the share that is done, 0 to 1, of each step: of reading, then of each long search. On
        Spark it is called from another thread, with the share of the step's tasks.
    notice: called before data are read, with the layout in column names and what is to be known of the run: why
        "auto" takes its mechanism, whether counting may take long, and whether the result will mostly be noise. None: a
        `LayoutWarning` where the layout was found and not named, and an `AccuracyWarning`.
"""
"""What all calls on transactions share."""

OF_LISTS = """
Args:
    mechanism: a name out of `dpmine.selection.recommend.MECHANISMS`, or one of these:

        - "auto": by public facts, the one that needs the smallest lead; for lists, what measurements speak for
""" + "".join(indent(fill(f'- "{way.name}": {way.about}', 111, subsequent_indent="  "), " " * 8) + "\n" for way in WAYS)
"""What calls share that choose itemsets."""

OF_ESTIMATORS = """
Args:
    norm_bound: public bound r > 0 on ‖x‖₂; longer rows are shortened to it. With `feature_bounds` it refers to the
        mapped features.
    epsilon: ε > 0, read exactly.
    feature_bounds: (lower, upper), each one public number or one for each feature. A feature is clipped to its
        bounds and mapped to [−1, 1], in training and in predictions; a missing value counts as the middle. None:
        features are taken as they are, a missing value as 0.
    unit: name of the privacy unit, such as "CustomerID". Without `fit(..., units=...)` it asserts that no customer
        has two rows: nothing checks this, and the guarantee says so.
    rows_per_unit: the most rows that each unit of `fit(..., units=...)` keeps; the guarantee covers them together.
    ledger: a `dpmine.Ledger` or its URL, charged before the fit.
    dataset: the data set's name in the ledger.
"""
"""What estimators share."""

_ARGUMENTS = re.compile(r"^(?:Args|Parameters):$", re.MULTILINE)
_ATTRIBUTES = re.compile(r"^Attributes:$", re.MULTILINE)
_END = re.compile(r"^\S", re.MULTILINE)
_ENTRY = re.compile(r"^(?= {4}\w)", re.MULTILINE)


class _Entry(NamedTuple):
    names: frozenset[str]
    text: str


class _Section(NamedTuple):
    """A docstring cut at one of its sections: what comes before the entries, they, and what comes after."""

    before: str
    entries: list[_Entry]
    after: str


def explained_by(*texts: str | None) -> Callable[[Call], Call]:
    """A decorator that adds to a docstring what other docstrings say of the same arguments, in the signature's order.

    Args:
        texts: docstrings with a section of arguments, of which the first that explains an argument is taken. What the
            call's own docstring explains stays. A class that describes attributes gets the others, too.
    """
    sources = [cleandoc(text) for text in texts if text]

    def explain(call: Call) -> Call:
        if call.__doc__ is not None:  # python -OO
            whole = cleandoc(call.__doc__)
            if offered := _offered(sources, _ARGUMENTS):
                own = _section(whole, _ARGUMENTS) or _after_summary(whole)
                whole = _joined(own, offered, list(signature(call).parameters))
            if described := _section(whole, _ATTRIBUTES):
                offered = _offered(sources, _ATTRIBUTES)
                whole = _joined(described, offered, [name for entry in offered for name in sorted(entry.names)])
            call.__doc__ = whole
        return call

    return explain


def _offered(sources: list[str], head: re.Pattern[str]) -> list[_Entry]:
    return [entry for source in sources if (section := _section(source, head)) for entry in section.entries]


def _joined(own: _Section, offered: list[_Entry], names: list[str]) -> str:
    """The docstring with an entry for each name, its own one where it has one; then its other entries."""
    known = [*own.entries, *offered]
    found = (next((entry for entry in known if name in entry.names), None) for name in names)
    entries = dict.fromkeys([*filter(None, found), *own.entries])
    return own.before + "".join(entry.text for entry in entries) + own.after


def _section(text: str, head: re.Pattern[str]) -> _Section | None:
    """The docstring cut at that section; None where it has none."""
    start = head.search(text)
    if start is None:
        return None
    first = start.end() + 1
    end = _END.search(text, first)
    last = end.start() if end else len(text)
    entries = [_Entry(_names(part), f"{part.rstrip()}\n") for part in _ENTRY.split(text[first:last]) if part.strip()]
    return _Section(text[:first], entries, f"\n{text[last:]}" if end else "")


def _names(entry: str) -> frozenset[str]:
    return frozenset(entry.strip().partition(":")[0].split(", "))


def _after_summary(text: str) -> _Section:
    """The docstring cut after its first paragraph, for a section of arguments there."""
    summary, _, rest = text.partition("\n\n")
    return _Section(f"{summary}\n\nArgs:\n", [], f"\n{rest}")
