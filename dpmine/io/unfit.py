"""Rows of text that do not fit: left out unseen or an error, and for results that are not private perhaps counted."""

from __future__ import annotations


class Unfit:
    """They are left out. Nothing says whether there are any, because one person's rows decide that."""

    def begin(self) -> None:
        """A pass over all rows begins."""

    def leave_out(self, rows: int) -> None:
        """That number of rows does not fit. Raises ValueError where none may."""

    def __call__(self, _row: object) -> str:
        """One row has another number of fields: as Arrow calls it, with the answer that Arrow knows."""
        self.leave_out(1)
        return "skip"


class NoneUnfit(Unfit):
    """They are an error. Not for private results."""

    def leave_out(self, rows: int) -> None:
        """See `Unfit.leave_out`."""
        if rows:
            raise ValueError

    def __call__(self, _row: object) -> str:
        """See `Unfit`."""
        return "error"


class CountedUnfit(Unfit):
    """They are left out and counted. Not for private results.

    Attributes:
        rows: how many the last pass left out.
    """

    rows = 0

    def begin(self) -> None:
        """See `Unfit.begin`."""
        self.rows = 0

    def leave_out(self, rows: int) -> None:
        """See `Unfit.leave_out`."""
        self.rows += rows


UNSEEN = Unfit()
"""For private results."""
