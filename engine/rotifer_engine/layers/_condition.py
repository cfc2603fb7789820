"""Conditions on a row that are said once and used twice: in Python and in SQL (layers §2, §5).

A condition is a plain value, made of the few forms below. :func:`holds` judges a row by it and
:func:`sql` writes the same thing for a database, so code and database cannot have different ideas
of a layer, or of whose a row is. A row's five :data:`FIELDS` are texts; "none" is the empty text,
in the database too, so there is no NULL to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

__all__ = [
    "FIELDS",
    "Begins",
    "BeginsAsked",
    "Condition",
    "Every",
    "Given",
    "Is",
    "Not",
    "Same",
    "Some",
    "holds",
    "sql",
]

#: What conditions may look at.
FIELDS: tuple[str, ...] = ("scope", "actor", "namespace", "kind", "session")


class Is(NamedTuple):
    """The field is this text; the empty one for none."""

    field: str
    text: str


class Begins(NamedTuple):
    """The field begins with this text."""

    field: str
    text: str


class Same(NamedTuple):
    """The field is what the reader gave under this name, and the reader gave something."""

    field: str
    asked: str


class BeginsAsked(NamedTuple):
    """The field begins with what the reader gave under this name, and it is not empty."""

    field: str
    asked: str


class Given(NamedTuple):
    """The reader gave something under this name."""

    asked: str


class Not(NamedTuple):
    """The condition does not hold."""

    condition: Condition


class Every(NamedTuple):
    """All of them hold; with none it always does."""

    conditions: tuple[Condition, ...]


class Some(NamedTuple):
    """At least one of them holds; with none it never does."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = Is | Begins | Same | BeginsAsked | Given | Not | Every | Some


def holds(condition: Condition, row: Mapping[str, str], asked: Mapping[str, str]) -> bool:
    """Whether a condition holds.

    Args:
        condition: the condition.
        row: the text of each of :data:`FIELDS`.
        asked: what the reader gave, by name; the empty text for nothing.
    """
    match condition:
        case Is(field, text):
            return row[field] == text
        case Begins(field, text):
            return row[field].startswith(text)
        case Same(field, name):
            return asked[name] != "" and row[field] == asked[name]
        case BeginsAsked(field, name):
            return asked[name] != "" and row[field].startswith(asked[name])
        case Given(name):
            return asked[name] != ""
        case Not(inner):
            return not holds(inner, row, asked)
        case Every(inners):
            return all(holds(inner, row, asked) for inner in inners)
        case Some(inners):
            return any(holds(inner, row, asked) for inner in inners)


def sql(condition: Condition, mark: Callable[[str], str], row: str = "e") -> str:
    """The same condition for a database; never NULL.

    Args:
        condition: the condition.
        mark: the placeholder of what the reader gave under a name.
        row: the name that the row has in the statement.
    """
    match condition:
        case Is(field, text):
            return f"{row}.{field} = {_quoted(text)}"
        case Begins(field, text):
            return f"substr({row}.{field}, 1, {len(text)}) = {_quoted(text)}"
        case Same(field, name):
            return f"({mark(name)} <> '' AND {row}.{field} = {mark(name)})"
        case BeginsAsked(field, name):
            start = f"substr({row}.{field}, 1, length({mark(name)}))"
            return f"({mark(name)} <> '' AND {start} = {mark(name)})"
        case Given(name):
            return f"({mark(name)} <> '')"
        case Not(inner):
            return f"NOT {sql(inner, mark, row)}"
        case Every(inners):
            return _joined("AND", "1 = 1", [sql(inner, mark, row) for inner in inners])
        case Some(inners):
            return _joined("OR", "1 = 0", [sql(inner, mark, row) for inner in inners])


def _joined(word: str, none: str, parts: list[str]) -> str:
    return f"({f' {word} '.join(parts) or none})"


def _quoted(text: str) -> str:
    """One of our own words as SQL has it; they hold no quote."""
    assert "'" not in text
    return f"'{text}'"
