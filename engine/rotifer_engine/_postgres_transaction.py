"""One write to one agent's memory on a PostgreSQL server.

The agent's row is locked from the first statement on: that makes quota, update order and the order
of the audit lines exact across machines, and leaves all other agents alone. What is changed is
kept here and sent with the commit, in one round trip; sooner, when something is asked that must
see it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import psycopg

from rotifer_engine import _postgres_text as sql
from rotifer_engine._entry import Entry, EntrySummary
from rotifer_engine._postgres_connection import Pool, Session, Statement
from rotifer_engine._postgres_errors import ends_connection
from rotifer_engine._postgres_rows import domain_of, summary_of
from rotifer_engine._retention import Moment, own_expiry
from rotifer_engine._with import RollingBack
from rotifer_engine.errors import StorageError

__all__ = ["PostgresTransaction"]

_T = TypeVar("_T")
_MAX_KEPT = 500  # statements
_MAX_KEPT_BYTES = 1024 * 1024
_FIRST_PAGE, _PAGE = 32, 500
_NAP_S = 0.05


_Earliest = tuple[int | None, int | None]


class _Agent(NamedTuple):
    """An agent's row."""

    used: int
    order: int
    audit_order: int
    last_change: str | None


class PostgresTransaction(RollingBack):
    """See :class:`rotifer_engine._store.Transaction`."""

    def __init__(self, pool: Pool, agent_id: str) -> None:
        self._pool = pool
        self._agent_id = agent_id
        self._kept: list[Statement] = []
        self._kept_bytes = 0
        self._sent = False
        self._session: Session | None
        self._session, found = pool.hold(self._open)
        self.store_id: str = self._session.store_id
        self._before, self._earliest, self._made = found
        self._audit_order = self._before.audit_order
        self.used, self.order, _, self.last_change = self._before

    def _open(self, session: Session) -> tuple[_Agent, _Earliest, bool]:
        agent = (self._agent_id,)
        asked: list[Statement] = [(sql.LOCK, agent), (sql.EARLIEST, agent)]
        _, locked, earliest = session.run_each([(sql.BEGIN, ()), *asked])
        made = locked is None
        if made:
            _, locked, earliest = session.run_each([(sql.NEW_AGENT, agent), *asked])
        assert locked is not None, "it was made by the line above"
        assert earliest is not None, "it asks for values, not for rows"
        return _Agent(*locked), (earliest[0], earliest[1]), made

    # ---- asking

    def _live(self) -> Session:
        if self._session is None:
            raise StorageError("this change is over already; nothing more can be done in it")
        return self._session

    def _ask(self, work: Callable[[Session], _T]) -> _T:
        """Ask something that must see what was changed until here."""
        session = self._live()
        try:
            self._send(session)
            return work(session)
        except psycopg.Error as error:
            raise self._pool.failure(error, lost=session.lost) from None

    def _all(self, statement: str, arguments: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._ask(lambda session: session.all(statement, arguments))

    def _each(self, statement: str, after: int, *more: object) -> Iterator[EntrySummary]:
        """Rows in the update order, some at a time."""
        limit = _FIRST_PAGE
        while True:
            rows = self._all(statement, (self._agent_id, after, limit, *more))
            for row in rows:
                yield summary_of(self._agent_id, row)
            if len(rows) < limit:
                return
            after, limit = rows[-1][-1], _PAGE

    def rest(self) -> None:
        """May be kept open for as long as another store is busy: the server does not end it."""
        self._ask(lambda session: session.run(sql.PATIENT))

    def find(self, key: str) -> EntrySummary | None:
        """The row with this key."""
        rows = self._all(sql.FIND, (self._agent_id, key.encode()))
        return summary_of(self._agent_id, rows[0]) if rows else None

    def expired(self, moment: Moment, limit: int) -> Sequence[EntrySummary]:
        """Rows that are due to be purged, at most so many."""
        instant, update = self._earliest
        due = instant is not None and instant <= moment.now
        if not due and (update is None or moment.cutoff is None or update > moment.cutoff):
            return ()
        rows = self._all(sql.EXPIRED, (self._agent_id, *moment, limit))
        return [summary_of(self._agent_id, row) for row in rows]

    def candidates(self, category: str) -> Iterator[EntrySummary]:
        """Rows of a category, least recently updated first, one at a time."""
        return self._each(sql.CANDIDATES, 0, category)

    def rows_after(self, order: int) -> Iterator[EntrySummary]:
        """Rows written after this number of the update sequence, in its order, one at a time."""
        return self._each(sql.ROWS_AFTER, order)

    def ask_all(self, statement: str, arguments: Sequence[object]) -> list[tuple[Any, ...]]:
        """All rows of a statement about what else is kept under this lock."""
        return self._all(statement, arguments)

    def change(self, statement: str, arguments: Sequence[object], size: int) -> None:
        """Change what else is kept under this lock; the size is that of the arguments in bytes."""
        self._keep(statement, arguments, size)

    # ---- changing

    def _keep(self, statement: str, arguments: Sequence[object], size: int = 0) -> None:
        self._live()
        self._kept.append((statement, arguments))
        self._kept_bytes += size
        if len(self._kept) >= _MAX_KEPT or self._kept_bytes >= _MAX_KEPT_BYTES:
            self._ask(lambda _: None)

    def _send(self, session: Session) -> None:
        """Let the server have what was changed; it can still be given up, and the lock kept."""
        if not self._kept:
            return
        first: list[Statement] = [] if self._sent else [("SAVEPOINT unchanged", ())]
        self._sent = True
        session.run_each(first + self._kept)
        self._forget_kept()

    def _forget_kept(self) -> None:
        self._kept, self._kept_bytes = [], 0

    def put(self, entry: Entry, replaced: EntrySummary | None) -> None:
        """Insert the entry, or replace the row with its key; counts its bytes and its order."""
        retention = entry.retention_policy
        row = (
            self._agent_id,
            entry.key.encode(),
            entry.category,
            entry.size,
            entry.created_by,
            domain_of(entry.created_domain),
            entry.last_accessed_by,
            entry.created_at,
            entry.updated_at,
            *entry.access_policy,
            int(retention is None),
            *((None,) * 3 if retention is None else _numbers(*retention)),
            own_expiry(entry.updated_at, retention),
            entry.order,
            entry.value,
        )
        self._keep(sql.PUT, row, entry.size)
        self.used += entry.size - (0 if replaced is None else replaced.size)
        self.order = max(self.order, entry.order)

    def remove(self, row: EntrySummary) -> None:
        """Delete a row; counts its bytes."""
        self._keep(sql.REMOVE, (self._agent_id, row.key.encode()))
        self.used -= row.size

    def remove_all(self) -> None:
        """Delete all rows of the agent; what was recorded of it goes on counting its lines."""
        self._keep(sql.REMOVE_ROWS, (self._agent_id,))
        self.used, self.order = 0, 0

    # ---- the audit lines

    def record(self, change_id: str, lines: Sequence[str]) -> None:
        """Write audit lines, to be there with the change or not at all."""
        row = (self._agent_id, self._audit_order, change_id, list(lines))
        self._audit_order += len(lines)
        self._keep(sql.RECORD, row, sum(map(len, lines)))

    def refuse(self, change_id: str, lines: Sequence[str]) -> None:
        """Give up what was changed, and commit these lines under the same lock."""
        self._forget_kept()
        if self._sent:
            # By itself: the driver forgets what it has prepared when something is rolled back.
            self._ask(lambda session: session.run("ROLLBACK TO SAVEPOINT unchanged"))
        self.used, self.order, self._audit_order, last_change = self._before
        self.record(change_id, lines)
        self._finish(change_id, last_change)

    # ---- the end

    def commit(self, change_id: str) -> None:
        """Make it so, durably, and remember the change id."""
        self._finish(change_id, change_id)

    def _finish(self, change_id: str, last_change: str | None) -> None:
        session = self._live()
        saved = (self._agent_id, self.used, self.order, self._audit_order, last_change)
        ending = [*self._kept, (sql.SAVE_AGENT, saved), ("COMMIT", ())]
        self._forget_kept()
        try:
            session.run_each(ending)
        except psycopg.Error as error:
            if not session.lost and not ends_connection(error):
                raise self._pool.failure(error) from None
            self._session = None
            self._pool.drop(session)
            self._find_out(change_id, error)
        else:
            self._session = None
            self._pool.give(session)

    def _find_out(self, change_id: str, error: psycopg.Error) -> None:
        """Learn what became of a commit whose answer was lost: from its lines, which it wrote.

        The lock tells that the lost transaction is over: until then nobody else can have it. The
        server ends one that rests, so waiting for it has an end.

        Raises:
            StorageError: the change was not made; or it could not be found out.
        """
        limits = self._pool.limits
        deadline = time.monotonic() + limits.idle + limits.lock
        agent = (self._agent_id,)
        told = (self._agent_id, self._before.audit_order + 1, change_id)
        ask: list[Statement] = [
            (sql.BEGIN, ()),
            (sql.NEW_AGENT, agent),
            (sql.LOCK, agent),
            (sql.MADE, told),
        ]
        while True:
            try:
                session, answers = self._pool.hold(lambda session: session.run_each(ask))
            except StorageError as failed:
                if time.monotonic() >= deadline:
                    raise StorageError(
                        f"the memory's server {self._pool.address.place} was lost while it made a "
                        f"change, and it could not be found out whether it was made ({failed}): "
                        "look for it with 'rotifer agent memory audit'"
                    ) from None
                time.sleep(_NAP_S)
                continue
            # What is rolled back in a batch confuses the driver about what it has prepared.
            self._pool.drop(session)
            if answers[3] is None:
                raise self._pool.failure(error, lost=True) from None
            return

    def rollback(self) -> None:
        """Undo what was not committed, and let the next one write; again does nothing."""
        session, self._session = self._session, None
        if session is None:
            return
        self._forget_kept()
        try:
            if not session.lost and not session.idle:
                # After a ROLLBACK the driver prepares every statement anew, so where there is
                # nothing to undo none is sent; what failed is undone by either word.
                session.run("ROLLBACK" if self._sent or self._made else "COMMIT")
        except psycopg.Error:
            # Whatever state it is in, closing the connection ends the transaction.
            session.close()
        finally:
            self._pool.give(session)


def _numbers(days: int | None, auto_delete: bool, anonymization: bool) -> tuple[int | None, ...]:
    return days, int(auto_delete), int(anonymization)
