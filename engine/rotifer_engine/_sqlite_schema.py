"""The tables of the SQLite file: made when missing, added to when they are of an older version."""

from __future__ import annotations

import os

from rotifer_engine._dbapi import sqlite3
from rotifer_engine._sqlite_text import BEGIN, SCHEMA_STEPS, SCHEMA_VERSION
from rotifer_engine.errors import StorageError

__all__ = ["see_to_schema"]

_THERE = "SELECT 1 FROM sqlite_schema WHERE name = 'agent_memory_meta'"
_VERSION = "SELECT schema_version FROM agent_memory_meta"
_FIRST = "INSERT INTO agent_memory_meta VALUES (1, ?, ?, NULL)"
_UPGRADE = "UPDATE agent_memory_meta SET schema_version = ?"


def see_to_schema(connection: sqlite3.Connection, path: str) -> None:
    """Bring the file's tables to the version that this program knows.

    Args:
        connection: outside a transaction.
        path: of the file, for the message.

    Raises:
        StorageError: the file is of a newer version; it was left as it is.
        sqlite3.Error: SQLite failed, or the file is locked; nothing was changed.
    """
    version = _version(connection)
    if version < SCHEMA_VERSION:
        connection.execute(BEGIN)
        try:
            version = _version(connection)  # another process may have been at it until now
            _add(connection, version)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"the memory file {path} was made by a newer version (format {version}; this one "
            f"knows {SCHEMA_VERSION}); it was left as it is: upgrade rotifer-bridge"
        )


def _version(connection: sqlite3.Connection) -> int:
    """The version of the file; 0 when it has no tables of ours."""
    if connection.execute(_THERE).fetchone() is None:
        return 0
    version: int = connection.execute(_VERSION).fetchone()[0]
    return version


def _add(connection: sqlite3.Connection, version: int) -> None:
    """What a file of this version lacks."""
    for step in SCHEMA_STEPS[version:]:
        for statement in step.split(";\n"):
            connection.execute(statement)
    if version == 0:
        connection.execute(_FIRST, (SCHEMA_VERSION, os.urandom(4).hex()))
    elif version < SCHEMA_VERSION:
        connection.execute(_UPGRADE, (SCHEMA_VERSION,))
