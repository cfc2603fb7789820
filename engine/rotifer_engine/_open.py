"""A store by its URL, with the audit log that belongs to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from rotifer_engine.errors import StorageError

if TYPE_CHECKING:
    from rotifer_engine._audit import Audit
    from rotifer_engine._clock import Clock
    from rotifer_engine._store import Store

__all__ = ["OpenedStore", "open_store"]

_SQLITE = "sqlite://"


class OpenedStore(NamedTuple):
    """A store and its audit log; both are to be closed.

    Args:
        store: where entries are kept.
        audit: where changes and refusals are recorded.
    """

    store: Store
    audit: Audit

    def close(self) -> None:
        """Close both."""
        self.store.close()
        self.audit.close()


def open_store(url: str, *, clock: Clock | None = None, durable: bool = True) -> OpenedStore:
    """The store at a URL.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``, where the audit log is in the
            database too; or ``sqlite:///ABSOLUTE/PATH``, percent-encoded, where it is the file
            ``audit.jsonl`` beside it.
        clock: gives the lines of the audit log their time.
        durable: return from a change only when it is on the disk.

    Raises:
        StorageError: the URL cannot be used. Nothing is connected or opened yet.
    """
    if url.startswith(_SQLITE):
        path = unquote(url[len(_SQLITE) :])
        if not path.startswith("/") or "\0" in path:
            raise StorageError("a memory's file is named as sqlite:///ABSOLUTE/PATH")
        from rotifer_engine._audit import AuditLog
        from rotifer_engine._sqlite import SqliteStore

        log = AuditLog(os.path.join(os.path.dirname(path), "audit.jsonl"), clock=clock)
        return OpenedStore(SqliteStore(path, durable=durable), log)
    from rotifer_engine._postgres import PostgresStore
    from rotifer_engine._postgres_audit import PostgresAudit

    store = PostgresStore(url, durable=durable)
    return OpenedStore(store, PostgresAudit(store, clock=clock))
