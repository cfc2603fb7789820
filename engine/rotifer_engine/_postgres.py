"""The memories of agents on a PostgreSQL server, shared by any number of machines (design §6)."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from rotifer_engine._access import Caller
from rotifer_engine._entry import Entry, EntrySummary
from rotifer_engine._filter import Selection
from rotifer_engine._retention import Moment
from rotifer_engine._with import Closing
from rotifer_engine.errors import StorageError

try:
    from rotifer_engine import _postgres_text as sql
    from rotifer_engine._postgres_address import read_address
    from rotifer_engine._postgres_connection import Limits, Pool
    from rotifer_engine._postgres_rows import domain_of, entry_of, summary_of
    from rotifer_engine._postgres_transaction import PostgresTransaction
except ImportError as missing:
    if missing.name is None or not missing.name.startswith("psycopg"):
        raise
    raise StorageError(
        "a memory on a PostgreSQL server needs psycopg, which is not installed: "
        "pip install 'rotifer-bridge[postgres]'"
    ) from None

if TYPE_CHECKING:
    from rotifer_engine._postgres_layers import PostgresLayers
    from rotifer_engine._postgres_snapshot import PostgresSnapshot

__all__ = ["Limits", "PostgresStore"]


class PostgresStore(Closing):
    """A store on a PostgreSQL server; it may be used by many threads and processes at once.

    Its tables are made by :func:`rotifer_engine.migrate`. Nothing is connected before the first
    call.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``, as libpq reads it.
        durable: return from a change only when it is on the server's disk.
        limits: how long things may take.
        most: so many connections at once; each thread that is in a call needs one.

    Raises:
        StorageError: the URL cannot be used; on any call: the server cannot be reached, is not
            migrated or of a newer version, did not answer in time, or failed.
    """

    def __init__(
        self, url: str, *, durable: bool = True, limits: Limits | None = None, most: int = 10
    ) -> None:
        self._pool = Pool(read_address(url), limits or Limits(), durable=durable, most=most)

    @property
    def pool(self) -> Pool:
        """The connections, for what else is kept on the same server."""
        return self._pool

    @property
    def place(self) -> str:
        """Where the server is, without a secret."""
        return self._pool.address.place

    def __repr__(self) -> str:
        return f"PostgresStore({self.place!r})"

    def read(self, agent_id: str, key: str, moment: Moment) -> tuple[Entry | None, bool]:
        """The live entry with this key, and whether anything is due; in one statement if it is."""
        name = key.encode()
        now, cutoff = moment
        asked = (
            agent_id.encode(),
            now.to_bytes(8, signed=True),
            None if cutoff is None else cutoff.to_bytes(8, signed=True),
            name,
        )
        row = self._pool.ask(
            lambda session: (session.read_unlimited if cutoff is None else session.read)(asked)
        )
        if row is None:
            return None, self.has_expired(agent_id, moment)
        due, live, *rest = row
        if not live:
            return None, due
        return entry_of(agent_id, (name, *rest)), due

    def touch(self, agent_id: str, entry: Entry, gene_id: str) -> None:
        """Set who last accessed the entry, if it is still the same version of it.

        The one write that need not wait for the disk.
        """
        touched = (gene_id, agent_id, entry.key.encode(), entry.order)
        self._pool.ask(lambda session: session.run(sql.TOUCH, touched))

    def has_expired(self, agent_id: str, moment: Moment) -> bool:
        """Whether anything of this agent is due to be purged."""
        row = self._pool.ask(lambda session: session.one(sql.DUE, (agent_id, *moment)))
        return row is not None and bool(row[0])

    def select(
        self, agent_id: str, caller: Caller, selection: Selection, moment: Moment
    ) -> Generator[Entry, None, None]:
        """Live entries that the caller may read, most recently updated first, one at a time.

        Those of one moment, in one statement. The first that an answer has no room for is the
        last.
        """
        first = selection.key_prefix or None
        filters: list[str] = []
        values: list[object] = []
        for condition, value in (
            ("e.category = {}", selection.category),
            ("e.key >= {}", first),
            ("e.key < {}", after_prefix(first)),
            ("e.updated_at >= {}", selection.since),
            ("e.updated_at < {}", selection.until),
        ):
            if value is not None:
                filters.append(condition)
                values.append(value)
        domain = domain_of(caller.domain)
        asked = (agent_id, *moment, caller.gene_id, domain, selection.limit, *values)
        statement = sql.select(filters)
        for row in self._pool.ask(lambda session: session.all(statement, asked)):
            yield entry_of(agent_id, row)

    def page(
        self, agent_id: str, category: str | None, after: str | None, limit: int, moment: Moment
    ) -> list[EntrySummary]:
        """Live entries in the order of their keys' bytes, from after a key on."""
        asked: tuple[object, ...] = (agent_id, *moment, (after or "").encode(), limit)
        if category is not None:
            asked = (*asked, category)
        statement = sql.page(category=category is not None)
        rows = self._pool.ask(lambda session: session.all(statement, asked))
        return [summary_of(agent_id, row) for row in rows]

    def usage(self, agent_id: str, moment: Moment) -> int:
        """Bytes of the keys and values of all live entries."""
        row = self._pool.ask(lambda session: session.one(sql.USAGE, (agent_id, *moment)))
        return 0 if row is None else int(row[0])

    def followers(self, agent_id: str, cutoff: int | None, other: int | None) -> tuple[int, int]:
        """Live entries that follow the agent, and how many of them another cut-off would end."""
        asked = (agent_id, cutoff, other)
        row = self._pool.ask(lambda session: session.one(sql.FOLLOWERS, asked))
        return (0, 0) if row is None else (row[0], row[1])

    def lines(self, agent_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Audit lines of an agent with their numbers, from after a number on."""
        rows = self._pool.ask(lambda session: session.all(sql.LINES, (agent_id, after, limit)))
        return [(number, line) for number, line in rows]

    def begin(self, agent_id: str) -> PostgresTransaction:
        """Begin to write: from here to the end nobody else can write to this agent's memory."""
        return PostgresTransaction(self._pool, agent_id)

    def snapshot(self) -> PostgresSnapshot:
        """The store as it is at this moment, to be closed; writers go on meanwhile."""
        from rotifer_engine._postgres_snapshot import PostgresSnapshot

        return PostgresSnapshot(self._pool)

    def layers(self) -> PostgresLayers:
        """The layers that are kept on this server, beside the agents' memories."""
        from rotifer_engine._postgres_layers import PostgresLayers

        return PostgresLayers(self._pool)

    def scrub(self) -> bool:
        """Nothing: the server itself overwrites what is deleted, in its own time."""
        return False

    def close(self) -> None:
        """Close the connections; a later call raises StorageError."""
        self._pool.close()


def after_prefix(prefix: bytes | None) -> bytes | None:
    """The first bytes after all keys with this prefix; UTF-8 has no byte 0xFF to run over."""
    return prefix[:-1] + bytes((prefix[-1] + 1,)) if prefix else None
