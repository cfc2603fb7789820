"""The PostgreSQL server of the tests, and a database of our own on it, dropped at the end.

It is the one that ``ROTIFER_TEST_POSTGRES`` names, else the one on 127.0.0.1:5432. Where neither
answers the tests fail: they are never skipped.
"""

from __future__ import annotations

import contextlib
import os
from urllib.parse import urlsplit, urlunsplit

import psycopg

from rotifer_engine import migrate

SERVER = os.environ.get("ROTIFER_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")


@contextlib.contextmanager
def database(*, migrated=True):
    """The URL of a database that nobody else uses."""
    name = f"rotifer_test_{os.getpid()}_{os.urandom(4).hex()}"
    with psycopg.connect(SERVER, autocommit=True, connect_timeout=5) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            url = urlunsplit(urlsplit(SERVER)._replace(path=f"/{name}"))
            if migrated:
                migrate(url)
            yield url
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


class Sql:
    """A way to look into the database that the store knows nothing of."""

    def __init__(self, url):
        self.url = url
        self._connection = psycopg.connect(url, autocommit=True, connect_timeout=5)
        self._connection.execute("SET synchronous_commit = off")

    def __call__(self, statement, *arguments):
        """All rows of a statement."""
        cursor = self._connection.execute(statement, arguments or None)
        return cursor.fetchall() if cursor.description else []

    def empty(self):
        """Leave no agent's rows; the tables stay."""
        tables = self(
            "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'rotifer' "
            "AND tablename NOT IN ('migration', 'store') ORDER BY tablename = 'agent'"
        )
        for (table,) in tables:
            self(f"DELETE FROM rotifer.{table}")

    def close(self):
        """Close the connection."""
        self._connection.close()
