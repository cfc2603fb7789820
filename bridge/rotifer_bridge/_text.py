r"""Text of strangers, shown to a person: nothing in it may drive the terminal.

Keys, gene output and file names may hold escape sequences, C1 controls or bidirectional overrides
(memory §10). They are shown as Python writes them in a string: ``\x1b``, ``\u202e``.
"""

from __future__ import annotations

import os
from itertools import chain, islice

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["json_for_people", "lines", "printable", "shown_path", "table", "table_lines", "width"]

GAP = "  "
COLUMN_LIMIT = 70  # a longer cell overflows its own line and not the whole column


def printable(text: str) -> str:
    """The text on one line, every character that does not print escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def lines(text: str) -> str:
    """The same for text of several lines: line feeds and tabs stay."""
    return "\n".join(
        "\t".join(printable(part) for part in line.split("\t")) for line in text.split("\n")
    )


def json_for_people(value: object, encoding: str = "utf-8") -> str:
    r"""Indented JSON that is safe on a terminal, and still JSON.

    Args:
        value: what JSON can hold.
        encoding: the stream's that it is for; a character that it lacks is escaped as JSON has it
            (``\u00e9``), because a stream's own escapes are none of JSON's.
    """
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    lacking = _lacking(text, encoding)
    if not lacking and text.replace("\n", "").isprintable():
        return text
    return "".join(
        c if c == "\n" or (c.isprintable() and c not in lacking) else json.dumps(c)[1:-1]
        for c in text
    )


def _lacking(text: str, encoding: str) -> set[str]:
    """The characters of a text that an encoding does not have."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return {c for c in set(text) if not _has(encoding, c)}
    return set()


def _has(encoding: str, character: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def table(head: list[str], rows: list[list[str]], *, right: frozenset[int] = frozenset()) -> str:
    """Columns under their heads; the columns in ``right`` stand to the right."""
    return "\n".join(table_lines(head, rows, right=right, look_at=len(rows)))


def table_lines(
    head: list[str],
    rows: Iterable[list[str]],
    *,
    right: frozenset[int] = frozenset(),
    look_at: int = 500,
) -> Iterator[str]:
    """The lines of a table of any length, one at a time.

    Args:
        head: the columns' heads.
        rows: their cells.
        right: the columns that stand to the right.
        look_at: how many rows decide on the widths; a wider cell further down overflows its line.
    """
    safe = ([printable(cell) for cell in row] for row in rows)
    first = [head, *islice(safe, look_at)]
    widths = [min(max(map(width, column)), COLUMN_LIMIT) for column in zip(*first, strict=True)]
    for row in chain(first, safe):
        cells = []
        for index, (cell, room) in enumerate(zip(row, widths, strict=True)):
            space = " " * max(room - width(cell), 0)
            cells.append(space + cell if index in right else cell + space)
        yield GAP.join(cells).rstrip()


def width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _escape(character: str) -> str:
    return ascii(character)[1:-1]


def shown_path(path: str) -> str:
    """A path as a reader wants it: from the working folder where it lies below that, else whole."""
    short = os.path.relpath(path)
    return path if short.startswith("..") else short
