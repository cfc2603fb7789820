"""The memories of a project's agents in one SQLite file (design §6)."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence

from rotifer_engine import _sqlite_text as sql
from rotifer_engine._access import Caller
from rotifer_engine._dbapi import sqlite3
from rotifer_engine._entry import Entry, EntrySummary
from rotifer_engine._files import FileSystem
from rotifer_engine._filter import Selection
from rotifer_engine._retention import Moment, own_expiry
from rotifer_engine._sqlite_connection import Connections
from rotifer_engine._sqlite_rows import entry_of, summary_of
from rotifer_engine._with import Closing, RollingBack

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from rotifer_engine._sqlite_layers import SqliteLayers
    from rotifer_engine._sqlite_snapshot import SqliteSnapshot

__all__ = ["SqliteStore"]

_MAX_SORTED = 50_000  # an update sequence with gaps makes a memory look larger than it is


class SqliteStore(Closing):
    """A store in one SQLite file; it may be used by many threads and processes at once.

    Args:
        path: the file, made with mode 0600 if it is not there; its folder is made too if only
            that is missing. It may hold the tables of other programs.
        durable: return from a change only when it is on the disk.
        busy_timeout_ms: how long to wait for another process's write.
        files: the file operations.
        connection: the class of the connections, so that tests can make a statement fail.

    Raises:
        StorageError: on any call: the file is a symbolic link, no database, damaged, of a newer
            version, locked for too long, or cannot be read or written.
    """

    def __init__(
        self,
        path: str,
        *,
        durable: bool = True,
        busy_timeout_ms: int = 5_000,
        files: FileSystem | None = None,
        connection: type[sqlite3.Connection] = sqlite3.Connection,
    ) -> None:
        self._connections = Connections(
            os.path.abspath(path),
            durable=durable,
            busy_timeout_ms=busy_timeout_ms,
            files=files or FileSystem(),
            factory=connection,
        )

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._connections.path

    def read(self, agent_id: str, key: str, moment: Moment) -> tuple[Entry | None, bool]:
        """The live entry with this key, and whether anything is due, in one statement."""
        now, cutoff = moment
        encoded = key.encode()
        row = self._connections.fetch_one(sql.READ, (agent_id, now, cutoff, encoded))
        if row is None:
            return None, False
        due, live, category = row[:3]
        if category is None or not live:
            return None, bool(due)
        entry = entry_of(agent_id, (encoded, *row[2:]))
        return entry, bool(due)

    def touch(self, agent_id: str, entry: Entry, gene_id: str) -> None:
        """Set who last accessed the entry, if it is still the same version of it.

        The one write that need not wait for the disk.
        """
        self._connections.run_relaxed(
            sql.TOUCH, (gene_id, agent_id, entry.key.encode(), entry.order)
        )

    def has_expired(self, agent_id: str, moment: Moment) -> bool:
        """Whether anything of this agent is due to be purged."""
        row = self._connections.fetch_one(sql.DUE, (agent_id, *moment))
        return row is not None and bool(row[0])

    def select(
        self, agent_id: str, caller: Caller, selection: Selection, moment: Moment
    ) -> Generator[Entry, None, None]:
        """Live entries that the caller may read, most recently updated first, one at a time."""
        first = selection.key_prefix or None
        after = _after_prefix(first)
        sort = first is not None and self._better_sorted(agent_id, first, after, selection.limit)
        key = "e.key" if sort else "+e.key"  # the plus keeps the index of keys out of the plan
        filters: list[str] = []
        values: list[object] = []
        for condition, value in (
            ("e.category = {}", selection.category),
            (key + " >= {}", first),
            (key + " < {}", after),
            ("e.updated_at >= {}", selection.since),
            ("e.updated_at < {}", selection.until),
        ):
            if value is not None:
                filters.append(condition)
                values.append(value)
        rows = self._connections.fetch_each(
            sql.select(filters, sort=sort),
            (agent_id, *moment, caller.gene_id, caller.domain, selection.limit, *values),
        )
        for row in rows:
            yield entry_of(agent_id, row)

    def _better_sorted(self, agent_id: str, first: bytes, after: bytes | None, limit: int) -> bool:
        """Whether to sort the rows of a prefix, or to walk along the update order for them.

        Sorting looks at the n rows of the prefix; walking at about ``limit / n`` of all rows. Half
        of the n at which both cost the same, because counting up to n has its price too.
        """
        from math import isqrt

        span = self._connections.fetch_one(sql.SPAN, (agent_id,))
        most = min(isqrt(limit * ((span and span[0]) or 0)) // 2, _MAX_SORTED)
        count = self._connections.fetch_one(sql.COUNT_PREFIX, (agent_id, first, after, most + 1))
        return count is not None and count[0] <= most

    def page(
        self, agent_id: str, category: str | None, after: str | None, limit: int, moment: Moment
    ) -> list[EntrySummary]:
        """Live entries in the order of their keys' bytes, from after a key on."""
        arguments: tuple[object, ...] = (agent_id, *moment, (after or "").encode(), limit)
        if category is not None:
            arguments = (*arguments, category)
        rows = self._connections.fetch_each(sql.page(category=category is not None), arguments)
        return [summary_of(agent_id, row) for row in rows]

    def usage(self, agent_id: str, moment: Moment) -> int:
        """Bytes of the keys and values of all live entries."""
        row = self._connections.fetch_one(sql.USAGE, (agent_id, *moment))
        return 0 if row is None else int(row[0])

    def followers(self, agent_id: str, cutoff: int | None, other: int | None) -> tuple[int, int]:
        """Live entries that follow the agent, and how many of them another cut-off would end."""
        row = self._connections.fetch_one(sql.FOLLOWERS, (agent_id, cutoff, other))
        return (0, 0) if row is None else (row[0], row[1])

    def last_change(self) -> str | None:
        """The id of the last change that was committed, for any agent; None when none was."""
        row = self._connections.fetch_one(sql.META, ())
        return None if row is None else row[1]

    def begin(self, agent_id: str) -> SqliteTransaction:
        """Begin to write: from here to the end no other writer can, in any process."""
        return SqliteTransaction(self._connections, agent_id)

    def snapshot(self) -> SqliteSnapshot:
        """The file as it is at this moment, to be closed; writers go on meanwhile."""
        from rotifer_engine._sqlite_snapshot import SqliteSnapshot

        return SqliteSnapshot(self._connections)

    def layers(self) -> SqliteLayers:
        """The layers that are kept in this file, beside the agents' memories."""
        from rotifer_engine._sqlite_layers import SqliteLayers

        return SqliteLayers(self._connections)

    def scrub(self) -> bool:
        """Empty the write-ahead log, where deleted bytes may still stand, unless others use it.

        Returns:
            Whether it is empty now.
        """
        return self._connections.checkpoint()

    def close(self) -> None:
        """Close the connections of all threads; a later call raises StorageError."""
        self._connections.close()


def _after_prefix(prefix: bytes | None) -> bytes | None:
    """The first bytes after all keys with this prefix; UTF-8 has no byte 0xFF to run over."""
    return prefix[:-1] + bytes((prefix[-1] + 1,)) if prefix else None


class SqliteTransaction(RollingBack):
    """One write to one agent's memory; see :class:`rotifer_engine._store.Transaction`."""

    def __init__(self, connections: Connections, agent_id: str) -> None:
        self._connections = connections
        self._agent_id = agent_id
        self._link = connections.begin()
        try:
            row = self._link.one(sql.OPEN, (agent_id,))
            assert row is not None, "the store's row is made with its table"
            self.store_id: str = row[0]
            self.last_change: str | None = row[1]
            self._number: int | None = row[2]
            self.used: int = row[3] or 0
            self.order: int = row[4] or 0
        except BaseException:
            self._link.rollback()
            raise

    def rest(self) -> None:
        """A file's lock is kept for as long as it takes."""

    def find(self, key: str) -> EntrySummary | None:
        """The row with this key."""
        row = self._link.one(sql.FIND, (self._number, key.encode()))
        return None if row is None else summary_of(self._agent_id, row)

    def expired(self, moment: Moment, limit: int) -> Sequence[EntrySummary]:
        """Rows that are due to be purged, at most so many."""
        due = self._link.one(sql.DUE_OF, (self._number, *moment))
        if due is None or not due[0]:
            return ()
        rows = self._link.each(sql.EXPIRED, (self._number, *moment, limit))
        return [summary_of(self._agent_id, row) for row in rows]

    def candidates(self, category: str) -> Iterator[EntrySummary]:
        """Rows of a category, least recently updated first, one at a time."""
        for row in self._link.each(sql.CANDIDATES, (self._number, category)):
            yield summary_of(self._agent_id, row)

    def rows_after(self, order: int) -> Iterator[EntrySummary]:
        """Rows written after this number of the update sequence, in its order, one at a time."""
        for row in self._link.each(sql.ROWS_AFTER, (self._number, order)):
            yield summary_of(self._agent_id, row)

    def put(self, entry: Entry, replaced: EntrySummary | None) -> None:
        """Insert the entry, or replace the row with its key; counts its bytes and its order."""
        if self._number is None:
            self._link.run(sql.NEW_AGENT, (self._agent_id,))
            row = self._link.one(sql.OPEN_AGENT, (self._agent_id,))
            assert row is not None, "it was made by the line above"
            self._number = row[0]
        retention = entry.retention_policy
        # `replaced` was found under the same lock: it says which of the two it must be.
        self._link.run(
            sql.CREATE if replaced is None else sql.UPDATE,
            (
                self._number,
                entry.key.encode(),
                entry.category,
                entry.size,
                entry.created_by,
                entry.created_domain,
                entry.last_accessed_by,
                entry.created_at,
                entry.updated_at,
                *entry.access_policy,
                retention is None,
                *(retention or (None, None, None)),
                own_expiry(entry.updated_at, retention),
                entry.order,
                entry.value,
            ),
        )
        self.used += entry.size - (0 if replaced is None else replaced.size)
        self.order = max(self.order, entry.order)

    def remove(self, row: EntrySummary) -> None:
        """Delete a row; counts its bytes."""
        self._link.run(sql.REMOVE, (self._number, row.key.encode()))
        self.used -= row.size

    def remove_all(self) -> None:
        """Delete all rows of the agent, and what was counted of it."""
        self._link.run(sql.REMOVE_ROWS, (self._number,))
        self._link.run(sql.REMOVE_AGENT, (self._number,))
        self._number, self.used, self.order = None, 0, 0

    def commit(self, change_id: str) -> None:
        """Make it so, durably, and remember the change id."""
        self._link.run(sql.SAVE_AGENT, (self._number, self.used, self.order))
        self._link.run(sql.SAVE_CHANGE, (change_id,))
        self._link.commit()

    def rollback(self) -> None:
        """Undo what was not committed, and let the next one write; again does nothing."""
        self._link.rollback()
