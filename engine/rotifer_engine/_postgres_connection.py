"""Connections to PostgreSQL: a few for each process, each bounded in the time it may take.

The server bounds each statement, each wait for a lock and each pause within a transaction. It may
also be the server that hangs, or the network, so each wait for an answer has an end here too; after
that the connection is not used again. A pool of our own rather than psycopg_pool, whose threads
open connections in the background: who asks for one here learns at once why there is none, in the
words of its error; a process that runs one gene needs no four threads for it; and a forked child
has nothing of its parent's to mend.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg.types.numeric import Int8BinaryDumper

from rotifer_engine import _postgres_text as sql
from rotifer_engine._migrations import demand_version
from rotifer_engine._postgres_address import Address
from rotifer_engine._postgres_bounded import Bounded
from rotifer_engine._postgres_errors import (
    Silent,
    ends_connection,
    is_starting,
    storage_error,
)
from rotifer_engine._postgres_prepared import Prepared
from rotifer_engine.errors import StorageError

__all__ = ["Limits", "Pool", "Session", "Statement"]

_T = TypeVar("_T")
_NAP_S = 0.05
_GRACE_S = 1.0  # the server's own limit should be the one that is met

Statement = tuple[str, Sequence[object]]

# What the driver warns of is raised here as well; a program that listens to the log still gets it.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_sessions: weakref.WeakSet[Session] = weakref.WeakSet()
# Connections of the parent process: kept, because closing them is the parent's business.
_inherited: list[Session] = []


def _after_fork_in_child() -> None:
    _inherited.extend(_sessions)
    _sessions.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)


class Limits(NamedTuple):
    """How long things may take, in seconds.

    Args:
        connect: to be let in.
        lock: to wait for another writer of the same agent.
        statement: for the server to carry out one statement.
        idle: a transaction may rest before the server ends it.
    """

    connect: float = 5
    lock: float = 5
    statement: float = 10
    idle: float = 10


class Session:
    """One connection that is let in, and whose tables are there.

    Args:
        connection: it, in autocommit mode.
        store_id: the id of the store that is on the server.
        answer_s: how long to wait for an answer, in seconds.
    """

    def __init__(
        self, connection: psycopg.Connection[tuple[Any, ...]], store_id: str, answer_s: float
    ) -> None:
        self.pid = os.getpid()
        self.store_id = store_id
        self.read = Prepared(connection, "rotifer_read", sql.READ, answer_s).one
        self.read_unlimited = Prepared(
            connection, "rotifer_read_unlimited", sql.READ_UNLIMITED, answer_s
        ).one
        self._connection = connection
        self._cursor = psycopg.RawCursor(connection)
        _sessions.add(self)

    @property
    def lost(self) -> bool:
        """Whether nothing can be asked over it any more."""
        return self._connection.closed

    @property
    def idle(self) -> bool:
        """Whether it is outside any transaction."""
        status = self._connection.info.transaction_status
        return status == psycopg.pq.TransactionStatus.IDLE

    def one(self, statement: str, arguments: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The first row of a statement."""
        cursor = self._cursor.execute(statement, arguments, prepare=True, binary=True)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row

    def all(self, statement: str, arguments: Sequence[object]) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        return self._cursor.execute(statement, arguments, prepare=True, binary=True).fetchall()

    def run(self, statement: str, arguments: Sequence[object] = ()) -> None:
        """Run a statement."""
        self._cursor.execute(statement, arguments, prepare=True)

    def run_each(self, statements: Sequence[Statement]) -> list[tuple[Any, ...] | None]:
        """Run statements in one round trip; the first row of each that has any.

        What follows a statement that fails is not run.
        """
        connection = self._connection
        with connection.pipeline():
            cursors = [
                psycopg.RawCursor(connection).execute(text, arguments, prepare=True, binary=True)
                for text, arguments in statements
            ]
        return [cursor.fetchone() if cursor.description else None for cursor in cursors]

    def close(self) -> None:
        """Close the connection; the server gives up what was not committed."""
        if self.pid == os.getpid():
            self._connection.close()


class Pool:
    """The connections of a process to one database.

    Args:
        address: where it is.
        limits: how long things may take.
        durable: whether a commit waits for the server's disk.
        most: so many connections at once, snapshots not counted.
    """

    def __init__(self, address: Address, limits: Limits, *, durable: bool, most: int) -> None:
        self.address = address
        self.limits = limits
        self._answer_s = limits.statement + _GRACE_S
        self._durable = durable
        self._most = most
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._free: list[Session] = []  # appending and popping are atomic
        self._open = self._waiting = 0
        self._changed = threading.Condition()

    # ---- errors

    def failure(self, error: psycopg.Error, *, lost: bool = False) -> StorageError:
        """What an error of the driver means.

        Args:
            error: it.
            lost: whether a connection that had been there is gone.
        """
        if lost and not error.sqlstate and not isinstance(error, Silent):
            return StorageError(
                f"the connection to the memory's server {self.address.place} was lost; nothing was "
                "changed: try again"
            )
        limits = self.limits
        return storage_error(error, self.address, lock_s=limits.lock, statement_s=limits.statement)

    # ---- sessions

    def take(self, *, patient: bool = False) -> Session:
        """A connection that nobody else has until it is given back.

        Args:
            patient: try again while nobody answers there, for as long as connecting may take.

        Raises:
            StorageError: there is none.
        """
        if self._closed:
            raise StorageError(f"the memory's server {self.address.place} is closed; open it again")
        if self._pid != os.getpid():
            self._start()
        try:
            session: Session | None = self._free.pop()
        except IndexError:
            session = self._wait_for_one()
        if session is not None and not session.lost:
            return session
        try:  # the place that it had is kept for the new one
            return self.connect(patient=patient)
        except BaseException:
            self._leave()
            raise

    def _wait_for_one(self) -> Session | None:
        """One that another thread gives back; None: there is room for a new one."""
        deadline = time.monotonic() + self.limits.lock
        with self._changed:
            self._waiting += 1
            try:
                while True:
                    if self._free:
                        return self._free.pop()
                    if self._open < self._most:
                        self._open += 1
                        return None
                    if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                        break
            except IndexError:
                return self._wait_for_one()
            finally:
                self._waiting -= 1
        raise StorageError(
            f"all {self._most} connections to the memory's server {self.address.place} were in "
            f"use for the {self.limits.lock:g} s that we waited; try again"
        )

    def _leave(self) -> None:
        """Make room for another connection."""
        with self._changed:
            self._open -= 1
            self._changed.notify()

    def give(self, session: Session) -> None:
        """Give a connection back; one that is lost, or within a transaction, is closed."""
        if session.pid != os.getpid():
            return
        if self._closed or session.lost or not session.idle:
            session.close()
            self._leave()
        else:
            self._lay_by(session)

    def _lay_by(self, session: Session) -> None:
        self._free.append(session)
        if self._waiting:
            with self._changed:
                self._changed.notify()

    def ask(self, work: Callable[[Session], _T]) -> _T:
        """Do what can be done twice; again, where the connection was lost meanwhile.

        Raises:
            StorageError: it failed.
        """
        session, result = self.hold(work)
        if self._closed:
            self.give(session)
        else:
            self._lay_by(session)  # what worked outside a transaction has left none open
        return result

    def hold(self, work: Callable[[Session], _T]) -> tuple[Session, _T]:
        """As ``ask``, but the connection is kept, to be given back.

        Raises:
            StorageError: it failed.
        """
        deadline = time.monotonic() + self.limits.connect
        session = self.take()
        while True:
            try:
                return session, work(session)
            except psycopg.Error as error:
                lost = session.lost or ends_connection(error)
                if lost:
                    session.close()
                self.give(session)
                if not lost or isinstance(error, Silent) or time.monotonic() >= deadline:
                    raise self.failure(error, lost=lost) from None
            except BaseException:
                self.drop(session)
                raise
            self._forget_free()  # what was lost with it would only fail one after the other
            session = self.take(patient=True)

    def drop(self, session: Session) -> None:
        """Give a connection back that nobody is to use again."""
        session.close()
        self.give(session)

    def _forget_free(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._free.pop().close()
                self._leave()

    # ---- opening

    def connect(self, *, patient: bool = False) -> Session:
        """A new connection, let in and looked at.

        Args:
            patient: try again while nobody answers there, for as long as connecting may take.

        Raises:
            StorageError: it cannot be had; or the tables are not there, or of another version.
        """
        deadline = time.monotonic() + self.limits.connect
        while True:
            try:
                return self._let_in()
            except psycopg.Error as error:
                if not patient or not is_starting(error) or time.monotonic() >= deadline:
                    raise self.failure(error) from None
            time.sleep(_NAP_S)

    def _let_in(self) -> Session:
        connection = self.dial()
        try:
            row = psycopg.RawCursor(connection).execute(sql.HELLO, self.settings()).fetchone()
            assert row is not None, "it asks for values, not for rows"
            demand_version(row[1], self.address.place)
        except BaseException:
            connection.close()
            raise
        return Session(connection, row[0], self._answer_s)

    def settings(self) -> tuple[str, ...]:
        """What the server is to hold to on a connection, as ``SETTINGS`` wants it."""
        limits = self.limits
        bounds = (limits.statement, limits.lock, limits.idle)
        return (*(f"{seconds * 1000:.0f}" for seconds in bounds), "on" if self._durable else "off")

    def dial(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection as the server gives it.

        Raises:
            psycopg.Error: there is none.
        """
        limits = self.limits
        defaults = {
            "application_name": "rotifer",
            "connect_timeout": f"{max(1, round(limits.connect))}",
            "keepalives": "1",
            "keepalives_idle": "30",
            "keepalives_interval": "5",
            "keepalives_count": "3",
            "tcp_user_timeout": f"{self._answer_s * 1000:.0f}",
        }
        parameters: dict[str, Any] = {**defaults, **self.address.parameters}
        parameters["client_encoding"] = "UTF8"
        connection = Bounded.connect("", autocommit=True, **parameters)
        connection.answer_s = self._answer_s
        connection.adapters.register_dumper(int, Int8BinaryDumper)  # one type, one plan
        return connection

    def close(self) -> None:
        """Close what is not in use; what is, when it is given back."""
        self._closed = True
        if self._pid == os.getpid():
            self._forget_free()
