"""The layers in the SQLite file of the agents' memories (layers, design §6)."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping

from rotifer_engine import _sqlite_text
from rotifer_engine._sqlite_connection import Connections
from rotifer_engine._with import RollingBack
from rotifer_engine.layers import _sql
from rotifer_engine.layers._entry import LayerEntry
from rotifer_engine.layers._record import LayerRow
from rotifer_engine.layers._sql import bound, entry_of, values_of
from rotifer_engine.layers._store import Query
from rotifer_engine.layers._visible import Reader

__all__ = ["SqliteLayers"]

_TEXT = _sql.Text(_sql.SQLITE_TABLE, ":{}".format, sorts=True, shared=True)

#: -> store id, last change, order.
_OPEN = f"""
SELECT store_id, last_change, (SELECT max(update_order) FROM {_sql.SQLITE_TABLE})
FROM agent_memory_meta
"""  # noqa: S608 - our own words only


class SqliteLayers:
    """The layers of one file; see :class:`rotifer_engine.layers.LayerStore`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _each(
        self, statement: str, arguments: Mapping[str, object]
    ) -> Generator[LayerEntry, None, None]:
        for row in self._connections.fetch_each(statement, arguments):
            yield entry_of(row)

    def select(self, reader: Reader, query: Query) -> Generator[LayerEntry, None, None]:
        """The entries that the reader sees and the query asks for, newest first."""
        return self._each(_TEXT.select(reader, query), bound(reader, query))

    def strays(self, limit: int, offset: int) -> Generator[LayerEntry, None, None]:
        """Entries of no layer and of nobody, newest first."""
        return self._each(_TEXT.strays(), {"limit": limit, "offset": offset})

    def counts(self, reader: Reader) -> dict[str, int]:
        """How many entries count for the reader, by layer."""
        rows = self._connections.fetch_each(_TEXT.counts(reader), bound(reader))
        return {layer: int(count) for layer, count in rows}

    def begin(self, actor: str) -> SqliteLayerTransaction:
        """Begin to write: from here to the end no other writer can, in any process."""
        return SqliteLayerTransaction(self._connections, actor)

    def scrub(self) -> bool:
        """Empty the write-ahead log, where deleted bytes may still stand."""
        return self._connections.checkpoint()


class SqliteLayerTransaction(RollingBack):
    """One write to the rows of an actor; see :class:`rotifer_engine.layers.LayerTransaction`."""

    def __init__(self, connections: Connections, actor: str) -> None:
        self._actor = actor
        self._link = connections.begin()
        try:
            row = self._link.one(_OPEN)
            assert row is not None, "the store's row is made with its table"
            self.store_id: str = row[0]
            self.last_change: str | None = row[1]
            self._order: int = row[2] or 0
        except BaseException:
            self._link.rollback()
            raise

    def next_order(self, now: int) -> int:  # noqa: ARG002 - all writers wait for each other
        """The next number of the store's update sequence."""
        self._order += 1
        return self._order

    def find(self, entry_id: str) -> LayerEntry | None:
        """The actor's entry with this id."""
        row = self._link.one(_TEXT.find(), {"actor": self._actor, "entry_id": entry_id})
        return None if row is None else entry_of(row)

    def put(self, entry: LayerEntry, *, replaces: bool) -> None:
        """Insert the entry, or replace the one with its id."""
        self._link.run(_TEXT.update() if replaces else _TEXT.create(), values_of(entry))

    def rows(self, layer: str, namespace: str | None) -> Iterator[LayerRow]:
        """The actor's rows of a layer, oldest first."""
        arguments = {"actor": self._actor, "namespace": namespace}
        for row in self._link.each(_TEXT.rows(layer, namespace), arguments):
            yield LayerRow._make(row)

    def remove(self, entry_id: str) -> None:
        """Delete a row of the actor."""
        self._link.run(_TEXT.remove(), {"actor": self._actor, "entry_id": entry_id})

    def remove_rows(self, layer: str, namespace: str | None) -> None:
        """Delete the actor's rows of a layer."""
        arguments = {"actor": self._actor, "namespace": namespace}
        self._link.run(_TEXT.remove_rows(layer, namespace), arguments)

    def commit(self, change_id: str) -> None:
        """Make it so, durably, and remember the change id."""
        self._link.run(_sqlite_text.SAVE_CHANGE, (change_id,))
        self._link.commit()

    def rollback(self) -> None:
        """Undo what was not committed, and let the next one write; again does nothing."""
        self._link.rollback()
