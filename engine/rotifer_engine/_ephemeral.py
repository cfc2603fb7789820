"""A memory that is on no disk: for the length of a gene's test (memory §12).

It is SQLite all the same, so that a test meets the very rules that an agent's memory has. The
database lives in this process alone: it is gone with it, also when it is killed. Nothing is
recorded, because nothing of it is anybody's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from rotifer_engine._audit import AuditLog, Line, Locked
from rotifer_engine._dbapi import sqlite3
from rotifer_engine._files import FileSystem
from rotifer_engine._memory import AgentMemory
from rotifer_engine._sqlite import SqliteStore
from rotifer_engine._sqlite_connection import Connections
from rotifer_engine._telemetry import Telemetry
from rotifer_engine._with import Closing

__all__ = ["EphemeralMemory"]

_PLACE = "(in this process)"  # what messages name in place of a file


class EphemeralMemory(AgentMemory, Closing):
    """An empty memory of its own, with the default quota and data policy; ``close`` ends it."""

    def __init__(self) -> None:
        self._kept = _EphemeralStore()
        super().__init__(
            self._kept, "ephemeral", audit=_NoAudit(), telemetry=Telemetry(_PLACE, enabled=False)
        )

    def close(self) -> None:
        """Forget everything."""
        self._kept.close()


class _NoAudit(AuditLog):
    """Takes every line and keeps none."""

    def __init__(self) -> None:
        super().__init__(_PLACE)

    def append(self, tx: Locked, records: Iterable[Line], *, change_id: str) -> None:
        """Nothing is recorded."""

    refuse = append


class _EphemeralStore(SqliteStore):
    def __init__(self) -> None:
        self._connections: _Memory = _Memory()

    def close(self) -> None:
        super().close()
        self._connections.anchor.close()


class _Memory(Connections):
    """Connections to one database in the memory of this process, each thread its own."""

    def __init__(self) -> None:
        super().__init__(
            _PLACE,
            durable=False,
            busy_timeout_ms=5_000,
            files=FileSystem(),
            factory=sqlite3.Connection,
        )
        self._uri = f"file:/rotifer-{os.urandom(8).hex()}?vfs=memdb"
        # SQLite forgets the database with its last connection, and threads come and go.
        self.anchor = self._dial()

    def _dial(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self._uri, timeout=0, isolation_level=None, check_same_thread=False, uri=True
        )

    def _demand_log(self, connection: sqlite3.Connection) -> None:
        """There is no file that could be torn, so there is no log to be demanded."""

    def file_identity(self) -> tuple[int, int] | None:
        """There is no file that could be replaced."""
        return None
