"""The numbered files of plain SQL that make the tables on a PostgreSQL server."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import NamedTuple

from rotifer_engine.errors import StorageError

__all__ = ["Migration", "demand_version", "migrations", "newest"]

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")
_NAME = re.compile(r"([0-9]{3})_([a-z_]+)\.sql")


class Migration(NamedTuple):
    """One step, applied once, in the order of the numbers.

    Args:
        version: its number, counted from 1.
        name: what it is about.
        path: the file.
    """

    version: int
    name: str
    path: str

    def text(self) -> str:
        """The statements."""
        with open(self.path, encoding="utf-8") as file:
            return file.read()


@cache
def migrations() -> tuple[Migration, ...]:
    """All steps that this version knows, in their order."""
    found = sorted(filter(None, map(_NAME.fullmatch, os.listdir(_FOLDER))), key=lambda m: m[1])
    return tuple(
        Migration(int(match[1]), match[2], os.path.join(_FOLDER, match[0])) for match in found
    )


def newest() -> int:
    """The version of a server that has all of them."""
    return migrations()[-1].version


def demand_version(version: int, place: str) -> None:
    """See that a server is at the version that this code was written for.

    Args:
        version: the last migration that was applied to it.
        place: the server, for people.

    Raises:
        StorageError: it is older or newer.
    """
    known = newest()
    if version < known:
        raise StorageError(
            f"the memory's server {place} is at version {version}; this rotifer-bridge needs "
            f"{known}: run 'rotifer memory migrate'"
        )
    if version > known:
        raise StorageError(
            f"the memory's server {place} was migrated by a newer version (format {version}; this "
            f"one knows {known}); it was left as it is: upgrade rotifer-bridge"
        )
