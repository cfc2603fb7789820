"""The report: how many cases each door passed on each store, and whether all are equal."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from rotifer_engine.conformance._case import Case
from rotifer_engine.conformance._judge import Difference

__all__ = ["Cell", "Failed", "Report", "Unequal", "explain"]


class Failed(NamedTuple):
    """A case that did not pass, and all that came out otherwise."""

    case: Case
    differences: tuple[Difference, ...]


class Cell(NamedTuple):
    """One door on one store.

    Args:
        door: its name.
        store: the store's name.
        passed: how many cases passed.
        total: how many were played.
        failed: those that did not pass.
        beyond: those that the door cannot say, each with the reason.
        played: what came of each, by its name.
    """

    door: str
    store: str
    passed: int
    total: int
    failed: tuple[Failed, ...]
    beyond: tuple[tuple[Case, str], ...]
    played: dict[str, Any]

    @property
    def name(self) -> str:
        """What it is called in the report."""
        return f"{self.door} x {self.store}"

    def line(self, room: int = 0) -> str:
        """Its line in the report, the figures behind so many characters."""
        aside = f"  ({len(self.beyond)} not applicable)" if self.beyond else ""
        return f"{self.name + ':':<{room}} {self.passed} / {self.total}{aside}"


class Unequal(NamedTuple):
    """A case of which two cells have different stories."""

    case: str
    one: str
    other: str


class Report(NamedTuple):
    """What a check found.

    Args:
        cells: one for each door and store.
    """

    cells: tuple[Cell, ...]

    @property
    def unequal(self) -> tuple[Unequal, ...]:
        """The cases that came out otherwise in a cell than in the first one that played them."""
        first: dict[str, tuple[str, Any]] = {}
        found = []
        for cell in self.cells:
            for case, played in cell.played.items():
                before, story = first.setdefault(case, (cell.name, played))
                if story != played:
                    found.append(Unequal(case, before, cell.name))
        return tuple(found)

    @property
    def equal(self) -> bool:
        """Whether every case came out the same wherever it was played."""
        return not self.unequal

    @property
    def ok(self) -> bool:
        """Whether all cases passed, and came out the same."""
        return self.equal and all(cell.passed == cell.total for cell in self.cells)

    def to_json(self) -> dict[str, Any]:
        """The document of ``rotifer conformance --json``."""
        return {
            "cells": [
                {
                    "door": cell.door,
                    "store": cell.store,
                    "passed": cell.passed,
                    "total": cell.total,
                }
                for cell in self.cells
            ],
            "equal": self.equal,
        }

    def table(self) -> list[str]:
        """A line for each cell."""
        room = max((len(cell.name) + 1 for cell in self.cells), default=0)
        return [cell.line(room) for cell in self.cells]

    def reasons(self) -> list[str]:
        """Why cases were not applicable: a line for each reason and door."""
        counts: dict[tuple[str, str], int] = {}
        for cell in self.cells:
            for reason, number in _counted(cell).items():
                counts[cell.door, reason] = number
        return [
            f"{number} not applicable to {door}: {reason}"
            for (door, reason), number in counts.items()
        ]

    def first_difference(self) -> list[str]:
        """The first thing that is not as it should be, entry by entry; nothing if all is well."""
        for cell in self.cells:
            for failed in cell.failed:
                return explain(failed, cell.name)
        for case, one, other in self.unequal:
            return [f"first difference: {case}", f"  {one} and {other} have different stories"]
        return []


def _counted(cell: Cell) -> dict[str, int]:
    counts: dict[str, int] = {}
    for _, reason in cell.beyond:
        counts[reason] = counts.get(reason, 0) + 1
    return counts


def explain(failed: Failed, where: str) -> list[str]:
    """A failed case for a person: the rule, the place, what was expected and what came."""
    lines = [f"first difference: {where}: {failed.case.name}", f"  rule: {failed.case.rule}"]
    first = failed.differences[0]
    lines.append(f"  {first.where}")
    lines += _beside(first.expected, first.got)
    more = len(failed.differences) - 1
    if more:
        lines.append(f"  and {more:,} more in this case")
    return lines


def _beside(expected: Any, got: Any) -> list[str]:
    if isinstance(expected, list) and isinstance(got, list):
        for number in range(max(len(expected), len(got))):
            wanted = expected[number] if number < len(expected) else None
            found = got[number] if number < len(got) else None
            if wanted != found:
                return [f"  entry {number + 1}:", *_beside(wanted, found)]
    if isinstance(expected, dict) and isinstance(got, dict):
        return [
            line
            for field in dict.fromkeys([*expected, *got])
            if expected.get(field, "(no such field)") != got.get(field, "(no such field)")
            for line in (
                f"    {field} expected: {_shown(expected.get(field, '(no such field)'))}",
                f"    {field} got:      {_shown(got.get(field, '(no such field)'))}",
            )
        ]
    return [f"    expected: {_shown(expected)}", f"    got:      {_shown(got)}"]


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 300 else f"{text[:297]}..."
