"""The layers on a PostgreSQL server, beside the agents' memories (layers, design §6).

An actor is locked by its writes as an agent is, by a row of the same table: order, lost connections
and audit lines are seen to by the same code.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from functools import lru_cache
from typing import Any

from rotifer_engine._postgres_connection import Pool
from rotifer_engine._postgres_transaction import PostgresTransaction
from rotifer_engine._with import RollingBack
from rotifer_engine.layers._entry import LayerEntry
from rotifer_engine.layers._record import LayerRow
from rotifer_engine.layers._sql import Text, bound, entry_of, values_of
from rotifer_engine.layers._store import Query
from rotifer_engine.layers._visible import Reader

__all__ = ["PostgresLayers", "lock_of"]

_TEXT = Text("rotifer.layer", "{{{}}}".format, sorts=False, shared=False)
_NUMBERS = {"limit", "offset", "window", "size", "created_at", "updated_at", "update_order"}
_LAST = "SELECT max(update_order) FROM rotifer.layer WHERE actor = $1"
_A_MILLISECOND = 1000  # numbers of the update sequence


def lock_of(actor: str) -> str:
    """The id under which an actor's writes are locked, and their audit lines are kept."""
    return f"layers/{actor}"


@lru_cache(maxsize=512)
def _numbered(text: str) -> tuple[str, tuple[str, ...]]:
    """A statement with numbers for its names, as the driver wants it; and the names in order."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        name = match[1]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}::{'bigint' if name in _NUMBERS else 'text'}"

    return re.sub(r"\{(\w+)\}", number, text), tuple(names)


def _statement(text: str, values: Mapping[str, object]) -> tuple[str, tuple[object, ...]]:
    numbered, names = _numbered(text)
    return numbered, tuple(values[name] for name in names)


class PostgresLayers:
    """The layers of one server; see :class:`rotifer_engine.layers.LayerStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def _all(self, text: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        statement, arguments = _statement(text, values)
        return self._pool.ask(lambda session: session.all(statement, arguments))

    def select(self, reader: Reader, query: Query) -> Generator[LayerEntry, None, None]:
        """The entries that the reader sees and the query asks for, newest first."""
        yield from map(entry_of, self._all(_TEXT.select(reader, query), bound(reader, query)))

    def strays(self, limit: int, offset: int) -> Generator[LayerEntry, None, None]:
        """Entries of no layer and of nobody, newest first."""
        yield from map(entry_of, self._all(_TEXT.strays(), {"limit": limit, "offset": offset}))

    def counts(self, reader: Reader) -> dict[str, int]:
        """How many entries count for the reader, by layer."""
        return {
            layer: int(count) for layer, count in self._all(_TEXT.counts(reader), bound(reader))
        }

    def begin(self, actor: str) -> PostgresLayerTransaction:
        """Begin to write: from here to the end nobody else can write rows of this actor."""
        return PostgresLayerTransaction(self._pool, actor)

    def scrub(self) -> bool:
        """Nothing: the server itself overwrites what is deleted, in its own time."""
        return False


class PostgresLayerTransaction(RollingBack):
    """One write to the rows of an actor; see :class:`rotifer_engine.layers.LayerTransaction`."""

    def __init__(self, pool: Pool, actor: str) -> None:
        self._actor = actor
        self._held = PostgresTransaction(pool, lock_of(actor))
        self.store_id = self._held.store_id
        self.last_change = self._held.last_change
        self._last: int | None = None

    def _all(self, text: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        return self._held.ask_all(*_statement(text, values))

    def _run(self, text: str, values: Mapping[str, object], size: int = 0) -> None:
        self._held.change(*_statement(text, values), size)

    def _one(self, entry_id: str) -> dict[str, object]:
        return {"actor": self._actor, "entry_id": entry_id}

    def _some(self, namespace: str | None) -> dict[str, object]:
        return {"actor": self._actor, "namespace": namespace}

    def next_order(self, now: int) -> int:
        """The next number of the actor's update sequence: the time, and more than the one before.

        So nothing is shared with other actors, whose entries stand beside this one's by the time;
        and an actor's own keep their order when the clock steps back.
        """
        if self._last is None:
            self._last = self._held.ask_all(_LAST, (self._actor,))[0][0] or 0
        self._last = max(self._last + 1, now * _A_MILLISECOND)
        return self._last

    def find(self, entry_id: str) -> LayerEntry | None:
        """The actor's entry with this id."""
        rows = self._all(_TEXT.find(), self._one(entry_id))
        return entry_of(rows[0]) if rows else None

    def put(self, entry: LayerEntry, *, replaces: bool) -> None:
        """Insert the entry, or replace the one with its id."""
        text = _TEXT.update() if replaces else _TEXT.create()
        self._run(text, values_of(entry), entry.size + len(entry.metadata_json))

    def rows(self, layer: str, namespace: str | None) -> Iterator[LayerRow]:
        """The actor's rows of a layer, oldest first."""
        return map(LayerRow._make, self._all(_TEXT.rows(layer, namespace), self._some(namespace)))

    def remove(self, entry_id: str) -> None:
        """Delete a row of the actor."""
        self._run(_TEXT.remove(), self._one(entry_id))

    def remove_rows(self, layer: str, namespace: str | None) -> None:
        """Delete the actor's rows of a layer."""
        self._run(_TEXT.remove_rows(layer, namespace), self._some(namespace))

    def record(self, change_id: str, lines: list[str]) -> None:
        """Write audit lines, to be there with the change or not at all."""
        self._held.record(change_id, lines)

    def commit(self, change_id: str) -> None:
        """Make it so, durably, and remember the change id."""
        self._held.commit(change_id)

    def rollback(self) -> None:
        """Undo what was not committed, and let the next one write; again does nothing."""
        self._held.rollback()
