"""A stage on a PostgreSQL server, in a database of its own: nothing that is there is touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from rotifer_engine._clock import FixedClock
from rotifer_engine._migrate import migrate
from rotifer_engine._postgres import PostgresStore
from rotifer_engine._postgres_audit import PostgresAudit
from rotifer_engine.conformance._stage import Stage
from rotifer_engine.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_engine._audit import Audit

__all__ = ["postgres_stage", "scratch_database"]


@contextmanager
def scratch_database(url: str) -> Iterator[str]:
    """The URL of a new, migrated database on the server, dropped at the end.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``; only the server and the user count.

    Raises:
        StorageError: the URL cannot be used, the server cannot be reached, or the user may not
            make databases.
    """
    store = PostgresStore(url)
    pool = store.pool
    name = f"rotifer_conformance_{os.getpid()}_{os.urandom(8).hex()}"
    import psycopg
    from psycopg import sql

    database = sql.Identifier(name)
    own = _with_database(url, name)
    refused = False
    try:  # all of it: an interrupt may come when the server has made it and nobody knows yet
        try:
            with pool.dial() as admin:
                admin.execute(sql.SQL("CREATE DATABASE {}").format(database))
        except psycopg.Error as error:
            refused = True
            if error.sqlstate == "42501":
                raise StorageError(
                    f"the user of {pool.address.place} may not make a database, and the suite uses "
                    "one of its own, so that no agent there is touched: name a user that may "
                    "(ALTER ROLE ... CREATEDB)"
                ) from None
            raise pool.failure(error) from None
        finally:
            store.close()
        migrate(own)
        yield own
    finally:
        if not refused:
            with pool.dial() as admin:
                statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
                admin.execute(statement.format(database))


def _with_database(url: str, name: str) -> str:
    parts = urlsplit(url)
    options = [
        (key, value)
        for key, value in parse_qsl(parts.query, keep_blank_values=True)
        if key != "dbname"
    ]
    return urlunsplit(parts._replace(path=f"/{name}", query=urlencode(options)))


@contextmanager
def postgres_stage(url: str, folder: str) -> Iterator[Stage]:
    """A stage in a new database on the server.

    Args:
        url: see :func:`scratch_database`.
        folder: an empty folder for the telemetry file.

    Raises:
        StorageError: see :func:`scratch_database`.
    """
    with scratch_database(url) as own:
        store = PostgresStore(own, durable=False)
        stage = Stage(store, folder, _keeper(store))
        try:
            yield stage
        finally:
            stage.close()
            store.close()


def _keeper(
    store: PostgresStore,
) -> Callable[[FixedClock], tuple[Audit, Callable[[str], list[str]]]]:
    """The audit lines are rows of the store."""

    def lines(agent_id: str) -> list[str]:
        with store.snapshot() as snapshot:
            return [line for _, line in snapshot.lines(agent_id)]

    return lambda clock: (PostgresAudit(store, clock=clock), lines)
