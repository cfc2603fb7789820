"""A memory on a real PostgreSQL server, in a database of the tests' own."""

from __future__ import annotations

import pytest
from tests.postgres.server import Sql, database


@pytest.fixture(scope="session")
def postgres_url():
    """The URL of a migrated database."""
    with database() as url:
        yield url


@pytest.fixture(scope="session")
def _sql(postgres_url):
    sql = Sql(postgres_url)
    yield sql
    sql.close()


@pytest.fixture
def sql(_sql):
    """The database, without any agent, and a way to look into it."""
    _sql.empty()
    return _sql
