"""An SQLite store as it was at one moment: for exports and checks, while writers go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rotifer_engine import _sqlite_text as sql
from rotifer_engine._dbapi import sqlite3
from rotifer_engine._entry import Entry
from rotifer_engine._retention import Moment
from rotifer_engine._sqlite_connection import Connections
from rotifer_engine._sqlite_rows import entry_of
from rotifer_engine._store import Row
from rotifer_engine._with import Closing
from rotifer_engine.layers._sql import SQLITE_TABLE

__all__ = ["SqliteSnapshot"]

_AGENT = "(SELECT number FROM agent_memory WHERE agent_id = ?1)"

#: agent id -> what Row has. By the index of the order, so that a million rows need no sorting.
_ROWS = f"""
SELECT e.key, e.size, length(e.value), e.category, e.created_by, e.created_domain,
    e.last_accessed_by, e.updated_at, e.follows_agent, e.max_retention_days, e.expires_at,
    e.update_order
FROM agent_memory_entry e WHERE e.agent = {_AGENT} ORDER BY e.update_order
"""  # noqa: S608 - made of our own words only, here and below

#: agent id, now, cutoff, the categories as one text -> key, meta, value.
_ENTRIES = f"""
SELECT e.key, {sql.COLUMNS}, e.value FROM agent_memory_entry e
WHERE e.agent = {_AGENT} AND {sql.LIVE} AND instr(?4, ' ' || e.category || ' ') > 0
ORDER BY e.update_order
"""  # noqa: S608

_LAYERS = f"SELECT entry_id, size FROM {SQLITE_TABLE}"  # noqa: S608

#: Everything of ours that the file's own list of tables has.
_TABLES = """
SELECT type, name, sql FROM sqlite_schema
WHERE tbl_name LIKE 'agent\\_memory%' ESCAPE '\\' AND sql IS NOT NULL
"""


class SqliteSnapshot(Closing):
    """One moment of a store; see :class:`rotifer_engine._store.Snapshot`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._connection = connections.snapshot()
        try:
            row = next(self._each(sql.META, ()))
        except BaseException:
            self._connection.close()
            raise
        self.store_id: str = row[0]
        self._last_change: str | None = row[1]

    def _each(self, statement: str, arguments: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(statement, arguments)
        except sqlite3.Error as error:
            raise self._connections.failure(error) from error

    def last_change(self, agent_id: str) -> str | None:  # noqa: ARG002 - known for all at once
        """The id of the last change that was committed, for any agent; None when none was."""
        return self._last_change

    def lines(self, agent_id: str) -> Iterator[tuple[int, str]]:  # noqa: ARG002 - a file has them
        """None: they are in the file of the audit log."""
        return iter(())

    def counted(self, agent_id: str) -> tuple[int, int]:
        """What the store has counted: the agent's bytes, and its update sequence."""
        for _, used, order in self._each(sql.OPEN_AGENT, (agent_id,)):
            return used, order
        return 0, 0

    def rows(self, agent_id: str) -> Iterator[Row]:
        """All rows of an agent, expired ones too, least recently updated first."""
        return map(Row._make, self._each(_ROWS, (agent_id,)))

    def layer_sizes(self) -> Iterator[tuple[str, int]]:
        """Entry id and size of all rows of the layers."""
        return ((entry_id, size) for entry_id, size in self._each(_LAYERS, ()))

    def entries(self, agent_id: str, categories: Sequence[str], moment: Moment) -> Iterator[Entry]:
        """Live entries of these categories, least recently updated first, one at a time."""
        words = f" {' '.join(categories)} "
        for row in self._each(_ENTRIES, (agent_id, *moment, words)):
            yield entry_of(agent_id, row)

    def faults(self, limit: int) -> Iterator[str]:
        """What SQLite and a comparison with our own tables find, at most so many of each kind."""
        for (text,) in self._each(f"PRAGMA integrity_check({limit})", ()):
            if text != "ok":
                # The first line of a damaged page's report names the database, not the page.
                yield from text.removeprefix("*** in database main ***\n").split("\n")
        strays = sum(1 for _ in self._each("PRAGMA foreign_key_check(agent_memory_entry)", ()))
        if strays:
            yield f"{strays:,} entries belong to no agent"
        yield from self._strange_tables()

    def _strange_tables(self) -> Iterator[str]:
        with_ours = sqlite3.connect(":memory:")
        try:
            with_ours.executescript(sql.SCHEMA)
            expected = {(kind, name): text for kind, name, text in with_ours.execute(_TABLES)}
        finally:
            with_ours.close()
        found = {(kind, name): text for kind, name, text in self._each(_TABLES, ())}
        for (kind, name), text in expected.items():
            if (kind, name) not in found:
                yield f"the {kind} {name} is missing"
            elif found[kind, name] != text:
                yield f"the {kind} {name} is not as this version makes it"
        for kind, name in found.keys() - expected.keys():
            yield f"the {kind} {name!a} is not ours and changes what happens to our tables"

    def close(self) -> None:
        """Let the moment go."""
        self._connection.close()
