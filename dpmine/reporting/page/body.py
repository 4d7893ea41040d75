"""What is shown of one result: an answer, how sure it is, charts and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmine.itemsets.release.noise import LEVEL
from dpmine.markup import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpmine.reporting.document import Label
    from dpmine.reporting.page.charts import Chart


INTERVAL = "Interval"
_LONGEST = 400  # characters of an itemset


def percent(share: float, digits: int = 0) -> str:
    """The share in per cent, as the pages write it: 95 %."""
    return f"{100 * share:.{digits}f} %"


CERTAIN = f"with probability {percent(float(LEVEL))}"


@dataclass(frozen=True, slots=True)
class PageTable:
    """Columns of texts, equally long, by their heads; those from `numbers` on are aligned as numbers.

    A `folded` one is shown when asked for. `meaning` says in plain words what the columns hold.
    """

    caption: str
    columns: Mapping[str, Sequence[str]]
    numbers: int = 1
    folded: bool = False
    meaning: str = ""

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The texts, row by row."""
        return tuple(zip(*self.columns.values(), strict=True))


@dataclass(frozen=True, slots=True)
class Body:
    """The answer of a job in a sentence, how sure it is, a picture of it, and what shows all of it."""

    answer: str
    sure: str = ""
    picture: Chart | None = None
    charts: tuple[Chart, ...] = ()
    tables: tuple[PageTable, ...] = ()
    remarks: tuple[str, ...] = ()
    together: bool = False
    """Whether all its intervals hold at once with that probability, not each alone."""

    @property
    def intervals(self) -> bool:
        """Whether a table shows where the true numbers are."""
        return any(INTERVAL in table.columns for table in self.tables)


def names_of(items: Sequence[Label]) -> str:
    """Items in a sentence or a row; very long ones end in an ellipsis."""
    named = " + ".join(map(printable, items))
    return named if len(named) <= _LONGEST else f"{named[:_LONGEST]}…"


def possibly_larger(low: float, uppers: Sequence[float], others: tuple[str, str]) -> str:
    """A sentence on the others whose interval ends above `low`, the lower end of the first; "" where there is none."""
    count = sum(upper > low for upper in uppers)
    if not count:
        return ""
    overlap = "its interval overlaps" if count == 1 else "their intervals overlap"
    return f" {count} {others[count > 1]} may truly be first: {overlap} with that of the first."


def spaced(name: object) -> str:
    """A name of an option or a mechanism, as words."""
    return printable(name).replace("_", " ")


def quoted(column: object) -> str:
    """A column in a sentence, as words."""
    return f"“{spaced(column)}”"
