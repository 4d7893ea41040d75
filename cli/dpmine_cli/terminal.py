"""Text for a terminal: lines that are too long are broken where they may be, tables between their columns."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from itertools import groupby, pairwise

_INDENT = 4
_LEAST_WIDTH = 20
_GAP = re.compile(r"\S(\s{2,}|\t)(?=\S)")


def fitted(text: str) -> str:
    """The text as it is, unless stdout is a terminal: then no line is longer than that is wide."""
    if sys.stdout is None or not sys.stdout.isatty():  # None where it was closed
        return text
    return folded(text, max(shutil.get_terminal_size().columns, _LEAST_WIDTH))


def folded(text: str, width: int) -> str:
    """The text in lines of at most `width` characters, except for words longer than that; nothing is left out."""
    blocks = groupby(text.split("\n"), key=bool)
    return "\n".join(line for _, block in blocks for line in _block(list(block), width))


def _block(lines: list[str], width: int) -> list[str]:
    """Lines without an empty one between them: a table, or prose."""
    if max(map(len, lines)) <= width:
        return lines
    pieces = [] if any("\t" in line for line in lines) else _pieces(lines, width)
    return pieces or [part for line in lines for part in _broken(line, width)]


def _pieces(lines: list[str], width: int) -> list[str]:
    """A table in pieces, one below the other, each with its first column; empty where that does not help."""
    columns = _columns(lines)
    if max(map(len, lines)) - len(columns) < width:  # one blank less between columns is enough
        columns = [columns[0], *([cell[1:] for cell in column] for column in columns[1:])]
    widths = [max(map(len, column)) for column in columns]
    if len(columns) < 3 or widths[0] + max(widths[1:]) > width:
        return []
    pieces: list[list[list[str]]] = [[]]
    for column, size in zip(columns[1:], widths[1:], strict=True):
        if widths[0] + sum(len(max(other, key=len)) for other in pieces[-1]) + size > width:
            pieces.append([])
        pieces[-1].append(column)
    rows = [["".join(cells).rstrip() for cells in zip(columns[0], *piece, strict=True)] for piece in pieces]
    return [line for piece in rows for line in ("", *piece)][1:]


def _columns(lines: list[str]) -> list[list[str]]:
    """The columns of a table, padded, with the gap in front of each: cut where all lines have two blanks or more."""
    longest = max(map(len, lines))
    padded = [line.ljust(longest) for line in lines]
    blank = [all(line[place] == " " for line in padded) for place in range(longest)]
    starts = [place for place in range(1, longest) if blank[place] and not blank[place - 1]]
    edges = [0, *(place for place in starts if all(blank[place : place + 2])), longest]
    return [[line[start:end] for line in padded] for start, end in pairwise(edges)]


def _broken(line: str, width: int) -> list[str]:
    """One line in several; those that follow begin below what stands behind the last gap, or a little to the right."""
    whole = line.expandtabs()
    gaps = [gap.end() for gap in _GAP.finditer(whole) if gap.end() <= width // 2]
    indent = " " * (gaps[-1] if gaps else _INDENT)
    kept = whole.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")  # never apart: ε = 1
    parts = textwrap.wrap(
        kept, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, expand_tabs=False
    )
    return [part.replace("\N{NO-BREAK SPACE}", " ") for part in parts] or [line]
