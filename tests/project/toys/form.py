"""Files whose lines list the items of one basket each, with spaces between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine.io.source import BasketSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpmine.io.files import DataFile
    from dpmine.io.input import Input


def open_toy(_given: Input, files: Iterable[DataFile]) -> BasketSource:
    """The baskets of all files; lines that begin with # are comments."""
    lines = [line for file in files for line in file.open().read().decode().splitlines()]
    return BasketSource([line.split() for line in lines if not line.startswith("#")])
