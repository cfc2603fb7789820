"""What a check found: one line each, and not a million of them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Finding", "Findings"]


class Finding(NamedTuple):
    """Something that should not be.

    Args:
        part: ``database``, ``entries`` or ``audit log``.
        message: what it is.
        remedy: what to do; empty when the message says it.
    """

    part: str
    message: str
    remedy: str

    def __str__(self) -> str:
        remedy = f": {self.remedy}" if self.remedy else ""
        return f"{self.part}: {self.message}{remedy}"


class Findings:
    """Findings as they are made; of those of one kind the first ones, and how many more.

    Args:
        limit: how many of one kind.
    """

    def __init__(self, limit: int = 20) -> None:
        self.limit = limit
        self._found: list[Finding] = []
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, part: str, message: str, remedy: str, *, kind: str = "") -> None:
        """Note one.

        Args:
            part: of what.
            message: what it is.
            remedy: what to do.
            kind: what it has in common with others; each kind has its own limit.
        """
        count = self._counts[part, kind] = self._counts.get((part, kind), 0) + 1
        if count <= self.limit:
            self._found.append(Finding(part, message, remedy))

    def all(self) -> list[Finding]:
        """The findings, in their order."""
        more = [
            Finding(
                part,
                f"{count - self.limit:,} more like this{' (' + kind + ')' if kind else ''}",
                "",
            )
            for (part, kind), count in self._counts.items()
            if count > self.limit
        ]
        return self._found + more
