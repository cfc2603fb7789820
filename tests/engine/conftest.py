"""A memory made for one test: its files, its clock, and genes to call it."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest
from tests.postgres.server import Sql, database

from rotifer_engine import (
    DEFAULT_DATA_POLICY,
    AgentMemory,
    AuditLog,
    Caller,
    FileSystem,
    FixedClock,
    PostgresAudit,
    PostgresStore,
    SqliteStore,
    Telemetry,
)

AGENT = "7c4a8d09-ca37-42a8-9fd1-000000000001"
NOON = 1_700_000_000_000


def gene(letter, domain="code.format"):
    """A caller whose v2 identity is made of one hex digit."""
    return Caller("v2:" + letter * 64, domain)


class QuickFiles(FileSystem):
    """The real files, but nothing waits for the disk."""

    def sync(self, fd):
        """Do not wait."""

    def sync_dir(self, path):
        """Do not wait."""


class QuickConnection(sqlite3.Connection):
    """SQLite as it is, but a store that is not durable does not wait at its checkpoints either."""

    def execute(self, statement, *arguments):
        """Run it."""
        if statement == "PRAGMA synchronous = NORMAL":
            statement = "PRAGMA synchronous = OFF"
        return super().execute(statement, *arguments)


class World:
    """One project's memory files in a folder, and all that belongs to them."""

    scrubs = True  # nothing of a deleted value is left in the store's files

    def __init__(self, folder, *, files=None, **store_options):
        self.state = os.path.join(folder, ".rotifer")
        self.database = os.path.join(self.state, "playground.db")
        self.audit_path = os.path.join(self.state, "audit.jsonl")
        self.telemetry_path = os.path.join(self.state, "telemetry.jsonl")
        self.clock = FixedClock(NOON)
        self.files = files or QuickFiles()
        self._opened = []
        self._store_options = {
            "durable": False,
            "files": self.files,
            "connection": QuickConnection,
            **store_options,
        }
        self.open()

    def open(self, **options):
        """Open everything anew, as another process would."""
        self.store = SqliteStore(self.database, **{**self._store_options, **options})
        self.audit = AuditLog(self.audit_path, files=self.files, clock=self.clock)
        self.telemetry = Telemetry(self.telemetry_path, files=self.files, clock=self.clock)
        self._opened += [self.store, self.audit, self.telemetry]
        self.memory = self.agent()
        return self.memory

    def agent(self, agent_id=AGENT, **options):
        """The memory of an agent."""
        settings = {
            "audit": self.audit,
            "telemetry": self.telemetry,
            "clock": self.clock,
            "data_policy": DEFAULT_DATA_POLICY,
            **options,
        }
        return AgentMemory(self.store, agent_id, **settings)

    def lines(self, path=None):
        """The audit log, or another file of lines, as it can be read."""
        path = path or self.audit_path
        if not os.path.exists(path):
            return []
        with open(path, "rb") as file:
            return [json.loads(line) for line in file.read().splitlines() if line]

    def raw_lines(self):
        """The lines of the audit log as bytes."""
        with open(self.audit_path, "rb") as file:
            return file.read().splitlines()

    def actions(self):
        """The actions in the audit log, in their order."""
        return [line["action"] for line in self.lines()]

    def keys(self, memory=None):
        """The keys of all live entries, as the deployer sees them."""
        return [row.key for row in (memory or self.memory).list()]

    def close(self):
        """Close everything that was ever opened."""
        for opened in reversed(self._opened):
            opened.close()


class PostgresWorld(World):
    """The same memory on a PostgreSQL server: there is no file of it but the telemetry."""

    scrubs = False  # the server overwrites it in its own time

    def __init__(self, folder, sql):
        self.sql = sql
        super().__init__(folder)

    def open(self):
        """Connect anew, as another process would."""
        self.store = PostgresStore(self.sql.url, durable=False)
        self.audit = PostgresAudit(self.store, clock=self.clock)
        self.telemetry = Telemetry(self.telemetry_path, files=self.files, clock=self.clock)
        self._opened += [self.store, self.audit, self.telemetry]
        self.memory = self.agent()
        return self.memory

    def lines(self, path=None):
        """The audit lines of all agents, or a file of lines, as it can be read."""
        return super().lines(path) if path is not None else list(map(json.loads, self.raw_lines()))

    def raw_lines(self):
        """The audit lines of all agents as bytes, each agent's in their order."""
        rows = self.sql("SELECT line FROM rotifer.audit ORDER BY agent_id, audit_order")
        return [line.encode() for (line,) in rows]


# What is about files, locks and statements of SQLite; everything else holds for every store.
FILES_ONLY = {
    "test_check",
    "test_disk",
    "test_history",
    "test_processes",
    "test_replay",
    "test_sqlite",
    "test_sqlite_connection",
}


def pytest_generate_tests(metafunc):
    """Run what needs a world, and says nothing of its files, on both stores."""
    if "world" in metafunc.fixturenames:
        files = metafunc.module.__name__.rpartition(".")[2] in FILES_ONLY or any(
            metafunc.definition.iter_markers("files")
        )
        metafunc.parametrize("store_kind", ["sqlite"] if files else ["sqlite", "postgres"])


@pytest.fixture(scope="session")
def postgres_sql():
    """A database on the PostgreSQL server of the tests."""
    with database() as url:
        sql = Sql(url)
        yield sql
        sql.close()


@pytest.fixture
def world(tmp_path, store_kind, request):
    """A memory with a clock that stands at noon, on each kind of store."""
    if store_kind == "postgres":
        sql = request.getfixturevalue("postgres_sql")
        sql.empty()
        world = PostgresWorld(str(tmp_path), sql)
    else:
        world = World(str(tmp_path))
    yield world
    world.close()


@pytest.fixture
def make_world(tmp_path):
    """Worlds with options of their own, all in one folder, closed at the end."""
    made = []

    def make(**options):
        made.append(World(str(tmp_path), **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def a():
    """The gene that usually creates."""
    return gene("a")


@pytest.fixture
def b():
    """Another gene of the same domain."""
    return gene("b")


@pytest.fixture
def c():
    """A gene of another domain."""
    return gene("c", "text.search")
