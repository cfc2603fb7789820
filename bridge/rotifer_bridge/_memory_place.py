"""Which store a project's agents remember in: its own SQLite file, or a PostgreSQL server.

``ROTIFER_MEMORY_URL`` is asked first, then ``"memory": {"url": ...}`` of ``rotifer.json``: what the
one who deploys says wins over what the project's files say. A URL can hold a password, so none is
repeated in a message.
"""

from __future__ import annotations

import os

from rotifer_bridge.errors import ProjectError

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from typing import Any

    from rotifer_engine import Audit, PostgresStore, SqliteStore

__all__ = ["OWN_FILE", "URL_VARIABLE", "memory_url", "open_memory_store", "read_url"]

URL_VARIABLE = "ROTIFER_MEMORY_URL"
OWN_FILE = "sqlite:"
"""The URL of the project's own file: what is meant where nothing is said."""

_SERVER = ("postgresql://", "postgres://")


def memory_url(config: dict[str, Any], where: str) -> str | None:
    """The URL of the server that the agents remember on; None is the project's own file.

    Args:
        config: what ``rotifer.json`` says.
        where: its path, for messages.

    Raises:
        ProjectError: what is said cannot be a memory's URL.
    """
    told = os.environ.get(URL_VARIABLE)
    if told:
        return read_url(told, URL_VARIABLE)
    section = config.get("memory")
    if section is None:
        return None
    url = section.get("url") if isinstance(section, dict) else section
    if isinstance(section, dict) and url is None:
        return None
    if not isinstance(section, dict) or not isinstance(url, str) or not url:
        raise ProjectError(
            "memory is not an object with a url",
            where=where,
            help='write "memory": {"url": "postgresql://USER@HOST/DATABASE"}',
        )
    return read_url(url, where)


def read_url(url: str, where: str) -> str | None:
    """The URL of a server; None for the project's own file.

    Args:
        url: what was given.
        where: who gave it, for messages.

    Raises:
        ProjectError: it is neither.
    """
    if url == OWN_FILE:
        return None
    if not url.startswith(_SERVER):
        raise ProjectError(
            "the memory's URL is of no store that is known",
            where=where,
            help=f"postgresql://USER@HOST/DATABASE is a server, {OWN_FILE} the project's own file",
        )
    return url


def open_memory_store(
    url: str | None, database_path: str, audit_path: str
) -> tuple[SqliteStore | PostgresStore, Audit]:
    """The store, and the audit log that belongs to it. Nothing is connected yet.

    Args:
        url: of a server; None for the file.
        database_path: where the file is.
        audit_path: where the file's audit log is.

    Raises:
        AgentMemoryError: the URL cannot be read, or the driver is not installed.
    """
    if url is None:
        from rotifer_engine import AuditLog, SqliteStore

        return SqliteStore(database_path), AuditLog(audit_path)
    from rotifer_engine import PostgresAudit, PostgresStore

    store = PostgresStore(url)
    return store, PostgresAudit(store)
