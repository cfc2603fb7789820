"""Making the tables on a PostgreSQL server, and bringing them up to date."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from rotifer_engine._clock import SystemClock
from rotifer_engine._migrations import Migration, demand_version, migrations, newest
from rotifer_engine.errors import StorageError

if TYPE_CHECKING:
    import psycopg

    from rotifer_engine._clock import Clock
    from rotifer_engine._postgres_connection import Limits

__all__ = ["Migrated", "migrate"]

#: The number of the lock that keeps two from migrating at once: "rotifer" as bytes.
_LOCK = int.from_bytes(b"rotifer", "big")

_MANY_S = 600.0  # an index over many rows takes its time

_SEALED = "template0"  # it lets nobody in, so it cannot be asked
_IS_TEMPLATE = "SELECT datistemplate FROM pg_database WHERE datname = current_database()"

_BASE = """
CREATE SCHEMA IF NOT EXISTS rotifer;
CREATE TABLE IF NOT EXISTS rotifer.migration (
    version integer PRIMARY KEY,
    name text NOT NULL,
    applied_at bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS rotifer.store (
    one smallint PRIMARY KEY CHECK (one = 1),
    store_id text NOT NULL
);
"""


class Migrated(NamedTuple):
    """What a migration did.

    Args:
        place: the server, without a secret.
        before: the version that it was at; 0 when it had no tables.
        applied: the names of the steps, in their order.
    """

    place: str
    before: int
    applied: tuple[str, ...]


def migrate(url: str, *, clock: Clock | None = None, limits: Limits | None = None) -> Migrated:
    """Apply what a server lacks of the migrations, all of it or nothing.

    Two at once are safe: the second waits and finds nothing to do.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
        clock: gives the time that is noted beside each step.
        limits: how long connecting may take, and waiting for another who migrates.

    Raises:
        StorageError: the server cannot be reached, refuses, or is of a newer version; or the
            database is a template.
    """
    from rotifer_engine._postgres import Limits as Bounds
    from rotifer_engine._postgres import PostgresStore

    bounds = (limits or Bounds())._replace(statement=_MANY_S)
    pool = PostgresStore(url, limits=bounds).pool
    import psycopg

    if pool.address.parameters.get("dbname") == _SEALED:
        raise _template(pool.address.place)
    try:
        with pool.dial() as connection:
            milliseconds = f"{bounds.lock * 1000:.0f}"
            connection.execute("SELECT set_config('lock_timeout', %s, false)", (milliseconds,))
            with connection.transaction():
                done = _bring_up(connection, (clock or SystemClock()).now_ms(), pool.address.place)
    except psycopg.Error as error:
        if error.sqlstate == "55P03":
            raise StorageError(
                f"somebody else migrates the memory's server {pool.address.place} and was not done "
                f"in {bounds.lock:g} s; try again when they are"
            ) from None
        raise pool.failure(error) from None
    return done


def _bring_up(connection: psycopg.Connection[tuple[object, ...]], now: int, place: str) -> Migrated:
    if connection.execute(_IS_TEMPLATE).fetchone() == (True,):
        raise _template(place)
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    connection.execute(_BASE)
    row = connection.execute("SELECT coalesce(max(version), 0) FROM rotifer.migration").fetchone()
    assert row is not None, "it asks for a value, not for rows"
    before = row[0]
    assert isinstance(before, int), "the column is made so"
    if before > newest():
        demand_version(before, place)
    connection.execute(
        "INSERT INTO rotifer.store VALUES (1, %s) ON CONFLICT DO NOTHING", (os.urandom(4).hex(),)
    )
    steps = [step for step in migrations() if step.version > before]
    for step in steps:
        _apply(connection, step, now)
    return Migrated(place, before, tuple(step.name for step in steps))


def _template(place: str) -> StorageError:
    return StorageError(
        f"the memory's server {place} is a template: each database made of it would begin with a "
        "copy of the memories; it was left as it is: create a database of its own, for example "
        "with 'createdb rotifer', and name that in the URL"
    )


def _apply(connection: psycopg.Connection[tuple[object, ...]], step: Migration, now: int) -> None:
    connection.execute(step.text().encode())
    connection.execute(
        "INSERT INTO rotifer.migration VALUES (%s, %s, %s)", (step.version, step.name, now)
    )
