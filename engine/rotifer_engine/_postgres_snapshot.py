"""A PostgreSQL store as it was at one moment: for exports and checks, while writers go on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from rotifer_engine import _postgres_text as sql
from rotifer_engine._entry import Entry
from rotifer_engine._migrations import migrations
from rotifer_engine._postgres_connection import Pool
from rotifer_engine._postgres_rows import entry_of
from rotifer_engine._retention import Moment
from rotifer_engine._store import Row
from rotifer_engine._with import Closing

__all__ = ["PostgresSnapshot"]

_PAGE = 500
_MADE = re.compile(r"CREATE (TABLE|INDEX) (?:rotifer\.)?([a-z_]+)")


class PostgresSnapshot(Closing):
    """One moment of a store; see :class:`rotifer_engine._store.Snapshot`.

    It has a connection of its own, so that whoever holds a transaction can take one.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._session = pool.connect()
        self.store_id = self._session.store_id
        try:
            # The moment is that of the first question.
            self._session.run_each([(sql.SNAPSHOT, ()), (sql.PATIENT, ())])
        except psycopg.Error as error:
            self._session.close()
            raise pool.failure(error) from None

    def _all(self, statement: str, arguments: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._session.all(statement, arguments)
        except psycopg.Error as error:
            raise self._pool.failure(error, lost=self._session.lost) from None

    def counted(self, agent_id: str) -> tuple[int, int]:
        """What the store has counted: the agent's bytes, and its update sequence."""
        for used, order, _ in self._all(sql.COUNTED, (agent_id,)):
            return used, order
        return 0, 0

    def last_change(self, agent_id: str) -> str | None:
        """The id of the agent's last change."""
        for _, _, change_id in self._all(sql.COUNTED, (agent_id,)):
            changed: str | None = change_id
            return changed
        return None

    def rows(self, agent_id: str) -> Iterator[Row]:
        """All rows of an agent, expired ones too, least recently updated first."""
        after: tuple[int, bytes] = (-(2**63), b"")
        while page := self._all(sql.ROWS, (agent_id, *after, _PAGE)):
            for fields in page:
                row = Row._make(fields)
                domain = fields[5]
                yield row._replace(
                    created_domain=None if domain is None else domain.decode("utf-8", "replace")
                )
            after = (page[-1][-1], page[-1][0])

    def layer_sizes(self) -> Iterator[tuple[str, int]]:
        """None: the lines of each actor's are apart from those of the agents."""
        return iter(())

    def entries(self, agent_id: str, categories: Sequence[str], moment: Moment) -> Iterator[Entry]:
        """Live entries of these categories, least recently updated first, one at a time."""
        after = 0
        while page := self._all(sql.ENTRIES, (agent_id, *moment, list(categories), after, _PAGE)):
            for row in page:
                entry = entry_of(agent_id, row)
                yield entry
            after = entry.order

    def lines(self, agent_id: str) -> Iterator[tuple[int, str]]:
        """All audit lines of an agent with their numbers, in their order."""
        after = 0
        while page := self._all(sql.LINES, (agent_id, after, _PAGE)):
            yield from ((number, line) for number, line in page)
            after = page[-1][0]

    def faults(self, limit: int) -> Iterator[str]:
        """What is not as the migrations made it, at most so many of each kind."""
        found = {(kind, name): whole for kind, name, whole in self._all(sql.OBJECTS, ())}
        text = "\n".join(migration.text() for migration in migrations())
        expected = [(kind.lower(), name) for kind, name in _MADE.findall(text)]
        missing = [
            f"the {kind} {name} is missing" for kind, name in expected if (kind, name) not in found
        ]
        yield from missing[:limit]
        broken = [
            f"the {kind} {name} is not whole" for (kind, name), whole in found.items() if not whole
        ]
        yield from broken[:limit]
        for name, table in self._all(sql.TRIGGERS, ())[:limit]:
            yield f"the trigger {name!a} of the table {table} is not ours and changes what happens"

    def close(self) -> None:
        """Let the moment go."""
        self._session.close()
