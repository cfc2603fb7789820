"""A memory on a real PostgreSQL server, in a database of the tests' own."""

from __future__ import annotations

import pytest
from tests.engine.conftest import AGENT, PostgresWorld, gene
from tests.postgres.proxy import Proxy
from tests.postgres.server import Sql, database

from rotifer_engine import AgentMemory, PostgresAudit, PostgresStore, Telemetry
from rotifer_engine._postgres import Limits

SHORT = Limits(connect=2, lock=0.3, statement=0.5, idle=0.6)


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


@pytest.fixture
def world(tmp_path, sql):
    """A memory with a clock that stands at noon."""
    world = PostgresWorld(str(tmp_path), sql)
    yield world
    world.close()


@pytest.fixture
def reach(world):
    """Memories that reach the same agent by another URL, with short limits; closed at the end."""
    opened = []

    def reach(url, limits=SHORT, agent=AGENT, **options):
        store = PostgresStore(url, durable=False, limits=limits)
        opened.append(store)
        return AgentMemory(
            store,
            agent,
            audit=PostgresAudit(store, clock=world.clock),
            telemetry=Telemetry(world.telemetry_path, files=world.files),
            clock=world.clock,
            **options,
        )

    yield reach
    for store in opened:
        store.close()


@pytest.fixture
def proxy(postgres_url):
    """A way to the server that can be cut."""
    proxy = Proxy(postgres_url)
    yield proxy
    proxy.close()


@pytest.fixture
def a():
    """The gene that usually creates."""
    return gene("a")


@pytest.fixture
def c():
    """A gene of another domain."""
    return gene("c", "text.search")
