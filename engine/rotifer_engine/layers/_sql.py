"""The statements about layers, for any database: what is seen, what is asked for, what is changed.

A page is put together from the rows of nobody, the actor's own, and those of an agent's channel:
three walks along an index, each newest first and each ended by the limit, so its time does not go
by the rows of others. Those walks only say where to look. What is seen is the whole of
``VISIBLE``, in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rotifer_engine._filter import MAX_ANSWER_BYTES
from rotifer_engine.layers._entry import LayerEntry
from rotifer_engine.layers._store import Query
from rotifer_engine.layers._table import LAYERS, condition_of
from rotifer_engine.layers._visible import (
    AGENT_ROOM,
    COUNTED,
    STRAY,
    VISIBLE,
    Reader,
    condition_sql,
)

__all__ = ["ROOM", "SQLITE_TABLE", "Text", "bound", "entry_of", "values_of"]

SQLITE_TABLE = "agent_memory_layer"

#: Rows in a room of an agent; the words of the partial index that finds those of a channel.
ROOM = f"substr(namespace, 1, {len(AGENT_ROOM)}) = '{AGENT_ROOM}'"

_COLUMNS = (
    "entry_id",
    "scope",
    "actor",
    "namespace",
    "kind",
    "session",
    "key",
    "content",
    "metadata",
    "created_at",
    "updated_at",
    "update_order",
)
_ROW = "entry_id, scope, actor, namespace, kind, session, key, size"


def entry_of(row: Sequence[Any]) -> LayerEntry:
    """A row of all columns as a value."""
    entry_id, scope, actor, namespace, kind, session, key, *rest = row
    return LayerEntry(
        entry_id, scope, actor or None, namespace, kind, session or None, key or None, *rest
    )


def values_of(entry: LayerEntry) -> dict[str, object]:
    """The value of each column, by its name."""
    values = dict(zip(_COLUMNS, entry, strict=True))
    none = {name: values[name] or "" for name in ("actor", "session", "key")}
    return {**values, **none, "size": entry.size}


def bound(reader: Reader, query: Query | None = None) -> dict[str, object]:
    """The value of each placeholder of a reading statement."""
    asked: dict[str, object] = dict(reader.asked())
    if query is not None:
        asked |= query._asdict()
        asked["window"] = query.limit + query.offset
    return asked


class Text(NamedTuple):
    """The statements in the dialect of one database.

    Args:
        table: the name of the table.
        mark: the placeholder of a name.
        sorts: whether the order of an inner statement holds outside. Where it does not, it is said
            again, and a page ends with the row that is one too many for an answer: such a database
            hands over a page at once.
        shared: whether a number of the update sequence is given to one entry only, whoever its
            actor is.
    """

    table: str
    mark: Callable[[str], str]
    sorts: bool
    shared: bool

    # ---- reading

    def select(self, reader: Reader, query: Query) -> str:
        """Entries that the reader sees, newest first; binds :func:`bound`."""
        filters = "".join(
            f" AND e.{name} = {self.mark(name)}"
            for name in ("scope", "namespace", "kind")
            if getattr(query, name) is not None
        )
        if query.layer is not None:
            filters += f" AND {condition_sql(condition_of(query.layer), self.mark)}"
        # "IS TRUE" hides the rule from planners: its parts look like ways to find rows, and all of
        # an actor's rows would be collected and sorted for the sake of a page.
        condition = f"({condition_sql(VISIBLE, self.mark)}) IS TRUE{filters}"
        return self._page(
            [f"{where} AND {condition}" for where in self._where(reader, query.layer)]
        )

    def strays(self) -> str:
        """Entries of no layer and of nobody, newest first; binds limit and offset."""
        window = f"{self.mark('limit')} + {self.mark('offset')}"
        return self._page([f"e.actor = '' AND {condition_sql(STRAY, self.mark)}"], window)

    def counts(self, reader: Reader) -> str:
        """Layer and count of what counts for the reader; binds :func:`bound`."""
        cases = " ".join(
            f"WHEN {condition_sql(condition_of(layer), self.mark)} THEN '{layer}'"
            for layer in LAYERS
        )
        parts = " UNION ALL ".join(
            f"SELECT CASE {cases} END AS layer FROM {self.table} e"  # noqa: S608 - here and below: our own words only
            f" WHERE {where} AND {condition_sql(COUNTED, self.mark)}"
            for where in self._where(reader, None)
        )
        return f"SELECT layer, count(*) FROM ({parts}) counted GROUP BY layer"  # noqa: S608

    def _where(self, reader: Reader, layer: str | None) -> list[str]:
        """Where rows that the reader may see can be: each row in one of them at most."""
        asked = reader.asked()
        owner = None if layer is None else LAYERS[layer].owner
        by_namespace = layer is None or LAYERS[layer].readers == "namespace"
        where = []
        if owner is not True:
            where.append("e.actor = ''")
        if owner is not False and asked["actor"]:
            where.append(f"e.actor = {self.mark('actor')}")
        if asked["actor"] and asked["channel"] and by_namespace:
            where.append(
                f"{ROOM} AND e.namespace = {self.mark('channel')}"
                f" AND e.actor <> '' AND e.actor <> {self.mark('actor')}"
            )
        return where or ["e.actor = '' AND 1 = 0"]

    def _page(self, wheres: list[str], window: str | None = None) -> str:
        """The rows of all the places together, newest first. Only ids are sorted, not contents."""
        most = window or self.mark("window")
        newest = "e.update_order DESC" if self.shared else "e.update_order DESC, e.actor DESC"
        parts = " UNION ALL ".join(
            "SELECT * FROM (SELECT e.actor, e.entry_id, e.update_order"  # noqa: S608
            f" FROM {self.table} e WHERE {where} ORDER BY {newest} LIMIT {most}) part"
            for where in wheres
        )
        chosen = (
            f"SELECT * FROM ({parts}) e ORDER BY {newest}"  # noqa: S608
            f" LIMIT {self.mark('limit')} OFFSET {self.mark('offset')}"
        )
        columns = ", ".join(f"e.{column}" for column in _COLUMNS)
        if self.sorts:
            return (
                f"SELECT {columns} FROM ({chosen}) chosen CROSS JOIN {self.table} e"  # noqa: S608
                " WHERE e.actor = chosen.actor AND e.entry_id = chosen.entry_id"
            )
        # The offset keeps the planner from reading all of a small table instead of a page's rows.
        rows = (
            f"FROM ({chosen}) chosen CROSS JOIN LATERAL (SELECT * FROM {self.table} t"  # noqa: S608
            " WHERE t.actor = chosen.actor AND t.entry_id = chosen.entry_id OFFSET 0) e"
        )
        before = (
            f"sum(e.size + octet_length(e.metadata)) OVER (ORDER BY {newest}"
            " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        )
        return (
            f"SELECT {columns} FROM (SELECT e.*, {before} AS before {rows}) e"  # noqa: S608
            f" WHERE coalesce(e.before, 0) <= {MAX_ANSWER_BYTES} ORDER BY {newest}"
        )

    # ---- writing

    def find(self) -> str:
        """Binds actor and entry_id."""
        return f"SELECT {', '.join(_COLUMNS)} FROM {self.table} {self._one()}"  # noqa: S608

    def create(self) -> str:
        """Binds :func:`values_of`."""
        columns = (*_COLUMNS, "size")
        values = ", ".join(map(self.mark, columns))
        return f"INSERT INTO {self.table} ({', '.join(columns)}) VALUES ({values})"  # noqa: S608

    def update(self) -> str:
        """Never REPLACE, which would lose created_at; binds :func:`values_of`."""
        changes = ", ".join(
            f"{column} = {self.mark(column)}"
            for column in (*_COLUMNS, "size")
            if column not in {"actor", "entry_id", "created_at"}
        )
        return f"UPDATE {self.table} SET {changes} {self._one()}"  # noqa: S608

    def remove(self) -> str:
        """Binds actor and entry_id."""
        return f"DELETE FROM {self.table} {self._one()}"  # noqa: S608

    def rows(self, layer: str, namespace: str | None) -> str:
        """The columns of a ``LayerRow``, oldest first; binds actor and namespace."""
        where = self._of_layer(layer, namespace)
        return f"SELECT {_ROW} FROM {self.table} e {where} ORDER BY e.update_order"  # noqa: S608

    def remove_rows(self, layer: str, namespace: str | None) -> str:
        """Binds actor and namespace."""
        return f"DELETE FROM {self.table} AS e {self._of_layer(layer, namespace)}"  # noqa: S608

    def _one(self) -> str:
        return f"WHERE actor = {self.mark('actor')} AND entry_id = {self.mark('entry_id')}"

    def _of_layer(self, layer: str, namespace: str | None) -> str:
        where = f"WHERE e.actor = {self.mark('actor')}"
        if namespace is not None:
            where += f" AND e.namespace = {self.mark('namespace')}"
        return f"{where} AND {condition_sql(condition_of(layer), self.mark)}"
